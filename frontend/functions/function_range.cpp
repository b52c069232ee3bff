#include "frontend/functions/function_range.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

std::optional<ExactRange> exact_range(const Function& f, const mpq_class& low,
                                      const mpq_class& high) {
  if (f.composite != nullptr) return std::nullopt;  // no error of find_exact() is known
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
