// Times calls of the C++ library for python_report.py: library_boxes MODEL METHOD BOXES BATCH FILE.
// FILE has the lower ends of all boxes and then the upper ones, as float32. Prints the least
// seconds of a call.
#include <bf_aot/bf_aot.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace api = bf_aot::api;

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const auto model = api::Model::load(argv[1]);
  if (!model) return 1;
  api::Options options;
  for (const api::Method each : {api::Method::kIbp, api::Method::kCrownIbp, api::Method::kCrown})
    if (std::string(argv[2]) == api::to_string(each)) options.method = each;
  const std::size_t numbers = std::stoul(argv[3]) * model->input_count();
  options.batch = std::stoi(argv[4]);
  std::vector<float> lower(numbers), upper(numbers);
  std::ifstream file(argv[5], std::ios::binary);
  for (std::vector<float>* ends : {&lower, &upper})
    file.read(reinterpret_cast<char*>(ends->data()),
              static_cast<std::streamsize>(numbers * sizeof(float)));
  const auto verifier = api::Verifier::make(*model, options);
  if (!file || !verifier) return 1;

  double least = 1e9, total = 0;
  for (int call = 0; call < 5 || (total < 1 && call < 20000); ++call) {
    const auto start = std::chrono::steady_clock::now();
    if (!verifier->bounds(lower, upper)) return 1;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    least = std::min(least, seconds);
    total += seconds;
  }
  std::printf("%.9g\n", least);
}
