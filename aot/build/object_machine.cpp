#include "aot/build/object_machine.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string_view>

#include "frontend/diagnostic.h"

namespace bf_aot::build {
namespace {

constexpr int kArm = 40, kX86 = 62, kAarch64 = 183, kRiscv = 243;

std::string name_of(const ObjectMachine& machine) {
  const std::string_view name = machine.number == kArm       ? "Arm"
                                : machine.number == kX86     ? "x86-64"
                                : machine.number == kAarch64 ? "AArch64"
                                : machine.number == kRiscv   ? "RISC-V"
                                                             : "";
  return name.empty() ? fmt::format("machine {} of {} bits", machine.number, machine.bits)
                      : fmt::format("{} of {} bits", name, machine.bits);
}

// None where the file is no ELF object, as with link-time optimisation.
std::optional<ObjectMachine> read_machine(const std::filesystem::path& object) {
  std::array<char, 20> head = {};
  std::ifstream stream(object, std::ios::binary);
  if (!stream.read(head.data(), head.size())) return std::nullopt;
  if (std::string_view(head.data(), 4) !=
      "\x7f"
      "ELF")
    return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(head[at]); };
  const bool big_endian = byte(5) == 2;
  const int number = big_endian ? byte(18) << 8 | byte(19) : byte(19) << 8 | byte(18);
  return ObjectMachine{number, byte(4) == 1 ? 32 : 64};
}

}  // namespace

std::optional<ObjectMachine> machine_of(const Target& target) {
  if (target.name.starts_with("x86-64")) return ObjectMachine{kX86, 64};
  if (target.gnu_system == "aarch64-linux-gnu") return ObjectMachine{kAarch64, 64};
  if (target.gnu_system == "arm-none-eabi") return ObjectMachine{kArm, 32};
  if (target.name == "riscv64") return ObjectMachine{kRiscv, 64};
  if (target.name == "riscv32") return ObjectMachine{kRiscv, 32};
  return std::nullopt;
}

std::vector<std::string> clang_flags(const Target& target) {
  if (target.gnu_system.empty() || target.name == find_target("host").name) return {};
  // GCC's compiler of 64 bits makes code of 32, too.
  const std::string system = target.name == "riscv32" ? "riscv32-unknown-elf" : target.gnu_system;
  return {"--target=" + system};
}

void expect_machine(const std::filesystem::path& object, const ObjectMachine& machine) {
  const std::optional<ObjectMachine> made = read_machine(object);
  if (made && *made != machine)
    fail("BF3203", "--cxx",
         fmt::format("the compiler makes code for {}, and the target is {}", name_of(*made),
                     name_of(machine)),
         "name a compiler for the target with --cxx, or leave --cxx out");
}

}  // namespace bf_aot::build
