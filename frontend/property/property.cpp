#include "frontend/property/property.h"

#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot {

bool is_float32(const Property& property) {
  return !property.inputs.empty() && property.inputs.front().element_type == "float32";
}

void drop_unused_rows(Property& property) {
  std::vector<int> number(property.rows.size(), -1);
  const auto for_each_condition = [&](const auto& visit) {
    for (PropertyCase& one : property.cases)
      for (Clause& clause : one.clauses)
        for (Condition& condition : clause) visit(condition.row);
  };
  for_each_condition([&](int& row) { number[static_cast<std::size_t>(row)] = 0; });
  std::vector<PropertyRow> kept;
  for (std::size_t k = 0; k < number.size(); ++k) {
    if (number[k] < 0) continue;
    number[k] = static_cast<int>(kept.size());
    kept.push_back(std::move(property.rows[k]));
  }
  for_each_condition([&](int& row) { row = number[static_cast<std::size_t>(row)]; });
  property.rows = std::move(kept);
}

bool speaks_of_inputs(const Property& property) {
  return std::ranges::any_of(property.rows,
                             [](const PropertyRow& row) { return !row.inputs.empty(); });
}

bool compares_outputs(const Property& property) {
  if (!property.derived.empty()) return false;
  const auto compares = [&](const Condition& condition) {
    const auto& [outputs, inputs] = property.row_of(condition);
    if (outputs.empty()) return true;
    return condition.limit == 0 && inputs.empty() && outputs.size() == 2 &&
           outputs[0].second == 1 && outputs[1].second == -1;
  };
  return std::ranges::all_of(property.cases, [&](const PropertyCase& one) {
    return std::ranges::all_of(
        one.clauses, [&](const Clause& clause) { return std::ranges::all_of(clause, compares); });
  });
}

LinearSpec to_spec(const Property& property) {
  const std::size_t columns =
      static_cast<std::size_t>(property.output_count) + property.derived.size();
  const auto round = [&](const mpq_class& factor) {
    const vnnlib::Rounded rounded = vnnlib::round_to_double(factor);
    if (!std::isfinite(rounded.error))
      fail("BF2009", property.file_name,
           "factors of one condition differ by more than the range of doubles",
           "leave out the smaller ones, or divide the condition");
    return rounded;
  };
  LinearSpec spec;
  spec.derived = property.derived;
  bool exact = true;
  std::vector<std::vector<double>> errors;
  for (const PropertyRow& row : property.rows) {
    std::vector<double>& values = spec.rows.emplace_back(columns);
    std::vector<double>& error = errors.emplace_back(columns);
    for (const auto& [index, factor] : row.outputs) {
      const auto i = static_cast<std::size_t>(index);
      const vnnlib::Rounded rounded = round(factor);
      values[i] = rounded.value;
      error[i] = rounded.error;
      exact = exact && rounded.error == 0;
    }
  }
  if (speaks_of_inputs(property))
    for (const PropertyRow& row : property.rows) {
      std::vector<SpecEntry>& entries = spec.inputs.emplace_back();
      for (const auto& [index, factor] : row.inputs) {
        const vnnlib::Rounded rounded = round(factor);
        entries.push_back({index, rounded.value, rounded.error});
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
