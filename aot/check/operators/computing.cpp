#include "aot/check/operators/rows.h"

// Operators that compute. Each has two ways: over constants, in rationals, and over elements, as
// rows of a new layer.

namespace bf_check {
namespace {

// Roundings of a quotient made by the inverse, of both factors of a Gemm, and of the statistics of
// a normalisation in any of its forms, besides those of a sum.
constexpr u64 kOfQuotients = 4, kOfFactors = 4, kOfNormalizations = 10;

Value quotient(const Operands& o) {
  if (!o.in(1).constant) {
    Program program;
    program.ends_with(program.add(Op::kReciprocal, 0));
    return product(o.builder, o.in(0), applied(o.builder, o.in(1), program, Loss{}),
                   {Rounded::kMerged, kOfQuotients});
  }
  std::vector<Rat> inverse = o.in(1).data.all();
  for (Rat& number : inverse) {
    if (number == 0) refuse("a division by 0");
    number = 1 / number;
  }
  return product(o.builder, o.in(0), constant_of(o.in(1).shape, inverse),
                 {Rounded::kMerged, kOfQuotients});
}

// The products of matrices a [rows, inner] and b [inner, columns], one of which is constant, plus
// bias [columns] or [rows, columns], where there is one. a and b are read through index functions.
struct Product {
  i64 rows, inner, columns;
  const Value& a;
  const Value& b;
  bool a_transposed, b_transposed;
  Rat scale;
  u64 more = 0;  // roundings, as Rounding has them

