#pragma once

#include <string>

namespace bf_aot {

// Breaks lines of C++ code that are longer than 100 columns: after a comma or before an operator,
// as far out of parentheses as possible, or else before a call's arguments; what follows is
// indented by four more. Comments and preprocessor lines stay as they are.
std::string wrap_lines(const std::string& text);

}  // namespace bf_aot
