#include "planner/lowering/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "planner/lowering/routines.h"
#include "planner/plan/plan.h"
#include "planner/plan/program.h"

namespace bf_aot::calls {
namespace {

std::int64_t ceiling(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit;
}

// The number of times that the code that is being walked runs.
struct Times {
  std::int64_t most = 1;
  bool always = true;

  Times sometimes() const { return {most, false}; }
  Times times(std::int64_t count, bool exact) const { return {most * count, always && exact}; }
};

class Walker {
 public:
  Walker(const Lowered& lowered, const Entry& entry)
      : program_(lowered.program(entry)), plan_(lowered.plan()), entry_(entry) {}

  Work run() {
    if (program_.groups) {
      const std::int64_t groups = ceiling(plan_.config.batch, entry_.boxes);
      work_.groups = groups;
      loop(fmt::format("groups of {} boxes", entry_.boxes), groups, false);
      now_ = Times{groups, false};
    }
    const Times start = now_;
    for (const Section& section : program_.sections) {
      now_ = section.when == RunWhen::kAlways ? start : start.sometimes();
      for (const TaskCalls& task : section.tasks) {
        task_ = task.task;
        for (const StepCalls& step : task.steps) {
          rows_ = std::get_if<BackwardRows>(&entry_.step(step.step));
          walk(step.body, now_);
        }
      }
    }
    for (auto& [function, times] : counts_)
      work_.calls.push_back({function, times.most, times.always});
    return std::move(work_);
  }

  void operator()(const Call& call) {
    const auto* const kernel = std::get_if<KernelCall>(&call.callee);
    const std::string function =
        kernel != nullptr
            ? plan_.kernel(kernel->id).function
            : fmt::format("bf::{}", signature_of(std::get<Routine>(call.callee)).name);
    Times& times = counts_.try_emplace(function, Times{0, true}).first->second;
    times.most += now_.most;
    times.always = times.always && now_.always;
  }
  void operator()(const Part&) {}
  void operator()(const Lifetime&) {}
  void operator()(const Ask&) {}
  void operator()(const DefineImage&) {}
  void operator()(const DefineWindow&) {}
  void operator()(const DefineRowErrors&) {}
  void operator()(const Clear& node) {
    loop(fmt::format("numbers of {} that become 0", entry_.buffer(node.buffer).name), node.count,
         true);
  }
  void operator()(const Block& node) { walk(node.body, now_); }
  void operator()(const WhenInside& node) {
    const Times before = std::exchange(now_, now_.sometimes());
    (*this)(node.call);
    now_ = before;
  }
  void operator()(const DefineRows& node) { (*this)(node.list); }
  // The list of neurons has no room for more.
  void operator()(const Tiles& node) {
    const std::int64_t tiles = ceiling(entry_.buffer(rows_->neurons).count, node.neurons);
    loop(fmt::format("tiles of {} neurons of {}", node.neurons, plan_.layer(rows_->layer).name),
         tiles, !rows_->unstable_only);
    walk(node.body, now_.times(tiles, !rows_->unstable_only));
  }
  void operator()(const Rounds& node) {
    const std::int64_t rounds = ceiling(entry_.buffer(node.neurons).count, node.boxes);
    loop(fmt::format("rounds of {} boxes", node.boxes), rounds, false);
    walk(node.body, now_.times(rounds, false));
  }
  void operator()(const IfFits& node) {
    walk(node.fits, now_.sometimes());
    walk(node.other, now_.sometimes());
  }
  void operator()(const ColdStart& node) { walk(node.body, now_.sometimes()); }
  void operator()(const Iterations& node) {
    const std::int64_t most = std::max(node.count, node.warm);
    const bool exact = node.warm == 0;
    if (most > 1) loop("iterations of slopes", most, exact);
    walk(node.rows, now_.times(most, exact));
    walk(node.better, now_.times(most - 1, exact));
  }

 private:
  void loop(std::string over, std::int64_t most, bool exact) {
    work_.loops.push_back({task_, std::move(over), most, exact});
  }

  void walk(const Body& body, Times times) {
    const Times before = std::exchange(now_, times);
    for (const Node& node : body) std::visit(*this, node.what);
    now_ = before;
  }

  const Program& program_;
  const Plan& plan_;
  const Entry& entry_;
  Work work_;
  std::map<std::string, Times> counts_;
  Times now_;
  int task_ = 0;
  const BackwardRows* rows_ = nullptr;
};

}  // namespace

Work work_of(const Lowered& lowered, const Entry& entry) {
  return Walker(lowered, entry).run();
}

}  // namespace bf_aot::calls
