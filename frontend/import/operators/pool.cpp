#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/conv_loops.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/grouping.h"
#include "frontend/import/helpers/pooling.h"
#include "frontend/import/helpers/window.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

struct Pooling {
  Window window;
  std::int64_t channels = 0;  // of each batch entry, times positions along the window's outer axes
  std::int64_t images = 0;    // batch times channels
  Shape output;
};

Pooling read_pooling(const NodeImport& node, const Shape& input) {
  Pooling pooling;
  pooling.window = read_window(node, input, nullptr, node.flag("ceil_mode", false));
  node.check_size({pooling.window.kernel.begin(), pooling.window.kernel.end()});
  pooling.channels = input[1] * element_count(pooling.window.outer);
  pooling.images = input[0] * pooling.channels;
  pooling.output = output_shape(pooling.window, input[0], input[1]);
  node.check_size(pooling.output);
  return pooling;
}

// begin_row(p) and add(q) for each output position p and the image elements q that it covers, of
// each image; flat indices of the elements.
template <typename Begin, typename Add>
void for_each_window(const Pooling& pooling, const Begin& begin_row, const Add& add) {
  const Window& w = pooling.window;
  for_each_element(
      pooling.images, 1, w.out_size, [&](std::int64_t image, std::int64_t, const Extent& p) {
        begin_row(p);
        for_each_tap(w, p, [&](const Extent&, const Extent& q) {
          add(image * w.in_count() + (q[0] * w.in_size[1] + q[1]) * w.in_size[2] + q[2]);
        });
      });
}

// Number of t, 0 <= t < count, with begin <= first + t step < end.
std::int64_t count_inside(std::int64_t first, std::int64_t step, std::int64_t count,
                          std::int64_t begin, std::int64_t end) {
  const std::int64_t least = first >= begin ? 0 : (begin - first + step - 1) / step;
  const std::int64_t most = first >= end ? 0 : (end - first + step - 1) / step;  // exclusive
  return std::max<std::int64_t>(std::min(most, count) - least, 0);
}

// Number of elements that the average at p divides by: those in the image, or in the padded image.
std::int64_t divisor(const Window& w, const Extent& p, bool count_pads) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t begin = count_pads ? -w.pad_begin[i] : 0;
    const std::int64_t end = w.in_size[i] + (count_pads ? w.pad_end[i] : 0);
    count *=
        count_inside(p[i] * w.stride[i] - w.pad_begin[i], w.dilation[i], w.kernel[i], begin, end);
  }
  return count;
}

// Returns true if all windows divide by the number of taps.
bool is_uniform(const Window& w, bool count_pads) {
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t last = (w.out_size[i] - 1) * w.stride[i] - w.pad_begin[i] + w.reach(i);
    if (!count_pads && w.pad_begin[i] > 0) return false;
    if (last > w.in_size[i] + (count_pads ? w.pad_end[i] : 0)) return false;
    if (w.pad_begin[i] < 0) return false;
  }
  return true;
}

[[noreturn]] void empty_window() {
  fail("BF1014", "", "a window lies in the padding alone", "use pads smaller than the kernel");
}

// A depthwise convolution with a constant kernel.
Conv average_conv(const Pooling& pooling, std::int64_t batch) {
  const Window& w = pooling.window;
  Conv conv;
  const std::int64_t channels = pooling.channels;
  conv.geometry = conv_geometry(w, batch, channels, channels, channels);
  ConstantBuilder weight({channels, 1, w.taps()});
  for (std::size_t i = 0; i < weight.size(); ++i) weight.set(i, one_over(w.taps()));
  conv.weight = std::move(weight).finish("");
  conv.bias = filled({channels}, 0);
  return conv;
}

ValueId add_window_sums(NodeImport& node, const Pooling& pooling, ValueId x,
                        const std::function<Bounded(const Extent&)>& factor) {
  RowBuilder rows(node);
  Bounded value;
  for_each_window(
      pooling,
      [&](const Extent& p) {
        rows.begin();
        value = factor(p);
      },
      [&](std::int64_t q) { rows.add(q, value); });
  return std::move(rows).finish_sums(x, pooling.output);
}

// Every element of each image [batch, channels, ...].
Pooling whole_images(const Shape& input) {
  if (input.size() < 2)
    fail("BF1014", "",
         fmt::format("the input has shape {}, but [batch, channels, ...] is needed",
                     to_string(input)));
  if (element_count(input) == 0) fail("BF1014", "", "the input has no elements");
  Pooling pooling;
  pooling.images = input[0] * input[1];
  const std::int64_t count = element_count(input) / pooling.images;
  pooling.window.kernel[2] = pooling.window.in_size[2] = count;
  pooling.output = input;
  std::fill(pooling.output.begin() + 2, pooling.output.end(), 1);
  return pooling;
}

