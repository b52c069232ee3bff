// Forward lines of single neurons against exact arithmetic: what lines and intervals that are given
// leave of a pre-activation, and what is claimed of it and of its activation. See
// docs/proofs/forward-lines.md.

#include "runtime/bf/dense/lines.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace bf_test {
namespace {

constexpr int kNeurons = 21;  // whole vectors and what is left
constexpr int kStride = 24;
constexpr double kUnit = 0x1p-24;
constexpr double kLeast = 0x1p-100;

// Of `depth` roundings.
double gamma(int depth) {
  return depth * kUnit / (1 - depth * kUnit);
}

struct Random {
  std::mt19937_64 bits;
  int between(int low, int high) {
    return low + static_cast<int>(bits() % static_cast<unsigned>(high - low + 1));
  }
  double number(int exponent) {  // of either sign
    const double size = 1 + static_cast<double>(bits() >> 12) * 0x1p-52;
    return std::ldexp(bits() % 2 == 0 ? size : -size, exponent);
  }
};

// What is known of neurons: |z - centre| <= radius + slack and |z - centre - m_0 - sum_j m_j t_j|
// <= sum + slack, of exact numbers. lines: rows of m_1 .. m_K, m_0, sum.
struct Known {
  int inputs;
  double slack;
  std::vector<double> centre = std::vector<double>(kNeurons);
  std::vector<float> radius = std::vector<float>(kNeurons);
  std::vector<float> lines;
  float& line(int row, int neuron) {
    return lines[static_cast<std::size_t>(row * kStride + neuron)];
  }
  float line(int row, int neuron) const {
    return lines[static_cast<std::size_t>(row * kStride + neuron)];
  }
  // As routines read it. Half of the time each neuron has one of its own, and the layer's is wrong.
  std::vector<double> slack_terms() const {
    const bool rows = radius[0] > radius[1];
    return {rows ? 0 : slack, 0, 0, rows ? 1.0 : 0.0};
  }
  std::vector<double> row_slack() const { return std::vector<double>(kNeurons, slack); }
};

struct Bounds {
  std::vector<float> below = std::vector<float>(kNeurons), above = below;
};

struct Activations {
  std::vector<double> centre = std::vector<double>(kNeurons);
  std::vector<float> radius = std::vector<float>(kNeurons), lines;
  float line(int row, int neuron) const {
    return lines[static_cast<std::size_t>(row * kNeurons + neuron)];
  }
};

float concretize(int inputs) {
  return bf::float_up((1 / (1 - gamma(inputs + 2))) * (1 + 8 * kUnit));
}

// Without slack nothing is rounded of radii: their factor would hide what is lost after them.
bf::LineBounds line_bounds(int inputs, double slack) {
  const float around = slack == 0 ? 1 : 1 + 8 * kUnit;
  return {around, 1 + 8 * kUnit, concretize(inputs), 8 * 0x1p-147};
}

Bounds tightened(const Known& known) {
  Bounds made;
  bf::tighten_lines<1>(kNeurons, known.inputs, kStride, line_bounds(known.inputs, known.slack),
                       known.radius.data(), known.slack_terms().data(), known.row_slack().data(),
                       known.lines.data(), made.below.data(), made.above.data());
  return made;
}

// For readers of `depth` roundings.
Activations relaxed(const Known& known, bool relu, int depth) {
  Activations made;
  made.lines.resize(static_cast<std::size_t>((known.inputs + 2) * kNeurons));
  const double g = gamma(depth + 2) * (1 + 8 * kUnit);
  const bf::LineErrors errors = {
      bf::float_up(g),
      bf::float_up(g * static_cast<double>(concretize(known.inputs)) * (1 + 8 * kUnit)),
      static_cast<float>(kLeast)};
  bf::relax_lines<1>(kNeurons, relu, known.inputs, kStride, line_bounds(known.inputs, known.slack),
                     errors, known.centre.data(), known.radius.data(), known.slack_terms().data(),
                     known.row_slack().data(), known.lines.data(), made.centre.data(),
                     made.radius.data(), made.lines.data());
  return made;
}

mpq_class size(const mpq_class& x) {
  return x < 0 ? mpq_class(-x) : x;
}

// ---- bounds

// Lines and intervals of similar size, or one far above the others; all of them, or the last two
// alone, near the least float.
Known random_known(Random& random, int inputs) {
  Known known;
  known.inputs = inputs;
  known.lines.assign(static_cast<std::size_t>((inputs + 2) * kStride), 0.0F);
  const int tiny = random.between(0, 7) == 0 ? -140 : 0;
  known.slack = random.between(0, 1) == 0 ? 0 : std::fabs(random.number(tiny - 30));
  const auto number = [&] {
    return static_cast<float>(random.number(tiny + random.between(0, 3) * random.between(-9, 0)));
  };
  for (int i = 0; i < kNeurons; ++i) {
    known.centre[static_cast<std::size_t>(i)] =
        random.number(tiny + random.between(-2, 2) * random.between(0, 15));
    known.radius[static_cast<std::size_t>(i)] = std::fabs(number());
    for (int row = 0; row <= inputs; ++row) known.line(row, i) = number();
    known.line(inputs + 1, i) = random.between(0, 2) == 0 ? 0 : std::fabs(number());
  }
  return known;
}

// Over the box, with weights of whole panels and a part of one: the coefficients, and what they
// miss.
TEST(Lines, OverTheBoxHoldWhatTheyRound) {
  constexpr int kIn = 3, kOut = 5, kPanel = 2;
  Random random{std::mt19937_64{3}};
  for (int trial = 0; trial < 2000; ++trial) {
    const int tiny = trial % 8 == 0 ? -140 : 0;
    const auto number = [&](int exponent) { return static_cast<float>(random.number(exponent)); };
    std::vector<float> weight((kOut + 1) / kPanel * kPanel * kIn), radius(kIn), spread(kOut);
    for (float& w : weight) w = number(random.between(-3, 3));
    for (float& r : radius) r = std::fabs(number(tiny + random.between(-9, 0)));
    const auto weight_of = [&](int i, int j) {
      return mpq_class(
          weight[static_cast<std::size_t>((i / kPanel * kIn + j) * kPanel + i % kPanel)]);
    };
    for (int i = 0; i < kOut; ++i) {
      mpq_class sum = 0;
      for (int j = 0; j < kIn; ++j)
        sum += size(weight_of(i, j)) * radius[static_cast<std::size_t>(j)];
      spread[static_cast<std::size_t>(i)] = bf::float_up(sum.get_d() * (1 + 0x1p-50));
    }
    const double slack = trial % 2 == 0 ? 0 : std::fabs(random.number(tiny - 30));
    std::vector<float> lines((kIn + 2) * kStride);
    bf::start_lines<1>(weight.data(), kIn, kOut, kPanel, kStride, radius.data(), spread.data(),
                       bf::float_up(gamma(1) * (1 + 8 * kUnit)), lines.data());
    bf::LineBounds bounds = line_bounds(kIn, 1);
    bounds.absolute = (kIn + 2) * 0x1p-147;
    const double terms[bf::kSlack] = {slack};
    const bf::LineLosses<1> losses(terms, nullptr, bounds.absolute);
    const auto line = [&](int row, int i) {
      return mpq_class(lines[static_cast<std::size_t>(row * kStride + i)]);
    };
    for (int i = 0; i < kOut; ++i) {
      mpq_class missed = slack;
      for (int j = 0; j < kIn; ++j)
        missed += size(weight_of(i, j) * radius[static_cast<std::size_t>(j)] - line(j, i));
      EXPECT_EQ(line(kIn, i), 0);
      const bf::LineReach<1> reach = bf::reach_of_neurons<1>(kIn, kStride, bounds, losses.of<1>(i),
                                                             spread.data() + i, lines.data() + i);
      EXPECT_GE(mpq_class(reach.spread), missed);
    }
  }
}

TEST(Lines, BoundsHoldWhatIsLeft) {
  Random random{std::mt19937_64{1}};
  int tighter = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const Known known = random_known(random, random.between(1, 9));
    const Bounds bounds = tightened(known);
    for (int i = 0; i < kNeurons; ++i) {
      const auto at = static_cast<std::size_t>(i);
      mpq_class reach = known.line(known.inputs + 1, i) + mpq_class(known.slack);
      for (int row = 0; row < known.inputs; ++row) reach += size(known.line(row, i));
      const mpq_class middle = known.line(known.inputs, i);
      const mpq_class around = known.radius[at] + mpq_class(known.slack);
      EXPECT_GE(mpq_class(bounds.above[at]), std::min<mpq_class>(around, reach + middle));
      EXPECT_GE(mpq_class(bounds.below[at]), std::min<mpq_class>(around, reach - middle));
      tighter += bounds.above[at] < known.radius[at] ? 1 : 0;
    }
  }
  EXPECT_GT(tighter, 1000);
}

