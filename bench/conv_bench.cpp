// Convolutions of the runtime, forward and backward, on random data, in paired samples with the
// peak of the processor. Compiled with the flags of a verifier for this machine. Work counts the
// products that there are: none of the borders.

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/probe.h"
#include "runtime/bf/conv/conv_backward.h"
#include "runtime/bf/conv/conv_forward.h"
#include "runtime/bf/conv/conv_interval.h"

namespace bf_aot::bench {
namespace {

using bf::by_pixels;
using bf::ConvShape;

constexpr int kRounds = 30;

// Pixel by pixel, as backward rows have them; in the planes of ONNX, as centres are.
constexpr ConvShape planes(int in, int out, int size, int kernel, int stride, int pad,
                           int groups = 1) {
  const int made = (size + 2 * pad - kernel) / stride + 1;
  return {1,
          groups,
          in,
          out,
          {1, size, size},
          {1, made, made},
          {1, kernel, kernel},
          {1, stride, stride},
          {1, 1, 1},
          {0, pad, pad},
          false,
          {0, in * size * size, size * size, {size * size, size, 1}},
          {0, out * made * made, made * made, {made * made, made, 1}}};
}
constexpr ConvShape pixels(int in, int out, int size, int kernel, int stride, int pad,
                           int groups = 1) {
  return by_pixels(planes(in, out, size, kernel, stride, pad, groups), true, true);
}

// The number of products, with those that multiply zeros of the padding.
double padded_products(const ConvShape& shape) {
  return 1.0 * shape.in_channels / shape.groups * bf::taps(shape) *
         bf::elements(1, shape.out_channels, shape.out_size);
}

double products(const ConvShape& shape) {
  double count = 1.0 * shape.in_channels * shape.out_channels / shape.groups;
  for (int d = 0; d < 3; ++d) {
    int pairs = 0;
    for (int p = 0; p < shape.out_size[d]; ++p)
      for (int t = 0; t < shape.kernel[d]; ++t) pairs += bf::read_by(shape, d, p, t) >= 0 ? 1 : 0;
    count *= pairs;
  }
  return count;
}

// Aligned as the buffers of verifiers are.
template <class T>
class Numbers {
 public:
  explicit Numbers(int count) : room_(static_cast<std::size_t>(count) + kAlign / sizeof(T)) {
    std::mt19937 random(1);
    std::uniform_real_distribution<T> unit(T{0.25}, T{1});
    for (T& x : room_) x = unit(random);
  }
  T* data() {
    void* from = room_.data();
    std::size_t bytes = room_.size() * sizeof(T);
    return static_cast<T*>(std::align(kAlign, sizeof(T), from, bytes));
  }

