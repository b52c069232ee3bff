#pragma once

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/functions/function.h"
#include "frontend/functions/function_float32.h"
#include "frontend/functions/function_terms.h"

// Facts of each kind of function that hold wherever it comes from and whatever bounds it. The
// tables that bound smooth functions are made by planner/functions/function_recipes.cpp.
namespace bf_aot {

class LongReal;
struct Branches;
struct Far;
struct Interval;

// The source of a function's parameter when an ONNX operator is that function.
struct ParameterSource {
  std::string_view attribute{};  // empty: the parameter is `otherwise`
  double otherwise = 0;          // the schema's default, which is a float
  bool divides = false;          // 0 is refused
  std::int64_t since = 0;        // operator sets before it have another default,
  double before = 0;             // this one
};

// The ONNX operator that is the function. `type` is empty where there is none, or where its
// importer chooses among functions.
struct FunctionOperator {
  std::string_view type{};
  ParameterSource a{}, b{};
};

// The reals at which a function has values: from low to high, less the exceptions below.
struct FunctionDomain {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool ends = true;    // it holds low and high
  bool zero = true;    // it holds 0
  bool poles = false;  // it does not hold the odd multiples of pi / 2
};

// Numbers that no value of a function is below, or above. Values may come near them without end.
struct FunctionValues {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

enum class Monotony : std::uint8_t {
  kNone,      // or not known
  kRises,     // it never decreases on its domain
  kFalls,     // it never increases
  kEachSide,  // of one of these on x < 0 and of one on x > 0
};

// The points where a function of linear pieces and steps may bend or jump.
enum class Breaks : std::uint8_t {
  kNone,       // it is smooth, or bends as nothing here says
  kZero,       // at 0
  kA,          // at a
  kAB,         // at a and b
  kPlusMinus,  // at -a and a
  kUnit,       // where a x + b is 0 or 1
  kIntegers,   // at every integer
  kHalves,     // at a / 2 from every multiple of a
};

struct Float32Facts {
  // See evaluated_in_float32(). What the library computes is within units 2^-24, relative.
  std::optional<Float32Function> (*evaluated)(const Function&, double units) = nullptr;
  // See largest_in_float32().
  double (*most)(const Function&, double most) = nullptr;
};

// (f(y) - f(x)) / (y - x) lies between these for some x < y.
struct SlopeRange {
  double least = 0, most = 1;
};

// The slopes where y <= 0, and where x >= 0. Those of all x < y are means of both.
struct SecantSlopes {
  SlopeRange below, above;

  double least() const { return std::min(below.least, above.least); }
  double most() const { return std::max(below.most, above.most); }
};

// Facts for bounds of composites and of differences of networks. Each row states them, if only that
// nothing is known: bounds would get wider in silence where a row was forgotten.
struct FunctionShape {
  // See branches_of(); branches::none where no composite has the function.
  std::optional<Branches> (*branches)(const Function&) = nullptr;
  // See composite/far.h; far::none where the function has no smooth branch that comes near a line.
  Far (*far)(const Function&, const Interval& v, double from) = nullptr;
  // Nothing where they have no bounds, or where none of use is known.
  std::optional<SecantSlopes> (*slopes)(const Function&) = nullptr;
};

// Where tests try a function: a range of its domain on which its shape shows, and parameters.
struct FunctionSample {
  double low = -4, high = 4;
  double a = 0, b = 0, c = 0;
};

struct FunctionFacts {
  FunctionKind kind{};
  std::string_view name;
  FunctionValues values{};
  int parameters = 0;  // 1: a, 2: a and b, 3: c, too
  FunctionOperator from{};

  // See evaluate().
  double (*value)(const Function&, double x) = nullptr;
  // See evaluate_exact(). Piecewise linear functions have `rational` alone, the others `real`.
  mpq_class (*rational)(const Function&, const mpq_class& x) = nullptr;
  LongReal (*real)(const Function&, const LongReal& x) = nullptr;

  FunctionDomain (*domain)(const Function&) = nullptr;
  Monotony (*monotony)(const Function&) = nullptr;
  // f(x) < f(y) for x < y of the domain, where monotony() is kRises and no parameter is 0.
  bool strict = false;
  Breaks breaks = Breaks::kNone;
  bool integers = false;  // all its values are
  bool wave = false;      // it has the period 2 pi

  // |f(x) - f(y)| <= lipschitz(f) |x - y| everywhere. Null: there is no such number, or none is
  // needed because the function is monotone. May be infinite.
  double (*lipschitz)(const Function&) = nullptr;
  // |f(x)| <= magnitude(f, m) for |x| <= m. Null: no such bound is of use.
  double (*magnitude)(const Function&, double m) = nullptr;
  // Returns true if a value at x that MPFR rounds to a double is exactly that double. Elsewhere the
  // two may differ by less than any precision shows: tanh(1000) rounds to 1 but is not 1. Null:
  // true at x = 0 and x = 1 alone.
  bool (*shows_exactly)(const Function&, double x) = nullptr;

  // f'(x), elementwise. It is the derivative where f has one, and some finite number at a kink. On
  // an interval on which the terms have values, f is defined and Lipschitz. Term::kNone: f jumps,
  // or has parameters for which there is no such form. Null: it jumps.
  FunctionTerms::Term (*derivative)(FunctionTerms&, const Function&) = nullptr;

  FunctionShape shape{};
  Float32Facts float32{};
  FunctionSample sample{};
};

// The table in function_facts.cpp, in the order of FunctionKind, and its rows.
std::span<const FunctionFacts> function_facts();
const FunctionFacts& facts_of(FunctionKind kind);

// The row of the function that an ONNX operator is; null for other operators.
const FunctionFacts* facts_of_operator(std::string_view op_type);

namespace internal {

// Numbers the period of the tangent in which x lies, as far as division in double tells: it has
// equal values for two points exactly if no pole lies between them.
inline double poles_below(double x) {
  constexpr double kPi = 3.14159265358979323846;
  return std::floor(x / kPi + 0.5);
}
inline double poles_below(const mpq_class& x) {
  return poles_below(x.get_d());
}

}  // namespace internal

// f(x) < f(y) for all reals x < y.
bool rises_strictly(const Function& function);

// Steps without end: floor, ceiling, rounding.
inline bool is_staircase(FunctionKind kind) {
  const Breaks breaks = facts_of(kind).breaks;
  return breaks == Breaks::kIntegers || breaks == Breaks::kHalves;
}

// Functions that depend on the sign of their argument alone.
inline bool is_of_sign(FunctionKind kind) {
  return facts_of(kind).integers && facts_of(kind).breaks == Breaks::kZero;
}

// Returns true if [low, high] lies in the domain. Errs towards false at poles, since samples whose
// values are not finite must be refused too.
template <typename Scalar>
bool lies_in(const FunctionDomain& domain, const Scalar& low, const Scalar& high) {
  if (!domain.zero && !(low > 0 || high < 0)) return false;
  if (domain.poles && internal::poles_below(low) != internal::poles_below(high)) return false;
  if (std::isfinite(domain.low) && !(domain.ends ? low >= domain.low : low > domain.low))
    return false;
  return !std::isfinite(domain.high) || (domain.ends ? high <= domain.high : high < domain.high);
}

}  // namespace bf_aot
