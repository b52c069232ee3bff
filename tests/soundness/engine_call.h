#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/engine/run/engine.h"
#include "planner/planner.h"
#include "tests/soundness/batch.h"

// Functions of verifiers by their signatures, called on boxes with guarded memory: the engine's and
// compiled ones alike.
namespace bf_aot::soundness {

// Names of the instruction sets that run here and that the engine has code for, the oldest first.
std::vector<std::string> engine_targets();

std::shared_ptr<const Plan> plan_for_engine(const Graph& graph, bool has_spec,
                                            const PlannerConfig& config);
// Of the functions of a property, whose rows are the graph's last output.
std::shared_ptr<const Plan> plan_for_property(const Graph& graph, const PlannerConfig& config);

using Callee = std::function<bf_status(const Signature&, const engine::Arguments&)>;

Callee callee_of(const engine::Engine& engine);
Callee callee_of(const Batch& batch, std::size_t net);  // which are kept by whoever calls

struct Called {
  bf_status status = BF_OK;
  std::vector<Outcome> boxes;
  std::vector<float> coefficients;  // of all boxes; of signatures that have them
  std::vector<float> ranges;        // of signatures that have them
};

struct CallWith {
  Arena* context = nullptr;  // of cached signatures
  const bf_executor* executor = nullptr;
  unsigned char fill = 0xaa;  // of the workspace
  // For how many workers there is memory; default: for those of the executor that the plan uses.
  std::optional<std::size_t> workers = std::nullopt;
};

// Guarded memory for a call, of so many bytes as it asks for, poisoned.
Arena workspace_for(const Plan& plan, const Signature& signature, const CallWith& with,
                    std::size_t& bytes);
// Throws when there was a write outside of it.
void expect_guards(const Arena& arena);

// Whether a call left the box's bounds as they were before.
bool untouched(const Outcome& outcome);

// One call of a function that makes bounds: of one box, or of as many as `boxes` has where the
// signature takes several. Throws when there is a write outside the memory that it asks for.
Called call_bounds(const Plan& plan, const Callee& callee, const Signature& signature,
                   const std::vector<FloatBox>& boxes, const CallWith& with = {});

// Of NAME_evaluate.
Outcome call_evaluate(const Plan& plan, const Callee& callee, const std::vector<float>& x);

// A fresh context of the plan.
Arena new_context(const Plan& plan, const Callee& callee);

bool has_function(const Plan& plan, const Signature& signature);

}  // namespace bf_aot::soundness
