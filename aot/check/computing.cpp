#include "aot/check/value.h"

// Operators that compute. Each has two ways: over constants, in rationals, and over elements, as
// rows of a new layer.

namespace bf_check {
namespace {

u64 limbs_of(const Rat& x) {
  return mpz_size(x.get_num_mpz_t()) + mpz_size(x.get_den_mpz_t());
}

// A weight, 0 where it is irrational, and what the grid has of it.
struct Weight {
  Rat exact;
  GridWeight grid;
};

// Weights: multiples of a tensor's numbers. On the grid where they are read more than once.
struct Weights {
  const Numbers& numbers;
  Rat scale;
  std::vector<GridWeight> grid;

  Rat exact(std::size_t i) const { return scale * numbers[i]; }
};

// Affine sums: numbers where nothing that they read is computed, else the rows of a new layer.
class Rows {
 public:
  Rows(Builder& builder, bool constant, i64 terms = 0) : builder_(builder), constant_(constant) {
    if (!constant) builder.begin(static_cast<u64>(terms));
  }

  Weight weight(const Rat& number) const {
    builder_.spend(kRationalSteps);
    return {number, constant_ ? GridWeight{} : builder_.on_grid(number)};
  }
  Weights weights(const Numbers& numbers, const Rat& scale, bool once) const {
    Weights all{numbers, scale, {}};
    for (std::size_t i = 0; i < numbers.size() && !constant_ && !once; ++i)
      all.grid.push_back(weight(all.exact(i)).grid);
    return all;
  }

  void add(const Value& x, std::size_t at, const Weight& by) {
    if (x.constant) {
      add(x.data[at], by.exact);
    } else if (builder_.term(x.ids[at], by.grid) && builder_.row_terms() == 1) {
      single_ = by.exact;
    }
  }
  void add(const Value& x, std::size_t at, const Weights& by, std::size_t i) {
    if (x.constant) {
      add(x.data[at], by.exact(i));
    } else if (builder_.term(x.ids[at], by.grid.empty() ? weight(by.exact(i)).grid : by.grid[i]) &&
               builder_.row_terms() == 1) {
      single_ = by.exact(i);
    }
  }

  void end(const Rat& bias) {
    bias_ += bias;
    if (constant_) {
      data_.push_back(bias_);
    } else {
      builder_.end_row(bias_, builder_.row_terms() == 1 ? single_ : Rat(0));
    }
    bias_ = 0;
  }

  Value finish(const std::vector<i64>& shape) {
    return {shape, constant_, false, data_, constant_ ? std::vector<u32>() : builder_.end()};
  }

 private:
  void add(const Rat& x, const Rat& by) {
    const u64 size = limbs_of(bias_) + limbs_of(x);
    builder_.spend(kRationalSteps + size * size);
    bias_ += x * by;
  }

