#include "bf/core/cpu.h"

#include <gtest/gtest.h>

namespace {

constexpr bf::X86Features kAll = {~0U, ~0U, ~0U, ~0ULL};

TEST(Cpu, AllFeaturesAreTheHighestLevel) {
  EXPECT_EQ(bf::x86_level(kAll), 4);
  EXPECT_EQ(bf::x86_level(bf::X86Features{}), 1);
}

TEST(Cpu, EveryFeatureOfALevelIsNeeded) {
  for (const int bit : {0, 9, 12, 13, 19, 20, 22, 23, 27, 28, 29}) {
    bf::X86Features cpu = kAll;
    cpu.basic &= ~(1U << bit);
    EXPECT_EQ(bf::x86_level(cpu), 1) << "leaf 1, bit " << bit;
  }
  for (const int bit : {0, 5}) {
    bf::X86Features cpu = kAll;
    cpu.extended &= ~(1U << bit);
    EXPECT_EQ(bf::x86_level(cpu), 1) << "leaf 0x80000001, bit " << bit;
  }
  for (const int bit : {3, 5, 8}) {
    bf::X86Features cpu = kAll;
    cpu.structured &= ~(1U << bit);
    EXPECT_EQ(bf::x86_level(cpu), 1) << "leaf 7, bit " << bit;
  }
  for (const int bit : {16, 17, 28, 30, 31}) {
    bf::X86Features cpu = kAll;
    cpu.structured &= ~(1U << bit);
    EXPECT_EQ(bf::x86_level(cpu), 3) << "leaf 7, bit " << bit;
  }
}

TEST(Cpu, TheSystemMustSaveTheRegisters) {
  bf::X86Features cpu = kAll;
  cpu.saved = 0x3;  // no upper halves
  EXPECT_EQ(bf::x86_level(cpu), 1);
  cpu.saved = 0x7;
  EXPECT_EQ(bf::x86_level(cpu), 3);
  cpu.saved = 0xe7;
  EXPECT_EQ(bf::x86_level(cpu), 4);
}

TEST(Cpu, AgreesWithTheCompiler) {
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const int level = bf::x86_level(bf::read_x86_features());
  EXPECT_EQ(level >= 4, v4);
  EXPECT_EQ(level >= 3, v3);
}

}  // namespace
