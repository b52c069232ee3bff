// Convolutions, pooling, padding and resizing on numbers of the ONNX operator document or small
// enough to check by hand. Random ones: tests/differential.

#include <numeric>

#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

using test::OperatorCase;

std::vector<double> count_up(int count, double first = 0) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

const std::vector<double> kNineOnes(9, 1);

TEST(ImportConv, pads) {
  OperatorCase("Conv", 11)
      .input({1, 1, 5, 5}, count_up(25))
      .constant({1, 1, 3, 3}, kNineOnes)
      .ints("kernel_shape", {3, 3})
      .ints("pads", {1, 1, 1, 1})
      .expect({1, 1, 5, 5}, {12,  21, 27, 33,  24,  33,  54,  63, 72,  51,  63,  99, 108,
                             117, 81, 93, 144, 153, 162, 111, 72, 111, 117, 123, 84});
}

TEST(ImportConv, asymmetric_pads_and_strides) {
  OperatorCase("Conv", 11)
      .input({1, 1, 7, 5}, count_up(35))
      .constant({1, 1, 3, 3}, kNineOnes)
      .ints("strides", {2, 2})
      .ints("pads", {1, 0, 1, 0})
      .expect({1, 1, 4, 2}, {21, 33, 99, 117, 189, 207, 171, 183});
}

TEST(ImportConv, auto_pad_puts_the_odd_element_last_or_first) {
  const std::vector<std::pair<std::string, std::vector<double>>> expected = {
      {"SAME_UPPER", {3, 7, 5}}, {"SAME_LOWER", {1, 5, 9}}};
  for (const auto& [mode, values] : expected)
    OperatorCase("Conv", 11)
        .input({1, 1, 5}, {1, 2, 3, 4, 5})
        .constant({1, 1, 2}, {1, 1})
        .text("auto_pad", mode)
        .ints("strides", {2})
        .expect({1, 1, 3}, values);
  OperatorCase("Conv", 11)
      .input({1, 1, 5}, {1, 2, 3, 4, 5})
      .constant({1, 1, 2}, {1, 1})
      .text("auto_pad", "VALID")
      .ints("strides", {2})
      .expect({1, 1, 2}, {3, 7});
}

TEST(ImportConv, groups_dilation_bias_and_batch) {
  OperatorCase("Conv", 11)
      .input({2, 2, 3}, {1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60})
      .constant({2, 1, 2}, {1, 2, 3, 4})
      .constant({2}, {100, 200})
      .number("group", 2)
      .ints("dilations", {2})
      .expect({2, 2, 1}, {107, 350, 116, 560});
}

TEST(ImportConv, integers) {
  OperatorCase("ConvInteger", 10)
      .input({1, 1, 3, 3}, count_up(9, 2), 2)
      .constant({1, 1, 2, 2}, {1, 1, 1, 1}, 2)
      .constant({}, {1}, 2)
      .expect({1, 1, 2, 2}, {12, 16, 24, 28});
  // Pads are the zero point, so they add nothing.
  OperatorCase("ConvInteger", 10)
      .input({1, 1, 3, 3}, count_up(9, 2), 2)
      .constant({1, 1, 2, 2}, {1, 1, 1, 1}, 2)
      .constant({}, {1}, 2)
      .ints("pads", {1, 1, 1, 1})
      .expect({1, 1, 4, 4}, {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9});
}

TEST(ImportConvTranspose, strides_and_padding_of_the_output) {
  OperatorCase("ConvTranspose", 11)
      .input({1, 1, 3}, {0, 1, 2})
      .constant({1, 2, 3}, {1, 1, 1, 1, 1, 1})
      .expect({1, 2, 5}, {0, 1, 3, 3, 2, 0, 1, 3, 3, 2});
  OperatorCase("ConvTranspose", 11)
      .input({1, 1, 2}, {1, 2})
      .constant({1, 1, 2}, {1, 10})
      .ints("strides", {3})
      .ints("output_padding", {1})
      .expect({1, 1, 6}, {1, 10, 0, 2, 20, 0});
  // Pads of 2 in all, one on either side.
  OperatorCase("ConvTranspose", 11)
      .input({1, 1, 2}, {1, 2})
      .constant({1, 1, 3}, {1, 10, 100})
      .ints("output_shape", {2})
      .expect({1, 1, 2}, {12, 120});
}

