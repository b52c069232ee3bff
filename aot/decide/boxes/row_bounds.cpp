#include "aot/decide/boxes/row_bounds.h"

#include <algorithm>
#include <cmath>

#include "runtime/bf/search/verdict.h"

namespace bf_aot::decide {
namespace {

// A miss by this share of the magnitudes that the bounds have is taken for rounding, and so is one
// of what is paid for products below the normal range. They decide what is tried, not what holds.
constexpr float kRounding = 0x1p-16F;
constexpr float kUnderflow = 0x1p-90F;

bool any_condition(const VerdictTables& tables, std::uint32_t clause, auto holds) {
  const auto begin = tables.terms.begin();
  return std::any_of(begin + tables.clause_terms[clause], begin + tables.clause_terms[clause + 1],
                     holds);
}

bool is_near(const VerdictCondition& term, const RowBounds& rows) {
  const auto row = static_cast<std::size_t>(term.row);
  const float lower = rows.lower[row], upper = rows.upper[row];
  const float miss = term.at_least ? upper - term.threshold : term.threshold - lower;
  const float size = std::max({std::fabs(term.threshold), std::fabs(lower), std::fabs(upper)});
  return std::isfinite(size) && miss <= std::max(kRounding * size, kUnderflow);
}

}  // namespace

bool is_excluded(const VerdictTables& tables, std::uint32_t clause, const RowBounds& rows) {
  return any_condition(tables, clause, [&](const VerdictCondition& term) {
    return bf::never_holds({term.row, term.at_least, term.threshold}, rows.lower.data(),
                           rows.upper.data());
  });
}

bool is_near_limit(const VerdictTables& tables, std::size_t property_case, const RowBounds& rows) {
  for (std::uint32_t j = tables.case_clauses[property_case];
       j < tables.case_clauses[property_case + 1]; ++j)
    if (!is_excluded(tables, j, rows) &&
        !any_condition(tables, j,
                       [&](const VerdictCondition& term) { return is_near(term, rows); }))
      return false;
  return true;
}

}  // namespace bf_aot::decide
