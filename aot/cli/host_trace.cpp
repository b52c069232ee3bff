#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "aot/cli/host_run.h"

// Timing the parts of an instrumented verifier.

namespace bf::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Calls of the hook, in order: each starts a part and ends the one before.
struct Event {
  int task;
  const char* part;
  Clock::time_point time;
};

std::vector<Event>& events() {
  static std::vector<Event> list;
  return list;
}

extern "C" void record_event(int task, const char* part) {
  events().push_back({task, part, Clock::now()});
}

double seconds_between(const Event& first, const Event& second) {
  return std::chrono::duration<double>(second.time - first.time).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// Between two calls of the hook with nothing in between.
double empty_seconds() {
  constexpr int kCalls = 2000;
  events().clear();
  for (int i = 0; i < kCalls; ++i) record_event(0, "");
  std::vector<double> gaps;
  for (std::size_t i = 1; i < events().size(); ++i)
    gaps.push_back(seconds_between(events()[i - 1], events()[i]));
  return median(std::move(gaps));
}

using Key = std::pair<int, std::string>;
struct Sum {
  double calls = 0;
  double seconds = 0;
};

std::map<Key, Sum> sums(double empty) {
  std::map<Key, Sum> made;
  const std::vector<Event>& list = events();
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    Sum& sum = made[{list[i].task, list[i].part}];
    sum.calls += 1;
    sum.seconds += std::max(0.0, seconds_between(list[i], list[i + 1]) - empty);
  }
  return made;
}

}  // namespace

std::vector<TracedPart> HostVerifier::trace(const FloatBox& box, int repeats) const {
  using Hook = void (*)(int, const char*);
  auto* const hook = static_cast<Hook*>(symbol(name_ + "_trace"));
  const BoundsFunction function = spec_bounds_ != nullptr ? spec_bounds_ : bounds_;
  const int count = spec_bounds_ != nullptr ? spec_rows_ : outputs_;
  call(function, count, box);
  const double empty = empty_seconds();
  std::map<Key, std::vector<double>> seconds;
  std::map<Key, double> calls;
  *hook = &record_event;
  for (int i = 0; i < repeats; ++i) {
    events().clear();
    call(function, count, box);
    for (const auto& [key, sum] : sums(empty)) {
      seconds[key].push_back(sum.seconds);
      calls[key] = sum.calls;
    }
  }
  *hook = nullptr;
  std::vector<TracedPart> parts;
  for (auto& [key, values] : seconds)
    parts.push_back({key.first, key.second, calls[key], median(std::move(values))});
  return parts;
}

std::vector<double> HostVerifier::task_seconds(const FloatBox& box, int repeats) const {
  std::vector<double> seconds;
  for (const TracedPart& part : trace(box, repeats)) {
    if (part.task < 0) continue;
    const auto task = static_cast<std::size_t>(part.task);
    if (seconds.size() <= task) seconds.resize(task + 1);
    seconds[task] += part.seconds;
  }
  return seconds;
}

}  // namespace bf::cli
