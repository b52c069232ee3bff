// derivative_graph() of random graphs against difference quotients in exact arithmetic.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "frontend/derivative/derivative.h"
#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/passes/pipeline.h"
#include "tests/property/passes_exact.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"

namespace bf_aot {
namespace {

using testing::Numbers;
using testing::Random;

using Rationals = std::vector<std::vector<mpq_class>>;
using Intervals = std::vector<std::vector<testing::Interval>>;

// Functions are evaluated to 2^-200, and curved ones differ from their tangents by about the step.
const mpq_class kStep(0x1p-90);
const mpq_class kTolerance(0x1p-60);

// Numbers of full doubles: no sum meets a kink by chance.
Rationals point_of(Random& random, const Graph& graph) {
  Rationals point;
  for (const std::vector<double>& tensor : testing::random_point(random, Numbers::kFloats, graph)) {
    point.emplace_back();
    for (const double x : tensor) {
      const double odd = static_cast<double>(random() >> 11) * 0x1p-60;
      point.back().push_back(mpq_class(x) + mpq_class(odd));
    }
  }
  return point;
}

mpq_class& element(Rationals& point, std::size_t index) {
  std::size_t tensor = 0;
  while (index >= point[tensor].size()) index -= point[tensor++].size();
  return point[tensor][index];
}

std::size_t elements(const Rationals& point) {
  std::size_t count = 0;
  for (const auto& tensor : point) count += tensor.size();
  return count;
}

std::vector<std::size_t> random_inputs(Random& random, std::size_t count) {
  std::vector<std::size_t> inputs;
  for (int k = testing::pick(random, 1, 3); k > 0; --k)
    inputs.push_back(
        static_cast<std::size_t>(testing::pick(random, 0, static_cast<int>(count) - 1)));
  return inputs;
}

// Nothing: an operator of the graph jumps.
std::optional<Graph> derivative_of(const Graph& graph, const std::vector<std::size_t>& inputs) {
  try {
    return derivative_graph(graph, inputs);
  } catch (const CompileError& error) {
    for (const Diagnostic& problem : error.diagnostics()) EXPECT_EQ(problem.code, "BF2120");
    return std::nullopt;
  }
}

void expect_derivatives(const Graph& graph, const std::vector<std::size_t>& inputs, Rationals point,
                        const Rationals& found) {
  const Rationals before = evaluate_exact(graph, point);
  ASSERT_EQ(found.size(), inputs.size() * before.size());
  std::size_t next = 0;
  for (const std::size_t input : inputs) {
    element(point, input) += kStep;
    const Rationals after = evaluate_exact(graph, point);
    element(point, input) -= kStep;
    for (std::size_t j = 0; j < before.size(); ++j, ++next) {
      ASSERT_EQ(found[next].size(), before[j].size());
      for (std::size_t r = 0; r < before[j].size(); ++r) {
        const mpq_class quotient = (after[j][r] - before[j][r]) / kStep;
        const mpq_class distance = abs(quotient - found[next][r]);
        const mpq_class size = 1 + abs(quotient) + abs(before[j][r]);
        ASSERT_LE(distance, kTolerance * size * size)
            << "by input " << input << ", output " << j << ", " << r << ": "
            << found[next][r].get_d() << " for " << quotient.get_d() << "\n"
            << to_string(graph);
      }
    }
  }
}

class Derivatives : public ::testing::TestWithParam<Numbers> {};

TEST_P(Derivatives, AreDifferenceQuotients) {
  const std::uint64_t seed = testing::seed_from_environment(41);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  int tried = 0, moved = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    const Graph graph = testing::random_graph(random, GetParam(), testing::pick(random, 1, 12));
    const Rationals point = point_of(random, graph);
    const std::vector<std::size_t> inputs = random_inputs(random, elements(point));
    const std::optional<Graph> derivative = derivative_of(graph, inputs);
    if (!derivative) continue;
    ++tried;
    const Rationals found = evaluate_exact(*derivative, point);
    expect_derivatives(graph, inputs, point, found);
    if (HasFatalFailure()) return;
    for (const auto& tensor : found)
      for (const mpq_class& value : tensor) moved += value != 0 ? 1 : 0;
  }
  EXPECT_GE(tried, 300);
  EXPECT_GE(moved, tried);
}

INSTANTIATE_TEST_SUITE_P(Of, Derivatives,
                         ::testing::Values(Numbers::kSmallIntegers, Numbers::kFloats),
                         [](const auto& chosen) {
                           return chosen.param == Numbers::kFloats ? "Floats" : "Integers";
                         });

// A point as inputs of a graph that has as many, or one of all.
Intervals point_intervals(const Rationals& point, std::size_t inputs) {
  Intervals found(inputs);
  for (std::size_t i = 0; i < point.size(); ++i)
    for (const mpq_class& x : point[i]) found[inputs == 1 ? 0 : i].push_back({x, x});
  return found;
}

// The network that the passes make has the same values, but for the roundings of its constants.
TEST(Derivative, IsANetworkForThePasses) {
  Random random(testing::seed_from_environment(43));
  int tried = 0;
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    const Graph graph =
        testing::random_graph(random, Numbers::kSmallIntegers, testing::pick(random, 1, 8));
    Rationals point = point_of(random, graph);
    const std::optional<Graph> derivative =
        derivative_of(graph, random_inputs(random, elements(point)));
    if (!derivative) continue;
    Graph normal = *derivative;
    try {
      normalise(normal);
    } catch (const CompileError&) {
      continue;  // division by zero, products that are too large
    }
    ++tried;
    const Intervals found =
        testing::evaluate_intervals(normal, point_intervals(point, normal.inputs.size()));
    const Rationals expected = evaluate_exact(*derivative, point);
    for (std::size_t j = 0; j < expected.size(); ++j)
      for (std::size_t r = 0; r < expected[j].size(); ++r) {
        const mpq_class size = 1 + abs(expected[j][r]);
        const mpq_class slack = kTolerance * size * size;
        ASSERT_GE(expected[j][r], found[j][r].lower - slack) << to_string(graph);
        ASSERT_LE(expected[j][r], found[j][r].upper + slack) << to_string(graph);
      }
  }
  EXPECT_GE(tried, 60);
}

}  // namespace
}  // namespace bf_aot
