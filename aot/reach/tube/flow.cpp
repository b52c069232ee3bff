#include "aot/reach/tube/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/reach/numbers/taylor.h"
#include "aot/reach/numbers/used_steps.h"
#include "aot/reach/tube/validated_step.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/property/derived_values.h"

namespace bf_aot::reach {
namespace {

constexpr std::size_t kKeptByState = 8;         // symbols of remainders that are kept
constexpr std::size_t kMostPlantSteps = 20000;  // of a plant that is computed number by number

std::int64_t element_count_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::int64_t count = 0;
  for (const ValueId id : ids) count += element_count(graph.value(id).shape);
  return count;
}

// The controller, behind what observes the state.
Part controller_of(const Loop& loop) {
  if (!loop.observer) return *loop.controller;
  Part made = *loop.controller;
  const std::int64_t inputs = element_count_of(loop.observer->graph, loop.observer->graph.inputs);
  const std::int64_t read = element_count_of(made.graph, made.graph.inputs);
  std::vector<std::int64_t> source;
  for (std::int64_t i = 0; i < inputs + read; ++i) source.push_back(i);
  const std::size_t outputs = made.graph.outputs.size();
  std::vector<NamedGraph> parts;
  parts.push_back({"observer", loop.observer->graph});
  parts.push_back({"controller", std::move(made.graph)});
  made.graph = merge_graphs(std::move(parts), source, inputs);
  made.graph.networks = 1;
  made.graph.outputs.erase(made.graph.outputs.begin(),
                           made.graph.outputs.end() - static_cast<std::ptrdiff_t>(outputs));
  join_infos(made.info, loop.observer->info);
  return made;
}

}  // namespace

// A tube, as it is computed.
class Flow::Running {
 public:
  Running(const Flow& flow, const Box& cell, SegmentVisitor& visitor,
          const std::vector<std::vector<double>>* disturbances)
      : flow_(flow),
        loop_(*flow.loop_),
        visitor_(visitor),
        given_(disturbances),
        symbols_(flow.plan_.all_symbols, flow.plan_.reduction) {
    state_ = forms_of(cell);
    initial_ = state_;
    if (given_ == nullptr) add_constant_disturbances();
    symbols_.keep_first();
    const auto substeps = static_cast<unsigned long>(flow.plan_.substeps);
    step_ = loop_.kind == PlantKind::kDiscrete ? mpq_class(1) : loop_.period / substeps;
    seconds_ = enclosed(loop_.period / substeps);
  }

  std::optional<FlowEnd> run() {
    if (loop_.delayed)
      for (const Bounded& each : loop_.first_control) control_.push_back(form_of(each));
    for (period_ = 0; period_ < loop_.steps && !ended_ && goes_on_; ++period_) run_period();
    if (goes_on_ && !ended_) visit(time_, time_, state_);
    return ended_;
  }

 private:
  std::vector<Form> forms_of(const Box& box) {
    std::vector<Form> made;
    for (std::size_t i = 0; i < box.lower.size(); ++i)
      made.push_back(symbols_.form_over_own(Range{box.lower[i], box.upper[i]}));
    return made;
  }

  void add_constant_disturbances() {
    for (const Disturbance& each : loop_.disturbances)
      if (each.is_constant())
        constant_.push_back(forms_of(each.box));
      else
        constant_.emplace_back();
  }

  void run_period() {
    begin_period();
    for (std::size_t k = 0; k < flow_.plan_.substeps && goes_on_ && !ended_; ++k) substep();
  }

  // The control and the disturbances of the period, over symbols of their own.
  void begin_period() {
    std::vector<Form> computed;
    make_room();
    if (flow_.plant_ != nullptr && flow_.controller_) {
      computed = flow_.controller_->bound(state_);
      symbols_.add_remainders(computed);
    }
    if (!loop_.delayed || control_.empty()) control_ = computed;
    disturbed_ = disturbances();
    visit(time_, time_, state_);
    if (loop_.delayed) next_control_ = std::move(computed);
  }

  // Networks read forms over as many symbols as they are planned for: those of the state, its
  // remainders, and disturbances that are drawn behind them.
  void make_room() {
    std::size_t coming = state_.size();
    for (const Disturbance& each : loop_.disturbances)
      if (!each.is_constant()) coming += each.box.lower.size();
    const std::size_t most = flow_.plan_.symbols;
    symbols_.make_room({&state_, &control_, &disturbed_}, most - std::min(most, coming));
    symbols_.add_remainders(state_);
  }

