#include "aot/reach/numbers/form.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "aot/reach/numbers/smooth.h"
#include "frontend/functions/function_facts.h"

namespace bf_aot::reach {
namespace {

constexpr double kUnit = 0x1p-53;  // of rounding to nearest
// At least what all products of a form lose below the least normal number: 2^-1075 each.
constexpr double kUnderflow = 0x1p-960;

// >= the exact sum of numbers of at least 0 whose sum, of `terms` of them and rounded in each
// addition, is `sum`: (1 + (terms + 2) 2^-52) (1 - 2^-53)^(terms + 2) > 1. Of sums by lanes
// `terms` is at least the number of additions that a term goes through.
double inflated(double sum, std::size_t terms) {
  return sum * (1 + static_cast<double>(terms + 2) * 0x1p-52);
}

// Sums of numbers of at least 0, by lanes: any order of a sum has the same bound of its roundings.
struct Lanes {
  static constexpr std::size_t kCount = 8;
  double sums[kCount] = {};

  double sum() const {
    double made = 0;
    for (const double each : sums) made += each;
    return made;
  }
};

// Calls work(k, lane) for k = 0 .. count - 1.
template <class Work>
void for_each_lane(std::size_t count, const Work& work) {
  std::size_t k = 0;
  for (; k + Lanes::kCount <= count; k += Lanes::kCount)
    for (std::size_t lane = 0; lane < Lanes::kCount; ++lane) work(k + lane, lane);
  for (; k < count; ++k) work(k, k % Lanes::kCount);
}

double sum_of_slopes(const Form& x) {
  Lanes lanes;
  const double* const slope = x.slope.data();
  for_each_lane(x.slope.size(),
                [&](std::size_t k, std::size_t lane) { lanes.sums[lane] += std::fabs(slope[k]); });
  return lanes.sum();
}

const Form kNothing = {0, std::numeric_limits<double>::infinity(), {}};

// The form with `by` added to its radius, and what `roundings` say was lost.
void widen(Form& x, double by) {
  x.radius = inflated(x.radius + by, 1);
}

// a + sign b.
Form sum_of(const Form& a, const Form& b, double sign) {
  Form made;
  const DoublePair centre = two_sum(a.centre, sign * b.centre);
  made.centre = centre.high;
  made.slope.resize(std::max(a.slope.size(), b.slope.size()));
  const std::size_t both = std::min(a.slope.size(), b.slope.size());
  Lanes lanes;  // of what may have been rounded
  const double *const left = a.slope.data(), *const right = b.slope.data();
  double* const to = made.slope.data();
  for_each_lane(both, [&](std::size_t k, std::size_t lane) {
    to[k] = left[k] + sign * right[k];
    lanes.sums[lane] += std::fabs(to[k]);
  });
  const double rounded = lanes.sum();
  for (std::size_t k = both; k < a.slope.size(); ++k) made.slope[k] = a.slope[k];
  for (std::size_t k = both; k < b.slope.size(); ++k) made.slope[k] = sign * b.slope[k];
  // A rounded sum misses the exact one by at most 2^-53 of itself; sums do not underflow. The
  // product by 2^-53 may.
  made.radius = a.radius + b.radius + std::fabs(centre.low);
  if (rounded > 0) made.radius += kUnit * rounded + kUnderflow;
  made.radius = inflated(made.radius, both + 5);
  return made;
}

bool is_zero(const Form& x) {
  return x.centre == 0 && x.radius == 0 && sum_of_slopes(x) == 0;
}

// |exact product - rounded product|, at most.
double product_error(double a, double b, double product) {
  if (a == 0 || b == 0) return 0;
  const double error = std::fabs(std::fma(a, b, -product));
  return std::fabs(product) >= kUnderflow ? error : kUnderflow;
}

// x = centre + what varies, |what varies| <= reach: f(centre) + f'(centre) (x - centre) + half of
// f'' somewhere between, times (x - centre)^2.
Form tangent(const Derivatives& f, const Form& x, const Range& range) {
  const Range at = {x.centre, x.centre};
  const Range value = f.value(at), first = f.first(at), second = f.second(range);
  if (!value.is_finite() || !first.is_finite() || !second.is_finite()) return kNothing;
  const double reach = inflated(reach_of(x) + x.radius, 1);
  const Range rest = Range{0.5, 0.5} * second * square(Range{-reach, reach});
  Form made = x;
  made.centre = 0;
  made = times(made, {first.middle(), 0});
  const double slack =
      bf::next_up(magnitude(first - Range{first.middle(), first.middle()}) * reach);
  widen(made, slack);
  return made + form_of(value) + form_of(hull({0, 0}, rest));
}

// f lies between s x and s x + d for x in `range`, as far as a line of slope s may: of ReLU.
Form relu_of(const Form& x, const Range& range) {
  if (range.low >= 0) return x;
  if (range.high <= 0) return {};
  if (!range.is_finite()) return kNothing;
  // For any slope in [0, 1] ReLU(x) - slope x is least at 0 and largest at an end.
  const double slope = std::clamp(range.high / (range.high - range.low), 0.0, 1.0);
  const Range s = {slope, slope};
  const double most = std::max((-(s * Range{range.low, range.low})).high,
                               ((Range{1, 1} - s) * Range{range.high, range.high}).high);
  return times(x, {slope, 0}) + form_of(Range{0, most});
}

Form relu_of(const Form& x) {
  return relu_of(x, range_of(x));
}

Form shifted(const Form& x, double by) {
  return x + form_of(Bounded{by, 0});
}

// Functions of linear pieces as sums of ReLUs.
std::optional<Form> by_pieces(const Function& f, const Form& x) {
  switch (f.kind) {
    case FunctionKind::kAbs:
      return times(relu_of(x), {2, 0}) - x;
    case FunctionKind::kLeakyRelu:
      return times(x, {f.a, 0}) + (relu_of(x) - times(relu_of(x), {f.a, 0}));
    case FunctionKind::kClip: {
      Form made = x;
      if (std::isfinite(f.a)) made = shifted(relu_of(shifted(made, -f.a)), f.a);
      if (std::isfinite(f.b)) made = made - relu_of(shifted(made, -f.b));
      return made;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

Form form_of(const Bounded& x) {
  return {x.value, x.error, {}};
}

Form form_of(const Range& x) {
  if (!x.is_finite()) return kNothing;
  const double centre = x.middle();
  if (x.low == x.high) return {centre, 0, {}};
  return {centre, bf::next_up(std::max(x.high - centre, centre - x.low)), {}};
}

double reach_of(const Form& x) {
  return inflated(sum_of_slopes(x), x.slope.size());
}

bool is_finite(const Form& x) {
  return std::isfinite(x.centre) && std::isfinite(reach_of(x)) && std::isfinite(x.radius);
}

Range range_of(const Form& x) {
  if (!is_finite(x)) return kEverything;
  const double reach = inflated(reach_of(x) + x.radius, 1);
  return reach == 0 ? Range{x.centre, x.centre} : outward(x.centre - reach, x.centre + reach);
}

std::vector<Range> ranges_of(const std::vector<Form>& forms) {
  std::vector<Range> made;
  for (const Form& each : forms) made.push_back(range_of(each));
  return made;
}

Form operator+(const Form& a, const Form& b) {
  return sum_of(a, b, 1);
}

Form operator-(const Form& a, const Form& b) {
  return sum_of(a, b, -1);
}

Form times(const Form& a, const Bounded& factor) {
  Form made;
  made.centre = a.centre * factor.value;
  made.slope.resize(a.slope.size());
  Lanes lanes;
  const double* const from = a.slope.data();
  double* const to = made.slope.data();
  for_each_lane(a.slope.size(), [&](std::size_t k, std::size_t lane) {
    to[k] = from[k] * factor.value;
    lanes.sums[lane] += std::fabs(from[k]);
  });
  const double rounded = lanes.sum();
  const double size = std::fabs(factor.value);
  // A slope misses by 2^-53 of its product; the products with `rounded` have that of all.
  made.radius = a.radius * size + product_error(a.centre, factor.value, made.centre) +
                factor.error * (std::fabs(a.centre) + rounded + a.radius);
  if (size != 0 && rounded > 0) made.radius += 2 * kUnit * (rounded * size) + kUnderflow;
  if (factor.error != 0 || (a.radius != 0 && size != 0)) made.radius += kUnderflow;
  made.radius = inflated(made.radius, a.slope.size() + 12);
  return made;
}

// (a0 + A + r) (b0 + B + s), A = sum a_k z_k, B = sum b_k z_k. A B has the terms a_k b_k z_k^2, in
// a_k b_k [0, 1], and others, of which |A B| pays for all but the first.
Form operator*(const Form& a, const Form& b) {
  Form made;
  made.slope.resize(std::max(a.slope.size(), b.slope.size()));
  const std::size_t both = std::min(a.slope.size(), b.slope.size());
  Lanes products, magnitudes;  // sum a_k b_k, and of magnitudes
  const double *const left = a.slope.data(), *const right = b.slope.data();
  double* const to = made.slope.data();
  for_each_lane(both, [&](std::size_t k, std::size_t lane) {
    to[k] = a.centre * right[k] + b.centre * left[k];
    const double product = left[k] * right[k];
    products.sums[lane] += product;
    magnitudes.sums[lane] += std::fabs(product);
  });
  const double diagonal = products.sum(), sizes = magnitudes.sum();
  for (std::size_t k = both; k < a.slope.size(); ++k) made.slope[k] = b.centre * a.slope[k];
  for (std::size_t k = both; k < b.slope.size(); ++k) made.slope[k] = a.centre * b.slope[k];
  const double product = a.centre * b.centre;
  made.centre = product + diagonal / 2;
  const double reach_a = reach_of(a), reach_b = reach_of(b);
  const double far_a = std::fabs(a.centre) + reach_a, far_b = std::fabs(b.centre) + reach_b;
  const auto terms = static_cast<double>(both);
  // sizes is off by a factor of at most 1 + (terms + 1) 2^-53 and what underflows.
  const double least = std::max(0.0, sizes * (1 - (terms + 4) * 0x1p-52) - kUnderflow);
  double radius = std::max(0.0, inflated(reach_a * reach_b, 4) - least / 2);
  radius += a.radius * far_b + b.radius * far_a + a.radius * b.radius;
  // Each slope: two products and their sum. The centre: a product, the diagonal, and their sum.
  radius += 4 * kUnit * (std::fabs(a.centre) * reach_b + std::fabs(b.centre) * reach_a);
  radius += (terms + 4) * 2 * kUnit * (std::fabs(product) + sizes);
  // A result below the least normal number has no part that the terms above know of.
  if (!is_zero(a) && !is_zero(b)) radius += kUnderflow;
  made.radius = inflated(radius, 24);
  return made;
}

Form square(const Form& a) {
  Form made = a * a;
  const Range range = range_of(a);
  const Form whole = form_of(square(range));
  return whole.radius < made.radius ? whole : made;
}

Form over(const Form& a, double exact) {
  Form made;
  made.centre = a.centre / exact;
  made.slope.resize(a.slope.size());
  Lanes lanes;
  for_each_lane(a.slope.size(), [&](std::size_t k, std::size_t lane) {
    made.slope[k] = a.slope[k] / exact;
    lanes.sums[lane] += std::fabs(made.slope[k]);
  });
  const double rounded = lanes.sum();
  made.radius = a.radius / std::fabs(exact);
  // Quotients miss by 2^-53 of themselves, or by 2^-1075.
  if (!is_zero(a)) made.radius += 2 * kUnit * (rounded + std::fabs(made.centre)) + kUnderflow;
  made.radius = inflated(made.radius, a.slope.size() + 8);
  return made;
}

Form operator/(const Form& a, const Form& b) {
  if (b.radius == 0 && reach_of(b) == 0 && b.centre != 0) return over(a, b.centre);
  return a * apply(Function{FunctionKind::kReciprocal}, b);
}

Form apply(const Function& f, const Form& x) {
  const Range range = range_of(x);
  if (!range.is_finite()) return kNothing;
  if (f.kind == FunctionKind::kPower && f.a == 2) return square(x);
  if (const std::optional<Form> made = by_pieces(f, x)) return *made;
  const Form whole = form_of(apply(f, range));
  const std::optional<Derivatives> derivatives = derivatives_of(f);
  if (!derivatives) return whole;
  Form made = tangent(*derivatives, x, range);
  return made.radius + reach_of(made) < whole.radius || made.radius < whole.radius / 2 ? made
                                                                                       : whole;
}

Form FormArithmetic::relu(const Form& a) {
  return relu_of(a);
}

Form FormArithmetic::larger(const Form& a, const Form& b) {
  return a + relu_of(b - a);
}

}  // namespace bf_aot::reach
