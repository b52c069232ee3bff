#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "frontend/graph/graph.h"
#include "planner/plan/layer_id.h"
#include "runtime/bf/contract/tables.h"

namespace bf_aot {

// The network as layers that read the box or other layers, and the heads among them
// (docs/proofs/graph-of-tensors.md).

// Error terms of one affine layer. All are upper bounds computed at compile time; see
// docs/proofs/error-terms.md for the proof that each bound needs each of them.
struct AffineErrors {
  double weight_relative = 0;  // |w* - w| <= weight_relative |w|, w* the network's exact weight
  double weight_residual = 0;  // |w* - (w + residual)| <= weight_residual |w|
  double bias_float = 0;       // |b* - float(b)|, worst neuron
  double bias_double = 0;      // |b* - b|, worst neuron
  // |b*_j - b_j| <= bias_relative |b_j| + bias_rest, of neuron j alone; the same of float(b_j).
  double bias_relative = 0, bias_rest = 0;
  double float_bias_relative = 0, float_bias_rest = 0;
  double row_norm = 0;   // max_j sum_k |w_jk|, over all terms
  double bias_norm = 0;  // max_j |b_j|
  bool operator==(const AffineErrors&) const = default;
};

// ---- Maps of one tensor to `out` numbers; see Term.

// A convolution; weight: [out_channels][in_group][taps].
struct ConvMap {
  ConvGeometry geometry;
  bool operator==(const ConvMap&) const = default;
};

// Compressed rows: entry k of row_start[i] <= k < row_start[i + 1] reads column[k]; weight: one per
// entry. Columns rise within a row, but for those of a log-softmax layer, which has an output for
// each entry.
struct SparseMap {
  std::vector<std::int32_t> row_start;  // rows + 1
  std::vector<std::int32_t> column;
  bool operator==(const SparseMap&) const = default;
};

// Sources that four nested loops enumerate: with the digits of i in base (.., count[1], count[2],
// count[3]), the last one the fastest, source_i = offset + the sum of digit_k stride[k]. count[0]
// is what is left.
struct StridedView {
  std::int32_t offset = 0;
  std::array<std::int32_t, 4> count = {1, 1, 1, 1};
  std::array<std::int32_t, 4> stride = {0, 0, 0, 0};
  bool operator==(const StridedView&) const = default;
};

// Groups of equal form: candidate t of group i is element i of `groups` + element t of `taps`,
// whose offset is 0. The last taps are neighbours, or one.
struct GroupView {
  StridedView firsts, taps;
  bool operator==(const GroupView&) const = default;
};

// y_i = x_{source_i}, or 0 where source_i is -1; an empty list is the identity. No weights. The
// factor of a contraction is y.
struct GatherMap {
  std::vector<std::int32_t> source;
  std::optional<StridedView> view;  // the same sources; then the verifier has no table of them
  bool operator==(const GatherMap&) const = default;
};

using LinearMap = std::variant<ConvMap, SparseMap, GatherMap>;

// Bounds of an exact linear map W for distances by Euclid's norm: |W x| <= norm |x|, and
// |(W x)_j| <= rows_j |x| for each output j. No rows: nobody asked for them. docs/proofs/balls.md.
struct BallNorms {
  double norm = 0;
  std::vector<float> rows;
  bool operator==(const BallNorms&) const = default;
};

// The map by which a layer reads one tensor.
struct Term {
  LayerId input = kNetworkInput;  // what makes it
  int in = 0;                     // its elements
  LinearMap map;
  std::vector<float> weight;    // of conv and sparse maps of a sum
  std::vector<float> residual;  // w* - w rounded to float32, where some weight is inexact; or empty
  double row_norm = 0;          // max_j sum_k |w_jk|
  int row_entries = 0;          // most products in one output
  int column_entries = 0;       // most products that read one input
  BallNorms ball;               // of a sum's terms, in plans of balls
  bool operator==(const Term&) const = default;
};

enum class LayerKind : std::uint8_t {
  kDense,    // z = W a + b; W float32, row-major [out, in], over one tensor
  kSum,      // z = the sum of `terms`, + b
  kProduct,  // z_i = x_{g_i} y_{h_i}: two terms with gather maps, every element present
  kMax,      // z_i = the largest of x over row i of a sparse map without weights: one term
  // z_k = x_{column_k} - ln of the sum of the powers of x over k's row of a sparse map without
  // weights, whose rows have each column once: one term
  kLogSoftmax,
  // z = products of matrices, in batches: two terms with gather maps, of the matrices in rows, no
  // element missing; see ContractionShape
  kContraction,
};

std::string_view to_string(LayerKind kind);

// z[(b rows + i) columns + j] = sum_l x[gather_(b rows + i, l)] y[gather_(b columns + j, l)].
struct ContractionShape {
  int batch = 0, rows = 0, columns = 0, sums = 0;

