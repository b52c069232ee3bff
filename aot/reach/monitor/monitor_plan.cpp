#include "aot/reach/monitor/monitor_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "aot/reach/monitor/choose_flow.h"
#include "aot/reach/monitor/operations.h"
#include "aot/reach/numbers/taylor.h"
#include "aot/reach/numbers/used_steps.h"
#include "aot/reach/tube/network_lines.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/property/derived_values.h"
#include "planner/entries/keep_coefficients.h"
#include "runtime/bf/loops/program.h"

namespace bf_aot::reach {
namespace {

constexpr char kNoMonitor[] = "BF3630";

std::size_t elements(const Graph& graph, const std::vector<ValueId>& ids) {
  std::int64_t count = 0;
  for (const ValueId id : ids) count += element_count(graph.value(id).shape);
  return static_cast<std::size_t>(count);
}

// A monitor has no functions of a library: some are not there.
void check_program(const ScalarProgram& program, const std::string& where) {
  for (const ScalarStep& step : program.steps)
    if (step.kind == ScalarStep::Kind::kFunction && !bf::loops::has_values(step.function))
      fail(kNoMonitor, where,
           fmt::format("{} is not in the runtime of monitors", to_string(step.function)),
           "it has sin, cos, exp, tanh, sigmoid, 1 / x, whole powers, abs and clip");
  if (program.steps.size() > std::numeric_limits<std::uint16_t>::max())
    fail(kNoMonitor, where, fmt::format("{} operations are too many", program.steps.size()),
         "a monitor's programs have up to 65535");
}

// Numbers the values of a formula anew, in the order in which it compares them.
void take_values(Formula& formula, const ScalarProgram& from, std::vector<std::size_t>& outputs) {
  if (formula.kind == Formula::Kind::kCompare) {
    outputs.push_back(from.outputs[formula.value]);
    formula.value = outputs.size() - 1;
  }
  for (Formula& part : formula.parts) take_values(part, from, outputs);
}

MonitorCondition condition_of(const Requirement& requirement) {
  using Kind = Requirement::Kind;
  const std::string where = printable(requirement.text);
  if (requirement.kind != Kind::kAlways && requirement.kind != Kind::kNever)
    fail(kNoMonitor, where,
         "a monitor is asked at any time, and this speaks of times since the start",
         "require it by always or never");
  MonitorCondition made{requirement.must.values, requirement.must.formula, requirement.text};
  made.values.outputs.clear();
  take_values(made.formula, requirement.must.values, made.values.outputs);
  made.values = used_steps(made.values);
  check_program(made.values, where);
  return made;
}

std::vector<MonitorCondition> conditions_of(const Question& question) {
  if (question.requirements.empty())
    fail(kNoMonitor, question.loop.plant.path, "there is nothing to monitor",
         "require something by --always or --never");
  std::vector<MonitorCondition> made;
  for (const Requirement& each : question.requirements) made.push_back(condition_of(each));
  return made;
}

void check_loop(const Loop& loop) {
  if (loop.delayed)
    fail(kNoMonitor, loop.plant.path, "the monitor of a loop with a delay is not made",
         "put the delay into a discrete plant, as one more state");
  for (const Disturbance& each : loop.disturbances)
    if (!each.is_held())
      fail(kNoMonitor, loop.plant.path,
           fmt::format("the monitor of a disturbance that changes at any time is not made: {}",
                       printable(each.name)),
           "let it change with each period, of a shorter one");
}

void count_network(const Loop& loop, bf::loops::TubeSizes& sizes) {
  const std::optional<Part> network = network_of(loop);
  if (!network) return;
  sizes.network_inputs = elements(network->graph, network->graph.inputs);
  sizes.network_outputs = elements(network->graph, network->graph.outputs);
  if (loop.controller) sizes.controls = sizes.network_outputs;
}

void compile_network(const Loop& loop, const MonitorSettings& settings, MonitorPlan& plan) {
  std::optional<Part> network = network_of(loop);
  if (!network) return;
  build::CompileOptions options = settings.compile;
  options.planner.batch = 1;
  const build::FrontendResult front =
      front_of_lines(std::move(network->graph), network->info, plan.flow.symbols, options);
  plan.network = build::compile(front, plan.name + "_network", plan.stem + "_network", options);
  plan.lines = keeps_coefficients(plan.network->plan());
  plan.sizes.network_workspace = static_cast<std::size_t>(plan.network->plan().arena_bytes());
  plan.sizes.network_align =
      std::max<std::size_t>(8, static_cast<std::size_t>(plan.network->plan().config.target.align));
}

void set_flow(const Loop& loop, const FlowPlan& flow, MonitorPlan& plan) {
  plan.flow = flow;
  plan.seconds = enclosed(loop.period / static_cast<unsigned long>(flow.substeps));
  plan.sizes.symbols = flow.symbols;
  plan.sizes.all_symbols = flow.all_symbols;
  plan.sizes.order = flow.order;
}

}  // namespace

MonitorPlan plan_monitor(const Question& question, const MonitorSettings& settings) {
  const Loop& loop = question.loop;
  check_loop(loop);
  MonitorPlan plan;
  plan.conditions = conditions_of(question);
  plan.stem = settings.stem;
  plan.name =
      settings.compile.name.empty() ? build::identifier_from(settings.stem) : settings.compile.name;
  plan.kind = loop.kind;
  plan.periods = loop.steps;
  plan.plant = plant_program(loop);
  bf::loops::TubeSizes& sizes = plan.sizes;
  sizes.states = loop.states();
  for (const MonitorCondition& each : plan.conditions)
    sizes.condition_steps = std::max(sizes.condition_steps, each.values.steps.size());
  sizes.network_align = 8;
  for (const Disturbance& each : loop.disturbances) sizes.disturbances += each.box.lower.size();
  if (plan.plant) {
    check_program(*plan.plant, loop.plant.path);
    sizes.plant_steps = plan.plant->steps.size();
    if (loop.kind == PlantKind::kContinuous) {
      plan.places = series_places(*plan.plant);
      sizes.series = plan.places.back() + sizes.states;
    }
  }
  count_network(loop, sizes);
  const auto cost = [&](const FlowPlan& flow) {
    set_flow(loop, flow, plan);
    return operations_of(plan);
  };
  plan.operations = cost(choose_flow(question, settings, cost));
  compile_network(loop, settings, plan);
  return plan;
}

}  // namespace bf_aot::reach
