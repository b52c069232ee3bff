#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/function_facts.h"
#include "frontend/functions/function_float32.h"
#include "frontend/graph/index_maps.h"
#include "frontend/passes/float32/float32_facts.h"
#include "frontend/passes/float32/float32_operators.h"
#include "frontend/passes/float32/float32_softmax.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

// Adds what float32 evaluation may do to each node, as bounds of its constants. The proofs are in
// docs/proofs/float32.md.

namespace bf_aot {
namespace {

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
constexpr std::int64_t kMostProducts = std::int64_t{1} << 24;
// Roundings more of x and of the mean, where (x - mean) s + b is made as x s + (b - mean s).
constexpr std::int64_t kOfShifted = 4;

// >= n u / (1 - n u).
double gamma(std::int64_t n) {
  const double x = static_cast<double>(n) * kRoundingUnit;  // exact
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
        facts_(graph),
        constant_(graph.values.size()),
        terms_(graph.values.size()),
        normed_(graph.values.size()) {}

  void run() {
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      index_ = i;
      node_ = graph_.nodes[i];
      made_.clear();
      constant_[index_of(node_.output)] =
          std::ranges::all_of(node_.inputs, [&](ValueId id) { return is_constant(id); });
      std::visit([&](auto& op) { round(op); }, node_.op);
      replacements[i] = std::move(made_);
    }
    replace_nodes(graph_, std::move(replacements));
    if (flush() > 0) flush_outputs();
  }

 private:
  // The value of exact logarithms, and the elements of their largest group.
  struct Logarithms {
    ValueId exact;
    std::int64_t members;
  };

  // A softmax without its error, and that.
  struct Softmax {
    ValueId exact;
    ResultError error;
  };

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

  std::string name(std::string_view suffix) const {
    return graph_.value(node_.output).name + std::string(suffix);
  }

  // A node before this one, of the same origin.
  ValueId add(Op op, std::vector<ValueId> inputs, const Shape& of, std::string name) {
    const ValueId id = graph_.add_value(std::move(name), of);
    constant_.push_back(
        std::ranges::all_of(inputs, [&](ValueId input) { return is_constant(input); }));
    terms_.push_back(0);
    normed_.push_back(false);
    made_.push_back({std::move(op), std::move(inputs), id, node_.origin});
    return id;
  }

  // (1 +- relative) x +- absolute. Of several readers each may see another number.
  ValueId rounded(ValueId x, double relative, double absolute) {
    const std::int64_t terms = terms_[index_of(x)];
    const ValueId id = add(scale(shape(x), relative, absolute), {x}, Shape(shape(x)),
                           graph_.value(x).name + "_float32");
    terms_[index_of(id)] = terms;
    return id;
  }
  static Scale scale(const Shape& shape, double relative, double absolute) {
    return {uncertain(shape, 1, relative), uncertain(shape, 0, absolute)};
  }

  // The node makes sums of two floats, whose sign alone counts: that of the exact sum.
  void keep_sign() {
    if (flush() > 0) return keep_rounded(0, flush());
    keep();
  }

