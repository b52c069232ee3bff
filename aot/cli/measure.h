#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace bf::cli {

struct Timing {
  double min = 0;     // seconds per call
  double median = 0;  // seconds per call
  int repeats = 0;    // measurements, each of one or more calls
};

// Measures `call` on this core, after one call that is not measured. A call shorter than the clock
// resolves is repeated within a measurement. repeats: 0 chooses, for about a second in all.
template <class Call>
Timing measure(const Call& call, int repeats) {
  constexpr double kMeasurementSeconds = 200e-6, kTotalSeconds = 1;
  constexpr int kMostChosen = 1000, kLeastChosen = 3;
  const auto seconds_of = [&call](int calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  call();
  int calls = 1;
  while (calls < (1 << 24) && seconds_of(calls) < kMeasurementSeconds) calls *= 2;

  std::vector<double> samples;
  double total = 0;
  const auto enough = [&] {
    const int count = static_cast<int>(samples.size());
    if (repeats > 0) return count >= repeats;
    return count >= kMostChosen || (count >= kLeastChosen && total >= kTotalSeconds);
  };
  while (!enough()) {
    const double seconds = seconds_of(calls);
    total += seconds;
    samples.push_back(seconds / calls);
  }
  std::sort(samples.begin(), samples.end());
  return {samples.front(), samples[samples.size() / 2], static_cast<int>(samples.size())};
}

}  // namespace bf::cli
