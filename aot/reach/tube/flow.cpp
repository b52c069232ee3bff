#include "aot/reach/tube/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/reach/numbers/taylor.h"
#include "aot/reach/tube/symbols.h"
#include "aot/reach/tube/validated_step.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/property/derived_values.h"

namespace bf_aot::reach {
namespace {

constexpr std::size_t kKeptByState = 10;        // symbols of remainders that are kept
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
        symbols_(flow.plan_.all_symbols) {
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
      for (const double each : loop_.first_control) control_.push_back(form_of(Bounded{each, 0}));
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
      if (each.constant)
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
      if (!each.constant) coming += each.box.lower.size();
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
            : each.constant ? constant_[d][i]
                            : symbols_.form_over_own(Range{each.box.lower[i], each.box.upper[i]}));
    }
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
    const std::optional<ValidatedStep> step = validated_step(
        *flow_.plant_, state_, held(), seconds_, flow_.plan_.order, flow_.plan_.all_symbols);
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
  if (!loop.controller && loop.kind == PlantKind::kDiscrete) {
    controller_.emplace(loop.plant.graph, loop.plant.info, plan.symbols, compile, compiler);
    return;
  }
  plant_ = std::make_shared<const ScalarProgram>(scalar_program(loop.plant.graph, kMostPlantSteps));
  if (loop.kind == PlantKind::kContinuous)
    if (const std::optional<std::string> kink = not_differentiable(*plant_))
      fail("BF3620", loop.plant.path,
           fmt::format("the plant has {}, which has no Taylor series here", *kink),
           "kind euler or discrete takes every operator");
  if (!loop.controller) return;
  const Part controller = controller_of(loop);
  controller_.emplace(controller.graph, controller.info, plan.symbols, compile, compiler);
}

Flow::~Flow() = default;
Flow::Flow(Flow&&) noexcept = default;

Flow Flow::twin() const {
  Flow made;
  made.loop_ = loop_;
  made.plan_ = plan_;
  made.plant_ = plant_;
  if (controller_) made.controller_.emplace(controller_->twin());
  return made;
}

std::optional<FlowEnd> Flow::run(const Box& cell, SegmentVisitor& visitor,
                                 const std::vector<std::vector<double>>* disturbances) const {
  return Running(*this, cell, visitor, disturbances).run();
}

FlowPlan choose_plan(const Loop& loop, std::size_t substeps, std::size_t order,
                     std::size_t symbols) {
  FlowPlan plan;
  plan.substeps = substeps > 0 ? substeps : loop.kind == PlantKind::kContinuous ? 4 : 1;
  plan.order = order > 0 ? order : 4;
  const std::size_t states = loop.states();
  std::size_t drawn = 0, first = states;
  for (const Disturbance& each : loop.disturbances)
    (each.constant ? first : drawn) += each.box.lower.size();
  plan.symbols = symbols > 0 ? std::max(symbols, first + drawn + states)
                             : first + drawn + kKeptByState * states;
  std::size_t controls = 0;
  if (loop.controller)
    controls = static_cast<std::size_t>(
        element_count_of(loop.controller->graph, loop.controller->graph.outputs));
  plan.all_symbols = plan.symbols + drawn + 2 * controls + states * (plan.substeps + 1);
  return plan;
}

}  // namespace bf_aot::reach
