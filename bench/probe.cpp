#include "bench/probe.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bf_aot::bench {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

using Floats = float __attribute__((vector_size(kVectorBytes)));
using Floats32 = float __attribute__((vector_size(kVectorBytes < 32 ? kVectorBytes : 32)));
using Words = std::int32_t __attribute__((vector_size(kVectorBytes)));

// Enough independent chains to hide the latency of a multiply-add, and no more than the registers.
constexpr int kChains = 12;
constexpr std::size_t kLoads = 8;
constexpr double kSampleSeconds = 150e-6;

double now() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// This function is not inlined, so that the accumulators stay in registers whatever surrounds the
// call; the empty asm keeps the compiler from calling it once for many calls.
template <class V>
__attribute__((noinline)) V multiply_add(std::int64_t steps, V factor, V term) {
  asm volatile("");
  V chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = term * static_cast<float>(i);
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chain[i] = chain[i] * factor + term;
  }
  V sum = chain[0];
  for (int i = 1; i < kChains; ++i) sum += chain[i];
  return sum;
}

__attribute__((noinline)) Words read_all(const Words* from, std::size_t vectors) {
  Words bits[kLoads] = {};
  for (std::size_t i = 0; i < vectors; i += kLoads) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < kLoads; ++k) bits[k] ^= from[i + k];
  }
  for (std::size_t k = 1; k < kLoads; ++k) bits[0] ^= bits[k];
  return bits[0];
}

template <class T>
void keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

template <class V>
double sample_gflops() {
  constexpr std::int64_t kSteps = 4000;
  volatile float factor = 0.999f;  // the chains converge: no overflow, no subnormals
  volatile float term = 0.001f;
  const V factors = factor - V{};
  const V terms = term - V{};
  const double start = now();
  double seconds = 0;
  std::int64_t steps = 0;
  do {
    keep(multiply_add(kSteps, factors, terms));
    steps += kSteps;
    seconds = now() - start;
  } while (seconds < kSampleSeconds);
  constexpr double kFlops = 2.0 * kChains * (sizeof(V) / sizeof(float));
  return kFlops * static_cast<double>(steps) / seconds * 1e-9;
}

}  // namespace

int probe_lanes() {
  return static_cast<int>(kVectorBytes / sizeof(float));
}

double sample_peak_gflops() {
  return sample_gflops<Floats>();
}

double sample_peak_gflops_of_32_bytes() {
  return sample_gflops<Floats32>();
}

ReadProbe::ReadProbe(std::size_t bytes) {
  constexpr std::size_t kStep = kLoads * kVectorBytes;
  bytes_ = (bytes + kStep - 1) / kStep * kStep;
  constexpr std::size_t kPage = 4096;
  memory_ = std::aligned_alloc(kPage, (bytes_ + kPage - 1) / kPage * kPage);
  if (memory_ == nullptr) throw std::bad_alloc();
  std::memset(memory_, 1, bytes_);
}

ReadProbe::~ReadProbe() {
  std::free(memory_);
}

double ReadProbe::sample_gigabytes_per_second() {
  const auto* from = static_cast<const Words*>(memory_);
  keep(read_all(from, bytes_ / kVectorBytes));
  const double start = now();
  double seconds = 0;
  double bytes = 0;
  do {
    keep(read_all(from, bytes_ / kVectorBytes));
    bytes += static_cast<double>(bytes_);
    seconds = now() - start;
  } while (seconds < kSampleSeconds);
  return bytes / seconds * 1e-9;
}

}  // namespace bf_aot::bench
