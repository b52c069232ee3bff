#include "planner/machine/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

// Flags keep IEEE semantics: contraction into FMA is allowed (every error term covers it), nothing
// else that changes a result is.
const std::vector<Target>& targets() {
  static const std::vector<Target> table = {
      {"generic", 4, 16, FloatUnit::kDouble, 16, {}},
      {"x86-64", 16, 16, FloatUnit::kDouble, 16, {"-march=x86-64"}},
      {"x86-64-v3", 32, 16, FloatUnit::kDouble, 32, {"-march=x86-64-v3"}},
      {"x86-64-v4",
       64,
       32,
       FloatUnit::kDouble,
       64,
       {"-march=x86-64-v4", "-mprefer-vector-width=512"}},
      {"aarch64", 16, 32, FloatUnit::kDouble, 16, {"-march=armv8-a"}, "aarch64-linux-gnu"},
      {"riscv64",
       4,
       32,
       FloatUnit::kDouble,
       16,
       {"-march=rv64gc", "-mabi=lp64d"},
       "riscv64-linux-gnu"},
      {"cortex-a53", 16, 32, FloatUnit::kDouble, 16, {"-mcpu=cortex-a53"}, "aarch64-linux-gnu"},
      // The vectors of ARMv7 (NEON) flush subnormals, so these two compute by VFP.
      {"cortex-a7",
       4,
       32,
       FloatUnit::kDouble,
       8,
       {"-mcpu=cortex-a7", "-mfpu=vfpv4", "-mfloat-abi=hard"},
       "arm-linux-gnueabihf"},
      {"cortex-a9",
       4,
       32,
       FloatUnit::kDouble,
       8,
       {"-mcpu=cortex-a9", "-mfpu=vfpv3", "-mfloat-abi=hard"},
       "arm-linux-gnueabihf"},
      // Devices, which compile for themselves: flags are those of the host's own code.
      {"opencl", 4, 16, FloatUnit::kDouble, 64, {}},
      {"cuda", 4, 16, FloatUnit::kDouble, 64, {}},
      {"riscv32",
       4,
       16,
       FloatUnit::kNone,
       8,
       {"-march=rv32imac", "-mabi=ilp32"},
       "riscv64-unknown-elf",
       "virt"},
      {"cortex-m0plus",
       4,
       16,
       FloatUnit::kNone,
       8,
       {"-mcpu=cortex-m0plus", "-mthumb", "-mfloat-abi=soft"},
       "arm-none-eabi",
       "microbit"},
      {"cortex-m23",
       4,
       16,
       FloatUnit::kNone,
       8,
       {"-mcpu=cortex-m23", "-mthumb", "-mfloat-abi=soft"},
       "arm-none-eabi",
       "mps2-an505"},
      {"cortex-m3",
       4,
       16,
       FloatUnit::kNone,
       8,
       {"-mcpu=cortex-m3", "-mthumb", "-mfloat-abi=soft"},
       "arm-none-eabi",
       "mps2-an385"},
      {"cortex-m4",
       4,
       32,
       FloatUnit::kSingle,
       8,
       {"-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"},
       "arm-none-eabi",
       "mps2-an386"},
      {"cortex-m7",
       4,
       32,
       FloatUnit::kDouble,
       8,
       {"-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard"},
       "arm-none-eabi",
       "mps2-an500"},
      {"cortex-m33",
       4,
       32,
       FloatUnit::kSingle,
       8,
       {"-mcpu=cortex-m33", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"},
       "arm-none-eabi",
       "mps2-an505"},
      // The Cortex-M55 is used without Helium, whose float arithmetic flushes subnormals whatever
      // FPSCR says: no error term covers that. GCC uses it from -O3 on; runtime/bf/core/rounding.h
      // refuses it.
      {"cortex-m55",
       4,
       32,
       FloatUnit::kDouble,
       8,
       {"-mcpu=cortex-m55+nomve", "-mthumb", "-mfloat-abi=hard"},
       "arm-none-eabi",
       "mps3-an547"},
      // Compilers before GCC 13 do not know a Cortex-M85, which runs the code of a Cortex-M55.
      {"cortex-m85",
       4,
       32,
       FloatUnit::kDouble,
       8,
       {"-mcpu=cortex-m55+nomve", "-mthumb", "-mfloat-abi=hard"},
       "arm-none-eabi",
       "mps3-an547"},
      {"cortex-r5",
       4,
       32,
       FloatUnit::kDouble,
       8,
       {"-mcpu=cortex-r5", "-mthumb", "-mfpu=vfpv3-d16", "-mfloat-abi=hard"},
       "arm-none-eabi",
       "versatilepb"},
  };
  return table;
}

std::string_view processor_name() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return "x86-64-v4";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "x86-64-v3";
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv_float_abi_double) && __riscv_xlen == 64
  return "riscv64";
#else
  return "generic";
#endif
}

// The processor's, or the lesser one of x86-64 that the environment names.
std::string_view host_name() {
  const std::string_view has = processor_name();
  const char* const wanted = std::getenv("BF_AOT_LEVEL");
  if (wanted == nullptr || *wanted == '\0') return has;
  for (const std::string_view each : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
    if (has.substr(0, 6) != "x86-64") break;
    if (each == wanted) return each;
    if (each == has) break;
  }
  fail("BF2101", "BF_AOT_LEVEL",
       fmt::format("the environment asks for '{}', and this processor is {}", wanted, has),
       "unset BF_AOT_LEVEL, or name a lesser level of x86-64: x86-64, x86-64-v3");
}

}  // namespace

std::vector<std::string> target_names() {
  std::vector<std::string> names = {"host"};
  for (const Target& target : targets()) names.push_back(target.name);
  return names;
}

Target find_target(std::string_view name) {
  if (name == "host") name = host_name();
  for (const Target& target : targets())
    if (target.name == name) return target;
  fail("BF2101", "", fmt::format("unknown target '{}'", name),
       fmt::format("use one of: {}", fmt::join(target_names(), ", ")));
}

}  // namespace bf_aot
