#include "aot/decide/boxes/exact_boxes.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "frontend/import/file/importer.h"
#include "planner/machine/machine_profile.h"
#include "planner/reference/exact.h"
#include "tests/paths.h"
#include "tests/seed.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot::decide {
namespace {

// One case on a box, whose one clause is sign y_0 <= limit, or < when strict.
Property property_of(std::int64_t inputs, std::int64_t outputs, const Condition& condition) {
  Property property;
  property.input_count = inputs;
  property.output_count = outputs;
  property.rows = {{{{0, 1}}}};
  property.cases.push_back({{}, {}, {}, {{condition}}});
  return property;
}

std::shared_ptr<const Plan> plan_of(const Graph& graph, const Property& property) {
  build::CompileOptions options;
  options.planner.method = Method::kCrown;
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  options.planner.profile = host_profile();
  options.spec = to_spec(property);
  return build::run_planner(build::run_frontend({graph, {}}, options), "network", options)
      ->shared_plan();
}

// Corners, the middle and points between of a box, in rationals.
std::vector<std::vector<mpq_class>> points_of(const std::vector<float>& lower,
                                              const std::vector<float>& upper) {
  std::vector<std::vector<mpq_class>> points;
  for (int i = 0; i <= 6; ++i)
    for (int k = 0; k <= 6; ++k) {
      const mpq_class a(lower[0]), b(upper[0]), c(lower[1]), d(upper[1]);
      points.push_back({a + (b - a) * i / 6, c + (d - c) * k / 6});
    }
  return points;
}

// No point of a box that is excluded violates the case, and limits that are met exactly are kept
// apart: what y >= limit violates, y > limit need not.
TEST(ExactBoxes, ExcludeNoViolation) {
  const Graph graph = import_model(BF_SOURCE_DIR "/models/tiny.onnx").graph;
  const Property any = property_of(2, 2, {0, true, true, 0});
  const std::shared_ptr<const Plan> plan = plan_of(graph, any);
  std::mt19937 random(11);
  int excluded = 0, ties = 0;
  for (int trial = 0; trial < 120; ++trial) {
    std::vector<float> lower, upper;
    for (int i = 0; i < 2; ++i) {
      const auto first = static_cast<float>(static_cast<int>(random() % 17) - 8) / 8;
      lower.push_back(first);
      upper.push_back(first + static_cast<float>(random() % 5) / 32);
    }
    const bool negated = random() % 2 == 0;  // -y_0 <= -limit: y_0 >= limit
    std::vector<mpq_class> left;
    for (const auto& x : points_of(lower, upper)) {
      const mpq_class y = reference::evaluate_exact(*plan, x)[0];
      left.push_back(negated ? mpq_class(-y) : y);
    }
    const mpq_class least = *std::ranges::min_element(left);
    for (const bool strict : {false, true}) {
      const Property property = property_of(2, 2, {0, negated, strict, least});
      const auto exact = ExactBoxes::make(property, *plan);
      ASSERT_TRUE(exact.has_value());
      const bool out = exact->exclude(0, lower, upper);
      // A point meets the limit, which violates the condition unless it is strict.
      EXPECT_FALSE(!strict && out);
      ties += strict && out ? 1 : 0;
    }
    const Property beyond = property_of(2, 2, {0, negated, false, mpq_class(least - 1)});
    excluded += ExactBoxes::make(beyond, *plan)->exclude(0, lower, upper) ? 1 : 0;
    const Property within = property_of(2, 2, {0, negated, true, least + mpq_class(1, 1 << 20)});
    EXPECT_FALSE(ExactBoxes::make(within, *plan)->exclude(0, lower, upper));
  }
  EXPECT_GT(excluded, 100);
  EXPECT_GT(ties, 60);
}

// A line a x + b y = c.
struct Hyperplane {
  int a, b, c;
};

// sum_j v_j relu(w_j x + b_j) of two inputs, with w of {-7, .., 7}.
struct Toy {
  std::vector<Hyperplane> neurons;
  std::vector<int> v;

