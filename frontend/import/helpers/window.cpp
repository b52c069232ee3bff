#include "frontend/import/helpers/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace bf_aot {
namespace {

// Larger attributes are absurd, and smaller ones keep all index arithmetic within 64 bits.
constexpr std::int64_t kMostAttribute = std::int64_t{1} << 28;

enum class AutoPad : std::uint8_t { kNone, kValid, kSameUpper, kSameLower };

AutoPad read_auto_pad(const NodeImport& node) {
  const std::string text = node.string_attribute("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::kNone;
  if (text == "VALID") return AutoPad::kValid;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  fail("BF1012", "", "attribute 'auto_pad' is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER");
}

// An attribute with one entry per spatial dimension (`repeat` times).
void read_each(const NodeImport& node, std::string_view name, std::size_t rank, std::int64_t least,
               std::size_t repeat, std::vector<std::int64_t>& values) {
  const auto given = node.ints_attribute(name);
  if (!given) return;
  if (given->size() != rank * repeat)
    fail("BF1012", "",
         fmt::format("attribute '{}' has {} entries, but {} spatial dimensions need {}", name,
                     given->size(), rank, rank * repeat));
  for (std::int64_t value : *given)
    if (value < least || value > kMostAttribute)
      fail("BF1012", "", fmt::format("attribute '{}' holds {}", name, value));
  values = *given;
}

void read_extent(const NodeImport& node, std::string_view name, Window& window, Extent& extent) {
  std::vector<std::int64_t> values(window.rank, 1);
  read_each(node, name, window.rank, 1, 1, values);
  for (std::size_t d = window.outer.size(); d < window.rank; ++d) extent[window.at(d)] = values[d];
}

// How many of the first dimensions beyond three have the kernel 1, steps of 1 and no pads. Lists of
// another length than the dimensions' number are refused where they are read.
std::size_t count_outer(const NodeImport& node, std::size_t rank) {
  const auto at = [&](std::string_view name, std::size_t i, std::int64_t otherwise) {
    const auto given = node.ints_attribute(name);
    return given && i < given->size() ? (*given)[i] : otherwise;
  };
  std::size_t count = 0;
  while (count + 3 < rank && at("kernel_shape", count, 0) == 1 && at("strides", count, 1) == 1 &&
         at("pads", count, 0) == 0 && at("pads", rank + count, 0) == 0)
    ++count;
  return count;
}

// Reads all of a window but pads and the output's size.
Window read_extents(const NodeImport& node, const Shape& input, const Shape* kernel) {
  const std::size_t rank = input.size() < 2 ? 0 : input.size() - 2;
  const std::size_t outer = kernel == nullptr ? count_outer(node, rank) : 0;
  if (rank < 1 || rank > outer + 3)
    fail("BF1014", "",
         fmt::format("the input has shape {}, but 1 to 3 spatial dimensions after batch and "
                     "channels are supported",
                     to_string(input)));
  Window window;
  window.rank = rank;
  window.outer.assign(input.begin() + 2, input.begin() + 2 + static_cast<std::ptrdiff_t>(outer));
  if (kernel != nullptr)
    for (std::size_t d = 0; d < window.rank; ++d) window.kernel[window.at(d)] = (*kernel)[d];
  else if (!node.has_attribute("kernel_shape"))
    fail("BF1012", "", "attribute 'kernel_shape' is missing");
  const Extent weights = window.kernel;
  if (node.has_attribute("kernel_shape")) read_extent(node, "kernel_shape", window, window.kernel);
  if (kernel != nullptr && window.kernel != weights)
    fail("BF1014", "", "kernel_shape is not that of the weights");
  read_extent(node, "strides", window, window.stride);
  read_extent(node, "dilations", window, window.dilation);
  for (std::size_t d = outer; d < rank; ++d) window.in_size[window.at(d)] = input[2 + d];
  for (std::size_t i = 0; i < 3; ++i)
    if (window.in_size[i] < 1 || window.kernel[i] < 1 || window.kernel[i] > kMostAttribute ||
        window.in_size[i] > kMostAttribute)
      fail("BF1014", "", "an image or a kernel without elements, or over the limits");
  return window;
}

void read_pads(const NodeImport& node, Window& window) {
  std::vector<std::int64_t> pads(2 * window.rank, 0);
  read_each(node, "pads", window.rank, -kMostAttribute, 2, pads);
  for (std::size_t d = window.outer.size(); d < window.rank; ++d) {
    window.pad_begin[window.at(d)] = pads[d];
    window.pad_end[window.at(d)] = pads[window.rank + d];
  }
}

// ONNX's shape inference refuses them, too.
void refuse_cuts(const NodeImport& node, const Window& window) {
  for (std::size_t i = 0; i < 3; ++i)
    if (window.pad_begin[i] < 0 || window.pad_end[i] < 0)
      fail("BF1026", "",
           fmt::format("{} with pads {} and {}: negative ones are not supported", node.op_type(),
                       window.pad_begin[i], window.pad_end[i]),
           "cut the image by a Slice or Pad of its own");
}

// Splits a padding that makes the output ceil(in / stride) long.
void split_padding(std::int64_t total, AutoPad mode, std::int64_t& begin, std::int64_t& end) {
  total = std::max<std::int64_t>(total, 0);
  begin = mode == AutoPad::kSameUpper ? total / 2 : total - total / 2;
  end = total - begin;
}

void check_output(const Window& window) {
  for (std::size_t i = 0; i < 3; ++i)
    if (window.out_size[i] < 1)
      fail("BF1014", "",
           fmt::format("a kernel that reaches {} does not fit into {} elements with pads {} and {}",
                       window.reach(i), window.in_size[i], window.pad_begin[i], window.pad_end[i]));
}

// A window that would begin behind the image and its first pad is left out.
std::int64_t count_windows(const Window& w, std::size_t i, bool ceil_mode) {
  const std::int64_t room = w.in_size[i] + w.pad_begin[i] + w.pad_end[i] - w.reach(i);
  if (room < 0) return 0;
  std::int64_t count = room / w.stride[i] + 1;
  if (ceil_mode && room % w.stride[i] != 0 && count * w.stride[i] < w.in_size[i] + w.pad_begin[i])
    ++count;
  return count;
}

}  // namespace

Window read_window(const NodeImport& node, const Shape& input, const Shape* kernel,
                   bool ceil_mode) {
  Window window = read_extents(node, input, kernel);
  const AutoPad mode = read_auto_pad(node);
  if (mode == AutoPad::kNone) read_pads(node, window);
  refuse_cuts(node, window);
  for (std::size_t i = 0; i < 3; ++i) {
    if (mode == AutoPad::kSameUpper || mode == AutoPad::kSameLower) {
      window.out_size[i] = (window.in_size[i] + window.stride[i] - 1) / window.stride[i];
      const std::int64_t total =
          (window.out_size[i] - 1) * window.stride[i] + window.reach(i) - window.in_size[i];
      split_padding(total, mode, window.pad_begin[i], window.pad_end[i]);
    } else {
      window.out_size[i] = count_windows(window, i, ceil_mode);
    }
  }
  check_output(window);
  return window;
}

// The extents fulfil out = stride (in - 1) + output_padding + reach - pads. If output_shape is
// given, it says the output's size and the pads follow from it; auto_pad means the same for an
// output of size in stride.
Window read_transposed_window(const NodeImport& node, const Shape& input, const Shape& kernel) {
  Window window = read_extents(node, input, &kernel);
  const AutoPad mode = read_auto_pad(node);
  if (mode == AutoPad::kNone) read_pads(node, window);
  refuse_cuts(node, window);
  std::vector<std::int64_t> extra(window.rank, 0);
  read_each(node, "output_padding", window.rank, 0, 1, extra);
  for (std::size_t d = 0; d < window.rank; ++d) {
    const std::size_t i = window.at(d);
    if (extra[d] > 0 && extra[d] >= std::max(window.stride[i], window.dilation[i]))
      fail("BF1012", "",
           fmt::format("attribute 'output_padding' holds {}, which is not below the larger of "
                       "stride {} and dilation {}",
                       extra[d], window.stride[i], window.dilation[i]));
  }
  std::vector<std::int64_t> wanted;
  read_each(node, "output_shape", window.rank, 1, 1, wanted);
  for (std::size_t d = 0; d < window.rank; ++d) {
    const std::size_t i = window.at(d);
    const bool same = mode == AutoPad::kSameUpper || mode == AutoPad::kSameLower;
    const std::int64_t full =
        window.stride[i] * (window.in_size[i] - 1) + extra[d] + window.reach(i);
    if (!wanted.empty() || same) {
      window.out_size[i] = wanted.empty() ? window.in_size[i] * window.stride[i] : wanted[d];
      // Here the odd element goes to the end unless the mode is SAME_UPPER.
      const std::int64_t total = full - window.out_size[i];
      // A stride more than the windows reach has no input of its own.
      if (total <= -window.stride[i] || (total < 0 && wanted.empty()))
        fail("BF1014", "",
             fmt::format("an output of {} elements, but the windows reach {}", window.out_size[i],
                         full),
             "export with pads and output_padding");
      window.pad_begin[i] =
          std::max<std::int64_t>(mode == AutoPad::kSameUpper ? total / 2 : total - total / 2, 0);
    } else {
      window.out_size[i] = full - window.pad_begin[i] - window.pad_end[i];
    }
  }
  check_output(window);
  return window;
}

Shape output_shape(const Window& window, std::int64_t batch, std::int64_t channels) {
  Shape shape = {batch, channels};
  shape.insert(shape.end(), window.outer.begin(), window.outer.end());
  for (std::size_t d = window.outer.size(); d < window.rank; ++d)
    shape.push_back(window.out_size[window.at(d)]);
  return shape;
}

ConvGeometry conv_geometry(const Window& window, std::int64_t batch, std::int64_t groups,
                           std::int64_t in_channels, std::int64_t out_channels) {
  ConvGeometry g;
  g.batch = batch;
  g.groups = groups;
  g.in_channels = in_channels;
  g.out_channels = out_channels;
  g.in_size = window.in_size;
  g.out_size = window.out_size;
  g.kernel = window.kernel;
  g.stride = window.stride;
  g.dilation = window.dilation;
  g.pad = window.pad_begin;
  g.in = dense_layout(in_channels, window.in_size);
  g.out = dense_layout(out_channels, window.out_size);
  return g;
}

}  // namespace bf_aot
