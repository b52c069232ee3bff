#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace bf_aot {

// Elementwise functions of one real variable, other than ReLU. e is Euler's number; sigma(x) =
// 1 / (1 + e^-x). Parameters not named are 0.
enum class FunctionKind : std::uint8_t {
  // Piecewise linear.
  kLeakyRelu,        // x < 0 ? a x : x
  kAbs,              // |x|
  kClip,             // min(max(x, a), b); a or b may be infinite
  kHardSigmoid,      // min(max(a x + b, 0), 1)
  kThresholdedRelu,  // x > a ? x : 0
  kShrink,           // x < -a ? x + b : x > a ? x - b : 0
  // Step functions.
  kSign,    // -1, 0, 1
  kStep,    // x > 0 ? 1 : 0
  kStepAt,  // x >= 0 ? 1 : 0
  kFloor,
  kCeil,
  kRound,     // x / a to the nearest integer, ties to even
  kQuantise,  // min(max(round(x / a), b), c), where a > 0, and b <= c are integers or infinite
  kIsZero,    // x == 0 ? 1 : 0
  // Smooth, or smooth but for a few points.
  kSigmoid,
  kTanh,
  kSoftplus,   // ln(1 + e^x)
  kSoftsign,   // x / (1 + |x|)
  kElu,        // x < 0 ? a (e^x - 1) : x
  kCelu,       // max(x, 0) + min(0, a (e^(x / a) - 1))
  kSelu,       // b (x < 0 ? a (e^x - 1) : x)
  kHardSwish,  // x min(max(x / 6 + 1/2, 0), 1)
  kGelu,       // x / 2 (1 + erf(x / sqrt 2))
  kGeluTanh,   // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  kMish,       // x tanh(ln(1 + e^x))
  kErf,
  kExp,
  kCappedExp,  // e^min(x, a), -690 < a < 700
  kSin,
  kCos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  // Functions of restricted domain, or with poles: where a box leaves it, no bound is claimed.
  kLog,         // x > 0
  kSqrt,        // x >= 0
  kReciprocal,  // x != 0
  kPower,       // x^a; x > 0 unless a is an integer, x != 0 when a < 0
  kTan,
  kAsin,   // -1 <= x <= 1
  kAcos,   // -1 <= x <= 1
  kAcosh,  // x >= 1
  kAtanh,  // -1 < x < 1
  kCount,  // no kind: their number
  // An expression of one variable that no kind above is; it has no row in the tables of kinds.
  kComposite,
};

inline constexpr auto kFunctionKinds = static_cast<std::size_t>(FunctionKind::kCount);

class Composite;

struct Function {
  FunctionKind kind = FunctionKind::kSigmoid;
  double a = 0;
  double b = 0;
  double c = 0;
  // kQuantise alone: its values are min(max(n, b), c) for integers n within `slack` of round(x /
  // a), another one for each element and call. Evaluation takes the rounded n; bounds hold for all.
  double slack = 0;
  // The exact argument is known to lie in [least, most], whatever its bounds say; see
  // bound_arguments().
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  // Null but for kComposite. Equal expressions are one object: see composite/composite.h.
  const Composite* composite = nullptr;
  bool operator==(const Function&) const = default;
};

// "sigmoid", "leaky_relu"
std::string_view name_of(FunctionKind kind);

// "leaky_relu(0.01)", "sqrt on [0, inf]"
std::string to_string(const Function& function);

// Returns true if Function::least or most is finite.
bool has_limits(const Function& function);

// Evaluates in double with the C library's functions, whose errors nothing bounds: for plain
// evaluation and samples, never for bounds. Returns NaN outside of the domain.
double evaluate(const Function& function, double x);

// Returns true if the function is made of linear pieces and steps alone, so that it has exact
// rational values.
bool is_piecewise_linear(FunctionKind kind);

}  // namespace bf_aot
