// Method crown over codes: bounds of generated code hold for every code of the box, lie inside
// those of ibp, and are tighter where layers follow each other. BF_SEED=n repeats a run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "planner/reference/integer.h"
#include "planner/verify/verify.h"
#include "runtime/bf/integer/crown.h"
#include "tests/integer/quantised_model.h"
#include "tests/seed.h"
#include "tests/soundness/batch.h"
#include "tests/support/model_text.h"

namespace bf_aot::integer_test {
namespace {

using soundness::FloatBox;

Graph for_crown(const std::string& text) {
  const test::TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  test::write_bytes(path, test::encode_model(text));
  Graph graph = import_model(path).graph;
  PassOptions options;
  options.grids = true;
  normalise(graph, options);
  return graph;
}

PlannerConfig crown_config() {
  PlannerConfig config = soundness::planner_config(Method::kCrown, Lowering::kGeneric, "generic");
  config.arithmetic = Arithmetic::kInteger;
  return config;
}

int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

struct Subject {
  int inputs = 0;
  double scale = 0;  // of the input's codes
  std::string text;
};

// Dense layers whose codes are rounded by every arithmetic, behind ReLU, sigmoid or nothing.
Subject random_subject(Random& random, int inputs) {
  QuantisedModel model(random, static_cast<Scales>(pick(random, 0, 2)));
  Tensor x = model.input({1, inputs});
  Subject made{inputs, x.scale, {}};
  for (int layer = pick(random, 1, 3); layer > 0; --layer)
    x = pick(random, 0, 4) == 0 ? model.dense_sigmoid(x, 6)
                                : model.dense(x, 6, pick(random, 0, 3) > 0);
  switch (pick(random, 0, 2)) {
    case 0:
      made.text = model.finish(model.dense_sums(x, 2));
      break;
    case 1:
      made.text = model.finish(model.dense(x, 2, false));
      break;
    default:  // two heads
      made.text = model.finish({model.dense_sums(x, 1), model.dense_sums(x, 2)});
  }
  return made;
}

// Every code of two inputs between the ends of a box, and the ends.
std::vector<std::vector<float>> all_points(const FloatBox& box, double scale) {
  std::vector<std::vector<float>> axes;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    std::vector<float> axis = {box.lower[i], box.upper[i]};
    for (double x = box.lower[i]; x < box.upper[i]; x += scale / 2)
      axis.push_back(std::min(static_cast<float>(x), box.upper[i]));
    axes.push_back(axis);
  }
  std::vector<std::vector<float>> points;
  for (const float a : axes[0])
    for (const float b : axes[1]) points.push_back({a, b});
  return points;
}

struct Widths {
  double ibp = 0, crown = 0, exact = 0;
};

void compare(const soundness::Batch& batch, std::size_t i, const Subject& subject,
             const FloatBox& box, Widths& widths) {
  const Plan& plan = batch.plan(i);
  const soundness::Outcome made = batch.run(i, box);
  ASSERT_EQ(made.status, BF_OK);
  const FloatBounds ibp = output_bounds(plan, bound_codes(plan, box.lower, box.upper));
  std::vector<float> least(made.lower.size(), 1e30F), most(made.lower.size(), -1e30F);
  for (const std::vector<float>& x : all_points(box, subject.scale)) {
    const FloatBounds at = output_bounds(plan, bound_codes(plan, x, x));
    for (std::size_t j = 0; j < least.size(); ++j) {
      least[j] = std::min(least[j], at.upper[j]);
      most[j] = std::max(most[j], at.lower[j]);
    }
  }
  for (std::size_t j = 0; j < least.size(); ++j) {
    EXPECT_LE(made.lower[j], least[j]);
    EXPECT_GE(made.upper[j], most[j]);
    EXPECT_GE(made.lower[j], ibp.lower[j]);
    EXPECT_LE(made.upper[j], ibp.upper[j]);
    widths.ibp += ibp.upper[j] - ibp.lower[j];
    widths.crown += made.upper[j] - made.lower[j];
    widths.exact += most[j] - least[j];
  }
}

TEST(IntegerCrown, BoundsHoldForEveryCodeAndLieInsideThoseOfIbp) {
  const std::uint64_t seed = testing::seed_from_environment(20261201);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  std::vector<Subject> subjects;
  soundness::Batch batch;
  while (static_cast<int>(subjects.size()) < 16 * testing::rounds_from_environment()) {
    subjects.push_back(random_subject(random, 2));
    batch.add(for_crown(subjects.back().text), false, crown_config());
  }
  batch.build(
      {"g++", {"-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"}});
  Widths widths;
  for (std::size_t i = 0; i < subjects.size(); ++i)
    for (const int codes : {1, 6, 20}) {
      FloatBox box;
      for (int k = 0; k < 2; ++k) {
        box.lower.push_back(std::uniform_real_distribution<float>(-0.8F, 0.4F)(random));
        box.upper.push_back(box.lower.back() + static_cast<float>(codes * subjects[i].scale));
      }
      compare(batch, i, subjects[i], box, widths);
      if (::testing::Test::HasFailure()) FAIL() << subjects[i].text;
    }
  std::printf("widths in all: exact %.3f, crown %.3f, ibp %.3f\n", widths.exact, widths.crown,
              widths.ibp);
  EXPECT_LT(widths.crown, 0.9 * widths.ibp);
}

// A staircase of few codes, and lines beside it of so few bits that each rounding shows.
struct Staircase {
  int multiplier = 0, addend = 0, shift = 0;
  int least = 0, most = 0;  // sums that occur
  bf::integer::Line line = {};

