#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/machine/target.h"

namespace bf_aot::build {

// The machine that an object file in ELF format is for, as its head says.
struct ObjectMachine {
  int number = 0;  // e_machine
  int bits = 0;    // 32 or 64
  bool operator==(const ObjectMachine&) const = default;
};

// The machine of code for the target. None for "generic": any.
std::optional<ObjectMachine> machine_of(const Target& target);

// The flags by which clang makes code for a target that is not the host.
std::vector<std::string> clang_flags(const Target& target);

// Checks that an object is for this machine. Throws: BF3203.
void expect_machine(const std::filesystem::path& object, const ObjectMachine& machine);

}  // namespace bf_aot::build
