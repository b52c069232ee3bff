#include "planner/tables/usual_composites.h"

#include <initializer_list>

#include "frontend/diagnostic.h"
#include "frontend/functions/composite/composite.h"
#include "frontend/functions/composite/expression.h"

namespace bf_aot {
namespace {

// x times the last of the functions of each other of x.
Function times_x(std::initializer_list<FunctionKind> kinds) {
  Expression e;
  int inner = 0;
  for (const FunctionKind kind : kinds) inner = e.function({kind}, inner).value();
  Function made{FunctionKind::kComposite};
  made.composite = Composite::of(e.parts(e.product(0, inner)).steps);
  BF_CHECK(made.composite != nullptr);
  return made;
}

}  // namespace

const std::vector<Function>& usual_composites() {
  static const std::vector<Function> usual = {
      times_x({FunctionKind::kSigmoid}), times_x({FunctionKind::kSoftplus, FunctionKind::kTanh})};
  return usual;
}

}  // namespace bf_aot
