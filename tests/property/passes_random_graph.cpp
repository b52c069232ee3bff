#include "tests/property/passes_random_graph.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>

#include "frontend/graph/shapes.h"

namespace bf_aot::testing {
namespace {

constexpr std::int64_t kLargest = 24;  // elements of one tensor

class GraphMaker {
 public:
  GraphMaker(Random& random, Numbers numbers) : random_(random), numbers_(numbers) {}

  Graph make(int size, bool chain) {
    graph_.name = "random";
    for (int inputs = pick(random_, 0, 3) == 0 ? 2 : 1; inputs > 0; --inputs) {
      graph_.inputs.push_back(graph_.add_value("x", random_shape()));
      computed_.push_back(graph_.inputs.back());
    }
    for (int i = 0; i < size; ++i) {
      const bool last = chain || pick(random_, 0, 3) > 0;
      const int index = last ? count() - 1 : pick(random_, 0, count() - 1);
      add_random_node(computed_[static_cast<std::size_t>(index)]);
    }
    graph_.outputs = {computed_.back()};
    for (int extra = chain ? 0 : std::max(0, pick(random_, -2, 3)); extra > 0; --extra)
      graph_.outputs.push_back(computed_[static_cast<std::size_t>(pick(random_, 0, count() - 1))]);
    return std::move(graph_);
  }

 private:
  int count() const { return static_cast<int>(computed_.size()); }

  Shape random_shape() {
    Shape shape;
    for (int rank = pick(random_, 1, 3); rank > 0; --rank) shape.push_back(pick(random_, 1, 3));
    return shape;
  }

  const Shape& shape(ValueId id) const { return graph_.value(id).shape; }

  ValueId add(Op op, std::vector<ValueId> inputs, Shape shape) {
    const std::string number = std::to_string(graph_.nodes.size());
    const ValueId output = graph_.add_value("v" + number, std::move(shape));
    graph_.nodes.push_back({std::move(op), std::move(inputs), output, "Node '" + number + "'"});
    return output;
  }

  ValueId add_inferred(Op op, std::vector<ValueId> inputs) {
    std::vector<Shape> shapes;
    for (ValueId id : inputs) shapes.push_back(shape(id));
    Shape result = infer_shape(op, shapes);
    return add(std::move(op), std::move(inputs), std::move(result));
  }

  Constant constant(Shape shape) {
    const std::int64_t count = element_count(shape);
    return {std::move(shape), random_numbers(random_, numbers_, count), {}};
  }

  // Sometimes computed from two constants.
  ValueId literal(Shape of) {
    Constant value = constant(std::move(of));
    const Shape result = value.shape;
    const ValueId id = add(Literal{std::move(value)}, {}, result);
    if (pick(random_, 0, 4) != 0) return id;
    const ValueId other = add(Literal{constant(result)}, {}, result);
    const Binary::Kind kinds[] = {Binary::Kind::kAdd, Binary::Kind::kSub, Binary::Kind::kMul};
    return add(Binary{kinds[pick(random_, 0, 2)]}, {id, other}, result);
  }

  void add_random_node(ValueId x) {
    switch (pick(random_, 0, 14)) {
      case 0:
      case 1:
        return keep(add(Relu{}, {x}, shape(x)));
      case 9:
        return keep(add(Unary{function()}, {x}, shape(x)));
      case 10:
      case 11:
        return keep(add_conv(x));
      case 12:
        return keep(add_sparse(x));
      case 13:
        return keep(add_max(x));
      case 14:
        return keep(add_residual(x));
      case 2:
        return keep(add_movement(x));
      case 3:
      case 4:
        return keep(add_binary(x));
      case 5:
        return keep(add_matmul(x));
      case 6:
        return keep(add_gemm(x));
      case 7:
        return keep(add(Scale{constant(shape(x)), constant(shape(x))}, {x}, shape(x)));
      case 8: {
        const std::int64_t out = pick(random_, 1, 5);
        Affine affine{constant({out, element_count(shape(x))}), constant({out})};
        return keep(add(std::move(affine), {x}, {1, out}));
      }
    }
  }

  void keep(ValueId id) {
    if (element_count(shape(id)) <= kLargest) computed_.push_back(id);
  }

