// Properties over codes: rows and thresholds of random properties decide each condition as exact
// arithmetic does, and NAME_verify's verdicts hold at the points of the box. BF_SEED=n repeats a
// run.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/pipeline.h"
#include "frontend/property/verdict_tables.h"
#include "planner/planner.h"
#include "planner/reference/integer.h"
#include "planner/verify/verify.h"
#include "runtime/bf/integer/verdict.h"
#include "tests/integer/exact_intervals.h"
#include "tests/integer/quantised_model.h"
#include "tests/seed.h"
#include "tests/soundness/batch.h"
#include "tests/support/model_text.h"

namespace bf_aot::integer_test {
namespace {

using soundness::FloatBox;

Graph import_text(const std::string& text) {
  const test::TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  test::write_bytes(path, test::encode_model(text));
  return import_model(path).graph;
}

Graph for_integers(Graph graph, bool loose = false) {
  PassOptions options;
  options.grids = true;
  options.loose_codes = loose;
  normalise(graph, options);
  return graph;
}

PlannerConfig integer_config() {
  PlannerConfig config = soundness::planner_config(Method::kIbp, Lowering::kGeneric, "generic");
  config.arithmetic = Arithmetic::kInteger;
  return config;
}

int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

std::vector<mpq_class> outputs_at(const Graph& graph, const std::vector<float>& x) {
  std::vector<mpq_class> y;
  for (const Interval& each : output_images(graph, box_of(x, x))) {
    EXPECT_EQ(each.low, each.high);
    y.push_back(each.low);
  }
  return y;
}

mpq_class value_of(const PropertyRow& row, const std::vector<mpq_class>& y) {
  mpq_class sum = 0;
  for (const auto& [index, factor] : row.outputs)
    sum += factor * y[static_cast<std::size_t>(index)];
  return sum;
}

bool holds(const Property& property, const Condition& condition, const std::vector<mpq_class>& y) {
  const mpq_class value = value_of(property.row_of(condition), y) * (condition.negated ? -1 : 1);
  return condition.strict ? value < condition.limit : value <= condition.limit;
}

std::vector<float> random_point(Random& random, const FloatBox& box) {
  std::vector<float> x;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    const float share = std::uniform_real_distribution<float>(0, 1)(random);
    x.push_back(
        std::min(std::max(box.lower[i] + share * (box.upper[i] - box.lower[i]), box.lower[i]),
                 box.upper[i]));
  }
  return x;
}

FloatBox random_box(Random& random, std::size_t inputs, float width) {
  FloatBox box;
  for (std::size_t i = 0; i < inputs; ++i) {
    box.lower.push_back(std::uniform_real_distribution<float>(-1, 1)(random));
    box.upper.push_back(box.lower.back() + width);
  }
  return box;
}

// One case, of a box of floats, and clauses whose limits are what rows have at points of it, or
// just beside that.
Property random_property(Random& random, const Graph& graph, const FloatBox& box, int outputs) {
  Property property;
  property.file_name = "random.vnnlib";
  property.input_count = static_cast<std::int64_t>(box.lower.size());
  property.output_count = outputs;
  for (int r = 0; r < 3; ++r) {
    PropertyRow row;
    row.outputs.emplace_back(pick(random, 0, outputs - 1), 1);
    const int other = pick(random, 0, outputs - 1);
    if (other > row.outputs.front().first)
      row.outputs.emplace_back(other, pick(random, 0, 1) ? -1 : 3);
    property.rows.push_back(row);
  }
  PropertyCase one;
  one.box.lower.assign(box.lower.begin(), box.lower.end());
  one.box.upper.assign(box.upper.begin(), box.upper.end());
  one.inner = one.box;
  const int apart = pick(random, 0, 1) * 100;  // no input comes near to these limits
  for (int c = 0; c < 3; ++c) {
    Clause clause;
    for (int k = pick(random, 1, 2); k > 0; --k) {
      Condition condition;
      condition.row = pick(random, 0, 2);
      condition.negated = pick(random, 0, 1) == 1;
      condition.strict = pick(random, 0, 1) == 1;
      const auto y = outputs_at(graph, random_point(random, box));
      condition.limit = value_of(property.row_of(condition), y) * (condition.negated ? -1 : 1) +
                        mpq_class(pick(random, -1, 1)) / (1 << 24) - apart;
      clause.push_back(condition);
    }
    one.clauses.push_back(clause);
  }
  property.cases.push_back(one);
  return property;
}

Plan plan_with(const Graph& graph, const Property& property, const PlannerConfig& config) {
  PlanOptions options;
  options.property = &property;
  return plan(for_integers(graph), {}, "net", false, config, options);
}

bool never(const GridCondition& of, const RowBounds& rows) {
  const auto row = static_cast<std::size_t>(of.row);
  return of.at_least ? rows.upper[row] < of.threshold : rows.lower[row] > of.threshold;
}

bool always(const GridCondition& of, const RowBounds& rows) {
  const auto row = static_cast<std::size_t>(of.row);
  return of.at_least ? rows.lower[row] >= of.threshold : rows.upper[row] <= of.threshold;
}

// Conditions at points: decided, and as exact arithmetic decides them.
void expect_exact(const Graph& graph, const Plan& made, const Property& property,
                  const FloatBox& box, Random& random) {
  const GridProperty& compiled = *made.integer->property;
  for (int point = 0; point < 6; ++point) {
    const std::vector<float> x = random_point(random, box);
    const std::vector<mpq_class> y = outputs_at(graph, x);
    const RowBounds rows = property_bounds(made, bound_codes(made, x, x));
    std::size_t number = 0;
    for (const Clause& clause : property.cases.front().clauses)
      for (const Condition& condition : clause) {
        const GridCondition& of = compiled.conditions.at(number++);
        const bool truth = holds(property, condition, y);
        const bool exact = compiled.slack[static_cast<std::size_t>(of.row)] == 0;
        if (exact || always(of, rows)) {
          EXPECT_EQ(always(of, rows), truth);
        }
        if (exact || never(of, rows)) {
          EXPECT_EQ(never(of, rows), !truth);
        }
      }
  }
}

using Verify = bf_status (*)(const float*, const float*, bf_result*, void*, std::size_t);

struct Decision {
  bf_result result = {};
  std::vector<float> counterexample;
};

Decision verify_box(const soundness::Batch& batch, std::size_t i, const FloatBox& box) {
  const Plan& plan = batch.plan(i);
  std::size_t bytes = 0;
  for (const ExportedFunction& each : plan.functions)
    if (each.signature.purpose == Purpose::kVerify)
      bytes = static_cast<std::size_t>(each.workspace.bytes);
  soundness::Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
  arena.fill(0xaa);
  Decision made;
  made.counterexample.resize(box.lower.size());
  made.result.counterexample = made.counterexample.data();
  const auto verify = reinterpret_cast<Verify>(batch.symbol(i, "_verify"));
  EXPECT_EQ(verify(box.lower.data(), box.upper.data(), &made.result, arena.data(), bytes), BF_OK);
  EXPECT_TRUE(arena.guards_intact());
  return made;
}

bool violates(const Property& property, const std::vector<mpq_class>& y) {
  for (const Clause& clause : property.cases.front().clauses) {
    bool all = true;
    for (const Condition& condition : clause) all = all && holds(property, condition, y);
    if (all) return true;
  }
  return false;
}

struct Subject {
  Graph graph;
  Property property;
  FloatBox box;
};

TEST(IntegerProperty, ConditionsAndVerdictsAreThoseOfExactArithmetic) {
  const std::uint64_t seed = testing::seed_from_environment(20261130);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  std::vector<Subject> subjects;
  soundness::Batch batch;
  int sums = 0;
  while (static_cast<int>(subjects.size()) < 24 * testing::rounds_from_environment()) {
    QuantisedModel model(random, static_cast<Scales>(pick(random, 0, 2)));
    const Tensor hidden = model.dense(model.input({1, 3}), 4, true);
    const int end = pick(random, 0, 2);
    const bool ends_in_sums = end > 0;
    const std::string text =
        end == 0   ? model.finish(model.dense(hidden, 3, false))
        : end == 1 ? model.finish(model.dense_sums(hidden, 3))
                   : model.finish({model.dense_sums(hidden, 1), model.dense_sums(hidden, 2)});
    const Graph graph = import_text(text);
    const FloatBox box = random_box(random, 3, pick(random, 0, 1) == 1 ? 0.02F : 0.4F);
    const Property property = random_property(random, graph, box, 3);
    PlannerConfig config = integer_config();
    if (pick(random, 0, 1) == 1) config.method = Method::kCrown;
    const Plan made = plan_with(graph, property, config);
    expect_exact(graph, made, property, box, random);
    sums += ends_in_sums ? 1 : 0;
    batch.add(for_integers(graph), property, config);
    subjects.push_back({graph, property, box});
  }
  EXPECT_GT(sums, 0);
  batch.build(
      {"g++", {"-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"}});
  int verified = 0, falsified = 0;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const auto& [graph, property, box] = subjects[i];
    const Decision whole = verify_box(batch, i, box);
    verified += whole.result.verdict == BF_VERIFIED ? 1 : 0;
    falsified += whole.result.verdict == BF_FALSIFIED ? 1 : 0;
    if (whole.result.verdict == BF_FALSIFIED) {
      EXPECT_TRUE(violates(property, outputs_at(graph, whole.counterexample)));
    }
    bool exact = true;
    for (const std::int64_t slack : batch.plan(i).integer->property->slack)
      exact = exact && slack == 0;
    for (int point = 0; point < 12; ++point) {
      const std::vector<float> x = random_point(random, box);
      const bool violated = violates(property, outputs_at(graph, x));
      if (whole.result.verdict == BF_VERIFIED) {
        EXPECT_FALSE(violated);
      }
      const Decision at = verify_box(batch, i, {x, x});
      if (exact) {
        EXPECT_EQ(at.result.verdict, violated ? BF_FALSIFIED : BF_VERIFIED);
      }
    }
    FloatBox apart = box;
    for (float& end : apart.lower) end += 10;
    for (float& end : apart.upper) end += 10;
    EXPECT_EQ(verify_box(batch, i, apart).result.verdict, BF_OUTSIDE);
    apart = box;
    apart.upper.front() += 10;
    EXPECT_NE(verify_box(batch, i, apart).result.verdict, BF_VERIFIED);
  }
  EXPECT_GT(verified, 0);
  EXPECT_GT(falsified, 0);
}

