#include "aot/reach/monitor/choose_flow.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace bf_aot::reach {
namespace {

constexpr double kWider = 1.1;                                  // what a cheaper tube may be
constexpr double kShares[] = {0.5, 0.25, 1.0 / 16, 1.0 / 128};  // of the box, by its sides

// Adds up the widths of a tube's periods, for each state.
class Widths : public SegmentVisitor {
 public:
  bool visit(const Segment& segment, const std::vector<Form>&) override {
    const std::vector<Range> ranges = ranges_of(segment.state);
    if (period_ != segment.period || now_.empty()) {
      end_period();
      period_ = segment.period;
      now_ = ranges;
    }
    for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = hull(now_[i], ranges[i]);
    return true;
  }

  const std::vector<double>& sums() {
    end_period();
    return sums_;
  }

 private:
  void end_period() {
    sums_.resize(std::max(sums_.size(), now_.size()), 0);
    for (std::size_t i = 0; i < now_.size(); ++i) sums_[i] += width(now_[i]);
    now_.clear();
  }

  std::size_t period_ = 0;
  std::vector<Range> now_;
  std::vector<double> sums_;
};

// Nothing where the tube ends early.
std::vector<double> widths_of(const Flow& flow, const Box& cell) {
  Widths widths;
  if (flow.run(cell, widths)) return {};
  return widths.sums();
}

bool is_little_wider(const std::vector<double>& widths, const std::vector<double>& than) {
  if (widths.empty()) return false;
  double sum = 0;
  for (std::size_t i = 0; i < widths.size(); ++i)
    sum += than[i] > 0 ? widths[i] / than[i] : widths[i] > 0 ? 2 : 1;
  return sum <= kWider * static_cast<double>(widths.size());
}

Box middle_of(const Box& box, double share) {
  Box made = box;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    const double middle = std::midpoint(box.lower[i], box.upper[i]);
    const double half = share / 2 * (box.upper[i] - box.lower[i]);
    made.lower[i] = std::max(box.lower[i], middle - half);
    made.upper[i] = std::min(box.upper[i], middle + half);
  }
  return made;
}

class Trials {
 public:
  Trials(const Loop& loop, const MonitorSettings& settings) : loop_(loop), settings_(settings) {
    compile_ = settings.compile;
    compile_.planner.lowering = Lowering::kPrebuilt;
    compile_.planner.target = find_target("host");
    best_ = choose_plan(loop, loop.substeps, settings.order, settings.symbols);
  }

  FlowPlan best(const std::function<std::uint64_t(const FlowPlan&)>& cost) {
    const Flow usual = flow_of(best_);
    if (!find_cell(usual)) return best_;
    std::uint64_t least = cost(best_);
    for (const std::size_t symbols : symbols_to_try()) {
      std::optional<Flow> flow;
      for (const FlowPlan& plan : plans_of(symbols)) {
        if (cost(plan) >= least) continue;
        if (!flow) flow.emplace(flow_of(plan));
        if (!is_little_wider(widths_of(flow->twin(plan), cell_), widths_)) continue;
        best_ = plan;
        least = cost(plan);
      }
    }
    return best_;
  }

 private:
  Flow flow_of(const FlowPlan& plan) const { return {loop_, plan, compile_, {}}; }

  // A cell whose tube comes to its end by the usual plan.
  bool find_cell(const Flow& usual) {
    for (const double share : kShares) {
      cell_ = middle_of(loop_.initial, share);
      widths_ = widths_of(usual, cell_);
      if (!widths_.empty()) return true;
    }
    return false;
  }

  std::vector<std::size_t> symbols_to_try() const {
    if (settings_.symbols > 0) return {settings_.symbols};
    const std::size_t least = choose_plan(loop_, 1, 1, 1).symbols, n = loop_.states();
    return {least, least + n, least + 2 * n, least + 4 * n, least + 8 * n};
  }

  std::vector<FlowPlan> plans_of(std::size_t symbols) const {
    const bool continuous = loop_.kind == PlantKind::kContinuous;
    std::vector<FlowPlan> made;
    for (const std::size_t order : {2, 3, 4, 6})
      for (const std::size_t substeps : {1, 2, 4}) {
        if (!continuous && (order != 2 || substeps != 1)) continue;
        made.push_back(choose_plan(loop_, loop_.substeps > 0 ? loop_.substeps : substeps,
                                   settings_.order > 0 ? settings_.order : order, symbols));
      }
    return made;
  }

  const Loop& loop_;
  const MonitorSettings& settings_;
  build::CompileOptions compile_;
  FlowPlan best_;
  Box cell_;
  std::vector<double> widths_;
};

}  // namespace

FlowPlan choose_flow(const Question& question, const MonitorSettings& settings,
                     const std::function<std::uint64_t(const FlowPlan&)>& cost) {
  return Trials(question.loop, settings).best(cost);
}

}  // namespace bf_aot::reach
