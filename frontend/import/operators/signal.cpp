#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/functions/function_bounded.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/grouping.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// Fourier transforms of fixed length, which are sums of elements with sines and cosines of rational
// parts of a turn, and the windows that signals are multiplied by.

namespace bf_aot {
namespace {

using onnx::TensorProto;

// cos(2 pi k / n), for any k and n >= 1.
Bounded cosine_of_turn(std::int64_t k, std::int64_t n) {
  // Eighths of a turn: symmetries of the circle bring the angle into the first of them.
  std::int64_t at = k % n < 0 ? k % n + n : k % n;
  at = std::min(at, n - at);         // cos(-x) = cos(x)
  const bool left = 4 * at > n;      // cos(pi - x) = -cos(x)
  const std::int64_t half = 2 * at;  // of n: the angle is pi half / n
  const std::int64_t rest = left ? n - half : half;
  if (2 * rest == n) return {0, 0};
  const bool high = 4 * rest > n;  // cos(x) = sin(pi / 2 - x)
  // The angle is pi numerator / (2 n), with three roundings.
  const std::int64_t numerator = high ? n - 2 * rest : 2 * rest;
  const double angle =
      std::numbers::pi * static_cast<double>(numerator) / (2 * static_cast<double>(n));
  const auto value = bounded_function({high ? FunctionKind::kSin : FunctionKind::kCos},
                                      {angle, numerator == 0 ? 0 : angle * 0x1p-50});
  BF_CHECK(value);
  return left ? negate(*value) : *value;
}

// sin(2 pi k / n) = cos(2 pi (k / n - 1 / 4)).
Bounded sine_of_turn(std::int64_t k, std::int64_t n) {
  return cosine_of_turn(4 * (k % n) - n, 4 * n);
}

// cos and sin of k / n turns for all k.
struct Circle {
  explicit Circle(std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) {
      cosine.push_back(cosine_of_turn(k, n));
      sine.push_back(sine_of_turn(k, n));
    }
  }
  std::vector<Bounded> cosine, sine;
};

// Real parts, and imaginary ones where there are two numbers at each place.
std::int64_t read_parts(const Shape& shape) {
  if (shape.size() < 2 || (shape.back() != 1 && shape.back() != 2))
    fail("BF1014", "",
         fmt::format("a signal of shape {}, whose last dimension is neither 1 nor 2",
                     to_string(shape)));
  return shape.back();
}

// Throws: BF1014 when the length of a transform is none; BF1026 when all sums are too many.
void check_transform(const NodeImport& node, std::int64_t length, std::int64_t sums) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (length < 1 || length > kMost)
    fail("BF1014", "", fmt::format("a transform of length {}", length));
  check_work(node, sums, length);
}

// A transform along one axis: sum_j x_j e^(sign 2 pi i j k / length), where elements behind the
// input are 0. One-sided, it has the first half of its results; a one-sided inverse reads such a
// half and has real results.
struct Transform {
  Shape input, output;
  std::size_t axis = 0;
  std::int64_t length = 0;
  bool inverse = false, half = false;
};

ValueId add_transform(NodeImport& node, ValueId x, const Transform& of) {
  const std::int64_t parts = of.input.back(), n = of.length;
  const Circle circle(n);
  const Bounded scale = of.inverse ? one_over(n) : Bounded{1, 0};
  const std::int64_t given = std::min(of.half && of.inverse ? n / 2 + 1 : n, of.input[of.axis]);
  const std::vector<std::int64_t> strides = row_major_strides(of.input);
  RowBuilder rows(node);
  for_each_index(of.output, [&](const std::vector<std::int64_t>& index, std::int64_t /*flat*/) {
    rows.begin();
    const bool imaginary = index.back() == 1;
    std::int64_t from = 0;  // the real part of the input at position j
    for (std::size_t d = 0; d + 1 < index.size(); ++d)
      if (d != of.axis) from += index[d] * strides[d];
    for (std::int64_t j = 0; j < given; ++j, from += strides[of.axis]) {
      const auto turn = static_cast<std::size_t>(j * index[of.axis] % n);
      const Bounded cosine = circle.cosine[turn];
      const Bounded sine = of.inverse ? circle.sine[turn] : negate(circle.sine[turn]);
      // Results of a half are the sums of it and of its mirror image, which is conjugate.
      const bool twice = of.half && of.inverse && j > 0 && 2 * j != n;
      const bool real_alone = of.half && of.inverse && !twice;
      const Bounded factor = twice ? multiply({2, 0}, scale) : scale;
      rows.add(from, multiply(factor, imaginary ? sine : cosine));
      if (parts == 2 && !real_alone)
        rows.add(from + 1, multiply(factor, imaginary ? cosine : negate(sine)));
    }
  });
  return std::move(rows).finish_sums(x, of.output);
}

