// Fourier transforms, windows, folds, products of what stands before, and caches, on numbers that
// are small enough to check by hand.

#include <cmath>
#include <numbers>

#include "frontend/graph/graph.h"
#include "tests/unit/frontend/import/operator_case.h"

namespace bf_aot {
namespace {

using test::OperatorCase;

constexpr int kLong = 7;

TEST(ImportSignal, TransformsOfFourNumbers) {
  OperatorCase("DFT", 20)
      .input({1, 4, 1}, {1, 2, 3, 4})
      .expect({1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2});
  OperatorCase("DFT", 17)
      .input({1, 4, 1}, {1, 2, 3, 4})
      .number("onesided", 1)
      .expect({1, 3, 2}, {10, 0, -2, 2, -2, 0});
  // Of another length: zeros behind the signal, or its first elements.
  OperatorCase("DFT", 20)
      .input({1, 2, 1}, {1, 2})
      .constant({}, {4}, kLong)
      .expect({1, 4, 2}, {3, 0, 1, -2, -1, 0, 1, 2});
  OperatorCase("DFT", 20)
      .input({1, 3, 2}, {1, 5, 3, 7, 9, 9})
      .constant({}, {2}, kLong)
      .expect({1, 2, 2}, {4, 12, -2, -2});
  // Along the first axis.
  OperatorCase("DFT", 20)
      .input({2, 2, 1}, {1, 2, 3, 5})
      .left_out()
      .constant({}, {0}, kLong)
      .expect({2, 2, 2}, {4, 0, 7, 0, -2, 0, -3, 0});
}

TEST(ImportSignal, InversesGiveTheSignalBack) {
  OperatorCase("DFT", 20)
      .input({1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2})
      .number("inverse", 1)
      .expect({1, 4, 2}, {1, 0, 2, 0, 3, 0, 4, 0});
  OperatorCase("DFT", 20)
      .input({1, 3, 2}, {10, 0, -2, 2, -2, 0})
      .number("inverse", 1)
      .number("onesided", 1)
      .expect({1, 4, 1}, {1, 2, 3, 4});
  // Of odd length, where no result is its own mirror image but the first: 1, 2, 4.
  const double x = -2, y = std::sqrt(3);
  OperatorCase("DFT", 20)
      .input({1, 2, 2}, {7, 0, x, y})
      .constant({}, {3}, kLong)
      .number("inverse", 1)
      .number("onesided", 1)
      .expect({1, 3, 1}, {1, 2, 4});
}

// Sines and cosines of every part of a turn have errors of a few roundings, and are exact where
// they are 0 or 1.
TEST(ImportSignal, CoefficientsAreNearTheirAngles) {
  for (const int n : {1, 2, 3, 5, 8, 12, 31}) {
    std::vector<double> impulse(static_cast<std::size_t>(n), 0);
    impulse[static_cast<std::size_t>(n > 1 ? 1 : 0)] = 1;
    std::vector<double> expected;
    for (int k = 0; k < n; ++k) {
      const double angle = n > 1 ? 2 * std::numbers::pi * k / n : 0;
      expected.push_back(std::cos(angle));
      expected.push_back(-std::sin(angle));
    }
    OperatorCase test("DFT", 20);
    test.input({1, n, 1}, impulse).expect({1, n, 2}, expected, 1e-14);
    for (const Node& node : test.import().graph.nodes)
      if (const auto* const sums = std::get_if<SparseAffine>(&node.op))
        for (std::size_t i = 0; i < sums->value.data.size(); ++i) {
          const double error = sums->value.error_at(i);
          EXPECT_LE(error, 1e-15) << n;
          if (sums->value.data[i] == 1 || sums->value.data[i] == 0) {
            EXPECT_EQ(error, 0) << n;
          }
        }
  }
}

TEST(ImportSignal, FramesOfASignal) {
  OperatorCase("STFT", 17)
      .input({1, 6, 1}, {1, 2, 3, 4, 5, 6})
      .constant({}, {2}, kLong)
      .constant({4}, {1, 1, 1, 1})
      .expect({1, 2, 3, 2}, {10, 0, -2, 2, -2, 0, 18, 0, -2, 2, -2, 0});
  OperatorCase("STFT", 17)
      .input({1, 4, 1}, {1, 2, 3, 4})
      .constant({}, {2}, kLong)
      .constant({2}, {1, 2})
      .number("onesided", 0)
      .expect({1, 2, 2, 2}, {5, 0, -3, 0, 11, 0, -5, 0});
}

TEST(ImportSignal, TransformsAreRefused) {
  OperatorCase("DFT", 20).input({1, 4, 3}, std::vector<double>(12, 1)).expect_refused("BF1014");
  OperatorCase("DFT", 20)
      .input({1, 4, 2}, std::vector<double>(8, 1))
      .number("onesided", 1)
      .expect_refused("BF1014");
  OperatorCase("DFT", 20)
      .input({1, 4, 1}, {1, 2, 3, 4})
      .left_out()
      .constant({}, {2}, kLong)
      .expect_refused("BF1014");
  OperatorCase("DFT", 19)
      .input({1, 4, 1}, {1, 2, 3, 4})
      .left_out()
      .constant({}, {1}, kLong)
      .expect_refused("BF1011");
  OperatorCase("DFT", 20)
      .input({1, 4, 1}, {1, 2, 3, 4})
      .constant({}, {0}, kLong)
      .expect_refused("BF1014");
  OperatorCase("DFT", 20)
      .input({1, 4, 1}, {1, 2, 3, 4})
      .constant({}, {1 << 14}, kLong)
      .expect_refused("BF1026");
  OperatorCase("STFT", 17)
      .input({1, 4, 1}, {1, 2, 3, 4})
      .constant({}, {0}, kLong)
      .expect_refused("BF1014");
}

TEST(ImportSignal, HalvesOfRealNumbersAreRefused) {
  OperatorCase("DFT", 20)
      .input({1, 3, 1}, {1, 2, 3})
      .number("inverse", 1)
      .number("onesided", 1)
      .expect_refused("BF1014");
  OperatorCase("CenterCropPad", 18)
      .input({2, 2}, {1, 2, 3, 4})
      .constant({2}, {1, 1}, kLong)
      .ints("axes", {1, -1})
      .expect_refused("BF1014");
}

TEST(ImportSignal, Windows) {
  OperatorCase("HannWindow", 17).unread().constant({}, {4}, kLong).expect({4}, {0, 0.5, 1, 0.5});
  OperatorCase("HannWindow", 17)
      .unread()
      .constant({}, {3}, kLong)
      .number("periodic", 0)
      .expect({3}, {0, 1, 0});
  OperatorCase("HammingWindow", 17).unread().constant({}, {2}, kLong).expect({2}, {4.0 / 46, 1});
  OperatorCase("BlackmanWindow", 17)
      .unread()
      .constant({}, {4}, kLong)
      .number("output_datatype", 10)
      .expect({4}, {0, 0.34, 1, 0.34});
  OperatorCase("HannWindow", 17)
      .unread()
      .constant({}, {1}, kLong)
      .number("periodic", 0)
      .expect_refused("BF1014");
  OperatorCase("HannWindow", 17)
      .unread()
      .constant({}, {4}, kLong)
      .number("output_datatype", kLong)
      .expect_refused("BF1012");
}

// Two blocks of two that overlap in the middle of three; with a pad, only what lies in the image.
TEST(ImportSignal, FoldsAddUpBlocks) {
  OperatorCase("Col2Im", 18)
      .input({1, 2, 2}, {1, 2, 3, 4})
      .constant({1}, {3}, kLong)
      .constant({1}, {2}, kLong)
      .expect({1, 1, 3}, {1, 5, 4});
  OperatorCase("Col2Im", 18)
      .input({1, 2, 2}, {1, 2, 3, 4})
      .constant({1}, {2}, kLong)
      .constant({1}, {2}, kLong)
      .ints("pads", {1, 1})
      .ints("strides", {2})
      .expect({1, 1, 2}, {3, 2});
  OperatorCase("Col2Im", 18)
      .input({1, 2, 2}, {1, 2, 3, 4})
      .constant({1}, {4}, kLong)
      .constant({1}, {2}, kLong)
      .expect_refused("BF1014");
}

TEST(ImportSignal, ProductsOfWhatStandsBefore) {
  OperatorCase("CumProd", 26)
      .input({2, 3}, {1, 2, 3, 4, 5, 6})
      .constant({}, {1}, kLong)
      .expect({2, 3}, {1, 2, 6, 4, 20, 120});
  OperatorCase("CumProd", 26)
      .input({3, 2}, {1, 2, 3, 4, 5, 6})
      .constant({}, {0}, kLong)
      .number("reverse", 1)
      .number("exclusive", 1)
      .expect({3, 2}, {15, 24, 5, 6, 1, 1});
  OperatorCase("CumProd", 26)
      .input({1, 257}, std::vector<double>(257, 1))
      .constant({}, {1}, kLong)
      .expect_refused("BF1026");
}

TEST(ImportSignal, CachesAreWrittenFromARowOn) {
  const std::vector<double> cache = {1, 2, 3, 4, 5, 6, 7, 8};
  OperatorCase("TensorScatter", 24)
      .input({2, 4, 1}, cache)
      .input({2, 2, 1}, {10, 20, 30, 40})
      .constant({2}, {1, 2}, kLong)
      .expect({2, 4, 1}, {1, 10, 20, 4, 5, 6, 30, 40});
  OperatorCase("TensorScatter", 24)
      .input({2, 4, 1}, cache)
      .input({2, 2, 1}, {10, 20, 30, 40})
      .constant({2}, {3, 0}, kLong)
      .text("mode", "circular")
      .expect({2, 4, 1}, {20, 2, 3, 10, 30, 40, 7, 8});
  OperatorCase("TensorScatter", 24)
      .input({2, 4, 1}, cache)
      .input({2, 2, 1}, {10, 20, 30, 40})
      .constant({2}, {3, 0}, kLong)
      .expect_refused("BF1014");
  OperatorCase("TensorScatter", 24)
      .input({2, 4, 1}, cache)
      .input({2, 4, 1}, cache)
      .number("axis", 0)
      .expect_refused("BF1012");
}

TEST(ImportSignal, MiddlesAreCutOrPadded) {
  OperatorCase("CenterCropPad", 18)
      .input({5, 1}, {1, 2, 3, 4, 5})
      .constant({2}, {2, 4}, kLong)
      .expect({2, 4}, {0, 2, 0, 0, 0, 3, 0, 0});
}

TEST(ImportSignal, KindsOfAConstant) {
  const auto unique = [](int output) {
    OperatorCase test("Unique", 11);
    test.unread().constant({6}, {2, 1, 1, 3, 4, 3}).output(output);
    return test;
  };
  unique(0).expect({4}, {1, 2, 3, 4});
  unique(1).expect({4}, {1, 0, 3, 4});
  unique(2).expect({6}, {1, 0, 0, 2, 3, 2});
  unique(3).expect({4}, {2, 1, 2, 1});
  unique(0).number("sorted", 0).expect({4}, {2, 1, 3, 4});
  OperatorCase("Unique", 11)
      .unread()
      .constant({3, 2}, {5, 0, 2, 3, 5, 0})
      .number("axis", 0)
      .expect({2, 2}, {2, 3, 5, 0});
  OperatorCase("Unique", 11).input({2}, {1, 2}).expect_refused("BF1018");
}

// JAX's exporter pools with the batch as one of the axes.
TEST(ImportSignal, PoolsOverOuterAxes) {
  OperatorCase("MaxPool", 17)
      .input({1, 1, 2, 2, 2, 1}, {1, 2, 3, 4, 8, 7, 6, 5})
      .ints("kernel_shape", {1, 2, 2, 1})
      .expect({1, 1, 2, 1, 1, 1}, {4, 8});
  OperatorCase("AveragePool", 17)
      .input({1, 1, 2, 2, 2, 1}, {1, 2, 3, 4, 8, 7, 6, 5})
      .ints("kernel_shape", {1, 2, 2, 1})
      .expect({1, 1, 2, 1, 1, 1}, {2.5, 6.5});
  OperatorCase("MaxPool", 17)
      .input({1, 1, 2, 2, 2, 1}, {1, 2, 3, 4, 8, 7, 6, 5})
      .ints("kernel_shape", {2, 2, 2, 1})
      .expect_refused("BF1014");
}

}  // namespace
}  // namespace bf_aot
