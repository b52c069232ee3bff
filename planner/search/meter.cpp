#include "planner/search/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/entries/build_entries.h"
#include "planner/entries/entry_builder.h"
#include "planner/lowering/lowering.h"
#include "planner/lowering/weight_tables.h"
#include "planner/search/predict.h"
#include "planner/storage/storage.h"

namespace bf_aot {
namespace {

// Operations of the reference for measuring: about half of the time that planning may take.
constexpr double kDenseWork = 6e8;
constexpr double kOtherWork = 5e9;
constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();

EntryKind timed_kind(const Plan& plan) {
  return plan.spec_heads.empty() ? EntryKind::kBounds : EntryKind::kSpecBounds;
}

bool is_dense(const Plan& plan) {
  return std::ranges::all_of(plan.layers,
                             [](const Layer& layer) { return layer.kind == LayerKind::kDense; });
}

// Bytes alive in one op, at most. Placement may need a little more.
double live_bytes(Entry& entry, const PlannerConfig& config) {
  if (is_enabled(config, "reuse-in-place")) reuse_in_place(entry);
  place_apart(entry, config.target.align);
  return static_cast<double>(is_enabled(config, "share-storage") ? entry.storage.lower_bound_bytes
                                                                 : entry.arena_bytes());
}

// Makes a step choose slopes at most so often, to save work. More iterations never loosen bounds.
void limit_iterations(Step& step, int most) {
  if (auto* const rows = std::get_if<BackwardRows>(&step))
    rows->iterations = std::min(rows->iterations, most);
}

double mean(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x;
  return numbers.empty() ? 0 : sum / static_cast<double>(numbers.size());
}

// The ratio of two widths, where the reference may be infinite, or 0 but for rounding: widths that
// are both small next to intervals' count as equal.
double ratio(double width, double reference, double intervals) {
  if (width == reference) return 1;
  if (std::isinf(reference)) return 0;
  const double rounding = std::isinf(intervals) ? 0 : 0x1p-30 * intervals;
  return reference + rounding > 0 ? (width + rounding) / (reference + rounding)
                                  : std::numeric_limits<double>::infinity();
}

// The distance by which bounds pass the limits in the worst clause, where the best bound of a
// clause counts.
double margin(const MarginClauses& clauses, const reference::Estimator::Result& result) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  double least = kInf;
  for (const auto& clause : clauses) {
    double best = -kInf;
    for (const MarginBound& bound : clause) {
      const double low = bound.negated ? -result.upper.at(bound.row) : result.lower.at(bound.row);
      best = std::max(best, low - bound.limit);
    }
    least = std::min(least, best);
  }
  return least;
}

}  // namespace

Meter::Meter(PlanState& state, SearchSpace& space)
    : plan_(state.plan),
      space_(space),
      original_(state.plan.domains),
      estimator_(state.plan),
      iterations_(state.plan.config.iterations) {
  build(space.ibp());
  choose_effort(state.options);
  build(space.crown());
  layout_bytes_.assign(plan_.layers.size(), 0);
  for (const WeightTable& table : weight_tables(plan_))
    if (table.same_as < 0) layout_bytes_[table.layer] += table.bytes;
  clear();
}

void Meter::clear() {
  plan_.domains = original_;
  plan_.layouts.clear();
  plan_.kernels.clear();
  plan_.entries.clear();
}

// The timed entry alone.
void Meter::build(const Candidate& candidate) {
  clear();
  apply(space_, candidate, plan_);
  const std::size_t rejected = plan_.rejected.size();
  LoweringPlanner lowering(plan_);
  plan_.rejected.resize(rejected);
  plan_.entries.push_back(EntryBuilder(plan_, lowering, timed_kind(plan_)).build());
  for (const LayerId id : layout_bytes_.ids()) plan_.layout(id).bytes = layout_bytes_[id];
}

// The work of one box if at most so many of each step's neurons have rows. Of hidden layers only
// the neurons that intervals leave bent have any.
double Meter::box_work(std::size_t most_rows) const {
  double work = 0;
  for (Step step : plan_.entries.front().steps) {
    limit_iterations(step, iterations_);
    std::size_t rows = 0;
    if (const auto* const backward = std::get_if<BackwardRows>(&step)) {
      rows = static_cast<std::size_t>(plan_.layer(backward->layer).out);
      if (backward->unstable_only) {
        rows = 0;
        for (const auto& bent : bent_) rows = std::max(rows, bent[backward->layer]);
      }
    }
    work += reference::work_of(plan_, step, std::min(rows, most_rows));
  }
  return work;
}

// Operations of all candidates that a greedy search is likely to measure. Half of a candidate's
// layers come before the choice in which it differs from one that was measured.
double Meter::planned_work(std::size_t boxes, std::size_t most_rows) const {
  double neighbours = 0;
  for (const Decision& d : space_.decisions)
    neighbours += static_cast<double>(d.options.size()) - 1;
  const double candidates = 2 + 0.75 * neighbours;
  return box_work(most_rows) * candidates * static_cast<double>(boxes);
}

// Twice the work of a search without them: all layers and iterations, else heads alone, else
// with fewer iterations, which leave bounds looser. When even that is too much, none.
void Meter::choose_optimised() {
  constexpr int kFewIterations = 4;
  if (!space_.has(Domain::kOptimised)) return;
  const double limit = 2 * work_limit_;
  const auto affordable = [&] {
    build(space_.tightest());
    return planned_work(boxes_, most_rows_) <= limit;
  };
  bool possible = affordable();
  if (!possible) {
    leave_out_optimised(space_, false);
    possible = space_.has(Domain::kOptimised) && affordable();
  }
  if (!possible && iterations_ > kFewIterations) {
    iterations_ = kFewIterations;
    possible = space_.has(Domain::kOptimised) && affordable();
    if (possible)
      method_ += fmt::format(
          ", with {} iterations of optimised slopes, from which more only make bounds tighter",
          iterations_);
  }
  if (possible) {
    work_limit_ = limit;
  } else {
    leave_out_optimised(space_, true);
    method_ += "; optimised slopes were left out: to measure them takes too long";
  }
}