  int code(int sum) const { return std::clamp((multiplier * sum + addend) >> shift, 1, 9); }
};

constexpr int kFewBits = 2;

Staircase random_staircase(Random& random, int least, int most) {
  Staircase made{pick(random, 1, 7), pick(random, -60, 60), pick(random, 1, 4), least, most, {}};
  made.line.slope = pick(random, 0, 3);
  made.line.low = static_cast<std::uint8_t>(made.code(least));
  made.line.high = static_cast<std::uint8_t>(made.code(most));
  made.line.above = -1000;
  made.line.below = 1000;
  for (int sum = least; sum <= most; ++sum) {
    const std::int64_t rest = (made.code(sum) << kFewBits) - made.line.slope * sum;
    if (made.code(sum) > made.line.low) made.line.above = std::max(made.line.above, rest);
    if (made.code(sum) < made.line.high) made.line.below = std::min(made.line.below, rest);
  }
  return made;
}

// Two codes, three neurons that read them, and a row over those.
void expect_row_holds(Random& random) {
  using bf::integer::Code;
  constexpr int kNeurons = 3;
  std::int8_t weight[kNeurons][2];
  const Code lower[2] = {static_cast<Code>(pick(random, 0, 4)),
                         static_cast<Code>(pick(random, 0, 4))};
  const Code upper[2] = {static_cast<Code>(lower[0] + pick(random, 0, 5)),
                         static_cast<Code>(lower[1] + pick(random, 0, 5))};
  std::vector<Staircase> codes;
  bf::integer::Relaxed relaxed[kNeurons];
  std::int64_t row[kNeurons];
  for (int i = 0; i < kNeurons; ++i) {
    bf::integer::Sums sums = {0, 0};
    for (int k = 0; k < 2; ++k) {
      weight[i][k] = static_cast<std::int8_t>(pick(random, -6, 6));
      sums.add(weight[i][k], lower[k], upper[k]);
    }
    codes.push_back(random_staircase(random, sums.low - pick(random, 0, 9), sums.high + 3));
    const Staircase& of = codes.back();
    relaxed[i] = bf::integer::relax(of.line, kFewBits, sums.low, sums.high,
                                    static_cast<Code>(of.code(sums.low)),
                                    static_cast<Code>(of.code(sums.high)));
    for (int sum = sums.low; sum <= sums.high; ++sum) {
      const std::int64_t code = of.code(sum) << kFewBits;
      EXPECT_LE(code, relaxed[i].upper.slope * sum + relaxed[i].upper.offset);
      EXPECT_GE(code, relaxed[i].lower.slope * sum + relaxed[i].lower.offset);
    }
    row[i] = pick(random, -5, 5);
  }
  for (const bool up : {false, true}) {
    std::int64_t next[2];
    const std::int64_t constant =
        bf::integer::pass(&weight[0][0], relaxed, kNeurons, 2, kFewBits, up, row, next);
    const std::int64_t bound = constant + bf::integer::end_of(next, 2, lower, upper, up);
    for (int a = lower[0]; a <= upper[0]; ++a)
      for (int b = lower[1]; b <= upper[1]; ++b) {
        std::int64_t value = 0;
        for (int i = 0; i < kNeurons; ++i)
          value +=
              row[i] * codes[static_cast<std::size_t>(i)].code(weight[i][0] * a + weight[i][1] * b);
        EXPECT_TRUE(up ? value <= bound : value >= bound) << value << " " << bound;
      }
  }
}

TEST(IntegerCrown, RowsOfFewBitsHoldForAllCodes) {
  Random random(testing::seed_from_environment(20261202));
  for (int i = 0; i < 20000 && !::testing::Test::HasFailure(); ++i) expect_row_holds(random);
}

TEST(IntegerCrown, PlansThatAreWrongAreRefused) {
  Random random(5);
  QuantisedModel model(random, Scales::kAny);
  const Tensor hidden = model.dense(model.dense(model.input({1, 3}), 6, true), 6, true);
  const Graph graph = for_crown(model.finish(model.dense_sums(hidden, 2)));
  const Plan made = plan(graph, {}, "net", false, crown_config());
  verify(made);
  const ThrowingChecks checks;
  const auto refused = [&](const std::string& what, const std::function<void(GridCrown&)>& change) {
    Plan changed = made;
    change(*changed.integer->crown);
    EXPECT_THROW(verify(changed), std::exception) << what;
  };
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const auto line = [&](GridCrown& crown) -> GridLine& {
      auto& lines = crown.layers[layer].lines;
      return *std::ranges::max_element(lines, {}, &GridLine::slope);
    };
    refused("above", [&](GridCrown& crown) { line(crown).above -= 1; });
    refused("below", [&](GridCrown& crown) { line(crown).below += 1; });
    refused("slope", [&](GridCrown& crown) { line(crown).slope *= 2; });
    refused("falling", [&](GridCrown& crown) { line(crown).slope = -1; });
    refused("no line", [&](GridCrown& crown) { crown.layers[layer].lines.pop_back(); });
  }
  refused("coefficients", [](GridCrown& crown) { crown.layers[2].shift = 61; });
  refused("lines", [](GridCrown& crown) { crown.layers[1].relaxed -= 8; });
  refused("rows", [](GridCrown& crown) { crown.widest = 3; });
  refused("layers", [](GridCrown& crown) { crown.layers.pop_back(); });
  refused("room", [](GridCrown& crown) { crown.room = BufferId{0}; });
}