TEST(ImportPool, averages_count_what_they_say) {
  OperatorCase("AveragePool", 11)
      .input({1, 1, 4}, {2, 4, 6, 8})
      .ints("kernel_shape", {3})
      .ints("pads", {1, 1})
      .expect({1, 1, 4}, {3, 4, 6, 7});
  OperatorCase("AveragePool", 11)
      .input({1, 1, 4}, {3, 6, 9, 12})
      .ints("kernel_shape", {3})
      .ints("pads", {1, 1})
      .number("count_include_pad", 1)
      .expect({1, 1, 4}, {3, 6, 9, 7});
  // The last window goes beyond the padded image, which does not count.
  OperatorCase("AveragePool", 19)
      .input({1, 1, 4}, {3, 6, 9, 12})
      .ints("kernel_shape", {3})
      .ints("strides", {2})
      .number("ceil_mode", 1)
      .number("count_include_pad", 1)
      .expect({1, 1, 2}, {6, 10.5});
}

TEST(ImportPool, uniform_averages_are_convolutions) {
  const Graph graph = OperatorCase("AveragePool", 11)
                          .input({1, 3, 4, 4}, std::vector<double>(48, 0))
                          .ints("kernel_shape", {2, 2})
                          .ints("strides", {2, 2})
                          .import()
                          .graph;
  ASSERT_EQ(graph.nodes.size(), 1u);
  const auto& conv = std::get<Conv>(graph.nodes[0].op);
  EXPECT_EQ(conv.geometry.groups, 3);
  EXPECT_EQ(conv.weight.data, std::vector<double>(12, 0.25));
}

// 1 / 9 is no double: its error must be known.
TEST(ImportPool, averages_bound_what_their_weights_miss) {
  const Graph graph = OperatorCase("AveragePool", 11)
                          .input({1, 1, 3, 3}, kNineOnes)
                          .ints("kernel_shape", {3, 3})
                          .import()
                          .graph;
  const Constant& weight = std::get<Conv>(graph.nodes[0].op).weight;
  ASSERT_FALSE(weight.is_exact());
  EXPECT_GE(weight.error[0], 1.0 / 9 * 0x1p-55);
  EXPECT_LE(weight.error[0], 1.0 / 9 * 0x1p-52);
}

TEST(ImportPool, maxima) {
  OperatorCase("MaxPool", 12)
      .input({1, 1, 4, 4}, count_up(16, 1))
      .ints("kernel_shape", {2, 2})
      .ints("strides", {1, 1})
      .ints("dilations", {2, 2})
      .expect({1, 1, 2, 2}, {11, 12, 15, 16});
  OperatorCase("MaxPool", 12)
      .input({1, 1, 4, 4}, count_up(16, 1))
      .ints("kernel_shape", {3, 3})
      .ints("strides", {2, 2})
      .number("ceil_mode", 1)
      .expect({1, 1, 2, 2}, {11, 12, 15, 16});
  // Padding is never the largest.
  OperatorCase("MaxPool", 12)
      .input({1, 1, 3}, {-1, -2, -3})
      .ints("kernel_shape", {2})
      .ints("pads", {1, 1})
      .expect({1, 1, 4}, {-1, -1, -2, -3});
}

TEST(ImportPool, global) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  OperatorCase("GlobalAveragePool", 7).input({1, 1, 3, 3}, x).expect({1, 1, 1, 1}, {5});
  OperatorCase("GlobalMaxPool", 7).input({1, 1, 3, 3}, x).expect({1, 1, 1, 1}, {9});
  OperatorCase("GlobalLpPool", 7).input({1, 2, 2}, {3, 4, 6, 8}).expect({1, 2, 1}, {5, 10});
}

TEST(ImportPad, modes) {
  const auto pad = [](const std::string& mode, const std::vector<double>& expected) {
    OperatorCase("Pad", 19)
        .input({3, 2}, {1.0, 1.2, 2.3, 3.4, 4.5, 5.7})
        .constant({4}, {0, 2, 0, 0}, 7)
        .text("mode", mode)
        .expect({3, 4}, expected);
  };
  pad("constant", {0, 0, 1.0, 1.2, 0, 0, 2.3, 3.4, 0, 0, 4.5, 5.7});
  pad("reflect", {1.0, 1.2, 1.0, 1.2, 2.3, 3.4, 2.3, 3.4, 4.5, 5.7, 4.5, 5.7});
  pad("edge", {1.0, 1.0, 1.0, 1.2, 2.3, 2.3, 2.3, 3.4, 4.5, 4.5, 4.5, 5.7});
  pad("wrap", {1.0, 1.2, 1.0, 1.2, 2.3, 3.4, 2.3, 3.4, 4.5, 5.7, 4.5, 5.7});
}

TEST(ImportPad, values_axes_and_cuts) {
  OperatorCase("Pad", 18)
      .input({1, 3}, {1, 2, 3})
      .constant({2}, {1, -2}, 7)
      .constant({}, {7})
      .constant({1}, {-1}, 7)
      .expect({1, 2}, {7, 1});
  OperatorCase("Pad", 2)
      .input({2}, {1, 2})
      .ints("pads", {0, 1})
      .real("value", 5)
      .expect({3}, {1, 2, 5});
}