// ---- activations

// a t + b w <= q.
struct Constraint {
  mpq_class a, b, q;
};

// Corners of what is known of (t, z - centre), with one input, cut where z is 0.
std::vector<std::array<mpq_class, 2>> corners(const Known& known, int i) {
  const mpq_class m = known.line(0, i), middle = known.line(1, i);
  const mpq_class around = known.radius[static_cast<std::size_t>(i)] + mpq_class(known.slack);
  const mpq_class spread = known.line(2, i) + mpq_class(known.slack);
  const std::vector<Constraint> all = {{1, 0, 1},
                                       {-1, 0, 1},
                                       {0, 1, around},
                                       {0, -1, around},
                                       {-m, 1, middle + spread},
                                       {m, -1, spread - middle}};
  std::vector<Constraint> lines = all;
  lines.push_back({0, 1, -mpq_class(known.centre[static_cast<std::size_t>(i)])});
  std::vector<std::array<mpq_class, 2>> made;
  for (std::size_t one = 0; one < lines.size(); ++one)
    for (std::size_t two = one + 1; two < lines.size(); ++two) {
      const Constraint &x = lines[one], &y = lines[two];
      const mpq_class d = x.a * y.b - y.a * x.b;
      if (d == 0) continue;
      const mpq_class t = (x.q * y.b - y.q * x.b) / d, w = (x.a * y.q - y.a * x.q) / d;
      bool holds = true;
      for (const Constraint& each : all) holds = holds && each.a * t + each.b * w <= each.q;
      if (holds) made.push_back({t, w});
    }
  return made;
}

