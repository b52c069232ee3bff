#include "frontend/functions/composite/expression.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "frontend/functions/composite/branches.h"

namespace bf_aot {
namespace {

using StepKind = CompositeStep::Kind;

constexpr Bounded kNone = {0, 0};
constexpr Bounded kOne = {1, 0};
constexpr Bounded kMinusOne = {-1, 0};
constexpr int kMostPower = 8;

CompositeStep line_step(int u, const Bounded& factor, const Bounded& offset) {
  CompositeStep step;
  step.kind = StepKind::kLine;
  step.left = u;
  step.factor = factor;
  step.offset = offset;
  return step;
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

std::optional<int> Expression::function(const Function& f, int u) {
  if (has_limits(f)) return std::nullopt;
  if (f.kind == FunctionKind::kPower && f.a >= 1 && f.a <= kMostPower && std::floor(f.a) == f.a) {
    int power = u;
    for (int k = 1; k < static_cast<int>(f.a); ++k) power = product(power, u);
    return power;
  }
  if (f.kind == FunctionKind::kLog) {
    const auto exponent = exponent_beside_one(u);
    if (!exponent) return std::nullopt;
    return function({FunctionKind::kSoftplus}, *exponent);
  }
  if (f.kind == FunctionKind::kReciprocal) {
    const auto exponent = exponent_beside_one(u);
    if (!exponent) return std::nullopt;
    return function({FunctionKind::kSigmoid}, line(*exponent, kMinusOne, kNone));
  }
  if (f.kind == FunctionKind::kHardSigmoid)
    return function({FunctionKind::kClip, 0, 1}, line(u, {f.a, 0}, {f.b, 0}));
  if (!branches_of(f)) return std::nullopt;
  CompositeStep step;
  step.kind = StepKind::kFunction;
  step.left = u;
  step.function = f;
  return add(step);
}

// The steps that the term needs; where x is read by one line alone, that is the variable.
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
  std::vector<int> place(steps_.size(), 0);
  made.steps.push_back({});
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
