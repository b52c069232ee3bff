#include "aot/decide/boxes/exact_boxes.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "frontend/import/file/importer.h"
#include "planner/machine/machine_profile.h"
#include "planner/reference/exact.h"
#include "tests/paths.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot::decide {
namespace {

// One case on a box, whose one clause is sign y_0 <= limit, or < when strict.
Property property_of(std::int64_t inputs, std::int64_t outputs, const Condition& condition) {
  Property property;
  property.input_count = inputs;
  property.output_count = outputs;
  property.rows = {{{0, 1}}};
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
  const Property any = property_of(2, 2, {0, true, true, {}, 0});
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
      const Property property = property_of(2, 2, {0, negated, strict, {}, least});
      const auto exact = ExactBoxes::make(property, *plan);
      ASSERT_TRUE(exact.has_value());
      const bool out = exact->exclude(0, lower, upper);
      // A point meets the limit, which violates the condition unless it is strict.
      EXPECT_FALSE(!strict && out);
      ties += strict && out ? 1 : 0;
    }
    const Property beyond = property_of(2, 2, {0, negated, false, {}, mpq_class(least - 1)});
    excluded += ExactBoxes::make(beyond, *plan)->exclude(0, lower, upper) ? 1 : 0;
    const Property within =
        property_of(2, 2, {0, negated, true, {}, least + mpq_class(1, 1 << 20)});
    EXPECT_FALSE(ExactBoxes::make(within, *plan)->exclude(0, lower, upper));
  }
  EXPECT_GT(excluded, 100);
  EXPECT_GT(ties, 60);
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
  const Property property = property_of(1, 1, {0, false, true, {}, 0});
  const auto exact = plan_of(network(0.5, 0.25), property);
  EXPECT_TRUE(ExactBoxes::make(property, *exact).has_value());
  const auto rounded = plan_of(network(0.5, 0.1), property);
  EXPECT_FALSE(ExactBoxes::make(property, *rounded).has_value());
}

}  // namespace
}  // namespace bf_aot::decide