  std::vector<Form> disturbances() {
    std::vector<Form> made;
    std::size_t place = 0;
    for (std::size_t d = 0; d < loop_.disturbances.size(); ++d) {
      const Disturbance& each = loop_.disturbances[d];
      for (std::size_t i = 0; i < each.box.lower.size(); ++i, ++place)
        made.push_back(
            given_ != nullptr
                ? form_of(typed_value(each.box, each.inner, i, (*given_)[period_][place]))
            : each.is_constant() ? constant_[d][i]
                                 : disturbance(each, Range{each.box.lower[i], each.box.upper[i]}));
    }
    return made;
  }

  // What changes at any time is a number for the steps of a continuous plant, see changing(), and a
  // radius for others, which no step has in common with another.
  Form disturbance(const Disturbance& of, const Range& range) {
    if (of.is_held()) return symbols_.form_over_own(range);
    return loop_.kind == PlantKind::kContinuous ? form_of(Bounded{range.middle(), 0})
                                                : form_of(range);
  }

  // The ranges of all that is held, where some of it changes at any time.
  std::vector<Range> changing() const {
    if (given_ != nullptr || std::ranges::all_of(loop_.disturbances, &Disturbance::is_held))
      return {};
    std::vector<Range> made = ranges_of(held());
    std::size_t place = control_.size();
    for (const Disturbance& each : loop_.disturbances)
      for (std::size_t i = 0; i < each.box.lower.size(); ++i, ++place)
        if (!each.is_held()) made[place] = {each.box.lower[i], each.box.upper[i]};
    return made;
  }

  void substep() {
    const mpq_class end = time_ + step_;
    if (loop_.kind == PlantKind::kContinuous)
      continuous_step(end);
    else
      state_ = next_state();
    if (ended_) return;
    for (const Form& each : state_)
      if (!is_finite(each)) return stop("the bounds of the next state are infinite", end);
    symbols_.add_remainders(state_);
    time_ = end;
    if (loop_.delayed && is_last_substep()) control_ = std::move(next_control_);
    if (!is_last_substep()) visit(time_, time_, state_);
    ++substeps_;
  }

  bool is_last_substep() const { return (substeps_ + 1) % flow_.plan_.substeps == 0; }

  std::vector<Form> held() const {
    std::vector<Form> made = control_;
    made.insert(made.end(), disturbed_.begin(), disturbed_.end());
    return made;
  }

  std::vector<Form> next_state() {
    if (flow_.plant_ == nullptr) {
      if (substeps_ % flow_.plan_.substeps != 0) make_room();
      std::vector<Form> inputs = state_;
      inputs.insert(inputs.end(), disturbed_.begin(), disturbed_.end());
      return flow_.controller_->bound(inputs);
    }
    std::vector<Form> inputs = state_;
    const std::vector<Form> others = held();
    inputs.insert(inputs.end(), others.begin(), others.end());
    std::vector<Form> made = outputs_of(*flow_.plant_, inputs, FormArithmetic());
    if (loop_.kind == PlantKind::kEuler)
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = state_[i] + times(made[i], seconds_);
    return made;
  }

  void continuous_step(const mpq_class& end) {
    const std::optional<ValidatedStep> step =
        validated_step(*flow_.plant_, state_, held(), seconds_, flow_.plan_.order,
                       flow_.plan_.all_symbols, changing());
    if (!step)
      return stop(fmt::format("no enclosure of {:.3g} seconds: states may grow without end",
                              seconds_.value),
                  end);
    visit(time_, end, step->during);
    state_ = step->end;
  }

  void stop(std::string reason, const mpq_class& end) {
    ended_ = FlowEnd{period_, time_, end, std::move(reason), {}};
    for (const Form& each : state_) ended_->state.push_back(range_of(each));
  }

  void visit(const mpq_class& from, const mpq_class& to, const std::vector<Form>& state) {
    if (!goes_on_) return;
    goes_on_ = visitor_.visit({period_, from, to, state, control_}, initial_);
  }