 private:
  static constexpr std::size_t kAlign = 64;
  std::vector<T> room_;
};

template <class Call>
void run(benchmark::State& state, double flops, Call call) {
  Timer timer(call);
  Samples seconds, peak;
  for ([[maybe_unused]] auto round : state) {
    seconds.add(timer.sample());
    state.SetIterationTime(seconds.min());
    peak.add(sample_peak_gflops());
  }
  const double gflops = flops / seconds.min() * 1e-9;
  state.counters["ns_min"] = seconds.min() * 1e9;
  state.counters["ns_median"] = seconds.median() * 1e9;
  state.counters["flops"] = flops;
  state.counters["gflops"] = gflops;
  state.counters["peak_gflops"] = peak.max();
  state.counters["peak_percent"] = 100 * gflops / peak.max();
}

template <const ConvShape& kShape, int kRows, bool kWide>
void backward(benchmark::State& state) {
  Numbers<float> weight(kShape.in_channels * kShape.out_channels * bf::taps(kShape));
  Numbers<float> from(kRows * bf::elements(1, kShape.out_channels, kShape.out_size));
  Numbers<float> to(kRows * bf::elements(1, kShape.in_channels, kShape.in_size));
  run(state, 2 * products(kShape) * kRows, [&] {
    bf::conv_backward<kRows, kWide>(bf::FixedShape<kShape>{}, weight.data(), from.data(),
                                    bf::whole(kShape.out_size), false, to.data(),
                                    bf::whole(kShape.in_size));
  });
}

template <const ConvShape& kShape>
void forward(benchmark::State& state) {
  const int in = bf::elements(1, kShape.in_channels, kShape.in_size);
  const int out = bf::elements(1, kShape.out_channels, kShape.out_size);
  Numbers<float> weight(kShape.in_channels * kShape.out_channels * bf::taps(kShape));
  Numbers<float> radius(in), spread(out);
  Numbers<double> centre(in), made(out);
  run(state, 4 * products(kShape), [&] {
    bf::conv_centre(bf::FixedShape<kShape>{}, weight.data(), nullptr, centre.data(), radius.data(),
                    bf::kSumSlack, made.data(), spread.data());
  });
}

template <const ConvShape& kShape>
void intervals(benchmark::State& state) {
  const int in = bf::elements(1, kShape.in_channels, kShape.in_size);
  const int out = bf::elements(1, kShape.out_channels, kShape.out_size);
  Numbers<float> weight(kShape.in_channels * kShape.out_channels * bf::taps(kShape));
  Numbers<float> centre(in), radius(in), made(out), spread(out);
  run(state, 4 * products(kShape), [&] {
    bf::conv_interval<false>(bf::FixedShape<kShape>{}, weight.data(), centre.data(), radius.data(),
                             made.data(), spread.data());
  });
  state.counters["padded_percent"] =
      state.counters["peak_percent"] * padded_products(kShape) / products(kShape);
}

template <const ConvShape& kPixels, const ConvShape& kPlanes>
void add(const std::string& name) {
  const auto make = [&](const std::string& kind, auto function) {
    with_rounds(
        benchmark::RegisterBenchmark(fmt::format("conv/{}/{}", kind, name).c_str(), function),
        kRounds);
  };
  make("interval", intervals<kPlanes>);
  make("centre", forward<kPlanes>);
  make("backward/rows32", backward<kPixels, 32, false>);
  make("backward/rows64", backward<kPixels, 64, false>);
  make("backward_wide/rows32", backward<kPixels, 32, true>);
}

#define BF_SHAPE(name, ...)                                \
  constexpr ConvShape name##_pixels = pixels(__VA_ARGS__); \
  constexpr ConvShape name##_planes = planes(__VA_ARGS__);

BF_SHAPE(k3x32k4s2, 3, 8, 32, 4, 2, 1)
BF_SHAPE(k3x32k3s1, 3, 32, 32, 3, 1, 1)
BF_SHAPE(k8x16k4s2, 8, 16, 16, 4, 2, 1)
BF_SHAPE(k16x16k3s1, 16, 32, 16, 3, 1, 1)
BF_SHAPE(k64x8k3s1, 64, 64, 8, 3, 1, 1)
BF_SHAPE(k16x8k3s1, 16, 16, 8, 3, 1, 1)
BF_SHAPE(k32x16depthwise, 32, 32, 16, 3, 1, 1, 32)
BF_SHAPE(k32x24pool, 32, 32, 24, 4, 4, 0, 32)

}  // namespace
}  // namespace bf_aot::bench

int main(int argc, char** argv) {
  using namespace bf_aot::bench;
  add<k3x32k4s2_pixels, k3x32k4s2_planes>("3x32x32_to_8_k4s2");
  add<k3x32k3s1_pixels, k3x32k3s1_planes>("3x32x32_to_32_k3s1");
  add<k8x16k4s2_pixels, k8x16k4s2_planes>("8x16x16_to_16_k4s2");
  add<k16x16k3s1_pixels, k16x16k3s1_planes>("16x16x16_to_32_k3s1");
  add<k64x8k3s1_pixels, k64x8k3s1_planes>("64x8x8_to_64_k3s1");
  add<k16x8k3s1_pixels, k16x8k3s1_planes>("16x8x8_to_16_k3s1");
  add<k32x16depthwise_pixels, k32x16depthwise_planes>("32x16x16_depthwise_k3s1");
  add<k32x24pool_pixels, k32x24pool_planes>("32x24x24_pool_k4s4");
  return run_benchmarks(argc, argv);
}
