#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot::testing {

// ---- Layers by hand; extents and norms are made from the rest.

Layer dense(std::string name, int input, const std::vector<std::vector<float>>& weight,
            std::vector<double> bias);
Layer sum(std::string name, std::vector<Term> terms, std::vector<double> bias);
Layer product(std::string name, Term x, Term y);
Layer maximum(std::string name, Term candidates);

using SparseRows = std::vector<std::vector<std::pair<int, float>>>;  // (column, weight)

Term conv(int input, const ConvGeometry& geometry, std::vector<float> weight);
Term sparse(int input, int in, const SparseRows& rows);
Term candidates(int input, int in, const std::vector<std::vector<int>>& rows);
Term gather(int input, int in, std::vector<int> source);
Term identity(int input, int in);

// A term's map as a matrix [out][in]; gathers have ones.
std::vector<std::vector<double>> matrix_of(const Term& term, int out);

// A whole plan built by hand, without the planner: entries bounds and evaluate, one task per step;
// each tensor's coefficients have a buffer of their own. The last layer is the head.
//   ibp: boxes alone; crown-ibp: backward rows of the head; crown: of all dense and sum layers,
//   of the unstable neurons where an activation follows.
Plan toy_graph_plan(Method method, int input_count, std::vector<Layer> layers);

// The activations that random graphs have.
enum class RandomActivations { kNone, kPiecewiseLinear, kSmooth };

// Layers of all kinds over each other, small, with few bits; the last is a sum of several tensors.
// Without activations all layers are affine in the input.
std::vector<Layer> random_graph(int input_count, int layers, RandomActivations activations,
                                std::mt19937& random);

}  // namespace bf_aot::testing
