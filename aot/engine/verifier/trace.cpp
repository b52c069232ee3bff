#include "aot/engine/verifier/trace.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

// Timing the parts of an instrumented verifier.

namespace bf_aot::engine {
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

void record_event(int task, const char* part) {
  events().push_back({task, part, Clock::now()});
}

double seconds_between(const Event& first, const Event& second) {
  return std::chrono::duration<double>(second.time - first.time).count();
}

// The lower quartile is the measure of times, which other work of the machine can only raise.
double lower_quartile(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 4];
}

// Seconds between two calls of the hook that follow each other directly.
double empty_seconds() {
  constexpr int kCalls = 2000;
  events().clear();
  for (int i = 0; i < kCalls; ++i) record_event(0, "");
  std::vector<double> gaps;
  for (std::size_t i = 1; i < events().size(); ++i)
    gaps.push_back(seconds_between(events()[i - 1], events()[i]));
  return lower_quartile(std::move(gaps));
}

}  // namespace

std::vector<TracedPart> traced_parts(
    const std::function<void(void (*hook)(int task, const char* part))>& call, int repeats) {
  call(nullptr);
  const double empty = empty_seconds();
  // Event i of every call is the same: the steps depend on the box alone. Their lower
  // quartile leaves out the moments at which something else had the processor.
  std::vector<std::vector<double>> gaps;
  std::vector<Event> sequence;
  for (int i = 0; i < repeats; ++i) {
    events().clear();
    call(&record_event);
    sequence = events();
    gaps.resize(sequence.size());
    for (std::size_t e = 0; e + 1 < sequence.size(); ++e)
      gaps[e].push_back(seconds_between(sequence[e], sequence[e + 1]));
  }
  std::map<std::pair<int, std::string>, TracedPart> parts;
  for (std::size_t e = 0; e + 1 < sequence.size(); ++e) {
    const Event& event = sequence[e];
    TracedPart& part = parts[{event.task, event.part}];
    part.task = event.task;
    part.part = event.part;
    part.calls += 1;
    part.seconds += std::max(0.0, lower_quartile(std::move(gaps[e])) - empty);
  }
  std::vector<TracedPart> list;
  for (auto& [key, part] : parts) list.push_back(std::move(part));
  return list;
}

}  // namespace bf_aot::engine
