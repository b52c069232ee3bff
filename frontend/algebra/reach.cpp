#include "frontend/algebra/reach.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/functions/function_facts.h"
#include "frontend/functions/function_range.h"
#include "frontend/numbers/exact_arithmetic.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Bounded element(const Constant& constant, std::size_t i) {
  return {constant.data[i], constant.error_at(i)};
}

// Makes the reach of a sum of products: each term takes the end of its factor's reach that makes it
// least or largest.
class ReachOfSum {
 public:
  void add(const Bounded& weight, const Reach& x) {
    if (weight.value == 0 && weight.error == 0) return;
    if (weight.value >= weight.error) {
      low_.add(weight, x.low);
      high_.add(weight, x.high);
    } else if (-weight.value >= weight.error) {
      low_.add(weight, x.high);
      high_.add(weight, x.low);
    } else {
      low_.known = high_.known = false;
    }
  }
  // Adds a term that some rows have, and others leave out.
  void add_or_leave_out(const Bounded& weight, const Reach& x) {
    add(weight, {std::min(x.low, 0.0), std::max(x.high, 0.0)});
  }
  void add(const Bounded& x) {
    low_.sum.add(x);
    high_.sum.add(x);
  }

  Reach result() const { return {-low_.outward(-1), high_.outward(1)}; }

 private:
  struct End {
    Sum sum;
    bool known = true;

    void add(const Bounded& weight, double x) {
      if (std::isfinite(x))
        sum.add_product(weight, {x, 0});
      else
        known = false;
    }
    // Returns sign times the sum, rounded up.
    double outward(double sign) const {
      const Bounded made = sum.result();
      if (!known || !std::isfinite(made.value) || !std::isfinite(made.error)) return kInf;
      const DoublePair end = two_sum(sign * made.value, made.error);
      return end.low > 0 ? std::nextafter(end.high, kInf) : end.high;
    }
  };
  End low_, high_;
};

// Returns the reach of all rows of a layer that reads x. terms(i, sum) adds row i's terms to its
// bias.
template <typename Terms>
Reach reach_of_rows(const Constant& bias, const Reach& x, const Terms& terms) {
  const bool nothing_known = x.low == -kInf && x.high == kInf;
  if (bias.data.empty() || nothing_known) return {};
  Reach all = {kInf, -kInf};
  for (std::size_t i = 0; i < bias.data.size(); ++i) {
    ReachOfSum sum;
    sum.add(element(bias, i));
    terms(i, sum);
    const Reach row = sum.result();
    all = {std::min(all.low, row.low), std::max(all.high, row.high)};
  }
  return all;
}

Reach reach_of(const Affine& op, const Reach& x) {
  return reach_of_rows(op.bias, x, [&](std::size_t i, ReachOfSum& sum) {
    const std::size_t columns = op.weight.data.size() / op.bias.data.size();
    for (std::size_t k = 0; k < columns; ++k) sum.add(element(op.weight, i * columns + k), x);
  });
}

Reach reach_of(const SparseAffine& op, const Reach& x) {
  return reach_of_rows(op.bias, x, [&](std::size_t i, ReachOfSum& sum) {
    for (std::int64_t k = op.row_start[i]; k < op.row_start[i + 1]; ++k)
      sum.add(element(op.value, static_cast<std::size_t>(k)), x);
  });
}

// Windows at an image's edge, and transposed ones, leave taps out.
Reach reach_of(const Conv& op, const Reach& x) {
  return reach_of_rows(op.bias, x, [&](std::size_t i, ReachOfSum& sum) {
    const std::size_t taps = op.weight.data.size() / op.bias.data.size();
    for (std::size_t k = 0; k < taps; ++k)
      sum.add_or_leave_out(element(op.weight, i * taps + k), x);
  });
}

Reach reach_of(const Scale& op, const Reach& x) {
  return reach_of_rows(op.offset, x,
                       [&](std::size_t i, ReachOfSum& sum) { sum.add(element(op.factor, i), x); });
}

Reach reach_of(const Relu&, const Reach& x) {
  return {std::max(x.low, 0.0), std::max(x.high, 0.0)};
}

// Returns the reach of a function's value at one end of its argument's.
Reach at_end(const Function& f, double x) {
  if (!std::isfinite(x)) return {};
  const auto range = exact_range(f, mpq_class(x), mpq_class(x));
  if (!range) return {};
  return {vnnlib::enclose(range->low, {}).below, vnnlib::enclose(range->high, {}).above};
}

bool is_even_power(const Function& f) {
  return f.kind == FunctionKind::kPower && std::fmod(f.a, 2) == 0;
}

Reach reach_of(const Unary& op, const Reach& x) {
  const Function& f = op.function;
  const FunctionFacts& facts = facts_of(f.kind);
  Reach made = {facts.values.low, facts.values.high};
  if (f.kind == FunctionKind::kClip && f.a <= f.b) made = {f.a, f.b};
  if (f.kind == FunctionKind::kQuantise) made = {f.b, f.c};
  const bool positive_power = f.kind == FunctionKind::kPower || f.kind == FunctionKind::kReciprocal;
  if (f.kind == FunctionKind::kAbs || is_even_power(f) || (positive_power && x.low >= 0))
    made.low = std::max(made.low, 0.0);
  const Monotony monotony = facts.monotony(f);
  if (monotony == Monotony::kRises) {
    made.low = std::max(made.low, at_end(f, x.low).low);
    made.high = std::min(made.high, at_end(f, x.high).high);
  } else if (monotony == Monotony::kFalls) {
    made.low = std::max(made.low, at_end(f, x.high).low);
    made.high = std::min(made.high, at_end(f, x.low).high);
  }
  return made;
}

// A product is not negative where no factor is.
Reach reach_of(const Binary& op, const Reach& a, const Reach& b) {
  if (op.kind == Binary::Kind::kMul) return a.low >= 0 && b.low >= 0 ? Reach{0, kInf} : Reach{};
  if (op.kind != Binary::Kind::kAdd) return {};
  ReachOfSum sum;
  sum.add({1, 0}, a);
  sum.add({1, 0}, b);
  return sum.result();
}

Reach reach_of(const LogSoftmax&, const Reach&) {
  return {-kInf, 0};
}

}  // namespace

Reach reach_of_node(const Node& node, const std::vector<Reach>& reaches) {
  const auto input = [&](std::size_t k) { return reaches[index_of(node.inputs[k])]; };
  return std::visit(
      [&](const auto& op) -> Reach {
        using O = std::decay_t<decltype(op)>;
        if constexpr (std::is_same_v<O, Binary>) {
          return reach_of(op, input(0), input(1));
        } else if constexpr (std::is_same_v<O, IndexMap> || std::is_same_v<O, GroupMax>) {
          return input(0);
        } else if constexpr (std::is_same_v<O, Literal> || std::is_same_v<O, MatMul> ||
                             std::is_same_v<O, Gemm> || std::is_same_v<O, Contraction>) {
          return {};
        } else {
          return reach_of(op, input(0));
        }
      },
      node.op);
}

std::vector<Reach> reaches_of(const Graph& graph) {
  std::vector<Reach> reaches(graph.values.size());
  for (const Node& node : graph.nodes)
    reaches[index_of(node.output)] = reach_of_node(node, reaches);
  return reaches;
}

}  // namespace bf_aot
