#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

using test::OperatorCase;
constexpr int kUint8 = 2, kInt8 = 3;

// Parameters whose products and quotients doubles hold exactly, so that ties are ties.
struct Grid {
  double scale;
  double zero;
  int type = kUint8;

  double real(double code) const { return (code - zero) * scale; }
  double code(double real) const {
    const double low = type == kUint8 ? 0 : -128;
    return std::clamp(std::nearbyint(real / scale) + zero, low, low + 255);
  }
};

OperatorCase& add_grid(OperatorCase& operation, const Grid& grid) {
  return operation.constant({}, {grid.scale}).constant({}, {grid.zero}, grid.type);
}

class Codes {
 public:
  std::vector<double> operator()(std::size_t count, int type) {
    std::uniform_int_distribution<int> any(type == kUint8 ? 0 : -128, type == kUint8 ? 255 : 127);
    std::vector<double> codes(count);
    for (double& code : codes) code = any(generator_);
    return codes;
  }

 private:
  std::mt19937 generator_{7};
};

OperatorCase microsoft(const std::string& type) {
  OperatorCase made(type);
  made.domain("com.microsoft");
  return made;
}

// A [2, 3] and B [3], of which B is repeated.
TEST(ImportContrib, QuantisedSumsAndProducts) {
  Codes codes;
  const Grid a{0.5, 120}, b{0.25, -3, kInt8}, sum{1, 100}, product{32, 128};
  const std::vector<double> x = codes(6, kUint8), w = codes(3, kInt8);
  const auto expected = [&](const Grid& y, const std::function<double(double, double)>& f) {
    std::vector<double> values;
    for (std::size_t i = 0; i < 6; ++i) values.push_back(y.code(f(a.real(x[i]), b.real(w[i % 3]))));
    return values;
  };
  const auto operation = [&](const std::string& type, const Grid& y) {
    OperatorCase made = microsoft(type);
    add_grid(made.input({2, 3}, x, kUint8), a);
    add_grid(made.constant({3}, w, kInt8), b);
    return add_grid(made, y);
  };
  operation("QLinearAdd", sum).expect({2, 3}, expected(sum, std::plus<>()));
  operation("QLinearMul", product).expect({2, 3}, expected(product, std::multiplies<>()));
}

TEST(ImportContrib, QuantisedFunctions) {
  Codes codes;
  const Grid x{0.0625, 128}, y{0.015625, 0}, z{0.0625, 100};
  const std::vector<double> values = codes(50, kUint8);
  std::vector<double> sigmoid, leaky;
  for (const double code : values) {
    const double real = x.real(code);
    sigmoid.push_back(y.code(1 / (1 + std::exp(-real))));
    leaky.push_back(z.code(real < 0 ? 0.125 * real : real));
  }
  OperatorCase s = microsoft("QLinearSigmoid");
  add_grid(add_grid(s.input({1, 50}, values, kUint8), x), y).expect({1, 50}, sigmoid);
  OperatorCase l = microsoft("QLinearLeakyRelu");
  add_grid(add_grid(l.input({1, 50}, values, kUint8), x), z)
      .real("alpha", 0.125)
      .expect({1, 50}, leaky);
}

// Groups of three and of two; before opset 13 a group is all that follows the axis.
TEST(ImportContrib, QuantisedSoftmax) {
  Codes codes;
  const Grid x{0.03125, 120}, y{0.00390625, -128, kInt8};
  const std::vector<double> values = codes(12, kUint8);
  const auto softmax = [&](std::size_t group, std::size_t stride) {
    std::vector<double> expected(12);
    for (std::size_t i = 0; i < 12; ++i) {
      // Its group: the elements whose place differs along one axis alone.
      const std::size_t first = i / (group * stride) * group * stride + i % stride;
      double sum = 0;
      for (std::size_t k = 0; k < group; ++k) sum += std::exp(x.real(values[first + k * stride]));
      expected[i] = y.code(std::exp(x.real(values[i])) / sum);
    }
    return expected;
  };
  const auto operation = [&] {
    OperatorCase made = microsoft("QLinearSoftmax");
    return add_grid(add_grid(made.input({2, 3, 2}, values, kUint8), x), y);
  };
  operation().number("opset", 13).expect({2, 3, 2}, softmax(2, 1));
  operation().number("opset", 13).number("axis", 1).expect({2, 3, 2}, softmax(3, 2));
  operation().number("opset", 12).number("axis", 1).expect({2, 3, 2}, softmax(6, 1));
  operation().number("axis", 3).expect_refused("BF1014");
}

