#pragma once

#include <optional>

#include "frontend/derivative/node_maker.h"

namespace bf_aot {

// FunctionFacts::derivative as nodes, where y = f(x) is there already. Nothing: f jumps, or has
// parameters for which there is no such form.
std::optional<ValueId> add_function_derivative(NodeMaker& make, const Function& f, ValueId x,
                                               ValueId y);

// 1 where x > 0, else 0: the derivative of ReLU.
ValueId add_step(NodeMaker& make, ValueId x);

}  // namespace bf_aot