  const Flow& flow_;
  const Loop& loop_;
  SegmentVisitor& visitor_;
  const std::vector<std::vector<double>>* given_;
  Symbols symbols_;
  std::vector<Form> state_, initial_, control_, next_control_, disturbed_;
  std::vector<std::vector<Form>> constant_;
  mpq_class step_, time_;
  Bounded seconds_;
  std::size_t period_ = 0, substeps_ = 0;
  bool goes_on_ = true;
  std::optional<FlowEnd> ended_;
};

Flow::Flow(const Loop& loop, const FlowPlan& plan, const build::CompileOptions& compile,
           const build::CompilerOptions& compiler)
    : loop_(&loop), plan_(plan) {
  if (std::optional<ScalarProgram> program = plant_program(loop))
    plant_ = std::make_shared<const ScalarProgram>(std::move(*program));
  if (const std::optional<Part> network = network_of(loop))
    controller_.emplace(network->graph, network->info, plan.symbols, compile, compiler);
}

std::optional<Part> network_of(const Loop& loop) {
  if (loop.controller) return controller_of(loop);
  if (loop.kind == PlantKind::kDiscrete) return loop.plant;
  return std::nullopt;
}

std::optional<ScalarProgram> plant_program(const Loop& loop) {
  if (!loop.controller && loop.kind == PlantKind::kDiscrete) return std::nullopt;
  ScalarProgram made = used_steps(scalar_program(loop.plant.graph, kMostPlantSteps));
  if (loop.kind != PlantKind::kContinuous) return made;
  if (const std::optional<std::string> kink = not_differentiable(made))
    fail("BF3620", loop.plant.path,
         fmt::format("the plant has {}, which has no Taylor series here", *kink),
         "kind euler or discrete takes every operator");
  return made;
}

Flow::~Flow() = default;
Flow::Flow(Flow&&) noexcept = default;
Flow& Flow::operator=(Flow&&) noexcept = default;

Flow Flow::twin(const FlowPlan& plan) const {
  Flow made;
  made.loop_ = loop_;
  made.plan_ = plan;
  made.plant_ = plant_;
  if (controller_) made.controller_.emplace(controller_->twin());
  return made;
}

std::optional<FlowEnd> Flow::run(const Box& cell, SegmentVisitor& visitor,
                                 const std::vector<std::vector<double>>* disturbances) const {
  return Running(*this, cell, visitor, disturbances).run();
}

namespace {

std::size_t controls_of(const Loop& loop) {
  return loop.controller ? static_cast<std::size_t>(element_count_of(
                               loop.controller->graph, loop.controller->graph.outputs))
                         : 0;
}

// Elements of disturbances that are drawn in each period.
std::size_t drawn_of(const Loop& loop) {
  std::size_t count = 0;
  for (const Disturbance& each : loop.disturbances)
    if (!each.is_constant()) count += each.box.lower.size();
  return count;
}

// The symbols that come within a period: disturbances, what is left of the control, and of the
// state at its beginning and after each step.
std::size_t all_symbols(const Loop& loop, const FlowPlan& plan) {
  return plan.symbols + drawn_of(loop) + 2 * controls_of(loop) +
         loop.states() * (plan.substeps + 2);
}

// Sums the widths at the end of a tube, in units of another; infinite where it ends early.
class EndWidths : public SegmentVisitor {
 public:
  explicit EndWidths(const system::Stop& stop) : stop_(stop) {}
  bool visit(const Segment& segment, const std::vector<Form>&) override {
    if (segment.from == segment.to) last_ = ranges_of(segment.state);
    stopped_ = stop_();
    return !stopped_;
  }
  bool is_stopped() const { return stopped_; }
  std::vector<double> widths() const {
    std::vector<double> made;
    for (const Range& each : last_) made.push_back(width(each));
    return made;
  }

