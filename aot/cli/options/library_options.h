#pragma once

#include <string>

#include "aot/library/bf_aot.h"

// Options as the library has them.

namespace bf_aot::cli {

// "crown-ibp"; one of the library's methods.
api::Method library_method(const std::string& name);

// "outputs" or "all"; "auto", "off" or "wait".
api::AlphaRows library_alpha(const std::string& name);
api::Jit library_jit(const std::string& name);

// "real", "float32" or "float32-exact"; the flag is for float32. Throws: BF3315 with another.
api::Semantics library_semantics(const std::string& name, bool flush_to_zero);

}  // namespace bf_aot::cli
