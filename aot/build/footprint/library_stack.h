#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bf_aot::build {

// The most stack, in bytes, that calls of these functions of an archive take. It is found in the
// archive's code: for each object the sum of all that it pushes, along the deepest chain of objects
// that need each other. Functions that the archive does not define count as 0. None when an object
// moves the stack pointer by an amount that is not written in its code, or when objects need each
// other in a circle.
//
// disassembly, symbols: what GNU objdump -d and nm -g print of an archive for Arm or RISC-V.
std::optional<std::int64_t> library_stack(const std::string& disassembly,
                                          const std::string& symbols,
                                          const std::vector<std::string>& calls);

// The functions of `calls` that an archive with these symbols does not define.
std::vector<std::string> not_in_library(const std::string& symbols,
                                        const std::vector<std::string>& calls);

// An object of an archive that a linker took.
struct LibraryObject {
  std::string archive, object;         // "libgcc.a", "_arm_muldf3.o"
  std::int64_t bytes = 0;              // code, constants and variables
  std::vector<std::string> functions;  // those of `calls` that it defines
  bool operator==(const LibraryObject&) const = default;
};

// The objects that GNU ld's map names, in its order, without those of the archive `own`.
std::vector<LibraryObject> library_objects(const std::string& map, const std::string& own,
                                           const std::vector<std::string>& calls);

}  // namespace bf_aot::build
