#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/choices.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/integer_types.h"
#include "frontend/import/operators/operators.h"
#include "frontend/import/resampling/axis.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kFirstResizeWithCoordinates = 11;
constexpr std::int64_t kMostSize = std::int64_t{1} << 20;  // along one axis

Resampling read_resampling(const NodeImport& node) {
  Resampling how;
  how.interpolation = read_choice<Interpolation>(node, "mode", "nearest",
                                                 {{"nearest", Interpolation::kNearest},
                                                  {"linear", Interpolation::kLinear},
                                                  {"bilinear", Interpolation::kLinear},
                                                  {"cubic", Interpolation::kCubic}});
  if (node.op_type() == "Upsample" || node.opset() < kFirstResizeWithCoordinates) {
    how.coordinates = Coordinates::kAsymmetric;
    how.nearest = Nearest::kFloor;
    return how;
  }
  how.coordinates =
      read_choice<Coordinates>(node, "coordinate_transformation_mode", "half_pixel",
                               {{"half_pixel", Coordinates::kHalfPixel},
                                {"half_pixel_symmetric", Coordinates::kHalfPixelSymmetric},
                                {"pytorch_half_pixel", Coordinates::kPytorchHalfPixel},
                                {"align_corners", Coordinates::kAlignCorners},
                                {"asymmetric", Coordinates::kAsymmetric},
                                {"tf_half_pixel_for_nn", Coordinates::kHalfPixelForNearest},
                                {"tf_crop_and_resize", Coordinates::kCropAndResize}});
  how.nearest = read_choice<Nearest>(node, "nearest_mode", "round_prefer_floor",
                                     {{"round_prefer_floor", Nearest::kPreferFloor},
                                      {"round_prefer_ceil", Nearest::kPreferCeil},
                                      {"floor", Nearest::kFloor},
                                      {"ceil", Nearest::kCeil}});
  how.cubic = mpq_class(node.float_attribute("cubic_coeff_a", -0.75));
  how.exclude_outside = node.flag("exclude_outside", false);
  how.antialias = node.flag("antialias", false);
  if (how.antialias && how.interpolation == Interpolation::kNearest)
    fail("BF1026", "", "attribute 'antialias' is 1 with mode nearest",
         "use mode linear or cubic, or export without it");
  return how;
}

// The tensor's dimensions that are resized, in the order of scales, sizes and roi.
std::vector<std::size_t> read_resized_axes(const NodeImport& node, std::size_t rank) {
  std::vector<std::size_t> axes;
  if (const auto given = node.ints_attribute("axes")) {
    for (std::int64_t axis : *given) {
      axes.push_back(checked_axis(axis, rank));
      if (std::count(axes.begin(), axes.end(), axes.back()) > 1)
        fail("BF1014", "", fmt::format("axis {} is listed twice", axis));
    }
  } else {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  return axes;
}

void expect_count(std::size_t found, std::size_t needed, std::string_view what) {
  if (found != needed)
    fail("BF1014", "", fmt::format("{} {}, but {} dimensions", found, what, needed));
}

void set_scale(ResampledAxis& axis, double scale) {
  if (!(scale > 0) || !(static_cast<double>(axis.in) * scale < static_cast<double>(kMostSize)))
    fail("BF1014", "", fmt::format("a scale of {} for {} elements", scale, axis.in));
  axis.scale = mpq_class(scale);
  const mpq_class size = axis.scale * mpq_class(static_cast<long>(axis.in));
  mpz_class whole;
  mpz_fdiv_q(whole.get_mpz_t(), size.get_num_mpz_t(), size.get_den_mpz_t());
  axis.out = whole.get_si();
}

// Exact numbers of an input or an attribute. Throws: BF1018, BF1025.
std::vector<double> read_scales(NodeImport& node, std::size_t input) {
  if (const auto given = node.floats_attribute("scales")) return *given;
  const Constant& scales = node.constant(input, "scales");
  if (!scales.is_exact())
    fail("BF1025", "", "the scales are computed and no exact numbers",
         "export with constant scales or sizes");
  return scales.data;
}

// Sizes, of which the policy may keep the aspect ratio.
void set_sizes(const NodeImport& node, const std::vector<std::int64_t>& sizes,
               const std::vector<std::size_t>& axes, std::vector<ResampledAxis>& resampled_axes) {
  enum class Policy : std::uint8_t { kStretch, kNotLarger, kNotSmaller };
  const Policy policy = read_choice<Policy>(node, "keep_aspect_ratio_policy", "stretch",
                                            {{"stretch", Policy::kStretch},
                                             {"not_larger", Policy::kNotLarger},
                                             {"not_smaller", Policy::kNotSmaller}});
  expect_count(sizes.size(), axes.size(), "sizes");
  std::vector<mpq_class> scales;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    ResampledAxis& axis = resampled_axes[axes[k]];
    if (sizes[k] < 1 || sizes[k] > kMostSize || axis.in < 1)
      fail("BF1014", "", fmt::format("a size of {} for {} elements", sizes[k], axis.in));
    axis.out = sizes[k];
    axis.scale = mpq_class(static_cast<long>(sizes[k]), static_cast<unsigned long>(axis.in));
    axis.scale.canonicalize();
    scales.push_back(axis.scale);
  }
  if (policy == Policy::kStretch || axes.empty()) return;
  const mpq_class scale = policy == Policy::kNotLarger
                              ? *std::min_element(scales.begin(), scales.end())
                              : *std::max_element(scales.begin(), scales.end());
  for (std::size_t d : axes) {
    ResampledAxis& axis = resampled_axes[d];
    const mpq_class size = scale * mpq_class(static_cast<long>(axis.in)) + mpq_class(1, 2);
    mpz_class whole;
    mpz_fdiv_q(whole.get_mpz_t(), size.get_num_mpz_t(), size.get_den_mpz_t());
    if (whole > kMostSize) fail("BF1014", "", "the resized image is too large");
    axis.out = whole.get_si();
    axis.scale = scale;
  }
}

