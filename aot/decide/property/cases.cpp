#include "aot/decide/property/cases.h"

#include "runtime/bf/search/verdict.h"

namespace bf_aot::decide {

Cases::Cases(const Property& property, std::size_t whole_inputs)
    : inputs_(static_cast<std::size_t>(property.input_count)),
      whole_inputs_(whole_inputs),
      tables_(verdict_tables(property)),
      boxes_(float_boxes(property)),
      verified_(property.cases.size()) {}

std::vector<std::size_t> Cases::open() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < verified_.size(); ++i)
    if (!verified_[i]) indices.push_back(i);
  return indices;
}

input::FloatBox Cases::box(std::size_t index) const {
  const auto part = [&](const std::vector<float>& ends) {
    const auto first = ends.begin() + static_cast<std::ptrdiff_t>(index * inputs_);
    return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(inputs_));
  };
  return {part(boxes_.lower), part(boxes_.upper)};
}

// A clause is excluded when one of its conditions never holds; NAME_verify decides by the same
// function.
bool Cases::is_excluded(std::uint32_t clause, const std::vector<float>& lower,
                        const std::vector<float>& upper) const {
  for (std::uint32_t i = tables_.clause_terms[clause]; i < tables_.clause_terms[clause + 1]; ++i) {
    const VerdictCondition& term = tables_.terms[i];
    if (bf::never_holds({term.row, term.at_least, term.threshold}, lower.data(), upper.data()))
      return true;
  }
  return false;
}

void Cases::judge(std::size_t index, const engine::Bounds& rows) {
  const std::vector<float> lower(rows.lower.begin(), rows.lower.end());
  const std::vector<float> upper(rows.upper.begin(), rows.upper.end());
  for (std::uint32_t j = tables_.case_clauses[index]; j < tables_.case_clauses[index + 1]; ++j)
    if (!is_excluded(j, lower, upper)) return;
  mark_verified(index);
}

void Cases::mark_verified(std::size_t index) {
  if (!verified_[index]) ++verified_count_;
  verified_[index] = true;
}

}  // namespace bf_aot::decide
