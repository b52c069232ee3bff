#include "aot/cli/options/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/system/terminal.h"

namespace bf_aot::cli {
namespace {

constexpr std::size_t kTextColumn = 27;  // where descriptions begin
constexpr char kArguments[] = "Arguments";

// "{ibp,crown}" of a type name "TEXT:{ibp,crown}".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  std::vector<std::string> choices;
  std::istringstream parts(type.substr(open + 1, close - open - 1));
  for (std::string part; std::getline(parts, part, ',');) choices.push_back(part);
  return choices;
}

// "1 to 256" of a type name "INT:INT in [1 - 256]", where somebody chose both ends.
std::string range_in(const std::string& type) {
  const std::size_t open = type.find(" in ["), dash = type.find(" - ", open),
                    close = type.rfind(']');
  if (open == std::string::npos || dash == std::string::npos || close == std::string::npos)
    return {};
  const std::string last = type.substr(dash + 3, close - dash - 3);
  if (last.find_first_of("e+") != std::string::npos || last.size() > 7) return {};
  return fmt::format("{} to {}", type.substr(open + 5, dash - open - 5), last);
}

std::string value_name(const std::string& type) {
  const std::string base = type.substr(0, type.find(':'));
  if (base == "TEXT" || base.empty()) return "NAME";
  if (base == "INT" || base == "UINT") return "N";
  if (base == "FLOAT") return "X";
  return base;
}

OptionHelp describe(const Option& option) {
  OptionHelp help;
  if (option.nonpositional()) {
    for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  } else {
    help.names.push_back(option.get_name());
  }
  help.text = option.get_description();
  help.required = option.get_required();
  if (option.is_flag()) return help;
  const std::string type = option.get_type_name();
  help.value = value_name(type);
  help.choices = choices_in(type);
  const bool told = std::ranges::all_of(help.choices, [&](const std::string& choice) {
    return help.text.find(choice) != std::string::npos;
  });
  if (!told) help.text += fmt::format(": {}", fmt::join(help.choices, ", "));
  std::vector<std::string> more;
  if (const std::string range = range_in(type); !range.empty()) more.push_back(range);
  if (const std::string value = option.get_default_str(); !value.empty())
    more.push_back("default: " + value);
  if (!more.empty()) help.text += fmt::format(" ({})", fmt::join(more, "; "));
  return help;
}

std::string label_of(const OptionHelp& option) {
  std::string label = fmt::format("{}", fmt::join(option.names, ", "));
  if (!option.value.empty() && !option.is_argument()) label += " " + option.value;
  return label;
}

void append_option(std::string& text, const OptionHelp& option) {
  std::string line = "  " + label_of(option);
  if (line.size() + 2 > kTextColumn) {
    text += line + "\n";
    line.clear();
  }
  line.resize(kTextColumn, ' ');
  text += line + wrapped(option.text, kTextColumn) + "\n";
}

// Damerau-Levenshtein distance of adjacent swaps.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

bool OptionHelp::takes_file() const {
  return value.find("FILE") != std::string::npos || value == "MODEL" || value == "DIR" ||
         (is_argument() && value == "NAME");
}

void set_help(CommandLine& app, HelpText text) {
  app.set_help_text(std::move(text));
  app.set_help_printer([&app](bool all) { return render_help(app, all); });
}

const HelpText& help_text_of(const CommandLine& app) {
  return app.help_text();
}

std::vector<OptionSection> sections_of(const CommandLine& app, bool all) {
  std::vector<OptionSection> sections;
  const auto section = [&](const std::string& title) -> OptionSection& {
    const auto found = std::ranges::find(sections, title, &OptionSection::title);
    return found != sections.end() ? *found : sections.emplace_back(OptionSection{title, {}});
  };
  for (const Option* option : app.get_options())
    if (!option->nonpositional()) section(kArguments).options.push_back(describe(*option));
  for (const char* title : {"Options", build::kDecisionGroup, kMethodGroup, kPlannerGroup,
                            kCompilerGroup, kGeneralGroup})
    section(title);
  for (const Option* option : app.get_options()) {
    const std::string group = option->get_group();
    if (option->nonpositional() && !group.empty() && (all || group != kPlannerGroup))
      section(group).options.push_back(describe(*option));
  }
  std::erase_if(sections, [](const OptionSection& each) { return each.options.empty(); });
  return sections;
}

std::string usage_of(const CommandLine& app) {
  std::string usage = app.get_name();
  for (const Option* option : app.get_options())
    if (!option->nonpositional()) {
      std::string name = option->get_name();
      if (option->takes_many()) name += "...";
      usage += option->get_required() ? " " + name : " [" + name + "]";
    }
  for (const Option* option : app.get_options())
    if (option->nonpositional() && option->get_required())
      usage += fmt::format(" --{} {}", option->get_lnames().front(),
                           value_name(option->get_type_name()));
  return usage + " [OPTION]...";
}

std::string render_help(const CommandLine& app, bool all) {
  const HelpText& help = help_text_of(app);
  const system::Style bold(system::Style::kBold, system::Stream::kOutput);
  std::string text = wrapped(app.get_description(), 0) + "\n\n";
  text += bold("Usage:") + "\n  " + wrapped(usage_of(app), 6, kHelpColumns - 2) + "\n";
  if (!help.examples.empty()) {
    text += "\n" + bold("Examples:") + "\n";
    std::istringstream lines(help.examples);
    for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  }
  for (const OptionSection& section : sections_of(app, all)) {
    text += "\n" + bold(section.title + ":") + "\n";
    for (const OptionHelp& option : section.options) append_option(text, option);
  }
  std::istringstream lines(help.notes);
  std::string paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) text += "\n" + wrapped(paragraph, 0) + "\n";
    paragraph.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) flush();
    paragraph += (paragraph.empty() ? "" : " ") + line;
  }
  flush();
  if (sections_of(app, true).size() > sections_of(app, all).size())
    text += "\n--help-all shows the options of the planner, too.\n";
  if (!help.page.empty()) text += "\nMore: " + system::document(help.page) + "\n";
  return text;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string result;
  std::size_t column = indent;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (!result.empty() && column + 1 + word.size() > columns) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!result.empty()) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string closest(std::string_view typed, const std::vector<std::string>& words) {
  std::string best;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& word : words)
    if (const std::size_t found = distance(typed, word); found < least) {
      least = found;
      best = word;
    }
  return best;
}

}  // namespace bf_aot::cli
