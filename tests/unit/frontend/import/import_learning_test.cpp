#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

using test::OperatorCase;

OperatorCase learning(const std::string& type) {
  OperatorCase made(type);
  made.domain("ai.onnx.ml");
  return made;
}

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(ImportLearning, LinearRegressors) {
  learning("LinearRegressor")
      .input({2, 2}, {1, 2, -3, 4})
      .number("targets", 2)
      .reals("coefficients", {1, -0.5, 2, 3})
      .reals("intercepts", {0.25, -1})
      .expect({2, 2}, {0.25, 7, -4.75, 5});
  learning("LinearRegressor")
      .input({2}, {1, 2})
      .reals("coefficients", {1, -0.5})
      .expect({1, 1}, {0});
}

TEST(ImportLearning, ClassifiersHaveLabelsAndScores) {
  // Scores 1.5, -1.5 and 0.9.
  learning("LinearClassifier")
      .input({1, 2}, {1, 2})
      .ints("classlabels_ints", {5, -9, 2})
      .reals("coefficients", {1, 0.25, -1, -0.25, 0.3, 0.3})
      .reals("intercepts", {0, 0, 0})
      .expect({1}, {5});
  // There is one score, 1.5.
  learning("LinearClassifier")
      .input({1, 2}, {1, 2})
      .ints("classlabels_ints", {5, 9})
      .reals("coefficients", {1, 0.25})
      .reals("intercepts", {0})
      .expect({1}, {9});
}

// Support vectors (1, 2) and (0, -1) with coefficients 2 and -1.
TEST(ImportLearning, SupportVectorRegressors) {
  const auto regressor = [](const std::string& kernel) {
    return learning("SVMRegressor")
        .input({1, 2}, {0.5, -1})
        .reals("coefficients", {2, -1})
        .reals("support_vectors", {1, 2, 0, -1})
        .reals("kernel_params", {0.5, 1, 2})
        .reals("rho", {0.25})
        .number("n_supports", 2)
        .text("kernel_type", kernel);
  };
  regressor("LINEAR").expect({1, 1}, {0.25 + 2 * -1.5 - 1});
  regressor("POLY").expect({1, 1}, {0.25 + 2 * 0.0625 - 2.25});
  regressor("RBF").expect({1, 1}, {0.25 + 2 * std::exp(-0.5 * 9.25) - std::exp(-0.5 * 0.25)});
  regressor("SIGMOID").expect({1, 1}, {0.25 + 2 * std::tanh(0.25) - std::tanh(1.5)});
  regressor("LINEAR").number("one_class", 1).expect({1, 1}, {-1});
  regressor("BESSEL").expect_refused("BF1012");
  regressor("RBF").text("post_transform", "LOGISTIC").expect_refused("BF1026");
  learning("SVMRegressor")
      .input({1, 2}, {0.5, -1})
      .reals("coefficients", {2, -1})
      .reals("rho", {0.25})
      .expect({1, 1}, {2.25});
}

// Classes of one, one and two support vectors: what pairs are told apart by is 0.25, -2.5 and 4 at
// (0.5, -1), whose kernels are -1.5, 1, -0.5 and 2.
TEST(ImportLearning, SupportVectorClassifiers) {
  const auto classifier = [](const std::vector<double>& x) {
    return learning("SVMClassifier")
        .input({1, 2}, x)
        .ints("classlabels_ints", {5, -9, 2})
        .ints("vectors_per_class", {1, 1, 2})
        .reals("support_vectors", {1, 2, 0, -1, 1, 1, -2, -3})
        .reals("coefficients", {1, 1.5, 2, 0, 1, 1, 0, 0.5})
        .reals("rho", {0.25, 0, 2})
        .reals("kernel_params", {0, 0, 0});
  };
  // 0.25 - 1.5 + 1.5 > 0; 0 - 1.5 - 1 < 0; 2 + 1 + 0 + 1 > 0: each class wins a pair.
  classifier({0.5, -1}).expect({1}, {5});
  // Kernels 0: rho alone tells pairs apart, of which a zero is won by the second class.
  classifier({0, 0}).expect({1}, {5});
  const auto two = [](double x) {
    return learning("SVMClassifier")
        .input({1, 1}, {x})
        .ints("classlabels_ints", {5, 9})
        .ints("vectors_per_class", {1, 1})
        .reals("support_vectors", {1, -1})
        .reals("coefficients", {1, -1})
        .reals("rho", {-1})
        .reals("kernel_params", {0, 0, 0});
  };
  two(0.5).expect({1}, {9});
  two(0.625).expect({1}, {5});
  two(1).reals("prob_a", {1}).expect_refused("BF1026");
  two(1).reals("rho", {-1, 2}).expect_refused("BF1012");
  two(1).ints("vectors_per_class", {1, 2}).expect_refused("BF1012");
  two(1).text("kernel_type", "BESSEL").expect_refused("BF1012");
}