// y = sigmoid(code): a threshold of the output is one of the code, exactly.
TEST(IntegerProperty, FunctionsOfCodesAreComparedByTheCode) {
  for (const char* const op : {"Sigmoid", "Neg"}) {
    const Graph graph = import_text(R"(ir_version: 8 opset_import { version: 13 } graph {
      name: "g"
      node { op_type: "QuantizeLinear" name: "q" input: "x" input: "s" input: "z" output: "qx" }
      node { op_type: "DequantizeLinear" name: "d" input: "qx" input: "s" input: "z" output: "dx" }
      node { op_type: ")" + std::string(op) +
                                    R"(" name: "f" input: "dx" output: "t" }
      node { op_type: "Sigmoid" name: "f2" input: "t" output: "y" }
      initializer { name: "s" data_type: 1 float_data: 0.25 }
      initializer { name: "z" data_type: 3 int32_data: 3 }
      input { name: "x" type { tensor_type { elem_type: 1
        shape { dim { dim_value: 1 } dim { dim_value: 1 } } } } }
      output { name: "y" type { tensor_type { elem_type: 1
        shape { dim { dim_value: 1 } dim { dim_value: 1 } } } } } })");
    Property property;
    property.input_count = property.output_count = 1;
    property.rows.push_back({{{0, 1}}});
    PropertyCase one;
    one.box = one.inner = {{-2}, {2}};
    for (const bool negated : {false, true})
      one.clauses.push_back({{0, negated, false, mpq_class(negated ? -6 : 6, 10)}});
    property.cases.push_back(one);
    const Plan made = plan_with(graph, property, integer_config());
    for (float x = -2; x <= 2; x += 0.25F) {
      const RowBounds rows = property_bounds(made, bound_codes(made, {x}, {x}));
      const auto y = [](double t) { return 1 / (1 + std::exp(-t)); };
      const double value = op[0] == 'S' ? y(y(x)) : y(-x);
      EXPECT_EQ(always(made.integer->property->conditions[0], rows), value <= 0.6) << op << x;
      EXPECT_EQ(always(made.integer->property->conditions[1], rows), value >= 0.6) << op << x;
      EXPECT_EQ(never(made.integer->property->conditions[0], rows), value > 0.6) << op << x;
    }
  }
}

