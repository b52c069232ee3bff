// Boxes a second of a verifier for CUDA, by batch; linked with verifier.cu, whose functions are
// named net_*. Boxes are CENTRE +- EPS around random numbers of [LOWER, UPPER].
//
//   throughput LOWER UPPER EPS REFERENCE LIMITS
//
// LIMITS: a file of batches, each with the seconds that it takes at least, at the device's peaks.
// REFERENCE: a file of bounds of the first box by bf-aot on the processor, lower and upper ends in
// turns. Bounds of the device must overlap those, since both hold every output.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "net.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 6)
    return std::fprintf(stderr, "LOWER UPPER EPS [REFERENCE LIMITS]\n"), 2;
  const float least = std::strtof(argv[1], nullptr), most = std::strtof(argv[2], nullptr);
  const float eps = std::strtof(argv[3], nullptr);
  constexpr std::size_t kInputs = NET_INPUTS, kOutputs = NET_OUTPUTS;
  char why[2048] = "";
  net_device* const device = net_open_device(0, why, sizeof why);
  if (device == nullptr) return std::fprintf(stderr, "refused: %s\n", why), 1;

  constexpr std::size_t kMost = 16384;
  std::vector<float> lower(kMost * kInputs), upper(lower.size());
  std::mt19937 random(1);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const float centre = least + (most - least) * static_cast<float>(random()) * 0x1p-32F;
    lower[i] = std::max(least, centre - eps);
    upper[i] = std::min(most, centre + eps);
  }
  std::vector<float> low(kMost * kOutputs), high(low.size());
  std::vector<bf_status> statuses(kMost);
  const auto bound = [&](std::size_t count) {
    const bf_status status = net_bounds_batch_device(device, count, lower.data(), upper.data(),
                                                     low.data(), high.data(), statuses.data(), 0);
    if (status != BF_OK) std::fprintf(stderr, "status %d\n", static_cast<int>(status));
    return status == BF_OK;
  };

  if (argc == 4) {  // writes the first box, for the processor
    std::printf("{\"lower\": [");
    for (std::size_t i = 0; i < kInputs; ++i) std::printf("%s%.9g", i > 0 ? ", " : "", lower[i]);
    std::printf("], \"upper\": [");
    for (std::size_t i = 0; i < kInputs; ++i) std::printf("%s%.9g", i > 0 ? ", " : "", upper[i]);
    std::printf("]}\n");
    net_close_device(device);
    return 0;
  }
  if (!bound(1)) return 1;
  std::ifstream reference(argv[4]);
  for (std::size_t i = 0; i < kOutputs; ++i) {
    double below = 0, above = 0;
    if (!(reference >> below >> above)) return std::fprintf(stderr, "no reference\n"), 1;
    if (below > high[i] || above < low[i])
      return std::fprintf(stderr, "output %zu: [%a, %a] beside [%a, %a]\n", i, low[i], high[i],
                          below, above),
             1;
  }
  std::ifstream limits(argv[5]);
  std::size_t batch = 0;
  double limit = 0;
  while (limits >> batch >> limit) {
    if (batch > kMost) break;
    if (!bound(batch)) return 1;  // takes memory
    double best = 1e300;
    const auto begin = std::chrono::steady_clock::now();
    for (int run = 0; run < 20 && seconds_since(begin) < 3; ++run) {
      const auto start = std::chrono::steady_clock::now();
      if (!bound(batch)) return 1;
      best = std::min(best, seconds_since(start));
    }
    std::printf("| %zu | %.4g | %.4g | %.3g | %.1f %% |\n", batch,
                static_cast<double>(batch) / best, 1e3 * best,
                1e-9 * static_cast<double>(batch) * NET_BOX_BYTES, 100 * limit / best);
  }
  net_close_device(device);
  return 0;
}
