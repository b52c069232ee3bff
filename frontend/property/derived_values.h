#pragma once

#include <gmpxx.h>

#include <vector>

#include "frontend/numbers/exact_arithmetic.h"
#include "frontend/property/property.h"

namespace bf_aot {

// The number, rounded toward zero, with a bound of the distance, which is infinite beyond the range
// of doubles.
Bounded enclosed(const mpq_class& exact);

// Returns the outputs y, and behind them the values of `derived` at inputs x and outputs y.
std::vector<mpq_class> derived_values(const std::vector<DerivedValue>& derived,
                                      const std::vector<mpq_class>& x, std::vector<mpq_class> y);

// Computes them from numbers that are known up to an error, |exact - value| <= error, with every
// rounding counted. The error is infinite or NaN beyond the range of doubles.
std::vector<Bounded> derived_values(const std::vector<DerivedValue>& derived,
                                    const std::vector<Bounded>& x, std::vector<Bounded> y);

// Computes them in double, without guarantee.
std::vector<double> derived_values(const std::vector<DerivedValue>& derived,
                                   const std::vector<double>& x, std::vector<double> y);

}  // namespace bf_aot
