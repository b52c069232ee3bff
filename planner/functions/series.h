#pragma once

#include <vector>

#include "frontend/functions/interval.h"

namespace bf_aot {

// Taylor coefficients f^(k) / k!, k = 0..order, each an interval that holds the coefficients at all
// points of the interval that the variable was given as. All operations are the usual recurrences
// in interval arithmetic, so the enclosure carries over.
using Series = std::vector<Interval>;

Series variable(const Interval& x, int order);
Series operator+(Series a, const Series& b);
Series operator*(const Series& a, const Series& b);
Series operator/(const Series& a, const Series& b);
Series operator*(const Interval& a, Series b);
Series operator+(Series a, const Interval& b);  // b is added to the value alone

// The functions of a series u.
Series exponential(const Series& u);
Series power(const Series& u, double a);  // u > 0
Series sine(const Series& u);
Series cosine(const Series& u);
Series sigmoid(const Series& u);
Series hyperbolic_tangent(const Series& u);
Series tangent(const Series& u);

// The series y with the value y_0 and y' = slope u'.
Series integral(const Interval& value, const Series& slope, const Series& u);

}  // namespace bf_aot
