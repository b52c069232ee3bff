#pragma once

#include <functional>
#include <optional>

#include "aot/reach/numbers/interval.h"
#include "frontend/functions/function.h"

namespace bf_aot::reach {

// Ranges of a function and of its two first derivatives.
struct Derivatives {
  std::function<Range(const Range&)> value, first, second;
};

// None where the function has a kink or a jump, or where no derivative is written here.
std::optional<Derivatives> derivatives_of(const Function& f);

}  // namespace bf_aot::reach
