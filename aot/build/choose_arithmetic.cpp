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
  const bool any_method = config.arithmetic == Arithmetic::kAuto && options.method_is_default;
  if (config.method != Method::kIbp && config.method != Method::kAuto && !any_method)
    return fmt::format("--method {}", to_string(config.method));
  if (options.spec) return "--spec";
  if (options.property) return "--property";
  if (config.semantics == Semantics::kFloat32) return "--semantics float32";
  if (config.semantics == Semantics::kFloat32Exact) return "--semantics float32-exact";
  if (config.reuse.any()) return "--cache";
  if (config.batch > 1) return "--batch";
  if (config.workers > 1) return "--parallel";
  if (config.memory_budget > 0) return "--memory-budget";
  if (!options.levels.empty()) return "--dispatch";
  if (options.time_parts) return "a trace";
  return std::nullopt;
}

bool can_be_integers(Graph graph, const ModelInfo& info, const CompileOptions& options) {
  PassOptions passes;
  passes.grids = true;
  passes.disabled = options.disabled_passes;
  passes.loose_codes = options.planner.semantics == Semantics::kQuantisedAny;
  PlannerConfig config;
  config.target = options.planner.target;
  config.method = Method::kIbp;
  config.arithmetic = Arithmetic::kInteger;
  try {
    normalise(graph, passes);
    plan(graph, info, "net", false, config);
    return true;
  } catch (const CompileError&) {
    return false;
  }
}

}  // namespace

Arithmetic choose_arithmetic(const Graph& imported, const ModelInfo& info,
                             const CompileOptions& options) {
  if (options.planner.arithmetic == Arithmetic::kFloat) return Arithmetic::kFloat;
  const std::optional<std::string> missing = missing_option(options);
  if (options.planner.arithmetic == Arithmetic::kInteger) {
    if (missing)
      fail(
          "BF2114", "--arithmetic integer",
          fmt::format("there is no {} with it: such verifiers bound the outputs of a box by method "
                      "ibp",
                      *missing),
          *missing == fmt::format("--method {}", to_string(options.planner.method))
              ? "add --method ibp, or use --arithmetic float"
              : fmt::format("leave {} out, or use --arithmetic float", *missing));
    return Arithmetic::kInteger;
  }
  const bool integers = !options.planner.target.hardware_float() && !missing &&
                        can_be_integers(imported, info, options);
  return integers ? Arithmetic::kInteger : Arithmetic::kFloat;
}

}  // namespace bf_aot::build