  Builder& builder_;
  bool constant_;
  Rat bias_ = 0, single_ = 0;  // of the row; single_: the exact weight of its first term
  std::vector<Rat> data_;
};

// a + factor b.
Value sum(Builder& builder, const Value& a, const Value& b, int factor) {
  const std::vector<i64> shape = joined(a.shape, b.shape);
  const std::vector<std::size_t> at = spread(a.shape, shape), bt = spread(b.shape, shape);
  Rows rows(builder, a.constant && b.constant);
  const Weight one{1, builder.on_grid(1)}, other{factor, builder.on_grid(factor)};
  for (std::size_t i = 0; i < at.size(); ++i) {
    rows.add(a, at[i], one);
    rows.add(b, bt[i], other);
    rows.end(0);
  }
  return rows.finish(shape);
}

// x times a constant.
Value scaled(Builder& builder, const Value& x, const Value& factor) {
  const std::vector<i64> shape = joined(x.shape, factor.shape);
  const std::vector<std::size_t> at = spread(x.shape, shape), bt = spread(factor.shape, shape);
  Rows rows(builder, x.constant);
  for (std::size_t i = 0; i < at.size(); ++i) {
    rows.add(x, at[i], rows.weight(factor.data[bt[i]]));
    rows.end(0);
  }
  return rows.finish(shape);
}

// Elements of the values of a tensor, also of those that are numbers.
Value computed(Builder& builder, const Value& x) {
  return {x.shape, false, false, {}, builder.elements_of(x)};
}

// A function of each element. Numbers stay numbers where it is rational.
Value applied(Builder& builder, const Value& x, const Program& function) {
  if (x.constant && function.is_rational()) {
    std::vector<Rat> numbers = x.data.all();
    for (Rat& number : numbers) number = function.exact(number);
    return constant_of(x.shape, numbers);
  }
  Value result = computed(builder, x);
  result.ids = builder.functions_of(function, result.ids);
  return result;
}

// 1 / (1 + e^-x).
Value sigmoid(const Operands& o) {
  Program program;
  program.ends_with(program.add(Op::kSigmoid, 0));
  return applied(o.builder, o.in(0), program);
}

// 2 sigmoid(2 x) - 1.
Value tanh(const Operands& o) {
  Program program;
  program = program.scaled(2, 0);
  program.ends_with(program.add(Op::kSigmoid, program.result()));
  return applied(o.builder, o.in(0), program.scaled(2, -1));
}

// max(x, 0).
Value positive(Builder& builder, Value x) {
  if (!x.constant) x.ids = builder.relus_of(x.ids);
  std::vector<Rat> numbers = x.data.all();
  for (Rat& number : numbers)
    if (number < 0) number = 0;
  x.data = std::move(numbers);
  return x;
}

// The greater of each two: a + max(b - a, 0).
Value greater(Builder& builder, const Value& a, const Value& b) {
  return sum(builder, a, positive(builder, sum(builder, b, a, -1)), 1);
}

Value mul(const Operands& o) {
  return o.in(1).constant ? scaled(o.builder, o.in(0), o.in(1))
                          : scaled(o.builder, o.in(1), o.constant(0));
}

Value div(const Operands& o) {
  std::vector<Rat> inverse = o.constant(1).data.all();
  for (Rat& number : inverse) {
    if (number == 0) refuse("a division by 0");
    number = 1 / number;
  }
  return scaled(o.builder, o.in(0), constant_of(o.in(1).shape, inverse));
}

// The products of matrices a [rows, inner] and b [inner, columns], one of which is constant, plus
// bias [columns] or [rows, columns], where there is one. a and b are read through index functions.
struct Product {
  i64 rows, inner, columns;
  const Value& a;
  const Value& b;
  bool a_transposed, b_transposed;
  Rat scale;

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
    refuse("a product of two computed tensors is not in the checker's table");
  const bool a_moves = !p.a.constant || p.b.constant;
  Rows rows(builder, p.a.constant && p.b.constant, p.rows * p.columns * p.inner);
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
  if (b.shape.size() > 2 || b.shape.empty() || a.shape.empty())
    refuse("a product of several matrices is not in the checker's table");
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
  return multiplied(o.builder, {rows, inner, columns, a, b, ta, tb, o.real("alpha", 1)},
                    {rows, columns}, has_bias ? &bias : nullptr);
}

// The places of a window over images of two axes.
struct Windows {
  i64 height, width;                  // of the image
  i64 window[2], stride[2], step[2];  // step: the distance of taps (dilation)
  i64 before[2];                      // padding
  i64 rows, columns;                  // of places

