#pragma once

#include <stddef.h>

#include "bf/loops/range.h"

// Numbers as forms over symbols: for all values of the symbols z_k in [-1, 1],
//
//   |number - (centre + sum_k slope_k z_k)| <= radius.
//
// Numbers whose forms are over the same symbols keep what they have in common. A form whose centre,
// slope or radius is not finite claims nothing. Symbols beyond `slope` have the slope 0. Proof:
// docs/proofs/closed-loops.md.
//
// Slopes: a list of doubles with size(), resize() that adds zeros, data() and []: of any length, or
// of a most length.

// Is it known that nothing is fused, because there is no instruction for a b + c? Else, is there
// one?
#if defined(__x86_64__) && !defined(__FMA__)
#define BF_FUSES 0
#else
#define BF_FUSES 1
#endif
#if defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__aarch64__) || \
    (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 8))
#define BF_HAS_FMA 1
#else
#define BF_HAS_FMA 0
#endif

namespace bf::loops {

// At most so many slopes, in place.
template <class Sizes>
class FixedSlopes {
 public:
  BF_MEMBER size_t size() const { return size_; }
  BF_MEMBER double* data() { return values_; }
  BF_MEMBER const double* data() const { return values_; }
  BF_MEMBER double& operator[](size_t k) { return values_[k]; }
  BF_MEMBER double operator[](size_t k) const { return values_[k]; }
  BF_MEMBER void resize(size_t size) {
    for (size_t k = size_; k < size; ++k) values_[k] = 0;
    size_ = size;
  }

 private:
  size_t size_ = 0;
  double values_[Sizes::kSlopes];
};

template <class Slopes>
struct FormOf {
  double centre = 0, radius = 0;
  Slopes slope = {};

