#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frontend/graph/graph.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"

// Which layers the planner makes of a graph.
namespace bf_aot {
namespace {

// The last two of four inputs, in reverse, and what reads them.
class Reversed {
 public:
  Reversed() {
    x_ = graph_.add_value("x", {4});
    graph_.inputs = {x_};
    moved_ = graph_.add_value("moved", {2});
    graph_.nodes.push_back({IndexMap{{3, 2}}, {x_}, moved_, "Slice 'moved'"});
  }

  ValueId moved() const { return moved_; }

  void add_output(const Op& op, const char* name) {
    const ValueId y = graph_.add_value(name, {2});
    graph_.nodes.push_back({op, {moved_}, y, name});
    graph_.outputs.push_back(y);
  }

  Plan plan(const PlanOptions& options = {}) const {
    PlannerConfig config;
    config.target = find_target("generic");
    return bf_aot::plan(graph_, {}, "net", false, config, options);
  }

 private:
  Graph graph_;
  ValueId x_, moved_;
};

TEST(PlannerLayers, ReadersOfMovedElementsGatherThemInPlace) {
  Reversed net;
  net.add_output(Relu{}, "relu");
  net.add_output(Unary{Function{FunctionKind::kFloor}}, "floor");
  const Plan plan = net.plan();
  for (const Layer& layer : plan.layers) {
    EXPECT_NE(layer.name, "moved");
    if (!layer.relu && !layer.function) continue;
    ASSERT_EQ(layer.terms.size(), 1u);
    EXPECT_EQ(layer.terms[0].input, -1);
    EXPECT_EQ(std::get<GatherMap>(layer.terms[0].map).source, (std::vector<std::int32_t>{3, 2}));
  }
}

// Names are words of the tensor's own: of long ones the last, as many as fit.
TEST(PlannerLayers, LongNamesKeepTheirLastWords) {
  Reversed net;
  net.add_output(Relu{}, "StatefulPartitionedCall/sequential/dense_1/BiasAdd:0");
  net.add_output(Unary{Function{FunctionKind::kFloor}},
                 "TheNameOfATensoratisonewordandlongerthanfits");
  const Plan plan = net.plan();
  std::vector<std::string> names;
  for (const Layer& layer : plan.layers)
    if (layer.relu || layer.function) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"sequential_dense_1_biasadd_0",
                                             "atisonewordandlongerthanfits"}));
}

// Plain inference of such a network is a forward pass on points, also where costs are predicted.
TEST(PlannerLayers, SampleBoxesServeNetworksWithFunctions) {
  Reversed net;
  net.add_output(Unary{Function{FunctionKind::kSigmoid}}, "sigmoid");
  PlanOptions options;
  options.samples = {{{-1, -1, -1, -1}, {1, 1, 1, 1}}};
  EXPECT_EQ(net.plan(options).prediction.activity, "mean of 1 box");
}

// Matrices read whole tensors: what is moved for one of them is a layer, and the other readers
// still gather from where it came.
TEST(PlannerLayers, MovedElementsOfAMatrixAreALayer) {
  Reversed net;
  net.add_output(Relu{}, "relu");
  net.add_output(Affine{{{2, 2}, {1, 2, 3, 4}, {}}, {{2}, {0, 0}, {}}}, "matrix");
  const Plan plan = net.plan();
  bool copied = false;
  for (const Layer& layer : plan.layers) {
    if (layer.name == "moved") copied = true;
    if (layer.relu) {
      EXPECT_EQ(layer.terms.at(0).input, -1);
    }
  }
  EXPECT_TRUE(copied);
}

