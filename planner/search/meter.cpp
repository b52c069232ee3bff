#include "planner/search/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/entry_builder.h"
#include "planner/lowering.h"
#include "planner/search/predict.h"
#include "planner/storage.h"
#include "planner/weight_tables.h"

namespace bf {
namespace {

// Operations of the reference for measuring: about half of the time that planning may take.
constexpr double kDenseWork = 6e8;
constexpr double kOtherWork = 5e9;
constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();

EntryKind timed_kind(const Plan& plan) {
  return plan.spec_heads.empty() ? EntryKind::kBounds : EntryKind::kSpecBounds;
}

const std::vector<int>& timed_heads(const Plan& plan) {
  return plan.spec_heads.empty() ? plan.output_heads : plan.spec_heads;
}

std::vector<bool> needed_for(const Plan& plan, const std::vector<int>& heads) {
  std::vector<bool> needed(plan.layers.size(), false);
  for (const int head : heads) needed[static_cast<std::size_t>(head)] = true;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const int input : inputs_of(plan.layers[i]))
        if (input >= 0) needed[static_cast<std::size_t>(input)] = true;
  return needed;
}

bool contains(const std::vector<int>& list, int value) {
  return std::ranges::count(list, value) > 0;
}

bool is_dense(const Plan& plan) {
  return std::ranges::all_of(plan.layers,
                             [](const Layer& layer) { return layer.kind == LayerKind::kDense; });
}

// Rows of a tile: 1 to 4 vectors, the planner's own choice first.
std::vector<int> tile_options(const Plan& plan) {
  const PlannerConfig& config = plan.config;
  if (config.row_tile > 0) return {};
  const bool vector = config.lowering == Lowering::kVector && config.target.vector_bytes > 4;
  const int unit = vector ? config.target.vector_bytes / 4 : 2;
  return {0, unit, 3 * unit, 4 * unit};
}

// Bytes alive in one op, at most. Placement may need a little more.
double live_bytes(Entry& entry, const PlannerConfig& config) {
  if (is_enabled(config, "reuse-in-place")) reuse_in_place(entry);
  place_apart(entry, config.target.align);
  return static_cast<double>(is_enabled(config, "share-storage") ? entry.storage.lower_bound_bytes
                                                                 : entry.storage.planned_bytes);
}

double mean(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x;
  return numbers.empty() ? 0 : sum / static_cast<double>(numbers.size());
}

// Of widths, where the reference may be infinite, or 0 but for rounding: what is small next to
// intervals' width counts as equal.
double ratio(double width, double reference, double intervals) {
  if (width == reference) return 1;
  if (std::isinf(reference)) return 0;
  const double rounding = std::isinf(intervals) ? 0 : 0x1p-30 * intervals;
  return reference + rounding > 0 ? (width + rounding) / (reference + rounding)
                                  : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<int> SearchSpace::options() const {
  std::vector<int> counts;
  for (const Decision& d : decisions) counts.push_back(static_cast<int>(d.options.size()));
  if (!tiles.empty()) counts.push_back(static_cast<int>(tiles.size()));
  return counts;
}

int Decision::find(Domain domain) const {
  const auto found = std::ranges::find(options, domain, &DomainChoice::domain);
  BF_CHECK(found != options.end());
  return static_cast<int>(found - options.begin());
}

Candidate SearchSpace::ibp() const {
  return Candidate(options().size(), 0);
}

Candidate SearchSpace::crown_ibp() const {
  Candidate candidate = ibp();
  for (std::size_t i = 0; i < decisions.size(); ++i)
    if (decisions[i].head) candidate[i] = decisions[i].find(Domain::kBackward);
  return candidate;
}

Candidate SearchSpace::crown() const {
  Candidate candidate = ibp();
  for (std::size_t i = 0; i < decisions.size(); ++i)
    candidate[i] = decisions[i].find(Domain::kBackward);
  return candidate;
}

SearchSpace make_space(const Plan& plan) {
  SearchSpace space;
  const std::vector<bool> needed = needed_for(plan, timed_heads(plan));
  for (const DomainChoice& choice : plan.domains) {
    if (choice.domain == Domain::kInterval || !needed[static_cast<std::size_t>(choice.layer)])
      continue;
    DomainChoice interval = choice;
    interval.domain = Domain::kInterval;
    interval.unstable_only = true;
    space.decisions.push_back(
        {choice.layer, contains(timed_heads(plan), choice.layer), {interval, choice}});
  }
  if (!space.decisions.empty()) space.tiles = tile_options(plan);
  return space;
}

void apply(const SearchSpace& space, const Candidate& candidate, Plan& plan) {
  bool any_head = std::ranges::none_of(space.decisions, &Decision::head);
  for (std::size_t i = 0; i < space.decisions.size(); ++i) {
    const Decision& decision = space.decisions[i];
    const DomainChoice& taken = decision.options.at(static_cast<std::size_t>(candidate[i]));
    plan.domains[static_cast<std::size_t>(decision.layer)] = taken;
    any_head = any_head || (decision.head && taken.domain != Domain::kInterval);
  }
  for (DomainChoice& choice : plan.domains) {
    if (!space.tiles.empty())
      choice.row_tile = space.tiles.at(static_cast<std::size_t>(candidate.back()));
    const bool searched = std::ranges::any_of(
        space.decisions, [&](const Decision& d) { return d.layer == choice.layer; });
    if (searched || any_head || choice.domain == Domain::kInterval) continue;
    choice.domain = Domain::kInterval;
    choice.reason = "as the rows that are asked for";
  }
}

Meter::Meter(PlanState& state, const SearchSpace& space)
    : plan_(state.plan), space_(space), original_(state.plan.domains), estimator_(state.plan) {
  build(space.ibp());
  choose_effort(state.options);
  build(space.crown());
  layout_bytes_.assign(plan_.layers.size(), 0);
  for (const WeightTable& table : weight_tables(plan_))
    if (table.same_as < 0) layout_bytes_[static_cast<std::size_t>(table.layer)] += table.bytes;
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
  for (std::size_t i = 0; i < layout_bytes_.size(); ++i) plan_.layouts[i].bytes = layout_bytes_[i];
}

// Of one box, when of each step's neurons at most so many have rows. Of hidden layers those that
// intervals leave bent.
double Meter::box_work(std::size_t most_rows) const {
  double work = 0;
  for (const Step& step : plan_.entries.front().steps) {
    std::size_t rows = 0;
    if (const auto* const backward = std::get_if<BackwardRows>(&step)) {
      const auto layer = static_cast<std::size_t>(backward->layer);
      rows = static_cast<std::size_t>(plan_.layers[layer].out);
      if (backward->unstable_only) {
        rows = 0;
        for (const auto& bent : bent_) rows = std::max(rows, bent[layer]);
      }
    }
    work += reference::work_of(plan_, step, std::min(rows, most_rows));
  }
  return work;
}

// Operations of all candidates that a greedy search is likely to measure. Half of a candidate's
// layers come before the choice in which it differs from one that was measured.
double Meter::planned_work(std::size_t boxes, std::size_t most_rows) const {
  const double candidates = 2 + 0.75 * static_cast<double>(space_.decisions.size());
  return box_work(most_rows) * candidates * static_cast<double>(boxes);
}

void Meter::count_layers() {
  measured_ = false;
  method_ =
      "the number of layers without backward bounds: to bound the network on a box takes too long "
      "for comparing plans by it";
}

// All boxes and rows when that is affordable; else one box, then fewer rows. When even that is too
// much, layers are counted.
void Meter::choose_effort(const PlanOptions& options) {
  constexpr std::size_t kFewestRows = 8;
  work_limit_ = is_dense(plan_) ? kDenseWork : kOtherWork;
  check_boxes(plan_, options);
  const double forward = box_work(0);
  if (planned_work(1, 0) > work_limit_) return count_layers();
  const SampleBoxes samples = sample_boxes(plan_, options, plan_.entries.front(),
                                           static_cast<int>(work_limit_ / forward / 4));
  for (const Box& box : samples.boxes) {
    const auto result = estimator_.run(plan_.entries.front(), estimator_.add_box(box));
    bent_.push_back(result.bent);
    interval_widths_.push_back(mean(result.widths));
  }
  build(space_.crown());
  boxes_ = samples.boxes.size();
  std::size_t rows = kAllRows;
  if (planned_work(boxes_, rows) > work_limit_) boxes_ = 1;
  if (planned_work(boxes_, rows) > work_limit_) rows = std::size_t{1} << 20;
  while (rows > kFewestRows && planned_work(boxes_, rows) > work_limit_) rows /= 2;
  if (planned_work(boxes_, rows) > work_limit_) return count_layers();
  method_ = fmt::format("mean width on {}", samples.source);
  if (boxes_ < samples.boxes.size()) method_ += ", the first of them alone";
  if (rows != kAllRows) {
    estimator_.set_most_rows(rows);
    method_ += fmt::format(", with {} backward rows a layer for all of its neurons", rows);
  }
  for (std::size_t box = 0; box < boxes_; ++box)
    crown_widths_.push_back(mean(estimator_.run(plan_.entries.front(), box).widths));
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
  std::vector<double> neurons(plan_.layers.size(), 0), ratios;
  if (measured_) {
    for (std::size_t box = 0; box < boxes_; ++box) {
      const auto result = estimator_.run(entry, box);
      for (std::size_t i = 0; i < neurons.size(); ++i)
        neurons[i] += static_cast<double>(result.rows[i]) / static_cast<double>(boxes_);
      ratios.push_back(ratio(mean(result.widths), crown_widths_[box], interval_widths_[box]));
    }
  }
  Metrics metrics;
  metrics.seconds = predicted_seconds(plan_, entry, measured_ ? &neurons : nullptr);
  metrics.looseness = measured_ ? mean(ratios) : counted_looseness(candidate);
  metrics.compile = predicted_compile_seconds(plan_);
  metrics.bytes = live_bytes(plan_.entries.front(), plan_.config);  // moves buffers: last
  clear();
  return metrics;
}

}  // namespace bf
