// Facts of the table of targets, against the flags and against the compilers that are here.

#include "planner/machine/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "planner/machine/machine_profile.h"

namespace bf_aot {
namespace {

struct ClosePipe {
  void operator()(std::FILE* file) const { pclose(file); }
};

// The macros that the target's compiler defines; empty when it is not here.
std::string macros_of(const Target& target) {
  std::string command = target.gnu_system + "-g++";
  for (const std::string& flag : target.flags) command += " " + flag;
  command += " -dM -E -x c++ /dev/null 2>/dev/null";
  const std::unique_ptr<std::FILE, ClosePipe> pipe(popen(command.c_str(), "r"));
  std::string text = "\n";
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get()))
    text += static_cast<char>(c);
  return text.size() > 1 ? text : std::string();
}

// 0 where it is not defined.
int value_of(const std::string& macros, const std::string& name) {
  const std::string head = "\n#define " + name + " ";
  const std::size_t at = macros.find(head);
  return at == std::string::npos ? 0 : std::stoi(macros.substr(at + head.size()), nullptr, 0);
}

FloatUnit unit_of(const std::string& macros) {
  const bool arm = macros.find("\n#define __ARM_ARCH ") != std::string::npos;
  const int arm_types = value_of(macros, "__ARM_FP");  // bit 2: float, bit 3: double
  const int risc_bits = value_of(macros, "__riscv_flen");
  if (arm ? (arm_types & 8) != 0 : risc_bits == 64) return FloatUnit::kDouble;
  return (arm ? (arm_types & 4) != 0 : risc_bits == 32) ? FloatUnit::kSingle : FloatUnit::kNone;
}

TEST(Targets, FloatUnitsAreThoseOfTheFlags) {
  for (const std::string& name : target_names()) {
    const Target target = find_target(name);
    const auto has = [&](const std::string& part) {
      return std::ranges::any_of(target.flags, [&](const std::string& flag) {
        return flag.find(part) != std::string::npos;
      });
    };
    const bool soft = has("-mfloat-abi=soft") || has("-mabi=ilp32");
    EXPECT_EQ(target.hardware_float(), !soft) << name;
    EXPECT_EQ(target.float_unit == FloatUnit::kSingle, has("-sp-")) << name;
    EXPECT_EQ(find_profile(target.name).target, target.name);
  }
}

TEST(Targets, FloatUnitsAreThoseOfTheCompilers) {
  for (const std::string& name : target_names()) {
    const Target target = find_target(name);
    if (target.gnu_system.empty()) continue;
    if (const std::string macros = macros_of(target); !macros.empty())
      EXPECT_EQ(target.float_unit, unit_of(macros)) << name;
  }
}

}  // namespace
}  // namespace bf_aot
