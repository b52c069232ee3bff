#include "aot/emit/text/coverage.h"

#include "planner/plan/plan.h"

namespace bf_aot::emit {

namespace {

std::vector<std::string> coverage_of_semantics(const Plan& plan) {
  switch (plan.config.semantics) {
    case Semantics::kReal:
      if (plan.integer)
        return {"the quantised network as ONNX defines it. A run-time whose codes differ",
                "by one may leave them: --semantics quantised-any covers it."};
      if (is_of_device(plan.config.language))
        return {"the network in exact arithmetic. An evaluation in float32 rounds and may leave",
                "them: --semantics float32 covers it."};
      return {"the network in exact arithmetic. An evaluation in float32, as that of",
              plan.name + "_evaluate, rounds and may leave them: --semantics float32 covers it."};
    case Semantics::kFloat32:
      return {"every evaluation of the network in float32, in any order of its sums."};
    case Semantics::kFloat32Exact:
      return {"the evaluation of the network by " + plan.name + "_evaluate, to the bit. Another",
              "order of its sums may leave them: --semantics float32 covers each."};
    case Semantics::kQuantisedAny:
      return {"the network in exact arithmetic, each of its codes one more or less."};
  }
  return {};
}

}  // namespace

std::vector<std::string> coverage_of(const Plan& plan) {
  std::vector<std::string> lines = coverage_of_semantics(plan);
  if (const std::string note = note_on_types(plan); !note.empty()) lines.push_back(note);
  return lines;
}

std::string note_on_types(const Plan& plan) {
  if (!plan.model.narrow) return {};
  return "Tensors of 16 bits: casts round as their types do, other operators are taken as exact.";
}

}  // namespace bf_aot::emit
