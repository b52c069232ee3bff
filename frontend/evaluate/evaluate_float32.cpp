#include "frontend/evaluate/evaluate_float32.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <variant>

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/evaluate_node.h"
#include "frontend/functions/function_float32.h"

// Proof: docs/proofs/float32.md, "Points where nothing is rounded".

namespace bf_aot {
namespace {

// The multiples of 2^grid up to 2^24 2^grid are float32 numbers, none of them subnormal.
constexpr double kMostSteps = 0x1p24;
constexpr int kLeastGrid = -126;

// The exponent of the lowest bit of x; INT_MAX for 0.
int grid_of(double x) {
  if (x == 0) return INT_MAX;
  int exponent = 0;
  const auto bits = static_cast<std::uint64_t>(std::ldexp(std::fabs(std::frexp(x, &exponent)), 53));
  return exponent - 53 + std::countr_zero(bits);
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::fabs(std::frexp(x, &exponent)) == 0.5;
}

// A float32 number that every evaluation has, or NaN. Where it is a sum that others may be added to
// before it is complete: the sum of the magnitudes of its terms, and the least of their grids.
struct UnroundedNumber {
  double value = 0, size = 0;
  int grid = INT_MAX;

  bool is_known() const { return !std::isnan(value); }
  bool is_sum() const { return size != std::fabs(value); }
};

constexpr UnroundedNumber kUnknown = {NAN, NAN, INT_MAX};

UnroundedNumber single(double x) {
  const int grid = grid_of(x);
  const bool is_float = std::isfinite(x) && static_cast<double>(static_cast<float>(x)) == x;
  return is_float && grid >= kLeastGrid ? UnroundedNumber{x, std::fabs(x), grid} : kUnknown;
}

struct UnroundedArithmetic {
  using Number = UnroundedNumber;

  struct Accumulator {
    UnroundedNumber sum;

    void add(const Number& x) {
      sum.value += x.value;
      sum.size += x.size;
      sum.grid = std::min(sum.grid, x.grid);
    }
    void add_product(const Number& a, const Number& b) { add(product(a, b)); }
    // Partial sums in any order are multiples of the grid, of at most the size.
    Number result() const {
      if (sum.grid == INT_MAX) return sum;  // 0, or NaN
      const bool fits = sum.grid >= kLeastGrid &&
                        sum.size <= std::min(std::ldexp(kMostSteps, sum.grid), double{FLT_MAX});
      return fits && sum.is_known() ? sum : kUnknown;
    }
  };

  static Number constant(const Constant& constant, std::size_t i) {
    return constant.error_at(i) == 0 ? single(constant.data[i]) : kUnknown;
  }
  static Number number(double x) { return single(x); }
  static Number add(const Number& a, const Number& b) {
    Accumulator sum;
    sum.add(a);
    sum.add(b);
    return sum.result();
  }
  static Number subtract(const Number& a, const Number& b) {
    return add(a, {-b.value, b.size, b.grid});
  }
  static Number multiply(const Number& a, const Number& b) {
    Accumulator sum;
    sum.add_product(a, b);
    return sum.result();
  }
  static Number divide(const Number& a, const Number& b) {
    const double value = a.value / b.value;
    return !a.is_sum() && std::fma(value, b.value, -a.value) == 0 ? single(value) : kUnknown;
  }
  static Number relu(const Number& x) { return x.is_known() ? single(std::max(x.value, 0.0)) : x; }
  static Number larger(const Number& a, const Number& b) {
    if (!a.is_known() || !b.is_known()) return kUnknown;
    return single(std::max(a.value, b.value));
  }
  static Number apply(const Function& function, const Number& x) {
    const auto covered = evaluated_in_float32(function, 1);
    if (!x.is_known() || !covered || !covered->is_exact()) return kUnknown;
    return single(bf_aot::evaluate(function, x.value));
  }

 private:
  // Two float32 numbers have an exact product in double; the sum that it is part of judges it. A
  // factor of a sum may go into that sum's terms.
  static Number product(const Number& a, const Number& b) {
    const double value = a.value * b.value;
    if (std::isnan(value)) return kUnknown;
    if ((a.value == 0 && !a.is_sum()) || (b.value == 0 && !b.is_sum())) return {};
    if (!a.is_sum() && !b.is_sum()) return {value, std::fabs(value), grid_of(value)};
    const bool keeps_terms =
        a.is_sum() ? is_power_of_two(b.value) && !b.is_sum() : is_power_of_two(a.value);
    return keeps_terms ? Number{value, a.size * b.size, a.grid + b.grid} : kUnknown;
  }
};

}  // namespace

std::optional<std::vector<double>> evaluate_unrounded(
    const Graph& graph, const std::vector<std::vector<double>>& inputs) {
  // A Scale may be computed in several forms. Those of BatchNormalization have a square root, which
  // is not known.
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<Scale>(node.op)) return std::nullopt;
  std::vector<std::vector<UnroundedNumber>> numbers;
  for (const std::vector<double>& input : inputs) {
    numbers.emplace_back();
    for (const double x : input) numbers.back().push_back(single(x));
  }
  std::vector<double> values;
  for (const auto& output : evaluate_with<UnroundedArithmetic>(graph, numbers))
    for (const UnroundedNumber& y : output) {
      if (!single(y.value).is_known()) return std::nullopt;
      values.push_back(y.value);
    }
  return values;
}

}  // namespace bf_aot
