#include <cmath>
#include <string>

#include "frontend/diagnostic.h"
#include "frontend/property/clause_boxes.h"
#include "frontend/property/vnnlib/source.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/fuzz/fuzz_vnnlib.h"

namespace bf_aot::test {
namespace {

void check_case(const Property& property, const PropertyCase& one) {
  const auto inputs = static_cast<std::size_t>(property.input_count);
  BF_CHECK(one.box.lower.size() == inputs && one.inner.upper.size() == inputs);
  BF_CHECK(!one.clauses.empty());
  auto between = one.between.begin();
  for (std::size_t i = 0; i < inputs; ++i) {
    BF_CHECK(std::isfinite(one.box.lower[i]) && std::isfinite(one.box.upper[i]));
    BF_CHECK(one.box.lower[i] <= one.box.upper[i]);
    BF_CHECK(one.box.lower[i] <= one.inner.lower[i] && one.inner.upper[i] <= one.box.upper[i]);
    if (one.inner.lower[i] <= one.inner.upper[i]) continue;
    BF_CHECK(between != one.between.end() && static_cast<std::size_t>(between->first) == i);
    BF_CHECK(between->second >= mpq_class(one.box.lower[i]));
    BF_CHECK(between->second <= mpq_class(one.box.upper[i]));
    ++between;
  }
  BF_CHECK(between == one.between.end());
  for (const Clause& clause : one.clauses)
    for (const Condition& condition : clause) {
      BF_CHECK(condition.row >= 0 && condition.row < static_cast<int>(property.rows.size()));
      for (const auto& [input, factor] : property.row_of(condition).inputs)
        BF_CHECK(input >= 0 && input < property.input_count && factor != 0);
    }
}

// Every element that a form is over comes before it.
void check_derived_values(const Property& property) {
  std::int64_t known = property.input_count + property.output_count;
  for (const DerivedValue& value : property.derived) {
    BF_CHECK(value.operands.size() >= 2 || value.kind == DerivedValue::Kind::kSum);
    for (const AffineForm& operand : value.operands)
      for (std::size_t i = 0; i < operand.terms.size(); ++i) {
        const auto& [index, factor] = operand.terms[i];
        BF_CHECK(index >= 0 && index < known && factor != 0);
        BF_CHECK(i == 0 || operand.terms[i - 1].first < index);
      }
    ++known;
  }
  for (const PropertyRow& row : property.rows)
    for (const auto& [index, factor] : row.outputs)
      BF_CHECK(index >= 0 && index < known - property.input_count && factor != 0);
}

}  // namespace

bool try_property(std::string_view text) {
  PropertyLimits limits;
  limits.bytes = 1 << 20;
  limits.variables = 1 << 10;
  limits.disjuncts = 1 << 8;
  limits.literals = 1 << 12;
  limits.box_numbers = 1 << 14;
  limits.derived = 1 << 8;
  limits.choices = 1 << 5;
  limits.repeated = 1 << 16;
  try {
    const std::string expanded = vnnlib::expand(std::string(text), limits.bytes, "fuzz");
    const Property property = parse_property(expanded, "fuzz", limits);
    for (const PropertyCase& one : property.cases) check_case(property, one);
    check_derived_values(property);
    for (const PropertyCase& one : property.cases) (void)box_of_case(property, one);
    const LinearSpec spec = to_spec(property);
    BF_CHECK(!spec.rows.empty());
    return true;
  } catch (const CompileError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      BF_CHECK(diagnostic.code.starts_with("BF34"));
      BF_CHECK(!diagnostic.message.empty());
    }
    return false;
  }
}

}  // namespace bf_aot::test
