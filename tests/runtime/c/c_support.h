#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "bf/functions/float_functions.h"
#include "tests/runtime/terms_random.h"

// The routines of runtime/bf/c against those of runtime/bf: equal bits, on random numbers and on
// numbers at the edges. A NaN is equal to any other: which one an operation makes is the
// processor's choice.

namespace bf_test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ints = std::vector<std::int32_t>;

inline std::size_t size(int n) {
  return static_cast<std::size_t>(n);
}

inline bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}
inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}
inline bool same_bits(std::int32_t a, std::int32_t b) {
  return a == b;
}

template <class T>
::testing::AssertionResult same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "of other sizes";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i]))
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << ", " << b[i];
  return ::testing::AssertionSuccess();
}

// Random numbers of which some lie at an edge: zeros, subnormals, the largest, infinite, NaN.
class Edges : public Random {
 public:
  explicit Edges(unsigned seed) : Random(seed), wild_(seed % 2 == 1) {}

  float edge() {
    constexpr float kEdges[] = {0.0F,
                                -0.0F,
                                0x1p-149F,
                                -0x1p-149F,
                                0x1.fffffcp-127F,
                                0x1p-126F,
                                1.0F,
                                -1.0F,
                                0x1.fffffep127F,
                                -0x1.fffffep127F,
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
    return kEdges[below(static_cast<int>(std::size(kEdges)))];
  }
  double double_edge() {
    constexpr double kEdges[] = {0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023,
                                 -0x1.fffffffffffffp1023};
    return below(2) == 0 ? static_cast<double>(edge())
                         : kEdges[below(static_cast<int>(std::size(kEdges)))];
  }

  Numbers kind() { return kAllNumbers[below(5)]; }

  // In every second run some numbers are at an edge.
  std::vector<float> floats(std::int64_t n) {
    std::vector<float> made = numbers(n, kind());
    for (float& x : made)
      if (wild_ && below(8) == 0) x = edge();
    return made;
  }
  std::vector<float> sizes(std::int64_t n) {
    std::vector<float> made = floats(n);
    for (float& x : made) x = std::fabs(x);
    return made;
  }
  std::vector<double> doubles(std::int64_t n) {
    std::vector<double> made = centres(n, kind());
    for (double& x : made)
      if (wild_ && below(8) == 0) x = double_edge();
    return made;
  }

 private:
  bool wild_;
};

constexpr unsigned kRounds = 100;

// Calls test(edges) with so many seeds.
template <class Test>
void for_seeds(const Test& test, unsigned rounds = kRounds) {
  for (unsigned seed = 0; seed < rounds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Edges edges(seed);
    test(edges);
  }
}

}  // namespace bf_test

#undef BF_RESTRICT  // C++'s, which core.h defines anew
#define restrict __restrict

// The types of runtime/bf/c, and its functions as C++ reads them: never called.
namespace declared {
// NOLINTBEGIN: C
#include "bf/c/backward.h"
#include "bf/c/ball_layers.h"
#include "bf/c/balls.h"
#include "bf/c/bounds.h"
#include "bf/c/checks.h"
#include "bf/c/choices/mixed_planes.h"
#include "bf/c/choices/mixtures.h"
#include "bf/c/choices/slopes.h"
#include "bf/c/contraction.h"
#include "bf/c/conv.h"
#include "bf/c/conv_backward.h"
#include "bf/c/core.h"
#include "bf/c/float_functions.h"
#include "bf/c/function_lines.h"
#include "bf/c/function_steps.h"
#include "bf/c/function_table.h"
#include "bf/c/functions.h"
#include "bf/c/intervals.h"
#include "bf/c/log_softmax.h"
#include "bf/c/planes.h"
#include "bf/c/relax.h"
#include "bf/c/row_windows.h"
#include "bf/c/spans.h"
#include "bf/c/terms.h"
#include "bf/c/verdict.h"
// NOLINTEND
}  // namespace declared

#undef restrict

namespace bf_test {

// A shape as C has it: fields are in the same order.
inline declared::bf_conv_shape c_shape(const bf::ConvShape& shape) {
  static_assert(sizeof(declared::bf_conv_shape) == sizeof shape);
  return std::bit_cast<declared::bf_conv_shape>(shape);
}

}  // namespace bf_test

// c_NAME: the function bf_NAME of c_routines.c. A pointer, so that the one declared above is not
// found by its arguments' types.
#define C_ROUTINE(name)                               \
  extern "C" decltype(declared::bf_##name) bf_##name; \
  constexpr auto* c_##name = &::bf_##name
