#include "frontend/property/verdict_tables.h"

#include <cfloat>
#include <cmath>

#include "frontend/property/clause_boxes.h"

namespace bf_aot {
namespace {

VerdictCondition rounded(const Condition& condition) {
  VerdictCondition result;
  result.row = condition.row;
  result.at_least = condition.negated;
  // The threshold is that of c <= limit. Of a negated condition, -c <= limit or c >= -limit, it is
  // the negation.
  float threshold = float_at_most(condition.limit);
  if (condition.strict && std::isfinite(threshold) && mpq_class(threshold) == condition.limit)
    threshold = std::nextafterf(threshold, -INFINITY);
  result.threshold = condition.negated ? -threshold : threshold;
  return result;
}

// The least double >= x that is not -infinity; infinity where no other is.
double double_at_least(const mpq_class& x) {
  if (x > mpq_class(DBL_MAX)) return INFINITY;
  if (x <= mpq_class(-DBL_MAX)) return -DBL_MAX;
  double made = x.get_d();
  while (std::isfinite(made) && mpq_class(made) < x) made = std::nextafter(made, INFINITY);
  return made;
}

}  // namespace

float float_at_most(const mpq_class& x) {
  if (x >= mpq_class(FLT_MAX)) return FLT_MAX;
  if (x < mpq_class(-FLT_MAX)) return -INFINITY;
  auto f = static_cast<float>(x.get_d());
  if (f > FLT_MAX) f = FLT_MAX;
  if (f < -FLT_MAX) f = -FLT_MAX;
  while (mpq_class(f) > x) f = std::nextafterf(f, -INFINITY);
  while (f < FLT_MAX) {
    const float next = std::nextafterf(f, INFINITY);
    if (mpq_class(next) > x) break;
    f = next;
  }
  return f + 0.0f;  // no -0
}

float float_at_least(const mpq_class& x) {
  return -float_at_most(-x) + 0.0f;
}

FloatBoxes float_boxes(const Property& property, CaseBoxes which) {
  FloatBoxes boxes;
  for (const PropertyCase& one : property.cases) {
    const Box box = which == CaseBoxes::kWhole ? one.box : box_of_case(property, one);
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      const float lower = float_at_most(mpq_class(box.lower[i]));
      const float upper = float_at_least(mpq_class(box.upper[i]));
      boxes.lower.push_back(lower);
      boxes.upper.push_back(upper);
      // A float at or outside of the exact end is inside only when it is that end; those of what
      // conditions leave may be further inside.
      boxes.inside.push_back(
          static_cast<unsigned char>((static_cast<double>(lower) >= one.inner.lower[i] ? 1 : 0) +
                                     (static_cast<double>(upper) <= one.inner.upper[i] ? 2 : 0)));
    }
  }
  return boxes;
}

VerdictTables verdict_tables(const Property& property) {
  VerdictTables tables;
  for (const PropertyCase& one : property.cases) {
    for (const Clause& clause : one.clauses) {
      for (const Condition& condition : clause) {
        tables.terms.push_back(rounded(condition));
        const double limit = double_at_least(condition.limit);
        tables.limits.push_back(condition.negated ? -limit : limit);
      }
      tables.clause_terms.push_back(static_cast<std::uint32_t>(tables.terms.size()));
    }
    tables.case_clauses.push_back(static_cast<std::uint32_t>(tables.clause_terms.size() - 1));
  }
  return tables;
}

}  // namespace bf_aot
