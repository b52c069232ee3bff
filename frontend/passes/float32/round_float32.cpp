#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/function_float32.h"
#include "frontend/graph/index_maps.h"
#include "frontend/passes/float32/float32_softmax.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

// Adds what float32 evaluation may do to each node, as bounds of its constants. The proofs are in
// docs/proofs/float32.md.

namespace bf_aot {
namespace {

constexpr double kUnit = 0x1p-24;
// >= what a product, quotient or function loses where it is subnormal. Sums lose nothing there.
constexpr double kLeast = 0x1p-148;
// >= kLeastNormalFloat for a product or quotient, for what is added to it, and for inputs of sums,
// times 1 + gamma.
constexpr double kFlushed = 0x1p-124;
// Roundings of a term of a sum of n products with a bias, in any order: the product's, and as many
// additions as there are other terms.
constexpr std::int64_t roundings(std::int64_t n) {
  return n + 1;
}
// Units of error for each operation on constants alone. They may be computed in another form: those
// of a normalisation by the inverse deviation, or around the mean.
constexpr double kConstantUnits = 4;
constexpr std::int64_t kMostTerms = std::int64_t{1} << 20;

// >= n u / (1 - n u).
double gamma(std::int64_t n) {
  const double x = static_cast<double>(n) * kUnit;  // exact
  return next_up(next_up(x / (1 - x)));
}

Constant uncertain(const Shape& shape, double value, double error) {
  Constant made = filled(shape, value);
  if (error > 0) made.error.assign(made.data.size(), error);
  return made;
}

// Enlarges the errors of a constant by `relative` of its numbers, and `absolute`.
void enlarge(Constant& constant, double relative, double absolute) {
  if (constant.error.empty()) constant.error.assign(constant.data.size(), 0);
  for (std::size_t i = 0; i < constant.data.size(); ++i) {
    const double size = add_up(std::abs(constant.data[i]), constant.error[i]);
    constant.error[i] = add_up(constant.error[i], add_up(mul_up(relative, size), absolute));
  }
}

bool is_float32(double x) {
  return static_cast<double>(static_cast<float>(x)) == x;
}

// Operators whose evaluation in float32 is what the core nodes of their import say, each rounded
// once (round_float32()), or exact.
constexpr std::string_view kCovered[] = {
    // Exact.
    "Abs", "Cast", "CastLike", "Ceil", "Clip", "Compress", "Concat", "Constant", "ConstantOfShape",
    "DepthToSpace", "Dropout", "Equal", "Expand", "EyeLike", "Flatten", "Floor", "Gather",
    "GatherElements", "GatherND", "GlobalMaxPool", "Greater", "GreaterOrEqual", "Identity", "Less",
    "LessOrEqual", "Max", "MaxPool", "Min", "Neg", "Not", "And", "Or", "Xor", "Pad", "Range",
    "ReduceMax", "ReduceMin", "Relu", "Reshape", "ReverseSequence", "Shape", "Sign", "Size",
    "Slice", "SpaceToDepth", "Split", "Squeeze", "ThresholdedRelu", "Tile", "Transpose", "Trilu",
    "Unsqueeze", "Where",
    // Rounded.
    "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "AveragePool", "BatchNormalization",
    "Celu", "Conv", "ConvTranspose", "Cos", "Cosh", "DequantizeLinear", "Div", "Elu", "Erf", "Exp",
    "Gelu", "Gemm", "GlobalAveragePool", "HardSigmoid", "HardSwish", "LayerNormalization",
    "LeakyRelu", "Log", "MatMul", "Mish", "Mul", "PRelu", "Pow", "QuantizeLinear", "Reciprocal",
    "ReduceMean", "ReduceSum", "Round", "Selu", "Shrink", "Sigmoid", "Sin", "Sinh", "Softmax",
    "Softplus", "Softsign", "Sqrt", "Sub", "Tan", "Tanh"};

// Names of the error terms, as Float32Semantics::dropped has them, and what each pays for.
namespace pays {
constexpr std::string_view kSum = "sum";              // products of sums, and their additions
constexpr std::string_view kBias = "bias";            // of sums
constexpr std::string_view kResult = "result";        // elementwise arithmetic
constexpr std::string_view kFunction = "function";    // of the library
constexpr std::string_view kUnderflow = "underflow";  // of products, quotients and functions
constexpr std::string_view kFlush = "flush";          // of subnormal numbers to zero
constexpr std::string_view kConstant = "constant";    // what depends on constants alone
}  // namespace pays

class Rounder {
 public:
  Rounder(Graph& graph, const Float32Semantics& semantics)
      : graph_(graph),
        semantics_(semantics),
        constant_(graph.values.size()),
        terms_(graph.values.size()) {}

