#pragma once

#include <optional>

#include "frontend/derivative/node_maker.h"

namespace bf_aot {

// f'(x), elementwise, where y = f(x) is there already. It is the derivative where f has one, and
// some finite number at a kink. On an interval on which the nodes have values, f is defined and
// Lipschitz. Nothing: f jumps, or has parameters for which there is no such form.
std::optional<ValueId> add_function_derivative(NodeMaker& make, const Function& f, ValueId x,
                                               ValueId y);

// 1 where x > 0, else 0: the derivative of ReLU.
ValueId add_step(NodeMaker& make, ValueId x);

}  // namespace bf_aot
