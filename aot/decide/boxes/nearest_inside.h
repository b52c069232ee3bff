#pragma once

#include <gmpxx.h>

#include <vector>

#include "frontend/property/property.h"

namespace bf_aot::decide {

// The point of an exact box next to `point`; inner and between: as of a PropertyCase.
std::vector<mpq_class> nearest_inside(const Box& inner, const LinearForm& between,
                                      const std::vector<double>& point);

// The same, with the case's own ends where the point is at one of them or beyond.
std::vector<mpq_class> nearest_inside(const PropertyCase& one, const std::vector<double>& point);

// Returns true if the case's exact box is one point, which nearest_inside() makes of any other.
bool is_point(const PropertyCase& one);

// Points that nearest_inside() moves to the corners of a box that has an end that is no double, and
// in which up to four inputs vary: no search comes to such corners by itself. None for others.
std::vector<std::vector<double>> corners_that_no_double_is(const PropertyCase& one);

// Returns true if the case's exact box holds x.
bool lies_in_box(const PropertyCase& one, const std::vector<mpq_class>& x);

}  // namespace bf_aot::decide