TEST(IntegerProperty, PlansThatAreWrongAreRefused) {
  Random random(3);
  QuantisedModel model(random, Scales::kAny);
  const Tensor hidden = model.dense(model.input({1, 3}), 4, true);
  const Graph graph = import_text(model.finish(model.dense_sums(hidden, 3)));
  const FloatBox box = random_box(random, 3, 0.1F);
  const Property property = random_property(random, graph, box, 3);
  const Plan made = plan_with(graph, property, integer_config());
  const ThrowingChecks checks;
  const auto refused = [&](const auto& change) {
    Plan changed = made;
    change(*changed.integer);
    EXPECT_THROW(verify(changed), std::exception);
  };
  verify(made);
  Plan two_bytes = made;
  PropertySums& sums = two_bytes.integer->property->sums.front();
  sums.weight_bytes = 2;
  std::ranges::fill(sums.weight, 0);
  sums.weight.front() = -32768;
  verify(two_bytes);
  sums.weight.front() = 32768;
  EXPECT_THROW(verify(two_bytes), std::exception);
  refused([](IntegerPlan& p) { p.property->slack.front() = -1; });
  refused([](IntegerPlan& p) { p.property->slack.front() = std::int64_t{1} << 62; });
  refused([](IntegerPlan& p) { p.property->sums.front().weight.pop_back(); });
  refused([](IntegerPlan& p) { p.property->sums.front().weight.front() = std::int64_t{1} << 61; });
  refused([](IntegerPlan& p) { p.property->sums.front().weight_bytes = 1; });
  refused([](IntegerPlan& p) { p.property->conditions.front().row = 99; });
  refused([](IntegerPlan& p) {
    p.property->conditions.front().threshold = -(std::int64_t{1} << 62) - 1;
  });
  refused([](IntegerPlan& p) { p.property.reset(); });
  refused([](IntegerPlan& p) { std::swap(p.steps.back(), p.steps[p.steps.size() - 2]); });
}

