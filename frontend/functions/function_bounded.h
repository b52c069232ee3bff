#pragma once

#include <optional>

#include "frontend/functions/function.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {

// f of a real number within x.error of x.value: f(x.value) rounded, and how far f may be from that.
// nullopt where nothing is known: next to a pole or the end of the domain, beyond double, and of
// composites.
std::optional<Bounded> bounded_function(const Function& f, const Bounded& x);

}  // namespace bf_aot
