#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/network/expression.h"
#include "planner/network/fusion_classes.h"
#include "planner/network/linear_terms.h"
#include "planner/planner.h"

// Which operators join into one layer.
namespace bf_aot {
namespace {

Constant constant(Shape shape, std::vector<double> data) {
  Constant made;
  made.shape = std::move(shape);
  made.data = std::move(data);
  return made;
}

const Op kOffset = Scale{constant({2}, {1, 1}), constant({2}, {0.5, 2})};
const Op kDiagonal = Scale{constant({2}, {2, 3}), constant({2}, {0, 0})};
const Op kAffine = Affine{constant({2, 2}, {1, 2, 3, 4}), constant({2}, {0, 0})};
const Op kSparse = SparseAffine{{0, 1, 2}, {1, 0}, constant({2}, {2, 3}), constant({2}, {0, 0})};
const Op kMax = GroupMax{{0, 2, 3}, {0, 1, 1}};

// Layers of a chain of operators on two elements.
std::size_t layers_of(const std::vector<Op>& ops) {
  Graph graph;
  ValueId value = graph.add_value("x", {2});
  graph.inputs = {value};
  for (const Op& op : ops) {
    const ValueId made = graph.add_value("v", {2});
    graph.nodes.push_back({op, {value}, made, std::string(op_name(op))});
    value = made;
  }
  graph.outputs = {value};
  PlannerConfig config;
  config.target = find_target("generic");
  config.method = Method::kIbp;
  return plan(graph, {}, "net", false, config).layers.size();
}

TEST(Fusion, ClassesOfTheOperators) {
  EXPECT_EQ(fusion_rule(kAffine).kind, FusionClass::kComplexOutFusable);
  EXPECT_EQ(fusion_rule(Conv{}).kind, FusionClass::kComplexOutFusable);
  EXPECT_EQ(fusion_rule(kSparse).kind, FusionClass::kReduction);
  for (const Op& op : {kOffset, kDiagonal, Op(Relu{}), Op(Unary{}), Op(IndexMap{}),
                       Op(Binary{Binary::Kind::kAdd})})
    EXPECT_EQ(fusion_rule(op).kind, FusionClass::kInjective) << op_name(op);
  for (const Op& op : {kMax, Op(Binary{Binary::Kind::kMul}), Op(Literal{}), Op(MatMul{})})
    EXPECT_EQ(fusion_rule(op).kind, FusionClass::kOpaque) << op_name(op);
  EXPECT_TRUE(is_activation(Relu{}));
  EXPECT_FALSE(is_activation(kOffset));
}

// Factors of 1 that are uncertain join as well: a rounded residual sum stays one layer.
TEST(Fusion, UncertainOnesJoin) {
  Constant factor = constant({2}, {1, 1});
  factor.error = {0x1p-24, 0x1p-20};
  Constant offset = constant({2}, {0, 3});
  const Op rounded = Scale{factor, offset};
  EXPECT_TRUE(fusion_rule(rounded).joins);
  EXPECT_EQ(layers_of({kSparse, rounded, Relu{}, kAffine}), 2U);

  Expression sum;
  sum.terms.push_back(identity_term(kNetworkInput, 2));
  sum.bias = constant({2}, {-2, 0});
  sum.errors.weight_relative = sum.errors.weight_residual = 0.5;
  multiply_by_ones(factor, sum);
  EXPECT_GE(sum.errors.weight_relative, 0.5 + 1.5 * 0x1p-20);
  EXPECT_GE(sum.errors.weight_residual, 0.5 + 1.5 * 0x1p-20);
  EXPECT_LE(sum.errors.weight_relative, 0.5 + 1.6 * 0x1p-20);
  EXPECT_GE(sum.bias.error_at(0), 0x1p-23);
  EXPECT_LE(sum.bias.error_at(0), 0x1.01p-23);
  EXPECT_EQ(sum.bias.error_at(1), 0);
}

// What the rule says of an operator is what the planner does with it between two others.
TEST(Fusion, InjectiveOperatorsJoinWhatMakesTheirInput) {
  EXPECT_EQ(layers_of({kAffine, Relu{}, kAffine}), 2U);
  EXPECT_EQ(layers_of({kSparse, Relu{}, kAffine}), 2U);
  EXPECT_EQ(layers_of({kSparse, kOffset, Relu{}, kAffine}), 2U);
  EXPECT_EQ(layers_of({kDiagonal, kOffset, Relu{}, kAffine}), 2U);
}

TEST(Fusion, LinearMapsReadStoredTensors) {
  EXPECT_EQ(layers_of({kSparse, kDiagonal}), 2U);
  EXPECT_EQ(layers_of({kSparse, kSparse}), 2U);
  EXPECT_EQ(layers_of({Relu{}, kOffset}), 2U);
}

TEST(Fusion, NothingJoinsOpaqueOperators) {
  EXPECT_EQ(layers_of({kMax, Relu{}, kAffine}), 3U);
  EXPECT_EQ(layers_of({kSparse, kMax, Relu{}, kAffine}), 4U);
}

}  // namespace
}  // namespace bf_aot