  void run() {
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    const Softmaxes softmaxes = find_softmaxes(graph_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      node_ = graph_.nodes[i];
      made_.clear();
      constant_[index_of(node_.output)] =
          std::ranges::all_of(node_.inputs, [&](ValueId id) { return is_constant(id); });
      if (softmaxes.inside[i])
        keep();
      else if (softmaxes.terms[i] > 0)
        round_softmax(softmaxes.terms[i]);
      else
        std::visit([&](auto& op) { round(op); }, node_.op);
      replacements[i] = std::move(made_);
    }
    replace_nodes(graph_, std::move(replacements));
    if (flush() > 0) flush_outputs();
  }

 private:
  double term(std::string_view which, double value) const {
    return std::ranges::count(semantics_.dropped, which) > 0 ? 0 : value;
  }
  double least(double count = 1) const {
    return std::max(term(pays::kUnderflow, count * kLeast), flush(count));
  }
  double flush(double count = 1) const {
    return semantics_.flush ? term(pays::kFlush, count * kFlushed) : 0;
  }

  // Counts that this node may take a subnormal input i for zero; other readers need not do so.
  void flush_input(std::size_t i) {
    if (flush() == 0 || is_constant(node_.inputs[i])) return;
    node_.inputs[i] = rounded(node_.inputs[i], 0, kLeastNormalFloat);
  }

  // Counts that the operator that makes an output of the network may give zero for a subnormal one.
  void flush_outputs() {
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node made = graph_.nodes[i];
      const ValueId output = made.output;
      if (std::ranges::count(graph_.outputs, output) == 0) continue;
      made.output = graph_.add_value(graph_.value(output).name + "_kept", shape(output));
      Node flushed{scale(shape(output), 0, kLeastNormalFloat), {made.output}, output, made.origin};
      replacements[i] = {std::move(made), std::move(flushed)};
    }
    replace_nodes(graph_, std::move(replacements));
  }

  bool is_constant(ValueId id) const { return constant_[index_of(id)]; }
  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }

  // The node as it is.
  void keep() { made_.push_back(node_); }

  // (1 +- relative) x +- absolute. Of several readers each may see another number.
  ValueId rounded(ValueId x, double relative, double absolute) {
    const ValueId id = graph_.add_value(graph_.value(x).name + "_float32", shape(x));
    made_.push_back({scale(shape(x), relative, absolute), {x}, id, node_.origin});
    constant_.push_back(is_constant(x));
    terms_.push_back(terms_[index_of(x)]);
    return id;
  }
  static Scale scale(const Shape& shape, double relative, double absolute) {
    return {uncertain(shape, 1, relative), uncertain(shape, 0, absolute)};
  }

  // The node, whose result is uncertain.
  void keep_rounded(double relative, double absolute) {
    const ValueId result = node_.output;
    const Shape of = shape(result);
    const ValueId before = graph_.add_value(graph_.value(result).name + "_exact", of);
    constant_.push_back(is_constant(result));
    terms_.push_back(0);
    node_.output = before;
    made_.push_back(node_);
    made_.push_back({scale(of, relative, absolute), {before}, result, node_.origin});
  }

  // The value is a sum of so many products, or was one before it was moved, scaled by constants and
  // added to others.
  void set_terms(std::int64_t terms) {
    if (terms > kMostTerms)
      fail("BF2111", node_.origin, fmt::format("a sum of {} products", terms),
           "float32 semantics covers sums of up to 2^20 products");
    terms_[index_of(node_.output)] = terms;
  }
  std::int64_t terms(ValueId id) const { return terms_[index_of(id)]; }

  void round(Literal& op) {
    for (std::size_t i = 0; i < op.value.data.size(); ++i) {
      if (is_float32(op.value.data[i]) && op.value.error_at(i) == 0) continue;
      enlarge(op.value, term(pays::kConstant, kUnit), least());
      break;
    }
    if (flush() > 0) flush_literal(op.value);
    keep();
  }

