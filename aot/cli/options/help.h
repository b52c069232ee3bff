#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/cli/options/command_line.h"

namespace bf_aot::cli {

inline constexpr std::size_t kHelpColumns = 80;  // no line of a help text is longer

// Sets the text of app's --help: usage and examples, then arguments and options by group, then the
// notes. Options of the group kPlannerGroup are shown by --help-all alone.
void set_help(CommandLine& app, HelpText text);

// An option as help texts, manual pages and completions show it.
struct OptionHelp {
  std::vector<std::string> names;    // "-m", "--method"; one name without dashes: an argument
  std::string value;                 // "NAME"; empty: a flag
  std::string text;                  // with its choices and default
  std::vector<std::string> choices;  // all values, where these are few
  bool required = false;

  bool is_argument() const { return !names.front().starts_with('-'); }
  bool takes_file() const;
};

struct OptionSection {
  std::string title;
  std::vector<OptionHelp> options;
};

// The sections in the order of a help text. `all`: options of the planner are included, too.
std::vector<OptionSection> sections_of(const CommandLine& app, bool all);

const HelpText& help_text_of(const CommandLine& app);
std::string usage_of(const CommandLine& app);
std::string render_help(const CommandLine& app, bool all);

// `text` in lines of at most `columns`, all but the first after `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns = kHelpColumns);

// The word of `words` that was probably meant, or an empty text. It has at most a third of its
// letters changed, left out, added or swapped with their neighbours.
std::string closest(std::string_view typed, const std::vector<std::string>& words);

}  // namespace bf_aot::cli
