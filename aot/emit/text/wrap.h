#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aot/emit/text/emitted_file.h"

namespace bf_aot::emit {

inline constexpr std::size_t kColumns = 100;  // of a line of code

// Breaks lines that are longer than 100 columns. Code is broken after a comma or an operator, or
// behind an opening parenthesis, where the nesting is least; what follows is aligned with what the
// bracket around it holds, or indented by four. The statement of an if goes to a line of its own. A
// comment behind code goes before it. Strings and preprocessor lines stay as they are. A text that
// was wrapped stays as it is.
std::string wrap_lines(const std::string& text);

// Wraps the lines of C and C++ files.
void wrap_files(std::vector<EmittedFile>& files);

}  // namespace bf_aot::emit
