// The limits that every other figure is a fraction of: float32 multiply-adds and read bandwidth of
// one core.

#include <string>

#include "bench/measure.h"
#include "bench/probe.h"

namespace bf_aot::bench {
namespace {

constexpr int kRounds = 40;

void peak(benchmark::State& state) {
  Samples gflops;
  for ([[maybe_unused]] auto round : state) {
    gflops.add(sample_peak_gflops());
    state.SetIterationTime(1e-9);
  }
  state.counters["peak_gflops"] = gflops.max();
  state.counters["median_gflops"] = gflops.median();
}

void read(benchmark::State& state) {
  ReadProbe probe(static_cast<std::size_t>(state.range(0)) << 10);
  Samples rate;
  for ([[maybe_unused]] auto round : state) {
    rate.add(probe.sample_gigabytes_per_second());
    state.SetIterationTime(1e-9);
  }
  state.counters["read_gbps"] = rate.max();
  state.counters["median_gbps"] = rate.median();
}

void register_all() {
  with_rounds(benchmark::RegisterBenchmark("machine/fma_float32", peak), kRounds);
  with_rounds(benchmark::RegisterBenchmark("machine/read_kib", read), kRounds)
      ->Arg(16)
      ->Arg(32)
      ->Arg(256)
      ->Arg(512)
      ->Arg(800)
      ->Arg(4 << 10)
      ->Arg(8 << 10)
      ->Arg(256 << 10);
}

}  // namespace
}  // namespace bf_aot::bench

int main(int argc, char** argv) {
  bf_aot::bench::register_all();
  return bf_aot::bench::run_benchmarks(argc, argv);
}