  // Subnormal numbers are themselves, or zero.
  static void flush_literal(Constant& value) {
    for (std::size_t i = 0; i < value.data.size(); ++i) {
      const double size = std::abs(value.data[i]);
      if (size == 0 || size >= kLeastNormalFloat) continue;
      if (value.error.empty()) value.error.assign(value.data.size(), 0);
      value.error[i] = add_up(value.error[i], size);
    }
  }

  void round(IndexMap&) {
    set_terms(terms(node_.inputs[0]));
    keep();
  }

  // Exact.
  void round(Relu&) { keep(); }
  void round(GroupMax&) { keep(); }
  void round(Contraction&) { BF_CHECK(!"lower_affine() makes it, later"); }
  void round(LogSoftmax&) { BF_CHECK(!"softmax_as_pairs() has written it out"); }

  void round(Binary& op) {
    const bool sum = op.kind == Binary::Kind::kAdd || op.kind == Binary::Kind::kSub;
    const double relative = is_constant(node_.output)
                                ? term(pays::kConstant, kConstantUnits * kUnit)
                                : term(pays::kResult, kUnit);
    const std::array<ValueId, 2> in = {node_.inputs[0], node_.inputs[1]};
    const bool by_constant = is_constant(in[0]) || is_constant(in[1]);
    if (sum) {
      // A bias or another tensor that is added to a sum of products may be the sum's first summand.
      for (std::size_t i = 0; i < 2; ++i)
        if (terms(in[1 - i]) > 0)
          node_.inputs[i] =
              rounded(in[i], term(pays::kBias, gamma(roundings(terms(in[1 - i])))), least());
      set_terms(terms(in[0]) + terms(in[1]));
    } else if (!by_constant || (op.kind == Binary::Kind::kDiv && !is_constant(in[1]))) {
      for (std::size_t i = 0; i < 2; ++i) flush_input(i);
    } else if (by_constant && (op.kind == Binary::Kind::kMul || is_constant(in[1]))) {
      set_terms(std::max(terms(in[0]), terms(in[1])));
    }
    keep_rounded(relative, sum ? flush() : least());
  }

  void round(Scale& op) {
    if (is_identity(op)) return keep();
    enlarge(op.factor, term(pays::kResult, gamma(2)), 0);
    enlarge(op.offset, term(pays::kBias, gamma(roundings(terms(node_.inputs[0])) + 1)), least());
    set_terms(terms(node_.inputs[0]));
    keep();
  }

  void round(Unary& op) {
    const auto made = evaluated_in_float32(op.function, semantics_.libm_ulps);
    if (!made)
      fail("BF2110", node_.origin,
           fmt::format("float32 semantics does not cover the function {}",
                       name_of(op.function.kind)),
           "leave --semantics out: bounds hold for the network in real arithmetic then");
    check_parameters(op.function);
    if (made->of_input == 0) flush_input(0);
    if (made->is_exact()) return keep();
    if (made->of_input > 0) {
      node_.inputs[0] = rounded(node_.inputs[0], term(pays::kFunction, made->of_input), least());
      return keep();
    }
    const double constant = is_constant(node_.output) ? kConstantUnits * kUnit : 0;
    keep_rounded(
        add_up(term(pays::kFunction, made->relative), term(pays::kConstant, constant)),
        add_up(term(pays::kFunction, made->absolute),
               add_up(least(2 * semantics_.libm_ulps + 2), flush(flushes_of(op.function)))));
  }

  // Zeros in the middle of a function's usual forms, in units of its result: what is subtracted
  // from, or added to, is multiplied by |a| and |b| at most, or by 2^7 where e^-x is subnormal.
  static double flushes_of(const Function& f) {
    return 128 * (1 + std::abs(f.a)) * (1 + std::abs(f.b));
  }
  void check_parameters(const Function& f) const {
    for (const double parameter : {f.a, f.b})
      if (flush() > 0 && parameter != 0 && std::abs(parameter) < kLeastNormalFloat)
        fail("BF2110", node_.origin, fmt::format("a parameter of {} is subnormal", to_string(f)),
             "leave --flush-to-zero out where the machine keeps subnormal numbers");
  }