  std::size_t a_at(i64 i, i64 k) const {
    return static_cast<std::size_t>(a_transposed ? k * rows + i : i * inner + k);
  }
  std::size_t b_at(i64 k, i64 j) const {
    return static_cast<std::size_t>(b_transposed ? j * inner + k : k * columns + j);
  }
};

Value multiplied(Builder& builder, const Product& p, const std::vector<i64>& shape,
                 const Value* bias) {
  const std::vector<i64> grid = {p.rows, p.columns};
  const Value none = constant_of({}, {0});
  const Value& c = bias == nullptr ? none : *bias;
  if (joined(c.shape, grid) != grid) refuse("shapes do not fit");
  const std::vector<std::size_t> bias_at = spread(c.shape, grid);
  if (size_of(grid) != size_of(shape)) refuse("shapes do not fit");
  expect_work(grid, p.inner);
  if (!p.a.constant && !p.b.constant)
    refuse("such a product of two computed tensors is not in the checker's table");
  const bool a_moves = !p.a.constant || p.b.constant;
  Rows rows(builder, p.a.constant && p.b.constant, {Rounded::kSum, p.more},
            p.rows * p.columns * p.inner);
  const Weights weights =
      rows.weights((a_moves ? p.b : p.a).data, p.scale, (a_moves ? p.rows : p.columns) == 1);
  for (i64 i = 0; i < p.rows; ++i)
    for (i64 j = 0; j < p.columns; ++j) {
      for (i64 k = 0; k < p.inner; ++k) {
        const std::size_t at = p.a_at(i, k), bt = p.b_at(k, j);
        rows.add(a_moves ? p.a : p.b, a_moves ? at : bt, weights, a_moves ? bt : at);
      }
      rows.end(c.data[bias_at[static_cast<std::size_t>(i * p.columns + j)]]);
    }
  return rows.finish(shape);
}

Value matmul(const Operands& o) {
  const Value &a = o.in(0), &b = o.in(1);
  if (b.shape.size() > 2 || (!a.constant && !b.constant))
    return matrix_product(o.builder, computed(o.builder, a), computed(o.builder, b));
  if (b.shape.empty() || a.shape.empty()) refuse("a factor is no matrix");
  const i64 inner = b.shape[0], columns = b.shape.size() == 2 ? b.shape[1] : 1;
  if (a.shape.back() != inner) refuse("shapes do not fit");
  std::vector<i64> shape(a.shape.begin(), a.shape.end() - 1);
  const i64 rows = size_of(shape);
  if (b.shape.size() == 2) shape.push_back(columns);
  return multiplied(o.builder, {rows, inner, columns, a, b, false, false, 1}, shape, nullptr);
}

Value gemm(const Operands& o) {
  const Value &a = o.in(0), &b = o.in(1);
  if (a.shape.size() != 2 || b.shape.size() != 2) refuse("a factor is no matrix");
  const bool ta = o.number("transA", 0) != 0, tb = o.number("transB", 0) != 0;
  const i64 rows = a.shape[ta ? 1 : 0], inner = a.shape[ta ? 0 : 1], columns = b.shape[tb ? 0 : 1];
  if (b.shape[tb ? 1 : 0] != inner) refuse("shapes do not fit");
  const bool has_bias = o.optional(2) != nullptr;
  std::vector<Rat> numbers;
  if (has_bias) numbers = o.constant(2).data.all();
  for (Rat& number : numbers) number *= o.real("beta", 1);
  const Value bias = constant_of(has_bias ? o.in(2).shape : std::vector<i64>(), numbers);
  const Rat alpha = o.real("alpha", 1);
  const u64 more = alpha != 1 || o.real("beta", 1) != 1 ? kOfFactors : 0;
  return multiplied(o.builder, {rows, inner, columns, a, b, ta, tb, alpha, more}, {rows, columns},
                    has_bias ? &bias : nullptr);
}

// (x - mean) scale / sqrt(variance + epsilon) + shift, per channel.
Value batch_normalization(const Operands& o) {
  const Value x = computed(o.builder, o.in(0));
  if (o.number("training_mode", 0) != 0 || o.opset < 7)
    refuse("training mode is not in the checker's table");
  const Rat epsilon = o.real("epsilon", -1);
  if (epsilon < 0) refuse("a default epsilon is not in the checker's table");
  if (x.shape.size() < 2) refuse("shapes do not fit");
  for (std::size_t i = 1; i < 5; ++i)
    if (o.constant(i).shape != std::vector<i64>{x.shape[1]}) refuse("shapes do not fit");
  std::vector<i64> wide(x.shape.size() - 1, 1);
  wide[0] = x.shape[1];
  const auto of_channels = [&](std::size_t i) { return constant_of(wide, o.in(i).data.all()); };
  const Value centred = sum(o.builder, x, of_channels(3), -1, {Rounded::kMerged});
  const std::vector<std::size_t> channel = spread(wide, x.shape);
  Rows rows(o.builder, false, {Rounded::kMerged, kOfNormalizations});
  for (std::size_t i = 0; i < channel.size(); ++i) {
    const std::size_t c = channel[i];
    const Rat square = o.in(4).data[c] + epsilon;
    if (square <= 0) refuse("a variance is not positive");
    rows.add(centred, i, {0, o.builder.on_grid(o.in(1).data[c], square)});
    rows.end(o.in(2).data[c]);
  }
  return rows.finish(x.shape);
}

}  // namespace

const std::vector<Operator>& computing_operators() {
  static const std::vector<Operator> table = {
      {"Add", 2, " ",
       [](const Operands& o) { return sum(o.builder, o.in(0), o.in(1), 1, {Rounded::kMerged}); }},
      {"BatchNormalization", 5, " epsilon momentum training_mode ", batch_normalization},
      {"Div", 2, " ", quotient},
      {"Gemm", 3, " alpha beta transA transB ", gemm},
      {"MatMul", 2, " ", matmul},
      {"Mul", 2, " ",
       [](const Operands& o) { return product(o.builder, o.in(0), o.in(1), {Rounded::kMerged}); }},
      {"Relu", 1, " ", [](const Operands& o) { return positive(o.builder, o.in(0)); }},
      {"Sub", 2, " ",
       [](const Operands& o) { return sum(o.builder, o.in(0), o.in(1), -1, {Rounded::kMerged}); }},
  };
  return table;
}

}  // namespace bf_check
