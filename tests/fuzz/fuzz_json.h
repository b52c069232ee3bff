#pragma once

#include <string_view>

namespace bf_aot::test {

// Reads the text as a file of boxes, of a specification, of reference bounds and of options. Only
// CompileError may escape, and what is accepted must be well-formed: boxes in order and finite,
// rows of one length. True: one of the readers accepted it.
bool try_json(std::string_view text);

}  // namespace bf_aot::test