 private:
  const system::Stop& stop_;
  bool stopped_ = false;
  std::vector<Range> last_;
};

// None where the tube ends early, or is stopped, or so wide that it says nothing.
std::vector<double> end_widths(const Flow& flow, const Box& cell, const system::Stop& stop) {
  constexpr double kBeyond = 1e6;
  EndWidths end(stop);
  if (flow.run(cell, end) || end.is_stopped()) return {};
  std::vector<double> widths = end.widths();
  double first = 1e-3;
  for (std::size_t i = 0; i < cell.lower.size(); ++i)
    first = std::max(first, cell.upper[i] - cell.lower[i]);
  for (const double each : widths)
    if (!(each < kBeyond * first)) return {};
  return widths;
}

// How much wider than `than`, in the mean of the states.
double ratio(const std::vector<double>& widths, const std::vector<double>& than) {
  double sum = 0;
  for (std::size_t i = 0; i < widths.size(); ++i)
    sum += than[i] > 0 ? widths[i] / than[i] : widths[i] > 0 ? 2 : 1;
  return sum / static_cast<double>(widths.size());
}

Box middle_of(const Box& box, double share) {
  Box made = box;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    const double middle = std::midpoint(box.lower[i], box.upper[i]);
    made.lower[i] = std::max(box.lower[i], middle - share / 2 * (box.upper[i] - box.lower[i]));
    made.upper[i] = std::min(box.upper[i], middle + share / 2 * (box.upper[i] - box.lower[i]));
  }
  return made;
}

}  // namespace

FlowPlan choose_plan(const Loop& loop, std::size_t substeps, std::size_t order,
                     std::size_t symbols) {
  FlowPlan plan;
  plan.substeps = substeps > 0 ? substeps : loop.kind == PlantKind::kContinuous ? 4 : 1;
  if (order > 0) plan.order = order;
  std::size_t first = loop.states();
  for (const Disturbance& each : loop.disturbances)
    if (each.is_constant()) first += each.box.lower.size();
  const std::size_t least = first + drawn_of(loop) + 2 * loop.states();
  plan.symbols = symbols > 0 ? std::max(symbols, least) : least + kKeptByState * loop.states();
  plan.all_symbols = all_symbols(loop, plan);
  return plan;
}

namespace {

// Tries plans on a cell, and keeps the best.
class PlanTrials {
 public:
  PlanTrials(const Flow& flow, Box cell, const system::Stop& stop)
      : flow_(flow), stop_(stop), cell_(std::move(cell)), best_(flow.plan()) {
    widths_ = end_widths(flow, cell_, stop_);
    try_plan([](FlowPlan& plan) { plan.reduction = Reduction::kAxes; }, kPays);
  }

  // Whether some tube came to its end.
  bool is_known() const { return !widths_.empty(); }
  const FlowPlan& best() const { return best_; }

  // Changes the best plan, and keeps the change where the tube's end is at most so much wider.
  template <class Change>
  bool try_plan(const Change& change, double limit) {
    FlowPlan tried = best_;
    change(tried);
    tried.all_symbols = all_symbols(flow_.loop(), tried);
    std::vector<double> widths = end_widths(flow_.twin(tried), cell_, stop_);
    if (widths.empty() || (is_known() && ratio(widths, widths_) > limit)) return false;
    best_ = tried;
    widths_ = std::move(widths);
    return true;
  }

  // Less work is done where tubes get a little wider by it, and more where they get much narrower:
  // halves of cells are narrower, too.
  void try_order() {
    if (best_.order > 2) try_plan([](FlowPlan& plan) { plan.order -= 2; }, kCheaper);
  }
  void try_substeps() {
    bool fewer = false;
    while (best_.substeps > 1 && try_plan([](FlowPlan& plan) { plan.substeps /= 2; }, kCheaper))
      fewer = true;
    while (!fewer && best_.substeps < kMostSubsteps &&
           try_plan([](FlowPlan& plan) { plan.substeps *= 2; }, kDearer)) {
    }
  }

 private:
  static constexpr double kPays = 0.97;  // of the width, from which on another reduction pays
  static constexpr double kCheaper = 1.1, kDearer = 0.8;
  static constexpr std::size_t kMostSubsteps = 32;

  const Flow& flow_;
  const system::Stop& stop_;
  const Box cell_;
  FlowPlan best_;
  std::vector<double> widths_;
};

}  // namespace

FlowPlan best_plan(const Flow& flow, const FreePlan& free, const system::Stop& stop) {
  constexpr double kShares[] = {1.0 / 8, 1.0 / 32, 1.0 / 128, 1.0 / 1024};
  for (const double share : kShares) {
    PlanTrials trials(flow, middle_of(flow.loop().initial, share), stop);
    if (!trials.is_known()) continue;
    if (free.order) trials.try_order();
    if (free.substeps) trials.try_substeps();
    return trials.best();
  }
  FlowPlan more = flow.plan();
  if (free.substeps && !stop()) more.substeps *= 4;
  more.all_symbols = all_symbols(flow.loop(), more);
  return more;
}

}  // namespace bf_aot::reach