  ValueId add_movement(ValueId x) {
    const std::int64_t elements = element_count(shape(x));
    std::vector<std::int64_t> source(static_cast<std::size_t>(elements));
    std::iota(source.begin(), source.end(), 0);
    switch (pick(random_, 0, 3)) {
      case 0:
        return add(IndexMap{source}, {x}, {1, elements});
      case 1:
        return add(IndexMap{source}, {x}, {elements, 1, 1});
      case 2:
        std::shuffle(source.begin(), source.end(), random_);
        return add(IndexMap{source}, {x}, shape(x));
      default:
        source.resize(static_cast<std::size_t>(pick(random_, 1, 8)));
        for (std::int64_t& i : source) i = pick(random_, 0, static_cast<int>(elements) - 1);
        return add(IndexMap{source}, {x}, {static_cast<std::int64_t>(source.size())});
    }
  }

  // A shape that broadcasts with x's, in either direction.
  Shape operand_shape(ValueId x) {
    Shape result = shape(x);
    for (std::int64_t& dim : result) {
      if (pick(random_, 0, 3) == 0) dim = dim == 1 ? pick(random_, 1, 3) : 1;
    }
    switch (pick(random_, 0, 7)) {
      case 0:
        if (!result.empty()) result.erase(result.begin());
        break;
      case 1:
        result.insert(result.begin(), 2);
        break;
    }
    return result;
  }

  Function function() {
    const Function exact[] = {{FunctionKind::kAbs, 0, 0},
                              {FunctionKind::kClip, -1, 2},
                              {FunctionKind::kLeakyRelu, 0.5, 0},
                              {FunctionKind::kPower, 2, 0}};
    const Function smooth[] = {{FunctionKind::kSigmoid, 0, 0}, {FunctionKind::kTanh, 0, 0}};
    if (numbers_ == Numbers::kFloats && pick(random_, 0, 1) == 0)
      return smooth[pick(random_, 0, 1)];
    return exact[pick(random_, 0, pick(random_, 0, 3) == 0 ? 3 : 2)];
  }

  // The image's dimensions in any order of the flat tensor.
  ImageLayout layout(std::int64_t channels, const Extent& size) {
    ImageLayout result;
    std::int64_t* strides[] = {&result.batch, &result.channel, &result.spatial[0],
                               &result.spatial[1], &result.spatial[2]};
    const std::int64_t sizes[] = {1, channels, size[0], size[1], size[2]};
    std::vector<std::size_t> order = {0, 1, 2, 3, 4};
    if (pick(random_, 0, 1) == 0) std::shuffle(order.begin(), order.end(), random_);
    std::int64_t stride = 1;
    for (std::size_t i = order.size(); i-- > 0; stride *= sizes[order[i]])
      *strides[order[i]] = stride;
    return result;
  }

  std::int64_t divisor(std::int64_t of) {
    std::int64_t result = pick(random_, 1, static_cast<int>(of));
    while (of % result != 0) --result;
    return result;
  }

  ValueId add_conv(ValueId x) {
    ConvGeometry g;
    const std::int64_t count = element_count(shape(x));
    g.in_channels = divisor(count);
    g.in_size = {1, divisor(count / g.in_channels), 1};
    g.in_size[2] = count / g.in_channels / g.in_size[1];
    g.groups = divisor(g.in_channels);
    g.out_channels = g.groups * pick(random_, 1, 2);
    for (std::size_t d = 1; d < 3; ++d) {
      g.kernel[d] = pick(random_, 1, 3);
      g.out_size[d] = pick(random_, 1, 3);
      g.stride[d] = pick(random_, 1, 2);
      g.dilation[d] = pick(random_, 1, 2);
      g.pad[d] = pick(random_, 0, 1);
    }
    g.transposed = pick(random_, 0, 2) == 0;
    g.in = layout(g.in_channels, g.in_size);
    g.out = layout(g.out_channels, g.out_size);
    const Shape result = {1, g.out_channels, g.out_size[1], g.out_size[2]};
    return add(
        Conv{g, constant({g.out_channels, g.in_group(), g.taps()}), constant({g.out_channels})},
        {x}, result);
  }