  BF_MEMBER friend bool operator==(const FormOf& a, const FormOf& b) {
    return a.centre == b.centre && a.radius == b.radius && a.slope == b.slope;
  }
  BF_MEMBER double slope_of(size_t symbol) const {
    return symbol < slope.size() ? slope[symbol] : 0;
  }
};

static constexpr double kUnit = 0x1p-53;  // of rounding to nearest
// At least what all products of a form lose below the least normal number: 2^-1075 each.
static constexpr double kUnderflow = 0x1p-960;

// >= the exact sum of numbers of at least 0 whose sum, of `terms` of them and rounded in each
// addition, is `sum`: (1 + (terms + 2) 2^-52) (1 - 2^-53)^(terms + 2) > 1. Of sums by lanes
// `terms` is at least the number of additions that a term goes through.
static inline double inflated(double sum, size_t terms) {
  return sum * (1 + static_cast<double>(terms + 2) * 0x1p-52);
}

// |a + b - sum| where sum is a + b, rounded (Knuth's two-sum).
static inline double sum_error(double a, double b, double sum) {
  const double b_part = sum - a;
  const double a_part = sum - b_part;
  return size_of((a - a_part) + (b - b_part));
}

// A product that is rounded before anything is added to it: what sum_error() and product_error()
// are asked of.
static inline double rounded_product(double a, double b) {
#if BF_FUSES
  const volatile double product = a * b;
  return product;
#else
  return a * b;
#endif
}

#if !BF_HAS_FMA
// The double next to x that has 26 bits, so that products of such parts, and of what is left, are
// exact.
static inline double upper_half(double x) {
  std::uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  bits = (bits + (std::uint64_t{1} << 26)) & ~((std::uint64_t{1} << 27) - 1);
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
#endif

// >= |a b - product| of a rounded_product(). Where no instruction gives the difference, Dekker's
// sums do, each of which is exact while the product is at least 2^-960, fused or not.
static inline double product_error(double a, double b, double product) {
  if (a == 0 || b == 0) return 0;
  if (!(size_of(product) >= kUnderflow)) return kUnderflow;
#if BF_HAS_FMA
  return size_of(__builtin_fma(a, b, -product));
#else
  const double a_high = upper_half(a), b_high = upper_half(b);
  const double a_low = a - a_high, b_low = b - b_high;
  return size_of((((a_high * b_high - product) + a_high * b_low) + a_low * b_high) + a_low * b_low);
#endif
}

// Sums of numbers of at least 0, by lanes: any order of a sum has the same bound of its roundings.
struct Lanes {
  static constexpr size_t kCount = 8;
  double sums[kCount] = {};

  BF_MEMBER double sum() const {
    double made = 0;
    for (const double each : sums) made += each;
    return made;
  }
};

// Calls work(k, lane) for k = 0 .. count - 1.
template <class Work>
__attribute__((always_inline)) static inline void for_each_lane(size_t count, const Work& work) {
  size_t k = 0;
  for (; k + Lanes::kCount <= count; k += Lanes::kCount)
    for (size_t lane = 0; lane < Lanes::kCount; ++lane) work(k + lane, lane);
  for (; k < count; ++k) work(k, k % Lanes::kCount);
}

template <class Slopes>
static inline double sum_of_slopes(const FormOf<Slopes>& x) {
  Lanes lanes;
  const double* const slope = x.slope.data();
  for_each_lane(x.slope.size(),
                [&](size_t k, size_t lane) { lanes.sums[lane] += size_of(slope[k]); });
  return lanes.sum();
}

// >= sum_k |slope_k|.
template <class Slopes>
static inline double reach_of(const FormOf<Slopes>& x) {
  return inflated(sum_of_slopes(x), x.slope.size());
}

template <class Slopes>
static inline bool is_finite(const FormOf<Slopes>& x) {
  return is_finite(x.centre) && is_finite(reach_of(x)) && is_finite(x.radius);
}

// Encloses all values.
template <class Slopes>
static inline Range range_of(const FormOf<Slopes>& x) {
  if (!is_finite(x)) return kEverything;
  const double reach = inflated(reach_of(x) + x.radius, 1);
  return reach == 0 ? Range{x.centre, x.centre} : outward(x.centre - reach, x.centre + reach);
}

template <class Form>
static inline Form form_of(double value, double error) {
  Form made;
  made.centre = value;
  made.radius = error;
  return made;
}

template <class Form>
static inline Form form_of(const Range& x) {
  if (!x.is_finite()) return form_of<Form>(0, __builtin_inf());
  const double centre = x.middle();
  if (x.low == x.high) return form_of<Form>(centre, 0);
  return form_of<Form>(centre, next_up(larger(x.high - centre, centre - x.low)));
}

// The form with `by` added to its radius.
template <class Slopes>
static inline void widen(FormOf<Slopes>& x, double by) {
  x.radius = inflated(x.radius + by, 1);
}

// a + sign b.
template <class Slopes>
static inline FormOf<Slopes> sum_of(const FormOf<Slopes>& a, const FormOf<Slopes>& b, double sign) {
  FormOf<Slopes> made;
  const double other = sign * b.centre;  // exact
  made.centre = a.centre + other;
  const size_t of_a = a.slope.size(), of_b = b.slope.size();
  made.slope.resize(of_a < of_b ? of_b : of_a);
  const size_t both = of_a < of_b ? of_a : of_b;
  Lanes lanes;  // of what may have been rounded
  const double *const left = a.slope.data(), *const right = b.slope.data();
  double* const to = made.slope.data();
  for_each_lane(both, [&](size_t k, size_t lane) {
    to[k] = left[k] + sign * right[k];
    lanes.sums[lane] += size_of(to[k]);
  });
  const double rounded = lanes.sum();
  for (size_t k = both; k < of_a; ++k) to[k] = left[k];
  for (size_t k = both; k < of_b; ++k) to[k] = sign * right[k];
  // A rounded sum misses the exact one by at most 2^-53 of itself; sums do not underflow. The
  // product by 2^-53 may.
  made.radius = a.radius + b.radius + sum_error(a.centre, other, made.centre);
  if (rounded > 0) made.radius += kUnit * rounded + kUnderflow;
  made.radius = inflated(made.radius, both + 5);
  return made;
}

template <class Slopes>
static inline FormOf<Slopes> operator+(const FormOf<Slopes>& a, const FormOf<Slopes>& b) {
  return sum_of(a, b, 1);
}

template <class Slopes>
static inline FormOf<Slopes> operator-(const FormOf<Slopes>& a, const FormOf<Slopes>& b) {
  return sum_of(a, b, -1);
}

template <class Slopes>
static inline bool is_zero(const FormOf<Slopes>& x) {
  return x.centre == 0 && x.radius == 0 && sum_of_slopes(x) == 0;
}

// a times a number within `error` of a value.
template <class Slopes>
static inline FormOf<Slopes> times(const FormOf<Slopes>& a, double value, double error) {
  FormOf<Slopes> made;
  made.centre = rounded_product(a.centre, value);
  made.slope.resize(a.slope.size());
  Lanes lanes;
  const double* const from = a.slope.data();
  double* const to = made.slope.data();
  for_each_lane(a.slope.size(), [&](size_t k, size_t lane) {
    to[k] = from[k] * value;
    lanes.sums[lane] += size_of(from[k]);
  });
  const double rounded = lanes.sum();
  const double size = size_of(value);
  // A slope misses by 2^-53 of its product; the products with `rounded` have that of all.
  made.radius = a.radius * size + product_error(a.centre, value, made.centre) +
                error * (size_of(a.centre) + rounded + a.radius);
  if (size != 0 && rounded > 0) made.radius += 2 * kUnit * (rounded * size) + kUnderflow;
  if (error != 0 || (a.radius != 0 && size != 0)) made.radius += kUnderflow;
  made.radius = inflated(made.radius, a.slope.size() + 12);
  return made;
}

// (a0 + A + r) (b0 + B + s), A = sum a_k z_k, B = sum b_k z_k. A B has the terms a_k b_k z_k^2, in
// a_k b_k [0, 1], and others, of which |A B| pays for all but the first.
template <class Slopes>
static inline FormOf<Slopes> operator*(const FormOf<Slopes>& a, const FormOf<Slopes>& b) {
  FormOf<Slopes> made;
  const size_t of_a = a.slope.size(), of_b = b.slope.size();
  made.slope.resize(of_a < of_b ? of_b : of_a);
  const size_t both = of_a < of_b ? of_a : of_b;
  Lanes products, magnitudes;  // sum a_k b_k, and of magnitudes
  const double *const left = a.slope.data(), *const right = b.slope.data();
  double* const to = made.slope.data();
  for_each_lane(both, [&](size_t k, size_t lane) {
    to[k] = a.centre * right[k] + b.centre * left[k];
    const double product = left[k] * right[k];
    products.sums[lane] += product;
    magnitudes.sums[lane] += size_of(product);
  });
  const double diagonal = products.sum(), sizes = magnitudes.sum();
  for (size_t k = both; k < of_a; ++k) to[k] = b.centre * left[k];
  for (size_t k = both; k < of_b; ++k) to[k] = a.centre * right[k];
  const double product = a.centre * b.centre;
  made.centre = product + diagonal / 2;
  const double reach_a = reach_of(a), reach_b = reach_of(b);
  const double far_a = size_of(a.centre) + reach_a, far_b = size_of(b.centre) + reach_b;
  const auto terms = static_cast<double>(both);
  // sizes is off by a factor of at most 1 + (terms + 1) 2^-53 and what underflows.
  const double least = larger(0.0, sizes * (1 - (terms + 4) * 0x1p-52) - kUnderflow);
  double radius = larger(0.0, inflated(reach_a * reach_b, 4) - least / 2);
  radius += a.radius * far_b + b.radius * far_a + a.radius * b.radius;
  // Each slope: two products and their sum. The centre: a product, the diagonal, and their sum.
  radius += 4 * kUnit * (size_of(a.centre) * reach_b + size_of(b.centre) * reach_a);
  radius += (terms + 4) * 2 * kUnit * (size_of(product) + sizes);
  // A result below the least normal number has no part that the terms above know of.
  if (!is_zero(a) && !is_zero(b)) radius += kUnderflow;
  made.radius = inflated(radius, 24);
  return made;
}

template <class Slopes>
static inline FormOf<Slopes> square(const FormOf<Slopes>& a) {
  const FormOf<Slopes> made = a * a;
  const FormOf<Slopes> whole = form_of<FormOf<Slopes>>(square(range_of(a)));
  return whole.radius < made.radius ? whole : made;
}

template <class Slopes>
static inline FormOf<Slopes> over(const FormOf<Slopes>& a, double exact) {
  FormOf<Slopes> made;
  made.centre = a.centre / exact;
  made.slope.resize(a.slope.size());
  Lanes lanes;
  const double* const from = a.slope.data();
  double* const to = made.slope.data();
  for_each_lane(a.slope.size(), [&](size_t k, size_t lane) {
    to[k] = from[k] / exact;
    lanes.sums[lane] += size_of(to[k]);
  });
  const double rounded = lanes.sum();
  made.radius = a.radius / size_of(exact);
  // Quotients miss by 2^-53 of themselves, or by 2^-1075.
  if (!is_zero(a)) made.radius += 2 * kUnit * (rounded + size_of(made.centre)) + kUnderflow;
  made.radius = inflated(made.radius, a.slope.size() + 8);
  return made;
}

// ReLU lies between s x and s x + d on the range of x, as far as a line of slope s may.
template <class Slopes>
static inline FormOf<Slopes> relu(const FormOf<Slopes>& x) {
  using Form = FormOf<Slopes>;
  const Range range = range_of(x);
  if (range.low >= 0) return x;
  if (range.high <= 0) return {};
  if (!range.is_finite()) return form_of<Form>(0, __builtin_inf());
  // For any slope in [0, 1] ReLU(x) - slope x is least at 0 and largest at an end.
  const double chord = range.high / (range.high - range.low);
  const double slope = chord < 0 ? 0 : chord > 1 ? 1 : chord;
  const Range s = {slope, slope};
  const double most = larger((-(s * Range{range.low, range.low})).high,
                             ((Range{1, 1} - s) * Range{range.high, range.high}).high);
  return times(x, slope, 0) + form_of<Form>(Range{0, most});
}

}  // namespace bf::loops
