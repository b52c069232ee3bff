// Bounds and a decision from two threads at once: library_consumer MODELS.
#include <bf_aot/bf_aot.h>

#include <array>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace api = bf_aot::api;

namespace {

int failed(const api::Error& error) {
  std::fputs(error.text().c_str(), stderr);
  return 1;
}

int bound(const std::string& models) {
  const auto model = api::Model::load(models + "/digits_64x2.onnx");
  if (!model) return failed(model.error());
  const auto verifier = api::Verifier::make(*model);
  if (!verifier) return failed(verifier.error());
  const std::vector<float> lower(model->input_count(), 0.45F), upper(model->input_count(), 0.5F);
  const std::vector<float> centre(model->input_count(), 0.475F);
  const auto y = verifier->evaluate(centre);
  if (!y) return failed(y.error());

  std::array<api::Result<api::Bounds>, 2> all = {api::Error{}, api::Error{}};
  {
    std::array<std::jthread, 2> threads;
    for (std::size_t i = 0; i < threads.size(); ++i)
      threads[i] = std::jthread([&, i] { all[i] = verifier->bounds(lower, upper); });
  }
  for (const auto& bounds : all) {
    if (!bounds) return failed(bounds.error());
    if (bounds->lower != all[0]->lower || bounds->upper != all[0]->upper) return 1;
  }
  for (std::size_t i = 0; i < all[0]->rows; ++i) {
    std::printf("output %zu: [%g, %g]\n", i, static_cast<double>(all[0]->lower[i]),
                static_cast<double>(all[0]->upper[i]));
    // The plain inference rounds, too: near the interval, not always inside.
    if (!((*y)[i] > all[0]->lower[i] - 1e-3F && (*y)[i] < all[0]->upper[i] + 1e-3F)) return 1;
  }
  return 0;
}

int decide(const std::string& models, const char* network, const char* property,
           api::Verdict expected) {
  const auto model = api::Model::load(models + "/" + network);
  if (!model) return failed(model.error());
  const auto result = api::verify(*model, models + "/properties/" + property);
  if (!result) return failed(result.error());
  std::printf("%s: %s\n", property, to_string(result->verdict));
  return result->verdict != expected;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string models = argv[1];
  std::array<int, 2> codes = {1, 1};
  {
    const std::jthread one([&] {
      codes[0] = decide(models, "collision_avoidance_6x50.onnx", "collision_avoidance_6x50.vnnlib",
                        api::Verdict::kVerified);
    });
    const std::jthread other([&] {
      codes[1] = decide(models, "tiny.onnx", "tiny_violated.vnnlib", api::Verdict::kFalsified);
    });
  }
  return bound(models) | codes[0] | codes[1];
}