// Moves the line so that it meets the interval.
void meet(Random& random, Known& known, int i) {
  const double t = random.between(-4, 4) / 4.0;
  const double w =
      random.between(-4, 4) / 4.0 * static_cast<double>(known.radius[static_cast<std::size_t>(i)]);
  const double middle = w - t * static_cast<double>(known.line(0, i));
  known.line(1, i) = static_cast<float>(middle);
  const double missed = std::fabs(middle - static_cast<double>(known.line(1, i)));
  known.line(2, i) = bf::float_up(static_cast<double>(known.line(2, i)) + missed);
}

// A neuron that may hardly be below 0, and of which the line says all; its numbers just above a
// power of two, where they round most.
void nearly_active(Random& random, Known& known, int i) {
  const auto at = static_cast<std::size_t>(i);
  known.radius[at] = static_cast<float>(1 + std::fabs(random.number(-5)));
  known.line(0, i) = known.radius[at];
  known.line(1, i) = known.line(2, i) = 0;
  known.centre[at] = static_cast<double>(known.radius[at]) *
                     (1 - std::fabs(random.number(random.between(-30, -12))));
}

// The line lies far from the centre, around 0.
void far_line(Random& random, Known& known, int i) {
  const auto at = static_cast<std::size_t>(i);
  known.radius[at] = std::fabs(known.line(1, i)) * 2;
  known.line(0, i) = known.line(1, i) * static_cast<float>(random.number(random.between(-20, -4)));
  known.line(2, i) = 0;
  known.centre[at] = -static_cast<double>(known.line(1, i)) +
                     static_cast<double>(known.line(0, i)) * random.between(-6, 6) / 8;
}

