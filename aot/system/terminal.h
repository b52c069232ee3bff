#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// What is written for a person to read: colour, how much of it, and where its pages are.

namespace bf_aot::system {

enum class Stream : std::uint8_t { kOutput, kErrors };
bool is_terminal(Stream stream);

// Makes text bold or red on a terminal, unless NO_COLOR is set or TERM is "dumb".
class Style {
 public:
  enum Look : std::uint8_t { kBold, kError };
  Style(Look look, Stream stream);

  std::string operator()(std::string_view text) const;

 private:
  std::string_view begin_;  // empty: plain
};

// What goes to standard error besides errors; of the whole process.
enum class Verbosity : std::uint8_t {
  kQuiet,    // nothing
  kNormal,   // progress where that is a terminal
  kVerbose,  // steps and their times everywhere
};
void set_verbosity(Verbosity verbosity);
Verbosity verbosity();

// Whether lines that are rewritten may be shown.
bool shows_progress();

// A file of docs/, named from there: the installed one, else the one in the source tree.
std::string document(std::string_view page);

// `text` with "docs/..." as document() has it.
std::string with_documents(std::string_view text);

}  // namespace bf_aot::system