void set_roi(NodeImport& node, const std::vector<std::size_t>& axes,
             std::vector<ResampledAxis>& resampled_axes) {
  if (!node.has_input(1)) fail("BF1011", "", "tf_crop_and_resize needs the roi input");
  const Constant& roi = node.constant(1, "roi");
  expect_count(roi.data.size(), 2 * axes.size(), "numbers of the roi, not twice that of");
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const double begin = roi.data[k];
    const double end = roi.data[axes.size() + k];
    if (!roi.is_exact() || std::abs(begin) > 0x1p20 || std::abs(end) > 0x1p20)
      fail("BF1014", "", "a roi that is not exact or far outside of the image");
    resampled_axes[axes[k]].roi_begin = mpq_class(begin);
    resampled_axes[axes[k]].roi_end = mpq_class(end);
  }
}

struct Taps {
  std::vector<std::vector<std::pair<std::int64_t, mpq_class>>> of;  // of each output element
};

// Calls add(element, weight) for every product of one tap per dimension.
template <typename Add>
void combine(const std::vector<Taps>& taps, const std::vector<std::int64_t>& strides,
             const std::vector<std::int64_t>& index, std::size_t d, std::int64_t offset,
             const mpq_class& weight, const Add& add) {
  if (d == taps.size()) return add(offset, weight);
  for (const auto& [element, factor] : taps[d].of[static_cast<std::size_t>(index[d])])
    combine(taps, strides, index, d + 1, offset + element * strides[d], weight * factor, add);
}

bool is_power_of_two(const mpq_class& x) {
  const auto one_bit = [](const mpz_class& n) { return mpz_popcount(n.get_mpz_t()) == 1; };
  return sgn(x) > 0 && one_bit(x.get_num()) && one_bit(x.get_den());
}

// Returns true if positions, and the weights of linear interpolation, are numbers that no usual
// form of their computation in float32 rounds: steps are powers of two.
bool has_exact_positions(const Resampling& how, const ResampledAxis& axis) {
  if (axis.in == axis.out && axis.scale == 1) return true;
  const auto number = [](std::int64_t x) { return mpq_class(static_cast<long>(x)); };
  switch (how.coordinates) {
    case Coordinates::kCropAndResize:
      return false;
    case Coordinates::kAlignCorners:
      return axis.out > 1 && axis.in > 1 && axis.scale * number(axis.in) == number(axis.out) &&
             is_power_of_two(number(axis.in - 1) / number(axis.out - 1));
    case Coordinates::kHalfPixelSymmetric:
      return axis.scale * number(axis.in) == number(axis.out) && is_power_of_two(axis.scale);
    case Coordinates::kHalfPixel:
    case Coordinates::kPytorchHalfPixel:
    case Coordinates::kAsymmetric:
    case Coordinates::kHalfPixelForNearest:
      return is_power_of_two(axis.scale);
  }
  return false;
}

// Notes what float32 semantics refuses: it sees roundings in the weights, where these are exact,
// and no two of one element are added up everywhere.
void note_forms(NodeImport& node, const Resampling& how, const std::vector<ResampledAxis>& axes) {
  const bool linear = how.interpolation == Interpolation::kLinear;
  if (how.interpolation == Interpolation::kCubic) node.note_form("cubic");
  if (how.antialias) node.note_form("antialias");
  if (linear && how.exclude_outside) node.note_form("exclude_outside");
  if (!std::ranges::all_of(
          axes, [&](const ResampledAxis& axis) { return has_exact_positions(how, axis); }))
    node.note_form("scales");
  if (linear && std::ranges::any_of(
                    axes, [](const ResampledAxis& axis) { return axis.in == 1 && axis.out > 1; }))
    node.note_form("one element");
}

