#include "frontend/passes/lower_products.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

// One product with a constant factor, or none.
class ProductLowering {
 public:
  ProductLowering(const Operands& in, const ProductLayout& layout, ProductTerms terms,
                  Replacement& out)
      : in_(in), layout_(layout), terms_(std::move(terms)), out_(out) {}

  ValueId run() {
    terms_.bias.shape = {static_cast<std::int64_t>(terms_.bias.data.size())};
    if (in_.literal(0) == nullptr && in_.literal(1) == nullptr) return two_computed();
    const ValueId x = in_.node.inputs[computed()];
    if (is_worth_dense(rows(), columns(), rows() * layout_.k)) return add(dense_product(), {x});
    if (std::optional<ConvGeometry> geometry = shared_factor()) return convolution(x, *geometry);
    return add(sparse_product(), {x});
  }

 private:
  bool a_is_computed() const { return in_.literal(0) == nullptr; }
  std::size_t computed() const { return a_is_computed() ? 0 : 1; }
  std::int64_t rows() const { return element_count(in_.output_shape()); }
  std::int64_t columns() const { return element_count(in_.shape(computed())); }

  ValueId add(Op op, std::vector<ValueId> inputs) {
    return out_.add(std::move(op), std::move(inputs), "_product", in_.output_shape());
  }

  // visit(row, a, b): elements of both factors, by rows and in the order of the sum.
  template <class Visit>
  void for_each_pair(const Visit& visit) const {
    std::int64_t row = 0;
    for (std::int64_t batch = 0; batch < layout_.batch(); ++batch)
      for (std::int64_t i = 0; i < layout_.m; ++i)
        for (std::int64_t j = 0; j < layout_.n; ++j, ++row)
          for (std::int64_t l = 0; l < layout_.k; ++l)
            visit(row, layout_.a(batch, i, l), layout_.b(batch, l, j));
  }

  // alpha times element i of the constant factor.
  Bounded factor(std::int64_t i) const {
    const Bounded x = bounded_at(*in_.literal(1 - computed()), static_cast<std::size_t>(i));
    return terms_.alpha == 1 ? x : multiply({terms_.alpha, 0}, x);
  }

  // Returns true if the constant factor is the matrix already, as for Gemm with transB = 1.
  bool is_in_order() const {
    return a_is_computed() && terms_.alpha == 1 && layout_.batch() == 1 && layout_.m == 1 &&
           layout_.n == rows() && layout_.k == columns() && layout_.a_offset[0] == 0 &&
           layout_.a_column == 1 && layout_.b_offset[0] == 0 && layout_.b_row == 1 &&
           layout_.b_column == layout_.k;
  }

  Affine dense_product() {
    if (Constant* const spare = in_.spare[1 - computed()]; spare != nullptr && is_in_order()) {
      Constant weight = std::move(*spare);
      weight.shape = {rows(), columns()};
      return {std::move(weight), std::move(terms_.bias)};
    }
    ConstantBuilder weight({rows(), columns()});
    const bool first = a_is_computed();
    for_each_pair([&](std::int64_t row, std::int64_t a, std::int64_t b) {
      weight.set(static_cast<std::size_t>(row * columns() + (first ? a : b)),
                 factor(first ? b : a));
    });
    return {std::move(weight).finish(in_.node.origin), std::move(terms_.bias)};
  }

  SparseAffine sparse_product() {
    SparseAffine sparse;
    ConstantBuilder value({rows() * layout_.k});
    const bool first = a_is_computed();
    for_each_pair([&](std::int64_t, std::int64_t a, std::int64_t b) {
      value.set(sparse.column.size(), factor(first ? b : a));
      sparse.column.push_back(first ? a : b);
    });
    sparse.row_start = even_rows(rows(), layout_.k);
    sparse.value = std::move(value).finish(in_.node.origin);
    sparse.bias = std::move(terms_.bias);
    return sparse;
  }

  // The distance between the batch entries of the computed factor, when it is one number and
  // together they are that whole factor, and the constant factor is the same for all.
  std::optional<std::int64_t> batch_step() const {
    const std::vector<std::int64_t>& moving = a_is_computed() ? layout_.a_offset : layout_.b_offset;
    const std::vector<std::int64_t>& fixed = a_is_computed() ? layout_.b_offset : layout_.a_offset;
    const std::int64_t step = layout_.k * (a_is_computed() ? layout_.m : layout_.n);
    for (std::size_t i = 0; i < moving.size(); ++i)
      if (fixed[i] != 0 || moving[i] != static_cast<std::int64_t>(i) * step) return std::nullopt;
    return step;
  }

  // y[b, i, j] = sum_l A[b, i, l] B[l, j] has the channels l and j at positions (b, i);
  // y[b, i, j] = sum_l A[i, l] B[b, l, j] has the channels l and i at positions (b, j).
  std::optional<ConvGeometry> shared_factor() const {
    const std::optional<std::int64_t> step = batch_step();
    if (!step) return std::nullopt;
    const bool first = a_is_computed();
    ConvGeometry g;
    g.in_channels = layout_.k;
    g.out_channels = first ? layout_.n : layout_.m;
    g.in_size = g.out_size = {1, layout_.batch(), first ? layout_.m : layout_.n};
    g.in.channel = first ? layout_.a_column : layout_.b_row;
    g.in.spatial = {0, *step, first ? layout_.a_row : layout_.b_column};
    g.out.channel = first ? 1 : layout_.n;
    g.out.spatial = {0, layout_.m * layout_.n, first ? layout_.n : 1};
    return g;
  }

