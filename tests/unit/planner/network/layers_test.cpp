#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "frontend/graph/graph.h"
#include "planner/planner.h"

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

}  // namespace
}  // namespace bf_aot