void emit_resampled(NodeImport& node, const Resampling& how,
                    const std::vector<ResampledAxis>& axes) {
  note_forms(node, how, axes);
  const Shape input = node.input_shape(0);
  Shape output;
  for (const ResampledAxis& axis : axes) output.push_back(axis.out);
  node.check_size(output);
  if (element_count(output) == 0 || element_count(input) == 0)
    fail("BF1014", "",
         fmt::format("{} resized to {} has no elements", to_string(input), to_string(output)));
  const std::vector<std::int64_t> strides = row_major_strides(input);
  std::vector<Taps> taps;
  for (const ResampledAxis& axis : axes) {
    node.reader().charge({axis.out}, "");
    taps.emplace_back();
    for (std::int64_t i = 0; i < axis.out; ++i) taps.back().of.push_back(resampled(how, axis, i));
  }
  if (how.interpolation == Interpolation::kNearest &&
      how.coordinates != Coordinates::kCropAndResize) {
    node.reader().charge(output, "");
    std::vector<std::int64_t> source;
    for_each_index(output, [&](const std::vector<std::int64_t>& index, std::int64_t) {
      std::int64_t from = 0;
      for (std::size_t d = 0; d < index.size(); ++d)
        from += taps[d].of[static_cast<std::size_t>(index[d])][0].first * strides[d];
      source.push_back(from);
    });
    return emit_selection(node, {0}, source, output);
  }
  const double outside = node.float_attribute("extrapolation_value", 0);
  RowBuilder rows(node);
  for_each_index(output, [&](const std::vector<std::int64_t>& index, std::int64_t) {
    bool inside = true;
    for (std::size_t d = 0; d < index.size(); ++d)
      inside = inside && !taps[d].of[static_cast<std::size_t>(index[d])].empty();
    rows.begin({inside ? 0 : outside, 0});
    if (inside)
      combine(
          taps, strides, index, 0, 0, mpq_class(1),
          [&](std::int64_t from, const mpq_class& weight) { rows.add(from, to_bounded(weight)); });
  });
  const ValueId y = std::move(rows).finish_sums(node.input(0), output);
  node.emit(is_integer_type(node.output_type()) ? add_cut_or_rounded(node, y) : y);
}

std::vector<ResampledAxis> unchanged_axes(const Shape& shape) {
  std::vector<ResampledAxis> axes;
  for (std::int64_t size : shape) {
    if (size > kMostSize) fail("BF1014", "", "the image is too large to be resized");
    axes.push_back({size, size});
  }
  return axes;
}

bool is_given(const NodeImport& node, std::size_t input) {
  return node.has_input(input) && element_count(node.input_shape(input)) > 0;
}

// Inputs: X, scales in opset 10; X, roi, scales, sizes since 11, of which scales or sizes may be
// empty.
void import_resize(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const Resampling how = read_resampling(node);
  const std::vector<std::size_t> axes = read_resized_axes(node, shape.size());
  std::vector<ResampledAxis> resampled_axes = unchanged_axes(shape);
  const bool old = node.opset() < kFirstResizeWithCoordinates;
  if (!old && is_given(node, 3)) {
    set_sizes(node, node.list(3, "sizes"), axes, resampled_axes);
  } else {
    const std::size_t input = old ? 1 : 2;
    if (!is_given(node, input)) fail("BF1011", "", "neither scales nor sizes are given");
    const std::vector<double> scales = read_scales(node, input);
    expect_count(scales.size(), axes.size(), "scales");
    for (std::size_t k = 0; k < axes.size(); ++k) set_scale(resampled_axes[axes[k]], scales[k]);
  }
  if (how.coordinates == Coordinates::kCropAndResize) set_roi(node, axes, resampled_axes);
  emit_resampled(node, how, resampled_axes);
}

void import_upsample(NodeImport& node) {
  const Shape shape = node.input_shape(0);
  const Resampling how = read_resampling(node);
  std::vector<ResampledAxis> axes = unchanged_axes(shape);
  if (!node.has_attribute("scales") && !node.has_input(1)) fail("BF1012", "", "scales are missing");
  const std::vector<double> scales = read_scales(node, 1);
  expect_count(scales.size(), shape.size(), "scales");
  for (std::size_t d = 0; d < shape.size(); ++d) set_scale(axes[d], scales[d]);
  emit_resampled(node, how, axes);
}

}  // namespace

OperatorRows resize_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Resize",
       import_resize,
       1,
       4,
       1,
       {"antialias", "axes", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside",
        "extrapolation_value", "keep_aspect_ratio_policy", "mode", "nearest_mode"}},
      {"Upsample", import_upsample, 1, 2, 1, {"mode", "scales"}},
  };
  return kRows;
}

}  // namespace bf_aot