  mpq_class at(const mpq_class& x, const mpq_class& y) const {
    mpq_class sum;
    for (std::size_t j = 0; j < neurons.size(); ++j) {
      const mpq_class z = neurons[j].a * x + neurons[j].b * y - neurons[j].c;
      if (z > 0) sum += v[j] * z;
    }
    return sum;
  }

  // Its largest value on [-1, 1]^2: where two of the bends and of the box's sides meet.
  mpq_class most() const { return *most_on({}); }

  // The same on what the faces a x + b y <= c leave; nothing where that is nothing.
  std::optional<mpq_class> most_on(const std::vector<Hyperplane>& faces) const {
    std::vector<Hyperplane> all = neurons;
    all.insert(all.end(), {{1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}});
    all.insert(all.end(), faces.begin(), faces.end());
    std::optional<mpq_class> made;
    for (const Hyperplane& p : all)
      for (const Hyperplane& q : all) {
        const int det = p.a * q.b - p.b * q.a;
        if (det == 0) continue;
        mpq_class x(p.c * q.b - p.b * q.c, det), y(p.a * q.c - p.c * q.a, det);
        x.canonicalize();
        y.canonicalize();
        if (abs(x) > 1 || abs(y) > 1) continue;
        if (std::ranges::any_of(faces,
                                [&](const Hyperplane& f) { return f.a * x + f.b * y > f.c; }))
          continue;
        const mpq_class value = at(x, y);
        if (!made || value > *made) made = value;
      }
    return made;
  }

  Graph graph() const {
    using namespace bf_aot::testing;
    Builder b({2});
    std::vector<double> weight, bias;
    for (const Hyperplane& each : neurons) {
      weight.insert(weight.end(), {static_cast<double>(each.a), static_cast<double>(each.b)});
      bias.push_back(-each.c);
    }
    const auto n = static_cast<std::int64_t>(neurons.size());
    const ValueId h = b.relu(b.add(affine(n, 2, weight, bias), {b.x()}, {n}));
    return b.outputs({b.add(affine(1, n, {v.begin(), v.end()}, {0}), {h}, {1})});
  }
};

// The largest value is met where bends cross, at points that no float is; it is a limit that is
// never passed, and any less is.
TEST(ExactBoxes, BendsThatNoFloatIs) {
  std::mt19937 random(23);
  const auto number = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most;
  };
  for (int trial = 0; trial < 40; ++trial) {
    Toy toy;
    const int count = 2 + static_cast<int>(random() % 4);
    for (int j = 0; j < count; ++j) {
      toy.neurons.push_back({number(7), number(7), number(6)});
      toy.v.push_back(number(3));
    }
    const Graph graph = toy.graph();
    const mpq_class most = toy.most();
    const std::vector<float> lower = {-1, -1}, upper = {1, 1};
    const auto exclude = [&](bool strict, const mpq_class& limit) {  // y > limit, or y >= limit
      const Property property = property_of(2, 1, {0, true, strict, -limit});
      return ExactBoxes::make(property, *plan_of(graph, property))->exclude(0, lower, upper);
    };
    EXPECT_TRUE(exclude(true, most)) << trial;
    EXPECT_FALSE(exclude(false, most)) << trial;
    EXPECT_FALSE(exclude(true, most - mpq_class(1, 1 << 30))) << trial;
  }
}

