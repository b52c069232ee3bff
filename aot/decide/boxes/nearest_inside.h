#pragma once

#include <gmpxx.h>

#include <vector>

#include "frontend/property/property.h"

namespace bf_aot::decide {

// The point of an exact box next to `point`; inner and between: as of a PropertyCase.
std::vector<mpq_class> nearest_inside(const Box& inner, const LinearForm& between,
                                      const std::vector<double>& point);

}  // namespace bf_aot::decide