  ValueId add_sparse(ValueId x) {
    SparseAffine sparse;
    sparse.row_start = {0};
    const std::int64_t rows = pick(random_, 1, 6);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < element_count(shape(x)); ++column)
        if (pick(random_, 0, 3) == 0) sparse.column.push_back(column);
      sparse.row_start.push_back(static_cast<std::int64_t>(sparse.column.size()));
    }
    sparse.value = constant({static_cast<std::int64_t>(sparse.column.size())});
    sparse.bias = constant({rows});
    return add(std::move(sparse), {x}, {rows, 1});
  }

  ValueId add_max(ValueId x) {
    GroupMax max;
    max.row_start = {0};
    const std::int64_t rows = pick(random_, 1, 6);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (int entries = pick(random_, 1, 3); entries > 0; --entries)
        max.source.push_back(pick(random_, 0, static_cast<int>(element_count(shape(x))) - 1));
      max.row_start.push_back(static_cast<std::int64_t>(max.source.size()));
    }
    return add(std::move(max), {x}, {1, rows});
  }

  // Any computed tensor, brought to the shape by an index map that may repeat or leave out
  // elements.
  ValueId computed(Shape of) {
    const ValueId x = computed_[static_cast<std::size_t>(pick(random_, 0, count() - 1))];
    if (shape(x) == of && pick(random_, 0, 1) == 0) return x;
    std::vector<std::int64_t> source = identity(x);
    std::shuffle(source.begin(), source.end(), random_);
    source.resize(static_cast<std::size_t>(element_count(of)));
    for (std::size_t i = static_cast<std::size_t>(element_count(shape(x))); i < source.size(); ++i)
      source[i] = source[i % static_cast<std::size_t>(element_count(shape(x)))];
    return add(IndexMap{std::move(source)}, {x}, std::move(of));
  }

  // Two computed operands. Quotients alone have no exact value after they are lowered.
  ValueId add_residual(ValueId x) {
    const Binary::Kind kinds[] = {Binary::Kind::kAdd, Binary::Kind::kAdd, Binary::Kind::kSub,
                                  Binary::Kind::kMul, Binary::Kind::kDiv};
    const int kind = pick(random_, 0, numbers_ == Numbers::kSmallIntegers ? 3 : 4);
    const Binary op{kinds[kind]};
    ValueId y = pick(random_, 0, 8) == 0 ? x : computed(operand_shape(x));
    if (op.kind == Binary::Kind::kDiv) {
      y = add(Unary{{FunctionKind::kAbs, 0, 0}}, {y}, shape(y));
      y = add(Scale{filled_like(y, 1), filled_like(y, 1)}, {y}, shape(y));
    }
    return pick(random_, 0, 1) == 0 || op.kind == Binary::Kind::kDiv ? add_inferred(op, {x, y})
                                                                     : add_inferred(op, {y, x});
  }

  Constant filled_like(ValueId x, double number) {
    const Shape of = shape(x);
    return {of, std::vector<double>(static_cast<std::size_t>(element_count(of)), number), {}};
  }

  // Mostly constant.
  ValueId factor(Shape of) {
    return pick(random_, 0, 3) == 0 ? computed(std::move(of)) : literal(std::move(of));
  }

  ValueId add_binary(ValueId x) {
    const Binary::Kind kinds[] = {Binary::Kind::kAdd, Binary::Kind::kSub, Binary::Kind::kMul,
                                  Binary::Kind::kDiv};
    const Binary op{kinds[pick(random_, 0, 3)]};
    if (op.kind == Binary::Kind::kDiv) {
      Constant divisor = constant(operand_shape(x));
      for (double& d : divisor.data)
        if (d == 0 || numbers_ == Numbers::kSmallIntegers) d = pick(random_, 0, 1) == 0 ? -2 : 4;
      const Shape divisor_shape = divisor.shape;
      return add_inferred(op, {x, add(Literal{std::move(divisor)}, {}, divisor_shape)});
    }
    const ValueId c = literal(operand_shape(x));
    return pick(random_, 0, 1) == 0 ? add_inferred(op, {x, c}) : add_inferred(op, {c, x});
  }

  ValueId add_matmul(ValueId x) {
    if (shape(x).empty()) return add(Relu{}, {x}, {});
    const Shape& of_x = shape(x);
    const bool right = pick(random_, 0, 1) == 0;
    Shape w = right ? Shape{of_x.back(), pick(random_, 1, 4)}
                    : Shape{pick(random_, 1, 4), of_x[of_x.size() >= 2 ? of_x.size() - 2 : 0]};
    if (pick(random_, 0, 4) == 0) w.erase(right ? w.begin() + 1 : w.begin());  // a vector
    if (w.size() == 2 && pick(random_, 0, 4) == 0)                             // a batch
      w.insert(w.begin(), of_x.size() >= 3 ? of_x[of_x.size() - 3] : 2);
    const ValueId c = factor(w);
    return right ? add_inferred(MatMul{}, {x, c}) : add_inferred(MatMul{}, {c, x});
  }

  ValueId add_gemm(ValueId x) {
    if (shape(x).size() != 2) x = add(IndexMap{identity(x)}, {x}, {1, element_count(shape(x))});
    Gemm op;
    op.trans_a = pick(random_, 0, 2) == 0;
    op.trans_b = pick(random_, 0, 1) == 0;
    if (pick(random_, 0, 2) == 0) op.alpha = random_number(random_, numbers_);
    if (pick(random_, 0, 2) == 0) op.beta = random_number(random_, numbers_);
    const bool left = pick(random_, 0, 3) == 0;  // the constant
    const Shape& of_x = shape(x);
    // The inner dimension: op(x)'s columns when x is A, its rows when x is B.
    const std::int64_t k =
        left ? (op.trans_b ? of_x[1] : of_x[0]) : (op.trans_a ? of_x[0] : of_x[1]);
    const std::int64_t other = pick(random_, 1, 4);
    const bool transposed_c = left ? op.trans_a : op.trans_b;
    const Shape normal = left ? Shape{other, k} : Shape{k, other};
    const ValueId w = factor(transposed_c ? Shape{normal[1], normal[0]} : normal);
    std::vector<ValueId> inputs = left ? std::vector{w, x} : std::vector{x, w};
    if (pick(random_, 0, 3) > 0) {
      const Shape y = infer_shape(op, {shape(inputs[0]), shape(inputs[1])});
      const Shape choices[] = {{}, {y[1]}, {1, y[1]}, {y[0], 1}, y};
      inputs.push_back(factor(choices[pick(random_, 0, 4)]));
    }
    return add_inferred(op, std::move(inputs));
  }

  std::vector<std::int64_t> identity(ValueId x) {
    std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(shape(x))));
    std::iota(source.begin(), source.end(), 0);
    return source;
  }

  Random& random_;
  Numbers numbers_;
  Graph graph_;
  std::vector<ValueId> computed_;
};

}  // namespace

