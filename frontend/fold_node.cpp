#include "frontend/fold_node.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "frontend/evaluate_node.h"
#include "frontend/function_exact.h"
#include "frontend/passes/affine_algebra.h"

namespace bf {
namespace {

enum class Slope : std::uint8_t { kMonotone, kAtMostOne, kUnknown };

// How f moves between low and high, which lie within its domain.
Slope slope_of(const Function& f, const mpq_class& low, const mpq_class& high) {
  switch (f.kind) {
    case FunctionKind::kLeakyRelu:
    case FunctionKind::kHardSigmoid:
    case FunctionKind::kThresholdedRelu:
    case FunctionKind::kElu:
    case FunctionKind::kCelu:
      return f.a >= 0 ? Slope::kMonotone : Slope::kUnknown;
    case FunctionKind::kSelu:
      return f.a >= 0 && f.b >= 0 ? Slope::kMonotone : Slope::kUnknown;
    case FunctionKind::kClip:
    case FunctionKind::kSign:
    case FunctionKind::kStep:
    case FunctionKind::kStepAt:
    case FunctionKind::kFloor:
    case FunctionKind::kCeil:
    case FunctionKind::kRound:
    case FunctionKind::kSigmoid:
    case FunctionKind::kTanh:
    case FunctionKind::kSoftplus:
    case FunctionKind::kSoftsign:
    case FunctionKind::kErf:
    case FunctionKind::kExp:
    case FunctionKind::kAtan:
    case FunctionKind::kSinh:
    case FunctionKind::kAsinh:
    case FunctionKind::kLog:
    case FunctionKind::kSqrt:
    case FunctionKind::kAsin:
    case FunctionKind::kAcos:
    case FunctionKind::kAcosh:
    case FunctionKind::kAtanh:
      return Slope::kMonotone;
    case FunctionKind::kReciprocal:
    case FunctionKind::kPower:
      return low > 0 || high < 0 ? Slope::kMonotone : Slope::kUnknown;
    case FunctionKind::kAbs:
    case FunctionKind::kSin:
    case FunctionKind::kCos:
      return Slope::kAtMostOne;
    case FunctionKind::kShrink:
    case FunctionKind::kIsZero:
    case FunctionKind::kHardSwish:
    case FunctionKind::kGelu:
    case FunctionKind::kGeluTanh:
    case FunctionKind::kMish:
    case FunctionKind::kCosh:
    case FunctionKind::kTan:
      return Slope::kUnknown;
  }
  return Slope::kUnknown;
}

bool in_domain(const Function& f, const mpq_class& low, const mpq_class& high) {
  switch (f.kind) {
    case FunctionKind::kLog:
      return low > 0;
    case FunctionKind::kSqrt:
      return low >= 0;
    case FunctionKind::kReciprocal:
      return low > 0 || high < 0;
    case FunctionKind::kPower:
      if (low > 0) return true;
      return std::floor(f.a) == f.a && (f.a >= 0 || high < 0);
    case FunctionKind::kAsin:
    case FunctionKind::kAcos:
      return low >= -1 && high <= 1;
    case FunctionKind::kAcosh:
      return low >= 1;
    case FunctionKind::kAtanh:
      return low > -1 && high < 1;
    default:
      return true;
  }
}

// >= x, for x >= 0: get_d truncates.
double double_above(const mpq_class& x) {
  return x == 0 ? 0 : next_up(x.get_d());
}

// Whether a value of f at x that MPFR finds to be a double is that double. Elsewhere it may miss by
// less than can be seen: tanh(1000) is not 1.
bool shows_exactly(const Function& f, double x) {
  switch (f.kind) {
    case FunctionKind::kSqrt:
    case FunctionKind::kReciprocal:
    case FunctionKind::kSoftsign:
    case FunctionKind::kHardSwish:
      return true;
    case FunctionKind::kPower:  // a power of one number of 53 bits, or the square root of one
      return std::abs(f.a) <= 16 && std::floor(2 * f.a) == 2 * f.a;
    default:
      return x == 0 || x == 1;
  }
}

constexpr Bounded kNoBound{std::numeric_limits<double>::quiet_NaN(), 0};

// f(x): its value at x.value rounded, and how far f(x) may be from that. evaluate_exact() misses
// smooth functions by less than 2^-200 max(1, |f|).
Bounded bounded_function(const Function& f, const Bounded& x) {
  if (!std::isfinite(x.value) || !std::isfinite(x.error)) return kNoBound;
  const mpq_class middle(x.value);
  const mpq_class low = middle - mpq_class(x.error);
  const mpq_class high = middle + mpq_class(x.error);
  if (!in_domain(f, low, high) || !std::isfinite(evaluate(f, x.value))) return kNoBound;
  const mpq_class exact = evaluate_exact(f, middle);
  const double value = exact.get_d();
  if (!std::isfinite(value)) return kNoBound;
  mpq_class miss = abs(exact - mpq_class(value));
  if (x.error != 0) {
    switch (slope_of(f, low, high)) {
      case Slope::kMonotone:
        for (const mpq_class& end : {low, high}) {
          if (!std::isfinite(evaluate(f, end.get_d()))) return kNoBound;
          const mpq_class distance = abs(evaluate_exact(f, end) - mpq_class(value));
          if (distance > miss) miss = distance;
        }
        break;
      case Slope::kAtMostOne:
        miss += mpq_class(x.error);
        break;
      case Slope::kUnknown:
        return kNoBound;
    }
  }
  const bool exactly =
      is_piecewise_linear(f.kind) || (miss == 0 && x.error == 0 && shows_exactly(f, x.value));
  const double own = exactly ? 0 : 0x1p-190 * (1 + std::abs(value));
  return {value, add_up(double_above(miss), own)};
}

struct BoundedArithmetic {
  using Number = Bounded;
  using Accumulator = Sum;

