#pragma once

#include <string>

#include "aot/library/bf_aot.h"

// Converts values of options to the library's types.

namespace bf_aot::cli {

// The library's method of this name: "crown-ibp".
api::Method library_method(const std::string& name);

// The values of the names "outputs" or "all", and of "auto", "off" or "wait".
api::AlphaRows library_alpha(const std::string& name);
api::Jit library_jit(const std::string& name);

// The value of the name "real", "float32" or "float32-exact". flush_to_zero: allowed with float32
// alone. Throws: BF3315 with another.
api::Semantics library_semantics(const std::string& name, bool flush_to_zero);

}  // namespace bf_aot::cli
