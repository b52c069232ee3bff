#include "aot/reach/numbers/taylor.h"

#include <cmath>

namespace bf_aot::reach {
namespace {

bool has_recurrence(const Function& f) {
  using Kind = FunctionKind;
  switch (f.kind) {
    case Kind::kSin:
    case Kind::kCos:
    case Kind::kSinh:
    case Kind::kCosh:
    case Kind::kExp:
    case Kind::kTanh:
    case Kind::kSigmoid:
    case Kind::kTan:
    case Kind::kSqrt:
    case Kind::kLog:
    case Kind::kAtan:
    case Kind::kReciprocal:
      return true;
    case Kind::kPower:
      return f.a == std::floor(f.a) && f.a >= 2 && f.a <= 16;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> not_differentiable(const ScalarProgram& program) {
  for (const ScalarStep& step : program.steps) {
    if (step.kind == ScalarStep::Kind::kRelu) return "relu";
    if (step.kind == ScalarStep::Kind::kLarger) return "max";
    if (step.kind == ScalarStep::Kind::kFunction && !has_recurrence(step.function))
      return to_string(step.function);
  }
  return std::nullopt;
}

}  // namespace bf_aot::reach