  void round_softmax(std::int64_t elements) {
    if (elements > kMostTerms)
      fail("BF2111", node_.origin, fmt::format("a softmax of {} elements", elements),
           "float32 semantics covers sums of up to 2^20 products");
    const SoftmaxError error = softmax_in_float32(elements, semantics_.libm_ulps);
    keep_rounded(term(pays::kFunction, error.relative), term(pays::kFunction, error.absolute));
  }

  // Lets the numbers of the constant factor carry the roundings of the sums that they are in, and
  // of each term `more` roundings besides.
  void round_product(const ProductLayout& layout, std::int64_t more) {
    const bool constant[] = {is_constant(node_.inputs[0]), is_constant(node_.inputs[1])};
    const std::size_t c = constant[1] ? 1 : 0;
    if (!constant[c])
      fail("BF2110", node_.origin,
           "float32 semantics does not cover a matrix product of two tensors that depend on the "
           "input",
           "leave --semantics out: bounds hold for the network in real arithmetic then");
    set_terms(constant[0] && constant[1] ? 0 : layout.k);
    const double relative = gamma(roundings(layout.k) + more);
    node_.inputs[c] = rounded(node_.inputs[c], term(pays::kSum, relative), 0);
    if (node_.inputs.size() > 2)
      node_.inputs[2] = rounded(node_.inputs[2], term(pays::kBias, relative), least());
    keep_rounded(0, least(static_cast<double>(layout.k + 2)));
  }

  void round(MatMul& op) {
    round_product(product_layout(op, shape(node_.inputs[0]), shape(node_.inputs[1])), 0);
  }
  void round(Gemm& op) {
    round_product(product_layout(op, shape(node_.inputs[0]), shape(node_.inputs[1])),
                  (op.alpha != 1 ? 2 : 0) + (op.beta != 1 ? 2 : 0));
  }

  void round_map(Constant& weight, Constant& bias, std::int64_t n) {
    set_terms(n);
    const bool given =
        std::ranges::all_of(weight.data, is_float32) && std::ranges::all_of(bias.data, is_float32);
    const double relative = gamma(roundings(n) + (given ? 0 : 1));
    enlarge(weight, term(pays::kSum, relative), 0);
    enlarge(bias, term(pays::kBias, relative), least(static_cast<double>(n + 2)));
    keep();
  }
  void round(Affine& op) { round_map(op.weight, op.bias, op.weight.shape.back()); }
  void round(Conv& op) {
    round_map(op.weight, op.bias, op.geometry.in_group() * op.geometry.taps());
  }
  void round(SparseAffine& op) {
    std::int64_t longest = 0;
    bool copies = op.value.is_exact() && op.bias.is_exact();
    for (std::size_t i = 0; i + 1 < op.row_start.size(); ++i) {
      const std::int64_t length = op.row_start[i + 1] - op.row_start[i];
      longest = std::max(longest, length);
      copies = copies && (length == 0 || op.bias.data[i] == 0);
    }
    copies = copies && longest <= 1 && std::ranges::all_of(op.bias.data, is_float32) &&
             std::ranges::all_of(op.value.data, [](double x) { return std::abs(x) == 1; });
    if (!copies) return round_map(op.value, op.bias, longest);
    set_terms(terms(node_.inputs[0]));
    keep();
  }

  Graph& graph_;
  Float32Semantics semantics_;
  std::vector<bool> constant_;       // by value: of constants alone
  std::vector<std::int64_t> terms_;  // by value, see set_terms()
  Node node_;
  std::vector<Node> made_;
};

}  // namespace

void check_float32(const ModelInfo& model) {
  constexpr char kHint[] =
      "leave --semantics out: bounds hold for the network in real arithmetic then";
  if (model.narrow) fail("BF2110", "", "a tensor of the model is float16 or bfloat16", kHint);
  std::vector<Diagnostic> found;
  for (const auto& [type, origin] : model.operators)
    if (std::ranges::find(kCovered, type) == std::end(kCovered))
      found.push_back({"BF2110", origin,
                       fmt::format("float32 semantics does not cover the operator {}", type),
                       kHint});
  if (!found.empty()) throw CompileError(std::move(found));
}

void round_float32(Graph& graph, const Float32Semantics& semantics) {
  softmax_as_pairs(graph);
  Rounder(graph, semantics).run();
  if (!semantics.flush || std::ranges::count(semantics.dropped, pays::kFlush) > 0) return;
  fold_constants(graph);
  flush_inputs(graph);
}

}  // namespace bf_aot