// A [2, 3] on the grid of 256 steps over its numbers and 0; columns of B have grids of their own.
TEST(ImportContrib, DynamicallyQuantisedProducts) {
  const std::vector<double> a = {-1.5, 0.25, 2.25, 1, -0.75, 2.3125};
  const std::vector<double> b = {3, 200, 17, 90, 255, 0}, scales = {0.5, 0.125}, zeros = {4, 100};
  const std::vector<double> bias = {7, -3};
  const double scale = (2.3125 + 1.5) / 255, zero = std::nearbyint(1.5 / scale);
  std::vector<double> expected, without;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const double code = std::clamp(std::nearbyint(a[3 * i + k] / scale) + zero, 0.0, 255.0);
        sum += (code - zero) * scale * (b[2 * k + j] - zeros[j]) * scales[j];
      }
      without.push_back(sum);
      expected.push_back(sum + bias[j]);
    }
  const auto operation = [&] {
    OperatorCase made = microsoft("DynamicQuantizeMatMul");
    return made.input({2, 3}, a)
        .constant({3, 2}, b, kUint8)
        .constant({2}, scales)
        .constant({2}, zeros, kUint8);
  };
  operation().expect({2, 2}, without);
  operation().constant({2}, bias).expect({2, 2}, expected);
  OperatorCase scalar = microsoft("DynamicQuantizeMatMul");
  scalar.input({}, {1}).constant({3, 2}, b, kUint8).constant({}, {1}).expect_refused("BF1014");
}

// Means of four codes less the zero point: exact.
TEST(ImportContrib, QuantisedPools) {
  Codes codes;
  const Grid x{0.5, 10}, y{0.25, 3};
  const std::vector<double> values = codes(32, kUint8);
  std::vector<double> whole, windows;
  for (std::size_t image = 0; image < 2; ++image) {
    double sum = 0;
    for (std::size_t i = 0; i < 16; ++i) sum += x.real(values[16 * image + i]);
    whole.push_back(y.code(sum / 16));
    for (std::size_t r = 0; r < 4; r += 2)
      for (std::size_t c = 0; c < 4; c += 2) {
        const std::size_t at = 16 * image + 4 * r + c;
        windows.push_back(y.code((x.real(values[at]) + x.real(values[at + 1]) +
                                  x.real(values[at + 4]) + x.real(values[at + 5])) /
                                 4));
      }
  }
  const auto operation = [&](const std::string& type) {
    OperatorCase made = microsoft(type);
    return add_grid(add_grid(made.input({1, 2, 4, 4}, values, kUint8), x), y);
  };
  operation("QLinearGlobalAveragePool").expect({1, 2, 1, 1}, whole);
  operation("QLinearAveragePool")
      .ints("kernel_shape", {2, 2})
      .ints("strides", {2, 2})
      .expect({1, 2, 2, 2}, windows);
  // Channels last: [batch, height, width, channels], of which there are two.
  std::vector<double> last(values.size()), windows_last(windows.size());
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t i = 0; i < 16; ++i) last[2 * i + c] = values[16 * c + i];
    for (std::size_t i = 0; i < 4; ++i) windows_last[2 * i + c] = windows[4 * c + i];
  }
  const auto turned = [&](const std::string& type) {
    OperatorCase made = microsoft(type);
    return add_grid(add_grid(made.input({1, 4, 4, 2}, last, kUint8), x), y)
        .number("channels_last", 1);
  };
  turned("QLinearGlobalAveragePool").expect({1, 1, 1, 2}, whole);
  turned("QLinearAveragePool")
      .ints("kernel_shape", {2, 2})
      .ints("strides", {2, 2})
      .expect({1, 2, 2, 2}, windows_last);
  OperatorCase largest = microsoft("NhwcMaxPool");
  largest.input({1, 2, 2, 2}, {1, 8, 2, 7, 3, 6, 4, 5}, kUint8)
      .ints("kernel_shape", {2, 2})
      .expect({1, 1, 1, 2}, {4, 8});
}

TEST(ImportContrib, QuantisedConcat) {
  const Grid y{1, 0}, a{0.5, 10}, b{2, 0};
  OperatorCase made = microsoft("QLinearConcat");
  add_grid(made, y);
  add_grid(made.input({2, 1}, {20, 13}, kUint8), a);
  add_grid(made.constant({2, 2}, {1, 2, 3, 4}, kUint8), b);
  OperatorCase other = made;
  made.number("axis", 1).expect({2, 3}, {5, 2, 4, 2, 6, 8});  // 1.5 is between 1 and 2: even
  other.number("axis", 0).expect_refused("BF1014");
}

// ((5 - 1) 0.5, (3 - 1) 0.5) W', W' = (W - 2) per column, and the bias in units of 0.5 and 0.25.
TEST(ImportContrib, QuantisedGemm) {
  const auto operation = [](bool rounded) {
    OperatorCase made = microsoft("QGemm");
    made.input({1, 2}, {5, 3}, kUint8)
        .constant({}, {0.5})
        .constant({}, {1}, kUint8)
        .constant({2, 2}, {3, 4, 5, 6}, kInt8)
        .constant({2}, {1, 0.5})
        .constant({2}, {2, 2}, kInt8)
        .constant({2}, {7, -5}, 6);
    if (rounded) made.constant({}, {2}).constant({}, {100}, kUint8);
    return made;
  };
  operation(false).expect({1, 2}, {2 * 1 + 1 * 3 + 3.5, 2 * 1 + 1 * 2 - 1.25});
  operation(true).expect({1, 2}, {100 + 4, 100 + 1});
}

