#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace bf_aot::bench {

// Samples of one quantity, taken in turn with those that it is compared with.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  std::size_t count() const { return values_.size(); }
  double min() const;
  double max() const;
  double median() const;

 private:
  std::vector<double> values_;
};

// Measures seconds per call. A sample takes as many calls as fill about 50 us, or one; a call
// before it is not measured, since whatever was sampled before has the caches.
template <class Call>
class Timer {
 public:
  explicit Timer(Call call) : call_(call) {
    call_();
    while (calls_ < (1 << 20) && seconds() < kSampleSeconds) calls_ *= 2;
  }
  double sample() {
    call_();
    return seconds() / calls_;
  }

 private:
  static constexpr double kSampleSeconds = 50e-6;

  double seconds() {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls_; ++i) call_();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  Call call_;
  int calls_ = 1;
};

// Ties this process to the core that it runs on.
void pin_to_core();

// Adds the machine and the core to the report's context, parses the command line and runs the
// benchmarks that are registered. Returns the exit code.
int run_benchmarks(int argc, char** argv);

// Sets the number of rounds of paired samples; one iteration is one round, and its time is the
// subject's.
benchmark::internal::Benchmark* with_rounds(benchmark::internal::Benchmark* made, int rounds);

}  // namespace bf_aot::bench