TEST(ImportBlocks, depth_to_space_and_back) {
  std::vector<double> x;
  for (int channel = 0; channel < 8; ++channel)
    for (int i = 0; i < 6; ++i) x.push_back(channel * 9 + i);
  OperatorCase("DepthToSpace", 13)
      .input({1, 8, 2, 3}, x)
      .number("blocksize", 2)
      .text("mode", "DCR")
      .expect({1, 2, 4, 6}, {0,  18, 1,  19, 2,  20, 36, 54, 37, 55, 38, 56, 3,  21, 4,  22,
                             5,  23, 39, 57, 40, 58, 41, 59, 9,  27, 10, 28, 11, 29, 45, 63,
                             46, 64, 47, 65, 12, 30, 13, 31, 14, 32, 48, 66, 49, 67, 50, 68});
  OperatorCase("DepthToSpace", 13)
      .input({1, 4, 1, 1}, {1, 2, 3, 4})
      .number("blocksize", 2)
      .text("mode", "CRD")
      .expect({1, 1, 2, 2}, {1, 2, 3, 4});
  OperatorCase("SpaceToDepth", 13)
      .input({1, 1, 2, 4}, count_up(8))
      .number("blocksize", 2)
      .expect({1, 4, 1, 2}, {0, 2, 1, 3, 4, 6, 5, 7});
}