void import_dft(NodeImport& node) {
  constexpr std::int64_t kAxisIsInput = 20;
  constexpr std::size_t kLength = 1, kAxis = 2;
  Transform of;
  of.input = node.input_shape(0);
  of.inverse = node.flag("inverse", false);
  of.half = node.flag("onesided", false);
  const std::int64_t parts = read_parts(of.input);
  if (of.half && !of.inverse && parts == 2)
    fail("BF1014", "", "a one-sided transform of complex numbers",
         "one half of it does not tell the other; leave attribute 'onesided' out");
  if (of.half && of.inverse && parts == 1)
    fail("BF1014", "", "a one-sided inverse of real numbers",
         "one half of a transform is complex; leave attribute 'onesided' out");
  const bool has_input = node.opset() >= kAxisIsInput;
  const std::int64_t given = !has_input              ? node.int_attribute("axis", 1)
                             : node.has_input(kAxis) ? node.integer(kAxis, "axis")
                                                     : -2;
  of.axis = checked_axis(given, of.input.size());
  if (of.axis + 1 == of.input.size())
    fail("BF1014", "", fmt::format("axis {} has real and imaginary parts", given));
  const std::int64_t size = of.input[of.axis];
  of.length = node.has_input(kLength) ? node.integer(kLength, "dft_length")
              : of.half && of.inverse ? 2 * (size - 1)
                                      : size;
  of.output = of.input;
  of.output.back() = of.half && of.inverse ? 1 : 2;
  of.output[of.axis] = of.half && !of.inverse ? of.length / 2 + 1 : of.length;
  check_transform(node, of.length, element_count(of.output));
  node.reader().charge(of.output, "");
  node.emit(add_transform(node, node.input(0), of));
}

// Frames of the signal, each times the window, and their transforms:
// [batch, frames, results, 2] of [batch, length, 1 or 2].
void import_stft(NodeImport& node) {
  constexpr std::size_t kStep = 1, kWindow = 2, kLength = 3;
  const Shape signal = node.input_shape(0);
  if (signal.size() != 3)
    fail("BF1014", "",
         fmt::format("a signal of shape {}, not [batch, length, 1 or 2]", to_string(signal)));
  const std::int64_t parts = read_parts(signal), step = node.integer(kStep, "frame_step");
  Constant window;
  if (node.has_input(kWindow)) window = node.constant(kWindow, "window");
  const std::int64_t length = node.has_input(kLength)   ? node.integer(kLength, "frame_length")
                              : node.has_input(kWindow) ? element_count(window.shape)
                                                        : signal[1];
  if (!node.has_input(kWindow)) window = filled({std::max<std::int64_t>(length, 1)}, 1);
  if (step < 1 || length < 1 || length > signal[1] || window.shape != Shape{length})
    fail("BF1014", "",
         fmt::format("frames of {} at steps of {} with a window of shape {} for a signal of {}",
                     length, step, to_string(window.shape), signal[1]));
  Transform of;
  of.half = node.flag("onesided", true);
  if (of.half && parts == 2)
    fail("BF1014", "", "a one-sided transform of complex numbers",
         "one half of it does not tell the other; set attribute 'onesided' to 0");
  of.axis = 2;
  of.length = length;
  of.input = {signal[0], (signal[1] - length) / step + 1, length, parts};
  of.output = {signal[0], of.input[1], of.half ? length / 2 + 1 : length, 2};
  check_transform(node, length, element_count(of.output));
  node.reader().charge(of.output, "");
  const ValueId frames = add_index_map(node, node.input(0), of.input, [&] {
    std::vector<std::int64_t> source;
    for_each_index(of.input, [&](const std::vector<std::int64_t>& i, std::int64_t /*flat*/) {
      source.push_back((i[0] * signal[1] + i[1] * step + i[2]) * parts + i[3]);
    });
    return source;
  });
  ConstantBuilder factor(of.input);
  for (std::size_t i = 0; i < factor.size(); ++i)
    factor.set(i, bounded_at(window, i / static_cast<std::size_t>(parts) %
                                         static_cast<std::size_t>(length)));
  const ValueId windowed =
      add_scale(node, frames, std::move(factor).finish(node.origin()), filled(of.input, 0));
  node.emit(add_transform(node, windowed, of));
}

// sum_j weight_j cos(2 pi i j / period) for i = 0 .. size - 1.
void emit_window(NodeImport& node, const std::vector<Bounded>& weights) {
  const std::int64_t size = node.integer(0, "size");
  const std::int64_t period = node.flag("periodic", true) ? size : size - 1;
  const ElementType type = node.type_attribute("output_datatype", TensorProto::FLOAT);
  if (size < 1 || period < 1) fail("BF1014", "", fmt::format("a window of {} elements", size));
  if (!is_real_type(type))
    fail("BF1012", "",
         fmt::format("attribute 'output_datatype' is {}, no real type", element_type_name(type)));
  const Shape shape = {size};
  node.reader().charge(shape, "");
  ConstantBuilder window(shape);
  for (std::int64_t i = 0; i < size; ++i) {
    Sum sum;
    for (std::size_t j = 0; j < weights.size(); ++j)
      sum.add_product(weights[j],
                      cosine_of_turn(i * static_cast<std::int64_t>(j) % period, period));
    window.set(static_cast<std::size_t>(i), sum.result());
  }
  node.set_output_type(type);
  node.emit(std::move(window).finish(node.origin()));
}

Bounded ratio(double a, double b) {
  return divide({a, 0}, {b, 0});
}

void import_hann_window(NodeImport& node) {
  emit_window(node, {ratio(1, 2), ratio(-1, 2)});
}

void import_hamming_window(NodeImport& node) {
  emit_window(node, {ratio(25, 46), ratio(-21, 46)});
}

void import_blackman_window(NodeImport& node) {
  emit_window(node, {ratio(42, 100), ratio(-1, 2), ratio(8, 100)});
}

}  // namespace

OperatorRows signal_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"BlackmanWindow", import_blackman_window, 1, 1, 1, {"output_datatype", "periodic"}},
      {"DFT", import_dft, 1, 3, 1, {"axis", "inverse", "onesided"}},
      {"HammingWindow", import_hamming_window, 1, 1, 1, {"output_datatype", "periodic"}},
      {"HannWindow", import_hann_window, 1, 1, 1, {"output_datatype", "periodic"}},
      {"STFT", import_stft, 2, 4, 1, {"onesided"}},
  };
  return kRows;
}

}  // namespace bf_aot
