// Constants that are off by one are noticed: by the checks of the plan where arithmetic and what
// defines it no longer agree, by exact arithmetic where both are wrong.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/check_scope.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "planner/reference/integer.h"
#include "planner/verify/verify.h"
#include "tests/integer/exact_intervals.h"
#include "tests/integer/quantised_model.h"
#include "tests/support/model_text.h"

namespace bf_aot::integer_test {
namespace {

struct Network {
  Graph imported;
  Plan plan;
};

Network import_network(const std::string& text) {
  const test::TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  test::write_bytes(path, test::encode_model(text));
  Network network{import_model(path).graph, {}};
  Graph graph = network.imported;
  PassOptions options;
  options.grids = true;
  normalise(graph, options);
  PlannerConfig config;
  config.method = Method::kIbp;
  config.target = find_target("generic");
  config.arithmetic = Arithmetic::kInteger;
  network.plan = plan(graph, {}, "net", false, config);
  return network;
}

// Input, convolution, pool, sum, function, mean, dense layer: a step of each kind.
Network all_kinds(Scales scales) {
  Random random(3);
  QuantisedModel model(random, scales);
  Tensor x = model.input({1, 1, 8, 8});
  x = model.conv(x, 2, 3, 1, 1, 1, true);
  x = model.max_pool(x);
  x = model.add(x, model.conv(x, 2, 3, 1, 1, 2, false));
  x = model.unary(x, "Sigmoid", 0, 1);
  x = model.global_average(x);
  return import_network(model.finish(model.dense(model.flatten(x), 3, false)));
}

template <typename Step>
const Step& step_of(const Plan& plan) {
  for (const IntegerStep& step : plan.integer->steps)
    if (const auto* const found = std::get_if<Step>(&step)) return *found;
  throw std::logic_error("the network has no such step");
}

template <typename Step>
Step& step_of(Plan& plan) {
  for (IntegerStep& step : plan.integer->steps)
    if (auto* const found = std::get_if<Step>(&step)) return *found;
  throw std::logic_error("the network has no such step");
}

bool is_refused(const Plan& plan) {
  const ThrowingChecks checks;
  try {
    verify(plan);
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

using Change = std::function<void(Plan&)>;

class IntegerVerify : public ::testing::TestWithParam<Scales> {
 protected:
  IntegerVerify() : network_(all_kinds(GetParam())) {}

  void expect_refused(const std::string& what, const Change& change) {
    Plan changed = network_.plan;
    change(changed);
    EXPECT_TRUE(is_refused(changed)) << what;
  }

  Network network_;
};

TEST_P(IntegerVerify, TakesThePlan) {
  EXPECT_FALSE(is_refused(network_.plan));
}

TEST_P(IntegerVerify, RefusesArithmeticThatIsOffByOne) {
  for (const int by : {-1, 1}) {
    expect_refused("shift",
                   [&](Plan& plan) { step_of<GridDense>(plan).codes.rows[1].shift += by; });
    expect_refused("shift of a channel",
                   [&](Plan& plan) { step_of<GridConv>(plan).codes.rows[1].shift += by; });
    expect_refused("shift of a mean",
                   [&](Plan& plan) { step_of<GridSparse>(plan).codes.rows[0].shift += by; });
    expect_refused("shift or step of a sum", [&](Plan& plan) {
      auto& sum = step_of<GridSum>(plan);
      sum.shift += by;
      if (sum.rounding == Rounding::kSteps) {
        sum.shift = 0;
        sum.steps[sum.steps.size() / 2] -= 1 << 30;
      }
    });
    expect_refused("code of a sum", [&](Plan& plan) {
      auto& sum = step_of<GridSum>(plan);
      sum.code[128 * kGridCodes + 128] =
          static_cast<std::uint8_t>(sum.code[128 * kGridCodes + 128] + by);
    });
    expect_refused("step", [&](Plan& plan) {
      auto& steps = step_of<GridDense>(plan).codes.rows[0].steps;
      steps[steps.size() / 2] += by;
    });
    expect_refused("code offset", [&](Plan& plan) {
      auto& row = step_of<GridConv>(plan).codes.rows[0];
      row.addend += by * (std::int64_t{1} << row.shift);
    });
    expect_refused("least sum",
                   [&](Plan& plan) { step_of<GridDense>(plan).codes.rows[0].least += 1; });
    expect_refused("largest sum",
                   [&](Plan& plan) { step_of<GridDense>(plan).codes.rows[0].most -= 1; });
  }
  expect_refused("low", [](Plan& plan) { step_of<GridDense>(plan).codes.rows[0].low += 1; });
  expect_refused("zero", [](Plan& plan) { step_of<GridConv>(plan).zero += 1000; });
}

TEST_P(IntegerVerify, RefusesWeightsBeyondWhatWasChecked) {
  expect_refused("weight", [](Plan& plan) {
    for (std::int16_t& weight : step_of<GridDense>(plan).weight)
      weight = static_cast<std::int16_t>(2 * weight + 1);
  });
  expect_refused("bytes", [](Plan& plan) {
    step_of<GridDense>(plan).weight[0] = 200;
    step_of<GridDense>(plan).weight_bytes = 1;
  });
}

TEST_P(IntegerVerify, RefusesIndicesAndOrders) {
  expect_refused("column", [](Plan& plan) { step_of<GridSparse>(plan).column[0] = 1000; });
  expect_refused("source", [](Plan& plan) { step_of<GridMax>(plan).source[0] = -1; });
  expect_refused("order", [](Plan& plan) {
    auto& tables = step_of<GridTable>(plan).tables;
    std::swap(tables[0].code[100], tables[0].code[200]);
  });
  expect_refused("keys", [](Plan& plan) {
    auto& keys = step_of<QuantizeBox>(plan).keys[0];
    std::swap(keys.front(), keys.back());
  });
  expect_refused("tensor made late",
                 [](Plan& plan) { std::swap(plan.integer->steps[0], plan.integer->steps[1]); });
  expect_refused("output bounded twice",
                 [](Plan& plan) { plan.integer->steps.push_back(plan.integer->steps.back()); });
  expect_refused("bounds that cross", [](Plan& plan) {
    auto& table = step_of<DequantizeBounds>(plan).tables[0];
    std::swap(table.lower, table.upper);
    table.lower[3] = 1e9F;
  });
}

TEST_P(IntegerVerify, RefusesBuffersThatShareBytes) {
  expect_refused("offset", [](Plan& plan) {
    Entry& entry = plan.entries.front();
    entry.buffers[1].offset = entry.buffers[0].offset;
  });
  expect_refused("lifetime", [](Plan& plan) { plan.entries.front().buffers[0].last = 0; });
}

// What exact arithmetic makes of the network, and what the changed plan does: they differ for some
// input. All of these plans pass the checks, since what defines the codes is changed.
TEST_P(IntegerVerify, ExactArithmeticNoticesDefinitionsThatAreOffByOne) {
  const auto inputs = static_cast<std::size_t>(network_.plan.input_count);
  Random random(5);
  std::vector<std::vector<float>> points;
  for (int i = 0; i < 300; ++i) {
    std::vector<float> x;
    const float shared = std::uniform_real_distribution<float>(-1.1F, 1.1F)(random);
    for (std::size_t k = 0; k < inputs; ++k)
      x.push_back(i % 2 == 0 ? shared : std::uniform_real_distribution<float>(-1.1F, 1.1F)(random));
    points.push_back(std::move(x));
  }
  const auto noticed = [&](const Plan& changed) {
    for (const std::vector<float>& x : points) {
      const CodeBounds codes = bound_codes(changed, x, x);
      const CodeBounds right = bound_codes(network_.plan, x, x);
      if (codes.lower != right.lower || codes.upper != right.upper) return true;
    }
    return false;
  };
  const auto expect_noticed = [&](const std::string& what, const Change& change) {
    Plan changed = network_.plan;
    change(changed);
    EXPECT_TRUE(noticed(changed)) << what;
  };
  for (const std::vector<float>& x : points) {
    const std::vector<Interval> exact = output_images(network_.imported, box_of(x, x));
    const FloatBounds made = output_bounds(network_.plan, bound_codes(network_.plan, x, x));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      ASSERT_TRUE(is_rounded_down(made.lower[i], exact[i].low));
      ASSERT_TRUE(is_rounded_up(made.upper[i], exact[i].high));
    }
  }
  expect_noticed("a table", [](Plan& plan) {
    for (auto& code : step_of<GridTable>(plan).tables[0].code)
      if (code > 100) ++code;
  });
  expect_noticed("steps", [](Plan& plan) {
    for (auto& step : step_of<GridConv>(plan).codes.rows[0].steps) ++step;
  });
  expect_noticed("keys", [](Plan& plan) {
    auto& keys = step_of<QuantizeBox>(plan).keys[0];
    keys.erase(keys.begin() + 130);
    keys.push_back(std::numeric_limits<std::int32_t>::max());
  });
}

// Outputs that are sums: an addend that is moved inwards by 2^-20 is beyond the exact output.
TEST_P(IntegerVerify, ExactArithmeticNoticesAddendsThatAreMovedInwards) {
  Random random(9);
  QuantisedModel model(random, GetParam());
  const Tensor x = model.input({1, 4});
  const Network network = import_network(model.finish(model.dense_sums(x, 3)));
  const std::vector<float> lower(4, -0.25F), upper(4, 0.5F);
  const std::vector<Interval> exact = output_images(network.imported, box_of(lower, upper));
  const auto is_sound = [&](const Plan& plan) {
    const FloatBounds made = output_bounds(plan, bound_codes(plan, lower, upper));
    bool sound = true;
    for (std::size_t i = 0; i < exact.size(); ++i)
      sound = sound && mpq_class(static_cast<double>(made.lower[i])) <= exact[i].low &&
              mpq_class(static_cast<double>(made.upper[i])) >= exact[i].high;
    return sound;
  };
  EXPECT_TRUE(is_sound(network.plan));
  const std::int64_t little = std::int64_t{1} << (step_of<DequantizeSums>(network.plan).shift - 20);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    Plan changed = network.plan;
    step_of<DequantizeSums>(changed).bounds[i].low_addend += little;
    EXPECT_FALSE(is_sound(changed)) << i;
    changed = network.plan;
    step_of<DequantizeSums>(changed).bounds[i].high_addend -= little;
    EXPECT_FALSE(is_sound(changed)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Scales, IntegerVerify,
                         ::testing::Values(Scales::kAny, Scales::kPowersOfTwo, Scales::kFractions),
                         [](const auto& values) {
                           return values.param == Scales::kAny           ? "any"
                                  : values.param == Scales::kPowersOfTwo ? "powers_of_two"
                                                                         : "fractions";
                         });

}  // namespace
}  // namespace bf_aot::integer_test
