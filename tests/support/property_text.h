#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <vector>

#include "frontend/property/derived_values.h"
#include "frontend/property/property.h"

namespace bf_aot::test {

inline mpq_class value_of(const LinearForm& form, const std::vector<mpq_class>& at) {
  mpq_class sum = 0;
  for (const auto& [index, factor] : form) sum += factor * at[static_cast<std::size_t>(index)];
  return sum;
}

inline mpq_class value_of(const PropertyRow& row, const std::vector<mpq_class>& x,
                          const std::vector<mpq_class>& y) {
  return value_of(row.outputs, y) + value_of(row.inputs, x);
}

// y: outputs, and behind them derived values.
inline bool holds(const Property& property, const Condition& condition,
                  const std::vector<mpq_class>& x, const std::vector<mpq_class>& y) {
  mpq_class value = value_of(property.row_of(condition), x, y);
  if (condition.negated) value = -value;
  return condition.strict ? value < condition.limit : value <= condition.limit;
}

// Whether doubles x with these outputs violate the property, in exact arithmetic.
inline bool violates(const Property& property, const std::vector<double>& x,
                     const std::vector<mpq_class>& outputs) {
  const std::vector<mpq_class> exact_x(x.begin(), x.end());
  const std::vector<mpq_class> y = derived_values(property.derived, exact_x, outputs);
  for (const PropertyCase& one : property.cases) {
    bool inside = true;
    for (std::size_t i = 0; i < x.size(); ++i)
      inside = inside && one.inner.lower[i] <= x[i] && x[i] <= one.inner.upper[i];
    if (!inside) continue;
    for (const Clause& clause : one.clauses) {
      bool all = true;
      for (const Condition& condition : clause) all = all && holds(property, condition, exact_x, y);
      if (all) return true;
    }
  }
  return false;
}

}  // namespace bf_aot::test
