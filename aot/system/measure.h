#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace bf_aot::system {

struct Timing {
  double min = 0;     // seconds per call
  double median = 0;  // seconds per call
  int repeats = 0;    // measurements, each of one or more calls
};

struct SampleLimits {
  int repeats = 0;           // measurements; 0 chooses
  double total_seconds = 1;  // of the measurements, when they are chosen
  int least = 3;             // measurements, when they are chosen
  int warm_up = 1;           // calls that are not measured
};

// Seconds per call of each measurement on this core, rising, after some calls that are not
// measured. A call shorter than the clock resolves is repeated within a measurement.
template <class Call>
std::vector<double> sample_calls(const Call& call, const SampleLimits& limits) {
  constexpr double kMeasurementSeconds = 200e-6;
  constexpr int kMostChosen = 1000;
  const auto seconds_of = [&call](int calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int i = 0; i < limits.warm_up; ++i) call();
  int calls = 1;
  double first = seconds_of(calls);
  while (calls < (1 << 24) && first < kMeasurementSeconds) first = seconds_of(calls *= 2);

  // The run that found the number of calls is a measurement itself.
  std::vector<double> samples = {first / calls};
  double total = first;
  const auto enough = [&] {
    const int count = static_cast<int>(samples.size());
    if (limits.repeats > 0) return count >= limits.repeats;
    return count >= kMostChosen || (count >= limits.least && total >= limits.total_seconds);
  };
  while (!enough()) {
    const double seconds = seconds_of(calls);
    total += seconds;
    samples.push_back(seconds / calls);
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

// Measures calls for about a second in all, or `repeats` times if that is not 0.
template <class Call>
Timing measure(const Call& call, int repeats) {
  const std::vector<double> samples = sample_calls(call, {repeats, 1, 3, 1});
  return {samples.front(), samples[samples.size() / 2], static_cast<int>(samples.size())};
}

}  // namespace bf_aot::system
