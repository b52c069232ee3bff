#include "frontend/property/verdict_tables.h"

#include <cfloat>
#include <cmath>

namespace bf_aot {
namespace {

// The least value of a x over the closed box, exactly.
mpq_class least_value(const LinearForm& form, const Box& box) {
  mpq_class least = 0;
  for (const auto& [input, factor] : form) {
    const auto i = static_cast<std::size_t>(input);
    least += factor * mpq_class(factor > 0 ? box.lower[i] : box.upper[i]);
  }
  return least;
}

VerdictCondition weaken(const Condition& condition, const Box& box) {
  const mpq_class limit = condition.limit - least_value(condition.inputs, box);
  VerdictCondition result;
  result.row = condition.row;
  result.at_least = condition.negated;
  // The threshold is that of c y <= limit. Of a negated condition, -c y <= limit or c y >= -limit,
  // it is the negation.
  float threshold = float_at_most(limit);
  if (condition.strict && std::isfinite(threshold) && mpq_class(threshold) == limit)
    threshold = std::nextafterf(threshold, -INFINITY);
  result.threshold = condition.negated ? -threshold : threshold;
  return result;
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

FloatBoxes float_boxes(const Property& property) {
  FloatBoxes boxes;
  for (const PropertyCase& one : property.cases)
    for (std::size_t i = 0; i < one.box.lower.size(); ++i) {
      const float lower = float_at_most(mpq_class(one.box.lower[i]));
      const float upper = float_at_least(mpq_class(one.box.upper[i]));
      boxes.lower.push_back(lower);
      boxes.upper.push_back(upper);
      // A float at or outside of the exact end is inside only when it is that end.
      boxes.inside.push_back(
          static_cast<unsigned char>((static_cast<double>(lower) >= one.inner.lower[i] ? 1 : 0) +
                                     (static_cast<double>(upper) <= one.inner.upper[i] ? 2 : 0)));
    }
  return boxes;
}

VerdictTables verdict_tables(const Property& property) {
  VerdictTables tables;
  for (const PropertyCase& one : property.cases) {
    for (const Clause& clause : one.clauses) {
      bool relaxed = false;
      for (const Condition& condition : clause) {
        relaxed = relaxed || !condition.inputs.empty();
        if (condition.row >= 0) tables.terms.push_back(weaken(condition, one.box));
      }
      tables.relaxed.push_back(relaxed);
      tables.clause_terms.push_back(static_cast<std::uint32_t>(tables.terms.size()));
    }
    tables.case_clauses.push_back(static_cast<std::uint32_t>(tables.relaxed.size()));
  }
  return tables;
}

}  // namespace bf_aot
