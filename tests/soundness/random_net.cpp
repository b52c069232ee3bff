#include "tests/soundness/random_net.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bf_aot::soundness {
namespace {

constexpr float kMaxFloat = std::numeric_limits<float>::max();
constexpr float kInf = std::numeric_limits<float>::infinity();

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

double sign(Random& random) {
  return pick(random, 0, 1) == 0 ? -1 : 1;
}

float as_float(double x) {
  return static_cast<float>(x);
}

// A number of the family; `fan_in` keeps layers of trained networks of size one.
double number(Random& random, Family family, int fan_in) {
  const double one = sign(random) * uniform(random, 0.5, 1);
  switch (family) {
    case Family::kTrained:
    case Family::kAffine:
    case Family::kSteep:
    case Family::kSleepy:
      return as_float(uniform(random, -2, 2) / std::sqrt(fan_in));
    case Family::kMixed:
      return pick(random, 0, 9) == 0 ? 0 : as_float(std::ldexp(one, pick(random, -20, 20)));
    case Family::kTiny:
      return as_float(std::ldexp(one, pick(random, -149, -60)));
    case Family::kHuge:
      return as_float(std::ldexp(one, pick(random, 0, 60)));
    case Family::kIntegers:
      return pick(random, -3, 3);
    case Family::kPowers:
      return pick(random, 0, 3) == 0 ? 0 : sign(random) * std::ldexp(1, pick(random, -6, 2));
    case Family::kDoubles:
    case Family::kInexact:
      return uniform(random, -2, 2) / std::sqrt(fan_in);
    case Family::kSubnormal:
      return std::ldexp(one, pick(random, -152, -120));
  }
  return 0;
}

// What the compiler is told of a number that it does not know exactly: the truth may lie anywhere
// within the error, and lies at its end half of the time.
void make_inexact(Random& random, const std::vector<double>& numbers, std::vector<double>& shift,
                  std::vector<double>& error) {
  for (const double x : numbers) {
    error.push_back(std::ldexp(std::abs(x), -pick(random, 3, 60)));
    const double part = pick(random, 0, 1) == 0 ? 1 : std::ldexp(pick(random, 0, 16), -4);
    shift.push_back(sign(random) * part * error.back());
  }
}

NetLayer random_layer(Random& random, Family family, int in, int out) {
  NetLayer layer;
  layer.in = in;
  layer.out = out;
  for (int i = 0; i < in * out; ++i) layer.weight.push_back(number(random, family, in));
  for (int i = 0; i < out; ++i)
    layer.bias.push_back(pick(random, 0, 3) == 0 ? 0 : number(random, family, 1));
  if (family == Family::kInexact) {
    make_inexact(random, layer.weight, layer.weight_shift, layer.weight_error);
    make_inexact(random, layer.bias, layer.bias_shift, layer.bias_error);
  }
  return layer;
}

// Biases that keep a layer's neurons below 0: all, most, all but one, or none.
void put_to_sleep(Random& random, NetLayer& layer) {
  const int kind = pick(random, 0, 5);
  for (double& bias : layer.bias)
    if (kind == 0 || (kind < 4 && pick(random, 0, 4) > 0)) bias = as_float(bias - 16);
  if (kind != 4) return;
  for (double& bias : layer.bias) bias = as_float(bias - 16);
  layer.bias[static_cast<std::size_t>(pick(random, 0, layer.out - 1))] = 2;
}

float random_float(Random& random, int low, int high) {
  return as_float(std::ldexp(sign(random) * uniform(random, 0.5, 1), pick(random, low, high)));
}

void set_coordinate(Random& random, int kind, float& lower, float& upper) {
  const float at = random_float(random, -6, 2);
  lower = upper = at;
  switch (kind) {
    case 0:  // a point
      break;
    case 1:  // one ulp
      upper = std::nextafter(at, kInf);
      break;
    case 2:  // around zero
      lower = -std::abs(at);
      upper = std::abs(random_float(random, -6, 2));
      break;
    case 3:  // tiny
      upper = at + std::abs(at) * 1e-6F;
      break;
    case 4:  // small
      lower = at - 0.01F;
      upper = at + 0.01F;
      break;
    case 5:  // one-sided
      (pick(random, 0, 1) == 0 ? lower : upper) = 0;
      if (lower > upper) std::swap(lower, upper);
      break;
    case 6:  // subnormal
      lower = -std::abs(random_float(random, -148, -120));
      upper = std::abs(random_float(random, -148, -120));
      break;
    case 7:  // a subnormal point
      lower = upper = random_float(random, -148, -120);
      break;
    case 8:  // large
      lower = -std::abs(random_float(random, 6, 20));
      upper = std::abs(random_float(random, 6, 20));
      break;
    case 9:  // huge
      lower = -std::abs(random_float(random, 90, 127));
      upper = std::abs(random_float(random, 90, 127));
      break;
    case 10:  // all floats
      lower = -kMaxFloat;
      upper = kMaxFloat;
      break;
    default:
      set_coordinate(random, pick(random, 0, 6), lower, upper);
  }
}

}  // namespace

