#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/convolution.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/window.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

Constant read_bias(NodeImport& node, std::int64_t channels) {
  if (!node.has_input(2)) return filled({channels}, 0);
  Constant bias = node.constant(2, "bias");
  if (bias.shape != Shape{channels})
    fail("BF1014", "",
         fmt::format("the bias has shape {}, but there are {} output channels",
                     to_string(bias.shape), channels));
  return bias;
}

// [in][out / groups][taps] as [out][in / groups][taps].
Constant swap_channels(const Constant& weight, const ConvGeometry& g) {
  ConstantBuilder result({g.out_channels, g.in_group(), g.taps()});
  std::size_t to = 0;
  for (std::int64_t o = 0; o < g.out_channels; ++o)
    for (std::int64_t i = 0; i < g.in_group(); ++i) {
      const std::int64_t in = o / g.out_group() * g.in_group() + i;
      const std::int64_t from = (in * g.out_group() + o % g.out_group()) * g.taps();
      for (std::int64_t t = 0; t < g.taps(); ++t, ++to)
        result.set(to, bounded_at(weight, static_cast<std::size_t>(from + t)));
    }
  return std::move(result).finish("");
}

// Inputs 0 to 2: image, weights, bias.
ValueId add_conv(NodeImport& node) {
  node.check_same_types(3);
  Constant weight = node.constant(1, "weights");
  ConvShape shape = read_convolution(node, node.input_shape(0), weight.shape);
  const ConvGeometry& g = shape.geometry;
  weight.shape = {g.out_channels, g.in_group(), g.taps()};
  Constant bias = read_bias(node, g.out_channels);
  node.reader().charge(weight.shape, "");
  return node.add(Conv{g, std::move(weight), std::move(bias)}, {node.input(0)}, shape.output);
}

void import_conv(NodeImport& node) {
  node.emit(add_conv(node));
}

// The activation of a convolution plus input 3, where that is given.
void import_fused_conv(NodeImport& node) {
  ValueId y = add_conv(node);
  if (node.has_input(3)) {
    const Shape shape = node.shape_of(y);
    if (node.input_shape(3) != shape)
      fail("BF1014", "",
           fmt::format("input 3 has shape {}, but is added to {}", to_string(node.input_shape(3)),
                       to_string(shape)));
    y = add_binary(node, Binary::Kind::kAdd, y, node.input(3));
  }
  node.emit(add_activation(node, y));
}

void import_conv_transpose(NodeImport& node) {
  node.check_same_types(3);
  const Shape input = node.input_shape(0);
  const Constant& weight = node.constant(1, "weights");
  const Shape& w = weight.shape;
  const std::int64_t groups = node.int_attribute("group", 1);
  if (w.size() != input.size() || input.size() < 3 || groups < 1 || w[0] != input[1] ||
      w[0] % groups != 0 || w[1] < 1 || w[1] > (std::int64_t{1} << 31) / groups)
    fail("BF1014", "",
         fmt::format("{} groups, weights of shape {} and an input of shape {} do not fit", groups,
                     to_string(w), to_string(input)),
         "the input is [batch, channels, spatial...]; 1 to 3 spatial dimensions are supported");
  const Window window = read_transposed_window(node, input, Shape(w.begin() + 2, w.end()));
  ConvGeometry g = conv_geometry(window, input[0], groups, input[1], w[1] * groups);
  g.transposed = true;
  const Shape output = output_shape(window, input[0], g.out_channels);
  node.check_size(output);
  node.reader().charge(w, "");
  Constant swapped = swap_channels(weight, g);
  Constant bias = read_bias(node, g.out_channels);
  node.emit(Conv{g, std::move(swapped), std::move(bias)}, {node.input(0)}, output);
}

}  // namespace

ConvShape read_convolution(const NodeImport& node, const Shape& input, const Shape& weight) {
  if (weight.size() != input.size() || input.size() < 3)
    fail("BF1014", "",
         fmt::format("weights of shape {} do not convolve an input of shape {}", to_string(weight),
                     to_string(input)),
         "the input is [batch, channels, spatial...]; 1 to 3 spatial dimensions are supported");
  const Shape kernel(weight.begin() + 2, weight.end());
  const std::int64_t groups = node.int_attribute("group", 1);
  if (groups < 1 || weight[0] < 1 || weight[1] < 1 || weight[0] % groups != 0 ||
      input[1] != weight[1] * groups)
    fail("BF1014", "",
         fmt::format("{} groups, weights of shape {} and an input of shape {} do not fit", groups,
                     to_string(weight), to_string(input)));
  ConvShape result;
  const Window window = read_window(node, input, &kernel);
  result.geometry = conv_geometry(window, input[0], groups, input[1], weight[0]);
  result.output = output_shape(window, input[0], weight[0]);
  node.check_size(result.output);
  return result;
}

ValueId add_channels_first(NodeImport& node, ValueId x) {
  const Shape shape = node.shape_of(x);
  if (shape.size() < 2)
    fail("BF1014", "", fmt::format("an image has shape {}, without channels", to_string(shape)));
  std::vector<std::int64_t> perm(shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return add_transposed(node, x, perm);
}

ValueId add_channels_last(NodeImport& node, ValueId x) {
  std::vector<std::int64_t> perm(node.shape_of(x).size());
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return add_transposed(node, x, perm);
}

OperatorRows conv_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Conv",
       import_conv,
       2,
       3,
       1,
       {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}},
      {"ConvTranspose",
       import_conv_transpose,
       2,
       3,
       1,
       {"auto_pad", "dilations", "group", "kernel_shape", "output_padding", "output_shape", "pads",
        "strides"}},
      {"FusedConv",
       import_fused_conv,
       2,
       4,
       1,
       {"activation", "activation_params", "auto_pad", "dilations", "group", "kernel_shape", "pads",
        "strides"},
       kMicrosoft},
  };
  return kRows;
}

}  // namespace bf_aot
