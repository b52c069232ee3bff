#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aot/host/library.h"

namespace bf_aot::cli {

// What a built verifier takes.
struct Footprint {
  std::int64_t text = 0;              // bytes of code and constants: flash
  std::int64_t data = 0;              // bytes of initialised variables
  std::int64_t zeroed = 0;            // bytes of zeroed variables
  std::optional<std::int64_t> stack;  // an upper bound; none when the compiler does not say
};

// Measures lib<stem>.a in `folder` with `size`. The stack bound is the sum of all frames that the
// compiler reports (-fstack-usage): no generated function recurses, so a call chain holds each at
// most once.
Footprint measure_footprint(const Toolchain& toolchain, const std::filesystem::path& folder,
                            const std::string& stem);

// Bytes of machine code, the sections .text of a shared object or of all objects of an archive;
// nothing when `size` does not say.
std::optional<std::int64_t> code_bytes(const std::filesystem::path& library,
                                       const Toolchain& toolchain);

}  // namespace bf_aot::cli