int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

std::vector<int> random_widths(Random& random) {
  static constexpr int kBorders[] = {15, 16, 17, 31, 32, 33, 63, 64, 65, 70};
  const int layers = pick(random, 1, 5);
  std::vector<int> widths;
  for (int i = 0; i <= layers; ++i) {
    const int kind = pick(random, 0, 9);
    widths.push_back(kind < 7 ? pick(random, 1, 9) : kBorders[pick(random, 0, kind < 9 ? 4 : 9)]);
  }
  return widths;
}

Net random_net(Random& random, Family family) {
  std::vector<int> widths = random_widths(random);
  for (std::size_t i = 1; family == Family::kSleepy && i + 1 < widths.size(); ++i)
    widths[i] = pick(random, 0, 2) == 0 ? pick(random, 120, 140) : pick(random, 14, 70);
  return random_net(random, family, widths);
}

Net random_net(Random& random, Family family, const std::vector<int>& widths) {
  Net net;
  net.label = "family " + std::to_string(static_cast<int>(family));
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    net.label += " " + std::to_string(widths[i]) + "-" + std::to_string(widths[i + 1]);
    net.layers.push_back(random_layer(random, family, widths[i], widths[i + 1]));
    const bool last = i + 2 == widths.size();
    net.layers.back().relu = family != Family::kAffine && (!last || family == Family::kSteep);
    if (family == Family::kSleepy && !last) put_to_sleep(random, net.layers.back());
  }
  return net;
}

FloatBox random_box(Random& random, int inputs, int kind) {
  FloatBox box;
  for (int i = 0; i < inputs; ++i) {
    float lower = 0, upper = 0;
    set_coordinate(random, kind, lower, upper);
    box.lower.push_back(lower);
    box.upper.push_back(upper);
  }
  return box;
}

Numbers corner_of(const FloatBox& box, std::uint64_t corner) {
  std::vector<float> x;
  for (std::size_t i = 0; i < box.lower.size(); ++i)
    x.push_back(((corner >> (i % 64)) & 1) != 0 ? box.upper[i] : box.lower[i]);
  return exact_numbers(x);
}

namespace {

// lower + (upper - lower) part / 2^12.
Numbers between(const FloatBox& box, const std::vector<long>& parts) {
  std::vector<float> ends = box.lower;
  ends.insert(ends.end(), box.upper.begin(), box.upper.end());
  const Numbers numbers = exact_numbers(ends);
  Numbers x;
  x.exponent = numbers.exponent - 12;
  const std::size_t count = box.lower.size();
  for (std::size_t i = 0; i < count; ++i)
    x.values.push_back((4096 - parts[i]) * numbers.values[i] +
                       parts[i] * numbers.values[count + i]);
  return x;
}

}  // namespace

Numbers point_of(const FloatBox& box, Random& random) {
  std::vector<long> parts;
  for (std::size_t i = 0; i < box.lower.size(); ++i) parts.push_back(pick(random, 0, 4096));
  return between(box, parts);
}

Numbers centre_of(const FloatBox& box) {
  return between(box, std::vector<long>(box.lower.size(), 2048));
}

}  // namespace bf_aot::soundness