ValueId add_window_maxima(NodeImport& node, const Pooling& pooling, ValueId x) {
  RowBuilder rows(node);
  std::int64_t covered = 1;
  const auto check = [&] {
    if (covered == 0) empty_window();
    covered = 0;
  };
  for_each_window(
      pooling,
      [&](const Extent&) {
        check();
        rows.begin();
      },
      [&](std::int64_t q) {
        ++covered;
        rows.add(q);
      });
  check();
  return std::move(rows).finish_maxima(x, pooling.output);
}

// (sum of |x|^p)^(1 / p). Of the exponents 1 / p only these are numbers of double precision.
void emit_lp(NodeImport& node, const Pooling& pooling) {
  const std::int64_t p = node.int_attribute("p", 2);
  if (p != 1 && p != 2 && p != 4 && p != 8)
    fail("BF1026", "", fmt::format("attribute 'p' is {}, but only 1, 2, 4 and 8 are supported", p));
  ValueId x = node.input(0);
  x = p == 1 ? add_unary(node, x, {FunctionKind::kAbs})
             : add_unary(node, x, {FunctionKind::kPower, static_cast<double>(p)});
  ValueId sum = add_window_sums(node, pooling, x, [](const Extent&) { return Bounded{1, 0}; });
  if (p == 2) sum = add_unary(node, sum, {FunctionKind::kSqrt});
  if (p > 2) sum = add_unary(node, sum, {FunctionKind::kPower, 1.0 / static_cast<double>(p)});
  node.emit(sum);
}

void import_average_pool(NodeImport& node) {
  node.emit(add_average_pool(node, node.input(0)));
}

void import_global_average_pool(NodeImport& node) {
  node.emit(add_global_average_pool(node, node.input(0)));
}

// `storage_order` is about the indices alone.
void import_max_pool(NodeImport& node) {
  (void)node.flag("storage_order", false);
  if (node.has_output(1))
    node.define(1, Unavailable{"the indices that " + node.origin().text + " makes",
                               "which element is the largest has no bounds"});
  node.emit(add_max_pool(node, node.input(0)));
}

void import_global_max_pool(NodeImport& node) {
  const Pooling pooling = whole_images(Shape(node.input_shape(0)));
  node.emit(add_window_maxima(node, pooling, node.input(0)));
}

void import_lp_pool(NodeImport& node) {
  emit_lp(node, read_pooling(node, node.input_shape(0)));
}

void import_global_lp_pool(NodeImport& node) {
  emit_lp(node, whole_images(node.input_shape(0)));
}

}  // namespace

ValueId add_average_pool(NodeImport& node, ValueId x) {
  const Shape input = node.shape_of(x);
  const Pooling pooling = read_pooling(node, input);
  const bool count_pads = node.flag("count_include_pad", false);
  if (is_uniform(pooling.window, count_pads)) {
    node.reader().charge({pooling.channels, pooling.window.kernel[0], pooling.window.kernel[1],
                          pooling.window.kernel[2]},
                         "");
    return node.add(average_conv(pooling, input[0]), {x}, pooling.output);
  }
  return add_window_sums(node, pooling, x, [&](const Extent& p) {
    const std::int64_t count = divisor(pooling.window, p, count_pads);
    if (count == 0) empty_window();
    return one_over(count);
  });
}

ValueId add_max_pool(NodeImport& node, ValueId x) {
  return add_window_maxima(node, read_pooling(node, Shape(node.shape_of(x))), x);
}

ValueId add_global_average_pool(NodeImport& node, ValueId x) {
  const Pooling pooling = whole_images(node.shape_of(x));
  const Bounded factor = one_over(pooling.window.taps());
  return add_window_sums(node, pooling, x, [&](const Extent&) { return factor; });
}

OperatorRows pool_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"AveragePool",
       import_average_pool,
       1,
       1,
       1,
       {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads",
        "strides"}},
      {"GlobalAveragePool", import_global_average_pool, 1, 1, 1, {}},
      {"GlobalLpPool", import_global_lp_pool, 1, 1, 1, {"p"}},
      {"GlobalMaxPool", import_global_max_pool, 1, 1, 1, {}},
      {"LpPool",
       import_lp_pool,
       1,
       1,
       1,
       {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "p", "pads", "strides"}},
      {"MaxPool",
       import_max_pool,
       1,
       1,
       2,
       {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"}},
  };
  return kRows;
}

}  // namespace bf_aot
