#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bf_aot::emit {

// Lines that mark what the lines of generated code between them are for. They may nest, and are
// taken out before a compiler or a reader sees the code.
std::string begin_mark(std::string_view what);
std::string end_mark();

// `text` between marks where they are wanted, else as it is.
std::string marked(bool wanted, std::string_view what, const std::string& text);

// Lines of a text, counted from 1, both included.
struct MarkedLines {
  std::string what;
  int first = 0, last = 0;
  bool operator==(const MarkedLines&) const = default;
};

// Takes all marks out of a text, and returns the lines that each was around, without the empty ones
// at both ends, in the order of their ends. A mark around no other line is left out.
std::vector<MarkedLines> take_marks(std::string& text);

}  // namespace bf_aot::emit
