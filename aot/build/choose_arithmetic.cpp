#include "aot/build/choose_arithmetic.h"

#include <fmt/format.h>

#include <optional>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"

namespace bf_aot::build {
namespace {

// An option that integers do not have; none: they have all.
std::optional<std::string> missing_option(const CompileOptions& options) {
  const PlannerConfig& config = options.planner;
  const Method method = config.method;
  if (method != Method::kIbp && method != Method::kAuto && method != Method::kCrown &&
      !options.method_is_default)
    return fmt::format("--method {}", to_string(config.method));
  if (options.spec) return "--spec";
  if (config.semantics == Semantics::kFloat32) return "--semantics float32";
  if (config.semantics == Semantics::kFloat32Exact) return "--semantics float32-exact";
  if (config.reuse.any()) return "--cache";
  if (config.batch > 1) return "--batch";
  if (config.decide) return "--decide";
  if (config.workers > 1) return "--parallel";
  if (config.memory_budget > 0) return "--memory-budget";
  if (!options.levels.empty()) return "--dispatch";
  if (options.time_parts) return "a trace";
  return std::nullopt;
}

// Returns the first complaint about a plan of integers; none: they compute all of the network.
std::optional<std::string> obstacle(Graph graph, const ModelInfo& info,
                                    const CompileOptions& options) {
  PassOptions passes;
  passes.grids = true;
  passes.disabled = options.disabled_passes;
  passes.loose_codes = options.planner.semantics == Semantics::kQuantisedAny;
  PlannerConfig config;
  config.target = options.planner.target;
  config.method = integer_method(options);
  config.arithmetic = Arithmetic::kInteger;
  PlanOptions planning;
  planning.property = options.property ? &*options.property : nullptr;
  try {
    normalise(graph, passes);
    plan(graph, info, "net", false, config, planning);
    return std::nullopt;
  } catch (const CompileError& error) {
    const Diagnostic& first = error.diagnostics().front();
    return fmt::format("{}: {}", first.where, first.message);
  }
}

std::string without(const std::string& option) {
  return option.starts_with("--method ") ? "add --method ibp" : "leave " + option + " out";
}

ArithmeticChoice choose(const Graph& imported, const ModelInfo& info, const CompileOptions& options,
                        const std::optional<std::string>& missing) {
  const Target& target = options.planner.target;
  if (target.hardware_float()) return {Arithmetic::kFloat, {}};  // There is nothing to choose.
  if (missing)
    return {Arithmetic::kFloat,
            fmt::format("integers have no {}: {} for them", *missing, without(*missing))};
  if (const auto found = obstacle(imported, info, options)) return {Arithmetic::kFloat, *found};
  return {Arithmetic::kInteger, target.name + " has no floating-point unit"};
}

}  // namespace

Method integer_method(const CompileOptions& options) {
  const bool crown = options.planner.method == Method::kCrown && !options.method_is_default;
  return crown ? Method::kCrown : Method::kIbp;
}

ArithmeticChoice choose_arithmetic(const Graph& imported, const ModelInfo& info,
                                   const CompileOptions& options) {
  if (options.planner.arithmetic == Arithmetic::kFloat) return {};
  const std::optional<std::string> missing = missing_option(options);
  if (options.planner.arithmetic == Arithmetic::kAuto)
    return choose(imported, info, options, missing);
  if (missing)
    fail("BF2114", "--arithmetic integer",
         fmt::format("there is no {} with it: such verifiers bound the outputs of a box by method "
                     "ibp, or, of dense layers, crown",
                     *missing),
         without(*missing) + ", or use --arithmetic float");
  return {Arithmetic::kInteger, {}};
}

}  // namespace bf_aot::build