  ValueId convolution(ValueId x, const ConvGeometry& g) {
    ConstantBuilder weight({g.out_channels, g.in_channels, 1});
    for (std::int64_t o = 0; o < g.out_channels; ++o)
      for (std::int64_t l = 0; l < g.in_channels; ++l)
        weight.set(static_cast<std::size_t>(o * g.in_channels + l),
                   factor(a_is_computed() ? layout_.b(0, l, o) : layout_.a(0, o, l)));
    Conv conv{g, std::move(weight).finish(in_.node.origin), filled({g.out_channels}, 0)};
    if (std::optional<Constant> bias = per_channel(terms_.bias, g, true)) {
      conv.bias = std::move(*bias);
      return add(std::move(conv), {x});
    }
    const ValueId product = add(std::move(conv), {x});
    return out_.add(Scale{filled({rows()}, 1), std::move(terms_.bias)}, {product}, "_biased",
                    in_.output_shape());
  }

  ValueId contraction() {
    Contraction op{layout_.batch(), layout_.m, layout_.n, layout_.k, {}, {}};
    for (std::int64_t batch = 0; batch < op.batch; ++batch) {
      for (std::int64_t i = 0; i < op.rows; ++i)
        for (std::int64_t l = 0; l < op.sums; ++l) op.left.push_back(layout_.a(batch, i, l));
      for (std::int64_t j = 0; j < op.columns; ++j)
        for (std::int64_t l = 0; l < op.sums; ++l) op.right.push_back(layout_.b(batch, l, j));
    }
    const ValueId sums = add(std::move(op), {in_.node.inputs[0], in_.node.inputs[1]});
    if (terms_.alpha == 1 && is_zero(terms_.bias)) return sums;
    return out_.add(Scale{filled({rows()}, terms_.alpha), std::move(terms_.bias)}, {sums},
                    "_scaled", in_.output_shape());
  }

  ValueId two_computed() {
    const bool square = in_.node.inputs[0] == in_.node.inputs[1];
    if (in_.contract && layout_.k > 1 && !square) return contraction();
    const std::int64_t products = rows() * layout_.k;
    IndexMap a, b;
    for_each_pair([&](std::int64_t, std::int64_t from_a, std::int64_t from_b) {
      a.source.push_back(from_a);
      b.source.push_back(from_b);
    });
    const ValueId left = gathered(std::move(a), 0, "_left");
    const ValueId right = gathered(std::move(b), 1, "_right");
    const bool is_sum = layout_.k > 1 || terms_.alpha != 1 || !is_zero(terms_.bias);
    if (!is_sum && left != right) return add(Binary{Binary::Kind::kMul}, {left, right});
    const ValueId all =
        left == right
            ? out_.function(left, {FunctionKind::kPower, 2, 0}, "_products")
            : out_.add(Binary{Binary::Kind::kMul}, {left, right}, "_products", {products});
    SparseAffine sum;
    sum.row_start = even_rows(rows(), layout_.k);
    for (std::int64_t i = 0; i < products; ++i) sum.column.push_back(i);
    sum.value = filled({products}, terms_.alpha);
    sum.bias = std::move(terms_.bias);
    return add(std::move(sum), {all});
  }

  ValueId gathered(IndexMap map, std::size_t operand, std::string_view suffix) {
    const ValueId x = in_.node.inputs[operand];
    if (is_identity(map.source, element_count(in_.shape(operand)))) return x;
    const auto count = static_cast<std::int64_t>(map.source.size());
    return out_.add(std::move(map), {x}, suffix, {count});
  }

  const Operands& in_;
  const ProductLayout& layout_;
  ProductTerms terms_;
  Replacement& out_;
};

}  // namespace

ValueId Replacement::add(Op op, std::vector<ValueId> inputs, std::string_view suffix, Shape shape) {
  const std::string name = graph_.value(node_.output).name;
  const ValueId id = graph_.add_value(name + std::string(suffix), std::move(shape));
  nodes_.push_back({std::move(op), std::move(inputs), id, node_.origin});
  return id;
}

ValueId Replacement::broadcast(ValueId x) {
  const Shape to = graph_.value(node_.output).shape;
  const Shape from = graph_.value(x).shape;
  if (element_count(from) == element_count(to)) return x;
  const ValueId id = graph_.add_value(graph_.value(x).name + "_broadcast", to);
  nodes_.push_back({IndexMap{broadcast_map(from, to)}, {x}, id, node_.origin});
  return id;
}

ValueId Replacement::scaled(ValueId x, double factor) {
  const Shape shape = graph_.value(x).shape;
  return add(Scale{filled(shape, factor), filled(shape, 0)}, {x}, "_scaled", shape);
}

ValueId Replacement::function(ValueId x, const Function& function, std::string_view suffix) {
  return add(Unary{function}, {x}, suffix, graph_.value(x).shape);
}

void Replacement::finish(Op op, std::vector<ValueId> inputs) {
  nodes_.push_back({std::move(op), std::move(inputs), node_.output, node_.origin});
}

void Replacement::finish_as(ValueId last) {
  BF_CHECK(!nodes_.empty() && nodes_.back().output == last);
  nodes_.back().output = node_.output;
}

ValueId lower_product(const Operands& in, const ProductLayout& layout, ProductTerms terms,
                      Replacement& out) {
  return ProductLowering(in, layout, std::move(terms), out).run();
}

}  // namespace bf_aot