  // The image's row and column of a tap; false where it lies in the padding.
  bool at(i64 row, i64 column, i64 u, i64 v, i64& y, i64& x) const {
    y = row * stride[0] - before[0] + u * step[0];
    x = column * stride[1] - before[1] + v * step[1];
    return y >= 0 && y < height && x >= 0 && x < width;
  }
};

Windows windows_of(const Operands& o, const std::vector<i64>& image, i64 height, i64 width) {
  const Attribute* const automatic = o.attribute("auto_pad", 3);
  if (automatic != nullptr && automatic->text != "NOTSET")
    refuse("auto_pad is not in the checker's table");
  if (o.number("ceil_mode", 0) != 0) refuse("ceil_mode is not in the checker's table");
  if (image.size() != 4) refuse("images of other than two axes are not in the checker's table");
  Windows w{image[2], image[3], {height, width}, {1, 1}, {1, 1}, {0, 0}, 0, 0};
  const std::vector<i64> strides = o.numbers("strides", {1, 1});
  const std::vector<i64> steps = o.numbers("dilations", {1, 1});
  const std::vector<i64> pads = o.numbers("pads", {0, 0, 0, 0});
  if (strides.size() != 2 || steps.size() != 2 || pads.size() != 4) refuse("shapes do not fit");
  i64 places[2];
  for (std::size_t i = 0; i < 2; ++i) {
    w.stride[i] = strides[i], w.step[i] = steps[i], w.before[i] = pads[i];
    for (const i64 number : {w.window[i], w.stride[i], w.step[i]})
      if (number < 1 || number > 4096) refuse("a window is not in the checker's table");
    if (pads[i] < 0 || pads[i + 2] < 0 || pads[i] > 1 << 20 || pads[i + 2] > 1 << 20)
      refuse("a padding is not in the checker's table");
    const i64 room = image[i + 2] + pads[i] + pads[i + 2] - ((w.window[i] - 1) * w.step[i] + 1);
    if (room < 0) refuse("a window is larger than its image");
    places[i] = room / w.stride[i] + 1;
  }
  w.rows = places[0], w.columns = places[1];
  return w;
}

Value conv(const Operands& o) {
  const Value &x = o.in(0), &kernel = o.constant(1);
  if (kernel.shape.size() != 4)
    refuse("images of other than two axes are not in the checker's table");
  const i64 groups = o.number("group", 1), outs = kernel.shape[0], depth = kernel.shape[1];
  const i64 height = kernel.shape[2], width = kernel.shape[3];
  const std::vector<i64> size = o.numbers("kernel_shape", {height, width});
  if (size != std::vector<i64>{height, width}) refuse("shapes do not fit");
  const Windows w = windows_of(o, x.shape, height, width);
  const i64 batch = x.shape[0], channels = x.shape[1];
  if (groups < 1 || outs % groups != 0 || size_of({depth, groups}) != channels)
    refuse("shapes do not fit");
  const Value* const bias = o.optional(2) != nullptr ? &o.constant(2) : nullptr;
  if (bias != nullptr && bias->shape != std::vector<i64>{outs}) refuse("shapes do not fit");
  const std::vector<i64> shape = {batch, outs, w.rows, w.columns};
  expect_work(shape, size_of({depth, height, width}));
  Rows rows(o.builder, x.constant, size_of(shape) * depth * height * width);
  const Weights weights = rows.weights(kernel.data, 1, false);
  for (i64 n = 0; n < batch; ++n)
    for (i64 out = 0; out < outs; ++out)
      for (i64 place = 0; place < w.rows * w.columns; ++place) {
        for (i64 c = 0; c < depth; ++c)
          for (i64 tap = 0; tap < height * width; ++tap) {
            i64 row, column;
            if (!w.at(place / w.columns, place % w.columns, tap / width, tap % width, row, column))
              continue;
            const i64 channel = out / (outs / groups) * depth + c;
            rows.add(x,
                     static_cast<std::size_t>(
                         ((n * channels + channel) * w.height + row) * w.width + column),
                     weights, static_cast<std::size_t>((out * depth + c) * height * width + tap));
          }
        rows.end(bias == nullptr ? Rat(0) : bias->data[static_cast<std::size_t>(out)]);
      }
  return rows.finish(shape);
}

// Windows of a pooling, of each image and place: the elements that they read, in the order of taps.
std::vector<std::vector<std::size_t>> pooled(const Operands& o, i64& taps,
                                             std::vector<i64>& shape) {
  const Value& x = o.in(0);
  const std::vector<i64> size = o.numbers("kernel_shape", {});
  if (size.size() != 2) refuse("images of other than two axes are not in the checker's table");
  const Windows w = windows_of(o, x.shape, size[0], size[1]);
  shape = {x.shape[0], x.shape[1], w.rows, w.columns};
  taps = size[0] * size[1];
  expect_work(shape, taps);
  std::vector<std::vector<std::size_t>> windows;
  for (i64 image = 0; image < x.shape[0] * x.shape[1]; ++image)
    for (i64 place = 0; place < w.rows * w.columns; ++place) {
      windows.emplace_back();
      for (i64 tap = 0; tap < taps; ++tap) {
        i64 row, column;
        if (w.at(place / w.columns, place % w.columns, tap / size[1], tap % size[1], row, column))
          windows.back().push_back(
              static_cast<std::size_t>((image * w.height + row) * w.width + column));
      }
      if (windows.back().empty()) refuse("a window lies in the padding alone");
    }
  return windows;
}

// The means of windows.
Value average_pool(const Operands& o) {
  i64 taps = 0;
  std::vector<i64> shape;
  const auto windows = pooled(o, taps, shape);
  Rows rows(o.builder, o.in(0).constant);
  for (const std::vector<std::size_t>& from : windows) {
    const bool all = o.number("count_include_pad", 0) != 0;
    const Weight weight = rows.weight(Rat(1, all ? static_cast<unsigned long>(taps) : from.size()));
    for (const std::size_t i : from) rows.add(o.in(0), i, weight);
    rows.end(0);
  }
  return rows.finish(shape);
}

// The maxima of windows: of neighbours in the order of taps, until one is left. A window with fewer
// taps than others repeats its first one.
Value max_pool(const Operands& o) {
  i64 taps = 0;
  std::vector<i64> shape;
  const auto windows = pooled(o, taps, shape);
  if (o.number("storage_order", 0) != 0) refuse("storage_order is not in the checker's table");
  std::vector<Value> left;
  std::size_t most = 1;
  for (std::size_t tap = 0; tap < most; ++tap) {
    std::vector<i64> source;
    for (const std::vector<std::size_t>& from : windows) {
      most = std::max(most, from.size());
      source.push_back(static_cast<i64>(from[tap < from.size() ? tap : 0]));
    }
    left.push_back(moved(o.in(0), shape, source));
  }
  while (left.size() > 1) {
    std::vector<Value> pairs;
    for (std::size_t i = 0; i + 1 < left.size(); i += 2)
      pairs.push_back(greater(o.builder, left[i], left[i + 1]));
    if (left.size() % 2 == 1) pairs.push_back(left.back());
    left = std::move(pairs);
  }
  return left[0];
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
  const Value centred = sum(o.builder, x, of_channels(3), -1);
  const std::vector<std::size_t> channel = spread(wide, x.shape);
  Rows rows(o.builder, false);
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
      {"Add", 2, " ", [](const Operands& o) { return sum(o.builder, o.in(0), o.in(1), 1); }},
      {"AveragePool", 1,
       " auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides ", average_pool},
      {"BatchNormalization", 5, " epsilon momentum training_mode ", batch_normalization},
      {"Conv", 3, " auto_pad dilations group kernel_shape pads strides ", conv},
      {"Div", 2, " ", div},
      {"Gemm", 3, " alpha beta transA transB ", gemm},
      {"MatMul", 2, " ", matmul},
      {"MaxPool", 1, " auto_pad ceil_mode dilations kernel_shape pads storage_order strides ",
       max_pool},
      {"Mul", 2, " ", mul},
      {"Relu", 1, " ", [](const Operands& o) { return positive(o.builder, o.in(0)); }},
      {"Sigmoid", 1, " ", sigmoid},
      {"Sub", 2, " ", [](const Operands& o) { return sum(o.builder, o.in(0), o.in(1), -1); }},
      {"Tanh", 1, " ", tanh},
  };
  return table;
}

}  // namespace bf_check
