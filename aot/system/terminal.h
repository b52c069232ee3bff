#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Settings of the text that people read: colour, how much of it there is, and where its pages are.

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
  Look look_;
  bool coloured_;
};

// The amount of text on standard error besides errors, in the whole process.
enum class Verbosity : std::uint8_t {
  kQuiet,    // nothing
  kNormal,   // progress where standard error is a terminal
  kVerbose,  // steps and their times everywhere
};
void set_verbosity(Verbosity verbosity);
Verbosity verbosity();

// Returns whether lines that are rewritten may be shown.
bool shows_progress();

// The path of a file of docs/, given relative to docs/: that of the installed file, else of the one
// in the source tree.
std::string document(std::string_view page);

// The text with each "docs/..." replaced by what document() gives.
std::string with_documents(std::string_view text);

}  // namespace bf_aot::system