TEST(ImportResize, nearest_and_linear) {
  OperatorCase("Resize", 13)
      .input({1, 1, 2, 2}, {1, 2, 3, 4})
      .left_out()
      .constant({4}, {1, 1, 2, 3})
      .text("mode", "nearest")
      .expect({1, 1, 4, 6},
              {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  OperatorCase("Resize", 13)
      .input({1, 1, 2, 4}, count_up(8, 1))
      .left_out()
      .constant({4}, {1, 1, 0.6, 0.6})
      .text("mode", "linear")
      .expect({1, 1, 1, 2}, {2.6666665, 4.3333331}, 1e-6);
  OperatorCase("Resize", 13)
      .input({1, 1, 2, 2}, {1, 2, 3, 4})
      .left_out()
      .constant({4}, {1, 1, 2, 2})
      .text("mode", "linear")
      .text("coordinate_transformation_mode", "align_corners")
      .expect({1, 1, 4, 4}, {1, 4. / 3, 5. / 3, 2, 5. / 3, 2, 7. / 3, 8. / 3, 7. / 3, 8. / 3, 3,
                             10. / 3, 3, 10. / 3, 11. / 3, 4});
}

// 4 elements by 5/8 are 2 of a width of 2.5: element i lies at 3 i / (2.5 - 1), by the width before
// it is rounded down, and not at 3 i / (2 - 1).
TEST(ImportResize, align_corners_with_scales_takes_the_exact_width) {
  OperatorCase("Resize", 13)
      .input({4}, {0, 1, 2, 3})
      .left_out()
      .constant({1}, {0.625})
      .text("mode", "linear")
      .text("coordinate_transformation_mode", "align_corners")
      .expect({2}, {0, 2});
  OperatorCase("Resize", 13)
      .input({4}, {0, 1, 2, 3})
      .left_out()
      .left_out()
      .constant({1}, {2}, 7)
      .text("mode", "linear")
      .text("coordinate_transformation_mode", "align_corners")
      .expect({2}, {0, 3});
}

// Four elements to two: the hat is twice as wide, so that the weights are 1, 3, 3 and 1 of 8, of
// which one is outside. Then it counts at the edge, or not at all.
TEST(ImportResize, antialias) {
  const auto halved = [] {
    OperatorCase made("Resize", 18);
    made.input({1, 1, 4}, {8, 0, 0, 80}).left_out().constant({3}, {1, 1, 0.5});
    return made.text("mode", "linear").number("antialias", 1);
  };
  halved().expect({1, 1, 2}, {4, 40});
  halved().number("exclude_outside", 1).expect({1, 1, 2}, {24.0 / 7, 240.0 / 7});
  OperatorCase larger("Resize", 18);
  larger.input({1, 1, 2}, {1, 3}).left_out().constant({3}, {1, 1, 2});
  larger.text("mode", "linear").number("antialias", 1).expect({1, 1, 4}, {1, 1.5, 2.5, 3});
}

TEST(ImportResize, cubic) {
  const std::vector<double> first_row = {0.47265625, 0.76953125, 1.24609375, 1.875,
                                         2.28125,    2.91015625, 3.38671875, 3.68359375};
  const Graph graph = OperatorCase("Resize", 13)
                          .input({1, 1, 4, 4}, count_up(16, 1))
                          .left_out()
                          .constant({4}, {1, 1, 2, 2})
                          .text("mode", "cubic")
                          .import()
                          .graph;
  const std::vector<double> y = evaluate(graph, {count_up(16, 1)})[0];
  for (std::size_t i = 0; i < first_row.size(); ++i) EXPECT_DOUBLE_EQ(y[i], first_row[i]);
}

// An exact half: the rule decides, not the rounding of a coordinate.
TEST(ImportResize, ties) {
  const std::vector<std::pair<std::string, std::vector<double>>> expected = {
      {"round_prefer_floor", {1, 3}},
      {"round_prefer_ceil", {2, 4}},
      {"floor", {1, 3}},
      {"ceil", {2, 4}}};
  for (const auto& [mode, values] : expected)
    OperatorCase("Resize", 13)
        .input({4}, {1, 2, 3, 4})
        .left_out()
        .left_out()
        .constant({1}, {2}, 7)
        .text("nearest_mode", mode)
        .expect({2}, values);
}

TEST(ImportResize, older_forms) {
  OperatorCase("Upsample", 9)
      .input({1, 2}, {1, 2})
      .constant({2}, {1, 2})
      .text("mode", "linear")
      .expect({1, 4}, {1, 1.5, 2, 2});
  OperatorCase("Resize", 10)
      .input({1, 4}, {1, 2, 3, 4})
      .constant({2}, {1, 0.5})
      .expect({1, 2}, {1, 3});
}

TEST(ImportResize, crops) {
  OperatorCase("Resize", 13)
      .input({4}, {0, 1, 2, 3})
      .constant({2}, {0.5, 1.5})
      .left_out()
      .constant({1}, {3}, 7)
      .text("mode", "linear")
      .text("coordinate_transformation_mode", "tf_crop_and_resize")
      .real("extrapolation_value", 10)
      .expect({3}, {1.5, 3, 10});
}

// The modes repeat the part that negative pads leave.
TEST(ImportPad, cuts_before_it_wraps) {
  OperatorCase("Pad", 19)
      .input({4}, {1, 2, 3, 4})
      .constant({2}, {2, -1}, 7)
      .text("mode", "wrap")
      .expect({5}, {2, 3, 1, 2, 3});
}

// One element lies in the middle of the region, whose length was rounded down from 1.8.
TEST(ImportResize, crops_by_the_rounded_length) {
  OperatorCase("Resize", 13)
      .input({3}, {1, 2, 4})
      .constant({2}, {0.25, 0.75})
      .constant({1}, {0.6})
      .text("mode", "linear")
      .text("coordinate_transformation_mode", "tf_crop_and_resize")
      .expect({1}, {2});
}

// Matrices that are inputs: the grid of (x, y) is affine in them.
TEST(ImportImages, AffineGrid) {
  const std::vector<double> theta = {2, 1, 0.5, -1, 3, 0.25};
  const auto grid = [&](std::int64_t align, const std::vector<double>& xs,
                        const std::vector<double>& ys) {
    std::vector<double> expected;
    for (const double y : ys)
      for (const double x : xs)
        for (std::size_t r = 0; r < 2; ++r)
          expected.push_back(theta[3 * r] * x + theta[3 * r + 1] * y + theta[3 * r + 2]);
    OperatorCase("AffineGrid", 20)
        .input({1, 2, 3}, theta)
        .constant({4}, {1, 7, static_cast<double>(ys.size()), static_cast<double>(xs.size())}, 7)
        .number("align_corners", align)
        .expect({1, static_cast<std::int64_t>(ys.size()), static_cast<std::int64_t>(xs.size()), 2},
                expected);
  };
  grid(0, {-2.0 / 3, 0, 2.0 / 3}, {-0.5, 0.5});
  grid(1, {-1, -1.0 / 3, 1.0 / 3, 1}, {-1, 0, 1});
  // (x, y, z), of which x is the place on the last axis.
  OperatorCase("AffineGrid", 20)
      .input({1, 3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 10})
      .constant({5}, {1, 1, 1, 1, 2}, 7)
      .expect({1, 1, 1, 2, 3}, {-0.5, 0, 10, 0.5, 0, 10});
  const auto refused = [&](const std::vector<double>& size, std::int64_t align) {
    OperatorCase("AffineGrid", 20)
        .input({1, 2, 3}, theta)
        .constant({static_cast<std::int64_t>(size.size())}, size, 7)
        .number("align_corners", align)
        .expect_refused("BF1014");
  };
  refused({1, 1, 1, 3}, 1);
  refused({1, 1, 0, 3}, 0);
  refused({2, 1, 2, 3}, 0);
  refused({1, 1, 2}, 0);
  OperatorCase("AffineGrid", 20)
      .input({1, 2, 3}, theta)
      .input({4}, {1, 1, 2, 2}, 7)
      .expect_refused("BF1018");
}

}  // namespace
}  // namespace bf_aot
