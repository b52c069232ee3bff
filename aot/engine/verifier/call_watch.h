#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "aot/engine/run/watch.h"
#include "aot/system/stop.h"
#include "frontend/property/property.h"
#include "planner/plan/plan.h"

// The predicted time of a call, cheaper methods, and a watch that ends calls.

namespace bf_aot::engine {

// The methods that take less time than this one and bound the same sets, from the cheapest on.
std::vector<Method> cheaper_methods(const Plan& plan);

// Returns true if bounds by a cheaper method, predicted to take `between` seconds, are worth their
// time before those that were asked for, `asked` seconds, with so many left: where these may not
// end, or where they take ten times as long. Both are predictions.
bool is_worth_trying(double between, double asked, double left);

// Seconds that a call of the entry takes on the plan's machine, by the cost model, with half of the
// neurons unstable, and rows shared by the plan's workers, as far as this machine has cores. A call
// that would take over 10 seconds is predicted for the box, if there is one, which takes seconds
// itself.
double predicted_seconds(const Plan& plan, EntryKind kind, const Box* box = nullptr);

// Ends calls by a stop. It serves the calls of the thread that makes it, whose workers ask it, too.
class CallWatch final : public engine::Watch {
 public:
  // Called with the share of the call's predicted time that is done, 0 to 1.
  using Tell = std::function<void(const engine::Place& place, double share)>;

  // `tell` is called, and `stop` is asked, on the thread that makes the watch: first at once, then
  // every `pause` at most. The stop's time ends calls of all threads at once. What either throws
  // ends the call, and is thrown by rethrow().
  CallWatch(system::Stop stop, std::chrono::milliseconds pause, Tell tell = {});

  void rethrow() const;
  bool is_late() const { return late_; }

 private:
  bool ask(const engine::Place& place) noexcept override;
  double share_of(const engine::Place& place);

  using Clock = system::Stop::Clock;

  const system::Stop stop_;
  const std::chrono::milliseconds pause_;
  const Tell tell_;
  const std::thread::id thread_ = std::this_thread::get_id();
  Clock::time_point told_;
  const Entry* entry_ = nullptr;
  std::vector<double> before_;  // of each task, and all: seconds of those that run before it
  std::atomic<bool> late_ = false;
  std::exception_ptr thrown_;
};

}  // namespace bf_aot::engine
