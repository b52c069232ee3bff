#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"

// Normalisation: rewrites an imported graph into linear nodes of one computed tensor (Affine, Conv,
// SparseAffine, IndexMap, Scale), sums and products of two computed tensors of equal size, Relu,
// Unary, GroupMax, LogSoftmax and Contraction. Each pass maps a well-formed graph to a well-formed
// graph of the same function; inputs and outputs keep their number, order, names and shapes
// (join_inputs makes one input of them all, fold_output_spec adds an output).
//
// What "the same function" means: the real function that the ONNX file defines, its constants being
// exact reals. A folded constant is a double with a bound of its distance to the exact one
// (Constant::error), so nothing that a pass rounds is lost to the verifier. "Rounding: none" means
// that the pass never adds to these bounds.
//
// fold_scale, eliminate_permutes, merge_affine and drop_unread enable each other: they return
// whether they changed the graph, and are repeated.
//
// A value with several readers: a rewrite for one reader leaves the value as it is for the others.

namespace bf_aot {

struct Graph;
struct LogSoftmax;
struct ModelInfo;
struct Node;

// Adds the errors of evaluation in float32, in any order of summation, with fused multiply-adds or
// without (docs/proofs/float32.md): constants get bounds that hold for the numbers that evaluation
// amounts to, and results Scales of 1 with such a bound. Later passes must keep these bounds
// relative: none may add up products of constants.
//   y = gemm x, W, b
//     ->   V = scale W {1 +- gamma};  c = scale b {1 +- gamma};  z = gemm x, V, c
//          y = scale z {1, 0 +- underflow}
//   y = softmax x, that is e^z of z = log_softmax x
//     ->   z = log_softmax x;  p = exp z;  y = scale p {1 +- relative, 0 +- absolute}
// Fails with BF2110 for functions that are not covered, BF2111 for sums of more than 2^20 products,
// and for more than 2^24 products of two computed tensors.
struct Float32Semantics {
  double libm_ulps = 4;  // of the library's exp, tanh, ...
  // Any operation may take subnormal inputs for zero, and give zero for a subnormal result.
  bool flush = false;
  // Error terms to leave out: "sum", "bias", "result", "function", "underflow", "constant",
  // "flush". The mutation test sets it to show that each is needed; no command-line option does.
  std::vector<std::string> dropped;
  bool operator==(const Float32Semantics&) const = default;
};
void round_float32(Graph& graph, const Float32Semantics& semantics);

// Adds what inputs that Float32Semantics::flush takes for zero do to products; round_float32() adds
// the rest of its errors. This part depends on the weights, so that it runs after fold_constants.
// Weights that may be subnormal are left out, and Graph::float32_reach is limited so that an
// absolute error pays for them.
// Fails with BF2110 where a divisor may be subnormal.
void flush_inputs(Graph& graph);

// Fails with BF2110 unless every operator of the model is one that round_float32() covers.
void check_float32(const ModelInfo& model);

// Graph::float32_reach, after fold_constants: for inputs of that magnitude no result overflows; or
// none is above `most`. Never enlarges it. Fails with BF2112 when it is below 1.
void find_float32_reach(Graph& graph);
void limit_float32_reach(Graph& graph, double most);

// Nodes all of whose inputs are literals become literals.
//   t = literal {1, 2};  c = mul t, literal {3, 4}   ->   c = literal {3, 8}
// Rounding: sums and products in twice the precision, then to double.
// A division by a constant that may be zero is left for check_supported to report.
void fold_constants(Graph& graph);

// MatMul, Gemm and Binary become linear nodes of one computed tensor, and sums and products of two
// of equal size; where broadcasting repeats x, an IndexMap does. A constant factor of a product is
// written out densely where that is small or mostly filled, else as Conv of kernel 1 or
// SparseAffine: lower_products.h.
//   y = gemm x, W, b   ->   y = affine x {alpha op(W), beta b}
//   y = add x, c       ->   y = scale x {1, c}
//   y = sub a, b       ->   t = scale b {-1, 0};  y = add a, t
//   y = div a, b       ->   t = reciprocal b;  y = mul a, t
//   y = mul a, a       ->   y = power(2) a
//   y = matmul a, b
//     ->   y = contraction a, b;  without `contract` and for squares
//          p = index_map a;  q = index_map b;  m = mul p, q;  y = sparse_affine m {1}
// Rounding: alpha W, beta b, W b and 1 / c. Products with 1 are exact.
// What has too many products is left for check_supported to report.
void lower_affine(Graph& graph, bool contract = true);

// Data movement disappears: maps compose, move along Relu and Scale, and end in the weights of an
// Affine that reads (columns) or makes (rows) the moved tensor.
//   t = index_map x [1, 0];  y = affine t {W, b}
//     ->   y = affine x {W with its columns swapped, b}
// Rounding: only columns that a repeating map adds up.
// A map of a contraction's result cannot move: it stays an IndexMap.
bool eliminate_permutes(Graph& graph);

// Scale disappears into the Affine that reads or makes its tensor; Scales compose.
//   t = affine x {W, b};  y = scale t {f, o}   ->   y = affine x {diag(f) W, f b + o}
//   t = scale x {f, o};  y = affine t {W, b}   ->   y = affine x {W diag(f), W o + b}
//   t = contraction a, b;  y = scale t {f, 0}, f the same for all elements
//     ->   u = scale a {f, 0};  y = contraction u, b
// Rounding: the products and sums above.
bool fold_scale(Graph& graph);

// One more output, C y - d of the flattened outputs y, one after the other; in place of the output
// of derived values, where there is one. C is folded into the nodes that end the network: through
// index maps, scales and sums into the last Affine, Conv or SparseAffine of each arm, where the
// result is no huge matrix; where there is no such end, a layer {C, -d} is appended. Other readers
// of y keep it.
//   y = affine x {W, b};  output y
//     ->   y = affine x {W, b};  s = affine x {C W, C b - d};  outputs y, s; s of shape [1, rows]
//   y = add a, r;  a = affine x {W, b}
//     ->   t = affine x {C W, C b - d};  u = affine r {C, 0};  s = add t, u
// Rounding: C W and C b - d. Interval bounds of s are never wider than C applied to those of y.
// Without `fold` the layer is appended always.
// Fails with BF2007 or BF2009 when the rows do not fit the network.
void fold_output_spec(Graph& graph, const LinearSpec& spec, bool fold = true);

// Affine, SparseAffine and Conv swallow the linear node that makes their input, when nobody else
// reads that and the result costs no more products than both (a sparse one counts as four); also
// through a sum, and two terms of a sum that read one tensor become one. A Conv swallows zero
// padding, and its part of a concatenation of channels; a SparseAffine that mixes the channels of
// each pixel becomes one with the Conv before it.
//   t = affine x {W1, b1};  y = affine t {W2, b2}   ->   y = affine x {W2 W1, W2 b1 + b2}
//   p = sparse_affine a;  q = sparse_affine b;  t = add p, q;  y = affine t {W, c}
//     ->   u = affine a {W P, W p + c};  v = affine b {W Q, W q};  y = add u, v
//   p = sparse_affine x {zeros around x};  y = conv p   ->   y = conv x, with larger pads
//   y = affine x {W, b}, W large and mostly zero   ->   y = sparse_affine x {W, b}
// Rounding: the products and sums above.
bool merge_affine(Graph& graph);

// Neurons relu(z) and relu(-z) that the next layer subtracts become z, which is their difference.
//   h = affine x {w; -w; u};  r = relu h;  y = affine r {v, -v, s}
//     ->   z = affine x {w};  p = affine z {v};  h, r, q of the rest;  y = add q, p
//   p = relu z;  n = scale z {-1};  q = relu n;  m = scale q {-1};  y = add p, m   ->   y = z
// Rounding: none; rows and columns must be opposite in all bits but those of zeros.
bool fold_relu_pairs(Graph& graph);

// A sign or step of a scaled sign or step becomes one such function, scaled. Training of binary
// networks exports such pairs.
//   s = sign x;  t = scale s {1, 0.1};  y = sign t   ->   s = step_at x;  y = scale s {2, -1}
// Rounding: none; values are -1, 0 and 1, scales exact.
void fold_steps(Graph& graph);

// Comparisons take place before the functions that keep order: of two elements of a softmax, those
// that it reads.
//   p = sigmoid x;  d = sparse_affine p {rows p_i - p_j};  y = step_at d
//     ->   d = sparse_affine x {rows x_i - x_j};  y = step_at d
// Rounding: none.
void compare_arguments(Graph& graph);

// Integers that are compared for equality are limited one beyond the reach of what they are
// compared with, so that their sums are below 2^53. They are floor x, ceil x or round x, or floor
// of what is above 0 and ceil of what is below it, as a conversion to integers.
//   n = floor x;  d = add u, n;  y = is_zero d, u in [-1, 0]
//     ->   t = clip x {-1, 2};  n = floor t;  d = add u, n;  y = is_zero d
// Rounding: none.
void limit_equalities(Graph& graph);

// Rounding to a grid, its limits, and limits before and behind it become one function. Rounding to
// the grid that a number is on goes.
//   r = relu x;  y = quantise(0.5, -128, 127) r   ->   y = quantise(0.5, 0, 127) x
//   q = round(0.5) x;  y = clip(-128, 127) q   ->   y = quantise(0.5, -128, 127) x
//   q = quantise(0.5, -128, 127) x;  s = scale q {0.5, 0};  y = relu s
//     ->   q = quantise(0.5, 0, 127) x;  y = scale q {0.5, 0}
//   q = quantise(0.5, -128, 127) x;  s = scale q {0.5, 0};  y = quantise(0.5, -100, 100) s
//     ->   y = quantise(0.5, -100, 100) x
// Rounding: none; scales are exact, and limits are integers.
void fold_clips(Graph& graph);

// Every kQuantise may be off by one code: see Function::slack. Passes behind it must not make one
// of two such nodes, nor move such a node in front of a map that repeats elements.
void loosen_codes(Graph& graph);

// Elementwise nodes, and maxima as Max writes them, that compute one function of one tensor become
// that function, where it comes near a line or leaves the floats on each side: a function that is
// known where it is one, else a composite with a table of its own. Scales have to be the same for
// all elements. Not of functions with ReLUs alone, whose neurons can be split.
//   s = sigmoid x;  y = mul x, s   ->   y = composite((x * sigmoid(x))) x
//   t = scale x {0.1};  p, q = places of x, t;  c = add p, q;  y = group_max c, pairs
//     ->   y = leaky_relu(0.1) x
//   e = exp x;  t = scale e {1, 1};  y = log t   ->   y = softplus x
// Rounding: factors that compose, counted in the composite's numbers and in Scales around it.
void collapse_univariate(Graph& graph);

// The logarithm of a sum of powers becomes what LogSoftmax makes of an element v beside them, which
// is constant: ln sum e^x_j = v - z + ln(1 - e^z), z the logarithm of that element's softmax. So
// powers beyond the floats do no harm, and lines are those of the whole sum.
//   e = exp x;  s = sparse_affine e {e_0 + e_1};  y = log s
//     ->   b = sparse_affine x {x_0, x_1, v};  t = log_softmax b {{0, 1, 2}};  z = index_map t [2]
//          a = scale z {-1, v};  p = exp z;  q = scale p {-1, 1};  d = log q;  y = add a, d
// Rounding: none. The real function is the same.
void log_sum_exp(Graph& graph);

// Powers over the sum of their group's powers, which is Softmax written out, become the powers of a
// log-softmax. What is added alike to a group's exponents, as their maximum, changes nothing.
//   e = exp x;  s = sparse_affine e {e_0 + e_1};  r = reciprocal s;  m = index_map r [0 0]
//   y = mul e, m   ->   t = log_softmax x {{0, 1}};  p = exp t;  y = index_map p [0 1]
// Softmax of more differences of a group's elements than `most_differences` stays as it is.
// Rounding: none. The real function is the same.
void softmax_of_powers(Graph& graph,
                       std::int64_t most_differences = std::numeric_limits<std::int64_t>::max());

// Sums of products of linear functions of one tensor of few elements, as x'Mx, become sums of
// squares along the principal axes of M, where these are no more and their bounds better: products
// of which some are added and some taken away do not know of each other. Sums of squares of one
// sign stay.
//   a = affine x [3 x 2];  p = power(2) a;  y = sparse_affine p {2 p_0 - p_1 + p_2}
//     ->   z = affine x [2 x 2];  u = power(2) z;  y = sparse_affine u {d_0 u_0 + d_1 u_1, c}
// Rounding: the numbers, which are exact rationals, to double.
void quadratic_forms(Graph& graph);

// Nodes of equal operators and operands become one, so that what a network holds twice is bounded
// once. Not those with constants that are not exact, which may stand for different numbers.
//   t = relu x;  u = relu x;  y = add t, u   ->   t = relu x;  y = scale t {2, 0}
//   t = relu x;  y = relu t   ->   y = relu x          y = mul x, x   ->   y = power(2) x
// Rounding: none.
void remove_duplicates(Graph& graph);

// Several inputs become one, "inputs", of all their elements in order; Graph::input_parts says
// which.
//   input a [2];  input b [3]
//     ->   input inputs [5];  a = index_map inputs [0, 1];  b = index_map inputs [2, 3, 4]
// Rounding: none.
void join_inputs(Graph& graph);

// Adds an output behind the others, "derived", of the values that a specification derives from
// inputs and outputs: Graph::derived_output is true then. Values of one kind whose operands are
// known at the same depth become one node. Runs on imported graphs before all other passes.
//   input x [2];  output y [1];  d_0 = (x_0 - x_1) y_0;  d_1 = max(y_0, d_0)
//     ->   s = sparse_affine x {x_0 - x_1};  p = mul s, y;  t = sparse_affine y {y_0, 0};
//          u = sparse_affine p {0, p_0};  v = add t, u;  m = group_max v
//          derived = (p, m)
// Rounding: factors and constants that are no doubles, to double.
// The inputs are not one-hot.
void append_derived(Graph& graph, const std::vector<DerivedValue>& derived);

// The network's one input, as join_inputs leaves it, becomes a function of the free inputs alone,
// which other passes fold into its readers. Runs on imported graphs before the pipeline.
//   input x [3]; x_0 = 5 and x_2 = 1/10 are fixed
//     ->   input free [1];  x = sparse_affine free {rows {}, {0: 1}, {}, bias 5, 0, 1/10 +- error}
// Rounding: the fixed values, to double.
void fix_inputs(Graph& graph, const FixedInputs& fixed);

// Leaves out functions that rise or fall strictly, Softmax and LogSoftmax of all elements at the
// end of the network: its one output becomes a tensor of as many elements, which compare as its own
// do. This is another function, for properties of which compares_outputs() is true. Returns false,
// with the graph unchanged, where there is no such tensor. Runs on imported graphs before the
// pipeline.
//   t = gemm x, W, b;  y = softmax t;  output y   ->   ordered = index_map t;  output ordered
// Rounding: none.
bool order_outputs(Graph& graph);
bool has_ordered_outputs(const Graph& graph);  // whether it would succeed

// Literals that are outputs, or that no pass folded into their readers, become affine maps of the
// input that do not depend on it.
//   c = literal {1, 2};  y = log c
//     ->   c = sparse_affine inputs {no entries, bias 1, 2};  y = log c
// Rounding: none.
void expand_constants(Graph& graph);

// Elements that nobody reads are left out of the tensors between operators: rows of an Affine whose
// columns are 0 in all readers, and of convolutions what lies behind the last window that reads
// them, where windows do not fill an image. Repeated, up to 16 times, while anything is left out.
//   c = conv x [1, 8, 27, 27];  r = relu c;  y = group_max r, windows of 4 x 4 beside each other
//     ->   c = conv x [1, 8, 24, 24], its last rows and columns left out;  r, y as before
// Rounding: none.
bool drop_unread(Graph& graph);

// Each GroupMax becomes sums with ReLUs, by max(a, b) = b + relu(a - b): trees of as many levels as
// the candidates of a window's line, and then its lines, can be halved. Pairs that several groups
// have are compared once. A ReLU that alone reads a maximum goes before it.
//   m = group_max x;  y = relu m   ->   r = relu x;  y = group_max r
//   y = group_max x {{0, 1, 2}}
//     ->   d = sparse_affine x {x_0 - x_1};  r = relu d;  p = sparse_affine r {r_0, 0}
//          k = index_map x [1, 2];  m = add k, p;  and the same of m
// Rounding: none. The real function is the same; an evaluation's roundings are not.
void max_as_relu(Graph& graph);

// Each LogSoftmax becomes functions of differences, -ln s_i with s_i = sum_j e^(x_j - x_i), and its
// powers, which Softmax is, become 1 / s_i: for neurons that are split. Exponents of Softmax are
// capped, at the price of an error.
//   t = log_softmax x {{0, 1, 2}};  y = exp t
//     ->   d = sparse_affine x {x_1 - x_0, x_2 - x_0, ...};  e = capped_exp d {T}
//          s = sparse_affine e {1 + e_0 + e_1, ...};  c = clip s {1, inf};  r = reciprocal c
//          k = scale r {1, 0 +- error};  y = clip k {0, 1}
// Rounding: none but that error. Fails with BF2111 where there are more than 2^22 pairs.
void softmax_as_pairs(Graph& graph);

// The differences that softmax_as_pairs() makes of a LogSoftmax, and how many it may.
std::int64_t differences_of(const LogSoftmax& op);
inline constexpr std::int64_t kMostDifferences = std::int64_t{1} << 22;

// Functions of restricted domain get what their argument's exact values never leave
// (Function::least, most), where that lies within the domain: found by interval arithmetic from
// what values of functions never leave, rounded outward. Products that are quotients by a root of
// their own mean square, as of norms, get the largest magnitude that they can have (Binary::most).
//   s = sparse_affine p {1, 1};  y = sqrt s, where p = power(2) x   ->   y = sqrt on [0, inf] s
//   m = sparse_affine p {1/4, ...};  r = power(-0.5) m;  y = mul x, r   ->   y = mul x, r at most 2
// Rounding: none. The real function is the same.
void bound_arguments(Graph& graph);

// Drops nodes whose results nobody reads. Values stay in the table, so that ids do not change.
// Rounding: none.
void remove_dead_nodes(Graph& graph);

// The reason why lower_affine must leave this node of an imported operator; nullopt when it can
// lower it.
// `literals`: see literal_values in rewrite.h.
std::optional<Diagnostic> lowering_problem(const Graph& graph, const Node& node,
                                           const std::vector<const Constant*>& literals);

// Returns true if the node is of a kind that a normal graph has, Literal aside, so that
// lower_affine leaves it as it is.
bool is_lowered(const Graph& graph, const Node& node);

// Throws CompileError, with a diagnostic for each offence, unless the graph is normal: one input;
// nodes that is_lowered() accepts, no Literal.
void check_supported(const Graph& graph);

}  // namespace bf_aot
