#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bf_aot {

// The type up to which sums and products are instructions; those of wider types are calls of a
// library.
enum class FloatUnit : std::uint8_t { kNone, kSingle, kDouble };

// A machine that generated code is scheduled for.
struct Target {
  std::string name;      // "x86-64-v4", "cortex-m4", "generic"
  int vector_bytes = 4;  // native vector; 4 means scalar code
  int vector_registers = 16;
  FloatUnit float_unit = FloatUnit::kDouble;
  int align = 16;                  // of the workspace and the weight tables, bytes
  std::vector<std::string> flags;  // what the C++ compiler is given, "-march=x86-64-v4"
  std::string gnu_system = "";     // of a cross compiler: "arm-none-eabi"; empty: the host's serves
  std::string qemu_board = "";     // without operating system: QEMU's machine with such a core

  bool hardware_float() const { return float_unit != FloatUnit::kNone; }
  // A target without it emulates double, which is then used where nothing else serves.
  bool hardware_double() const { return float_unit == FloatUnit::kDouble; }
  bool operator==(const Target&) const = default;
};

// Known targets: "generic"; "x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "cortex-a53",
// "cortex-a7", "cortex-a9", "riscv64"; the devices "opencl" and "cuda"; without operating system
// "riscv32", "cortex-m0plus", "cortex-m23", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33",
// "cortex-m55", "cortex-m85", "cortex-r5"; "host" is resolved to one of them: what this processor
// has, or the lesser level of x86-64 that the environment variable BF_AOT_LEVEL names. Throws:
// CompileError BF2101.
Target find_target(std::string_view name);
std::vector<std::string> target_names();

}  // namespace bf_aot
