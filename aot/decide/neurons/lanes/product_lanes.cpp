#include "aot/decide/neurons/lanes/product_lanes.h"

#include <cstdint>

#include "aot/decide/neurons/lanes/function_lanes.h"
#include "aot/system/clones.h"

namespace bf_aot::decide {
namespace {

// A typedef, since Clang leaves the alignment of alias declarations out.
typedef float LaneFloats __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

inline const LaneFloats* lanes_at(const float* at) {
  return reinterpret_cast<const LaneFloats*>(at);
}

inline LaneFloats* lanes_at(float* at) {
  return reinterpret_cast<LaneFloats*>(at);
}

// The planes of the side that a coefficient's sign asks for: the first touches the product at
// (x_low, y_first), the second at (x_high, y_second); `choice` mixes them.
struct ProductSide {
  LaneFloats y_first, y_second, choice;
};

inline void find_side(const ProductNeuron& n, const LaneFloats* a, const ProductChoices& choices,
                      ProductSide& side) {
  side.y_first = *a >= 0 ? *lanes_at(n.y_low) : *lanes_at(n.y_high);
  side.y_second = *a >= 0 ? *lanes_at(n.y_high) : *lanes_at(n.y_low);
  side.choice = *a >= 0 ? *lanes_at(choices.below) : *lanes_at(choices.above);
}

// The values of both planes at x and y.
struct ProductPlanes {
  LaneFloats first, second;
};

inline void find_planes(const ProductNeuron& n, const ProductSide& side, const LaneFloats* x,
                        const LaneFloats* y, ProductPlanes& planes) {
  planes.first = side.y_first * (*x - *lanes_at(n.x_low)) + *lanes_at(n.x_low) * *y;
  planes.second = side.y_second * (*x - *lanes_at(n.x_high)) + *lanes_at(n.x_high) * *y;
}

}  // namespace

BF_CLONES void pass_product(const ProductNeuron& n, const float* over_p,
                            const ProductChoices& choices, float* over_x, float* over_y,
                            float* bounds) {
  const LaneFloats a = *lanes_at(over_p);
  ProductSide side;
  find_side(n, &a, choices, side);
  const LaneFloats second = a * side.choice, first = a - second;
  const LaneFloats of_low = first * *lanes_at(n.x_low), of_high = second * *lanes_at(n.x_high);
  *lanes_at(over_x) += first * side.y_first + second * side.y_second;
  *lanes_at(over_y) += of_low + of_high;
  *lanes_at(bounds) -= of_low * side.y_first + of_high * side.y_second;
}

BF_CLONES void apply_product(const ProductNeuron& n, const float* over_p, const float* x,
                             const float* y, const ProductChoices& choices, float* p) {
  const LaneFloats a = *lanes_at(over_p);
  ProductSide side;
  find_side(n, &a, choices, side);
  ProductPlanes planes;
  find_planes(n, side, lanes_at(x), lanes_at(y), planes);
  *lanes_at(p) = planes.first + side.choice * (planes.second - planes.first);
}

BF_CLONES void step_product(const ProductNeuron& n, const float* rates, const float* over_p,
                            const float* x, const float* y, const ProductChoices& choices,
                            float* mean, float* largest, float* p) {
  const LaneFloats a = *lanes_at(over_p), rate = *lanes_at(rates);
  ProductSide side;
  find_side(n, &a, choices, side);
  ProductPlanes planes;
  find_planes(n, side, lanes_at(x), lanes_at(y), planes);
  const LaneFloats difference = planes.second - planes.first;
  *lanes_at(p) = planes.first + side.choice * difference;
  const LaneFloats zero = {}, one = zero + 1, gradient = a * difference;
  for (std::size_t above = 0; above < 2; ++above) {
    LaneFloats* const choice = lanes_at(above != 0 ? choices.above : choices.below);
    LaneFloats* const own_mean = lanes_at(mean + above * kLanes);
    LaneFloats* const own_largest = lanes_at(largest + above * kLanes);
    // The choice of the other side does not enter the bound.
    const LaneFloats own = above != 0 ? (a < 0 ? gradient : zero) : (a > 0 ? gradient : zero);
    const LaneFloats m = Ascent::kMean * *own_mean + (1 - Ascent::kMean) * own;
    const LaneFloats faded = Ascent::kFade * *own_largest;
    const LaneFloats size = own < 0 ? -own : own;
    const LaneFloats most = size > faded ? size : faded;
    LaneFloats next = *choice + (most > 0 ? rate * m / most : zero);
    next = next > 0 ? next : zero;  // NaN becomes 0
    *choice = next < 1 ? next : one;
    *own_mean = m;
    *own_largest = most;
  }
}

BF_CLONES void measure_product(const ProductNeuron& n, const float* over_p, const float* x,
                               const float* y, const float* p, float* gain, float* gap) {
  const LaneFloats a = *lanes_at(over_p), zero = {};
  const LaneFloats size = a < 0 ? -a : a;
  // Planes lie no farther from the product than a quarter of the rectangle's area, and half as far
  // on halves of it.
  *lanes_at(gain) += size * (*lanes_at(n.x_high) - *lanes_at(n.x_low)) *
                     (*lanes_at(n.y_high) - *lanes_at(n.y_low)) * 0.125F;
  const LaneFloats lost = a * (*lanes_at(x) * *lanes_at(y) - *lanes_at(p));
  *lanes_at(gap) += lost > 0 ? lost : zero;
}

ProductProof prove_product(double over_p, float choice, double x_low, double x_high, double y_low,
                           double y_high) {
  const bool above = over_p < 0;
  const double y_first = above ? y_high : y_low, y_second = above ? y_low : y_high;
  // Any share in [0, 1] gives planes that hold; NaN becomes 0.
  const double of_second = !(choice > 0) ? 0 : choice < 1 ? static_cast<double>(choice) : 1;
  const double second = over_p * of_second, first = over_p * (1 - of_second);
  return {first * y_first + second * y_second, first * x_low + second * x_high,
          -(first * (x_low * y_first) + second * (x_high * y_second))};
}

}  // namespace bf_aot::decide
