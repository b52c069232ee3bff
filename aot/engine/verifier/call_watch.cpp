#include "aot/engine/verifier/call_watch.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <variant>

#include "aot/system/process.h"
#include "planner/cost/cost_model.h"

namespace bf_aot::engine {
namespace {

constexpr double kWorthSampling = 10;  // seconds; it takes some itself

// The workers of this machine that share the rows of a task.
double workers_of(const Entry& entry, const Task& task) {
  const bool has_rows = std::ranges::any_of(task.steps, [&](int step) {
    return std::holds_alternative<BackwardRows>(entry.steps[static_cast<std::size_t>(step)]);
  });
  const auto cores = static_cast<double>(system::core_count());
  return has_rows ? std::min(static_cast<double>(entry.workers), cores) : 1;
}

}  // namespace

std::vector<Method> cheaper_methods(const Plan& plan) {
  const Method method = plan.config.method;
  std::vector<Method> made;
  if (plan.is_of_boxes() && method != Method::kIbp) made.push_back(Method::kIbp);
  const bool rows_everywhere = method == Method::kCrown || method == Method::kAlphaCrown;
  if (rows_everywhere || method == Method::kAuto) made.push_back(Method::kCrownIbp);
  if (method == Method::kAlphaCrown) made.push_back(Method::kCrown);
  return made;
}

bool is_worth_trying(double between, double asked, double left) {
  return between < left && (asked >= left / 2 || between < asked / 10);
}

double predicted_seconds(const Plan& plan, EntryKind kind, const Box* box) {
  const Entry* const entry = plan.find_entry(kind);
  if (entry == nullptr) return 0;
  double alone = 0, shared = 0;
  for (const Task& task : entry->tasks) {
    alone += task.predicted_seconds;
    shared += task.predicted_seconds / workers_of(*entry, task);
  }
  if (box == nullptr || shared < kWorthSampling) return shared;
  return shared / alone *
         predict_entry(plan, *entry, sampled_activity(plan, *entry, {box, 1}),
                       profile_of(plan.config))
             .total.seconds;
}

CallWatch::CallWatch(system::Stop stop, std::chrono::milliseconds pause, Tell tell)
    : stop_(std::move(stop)), pause_(pause), tell_(std::move(tell)), told_(Clock::now() - pause) {}

void CallWatch::rethrow() const {
  if (thrown_) std::rethrow_exception(thrown_);
}

double CallWatch::share_of(const engine::Place& place) {
  if (entry_ != &place.entry) {
    entry_ = &place.entry;
    before_.assign(1, 0);
    for (const Task& task : entry_->tasks)
      before_.push_back(before_.back() + task.predicted_seconds);
  }
  const auto task = static_cast<std::size_t>(place.task);
  const double all = before_.back();
  if (!(all > 0)) return 0;
  return (before_[task] + place.share * (before_[task + 1] - before_[task])) / all;
}

bool CallWatch::ask(const engine::Place& place) noexcept {
  if (stop_.is_late()) {
    late_ = true;
    return false;
  }
  if (std::this_thread::get_id() != thread_) return true;
  const Clock::time_point now = Clock::now();
  if (now - told_ < pause_) return true;
  told_ = now;
  try {
    if (tell_) tell_(place, share_of(place));
    if (!stop_()) return true;
    late_ = stop_.is_late();  // perhaps since `tell` was called
    return false;
  } catch (...) {
    thrown_ = std::current_exception();
    return false;
  }
}

}  // namespace bf_aot::engine
