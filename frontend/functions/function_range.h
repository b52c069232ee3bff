#pragma once

#include <gmpxx.h>

#include <optional>

#include "frontend/functions/function.h"

namespace bf_aot {

struct ExactRange {
  mpq_class low, high;
};

// A rational interval that holds f over [low, high], low <= high. Its ends are values of f where f
// is monotone and is_exact_value() holds there; else they lie outside of the values by at most
// 2^-199 max(1, |f|). Nothing is returned where [low, high] leaves the domain, where a value is too
// large (see find_exact), and where f has a turn that its facts do not name. Of composites the
// interval holds their lines, and what interval arithmetic over the steps of their other parts has;
// there is none beyond the floats.
std::optional<ExactRange> exact_range(const Function& f, const mpq_class& low,
                                      const mpq_class& high);

}  // namespace bf_aot
