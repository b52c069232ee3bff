#include "frontend/functions/function_range.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "frontend/functions/composite/borders.h"
#include "frontend/functions/composite/branches.h"
#include "frontend/functions/composite/composite.h"
#include "frontend/functions/function_exact.h"
#include "frontend/functions/function_facts.h"
#include "frontend/functions/function_values.h"

namespace bf_aot {
namespace {

// Sums and products of numbers of more bits take too long.
constexpr std::size_t kMostBits = 8192;

std::size_t bits_of(const mpz_class& number) {
  return mpz_sizeinbase(number.get_mpz_t(), 2);
}

// find_exact() misses smooth functions by at most 2^-200 max(1, |f|), and |f| is at most the value
// plus that: 2^-199 max(1, |value|) is at least as much.
std::optional<ExactRange> range_at(const Function& f, const mpq_class& x) {
  std::optional<mpq_class> value = find_exact(f, x);
  if (!value) return std::nullopt;
  if (is_exact_value(f, x, *value)) return ExactRange{*value, *value};
  // A value of 1024 bits with a longer denominator is far below the miss; 0 stands for it. One with
  // a longer numerator is of no use.
  if (bits_of(value->get_num()) > kMostBits) return std::nullopt;
  if (bits_of(value->get_den()) > kMostBits) value = 0;
  mpq_class miss = std::max(mpq_class(1), mpq_class(abs(*value)));
  mpq_div_2exp(miss.get_mpq_t(), miss.get_mpq_t(), 199);
  return ExactRange{*value - miss, *value + miss};
}

void meet_values(const FunctionValues& values, ExactRange& range) {
  if (std::isfinite(values.low)) range.low = std::max(range.low, mpq_class(values.low));
  if (std::isfinite(values.high)) range.high = std::min(range.high, mpq_class(values.high));
}

void loosen(const Function& f, ExactRange& range) {
  range.low = values::clip(range.low - mpq_class(f.slack), f.b, f.c);
  range.high = values::clip(range.high + mpq_class(f.slack), f.b, f.c);
}

// ---- expressions: part by part their lines, or interval arithmetic over their steps

ExactRange exactly(double x) {
  return {mpq_class(x), mpq_class(x)};
}

ExactRange range_of(const Bounded& x) {
  return {mpq_class(x.value) - mpq_class(x.error), mpq_class(x.value) + mpq_class(x.error)};
}

ExactRange sum(const ExactRange& a, const ExactRange& b) {
  return {a.low + b.low, a.high + b.high};
}

ExactRange product(const ExactRange& a, const ExactRange& b) {
  const auto [low, high] = std::minmax({mpq_class(a.low * b.low), mpq_class(a.low * b.high),
                                        mpq_class(a.high * b.low), mpq_class(a.high * b.high)});
  return {low, high};
}

ExactRange square(const ExactRange& a) {
  ExactRange made = product(a, a);
  if (a.low <= 0 && a.high >= 0) made.low = 0;
  return made;
}

// A step's function on the branch that its part has; across a border, as exact_range() has it.
std::optional<ExactRange> function_over(const CompositePart& part, std::size_t step,
                                        const Function& f, const ExactRange& u) {
  if (part.kind == CompositePart::Kind::kBorder) return exact_range(f, u.low, u.high);
  const std::uint8_t chosen = part.branches[step];
  const Branches all = *branches_of(f);
  if (chosen >= kAtBreak) return exactly(all.at[static_cast<std::size_t>(chosen - kAtBreak)]);
  const Branch& branch = all.branches[chosen];
  if (branch.smooth) return exact_range(f, u.low, u.high);
  return sum(product(exactly(branch.slope), u), exactly(branch.intercept));
}

std::optional<ExactRange> steps_over(const Composite& composite, const CompositePart& part,
                                     const ExactRange& x) {
  using Kind = CompositeStep::Kind;
  std::vector<ExactRange> known;
  for (std::size_t i = 0; i < composite.steps().size(); ++i) {
    const CompositeStep& step = composite.steps()[i];
    const auto left = static_cast<std::size_t>(step.left);
    const auto right = static_cast<std::size_t>(step.right);
    switch (step.kind) {
      case Kind::kVariable:
        known.push_back(x);
        break;
      case Kind::kLine:
        known.push_back(sum(product(range_of(step.factor), known[left]), range_of(step.offset)));
        break;
      case Kind::kSum:
        known.push_back(sum(known[left], known[right]));
        break;
      case Kind::kProduct:
        known.push_back(left == right ? square(known[left]) : product(known[left], known[right]));
        break;
      case Kind::kFunction: {
        const auto value = function_over(part, i, step.function, known[left]);
        if (!value) return std::nullopt;
        known.push_back(*value);
        break;
      }
    }
  }
  return known.back();
}

std::optional<ExactRange> part_over(const Composite& composite, const CompositePart& part,
                                    const ExactRange& x) {
  switch (part.kind) {
    case CompositePart::Kind::kLine:
      return sum(sum(product(exactly(part.slope), x), exactly(part.intercept)),
                 ExactRange{mpq_class(-part.error), mpq_class(part.error)});
    case CompositePart::Kind::kSmooth:
    case CompositePart::Kind::kBorder:
      return steps_over(composite, part, x);
    case CompositePart::Kind::kBeyond:
      return std::nullopt;
  }
  return std::nullopt;
}

// Returns true if an end of a part belongs to the one beside it.
bool is_outside(const std::vector<CompositePart>& parts, std::size_t i, const mpq_class& x) {
  if (std::isfinite(parts[i].start) && x == parts[i].start && parts[i].open) return true;
  return i + 1 < parts.size() && x == parts[i + 1].start && !parts[i + 1].open;
}

// The end of a part that is met by more than the end is taken for a point of it, which only makes
// the interval larger.
std::optional<ExactRange> range_of(const Composite& composite, const mpq_class& low,
                                   const mpq_class& high) {
  std::optional<ExactRange> made;
  const std::vector<CompositePart>& parts = composite.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ExactRange x = {low, high};
    if (std::isfinite(parts[i].start)) x.low = std::max(x.low, mpq_class(parts[i].start));
    if (i + 1 < parts.size()) x.high = std::min(x.high, mpq_class(parts[i + 1].start));
    const bool point = x.low == x.high;
    if (x.low > x.high || (point && is_outside(parts, i, x.low))) continue;
    const std::optional<ExactRange> over = part_over(composite, parts[i], x);
    if (!over) return std::nullopt;
    made =
        made ? ExactRange{std::min(made->low, over->low), std::max(made->high, over->high)} : *over;
  }
  return made;
}

}  // namespace