  static Bounded constant(const Constant& constant, std::size_t i) {
    return bounded_at(constant, i);
  }
  static Bounded number(double x) { return {x, 0}; }
  static Bounded add(const Bounded& a, const Bounded& b) { return bf::add(a, b); }
  static Bounded subtract(const Bounded& a, const Bounded& b) { return bf::add(a, negate(b)); }
  static Bounded multiply(const Bounded& a, const Bounded& b) { return bf::multiply(a, b); }
  static Bounded divide(const Bounded& a, const Bounded& b) {
    return can_divide_by(b) ? bf::divide(a, b) : kNoBound;
  }
  static Bounded relu(const Bounded& a) { return bf::relu(a); }
  // |max a - max b| <= max |a - b|.
  static Bounded larger(const Bounded& a, const Bounded& b) {
    return {std::max(a.value, b.value), std::max(a.error, b.error)};
  }
  static Bounded apply(const Function& f, const Bounded& x) { return bounded_function(f, x); }
};

bool may_have_no_bound(const Op& op) {
  const auto* binary = std::get_if<Binary>(&op);
  return std::holds_alternative<Unary>(op) ||
         (binary != nullptr && binary->kind == Binary::Kind::kDiv);
}

}  // namespace

std::optional<Constant> fold_node(const Graph& graph, const Node& node,
                                  const std::vector<const Constant*>& inputs) {
  if (const auto* literal = std::get_if<Literal>(&node.op)) return literal->value;
  std::vector<std::vector<Bounded>> tensors(inputs.size());
  std::vector<const std::vector<Bounded>*> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t j = 0; j < inputs[i]->data.size(); ++j)
      tensors[i].push_back(bounded_at(*inputs[i], j));
    operands.push_back(&tensors[i]);
  }
  const std::vector<Bounded> result =
      NodeEvaluator<BoundedArithmetic>(graph, node, std::move(operands)).run();
  if (may_have_no_bound(node.op) && std::any_of(result.begin(), result.end(), [](const Bounded& x) {
        return std::isnan(x.value);
      }))
    return std::nullopt;
  ConstantBuilder constant(graph.value(node.output).shape);
  for (std::size_t i = 0; i < result.size(); ++i) constant.set(i, result[i]);
  return std::move(constant).finish(node.origin);
}

}  // namespace bf