// Rows of a property through many layers need more bits than a verifier's integers have.
TEST(IntegerProperty, CrownRefusesRowsOfMoreThan64Bits) {
  Random random(4);
  QuantisedModel model(random, Scales::kAny);
  Tensor x = model.input({1, 3});
  for (int layer = 0; layer < 24; ++layer) x = model.dense(x, 24, true);
  const Graph graph = import_text(model.finish(model.dense(x, 3, false)));
  const FloatBox box = random_box(random, 3, 0.1F);
  PlannerConfig config = integer_config();
  config.method = Method::kCrown;
  try {
    plan_with(graph, random_property(random, graph, box, 3), config);
    FAIL() << "not refused";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "BF2113");
  }
}

// Bits of floats are compared, and followed by others, as floats are.
TEST(IntegerProperty, FloatsAsIntegers) {
  using bf::integer::FloatBits;
  using Ends = bf::Ends<FloatBits>;
  const auto of = [](float x) { return FloatBits{std::bit_cast<std::uint32_t>(x)}; };
  const auto number = [](FloatBits x) { return std::bit_cast<float>(x.bits); };
  const float numbers[] = {-3e38F, -2.5F,  -1.0F, -1e-40F, -1e-45F, -0.0F, 0.0F,
                           1e-45F, 1e-40F, 1e-3F, 1.0F,    1.5F,    2.0F,  3e38F};
  for (const float a : numbers) {
    EXPECT_EQ(number(Ends::after(of(a))), std::nextafter(a, INFINITY));
    EXPECT_EQ(number(Ends::before(of(a))), std::nextafter(a, -INFINITY));
    for (const float b : numbers) {
      EXPECT_EQ(of(a) < of(b), a < b);
      EXPECT_EQ(of(a) == of(b), a == b);
      const double mean = 0.5 * a + 0.5 * b;
      const double error = std::abs(number(Ends::middle(of(a), of(b))) - mean);
      EXPECT_LE(error, std::max(std::abs(a), std::abs(b)) * 0x1p-22 + 3e-45) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace bf_aot::integer_test