// Two rows of three shares from the softmax of two elements and of three: what each share is made
// of as the planner is given it.
Plan plan_of_means(const std::vector<std::vector<std::int64_t>>& shares, double weight = 1,
                   double bias = 0, Method method = Method::kCrown) {
  Graph graph;
  const ValueId x = graph.add_value("x", {5}), z = graph.add_value("z", {5});
  const ValueId powers = graph.add_value("powers", {5}), placed = graph.add_value("placed", {6});
  const ValueId y = graph.add_value("y", {2});
  graph.inputs = {x};
  graph.outputs = {y};
  SparseAffine places{{0}, {}, {}, {{6}, std::vector<double>(6, bias), {}}};
  for (const std::vector<std::int64_t>& share : shares) {
    places.column.insert(places.column.end(), share.begin(), share.end());
    places.row_start.push_back(static_cast<std::int64_t>(places.column.size()));
  }
  const std::size_t entries = places.column.size();
  places.value = {{static_cast<std::int64_t>(entries)}, std::vector<double>(entries, weight), {}};
  graph.nodes = {
      {LogSoftmax{{0, 2, 5}, {0, 1, 2, 3, 4}}, {x}, z, "Softmax"},
      {Unary{Function{FunctionKind::kExp}}, {z}, powers, "Softmax"},
      {places, {powers}, placed, "Softmax"},
      {Contraction{1, 2, 1, 3, {0, 1, 2, 3, 4, 5}, {0, 1, 2}}, {placed, x}, y, "MatMul"}};
  PlannerConfig config;
  config.target = find_target("generic");
  config.method = method;
  return bf_aot::plan(graph, {}, "net", false, config, {});
}

std::optional<Scores> scores_in(const Plan& plan) {
  for (const Layer& layer : plan.layers)
    if (layer.kind == LayerKind::kContraction) return layer.scores;
  ADD_FAILURE() << "no contraction";
  return std::nullopt;
}

bool finds_means(const std::vector<std::vector<std::int64_t>>& shares, double weight = 1,
                 double bias = 0) {
  return scores_in(plan_of_means(shares, weight, bias)).has_value();
}

// Masked shares are 0; all others of a group have to be there once, and as they are.
TEST(PlannerLayers, MeansHaveAllSharesOfAGroupOnce) {
  EXPECT_TRUE(finds_means({{0}, {1}, {}, {2}, {3}, {4}}));
  EXPECT_TRUE(finds_means({{}, {1}, {0}, {4}, {2}, {3}}));
  EXPECT_FALSE(finds_means({{0}, {}, {}, {2}, {3}, {4}}));
  EXPECT_FALSE(finds_means({{0}, {1}, {1}, {2}, {3}, {4}}));
  EXPECT_FALSE(finds_means({{0}, {1}, {2}, {2}, {3}, {4}}));
  EXPECT_FALSE(finds_means({{}, {}, {}, {2}, {3}, {4}}));
  EXPECT_FALSE(finds_means({{0, 1}, {}, {}, {2}, {3}, {4}}));
  EXPECT_FALSE(finds_means({{0}, {1}, {}, {2}, {3}, {4}}, 0.5));
  EXPECT_FALSE(finds_means({{0}, {1}, {}, {2}, {3}, {4}}, 1, 0.25));
}

TEST(PlannerLayers, MeansHaveTheScoresOfTheirShares) {
  Plan plan = plan_of_means({{}, {1}, {0}, {4}, {2}, {3}});
  const auto scores = scores_in(plan);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->layer, kNetworkInput);
  EXPECT_EQ(scores->column, (std::vector<std::int32_t>{-1, 1, 0, 4, 2, 3}));
  for (Layer& layer : plan.layers)
    if (layer.scores) layer.scores->column[1] = 0;
  EXPECT_DEATH(verify(plan), "may not be the softmax of these scores");
}

template <typename StepKind>
int count_steps(const Plan& plan) {
  const Entry* const entry = plan.find_entry(EntryKind::kBounds);
  return static_cast<int>(std::ranges::count_if(
      entry->steps, [](const Step& step) { return std::holds_alternative<StepKind>(step); }));
}

// Boxes of means are made of scores: nobody reads boxes of shares, unless rows pass them.
TEST(PlannerLayers, BoxesOfMeansNeedNoShares) {
  const std::vector<std::vector<std::int64_t>> shares = {{0}, {1}, {}, {2}, {3}, {4}};
  const Plan boxes = plan_of_means(shares, 1, 0, Method::kIbp);
  EXPECT_EQ(count_steps<RelaxContraction>(boxes), 1);
  EXPECT_EQ(count_steps<RelaxLogSoftmax>(boxes), 0);
  const Plan rows = plan_of_means(shares, 1, 0, Method::kCrownIbp);
  EXPECT_EQ(count_steps<RelaxContraction>(rows), 1);
  EXPECT_EQ(count_steps<RelaxLogSoftmax>(rows), 1);
}

}  // namespace
}  // namespace bf_aot
