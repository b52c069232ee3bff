#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kMostPad = std::int64_t{1} << 31;

struct Pads {
  std::vector<std::int64_t> begin, end;  // one per dimension; negative ones cut off
};

// Attribute `pads` before opset 11 (`paddings` in the first), then an input; since opset 18 for the
// given axes alone.
Pads read_pads(const NodeImport& node, std::size_t rank) {
  std::vector<std::int64_t> values;
  if (node.has_attribute("pads")) {
    values = *node.ints_attribute("pads");
  } else if (node.has_attribute("paddings")) {
    values = *node.ints_attribute("paddings");
  } else if (node.has_input(1)) {
    values = node.list(1, "pads input");
  } else {
    fail("BF1012", "", "pads are missing");
  }
  std::vector<std::int64_t> axes;
  if (node.has_input(3)) {
    axes = node.list(3, "axes input");
  } else {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(static_cast<std::int64_t>(d));
  }
  if (values.size() != 2 * axes.size())
    fail("BF1014", "",
         fmt::format("{} pads, but {} dimensions need {}", values.size(), axes.size(),
                     2 * axes.size()));
  Pads pads{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  std::vector<bool> listed(rank, false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t d = checked_axis(axes[i], rank);
    if (listed[d]) fail("BF1014", "", fmt::format("axis {} is listed twice", axes[i]));
    listed[d] = true;
    for (std::int64_t value : {values[i], values[axes.size() + i]})
      if (value > kMostPad || value < -kMostPad)
        fail("BF1014", "", fmt::format("a pad of {}", value));
    pads.begin[d] = values[i];
    pads.end[d] = values[axes.size() + i];
  }
  return pads;
}

enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };

PadMode read_mode(const NodeImport& node) {
  const std::string mode = node.string_attribute("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  fail("BF1012", "", "attribute 'mode' is none of constant, reflect, edge, wrap");
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  return ((a % b) + b) % b;
}

// The input's index for position i before or behind it; -1: filled.
std::int64_t source_index(PadMode mode, std::int64_t i, std::int64_t size) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return i < 0 ? 0 : size - 1;
    case PadMode::kWrap:
      return modulo(i, size);
    case PadMode::kReflect:
      break;
  }
  if (size == 1) return 0;
  const std::int64_t period = modulo(i, 2 * (size - 1));
  return period < size ? period : 2 * (size - 1) - period;
}

// The place in the input of each element of the output; -1: the element is filled. Negative pads
// cut first, and the other modes repeat the part that they leave.
std::vector<std::int64_t> pad_source(PadMode mode, const Pads& pads, const Shape& input,
                                     const Shape& output) {
  const std::vector<std::int64_t> strides = row_major_strides(input);
  std::vector<std::int64_t> source;
  source.reserve(static_cast<std::size_t>(element_count(output)));
  for_each_index(output, [&](const std::vector<std::int64_t>& index, std::int64_t) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < output.size(); ++d) {
      const std::int64_t cut = std::max<std::int64_t>(-pads.begin[d], 0);
      const std::int64_t left = input[d] - cut - std::max<std::int64_t>(-pads.end[d], 0);
      const std::int64_t i = source_index(mode, index[d] - pads.begin[d] - cut, left);
      if (i < 0) {
        from = -1;
        break;
      }
      from += (cut + i) * strides[d];
    }
    source.push_back(from);
  });
  return source;
}

double read_fill(NodeImport& node) {
  if (node.has_input(2)) return node.number(2, "constant value");
  return node.float_attribute("value", 0);
}

// Output elements of `block` x `block` squares from the channels, or back.
struct Blocks {
  std::int64_t batch, channels, height, width, block;
};

Blocks read_blocks(const NodeImport& node) {
  const Shape& shape = node.input_shape(0);
  if (shape.size() != 4)
    fail("BF1014", "",
         fmt::format("the input has shape {}, but [batch, channels, height, width] is needed",
                     to_string(shape)));
  const std::int64_t block = node.int_attribute("blocksize", 0);
  if (block < 1 || block > (std::int64_t{1} << 15))
    fail("BF1012", "", fmt::format("attribute 'blocksize' is {}", block));
  return {shape[0], shape[1], shape[2], shape[3], block};
}

// Elements source[i] of input 0, or `fill` where that is -1.
void emit_padded(NodeImport& node, const std::vector<std::int64_t>& source, const Shape& output,
                 double fill) {
  const bool filled = std::find(source.begin(), source.end(), -1) != source.end();
  if (!filled) return emit_selection(node, {0}, source, output);
  RowBuilder rows(node);
  for (std::int64_t from : source) {
    rows.begin({from < 0 ? fill : 0, 0});
    if (from >= 0) rows.add(from);
  }
  node.emit(std::move(rows).finish_sums(node.input(0), output));
}

