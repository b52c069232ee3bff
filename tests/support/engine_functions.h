#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "aot/build/compile.h"
#include "aot/engine/run/engine.h"
#include "frontend/property/property.h"
#include "runtime/bf.h"

// The functions of a property, of a verifier that the engine runs, with the arguments that compiled
// ones have.
namespace bf_aot::decide {

// Who runs the verifier that a test is about.
enum class By { kCompiler, kEngine };

constexpr std::string_view to_string(By by) {
  return by == By::kCompiler ? "compiled" : "engine";
}

// Options of a verifier for the engine on this machine, otherwise as they are.
inline build::CompileOptions for_engine(build::CompileOptions options) {
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  options.levels.clear();
  return options;
}

// Kept with the plan: options.property is read when this is made.
class EngineFunctions {
 public:
  EngineFunctions(const std::filesystem::path& model, const build::CompileOptions& options)
      : engine_(build::plan_model(model, for_engine(options)), {.property = &*options.property}) {}

  const Plan& plan() const { return engine_.plan(); }

  bf_status verify(const float* lower, const float* upper, bf_result* result, void* workspace,
                   std::size_t bytes) const {
    engine::Arguments a = box(lower, upper, workspace, bytes);
    a.decision.results = result;
    return engine_.call({Purpose::kVerify}, a);
  }

  bf_status verify_batch(std::size_t count, const float* lower, const float* upper,
                         bf_result* results, bf_status* statuses, void* workspace,
                         std::size_t bytes) const {
    engine::Arguments a = box(lower, upper, workspace, bytes);
    a.boxes.count = count;
    a.decision.results = results;
    a.boxes.statuses = statuses;
    return engine_.call({.purpose = Purpose::kVerify, .batch = true}, a);
  }

  bf_status property_box(std::size_t index, float* lower, float* upper) const {
    engine::Arguments a;
    a.of_case.index = index;
    a.of_case.lower = lower;
    a.of_case.upper = upper;
    return engine_.call({Purpose::kPropertyBox}, a);
  }

  bf_status decide(const float* lower, const float* upper, const bf_budget* budget,
                   bf_result* result, bf_search* search, void* workspace, std::size_t bytes) const {
    engine::Arguments a = box(lower, upper, workspace, bytes);
    a.decision.budget = budget;
    a.decision.results = result;
    a.decision.search = search;
    return engine_.call({Purpose::kDecide}, a);
  }

  // Of one box, by the function of the plan that NAME_decide calls.
  bf_status coefficients(const float* lower, const float* upper, float* row_lower, float* row_upper,
                         float* made, void* workspace, std::size_t bytes) const {
    engine::Arguments a = box(lower, upper, workspace, bytes);
    bf_status status = BF_OK;
    a.bounds.lower = row_lower;
    a.bounds.upper = row_upper;
    a.bounds.coefficients = made;
    a.boxes.statuses = &status;
    const bool batch = plan().config.batch > 1;
    return engine_.call({.spec = true, .coefficients = true, .batch = batch}, a);
  }

 private:
  static engine::Arguments box(const float* lower, const float* upper, void* workspace,
                               std::size_t bytes) {
    engine::Arguments a;
    a.boxes.lower = lower;
    a.boxes.upper = upper;
    a.workspace = workspace;
    a.workspace_bytes = bytes;
    return a;
  }

  engine::Engine engine_;
};

}  // namespace bf_aot::decide
