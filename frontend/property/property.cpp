#include "frontend/property/property.h"

#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot {

bool is_float32(const Property& property) {
  return !property.inputs.empty() && property.inputs.front().element_type == "float32";
}

bool compares_outputs(const Property& property) {
  if (!property.derived.empty()) return false;
  const auto compares = [&](const Condition& condition) {
    if (condition.row < 0 || !condition.inputs.empty() || condition.limit != 0) return false;
    const LinearForm& row = property.rows[static_cast<std::size_t>(condition.row)];
    return row.size() == 2 && row[0].second == 1 && row[1].second == -1;
  };
  return std::ranges::all_of(property.cases, [&](const PropertyCase& one) {
    return std::ranges::all_of(
        one.clauses, [&](const Clause& clause) { return std::ranges::all_of(clause, compares); });
  });
}

LinearSpec to_spec(const Property& property) {
  const auto columns = static_cast<std::size_t>(property.output_count) + property.derived.size();
  LinearSpec spec;
  spec.derived = property.derived;
  bool exact = true;
  std::vector<std::vector<double>> errors;
  for (const LinearForm& row : property.rows) {
    std::vector<double>& values = spec.rows.emplace_back(columns);
    std::vector<double>& error = errors.emplace_back(columns);
    for (const auto& [index, factor] : row) {
      const auto i = static_cast<std::size_t>(index);
      const vnnlib::Rounded rounded = vnnlib::round_to_double(factor);
      if (!std::isfinite(rounded.error))
        fail("BF2009", property.file_name,
             "factors of one condition on the outputs differ by more than the range of doubles",
             "leave out the smaller ones, or divide the condition");
      values[i] = rounded.value;
      error[i] = rounded.error;
      exact = exact && rounded.error == 0;
    }
  }
  if (spec.rows.empty()) {
    spec.rows.emplace_back(columns);
    spec.rows[0][0] = 1;
  } else if (!exact) {
    spec.row_error = std::move(errors);
  }
  return spec;
}

}  // namespace bf_aot