void import_pad(NodeImport& node) {
  const Shape input = node.input_shape(0);
  const PadMode mode = read_mode(node);
  const Pads pads = read_pads(node, input.size());
  Shape output = input;
  for (std::size_t d = 0; d < input.size(); ++d) {
    output[d] += pads.begin[d] + pads.end[d];
    const std::int64_t left = input[d] + std::min<std::int64_t>(pads.begin[d], 0) +
                              std::min<std::int64_t>(pads.end[d], 0);
    if (output[d] < 1 || left < 0 || (left == 0 && mode != PadMode::kConstant))
      fail("BF1014", "",
           fmt::format("pads {} and {} leave nothing of dimension {}, which has {} elements",
                       pads.begin[d], pads.end[d], d, input[d]));
  }
  node.reader().charge(output, "");
  const double fill = mode == PadMode::kConstant ? read_fill(node) : 0;
  emit_padded(node, pad_source(mode, pads, input, output), output, fill);
}

// Elements around the middle of the axes that are given, or of all: fewer, or zeros around them.
// What is odd is cut off, or added, at the end.
void import_center_crop_pad(NodeImport& node) {
  const Shape input = node.input_shape(0);
  const std::vector<std::int64_t>& sizes = node.list(1, "shape");
  std::vector<std::int64_t> axes(input.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_attribute("axes")) axes = *node.ints_attribute("axes");
  if (sizes.size() != axes.size())
    fail("BF1014", "", fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
  Shape output = input;
  std::vector<bool> listed(input.size(), false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t d = checked_axis(axes[i], input.size());
    if (sizes[i] < 1) fail("BF1014", "", fmt::format("a size of {}", sizes[i]));
    if (listed[d]) fail("BF1014", "", fmt::format("axis {} is listed twice", axes[i]));
    listed[d] = true;
    output[d] = sizes[i];
  }
  node.reader().charge(output, "");
  const std::vector<std::int64_t> strides = row_major_strides(input);
  std::vector<std::int64_t> source;
  for_each_index(output, [&](const std::vector<std::int64_t>& at, std::int64_t) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < at.size() && from >= 0; ++d) {
      const std::int64_t more = output[d] - input[d];
      const std::int64_t i = more > 0 ? at[d] - more / 2 : at[d] + -more / 2;
      from = i >= 0 && i < input[d] ? from + i * strides[d] : -1;
    }
    source.push_back(from);
  });
  emit_padded(node, source, output, 0);
}

// The order of the channels that blocks are: DCR is [by][bx][c], CRD is [c][by][bx].
bool depth_first(NodeImport& node) {
  const std::string mode = node.string_attribute("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") fail("BF1012", "", "attribute 'mode' is neither DCR nor CRD");
  return mode == "DCR";
}

// Channel blocks become squares.
void import_depth_to_space(NodeImport& node) {
  const Blocks b = read_blocks(node);
  const bool is_dcr = depth_first(node);
  const std::int64_t square = b.block * b.block;
  if (b.channels % square != 0)
    fail("BF1014", "", fmt::format("{} channels in blocks of {}", b.channels, square));
  const std::int64_t channels = b.channels / square;
  const Shape output = {b.batch, channels, b.height * b.block, b.width * b.block};
  node.reader().charge(output, "");
  std::vector<std::int64_t> source;
  for_each_index(output, [&](const std::vector<std::int64_t>& at, std::int64_t) {
    const std::int64_t place = (at[2] % b.block) * b.block + at[3] % b.block;
    const std::int64_t channel = is_dcr ? place * channels + at[1] : at[1] * square + place;
    source.push_back(((at[0] * b.channels + channel) * b.height + at[2] / b.block) * b.width +
                     at[3] / b.block);
  });
  emit_selection(node, {0}, source, output);
}

// Squares become channel blocks.
void import_space_to_depth(NodeImport& node) {
  const Blocks b = read_blocks(node);
  const bool is_dcr = depth_first(node);
  if (b.height % b.block != 0 || b.width % b.block != 0)
    fail("BF1014", "",
         fmt::format("an image of {} x {} in blocks of {}", b.height, b.width, b.block));
  const Shape output = {b.batch, b.channels * b.block * b.block, b.height / b.block,
                        b.width / b.block};
  node.reader().charge(output, "");
  std::vector<std::int64_t> source;
  for_each_index(output, [&](const std::vector<std::int64_t>& at, std::int64_t) {
    const std::int64_t place = is_dcr ? at[1] / b.channels : at[1] % (b.block * b.block);
    const std::int64_t channel = is_dcr ? at[1] % b.channels : at[1] / (b.block * b.block);
    const std::int64_t y = at[2] * b.block + place / b.block;
    const std::int64_t x = at[3] * b.block + place % b.block;
    source.push_back(((at[0] * b.channels + channel) * b.height + y) * b.width + x);
  });
  emit_selection(node, {0}, source, output);
}

}  // namespace

OperatorRows pad_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"CenterCropPad", import_center_crop_pad, 2, 2, 1, {"axes"}},
      {"DepthToSpace", import_depth_to_space, 1, 1, 1, {"blocksize", "mode"}},
      {"Pad", import_pad, 1, 4, 1, {"mode", "paddings", "pads", "value"}},
      {"SpaceToDepth", import_space_to_depth, 1, 1, 1, {"blocksize", "mode"}},
  };
  return kRows;
}

}  // namespace bf_aot
