// Facts of the table of targets, against the flags and against the compilers that are here.

#include "planner/machine/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "frontend/diagnostic.h"
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
    if (const std::string macros = macros_of(target); !macros.empty()) {
      EXPECT_EQ(target.float_unit, unit_of(macros)) << name;
    }
  }
}

// A level in the environment, for one test.
class Level {
 public:
  explicit Level(const char* name) {
    if (const char* const before = std::getenv("BF_AOT_LEVEL")) before_ = before;
    setenv("BF_AOT_LEVEL", name, 1);
  }
  ~Level() {
    if (before_.empty())
      unsetenv("BF_AOT_LEVEL");
    else
      setenv("BF_AOT_LEVEL", before_.c_str(), 1);
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  std::string before_;
};

std::string refusal() {
  try {
    find_target("host");
  } catch (const CompileError& error) {
    return error.diagnostics().front().code + " " + error.diagnostics().front().where;
  }
  return {};
}

TEST(Targets, HostIsALesserLevelOfTheEnvironment) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "levels are those of x86-64";
#endif
  const std::string has = [] {
    const Level none("");
    return find_target("host").name;
  }();
  {
    const Level least("x86-64");
    EXPECT_EQ(find_target("host").name, "x86-64");
    EXPECT_EQ(find_target("host").vector_bytes, 16);
  }
  for (const char* more : {"x86-64-v3", "x86-64-v4"}) {
    const Level level(more);
    if (has < more)
      EXPECT_EQ(refusal(), "BF2101 BF_AOT_LEVEL") << more;
    else
      EXPECT_EQ(find_target("host").name, more);
  }
  for (const char* wrong : {"x86-64-v5", "sse2", "host", "cortex-m4"}) {
    const Level level(wrong);
    EXPECT_EQ(refusal(), "BF2101 BF_AOT_LEVEL") << wrong;
  }
}

}  // namespace
}  // namespace bf_aot
