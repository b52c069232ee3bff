#include "aot/decide/property/cases.h"

#include "aot/decide/boxes/row_bounds.h"
#include "aot/input/balls.h"

namespace bf_aot::decide {

Cases::Cases(const Property& property, std::size_t whole_inputs, Norm norm)
    : property_(property),
      inputs_(static_cast<std::size_t>(property.input_count)),
      whole_inputs_(whole_inputs),
      norm_(norm),
      tables_(verdict_tables(property)),
      // The ball of a narrower box is another one.
      boxes_(
          float_boxes(property, norm == Norm::kLargest ? CaseBoxes::kNarrowed : CaseBoxes::kWhole)),
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
  input::FloatBox made{part(boxes_.lower), part(boxes_.upper)};
  if (norm_ != Norm::kLargest) input::widen_for_ball(made.lower, made.upper, norm_ == Norm::kSum);
  return made;
}

void Cases::judge(std::size_t index, const RowBounds& rows) {
  for (std::uint32_t j = tables_.case_clauses[index]; j < tables_.case_clauses[index + 1]; ++j)
    if (!is_excluded(tables_, j, rows)) return;
  mark_verified(index);
}

void Cases::mark_verified(std::size_t index) {
  if (!verified_[index]) ++verified_count_;
  verified_[index] = true;
}

}  // namespace bf_aot::decide