void Meter::count_layers() {
  measured_ = false;
  leave_out_optimised(space_, true);
  method_ =
      "the number of layers without backward bounds: to bound the network on a box takes too long "
      "for comparing plans by it";
}

// Fewer rows of each layer, until that is affordable; false when it is not with `fewest`.
bool Meter::limit_rows(std::size_t fewest) {
  most_rows_ = kAllRows;
  if (planned_work(boxes_, most_rows_) <= work_limit_) return true;
  most_rows_ = std::size_t{1} << 20;
  while (most_rows_ > fewest && planned_work(boxes_, most_rows_) > work_limit_) most_rows_ /= 2;
  return planned_work(boxes_, most_rows_) <= work_limit_;
}

// All boxes and rows when that is affordable; else fewer rows, then one box: what one box takes may
// be far from the others' times. When even that is too much, layers are counted.
void Meter::choose_effort(const PlanOptions& options) {
  constexpr std::size_t kFewRows = 16, kFewestRows = 8;
  SearchSpace full = space_;
  leave_out_optimised(space_, true);
  work_limit_ = is_dense(plan_) ? kDenseWork : kOtherWork;
  check_boxes(plan_, options);
  const double forward = box_work(0);
  if (planned_work(1, 0) > work_limit_) return count_layers();
  const SampleBoxes samples = sample_boxes(plan_, options, plan_.entries.front(),
                                           static_cast<int>(work_limit_ / forward / 4));
  for (const Box& box : samples.boxes) {
    const auto result = run(estimator_.add_box(box));
    bent_.push_back(result.bent);
    interval_widths_.push_back(mean(result.widths));
  }
  build(space_.crown());
  boxes_ = samples.boxes.size();
  if (!limit_rows(kFewRows)) {
    boxes_ = 1;
    if (!limit_rows(kFewestRows)) return count_layers();
  }
  for (const std::size_t number : samples.numbers)
    if (number < options.margins.size()) margins_.push_back(options.margins[number]);
  method_ = fmt::format("{} on {}", margins_.empty() ? "mean width" : "the property's margin",
                        samples.source);
  if (boxes_ < samples.boxes.size()) method_ += ", the first of them alone";
  if (most_rows_ != kAllRows) {
    estimator_.set_most_rows(most_rows_);
    method_ += fmt::format(", with {} backward rows a layer for all of its neurons", most_rows_);
  }
  for (std::size_t box = 0; box < boxes_; ++box) {
    const auto result = run(box);
    crown_widths_.push_back(mean(result.widths));
    if (!margins_.empty()) crown_margins_.push_back(margin(margins_[box], result));
  }
  space_ = std::move(full);
  choose_optimised();
}

// Runs the entry that build() made on a sample box.
reference::Estimator::Result Meter::run(std::size_t box) {
  const Entry& entry = plan_.entries.front();
  if (iterations_ >= plan_.config.iterations) return estimator_.run(entry, box);
  Entry limited = entry;
  for (Step& step : limited.steps) limit_iterations(step, iterations_);
  return estimator_.run(limited, box);
}

// Relative to crown's: of widths the ratio; of margins e to the loss, in mean widths of crown's
// rows, which is near the ratio and positive.
double Meter::looseness_on(std::size_t box, const reference::Estimator::Result& result) const {
  if (margins_.empty())
    return ratio(mean(result.widths), crown_widths_[box], interval_widths_[box]);
  const double reached = margin(margins_[box], result);
  if (reached == crown_margins_[box]) return 1;
  if (std::isinf(crown_widths_[box])) return 0;
  return std::exp((crown_margins_[box] - reached) / crown_widths_[box]);
}

bool Meter::may_measure() const {
  return !measured_ || estimator_.work() < work_limit_;
}

// 1 plus the number of layers without backward bounds; a head counts as all hidden layers together.
double Meter::counted_looseness(const Candidate& candidate) const {
  double missing = 0;
  for (std::size_t i = 0; i < space_.decisions.size(); ++i) {
    const Decision& d = space_.decisions[i];
    const auto steps = static_cast<double>(d.options.size()) - 1 - candidate[i];
    missing += steps * (d.head ? static_cast<double>(space_.decisions.size()) : 1);
  }
  return 1 + missing;
}

Metrics Meter::measure(const Candidate& candidate) {
  build(candidate);
  const Entry& entry = plan_.entries.front();
  std::vector<reference::Estimator::Result> runs;
  std::vector<double> ratios;
  if (measured_) {
    for (std::size_t box = 0; box < boxes_; ++box) {
      runs.push_back(run(box));
      ratios.push_back(looseness_on(box, runs.back()));
    }
  }
  Metrics metrics;
  metrics.seconds = predicted_seconds(plan_, entry, runs);
  metrics.looseness = measured_ ? mean(ratios) : counted_looseness(candidate);
  metrics.compile = predicted_compile_seconds(plan_);
  metrics.bytes = live_bytes(plan_.entries.front(), plan_.config);  // moves buffers: last
  clear();
  return metrics;
}

}  // namespace bf_aot