std::optional<ExactRange> exact_range(const Function& f, const mpq_class& low,
                                      const mpq_class& high) {
  if (f.composite != nullptr) return range_of(*f.composite, low, high);
  const FunctionFacts& facts = facts_of(f.kind);
  if (!lies_in(facts.domain(f), low, high)) return std::nullopt;
  const Monotony monotony = facts.monotony(f);
  const bool turns = monotony == Monotony::kEachSide && low < 0 && high > 0;
  if (monotony == Monotony::kNone && low < high) {
    const FunctionValues& values = facts.values;
    if (!std::isfinite(values.low) || !std::isfinite(values.high)) return std::nullopt;
    return ExactRange{mpq_class(values.low), mpq_class(values.high)};
  }
  std::optional<ExactRange> range = range_at(f, low);
  const auto join = [&](const mpq_class& x) {
    const std::optional<ExactRange> at = range ? range_at(f, x) : std::nullopt;
    if (!at) {
      range.reset();
      return;
    }
    range->low = std::min(range->low, at->low);
    range->high = std::max(range->high, at->high);
  };
  if (low < high) join(high);
  if (turns) join(mpq_class(0));
  if (range) meet_values(facts.values, *range);
  if (range && f.slack != 0) loosen(f, *range);
  return range;
}

}  // namespace bf_aot