TEST(ImportContrib, ScalersOfScikitLearn) {
  const std::string ml = "ai.onnx.ml";
  OperatorCase each("Scaler");
  each.domain(ml).reals("offset", {1, 2, 3}).reals("scale", {0.5, 2, 4});
  each.input({2, 3}, {1, 2, 3, 4, 5, 6}).expect({2, 3}, {0, 0, 0, 1.5, 6, 12});
  OperatorCase same("Scaler");
  same.domain(ml).reals("offset", {1}).reals("scale", {3});
  same.input({2}, {2, 3}, 7).expect({2}, {3, 6});
  OperatorCase wrong("Scaler");
  wrong.domain(ml).reals("offset", {1, 2}).input({3}, {1, 2, 3}).expect_refused("BF1012");

  OperatorCase sums("Normalizer");
  sums.domain(ml)
      .text("norm", "L1")
      .input({2, 2}, {1, -3, 2, 2})
      .expect({2, 2}, {0.25, -0.75, 0.5, 0.5});
  OperatorCase lengths("Normalizer");
  lengths.domain(ml).text("norm", "L2").input({1, 2}, {3, -4}).expect({1, 2}, {0.6, -0.8});
  // As ONNX Runtime: by the largest element, not by the largest magnitude.
  OperatorCase largest("Normalizer");
  largest.domain(ml)
      .text("norm", "MAX")
      .input({2, 3}, {1, -4, 2, -1, -2, -4})
      .expect({2, 3}, {0.5, -2, 1, 1, 2, 4});
  OperatorCase standard("Normalizer");
  standard.domain(ml).input({2}, {3, 4}).expect({2}, {0.75, 1});
  OperatorCase other("Normalizer");
  other.domain(ml).text("norm", "L3").input({1, 2}, {3, -4}).expect_refused("BF1012");

  OperatorCase chosen("ArrayFeatureExtractor");
  chosen.domain(ml).input({2, 3}, {1, 2, 3, 4, 5, 6}).constant({2}, {2, 0}, 7);
  chosen.expect({2, 2}, {3, 1, 6, 4});
  OperatorCase outside("ArrayFeatureExtractor");
  outside.domain(ml).input({1, 3}, {1, 2, 3}).constant({1}, {3}, 7).expect_refused("BF1014");
}

OperatorCase quant(double scale, double zero, double bits) {
  OperatorCase made("Quant");
  made.domain("qonnx.custom_op.general").input({2, 3}, {-9, -0.75, 0.25, 0.75, 1.25, 9});
  return made.constant({}, {scale}).constant({}, {zero}).constant({}, {bits});
}

// Ties to even; three bits have the codes -4 to 3, or 0 to 7, of which narrow ones leave one out.
TEST(ImportContrib, QonnxQuantisers) {
  quant(0.5, 0, 3).expect({2, 3}, {-2, -1, 0, 1, 1, 1.5});
  quant(0.5, 0, 3).number("narrow", 1).expect({2, 3}, {-1.5, -1, 0, 1, 1, 1.5});
  quant(0.5, 1, 3).number("signed", 0).expect({2, 3}, {-0.5, -0.5, 0, 1, 1, 3});
  quant(0.5, 1, 3)
      .number("signed", 0)
      .number("narrow", 1)
      .expect({2, 3}, {-0.5, -0.5, 0, 1, 1, 2.5});
  quant(0.5, 0.25, 3).expect_refused("BF1026");
  quant(0.5, 0, 2.5).expect_refused("BF1026");
  quant(0.5, 0, 3).text("rounding_mode", "FLOOR").expect_refused("BF1026");
  OperatorCase each("Quant");
  each.domain("qonnx.custom_op.general").input({2, 2}, {0.75, 0.75, 9, -9});
  each.constant({2, 1}, {0.5, 2}).constant({}, {0}).constant({}, {3}).expect({2, 2}, {1, 1, 6, -8});
  OperatorCase bipolar("BipolarQuant");
  bipolar.domain("qonnx.custom_op.general").input({3}, {-1, 0, 3}).constant({}, {0.25});
  bipolar.expect({3}, {-0.25, 0.25, 0.25});
}

TEST(ImportContrib, OtherOperatorsOfTheDomains) {
  microsoft("Relu").input({1}, {1}).expect_refused("BF1010");
  EXPECT_EQ(contributed_operators().size(), 47U);
}

}  // namespace
}  // namespace bf_aot