// The same where conditions on inputs leave a part of the box.
TEST(ExactBoxes, ConditionsOnInputs) {
  std::mt19937 random(29);
  const auto number = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most;
  };
  int empty = 0;
  for (int trial = 0; trial < 40; ++trial) {
    Toy toy;
    for (int j = 0; j < 3; ++j) {
      toy.neurons.push_back({number(7), number(7), number(6)});
      toy.v.push_back(number(3));
    }
    Property asked = property_of(2, 1, {0, true, true, 0});
    std::vector<Hyperplane> faces;
    for (int k = 1 + static_cast<int>(random() % 3); k > 0; --k) {
      const Hyperplane face = {1 + static_cast<int>(random() % 5), number(5), number(4)};
      const bool above = random() % 2 == 0;  // the side of the face
      faces.push_back(above ? Hyperplane{-face.a, -face.b, -face.c} : face);
      PropertyRow row{{}, {{0, face.a}}};
      if (face.b != 0) row.inputs.emplace_back(1, face.b);
      asked.cases[0].clauses[0].push_back({static_cast<int>(asked.rows.size()), above, false,
                                           above ? mpq_class(-face.c) : mpq_class(face.c)});
      asked.rows.push_back(std::move(row));
    }
    const std::optional<mpq_class> most = toy.most_on(faces);
    const auto plan = plan_of(toy.graph(), asked);
    const std::vector<float> lower = {-1, -1}, upper = {1, 1};
    const auto exclude = [&](bool strict, const mpq_class& limit) {
      Property property = asked;
      property.cases[0].clauses[0][0].strict = strict;
      property.cases[0].clauses[0][0].limit = -limit;
      return ExactBoxes::make(property, *plan)->exclude(0, lower, upper);
    };
    if (!most) {
      ++empty;
      EXPECT_TRUE(exclude(false, -1000)) << trial;
      continue;
    }
    EXPECT_TRUE(exclude(true, *most)) << trial;
    EXPECT_FALSE(exclude(false, *most)) << trial;
    EXPECT_FALSE(exclude(true, *most - mpq_class(1, 1 << 30))) << trial;
  }
  EXPECT_GT(empty, 2);
  EXPECT_LT(empty, 30);
}

// Bends at 1/3 of each function of linear pieces, and maxima.
TEST(ExactBoxes, FunctionsOfLinearPieces) {
  using namespace bf_aot::testing;
  const auto decide = [](const Graph& graph, bool strict, const mpq_class& limit) {
    const Property property = property_of(1, 1, {0, false, strict, limit});
    const auto plan = plan_of(graph, property);
    const std::vector<float> lower = {-1}, upper = {1};
    return ExactBoxes::make(property, *plan)->exclude(0, lower, upper);
  };
  const auto function = [](const Function& f) {  // f(3 x - 1) + f(1 - 3 x)
    Builder b({1});
    const ValueId z = b.add(affine(2, 1, {3, -3}, {-1, 1}), {b.x()}, {2});
    const ValueId a = b.add(Unary{f}, {z}, {2});
    return b.outputs({b.add(affine(1, 2, {1, 1}, {0}), {a}, {1})});
  };
  for (const Function& f : {Function{FunctionKind::kAbs}, Function{FunctionKind::kLeakyRelu, 0.25},
                            Function{FunctionKind::kClip, 0, 6}}) {
    SCOPED_TRACE(to_string(f));
    EXPECT_TRUE(decide(function(f), true, 0));  // < 0 never holds, and <= 0 does at 1/3
    EXPECT_FALSE(decide(function(f), false, 0));
  }
  Builder b({1});
  const ValueId z = b.add(affine(3, 1, {3, -3, 0}, {-1, 1, 0}), {b.x()}, {3});
  const ValueId most = b.add(GroupMax{{0, 2}, {0, 1}}, {z}, {1});
  const Graph maximum = b.outputs({b.add(affine(1, 1, {2}, {0}), {most}, {1})});
  EXPECT_TRUE(decide(maximum, true, 0));
  EXPECT_FALSE(decide(maximum, false, 0));
}