TEST(ImportLearning, Preprocessing) {
  learning("Binarizer")
      .input({1, 3}, {-1, 0.5, 2})
      .real("threshold", 0.5)
      .expect({1, 3}, {0, 0, 1});
  learning("Imputer")
      .input({2, 2}, {0, 1, 3, 0})
      .reals("imputed_value_floats", {7, 8})
      .real("replaced_value_float", 0)
      .expect({2, 2}, {7, 1, 3, 8});
}

// x_0 <= 0.5 ? (x_1 < -0.25 ? 1 : 2) : -3, and the second target, which has a leaf alone.
OperatorCase two_trees(const std::string& mode) {
  OperatorCase made = learning("TreeEnsembleRegressor");
  made.ints("nodes_treeids", {0, 0, 0, 0, 0, 1, 1, 1})
      .ints("nodes_nodeids", {0, 1, 2, 3, 4, 0, 1, 2})
      .ints("nodes_featureids", {0, 1, 0, 0, 0, 1, 0, 0})
      .reals("nodes_values", {0.5, -0.25, 0, 0, 0, 0.125, 0, 0})
      .ints("nodes_truenodeids", {1, 2, 0, 0, 0, 1, 0, 0})
      .ints("nodes_falsenodeids", {4, 3, 0, 0, 0, 2, 0, 0})
      .texts("nodes_modes", {mode, mode, "LEAF", "LEAF", "LEAF", mode, "LEAF", "LEAF"})
      .ints("target_treeids", {0, 0, 0, 1, 1, 1})
      .ints("target_nodeids", {2, 3, 4, 1, 2, 2})
      .ints("target_ids", {0, 0, 0, 0, 0, 1})
      .reals("target_weights", {1, 2, -3, 0.5, 0.75, 0.25})
      .number("n_targets", 2);
  return made;
}

TEST(ImportLearning, TreesByEachMode) {
  const auto holds = [](const std::string& mode, double x, double t) {
    if (mode == "BRANCH_LEQ") return x <= t;
    if (mode == "BRANCH_LT") return x < t;
    if (mode == "BRANCH_GTE") return x >= t;
    if (mode == "BRANCH_GT") return x > t;
    return mode == "BRANCH_EQ" ? x == t : x != t;
  };
  for (const std::string mode :
       {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"})
    for (const double x : {0.25, 0.5, 0.75})
      for (const double y : {-0.5, -0.25, 0.0, 0.125, 0.25}) {
        const double first = holds(mode, x, 0.5) ? holds(mode, y, -0.25) ? 1 : 2 : -3;
        const double second = holds(mode, y, 0.125) ? 0.5 : 0.75;
        two_trees(mode)
            .input({1, 2}, {x, y})
            .expect({1, 2}, {first + second, second == 0.75 ? 0.25 : 0});
      }
}

TEST(ImportLearning, TreesMayBeAveraged) {
  two_trees("BRANCH_LEQ")
      .input({1, 2}, {0, 0})
      .text("aggregate_function", "AVERAGE")
      .expect({1, 2}, {1.25, 0});
  two_trees("BRANCH_LEQ")
      .input({1, 2}, {0, 0})
      .text("post_transform", "LOGISTIC")
      .expect({1, 2}, {logistic(2.5), 0.5}, 1e-6);
}

}  // namespace
}  // namespace bf_aot
