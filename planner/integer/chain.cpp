#include "planner/integer/chain.h"

#include <algorithm>
#include <cmath>

#include "frontend/functions/function_exact.h"
#include "frontend/functions/function_facts.h"

namespace bf_aot {
namespace {

using Where = Cut::Where;

Range interval(std::initializer_list<mpq_class> ends) {
  return {std::min(ends), std::max(ends)};
}

Range minus(const Range& a, const Range& b) {
  return {a.low - b.high, a.high - b.low};
}

// ---- Cuts, one overload for each kind of link: x such that link(x) reaches what `cut` says

bool through(const AffineLink& link, Cut& cut) {
  if (link.factor.low <= 0) return false;
  const Range inverse(1 / link.factor.high, 1 / link.factor.low);
  cut.at = minus(cut.at, link.offset) * inverse;
  return true;
}

// y > at or y >= at, where y is never below `least`.
bool always_from(const Cut& cut, const mpq_class& least) {
  return cut.inclusive ? cut.at.high <= least : cut.at.high < least;
}

// Returns true if y does not reach the cut, y > at or y >= at, where y is never above `most`.
bool never_up_to(const Cut& cut, const mpq_class& most) {
  return cut.inclusive ? cut.at.low > most : cut.at.low >= most;
}

// Returns true if all numbers that the cut may be at lie on one side of the limit, or it is exact.
bool is_decided_at(const Cut& cut, const mpq_class& limit) {
  return cut.at.is_exact() || cut.at.high < limit || cut.at.low > limit;
}

bool through_clip(const Function& clip, Cut& cut) {
  if (std::isfinite(clip.a)) {
    if (!is_decided_at(cut, clip.a)) return false;
    if (always_from(cut, clip.a)) cut.where = Where::kAlways;
  }
  if (cut.where == Where::kAt && std::isfinite(clip.b)) {
    if (!is_decided_at(cut, clip.b)) return false;
    if (never_up_to(cut, clip.b)) cut.where = Where::kNever;
  }
  return true;
}

bool through(const ReluLink&, Cut& cut) {
  return through_clip({FunctionKind::kClip, 0, INFINITY}, cut);
}

// round(x / a) >= n, ties to even: x / a >= n - 1/2 where n is even, else x / a > n - 1/2.
bool through_round(const Function& round, Cut& cut) {
  if (!(round.a > 0)) return false;
  const auto least = [&](const mpq_class& at) {
    return cut.inclusive ? ceil_of(at) : mpz_class(floor_of(at) + 1);
  };
  const mpz_class n = least(cut.at.low);
  if (n != least(cut.at.high)) return false;
  cut.at = Range((mpq_class(n) - mpq_class(1, 2)) * mpq_class(round.a));
  cut.inclusive = mpz_even_p(n.get_mpz_t()) != 0;
  return true;
}

bool through_leaky(const Function& leaky, Cut& cut) {
  if (!(leaky.a > 0) || !is_decided_at(cut, 0)) return false;
  if (cut.at.low < 0) cut.at = cut.at * Range(1 / mpq_class(leaky.a));
  return true;
}

bool through(const Function& function, Cut& cut) {
  if (function.kind == FunctionKind::kClip && function.a <= function.b)
    return through_clip(function, cut);
  if (function.kind == FunctionKind::kRound) return through_round(function, cut);
  if (function.kind == FunctionKind::kQuantise)
    return through_clip({FunctionKind::kClip, function.b, function.c}, cut) &&
           (cut.where != Where::kAt || through_round(function, cut));
  if (function.kind == FunctionKind::kLeakyRelu) return through_leaky(function, cut);
  return false;
}

// ---- Images

std::optional<Range> image(const AffineLink& link, const Range& x) {
  return link.factor * x + link.offset;
}

std::optional<Range> image(const ReluLink&, const Range& x) {
  return Range(std::max(x.low, mpq_class(0)), std::max(x.high, mpq_class(0)));
}

// Bounds what evaluate_exact() may miss a smooth function's value by: 2^-200 of the true value,
// which is less than twice that share of the computed one.
mpq_class error_of(const Function& function, const mpq_class& value) {
  if (facts_of(function.kind).rational != nullptr) return 0;
  mpq_class error = std::max(mpq_class(1), mpq_class(abs(value)));
  mpq_div_2exp(error.get_mpq_t(), error.get_mpq_t(), 199);
  return error;
}

std::optional<Range> image(const Function& function, const Range& x) {
  const FunctionFacts& facts = facts_of(function.kind);
  if (!lies_in(facts.domain(function), x.low, x.high)) return std::nullopt;
  const Monotony monotony = facts.monotony(function);
  const bool falls = monotony == Monotony::kFalls;
  if (!x.is_exact() && monotony != Monotony::kRises && !falls) return std::nullopt;
  const std::optional<mpq_class> low = find_exact(function, falls ? x.high : x.low);
  const std::optional<mpq_class> high = find_exact(function, falls ? x.low : x.high);
  if (!low || !high) return std::nullopt;
  return Range(*low - error_of(function, *low), *high + error_of(function, *high));
}

}  // namespace

bool rounds(const Function& function) {
  return function.kind == FunctionKind::kRound || function.kind == FunctionKind::kQuantise;
}

mpz_class floor_of(const mpq_class& x) {
  mpz_class quotient;
  mpz_fdiv_q(quotient.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return quotient;
}

mpz_class ceil_of(const mpq_class& x) {
  mpz_class quotient;
  mpz_cdiv_q(quotient.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
  return quotient;
}

mpq_class common_unit(const std::vector<mpq_class>& numbers) {
  mpz_class numerator = 0;
  mpz_class denominator = 1;
  for (const mpq_class& number : numbers)
    denominator = lcm(denominator, mpz_class(number.get_den()));
  for (const mpq_class& number : numbers)
    numerator = gcd(numerator, mpz_class(number.get_num() * (denominator / number.get_den())));
  if (numerator == 0) return 1;
  mpq_class unit(numerator, denominator);
  unit.canonicalize();
  return unit;
}

Range operator+(const Range& a, const Range& b) {
  return {a.low + b.low, a.high + b.high};
}

Range operator*(const Range& a, const Range& b) {
  if (a.is_exact() && b.is_exact()) return Range(mpq_class(a.low * b.low));
  return interval({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}

std::optional<Cut> cut_of(const Chain& chain, const mpq_class& goal) {
  Cut cut{Where::kAt, Range(goal), true};
  for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
    if (!std::visit([&](const auto& each) { return through(each, cut); }, *link))
      return std::nullopt;
    if (cut.where != Where::kAt) break;
  }
  return cut;
}

std::optional<Range> image_of(const Chain& chain, Range x) {
  for (const ChainLink& link : chain) {
    const auto next = std::visit([&](const auto& each) { return image(each, x); }, link);
    if (!next) return std::nullopt;
    x = *next;
  }
  return x;
}

bool rises(const Chain& chain) {
  return std::ranges::all_of(chain, [](const ChainLink& link) {
    if (const auto* affine = std::get_if<AffineLink>(&link)) return affine->factor.low >= 0;
    const auto* function = std::get_if<Function>(&link);
    return function == nullptr || facts_of(function->kind).monotony(*function) == Monotony::kRises;
  });
}

void put_before(Chain& chain, const AffineLink& first) {
  auto* const next = chain.empty() ? nullptr : std::get_if<AffineLink>(&chain.front());
  if (next == nullptr) {
    chain.insert(chain.begin(), first);
    return;
  }
  next->offset = next->factor * first.offset + next->offset;
  next->factor = next->factor * first.factor;
  if (chain.size() == 1 || !std::holds_alternative<AffineLink>(chain[1])) return;
  const AffineLink both = *next;
  chain.erase(chain.begin());
  put_before(chain, both);
}

std::optional<RoundForm> round_form(const Chain& chain) {
  RoundForm form{1, 0, 0};
  bool rounded = false;
  for (const ChainLink& link : chain) {
    if (const auto* affine = std::get_if<AffineLink>(&link)) {
      if (!affine->factor.is_exact() || !affine->offset.is_exact()) return std::nullopt;
      if (!rounded) {
        form.offset = affine->factor.low * form.offset + affine->offset.low;
        form.factor = affine->factor.low * form.factor;
      } else {
        if (affine->factor.low != 1 || affine->offset.low.get_den() != 1) return std::nullopt;
        form.after += affine->offset.low.get_num();
      }
      continue;
    }
    const auto* const function = std::get_if<Function>(&link);
    if (function == nullptr || function->kind == FunctionKind::kClip) continue;  // cuts off
    if (!rounds(*function) || rounded) return std::nullopt;
    const mpq_class divisor(function->a);
    form.factor /= divisor;
    form.offset /= divisor;
    rounded = true;
  }
  if (!rounded) return std::nullopt;
  return form;
}

}  // namespace bf_aot
