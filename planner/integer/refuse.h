#pragma once

#include <string>

namespace bf_aot {

// Throw CompileError. `origin`: the nodes that it is about.

// BF2113: something that integers do not compute.
[[noreturn]] void refuse_integers(const std::string& origin, const std::string& why);

// BF2113: a condition of a property that integers do not decide.
[[noreturn]] void refuse_property(const std::string& where, const std::string& why);

// BF2113: something that method crown over codes does not bound.
[[noreturn]] void refuse_crown(const std::string& origin, const std::string& why);

// BF2115: constants that are not known well enough.
[[noreturn]] void refuse_loose_constants(const std::string& origin);

}  // namespace bf_aot
