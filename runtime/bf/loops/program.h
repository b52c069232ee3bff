#pragma once

#include "bf/loops/functions.h"
#include "bf/loops/series.h"

// Programs and functions as generated monitors have them.

namespace bf::loops {

// Names functions as those of networks are named. MonitorValues has some of them; of the others
// nothing is claimed.
struct MonitorFunction {
  enum class Kind : std::uint8_t {
    kLeakyRelu,
    kAbs,
    kClip,
    kSigmoid,
    kTanh,
    kSoftplus,
    kExp,
    kSin,
    kCos,
    kAtan,
    kSinh,
    kCosh,
    kLog,
    kSqrt,
    kReciprocal,
    kPower,
    kTan,
  };
  Kind kind = Kind::kAbs;
  double a = 0, b = 0;
};

// A number within `error` of a value.
struct MonitorConstant {
  double value = 0, error = 0;
};

struct MonitorStep {
  enum class Kind : std::uint8_t {
    kInput,
    kConstant,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRelu,
    kLarger,
    kFunction,
  };
  Kind kind = Kind::kConstant;
  std::uint16_t a = 0, b = 0;
  MonitorConstant constant = {};
  MonitorFunction function = {};
};

template <class T>
struct ListOf {
  const T* first = nullptr;
  size_t count = 0;

  BF_MEMBER size_t size() const { return count; }
  BF_MEMBER const T& operator[](size_t i) const { return first[i]; }
};

struct MonitorProgram {
  using Function = MonitorFunction;
  using Place = std::uint16_t;
  ListOf<MonitorStep> steps = {};
  ListOf<std::uint16_t> outputs = {};
};

// Returns whether MonitorValues has values of the function.
template <class Function>
static inline bool has_values(const Function& f) {
  using Kind = decltype(f.kind);
  switch (f.kind) {
    case Kind::kLeakyRelu:
    case Kind::kAbs:
    case Kind::kClip:
    case Kind::kSin:
    case Kind::kCos:
    case Kind::kExp:
    case Kind::kTanh:
    case Kind::kSigmoid:
    case Kind::kReciprocal:
      return true;
    case Kind::kPower:
      return f.a >= 1 && f.a <= 64 && f.a == static_cast<int>(f.a);
    default:
      return false;
  }
}

struct MonitorValues {
  using Function = MonitorFunction;
  using Kind = Function::Kind;

  static Range value(const Function& f, const Range& x) {
    if (!(x.low <= x.high)) return kEverything;
    switch (f.kind) {
      case Kind::kSin:
        return waved(sine, x, kShiftOfSine);
      case Kind::kCos:
        return waved(cosine, x, kShiftOfCosine);
      case Kind::kExp:
        return magnitude(x) <= kMostPower ? exponential(x) : kEverything;
      case Kind::kSigmoid:
        return rising(logistic, x, {0, 1});
      case Kind::kTanh:  // 2 sigma(2 x) - 1
        return rising(tangent_of, x, {-1, 1});
      case Kind::kReciprocal:
        return Range{1, 1} / x;
      case Kind::kPower:
        return has_values(f) ? power(x, static_cast<int>(f.a)) : kEverything;
      default:
        return kEverything;
    }
  }

 private:
  static Range waved(double (*at)(double), const Range& x, double shift) {
    return magnitude(x) <= kMostWave ? wave(at, x, shift) : Range{-1, 1};
  }

  static Range logistic(double x) {
    return Range{1, 1} / (Range{1, 1} + exponential(Range{-x, -x}));
  }
  static Range tangent_of(double x) { return Range{2, 2} * logistic(2 * x) - Range{1, 1}; }

  // A function that rises, whose values lie in `all`.
  static Range rising(Range (*at)(double), const Range& x, const Range& all) {
    constexpr double kMost = 300;
    const double low = x.low < -kMost ? all.low : at(x.low > kMost ? kMost : x.low).low;
    const double high = x.high > kMost ? all.high : at(x.high < -kMost ? -kMost : x.high).high;
    return meet({low, high}, all);
  }
};

}  // namespace bf::loops
