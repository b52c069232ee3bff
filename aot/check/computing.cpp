#include "aot/check/value.h"

// Operators that compute. Each has two ways: over constants, in rationals, and over elements, as
// rows of a new layer.

namespace bf_check {
namespace {

void expect_real(const Operands& o) {
  for (const Value* value : o.inputs)
    if (value != nullptr && value->integral)
      refuse("arithmetic of integers is not in the checker's table");
}

std::vector<u32> following(u32 first, i64 count) {
  std::vector<u32> ids(static_cast<std::size_t>(count));
  for (u32& id : ids) id = first++;
  return ids;
}

Value value_of(std::vector<i64> shape, std::vector<u32> ids) {
  Value value;
  value.shape = std::move(shape);
  value.constant = false;
  value.ids = std::move(ids);
  return value;
}

Value constant_of(std::vector<i64> shape, std::vector<Rat> data) {
  Value value;
  value.shape = std::move(shape);
  value.data = std::move(data);
  return value;
}

// Numpy's broadcasting: the shape of both, and for each of its elements that of `shape`.
std::vector<i64> joined(const std::vector<i64>& a, const std::vector<i64>& b) {
  std::vector<i64> shape(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const i64 x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const i64 y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) refuse("shapes do not fit");
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  size_of(shape);
  return shape;
}

std::vector<std::size_t> spread(const std::vector<i64>& shape, const std::vector<i64>& to) {
  std::vector<std::size_t> source{0};
  std::size_t stride_at = shape.size();
  std::vector<i64> stride(to.size(), 0);
  i64 next = 1;
  for (std::size_t i = to.size(); i > 0 && stride_at > 0; --i) {
    --stride_at;
    stride[i - 1] = shape[stride_at] == 1 ? 0 : next;
    next *= shape[stride_at];
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::vector<std::size_t> wider;
    for (const std::size_t at : source)
      for (i64 k = 0; k < to[i]; ++k) wider.push_back(at + static_cast<std::size_t>(k * stride[i]));
    source = std::move(wider);
  }
  return source;
}

// a + factor b.
Value sum(Builder& builder, const Value& a, const Value& b, int factor) {
  const std::vector<i64> shape = joined(a.shape, b.shape);
  const std::vector<std::size_t> at = spread(a.shape, shape), bt = spread(b.shape, shape);
  if (a.constant && b.constant) {
    std::vector<Rat> data;
    for (std::size_t i = 0; i < at.size(); ++i)
      data.push_back(a.data[at[i]] + factor * b.data[bt[i]]);
    return constant_of(shape, data);
  }
  const GridWeight one = builder.on_grid(1), other = builder.on_grid(factor);
  builder.begin(Kind::kAffine);
  for (std::size_t i = 0; i < at.size(); ++i) {
    Rat bias = 0;
    if (a.constant) {
      bias = a.data[at[i]];
    } else {
      builder.term(a.ids[at[i]], one);
    }
    if (b.constant) {
      bias += factor * b.data[bt[i]];
    } else {
      builder.term(b.ids[bt[i]], other);
    }
    builder.end_row(bias);
  }
  return value_of(shape, following(builder.end(), size_of(shape)));
}

// x times a constant.
Value scaled(Builder& builder, const Value& x, const Value& factor) {
  const std::vector<i64> shape = joined(x.shape, factor.shape);
  const std::vector<std::size_t> at = spread(x.shape, shape), bt = spread(factor.shape, shape);
  if (x.constant) {
    std::vector<Rat> data;
    for (std::size_t i = 0; i < at.size(); ++i) data.push_back(x.data[at[i]] * factor.data[bt[i]]);
    return constant_of(shape, data);
  }
  builder.begin(Kind::kAffine);
  for (std::size_t i = 0; i < at.size(); ++i) {
    builder.term(x.ids[at[i]], builder.on_grid(factor.data[bt[i]]));
    builder.end_row(0);
  }
  return value_of(shape, following(builder.end(), size_of(shape)));
}

std::vector<Value> add(const Operands& o) {
  expect_real(o);
  return {sum(o.builder, o.in(0), o.in(1), 1)};
}

std::vector<Value> sub(const Operands& o) {
  expect_real(o);
  return {sum(o.builder, o.in(0), o.in(1), -1)};
}

std::vector<Value> mul(const Operands& o) {
  expect_real(o);
  return {o.in(1).constant ? scaled(o.builder, o.in(0), o.in(1))
                           : scaled(o.builder, o.in(1), o.constant(0))};
}

std::vector<Value> div(const Operands& o) {
  expect_real(o);
  Value inverse = o.constant(1);
  for (Rat& number : inverse.data) {
    if (number == 0) refuse("a division by 0");
    number = 1 / number;
  }
  return {scaled(o.builder, o.in(0), inverse)};
}

std::vector<Value> relu(const Operands& o) {
  expect_real(o);
  Value result = o.in(0);
  if (!result.constant) return {value_of(result.shape, o.builder.relu_of(result.ids))};
  for (Rat& number : result.data)
    if (number < 0) number = 0;
  return {result};
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
  std::vector<std::size_t> bias_at;
  if (bias != nullptr) {
    if (joined(bias->shape, {p.rows, p.columns}) != std::vector<i64>{p.rows, p.columns})
      refuse("shapes do not fit");
    bias_at = spread(bias->shape, {p.rows, p.columns});
  }
  const auto bias_of = [&](i64 i, i64 j) {
    return bias == nullptr ? Rat(0)
                           : bias->data[bias_at[static_cast<std::size_t>(i * p.columns + j)]];
  };
  if (size_of({p.rows, p.columns}) != size_of(shape)) refuse("shapes do not fit");
  if (p.a.constant && p.b.constant) {
    std::vector<Rat> data;
    for (i64 i = 0; i < p.rows; ++i)
      for (i64 j = 0; j < p.columns; ++j) {
        Rat value = 0;
        for (i64 k = 0; k < p.inner; ++k) value += p.a.data[p.a_at(i, k)] * p.b.data[p.b_at(k, j)];
        data.push_back(p.scale * value + bias_of(i, j));
      }
    return constant_of(shape, data);
  }
  std::vector<GridWeight> weights;
  for (const Rat& number : (p.a.constant ? p.a : p.b).data)
    weights.push_back(builder.on_grid(p.scale * number));
  builder.begin(Kind::kAffine);
  for (i64 i = 0; i < p.rows; ++i)
    for (i64 j = 0; j < p.columns; ++j) {
      for (i64 k = 0; k < p.inner; ++k) {
        const std::size_t at = p.a_at(i, k), bt = p.b_at(k, j);
        builder.term(p.a.constant ? p.b.ids[bt] : p.a.ids[at], weights[p.a.constant ? at : bt]);
      }
      builder.end_row(bias_of(i, j));
    }
  return value_of(shape, following(builder.end(), size_of(shape)));
}

void expect_a_constant(const Value& a, const Value& b) {
  if (!a.constant && !b.constant)
    refuse("a product of two computed tensors is not in the checker's table");
}

std::vector<Value> matmul(const Operands& o) {
  expect_real(o);
  const Value &a = o.in(0), &b = o.in(1);
  expect_a_constant(a, b);
  if (b.shape.size() > 2 || b.shape.empty() || a.shape.empty())
    refuse("a product of several matrices is not in the checker's table");
  const i64 inner = b.shape[0], columns = b.shape.size() == 2 ? b.shape[1] : 1;
  if (a.shape.back() != inner) refuse("shapes do not fit");
  std::vector<i64> shape(a.shape.begin(), a.shape.end() - 1);
  const i64 rows = size_of(shape);
  if (b.shape.size() == 2) shape.push_back(columns);
  return {multiplied(o.builder, {rows, inner, columns, a, b, false, false, 1}, shape, nullptr)};
}

std::vector<Value> gemm(const Operands& o) {
  expect_real(o);
  const Value &a = o.in(0), &b = o.in(1);
  expect_a_constant(a, b);
  if (a.shape.size() != 2 || b.shape.size() != 2) refuse("a factor is no matrix");
  const bool ta = o.number("transA", 0) != 0, tb = o.number("transB", 0) != 0;
  const i64 rows = a.shape[ta ? 1 : 0], inner = a.shape[ta ? 0 : 1], columns = b.shape[tb ? 0 : 1];
  if (b.shape[tb ? 1 : 0] != inner) refuse("shapes do not fit");
  Value bias;
  const bool has_bias = o.optional(2) != nullptr;
  if (has_bias) bias = o.constant(2);
  for (Rat& number : bias.data) number *= o.real("beta", 1);
  return {multiplied(o.builder, {rows, inner, columns, a, b, ta, tb, o.real("alpha", 1)},
                     {rows, columns}, has_bias ? &bias : nullptr)};
}

// The places of a window over images of two axes.
struct Windows {
  i64 height, width;                  // of the image
  i64 window[2], stride[2], step[2];  // step: the distance of taps (dilation)
  i64 before[2], after[2];            // padding
  i64 rows, columns;                  // of places