Known known_activation(Random& random) {
  Known known = random_known(random, 1);
  for (int i = 0; i < kNeurons; ++i) {
    const int kind = random.between(0, 3);
    if (kind == 0)
      nearly_active(random, known, i);
    else if (kind == 1)
      far_line(random, known, i);
    else
      meet(random, known, i);
  }
  return known;
}

// What is claimed holds at all corners, so that it does between them, and the spread holds besides
// what products of `depth` roundings lose.
TEST(Lines, ActivationsHoldAtCorners) {
  Random random{std::mt19937_64{2}};
  int bent = 0, corner_count = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const Known known = known_activation(random);
    const bool relu = random.between(0, 3) > 0;
    const int depth = random.between(0, 1) * 40 + 1;
    const Activations made = relaxed(known, relu, depth);
    for (int i = 0; i < kNeurons; ++i) {
      SCOPED_TRACE(testing::Message() << trial << " " << i);
      const auto at = static_cast<std::size_t>(i);
      ASSERT_TRUE(std::isfinite(made.radius[at]) && std::isfinite(made.line(2, i)));
      const mpq_class centre = made.centre[at], m = made.line(0, i), middle = made.line(1, i);
      const mpq_class lost = mpq_class(gamma(depth)) * (size(m) + size(middle));
      const mpq_class spread = made.line(2, i), radius = made.radius[at];
      bool below = false, above = false;
      for (const auto& [t, w] : corners(known, i)) {
        const mpq_class z = known.centre[at] + w;
        const mpq_class a = relu && z < 0 ? mpq_class(0) : z;
        EXPECT_LE(size(a - centre), radius);
        EXPECT_LE(size(a - centre - middle - m * t) + lost, spread);
        below = below || z < 0;
        above = above || z > 0;
        ++corner_count;
      }
      bent += relu && below && above ? 1 : 0;
    }
  }
  EXPECT_GT(bent, 1000);
  EXPECT_GT(corner_count, 10000);
}

// Rows that are no numbers leave bounds to the interval, on either side of the activation.
TEST(Lines, ClaimNothingWithoutNumbers) {
  Random random{std::mt19937_64{4}};
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})
    for (int row = 0; row < 3; ++row) {
      Known known = random_known(random, 1);
      for (int i = 0; i < kNeurons; ++i) known.line(row, i) = row == 2 ? std::fabs(value) : value;
      const auto expect_interval = [](const Known& lines) {
        const Bounds bounds = tightened(lines);
        for (std::size_t i = 0; i < kNeurons; ++i) {
          EXPECT_GE(bounds.below[i], lines.radius[i]);
          EXPECT_GE(bounds.above[i], lines.radius[i]);
        }
      };
      expect_interval(known);
      const Activations made = relaxed(known, true, 1);
      for (int i = 0; i < kNeurons; ++i)
        for (int each = 0; each < 3; ++each) known.line(each, i) = made.line(each, i);
      expect_interval(known);
    }
}

// Nothing is known of a neuron whose interval is unknown.
TEST(Lines, UnknownNeuronsStayUnknown) {
  Random random{std::mt19937_64{5}};
  for (const float radius : {std::numeric_limits<float>::infinity(), 0x1.fffffep127F}) {
    Known known = random_known(random, 1);
    known.radius.assign(kNeurons, radius);
    for (int i = 0; i < kNeurons; ++i) known.line(2, i) = radius;
    for (const bool relu : {false, true}) {
      const Activations made = relaxed(known, relu, 1);
      for (int i = 0; i < kNeurons; ++i) {
        EXPECT_TRUE(std::isinf(made.radius[static_cast<std::size_t>(i)]));
        EXPECT_TRUE(std::isfinite(made.centre[static_cast<std::size_t>(i)]));
        EXPECT_FALSE(std::isfinite(made.line(2, i)));
      }
    }
  }
}

}  // namespace
}  // namespace bf_test
