#include "aot/cli/cases.h"

#include "runtime/verdict.h"

namespace bf::cli {

Cases::Cases(const Property& property)
    : property_(property), tables_(verdict_tables(property)), verified_(property.cases.size()) {}

std::vector<std::size_t> Cases::open() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < verified_.size(); ++i)
    if (!verified_[i]) indices.push_back(i);
  return indices;
}

FloatBox Cases::box(std::size_t index) const {
  const Box& box = property_.cases[index].box;
  FloatBox result;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    result.lower.push_back(float_at_most(mpq_class(box.lower[i])));
    result.upper.push_back(float_at_least(mpq_class(box.upper[i])));
  }
  return result;
}

// As in the verifier's own code.
bool Cases::is_excluded(std::uint32_t clause, const std::vector<float>& lower,
                        const std::vector<float>& upper) const {
  for (std::uint32_t i = tables_.clause_terms[clause]; i < tables_.clause_terms[clause + 1]; ++i) {
    const VerdictCondition& term = tables_.terms[i];
    if (never_holds({term.row, term.at_least, term.threshold}, lower.data(), upper.data()))
      return true;
  }
  return false;
}

void Cases::judge(std::size_t index, const Bounds& rows) {
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

}  // namespace bf::cli