TEST(IntegerCrown, RefusesWhatIsNoChainOfDenseLayers) {
  Random random(6);
  const auto refusal = [](const std::string& text) {
    try {
      plan(for_crown(text), {}, "net", false, crown_config());
      return std::string("nothing");
    } catch (const CompileError& error) {
      EXPECT_NE(error.diagnostics().front().hint.find("--method ibp"), std::string::npos);
      return error.diagnostics().front().code;
    }
  };
  QuantisedModel image(random, Scales::kAny);
  EXPECT_EQ(refusal(image.finish(image.conv(image.input({1, 1, 4, 4}), 2, 3, 1, 1, 1, true))),
            "BF2113");
  QuantisedModel sum(random, Scales::kAny);
  const Tensor x = sum.dense(sum.input({1, 3}), 3, true);
  EXPECT_EQ(refusal(sum.finish(sum.add(x, sum.dense(x, 3, true)))), "BF2113");
  QuantisedModel nothing(random, Scales::kAny);
  EXPECT_EQ(refusal(nothing.finish(nothing.input({1, 2}))), "BF2113");
  QuantisedModel dense(random, Scales::kAny);
  EXPECT_EQ(refusal(dense.finish(dense.dense(dense.input({1, 2}), 3, true))), "nothing");
}

}  // namespace
}  // namespace bf_aot::integer_test