  // The node, whose result is uncertain.
  void keep_rounded(double relative, double absolute) {
    const ValueId result = node_.output;
    const Shape of = shape(result);
    const ValueId before = add(std::move(node_.op), node_.inputs, of, name("_exact"));
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
      enlarge(op.value, term(pays::kConstant, kRoundingUnit), least());
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

  void round(IndexMap& op) {
    set_terms(terms(node_.inputs[0]));
    if (const auto found = softmax_.find(index_of(node_.inputs[0])); found != softmax_.end()) {
      const Softmax of = found->second;
      const ValueId exact =
          add(IndexMap(op), {of.exact}, Shape(shape(node_.output)), name("_exact"));
      softmax_[index_of(node_.output)] = {exact, of.error};
    }
    normed_[index_of(node_.output)] = normed_[index_of(node_.inputs[0])];
    keep();
  }

  // Exact.
  void round(Relu&) { keep(); }
  void round(GroupMax&) { keep(); }
  void round(Contraction&) { BF_CHECK(!"round_float32() comes before lower_affine()"); }

  // Powers read the exact logarithms, since the error of a softmax is counted as a whole.
  void round(LogSoftmax& op) {
    const std::int64_t n = most_in_row(op);
    check_members(n);
    const ResultError error = log_softmax_in_float32(n, semantics_.libm_ulps);
    const ValueId result = node_.output;
    keep_rounded(term(pays::kFunction, error.relative), term(pays::kFunction, error.absolute));
    logarithms_[index_of(result)] = {made_.front().output, n};
  }

  void round(Binary& op) {
    const bool sum = op.kind == Binary::Kind::kAdd || op.kind == Binary::Kind::kSub;
    const double relative = is_constant(node_.output)
                                ? term(pays::kConstant, kConstantUnits * kRoundingUnit)
                                : term(pays::kResult, kRoundingUnit);
    const std::array<ValueId, 2> in = {node_.inputs[0], node_.inputs[1]};
    const bool by_constant = is_constant(in[0]) || is_constant(in[1]);
    const auto is_normed = [&](std::size_t i) { return bool{normed_[index_of(in[i])]}; };
    if (op.kind == Binary::Kind::kDiv) keep_from_zero(1);
    if (sum && terms(in[0]) == 0 && terms(in[1]) == 0 && facts_.is_compared(index_))
      return keep_sign();
    if (sum) {
      if (facts_.joins_copies(index_)) {
        set_terms(std::max(terms(in[0]), terms(in[1])));
        return keep();
      }
      add_in_any_order();
      // A bias or another tensor that is added to a sum of products may be the sum's first summand.
      for (std::size_t i = 0; i < 2; ++i)
        if (terms(in[1 - i]) > 0)
          enlarge_input(i, gamma(roundings(terms(in[1 - i]))));
        else if (is_normed(1 - i))
          enlarge_input(i, gamma(kOfShifted));
      if (facts_.is_centred(index_)) center_apart();
      set_terms(terms(in[0]) + terms(in[1]));
    } else if (!by_constant || (op.kind == Binary::Kind::kDiv && !is_constant(in[1]))) {
      for (std::size_t i = 0; i < 2; ++i) flush_input(i);
    } else if (by_constant && (op.kind == Binary::Kind::kMul || is_constant(in[1]))) {
      set_terms(std::max(terms(in[0]), terms(in[1])));
    }
    if (!sum) normed_[index_of(node_.output)] = is_normed(0) || is_normed(1);
    keep_rounded(relative, sum ? flush() : least());
  }

  // Operators as Sum have several operands: each passes through as many additions as there are
  // others, in some order.
  void add_in_any_order() {
    const std::int64_t operands = facts_.operands(index_);
    if (operands <= 2) return;
    for (std::size_t i = 0; i < 2; ++i)
      if (facts_.is_operand(index_, i)) enlarge_input(i, gamma(operands - 1));
  }
  void enlarge_input(std::size_t i, double relative) {
    node_.inputs[i] = rounded(node_.inputs[i], term(pays::kBias, relative), least());
  }

  // The differences x - mean, where each of both is multiplied by itself before.
  void center_apart() {
    for (std::size_t i = 0; i < 2; ++i) enlarge_input(i, gamma(kOfShifted));
    normed_[index_of(node_.output)] = true;
  }

  // Lets input i of a function or a quotient that has a pole at 0 be off by as much as makes bounds
  // infinite where it is nearer to 0 than kLeastDivisor.
  void keep_from_zero(std::size_t i) {
    const ValueId x = node_.inputs[i];
    if (is_constant(x) || facts_.least(x) >= kLeastDivisor) return;
    node_.inputs[i] = rounded(x, 0, kLeastDivisor);
  }

  // Sums of what is not negative are not negative, though a bound of their error may be.
  void keep_in_domain(const Function& f) {
    const FunctionDomain domain = facts_of(f.kind).domain(f);
    const ValueId x = node_.inputs[0];
    const double least_x = facts_.least(x);
    if (is_constant(x)) return;
    const bool is_root = f.kind == FunctionKind::kSqrt || f.kind == FunctionKind::kPower;
    if (is_root && domain.low == 0 && least_x >= 0 && least_x < kLeastDivisor)
      node_.inputs[0] = add(Relu{}, {node_.inputs[0]}, shape(x), name("_domain"));
    if (!domain.zero || (f.kind == FunctionKind::kPower && f.a < 0)) {
      if (!(least_x >= kLeastDivisor)) node_.inputs[0] = rounded(node_.inputs[0], 0, kLeastDivisor);
    }
  }

  void round(Scale& op) {
    if (is_identity(op)) return keep();
    if (terms(node_.inputs[0]) == 0 && all_signs(op.factor)) return add_constant(op);
    enlarge(op.factor, term(pays::kResult, gamma(2)), 0);
    enlarge(op.offset, term(pays::kBias, gamma(roundings(terms(node_.inputs[0])) + 1)), least());
    set_terms(terms(node_.inputs[0]));
    keep();
  }

  static bool all_signs(const Constant& factor) {
    return factor.is_exact() &&
           std::ranges::all_of(factor.data, [](double x) { return std::abs(x) == 1; });
  }

  // One addition, which is exact where the offset is 0.
  void add_constant(Scale& op) {
    const bool exact = op.offset.is_exact();
    if (exact && std::ranges::all_of(op.offset.data, [](double x) { return x == 0; }))
      return keep();
    const bool given = exact && std::ranges::all_of(op.offset.data, is_float32);
    if (given && facts_.is_compared(index_)) return keep_sign();
    if (!given) enlarge(op.offset, term(pays::kConstant, kRoundingUnit), least());
    keep_rounded(term(pays::kResult, kRoundingUnit), flush());
  }

  void round(Unary& op) {
    if (op.function.kind == FunctionKind::kExp)
      if (const auto found = logarithms_.find(index_of(node_.inputs[0]));
          found != logarithms_.end())
        return round_softmax(found->second);
    const auto made = evaluated_in_float32(op.function, semantics_.libm_ulps);
    if (!made)
      fail("BF2110", node_.origin,
           fmt::format("float32 semantics does not cover the function {}",
                       name_of(op.function.kind)),
           "use --semantics real: bounds hold for the network in exact arithmetic then");
    check_parameters(op.function);
    const std::int64_t powers = facts_.powers_inside(index_);
    keep_in_domain(op.function);
    if (made->of_input == 0) flush_input(0);
    if (made->is_exact()) return keep();
    if (made->of_input > 0) {
      node_.inputs[0] = rounded(node_.inputs[0], term(pays::kFunction, made->of_input), least());
      return keep();
    }
    const double constant = is_constant(node_.output) ? kConstantUnits * kRoundingUnit : 0;
    const double absolute =
        powers > 0 ? log_sum_in_float32(powers, semantics_.libm_ulps) : made->absolute;
    keep_rounded(add_up(term(pays::kFunction, made->relative), term(pays::kConstant, constant)),
                 add_up(term(pays::kFunction, absolute), add_up(least(2 * semantics_.libm_ulps + 2),
                                                                flush(flushes_of(op.function)))));
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

  // The powers of exact logarithms: of one operator, or of one behind the other.
  void round_softmax(const Logarithms& of) {
    node_.inputs[0] = of.exact;
    const ResultError error = softmax_in_float32(of.members, semantics_.libm_ulps);
    const ValueId result = node_.output;
    keep_rounded(term(pays::kFunction, error.relative), term(pays::kFunction, error.absolute));
    softmax_[index_of(result)] = {made_.front().output, error};
  }
  void check_members(std::int64_t n) const {
    if (n > kMostTerms)
      fail("BF2111", node_.origin, fmt::format("a softmax of {} elements", n),
           "float32 semantics covers sums of up to 2^20 products");
  }

  // Lets the numbers of the constant factor carry the roundings of the sums that they are in, and
  // of each term `more` roundings besides.
  void round_product(const ProductLayout& layout, double alpha, double beta) {
    const std::int64_t more = (alpha != 1 ? 2 : 0) + (beta != 1 ? 2 : 0);
    const bool constant[] = {is_constant(node_.inputs[0]), is_constant(node_.inputs[1])};
    const std::size_t c = constant[1] ? 1 : 0;
    if (!constant[c]) return round_contraction(layout, alpha, beta, more);
    set_terms(constant[0] && constant[1] ? 0 : layout.k);
    const double relative = gamma(roundings(layout.k) + more);
    node_.inputs[c] = rounded(node_.inputs[c], term(pays::kSum, relative), 0);
    if (node_.inputs.size() > 2)
      node_.inputs[2] = rounded(node_.inputs[2], term(pays::kBias, relative), least());
    keep_rounded(0, least(static_cast<double>(layout.k + 2)));
  }

  // Two tensors that depend on the input: products of their elements, each once, and sums of those.
  void round_contraction(const ProductLayout& layout, double alpha, double beta,
                         std::int64_t more) {
    const std::int64_t rows = layout.batch() * layout.m * layout.n;
    if (rows > kMostProducts / layout.k)
      fail("BF2111", node_.origin, fmt::format("{} x {} products of elements", rows, layout.k),
           "float32 semantics covers up to 2^24 products of two tensors that depend on the input");
    set_terms(layout.k);
    const auto found = softmax_.find(index_of(node_.inputs[0]));
    if (found != softmax_.end() && alpha == 1 && node_.inputs.size() == 2 && flush() == 0)
      return round_mean(layout, found->second);
    for (std::size_t i = 0; i < 2; ++i) flush_input(i);
    IndexMap left, right;
    SparseAffine sum;
    sum.row_start = {0};
    for (std::int64_t batch = 0; batch < layout.batch(); ++batch)
      for (std::int64_t i = 0; i < layout.m; ++i)
        for (std::int64_t j = 0; j < layout.n; ++j) {
          for (std::int64_t l = 0; l < layout.k; ++l) {
            sum.column.push_back(static_cast<std::int64_t>(left.source.size()));
            left.source.push_back(layout.a(batch, i, l));
            right.source.push_back(layout.b(batch, l, j));
          }
          sum.row_start.push_back(static_cast<std::int64_t>(left.source.size()));
        }
    const Shape products = {rows * layout.k};
    const double relative = gamma(roundings(layout.k) + more);
    sum.value = filled(products, alpha);
    enlarge(sum.value, term(pays::kSum, relative), 0);
    sum.bias = uncertain({rows}, 0, least(static_cast<double>(layout.k + 2)));
    const bool square = node_.inputs[0] == node_.inputs[1] && left.source == right.source;
    const ValueId x = add(std::move(left), {node_.inputs[0]}, products, name("_left"));
    const ValueId all =
        square ? add(Unary{{FunctionKind::kPower, 2}}, {x}, products, name("_products"))
               : add(Binary{Binary::Kind::kMul},
                     {x, add(std::move(right), {node_.inputs[1]}, products, name("_right"))},
                     products, name("_products"));
    const bool has_c = node_.inputs.size() > 2;
    if (!has_c) {
      made_.push_back({std::move(sum), {all}, node_.output, node_.origin});
      return;
    }
    const Shape of = shape(node_.output);
    const ValueId sums = add(std::move(sum), {all}, of, name("_sums"));
    ValueId c = rounded(node_.inputs[2], term(pays::kBias, relative), least());
    if (beta != 1)
      c = add(Scale{filled(shape(c), beta), filled(shape(c), 0)}, {c}, shape(c), name("_c"));
    made_.push_back({Binary{Binary::Kind::kAdd}, {sums, c}, node_.output, node_.origin});
  }

  // Means by a softmax p keep its exact elements, which add up to 1: sum_l p_l v_l, and as an error
  // the mean of |v| by p times what p and the sum miss, relative, and |v| times the rest.
  void round_mean(const ProductLayout& layout, const Softmax& of) {
    Contraction mean{layout.batch(), layout.m, layout.n, layout.k, {}, {}};
    SparseAffine rest;
    rest.row_start = {0};
    for (std::int64_t batch = 0; batch < layout.batch(); ++batch) {
      for (std::int64_t i = 0; i < layout.m; ++i)
        for (std::int64_t l = 0; l < layout.k; ++l) mean.left.push_back(layout.a(batch, i, l));
      for (std::int64_t j = 0; j < layout.n; ++j)
        for (std::int64_t l = 0; l < layout.k; ++l) mean.right.push_back(layout.b(batch, l, j));
    }
    for (std::int64_t row = 0; row < layout.batch() * layout.m; ++row)
      for (std::int64_t j = 0; j < layout.n; ++j) {
        std::vector<std::int64_t> columns;
        for (std::int64_t l = 0; l < layout.k; ++l)
          columns.push_back(layout.b(row / layout.m, l, j));
        std::ranges::sort(columns);
        rest.column.insert(rest.column.end(), columns.begin(), columns.end());
        rest.row_start.push_back(static_cast<std::int64_t>(rest.column.size()));
      }
    const double of_sum = term(pays::kSum, gamma(roundings(layout.k)));
    const double of_softmax = term(pays::kFunction, of.error.relative);
    const double relative = add_up(add_up(of_sum, of_softmax), mul_up(of_sum, of_softmax));
    const double absolute = mul_up(term(pays::kFunction, of.error.absolute), add_up(1, of_sum));
    const Shape result = shape(node_.output);
    const auto count = static_cast<std::int64_t>(rest.column.size());
    rest.value = uncertain({count}, absolute, absolute);
    rest.bias = uncertain({rest.rows()}, 0, 0);
    SparseAffine less = rest;
    less.value = uncertain({count}, -absolute, 0);
    less.bias = uncertain({rest.rows()}, 0, least(static_cast<double>(layout.k + 2)));
    const ValueId v = node_.inputs[1];
    const auto sum = [&](ValueId a, ValueId b, std::string_view suffix) {
      return add(Binary{Binary::Kind::kAdd}, {a, b}, result, name(suffix));
    };
    const ValueId size =
        add(Unary{{FunctionKind::kAbs}}, {v}, Shape(shape(v)), name("_magnitudes"));
    const ValueId exact = add(Contraction(mean), {of.exact, v}, result, name("_mean"));
    const ValueId sizes =
        add(std::move(mean), {of.exact, size}, result, name("_mean_of_magnitudes"));
    // The errors plus what they are at most, which is not negative: a ReLU keeps these weights,
    // each of which may be 0 or twice as large, apart from those of other layers.
    const ValueId above = add(Scale{uncertain(result, relative, relative), filled(result, 0)},
                              {sizes}, result, name("_missed"));
    const ValueId shifted =
        add(Relu{}, {sum(above, add(std::move(rest), {size}, result, name("_rest")), "_errors")},
            result, name("_shifted"));
    const ValueId below =
        add(Scale{filled(result, -relative), filled(result, 0)}, {sizes}, result, name("_less"));
    const ValueId others = add(std::move(less), {size}, result, name("_less_rest"));
    made_.push_back({Binary{Binary::Kind::kAdd},
                     {sum(exact, shifted, "_above"), sum(below, others, "_below")},
                     node_.output,
                     node_.origin});
  }

  void round(MatMul& op) {
    round_product(product_layout(op, shape(node_.inputs[0]), shape(node_.inputs[1])), 1, 1);
  }
  void round(Gemm& op) {
    round_product(product_layout(op, shape(node_.inputs[0]), shape(node_.inputs[1])), op.alpha,
                  op.beta);
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
    if (copies) {
      set_terms(terms(node_.inputs[0]));
      return keep();
    }
    if (facts_.is_compared(index_)) return keep_sign();
    if (!facts_.is_centred(index_)) return round_map(op.value, op.bias, longest);
    round_map(op.value, op.bias, longest + kOfShifted);
    center(std::get<SparseAffine>(made_.back().op));
  }

  // x_i less the mean, where each of both may be multiplied before.
  void center(SparseAffine& op) {
    for (std::int64_t row = 0; row < op.rows(); ++row)
      for (std::int64_t k = op.row_start[static_cast<std::size_t>(row)];
           k < op.row_start[static_cast<std::size_t>(row) + 1]; ++k)
        if (const auto at = static_cast<std::size_t>(k); op.value.data[at] >= 0)
          op.value.error[at] = add_up(op.value.error[at], term(pays::kSum, gamma(kOfShifted)));
    normed_[index_of(node_.output)] = true;
    set_terms(0);
  }

  Graph& graph_;
  Float32Semantics semantics_;
  const EvaluationFacts facts_;
  std::vector<bool> constant_;       // by value: of constants alone
  std::vector<std::int64_t> terms_;  // by value, see set_terms()
  std::vector<bool> normed_;         // by value: differences from a mean, or products of such
  std::map<std::size_t, Logarithms> logarithms_;  // by value
  std::map<std::size_t, Softmax> softmax_;        // by value
  std::size_t index_ = 0;
  Node node_;
  std::vector<Node> made_;
};

}  // namespace

void check_float32(const ModelInfo& model) {
  constexpr char kHint[] =
      "use --semantics real: bounds hold for the network in exact arithmetic then";
  if (model.narrow) fail("BF2110", "", "a tensor of the model is float16 or bfloat16", kHint);
  std::vector<Diagnostic> found;
  for (const auto& [type, origin] : model.operators) {
    const Float32Operator* const known = find_float32_operator(type);
    BF_CHECK(known != nullptr);
    if (!known->refused.empty())
      found.push_back({"BF2110", origin,
                       fmt::format("float32 semantics does not cover the operator {}: {}", type,
                                   known->refused),
                       kHint});
  }
  if (!found.empty()) throw CompileError(std::move(found));
}

void round_float32(Graph& graph, const Float32Semantics& semantics) {
  Rounder(graph, semantics).run();
  if (!semantics.flush || std::ranges::count(semantics.dropped, pays::kFlush) > 0) return;
  fold_constants(graph);
  flush_inputs(graph);
}

}  // namespace bf_aot