int pick(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

double random_number(Random& random, Numbers numbers) {
  switch (numbers) {
    case Numbers::kSmallIntegers:
      return pick(random, -2, 2);
    case Numbers::kFloats:
      return static_cast<float>(std::normal_distribution<double>()(random));
    case Numbers::kWild: {
      if (pick(random, 0, 5) == 0) return pick(random, -1, 1);
      const double mantissa = std::uniform_real_distribution<double>(-1, 1)(random);
      return std::ldexp(mantissa, pick(random, -60, 60));
    }
  }
  return 0;
}

std::vector<double> random_numbers(Random& random, Numbers numbers, std::int64_t count) {
  std::vector<double> result(static_cast<std::size_t>(count));
  for (double& x : result) x = random_number(random, numbers);
  return result;
}

Graph random_graph(Random& random, Numbers numbers, int size) {
  return GraphMaker(random, numbers).make(size, false);
}

Graph random_chain(Random& random, Numbers numbers, int size) {
  return GraphMaker(random, numbers).make(size, true);
}

std::vector<std::vector<double>> random_point(Random& random, Numbers numbers, const Graph& graph) {
  std::vector<std::vector<double>> point;
  for (ValueId id : graph.inputs)
    point.push_back(random_numbers(random, numbers, element_count(graph.value(id).shape)));
  return point;
}

}  // namespace bf_aot::testing
