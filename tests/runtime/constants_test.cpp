// Tables that the compiler knows and the routines copy: note [copies of constants] in vectors.h.

#include <gtest/gtest.h>

#include "runtime/bf/sums/terms.h"

namespace bf_test {
namespace {

constexpr int kCount = 18;

// As verifiers have them: of their own file, aligned, no power of two long.
#define BF_TABLE(equal, rest, last)                                                           \
  {                                                                                           \
    equal, equal, equal, equal, equal, equal, rest, rest, rest, rest, rest, rest, last, last, \
        last, last, last, last                                                                \
  }
alignas(64) constexpr double kZerosInside[kCount] = BF_TABLE(2, 0, 1);
alignas(64) constexpr double kZerosLast[kCount] = BF_TABLE(1, 2, 0);
alignas(64) constexpr double kZerosFirst[kCount] = BF_TABLE(0, 1, 0);
alignas(64) constexpr double kOneOnly[kCount] = {1};
alignas(64) constexpr double kFourOnly[kCount] = {0.5, 0.5, 0.5, 0.5};
alignas(64) constexpr double kNoZeros[kCount] = BF_TABLE(2, 1, -1);

// As an entry point calls it, for buffers that it knows nothing of.
#define BF_START(table)                                                         \
  __attribute__((noinline)) void start_##table(double* centre, float* radius) { \
    bf::start_sum(table, kCount, 1, centre, radius);                            \
  }
BF_START(kZerosInside)
BF_START(kZerosLast)
BF_START(kZerosFirst)
BF_START(kOneOnly)
BF_START(kFourOnly)
BF_START(kNoZeros)

void check_table(void (*start)(double*, float*), const double* table) {
  double centre[kCount];
  float radius[kCount];
  start(centre, radius);
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(centre[i], bf::pinned(table)[i]) << i;  // the compiler does not know what is expected
    EXPECT_EQ(radius[i], 0) << i;
  }
}

TEST(Constants, BiasesAreCopiedUnchanged) {
  check_table(start_kZerosInside, kZerosInside);
  check_table(start_kZerosLast, kZerosLast);
  check_table(start_kZerosFirst, kZerosFirst);
  check_table(start_kOneOnly, kOneOnly);
  check_table(start_kFourOnly, kFourOnly);
  check_table(start_kNoZeros, kNoZeros);
}

}  // namespace
}  // namespace bf_test
