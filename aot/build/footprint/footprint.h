#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/footprint/library_stack.h"
#include "aot/build/library.h"

namespace bf_aot::build {

// The memory that a built verifier takes.
struct Footprint {
  std::int64_t text = 0;              // bytes of code and constants: flash
  std::int64_t code = 0;              // the part of `text` that is code
  std::int64_t data = 0;              // bytes of initialised variables
  std::int64_t zeroed = 0;            // bytes of zeroed variables
  std::optional<std::int64_t> stack;  // an upper bound; none when the compiler does not say
  // The bytes of the functions of libgcc that the verifier needs, on a board.
  std::optional<std::int64_t> library_bytes;
  // `stack` is that of the deepest chain of calls, not the sum of all frames.
  bool stack_by_calls = false;
  std::vector<std::string> calls;      // functions that it calls and does not hold, in order
  std::vector<std::string> uncounted;  // those of `calls` whose frames are not in `stack`
  // All objects of libraries that a linker takes for `calls`, on a board.
  std::optional<std::vector<LibraryObject>> library;
};

// Measures lib<stem>.a in `folder`, made of the files there, with `size` and `nm`. The stack bound
// is that of the deepest chain of calls where the compiler writes a call graph (GCC), else the sum
// of all frames: no generated function recurses, so a chain holds each at most once. On a board,
// frames of libgcc's functions are in it.
Footprint measure_footprint(const Toolchain& toolchain, const std::filesystem::path& folder,
                            const std::string& stem, const std::vector<emit::EmittedFile>& files,
                            const Target& target);

// Adds to a manifest how the library was made: {"compiler", "flags", "code_bytes"} under "build",
// and if there is a footprint "flash_bytes", "library_bytes", "data_bytes", "zeroed_bytes",
// "stack_bytes", "calls", "uncounted", "library". toolchain null: the compiler is null.
std::string add_build_record(const std::string& manifest, const Toolchain* toolchain,
                             std::optional<std::int64_t> code,
                             const std::optional<Footprint>& footprint = {});

// The bytes of machine code, which are the sections .text of a shared object or of all objects of
// an archive; none when `size` does not say.
std::optional<std::int64_t> code_bytes(const std::filesystem::path& library,
                                       const Toolchain& toolchain);

}  // namespace bf_aot::build
