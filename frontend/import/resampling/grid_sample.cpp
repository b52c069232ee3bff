#include <fmt/format.h>
#include <gmpxx.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "frontend/functions/function_values.h"
#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/choices.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/integer_types.h"
#include "frontend/import/operators/operators.h"
#include "frontend/import/resampling/axis.h"

// GridSample by a grid that is known: each element of the output is a sum of elements of the image
// with weights. Positions and weights are computed exactly, in rational numbers. AffineGrid, which
// makes such grids, is affine in its matrices.
// Sources: ONNX, GridSample-22 and AffineGrid-20, and its reference evaluator for what the text
// leaves open.

namespace bf_aot {
namespace {

enum class Sampling : std::uint8_t { kLinear, kNearest, kCubic };
enum class Padding : std::uint8_t { kZeros, kBorder, kReflection };

// An element along one axis, with its weight; outside of the image with padding by zeros.
struct Tap {
  std::int64_t at = 0;
  bool outside = false;
  mpq_class weight = 1;
};

// One axis of the image.
struct SampledAxis {
  std::int64_t size = 1;
  Sampling sampling = Sampling::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;

  mpq_class least() const { return align_corners ? mpq_class(0) : mpq_class(-1, 2); }
  mpq_class most() const { return least() + length(); }
  mpq_class length() const { return mpq_class(static_cast<long>(align_corners ? size - 1 : size)); }

  // The position that a number of the grid stands for: -1 and 1 are the ends of the axis.
  mpq_class position(const mpq_class& x) const { return least() + (x + 1) / 2 * length(); }

  // Mirrors a position at the ends until it lies between them.
  mpq_class reflected(const mpq_class& x) const {
    if (x >= least() && x <= most()) return x;
    if (length() == 0) return least();
    const bool below = x < least();
    const mpq_class beyond = below ? mpq_class(least() - x) : mpq_class(x - most());
    const mpq_class times = values::floor_of(beyond / length());
    const mpq_class rest = beyond - times * length();
    const bool from_least = below == (mpz_even_p(times.get_num_mpz_t()) != 0);
    return from_least ? mpq_class(least() + rest) : mpq_class(most() - rest);
  }

  mpq_class padded(const mpq_class& x) const {
    if (x >= least() && x <= most()) return x;
    if (padding == Padding::kReflection) return reflected(x);
    if (padding == Padding::kBorder)
      return x < 0 ? mpq_class(0) : mpq_class(static_cast<long>(size - 1));
    return x;
  }

  Tap tap(const mpq_class& index, mpq_class weight) const {
    const bool outside = index < 0 || index >= static_cast<long>(size);
    if (!outside) return {index.get_num().get_si(), false, std::move(weight)};
    if (padding == Padding::kZeros) return {0, true, std::move(weight)};
    if (padding == Padding::kBorder) return {index < 0 ? 0 : size - 1, false, std::move(weight)};
    const std::int64_t at = values::floor_of(reflected(index)).get_num().get_si();
    return {std::clamp<std::int64_t>(at, 0, size - 1), false, std::move(weight)};
  }

  std::vector<Tap> taps(const mpq_class& x) const {
    mpq_class at = position(x);
    if (sampling == Sampling::kNearest)
      return {tap(values::floor_of(padded(values::round_of(at))), 1)};
    at = padded(at);
    const mpq_class first = values::floor_of(at);
    const mpq_class part = at - first;
    if (sampling == Sampling::kLinear) return {tap(first, 1 - part), tap(first + 1, part)};
    std::vector<Tap> made;
    for (int k = -1; k <= 2; ++k) made.push_back(tap(first + k, cubic(abs(part - k))));
    return made;
  }