  std::int64_t left() const { return std::int64_t{batch} * rows * sums; }
  std::int64_t right() const { return std::int64_t{batch} * columns * sums; }
  std::int64_t products() const { return left() * columns; }
  std::int64_t outputs() const { return std::int64_t{batch} * rows * columns; }
  // The floats of the layer's table: see relax_contraction() in runtime/bf/sums/contraction.h.
  std::int64_t table() const { return 2 * outputs() + 4 * (left() + right()); }
  // The doubles that make the layer's boxes, of a row and of a batch entry's columns.
  std::int64_t scratch() const {
    return std::int64_t{bf::kContractionPanels} * sums * (columns + 1) + 3 * std::int64_t{columns};
  }
  bool operator==(const ContractionShape&) const = default;
};

struct Plan;

// A tensor is the softmax of scores, in groups of its elements: `layer` makes the scores.
struct Scores {
  LayerId layer;
  std::vector<std::int32_t> column;  // the score of each element of the tensor; -1: it is 0
  bool operator==(const Scores&) const = default;
};

// A tensor of the network: z, then a = relu(z) or function(z), or z itself. Product and max layers
// have no activation; a sum that reads them has.
struct Layer {
  std::string name;  // unique C identifier, from the ONNX name
  Origin origin;     // "MatMul 'm1' + Add 'a1' + Relu 'r1'"
  LayerKind kind = LayerKind::kDense;
  int out = 0;
  bool relu = false;
  std::optional<Function> function;  // not with relu

  // kDense
  LayerId input = kNetworkInput;  // what makes `a`
  int in = 0;
  std::vector<float> weight;
  std::vector<float> residual;  // w* - w rounded to float32, where some weight is inexact; or empty

  BallNorms ball;  // of W, in plans of balls

  std::vector<Term> terms;  // of the other kinds
  ContractionShape contraction;
  // A contraction's left factor has these scores where its rows are their softmax: each z is a mean
  // of y's. See scores_of().
  std::optional<Scores> scores;
  double most = 0;  // kProduct: |z| is at most so much, for all inputs; 0: nothing is known

  std::vector<double> bias;  // kDense, kSum
  AffineErrors errors;
  // No double operation of the centre path rounds: copies, or sums on a grid of 52 bits.
  bool exact_centre = false;
  // Semantics float32-exact: float32 roundings that a term of NAME_evaluate meets at most, which
  // `errors` hold; 0: it is evaluated in double, or not at all.
  int evaluated_depth = 0;
  // A list is made of the layer's neurons that are not 0 on the whole box, so that others need not
  // be summed; only for ReLU layers. See live_neurons.h.
  bool live_list = false;

  float weight_at(int row, int column) const {
    return weight[static_cast<std::size_t>(row) * static_cast<std::size_t>(in) +
                  static_cast<std::size_t>(column)];
  }
  const Term& term(int number) const { return terms.at(static_cast<std::size_t>(number)); }
  bool is_affine() const { return kind == LayerKind::kDense || kind == LayerKind::kSum; }
  bool operator==(const Layer&) const = default;
};

// The groups of a log-softmax layer.
int groups_of(const Layer& layer);

// The scores of a contraction's left factor, where each of its rows has all powers of one group of
// a log-softmax layer before it, each once, and zeros.
std::optional<Scores> scores_of(const Plan& plan, const Layer& contraction);

// The tensors that a layer reads, in order, with repetitions.
std::vector<LayerId> inputs_of(const Layer& layer);

// Products and maxima read the layer: they relax on its box.
bool feeds_nonlinear(const Plan& plan, LayerId layer);

// The number of candidates of all maxima of a max layer.
std::int64_t max_candidates(const Layer& layer);

}  // namespace bf_aot