// A function of pieces and steps, written down once more.
mpq_class value_of(const Function& f, const mpq_class& z) {
  const auto floor_of = [](const mpq_class& x) {
    mpz_class made;
    mpz_fdiv_q(made.get_mpz_t(), x.get_num_mpz_t(), x.get_den_mpz_t());
    return mpq_class(made);
  };
  const auto nearest = [&](const mpq_class& x) {  // ties to even
    const mpq_class below = floor_of(x), rest = x - below;
    const bool odd = floor_of(below / 2) * 2 != below;
    return rest < mpq_class(1, 2) || (rest == mpq_class(1, 2) && !odd) ? below : below + 1;
  };
  const mpq_class a(f.a), b(f.b);
  const auto limited = [](const mpq_class& x, const mpq_class& low, const mpq_class& high) {
    return x < low ? low : x > high ? high : x;
  };
  using enum FunctionKind;
  switch (f.kind) {
    case kFloor:
      return floor_of(z);
    case kCeil:
      return -floor_of(-z);
    case kRound:
      return nearest(z / a);
    case kQuantise:
      return limited(nearest(z / a), b, mpq_class(f.c));
    case kSign:
      return sgn(z);
    case kStep:
      return z > 0 ? 1 : 0;
    case kStepAt:
      return z >= 0 ? 1 : 0;
    case kIsZero:
      return z == 0 ? 1 : 0;
    case kThresholdedRelu:
      return z > a ? z : mpq_class(0);
    case kShrink:
      return z < -a ? mpq_class(z + b) : z > a ? mpq_class(z - b) : mpq_class(0);
    case kClip:
      return limited(z, a, b);
    default:
      throw std::logic_error("a function that the test does not know");
  }
}

// sum_j v_j f((a_j x + b_j y - c_j / 2) / 2), so that jumps lie on lines of the plane, and where
// several of them meet; with `twice` g of that, too.
struct Jumps {
  Function f, g;
  bool twice = false;
  std::vector<Hyperplane> neurons;
  std::vector<int> v;

  mpq_class argument(const Hyperplane& each, const mpq_class& x, const mpq_class& y) const {
    return (each.a * x + each.b * y - mpq_class(each.c) / 2) / 2;
  }

  mpq_class at(const mpq_class& x, const mpq_class& y) const {
    mpq_class sum;
    for (std::size_t j = 0; j < neurons.size(); ++j)
      sum += v[j] * value_of(f, argument(neurons[j], x, y));
    return twice ? value_of(g, sum / 2) : sum;
  }

  Graph graph() const {
    using namespace bf_aot::testing;
    Builder b({2});
    std::vector<double> weight, bias, last;
    for (const Hyperplane& each : neurons) {
      weight.insert(weight.end(), {each.a / 2.0, each.b / 2.0});
      bias.push_back(-each.c / 4.0);
    }
    for (const int each : v) last.push_back(twice ? each / 2.0 : each);
    const auto n = static_cast<std::int64_t>(neurons.size());
    const ValueId z = b.add(affine(n, 2, weight, bias), {b.x()}, {n});
    const ValueId h = b.add(Unary{f}, {z}, {n});
    const ValueId y = b.add(affine(1, n, last, {0}), {h}, {1});
    return b.outputs({twice ? b.add(Unary{g}, {y}, {1}) : y});
  }

  // Values at crossings of jumps and sides of the box, and at points between two of these.
  std::vector<mpq_class> values(const std::vector<float>& lower, const std::vector<float>& upper,
                                std::mt19937& random) const {
    struct Line {
      mpq_class a, b, c;
    };
    std::vector<Line> lines = {
        {1, 0, lower[0]}, {1, 0, upper[0]}, {0, 1, lower[1]}, {0, 1, upper[1]}};
    for (const Hyperplane& each : neurons)  // arguments that are a number of quarters
      for (int k = -12; k <= 12; ++k)
        lines.push_back({each.a, each.b, mpq_class(each.c) / 2 + mpq_class(k) / 2});
    std::vector<std::pair<mpq_class, mpq_class>> points;
    for (const Line& p : lines)
      for (const Line& q : lines) {
        const mpq_class det = p.a * q.b - p.b * q.a;
        if (det == 0) continue;
        const mpq_class x = (p.c * q.b - p.b * q.c) / det, y = (p.a * q.c - p.c * q.a) / det;
        if (x >= lower[0] && x <= upper[0] && y >= lower[1] && y <= upper[1])
          points.emplace_back(x, y);
      }
    for (std::size_t crossings = points.size(), k = 0; k < 150; ++k) {
      const auto& [x0, y0] = points[random() % crossings];
      const auto& [x1, y1] = points[random() % crossings];
      points.emplace_back((x0 + x1) / 2, (y0 + y1) / 2);
    }
    std::vector<mpq_class> made;
    for (const auto& [x, y] : points) made.push_back(at(x, y));
    std::ranges::sort(made);
    made.erase(std::unique(made.begin(), made.end()), made.end());
    return made;
  }
};