  // The image's row and column of a tap; false where it lies in the padding.
  bool at(i64 row, i64 column, i64 u, i64 v, i64& y, i64& x) const {
    y = row * stride[0] - before[0] + u * step[0];
    x = column * stride[1] - before[1] + v * step[1];
    return y >= 0 && y < height && x >= 0 && x < width;
  }
};

Windows windows_of(const Operands& o, const std::vector<i64>& image, i64 height, i64 width) {
  const auto found = o.node.attributes.find("auto_pad");
  if (found != o.node.attributes.end() && found->second.text != "NOTSET")
    refuse("auto_pad is not in the checker's table");
  if (o.number("ceil_mode", 0) != 0) refuse("ceil_mode is not in the checker's table");
  if (image.size() != 4) refuse("images of other than two axes are not in the checker's table");
  Windows w{image[2], image[3], {height, width}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 0, 0};
  const std::vector<i64> strides = o.numbers("strides", {1, 1});
  const std::vector<i64> steps = o.numbers("dilations", {1, 1});
  const std::vector<i64> pads = o.numbers("pads", {0, 0, 0, 0});
  if (strides.size() != 2 || steps.size() != 2 || pads.size() != 4) refuse("shapes do not fit");
  i64 places[2];
  for (std::size_t i = 0; i < 2; ++i) {
    w.stride[i] = strides[i], w.step[i] = steps[i];
    w.before[i] = pads[i], w.after[i] = pads[i + 2];
    for (const i64 number : {w.window[i], w.stride[i], w.step[i]})
      if (number < 1 || number > 1 << 20) refuse("a window is not in the checker's table");
    if (pads[i] < 0 || pads[i + 2] < 0 || pads[i] > 1 << 20 || pads[i + 2] > 1 << 20)
      refuse("a padding is not in the checker's table");
    const i64 room = image[i + 2] + pads[i] + pads[i + 2] - ((w.window[i] - 1) * w.step[i] + 1);
    if (room < 0) refuse("a window is larger than its image");
    places[i] = room / w.stride[i] + 1;
  }
  w.rows = places[0], w.columns = places[1];
  return w;
}

std::vector<Value> conv(const Operands& o) {
  expect_real(o);
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
  std::vector<GridWeight> weights;
  if (!x.constant)
    for (const Rat& number : kernel.data) weights.push_back(o.builder.on_grid(number));
  const std::vector<i64> shape = {batch, outs, w.rows, w.columns};
  size_of(shape);
  std::vector<Rat> data;
  if (!x.constant) o.builder.begin(Kind::kAffine);
  for (i64 n = 0; n < batch; ++n)
    for (i64 out = 0; out < outs; ++out)
      for (i64 place = 0; place < w.rows * w.columns; ++place) {
        Rat value = bias == nullptr ? Rat(0) : bias->data[static_cast<std::size_t>(out)];
        for (i64 c = 0; c < depth; ++c)
          for (i64 tap = 0; tap < height * width; ++tap) {
            i64 row, column;
            if (!w.at(place / w.columns, place % w.columns, tap / width, tap % width, row, column))
              continue;
            const i64 channel = out / (outs / groups) * depth + c;
            const std::size_t from = static_cast<std::size_t>(
                ((n * channels + channel) * w.height + row) * w.width + column);
            const std::size_t weight =
                static_cast<std::size_t>((out * depth + c) * height * width + tap);
            if (x.constant) {
              value += x.data[from] * kernel.data[weight];
            } else {
              o.builder.term(x.ids[from], weights[weight]);
            }
          }
        if (x.constant) {
          data.push_back(value);
        } else {
          o.builder.end_row(value);
        }
      }
  return {x.constant ? constant_of(shape, data)
                     : value_of(shape, following(o.builder.end(), size_of(shape)))};
}

// The means of windows.
std::vector<Value> average_pool(const Operands& o) {
  expect_real(o);
  const Value& x = o.in(0);
  const std::vector<i64> size = o.numbers("kernel_shape", {});
  if (size.size() != 2) refuse("images of other than two axes are not in the checker's table");
  if (size[0] > 4096 || size[1] > 4096) refuse("a window is not in the checker's table");
  const Windows w = windows_of(o, x.shape, size[0], size[1]);
  const std::vector<i64> shape = {x.shape[0], x.shape[1], w.rows, w.columns};
  size_of(shape);
  std::vector<Rat> data;
  if (!x.constant) o.builder.begin(Kind::kAffine);
  for (i64 image = 0; image < x.shape[0] * x.shape[1]; ++image)
    for (i64 place = 0; place < w.rows * w.columns; ++place) {
      std::vector<std::size_t> from;
      for (i64 tap = 0; tap < size[0] * size[1]; ++tap) {
        i64 row, column;
        if (w.at(place / w.columns, place % w.columns, tap / size[1], tap % size[1], row, column))
          from.push_back(static_cast<std::size_t>((image * w.height + row) * w.width + column));
      }
      if (from.empty()) refuse("a window lies in the padding alone");
      const bool all = o.number("count_include_pad", 0) != 0;
      const i64 taps = all ? size[0] * size[1] : static_cast<i64>(from.size());
      const Rat weight(1, static_cast<unsigned long>(taps));
      Rat sum = 0;
      for (const std::size_t i : from) {
        if (x.constant) {
          sum += x.data[i] * weight;
        } else {
          o.builder.term(x.ids[i], o.builder.on_grid(weight));
        }
      }
      if (x.constant) {
        data.push_back(sum);
      } else {
        o.builder.end_row(0);
      }
    }
  return {x.constant ? constant_of(shape, data)
                     : value_of(shape, following(o.builder.end(), size_of(shape)))};
}

// (x - mean) scale / sqrt(variance + epsilon) + shift, per channel.
std::vector<Value> batch_normalization(const Operands& o) {
  expect_real(o);
  const Value& x = o.in(0);
  if (o.number("training_mode", 0) != 0) refuse("training mode is not in the checker's table");
  if (!o.has("epsilon")) refuse("a default epsilon is not in the checker's table");
  if (x.shape.size() < 2) refuse("shapes do not fit");
  for (std::size_t i = 1; i < 5; ++i)
    if (o.constant(i).shape != std::vector<i64>{x.shape[1]}) refuse("shapes do not fit");
  std::vector<i64> wide(x.shape.size() - 1, 1);
  wide[0] = x.shape[1];
  const auto of_channels = [&](std::size_t i) { return constant_of(wide, o.in(i).data); };
  const Value centred = sum(o.builder, x, of_channels(3), -1);
  const std::vector<std::size_t> channel = spread(wide, x.shape);
  Value result = centred;
  if (!x.constant) o.builder.begin(Kind::kAffine);
  for (std::size_t i = 0; i < channel.size(); ++i) {
    const std::size_t c = channel[i];
    const Rat square = o.in(4).data[c] + o.real("epsilon", 0);
    if (square <= 0) refuse("a variance is not positive");
    if (!x.constant) {
      o.builder.term(centred.ids[i], o.builder.on_grid(o.in(1).data[c], square));
      o.builder.end_row(o.in(2).data[c]);
      continue;
    }
    if (mpz_perfect_square_p(square.get_num_mpz_t()) == 0 ||
        mpz_perfect_square_p(square.get_den_mpz_t()) == 0)
      refuse("a point behind a square root that is irrational is not in the checker's table");
    const Rat root(sqrt(square.get_num()), sqrt(square.get_den()));
    result.data[i] = centred.data[i] * o.in(1).data[c] / root + o.in(2).data[c];
  }
  if (!x.constant) result.ids = following(o.builder.end(), x.size());
  return {result};
}

}  // namespace

const std::vector<Operator>& computing_operators() {
  static const std::vector<Operator> table = {
      {"Add", " ", add},
      {"AveragePool", " auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides ",
       average_pool},
      {"BatchNormalization", " epsilon momentum training_mode ", batch_normalization},
      {"Conv", " auto_pad dilations group kernel_shape pads strides ", conv},
      {"Div", " ", div},
      {"Gemm", " alpha beta transA transB ", gemm},
      {"MatMul", " ", matmul},
      {"Mul", " ", mul},
      {"Relu", " ", relu},
      {"Sub", " ", sub},
  };
  return table;
}

}  // namespace bf_check
