#include "frontend/property.h"

#include <cmath>

namespace bf_aot {

LinearSpec to_spec(const Property& property) {
  const auto outputs = static_cast<std::size_t>(property.output_count);
  LinearSpec spec;
  bool exact = true;
  std::vector<std::vector<double>> errors;
  for (const LinearForm& row : property.rows) {
    std::vector<double>& values = spec.rows.emplace_back(outputs);
    std::vector<double>& error = errors.emplace_back(outputs);
    for (const auto& [index, factor] : row) {
      const auto i = static_cast<std::size_t>(index);
      values[i] = factor.get_d();
      const mpq_class distance = abs(mpq_class(values[i]) - factor);
      if (distance == 0) continue;
      exact = false;
      error[i] = std::nextafter(distance.get_d(), INFINITY);  // get_d truncates
    }
  }
  if (spec.rows.empty()) {
    spec.rows.emplace_back(outputs);
    spec.rows[0][0] = 1;
  } else if (!exact) {
    spec.row_error = std::move(errors);
  }
  return spec;
}

}  // namespace bf_aot
