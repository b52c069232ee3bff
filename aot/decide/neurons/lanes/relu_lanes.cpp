#include "aot/decide/neurons/lanes/relu_lanes.h"

#include "aot/decide/neurons/lanes/function_lanes.h"
#include "aot/system/clones.h"

namespace bf_aot::decide {
namespace {

// One number of all lanes, and the results of comparing them. They are typedefs, since Clang leaves
// the alignment of alias declarations out.
typedef float Floats __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef std::int32_t Ints __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

constexpr float kMean = Ascent::kMean, kFade = Ascent::kFade;

// The value at z of the line that each lane uses.
inline void line_value(const OpenNeuron& n, const Floats& a, const Floats& z, const Floats& c,
                       const Ints& p, Floats& value) {
  const auto lower = *reinterpret_cast<const Floats*>(n.lower);
  const auto ratio = *reinterpret_cast<const Floats*>(n.ratio);
  const Floats zero = {};
  const Floats free = a >= 0 ? z * c : (z - lower) * ratio;
  value = p == 0 ? free : (p > 0 ? z : zero);
}

}  // namespace

BF_CLONES void pass_open(const OpenNeuron& n, const float* over_a, const float* choice,
                         float* over_z, float* bounds) {
  const auto a = *reinterpret_cast<const Floats*>(over_a);
  const auto c = *reinterpret_cast<const Floats*>(choice);
  const auto p = *reinterpret_cast<const Ints*>(n.phase);
  const auto lower = *reinterpret_cast<const Floats*>(n.lower);
  const auto ratio = *reinterpret_cast<const Floats*>(n.ratio);
  const Floats multiplier = c * n.scale;
  const Floats free = a >= 0 ? a * c : a * ratio;
  const Floats split = p > 0 ? a - multiplier : multiplier;
  const Floats z = p == 0 ? free : split;
  const Floats zero = {};
  const Floats offset = ((p == 0) & (a < 0)) ? a * (-ratio * lower) : zero;
  *reinterpret_cast<Floats*>(over_z) = z;
  *reinterpret_cast<Floats*>(bounds) += z * n.bias + offset;
}

BF_CLONES void pass_linear(float bias, const float* over_a, float* over_z, float* bounds) {
  const auto a = *reinterpret_cast<const Floats*>(over_a);
  *reinterpret_cast<Floats*>(over_z) = a;
  *reinterpret_cast<Floats*>(bounds) += a * bias;
}

BF_CLONES void to_corner(float lower, float upper, const float* coefficient, float* x,
                         float* bounds) {
  const auto a = *reinterpret_cast<const Floats*>(coefficient);
  const Floats zero = {};
  const Floats at = a >= 0 ? zero + lower : zero + upper;
  *reinterpret_cast<Floats*>(x) = at;
  *reinterpret_cast<Floats*>(bounds) += a * at;
}

BF_CLONES void step_open(const OpenNeuron& n, const float* rates, const float* over_a,
                         const float* z_at, float* choice, float* mean, float* largest,
                         float* a_at) {
  const auto a = *reinterpret_cast<const Floats*>(over_a);
  const auto z = *reinterpret_cast<const Floats*>(z_at);
  auto c = *reinterpret_cast<const Floats*>(choice);
  const auto p = *reinterpret_cast<const Ints*>(n.phase);
  line_value(n, a, z, c, p, *reinterpret_cast<Floats*>(a_at));
  const Floats zero = {};
  const Floats scaled = z * n.scale;
  const Floats of_slope = a > 0 ? a * z : zero;
  const Floats gradient = p == 0 ? of_slope : (p > 0 ? -scaled : scaled);
  const Floats m = kMean * *reinterpret_cast<const Floats*>(mean) + (1 - kMean) * gradient;
  const Floats faded = kFade * *reinterpret_cast<const Floats*>(largest);
  const Floats size = gradient < 0 ? -gradient : gradient;
  const Floats v = size > faded ? size : faded;
  *reinterpret_cast<Floats*>(mean) = m;
  *reinterpret_cast<Floats*>(largest) = v;
  c += v > 0 ? *reinterpret_cast<const Floats*>(rates) * m / v : zero;
  // NaN becomes 0, too.
  c = c > 0 ? c : zero;
  c = ((p == 0) & (c > 1)) ? zero + 1 : c;
  *reinterpret_cast<Floats*>(choice) = c;
}

BF_CLONES void measure_open(const OpenNeuron& n, const float* over_a, const float* z_at,
                            const float* choice, float* a_at, float* gain, float* gap) {
  const auto a = *reinterpret_cast<const Floats*>(over_a);
  const auto z = *reinterpret_cast<const Floats*>(z_at);
  const auto p = *reinterpret_cast<const Ints*>(n.phase);
  const auto lower = *reinterpret_cast<const Floats*>(n.lower);
  const auto ratio = *reinterpret_cast<const Floats*>(n.ratio);
  Floats value;
  line_value(n, a, z, *reinterpret_cast<const Floats*>(choice), p, value);
  *reinterpret_cast<Floats*>(a_at) = value;
  const Floats zero = {};
  const Floats offset = a < 0 ? a * (ratio * lower) : zero;
  *reinterpret_cast<Floats*>(gain) = p == 0 ? offset : zero;
  const Floats loss = a * ((z > 0 ? z : zero) - value);
  *reinterpret_cast<Floats*>(gap) = p == 0 ? (loss > 0 ? loss : zero) : zero;
}

}  // namespace bf_aot::decide