  // Cubic convolution with a = -3/4 (Keys, 1981), at a distance of at most 2.
  static mpq_class cubic(const mpq_class& d) {
    const mpq_class a(-3, 4);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return ((d - 5) * d + 8) * d * a - 4 * a;
  }
};

SampledAxis read_axis(const NodeImport& node) {
  SampledAxis axis;
  axis.sampling = read_choice<Sampling>(node, "mode", "linear",
                                        {{"linear", Sampling::kLinear},
                                         {"bilinear", Sampling::kLinear},
                                         {"nearest", Sampling::kNearest},
                                         {"cubic", Sampling::kCubic},
                                         {"bicubic", Sampling::kCubic}});
  axis.padding = read_choice<Padding>(node, "padding_mode", "zeros",
                                      {{"zeros", Padding::kZeros},
                                       {"border", Padding::kBorder},
                                       {"reflection", Padding::kReflection}});
  axis.align_corners = node.flag("align_corners", false);
  return axis;
}

// Adds the products of one tap of each axis, the last axis last.
void add_taps(const std::vector<std::vector<Tap>>& taps, const std::vector<std::int64_t>& strides,
              std::size_t axis, std::int64_t at, const mpq_class& weight, RowBuilder& row) {
  if (axis == taps.size()) {
    row.add(at, to_bounded(weight));
    return;
  }
  for (const Tap& tap : taps[axis])
    if (!tap.outside && tap.weight != 0)
      add_taps(taps, strides, axis + 1, at + tap.at * strides[axis], weight * tap.weight, row);
}

void import_grid_sample(NodeImport& node) {
  const Shape image = node.input_shape(0), places = node.input_shape(1);
  const std::size_t axes = image.size() < 3 ? 0 : image.size() - 2;
  if (axes == 0 || places.size() != image.size() ||
      places.back() != static_cast<std::int64_t>(axes) || places[0] != image[0])
    fail("BF1014", "",
         fmt::format("a grid of shape {} has no places in an image of shape {}", to_string(places),
                     to_string(image)));
  const Constant grid = node.constant(1, "grid");
  if (!grid.is_exact())
    fail("BF1025", "", "the grid is computed and no exact numbers",
         "store it as an initializer of the model");
  SampledAxis axis = read_axis(node);
  if (axis.sampling == Sampling::kCubic && axes > 2)
    fail("BF1012", "", "attribute 'mode' is cubic for an image of three dimensions");
  if (axis.sampling == Sampling::kCubic && axis.padding == Padding::kBorder)
    fail("BF1012", "",
         "attributes 'mode' cubic and 'padding_mode' border: ONNX's reference evaluator moves "
         "positions into the image, and ONNX Runtime and PyTorch the elements that they read",
         "export with padding_mode zeros or reflection");
  Shape output = {image[0], image[1]};
  output.insert(output.end(), places.begin() + 1, places.end() - 1);
  node.check_size(output);
  if (element_count(output) == 0 || element_count(image) == 0)
    fail("BF1014", "",
         fmt::format("{} sampled to {} has no elements", to_string(image), to_string(output)));
  const std::vector<std::int64_t> strides = row_major_strides(image);
  const std::vector<std::int64_t> of_axes(strides.begin() + 2, strides.end());
  const std::int64_t points = element_count(output) / (image[0] * image[1]);
  // Places of the grid are (x, y) or (x, y, z): the last axis of the image is the first of them.
  const auto taps_at = [&](std::int64_t point) {
    std::vector<std::vector<Tap>> taps(axes);
    for (std::size_t d = 0; d < axes; ++d) {
      axis.size = image[2 + d];
      const auto k = static_cast<std::size_t>(point) * axes + (axes - 1 - d);
      taps[d] = axis.taps(mpq_class(grid.data[k]));
    }
    return taps;
  };
  RowBuilder rows(node);
  for (std::int64_t n = 0; n < image[0]; ++n) {
    node.reader().charge({points, static_cast<std::int64_t>(axes)}, "");
    std::vector<std::vector<std::vector<Tap>>> taps;
    for (std::int64_t p = 0; p < points; ++p) taps.push_back(taps_at(n * points + p));
    for (std::int64_t c = 0; c < image[1]; ++c)
      for (std::int64_t p = 0; p < points; ++p) {
        rows.begin();
        add_taps(taps[static_cast<std::size_t>(p)], of_axes, 0, n * strides[0] + c * strides[1],
                 mpq_class(1), rows);
      }
  }
  const ValueId y = std::move(rows).finish_sums(node.input(0), output);
  node.emit(is_integer_type(node.output_type()) ? add_cut_or_rounded(node, y) : y);
}

// The middle of each of `size` cells between -1 and 1, or points with both ends among them.
mpq_class place_of(std::int64_t at, std::int64_t size, bool align_corners) {
  const auto number = [](std::int64_t x) { return mpq_class(static_cast<long>(x)); };
  return align_corners ? mpq_class(2 * number(at) / number(size - 1) - 1)
                       : mpq_class(number(2 * at + 1) / number(size) - 1);
}

// Row r of entry n of the grid at (x, y) is theta_n,r . (x, y, 1), and so in three dimensions.
void import_affine_grid(NodeImport& node) {
  const Shape theta = node.input_shape(0);
  const std::vector<std::int64_t> size = node.list(1, "size");
  const std::size_t axes = size.size() < 2 ? 0 : size.size() - 2;
  const auto rank = static_cast<std::int64_t>(axes);
  if (axes < 2 || axes > 3 || theta != Shape{size[0], rank, rank + 1})
    fail("BF1014", "",
         fmt::format("matrices of shape {} for an image of size {}", to_string(theta),
                     to_string(Shape(size))));
  const bool align_corners = node.flag("align_corners", false);
  for (std::size_t d = 0; d < axes; ++d)
    if (size[2 + d] < 1 || (align_corners && size[2 + d] == 1))
      fail("BF1014", "",
           fmt::format("axis {} of the image has {} places{}", 2 + d, size[2 + d],
                       align_corners ? ", of which two are corners" : ""));
  Shape output = {size[0]};
  output.insert(output.end(), size.begin() + 2, size.end());
  output.push_back(rank);
  node.check_size(output);
  RowBuilder rows(node);
  for_each_index(output, [&](const std::vector<std::int64_t>& at, std::int64_t /*flat*/) {
    const std::int64_t begin = (at[0] * rank + at.back()) * (rank + 1);
    rows.begin();
    // The last axis of the image is the first of its places.
    for (std::size_t d = 0; d < axes; ++d) {
      const mpq_class place = place_of(at[1 + d], size[2 + d], align_corners);
      if (place != 0) rows.add(begin + rank - 1 - static_cast<std::int64_t>(d), to_bounded(place));
    }
    rows.add(begin + rank);
  });
  node.emit(std::move(rows).finish_sums(node.input(0), output));
}

}  // namespace

OperatorRows grid_sample_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"AffineGrid", import_affine_grid, 2, 2, 1, {"align_corners"}},
      {"GridSample", import_grid_sample, 2, 2, 1, {"align_corners", "mode", "padding_mode"}},
  };
  return kRows;
}

}  // namespace bf_aot