// No box is excluded of which a point violates the case, whatever jumps there; and boxes are
// excluded of which none does.
TEST(ExactBoxes, NoPointAtAJumpIsLost) {
  using enum FunctionKind;
  const Function functions[] = {{kFloor},
                                {kCeil},
                                {kRound, 1},
                                {kRound, 0.5},
                                {kSign},
                                {kStep},
                                {kStepAt},
                                {kIsZero},
                                {kClip, -1, 0.5},
                                {kThresholdedRelu, 0.5},
                                {kShrink, 0.5, 0.25},
                                {kQuantise, 0.5, -2, 3}};
  std::mt19937 random(testing::seed_from_environment(41));
  const auto number = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most;
  };
  int excluded = 0, asked = 0;
  for (int trial = 0; trial < 120 * testing::rounds_from_environment(); ++trial) {
    Jumps net;
    net.f = functions[static_cast<std::size_t>(trial) % std::size(functions)];
    net.g = functions[random() % std::size(functions)];
    net.twice = random() % 3 == 0;
    for (int j = 1 + static_cast<int>(random() % 3); j > 0; --j) {
      net.neurons.push_back({number(3), number(3), number(3)});
      net.v.push_back(number(2));
    }
    std::vector<float> lower, upper;
    for (int i = 0; i < 2; ++i) {
      lower.push_back(static_cast<float>(number(8)) / 8);
      upper.push_back(lower.back() + static_cast<float>(random() % 7) / 8);
    }
    SCOPED_TRACE(trial);
    SCOPED_TRACE(to_string(net.f));
    const std::vector<mpq_class> values = net.values(lower, upper, random);
    const bool negated = random() % 2 == 0;  // -y <= -limit
    const Graph graph = net.graph();
    const auto exclude = [&](bool strict, const mpq_class& value) {
      const Property property =
          property_of(2, 1, {0, negated, strict, negated ? mpq_class(-value) : value});
      const std::shared_ptr<const Plan> plan = plan_of(graph, property);
      const auto exact = ExactBoxes::make(property, *plan);
      return exact.has_value() && exact->exclude(0, lower, upper);
    };
    const mpq_class& extreme = negated ? values.back() : values.front();
    EXPECT_FALSE(exclude(false, extreme));
    const mpq_class& some = values[random() % values.size()];
    EXPECT_FALSE(exclude(false, some));
    if (some != extreme) {
      EXPECT_FALSE(exclude(true, some));
    }
    ++asked;
    excluded += exclude(false, extreme + (negated ? 4 : -4)) ? 1 : 0;
  }
  EXPECT_GT(2 * excluded, asked);
}

// The product of two constants that is rounded is not the network's own number.
TEST(ExactBoxes, NeedTheNetworksOwnNumbers) {
  using namespace bf_aot::testing;
  const auto network = [](double first, double second) {
    Builder b({1, 1});
    const ValueId h = b.relu(b.add(affine(1, 1, {first}, {0}), {b.x()}, {1}));
    const ValueId t = b.add(affine(1, 1, {second}, {0}), {h}, {1});
    return b.outputs({b.add(affine(1, 1, {second}, {0}), {t}, {1})});
  };
  const Property property = property_of(1, 1, {0, false, true, 0});
  const auto exact = plan_of(network(0.5, 0.25), property);
  EXPECT_TRUE(ExactBoxes::make(property, *exact).has_value());
  const auto rounded = plan_of(network(0.5, 0.1), property);
  EXPECT_FALSE(ExactBoxes::make(property, *rounded).has_value());
}

}  // namespace
}  // namespace bf_aot::decide
