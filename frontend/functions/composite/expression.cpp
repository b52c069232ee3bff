#include "frontend/functions/composite/expression.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "frontend/functions/composite/branches.h"

namespace bf_aot {
namespace {

using StepKind = CompositeStep::Kind;

constexpr Bounded kNone = {0, 0};
constexpr Bounded kOne = {1, 0};
constexpr Bounded kMinusOne = {-1, 0};
constexpr int kMostPower = 8;
constexpr int kMostMonomial = 32;  // tables of powers multiply them out up to this

CompositeStep line_step(int u, const Bounded& factor, const Bounded& offset) {
  CompositeStep step;
  step.kind = StepKind::kLine;
  step.left = u;
  step.factor = factor;
  step.offset = offset;
  return step;
}

// Functions that no composite has, but that have simpler forms in some expressions.
bool is_simplified(FunctionKind kind) {
  return kind == FunctionKind::kReciprocal || kind == FunctionKind::kSoftsign;
}

bool reads_right(const CompositeStep& step) {
  return step.kind == StepKind::kSum || step.kind == StepKind::kProduct;
}

}  // namespace

Expression::Expression() {
  steps_.push_back({});
}

int Expression::add(const CompositeStep& step) {
  const auto found = std::find(steps_.begin(), steps_.end(), step);
  const auto place = static_cast<int>(found - steps_.begin());
  if (found == steps_.end()) steps_.push_back(step);
  return place;
}

CompositeStep Expression::as_line(int term) const {
  return at(term).kind == StepKind::kLine ? at(term) : line_step(term, kOne, kNone);
}

bool Expression::is_number(int term) const {
  return at(term).kind == StepKind::kLine && at(term).factor == kNone;
}

int Expression::line(int u, const Bounded& factor, const Bounded& offset) {
  const CompositeStep inner = as_line(u);
  const Bounded slope = multiply(factor, inner.factor);
  const Bounded rest = bf_aot::add(multiply(factor, inner.offset), offset);
  if (slope == kNone) return add(line_step(variable(), kNone, rest));
  if (slope == kOne && rest == kNone) return inner.left;
  return add(line_step(inner.left, slope, rest));
}

int Expression::sum(int a, int b) {
  const CompositeStep p = as_line(a), q = as_line(b);
  if (is_number(b)) return line(a, kOne, q.offset);
  if (is_number(a)) return line(b, kOne, p.offset);
  if (p.left == q.left)
    return line(p.left, bf_aot::add(p.factor, q.factor), bf_aot::add(p.offset, q.offset));
  CompositeStep step;
  step.kind = StepKind::kSum;
  step.left = std::min(a, b);
  step.right = std::max(a, b);
  return add(step);
}

// Factors go to the front, where the expression's own is no part of the function.
int Expression::product(int a, int b) {
  const CompositeStep p = as_line(a), q = as_line(b);
  if (is_number(a)) return line(b, p.offset, kNone);
  if (is_number(b)) return line(a, q.offset, kNone);
  if (at(a).kind == StepKind::kLine && p.offset == kNone)
    return line(product(p.left, b), p.factor, kNone);
  if (at(b).kind == StepKind::kLine && q.offset == kNone)
    return line(product(a, q.left), q.factor, kNone);
  if (const auto sigmoid = sigmoid_of_product(a, b)) return *sigmoid;
  if (const auto made = quotient(a, b)) return *made;
  if (const auto made = quotient(b, a)) return *made;
  CompositeStep step;
  step.kind = StepKind::kProduct;
  step.left = std::min(a, b);
  step.right = std::max(a, b);
  return add(step);
}

std::optional<int> Expression::exponent_of(int term) const {
  if (at(term).kind != StepKind::kFunction || at(term).function.kind != FunctionKind::kExp)
    return std::nullopt;
  return at(term).left;
}

std::optional<int> Expression::exponent_beside_one(int term) const {
  const CompositeStep& step = at(term);
  if (step.kind != StepKind::kLine || step.factor != kOne || step.offset != kOne)
    return std::nullopt;
  return exponent_of(step.left);
}

std::optional<int> Expression::sigmoid_of_product(int a, int b) {
  if (!exponent_of(a)) std::swap(a, b);
  const std::optional<int> exponent = exponent_of(a);
  const CompositeStep other = at(b);
  if (!exponent || other.kind != StepKind::kFunction ||
      other.function.kind != FunctionKind::kSigmoid)
    return std::nullopt;
  if (line(other.left, kMinusOne, kNone) != *exponent) return std::nullopt;
  return function({FunctionKind::kSigmoid}, *exponent);
}

std::optional<Expression::Exponents> Expression::exponents_of_sum(int term) const {
  const CompositeStep& step = at(term);
  if (step.kind != StepKind::kSum) return std::nullopt;
  const auto u = exponent_of(step.left), v = exponent_of(step.right);
  if (!u || !v) return std::nullopt;
  return Exponents{*u, *v};
}

std::optional<Expression::Exponents> Expression::exponents_of_difference(int term) const {
  const CompositeStep& step = at(term);
  if (step.kind != StepKind::kSum) return std::nullopt;
  for (const auto& [plus, minus] : {std::pair(step.left, step.right), {step.right, step.left}}) {
    const CompositeStep& negated = at(minus);
    if (negated.kind != StepKind::kLine || negated.factor != kMinusOne || negated.offset != kNone)
      continue;
    const auto u = exponent_of(plus), v = exponent_of(negated.left);
    if (u && v) return Exponents{*u, *v};
  }
  return std::nullopt;
}

std::optional<int> Expression::inverse_of(int term) const {
  if (at(term).kind != StepKind::kFunction || at(term).function.kind != FunctionKind::kReciprocal)
    return std::nullopt;
  return at(term).left;
}

// (u - v) / 2, where both are lines of one term.
std::optional<int> Expression::half_difference(const Exponents& e) {
  if (e.u == e.v || as_line(e.u).left != as_line(e.v).left) return std::nullopt;
  return sum(line(e.u, {0.5, 0}, kNone), line(e.v, {-0.5, 0}, kNone));
}

std::optional<int> Expression::quotient(int numerator, int inverse) {
  const std::optional<int> divisor = inverse_of(inverse);
  if (!divisor) return std::nullopt;
  const CompositeStep d = at(*divisor);
  if (d.kind == StepKind::kLine && d.factor == kOne && d.offset == kOne &&
      at(d.left).kind == StepKind::kFunction && at(d.left).function.kind == FunctionKind::kAbs &&
      at(d.left).left == numerator)
    return function({FunctionKind::kSoftsign}, numerator);
  const auto above = exponents_of_difference(numerator), below = exponents_of_sum(*divisor);
  if (!above || !below) return quotient_of_lines(numerator, inverse);
  const bool same = (above->u == below->u && above->v == below->v) ||
                    (above->u == below->v && above->v == below->u);
  const auto half = same ? half_difference(*above) : std::nullopt;
  return half ? function({FunctionKind::kTanh}, *half) : std::nullopt;
}

// (p v + q) / (r v + s) = p / r + (q - p s / r) / (r v + s)
std::optional<int> Expression::quotient_of_lines(int numerator, int inverse) {
  const CompositeStep a = as_line(numerator), d = as_line(*inverse_of(inverse));
  if (a.left != d.left || !can_divide_by(d.factor)) return std::nullopt;
  const Bounded whole = divide(a.factor, d.factor);
  const Bounded rest = bf_aot::add(a.offset, multiply(kMinusOne, multiply(whole, d.offset)));
  return line(inverse, rest, whole);
}

// a + max(b - a, 0)
int Expression::maximum(int a, int b) {
  const int above = sum(b, line(a, kMinusOne, kNone));
  return sum(a, *function({FunctionKind::kLeakyRelu, 0}, above));
}

std::optional<int> Expression::function(const Function& f, int u) {
  if (has_limits(f)) return std::nullopt;
  if (f.kind == FunctionKind::kPower && f.a >= 1 && f.a <= kMostPower && std::floor(f.a) == f.a) {
    int power = u;
    for (int k = 1; k < static_cast<int>(f.a); ++k) power = product(power, u);
    return power;
  }
  if (f.kind == FunctionKind::kLog) {
    if (const auto exponent = exponent_beside_one(u))
      return function({FunctionKind::kSoftplus}, *exponent);
    const auto pair = exponents_of_sum(u);
    const auto half = pair ? half_difference(*pair) : std::nullopt;
    if (half) return sum(pair->v, *function({FunctionKind::kSoftplus}, line(*half, {2, 0}, kNone)));
  }
  if (f.kind == FunctionKind::kReciprocal)
    if (const auto exponent = exponent_beside_one(u))
      return function({FunctionKind::kSigmoid}, line(*exponent, kMinusOne, kNone));
  if (f.kind == FunctionKind::kHardSigmoid)
    return function({FunctionKind::kClip, 0, 1}, line(u, {f.a, 0}, {f.b, 0}));
  if (!branches_of(f) && !is_simplified(f.kind)) return std::nullopt;
  CompositeStep step;
  step.kind = StepKind::kFunction;
  step.left = u;
  step.function = f;
  return add(step);
}

// n where the term is variable^n, a product of n of them; else 0.
int Expression::power_of(int term, int variable) const {
  std::vector<int> powers(static_cast<std::size_t>(term) + 1, 0);
  const auto power = [&](int i) -> int& { return powers[static_cast<std::size_t>(i)]; };
  for (int i = 0; i <= term; ++i) {
    if (i == variable) {
      power(i) = 1;
    } else if (at(i).kind == StepKind::kProduct) {
      const int left = power(at(i).left), right = power(at(i).right);
      power(i) = left > 0 && right > 0 ? std::min(left + right, kMostMonomial + 1) : 0;
    }
  }
  return power(term);
}

// The steps that the term needs, a power of the variable being one; where x is read by one line
// alone, that is the variable.
Expression::Parts Expression::parts(int term) const {
  Parts made;
  if (at(term).kind == StepKind::kLine) {
    made.factor = at(term).factor;
    made.offset = at(term).offset;
    term = at(term).left;
  }
  std::vector<bool> needed(steps_.size(), false);
  needed[static_cast<std::size_t>(term)] = true;
  std::vector<int> readers_of_x;
  for (int i = term; i > 0; --i) {
    if (!needed[static_cast<std::size_t>(i)]) continue;
    needed[static_cast<std::size_t>(at(i).left)] = true;
    if (reads_right(at(i))) needed[static_cast<std::size_t>(at(i).right)] = true;
    if (at(i).left == 0 || (reads_right(at(i)) && at(i).right == 0)) readers_of_x.push_back(i);
  }
  int variable = 0;
  if (readers_of_x.size() == 1 && at(readers_of_x[0]).kind == StepKind::kLine) {
    variable = readers_of_x[0];
    made.inner_factor = at(variable).factor;
    made.inner_offset = at(variable).offset;
  }
  made.steps.push_back({});
  if (const int power = power_of(term, variable); power > 1 && power <= kMostMonomial) {
    CompositeStep step;
    step.kind = StepKind::kFunction;
    step.function = {FunctionKind::kPower, static_cast<double>(power)};
    made.steps.push_back(step);
    return made;
  }
  std::vector<int> place(steps_.size(), 0);
  for (int i = 1; i <= term; ++i) {
    if (!needed[static_cast<std::size_t>(i)] || i == variable) continue;
    CompositeStep step = at(i);
    step.left = place[static_cast<std::size_t>(step.left)];
    step.right = place[static_cast<std::size_t>(step.right)];
    place[static_cast<std::size_t>(i)] = static_cast<int>(made.steps.size());
    made.steps.push_back(step);
  }
  return made;
}

}  // namespace bf_aot
