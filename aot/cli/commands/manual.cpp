#include "aot/cli/commands/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <vector>

#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

struct CommandHelp {
  std::string description, usage;
  HelpText text;
  std::vector<OptionSection> sections;
};

CommandHelp help_of(const Command& command) {
  CommandHelp help;
  command.run(
      {{command.title}, [&](const CommandLine& app) {
         help = {app.get_description(), usage_of(app), help_text_of(app), sections_of(app, true)};
       }});
  return help;
}

// Escapes what roff would take for a request or an escape.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '\'' && (result.empty() || result.back() == '\n'))
      result += "\\(aq";
    else if (c == '.' && (result.empty() || result.back() == '\n'))
      result += "\\&.";
    else
      result += c;
  }
  return result;
}

// "name:text" of a list of zsh's; colons part them.
std::string zsh_text(std::string text) {
  std::string result;
  for (const char c : text.substr(0, text.find_first_of("(;")))
    if (c == '[' || c == ']' || c == ':' || c == '\'' || c == '\\')
      result += c == '\'' ? "'\\''" : std::string("\\") + c;
    else
      result += c;
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

// Text within quotes of fish, its first part as zsh_text() has it.
std::string fish_text(std::string text) {
  std::string result;
  for (const char c : text.substr(0, text.find_first_of("(;")))
    result += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  while (result.ends_with(' ')) result.pop_back();
  return result;
}

std::string zsh_values(const OptionHelp& option) {
  if (option.value.empty()) return "";
  if (!option.choices.empty())
    return fmt::format(":{}:({})", option.value, fmt::join(option.choices, " "));
  return fmt::format(":{}:{}", zsh_text(option.value), option.takes_file() ? "_files" : " ");
}

}  // namespace

std::string manual_page(const Command& command) {
  const CommandHelp help = help_of(command);
  std::string name = help.usage.substr(0, help.usage.find_first_of("[A") - 1);
  name = command.title;
  for (char& c : name)
    if (c == ' ') c = '-';
  std::string title = name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text =
      fmt::format(".TH {} 1 \"\" \"bf-aot {}\" \"User Commands\"\n", title, BF_VERSION_STRING);
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(command.summary));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n{}\n", roff(command.title),
                      roff(help.usage.substr(std::string(command.title).size() + 1)));
  text += fmt::format(".SH DESCRIPTION\n{}\n", roff(help.description));
  std::istringstream notes(help.text.notes);
  for (std::string line; std::getline(notes, line);)
    text += line.empty() ? ".PP\n" : fmt::format(".PP\n{}\n", roff(line));
  if (!help.text.examples.empty())
    text += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", roff(help.text.examples));
  for (const OptionSection& section : help.sections) {
    text += fmt::format(".SH {}\n", roff(section.title));
    for (const OptionHelp& option : section.options) {
      std::string label =
          fmt::format("\\fB{}\\fR", roff(fmt::format("{}", fmt::join(option.names, ", "))));
      if (!option.value.empty()) label += " \\fI" + roff(option.value) + "\\fR";
      text += fmt::format(".TP\n{}\n{}\n", label, roff(option.text));
    }
  }
  std::vector<std::string> others;
  for (const Command& other : commands())
    if (&other != &command)
      others.push_back(fmt::format(
          "\\fBbf\\-aot{}\\fR(1)",
          find_command("compile") == &other ? std::string() : fmt::format("\\-{}", other.name)));
  return text + fmt::format(".SH SEE ALSO\n{}\n", fmt::join(others, ",\n"));
}

std::string bash_completion() {
  std::string cases, names, values;
  for (const Command& command : commands()) {
    std::string options;
    for (const OptionSection& section : help_of(command).sections)
      for (const OptionHelp& option : section.options) {
        if (option.is_argument()) continue;
        for (const std::string& each : option.names) options += each + " ";
        if (!option.choices.empty())
          values += fmt::format("    {}:{}) words='{}' ;;\n", command.name,
                                fmt::join(option.names, fmt::format("|{}:", command.name)),
                                fmt::join(option.choices, " "));
      }
    options.pop_back();
    names += (names.empty() ? "" : " ") + std::string(command.name);
    cases += fmt::format("    {}) options='{}' ;;\n", command.name, options);
  }
  return fmt::format(R"(# Completion of bf-aot for bash, made by "bf-aot completion bash".
_bf_aot() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local names='{}' command=compile options='' words=''
  [[ $COMP_CWORD -gt 1 && " $names " == *" ${{COMP_WORDS[1]}} "* ]] && command=${{COMP_WORDS[1]}}
  case $command:$before in
{}  esac
  case $command in
{}  esac
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
    [[ $COMP_CWORD -eq 1 ]] && COMPREPLY+=($(compgen -W "$names" -- "$word"))
  fi
}}
complete -o filenames -F _bf_aot bf-aot
)",
                     names, values, cases);
}

std::string zsh_completion() {
  std::string names, cases;
  for (const Command& command : commands()) {
    names += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.summary));
    cases += fmt::format("    {})\n      _arguments -s \\\n", command.name);
    for (const OptionSection& section : help_of(command).sections)
      for (const OptionHelp& option : section.options)
        if (!option.is_argument())
          for (const std::string& name : option.names)
            cases += fmt::format("        '*{}[{}]{}' \\\n", name, zsh_text(option.text),
                                 zsh_values(option));
    cases += "        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef bf-aot
# Completion of bf-aot for zsh, made by "bf-aot completion zsh".
_bf_aot() {{
  local -a names
  names=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command names
    _files
    return
  fi
  local command=$words[2]
  (( ${{names[(I)$command:*]}} )) || command=compile
  case $command in
{}  esac
}}
_bf_aot "$@"
)",
                     names, cases);
}

std::string fish_completion() {
  std::string names, lines;
  for (const Command& command : commands()) {
    names += (names.empty() ? "" : " ") + std::string(command.name);
    lines += fmt::format("complete -c bf-aot -n __fish_is_first_token -a {} -d '{}'\n",
                         command.name, fish_text(command.summary));
    for (const OptionSection& section : help_of(command).sections)
      for (const OptionHelp& option : section.options) {
        if (option.is_argument()) continue;
        lines += fmt::format("complete -c bf-aot -n '__bf_aot_is {}'", command.name);
        for (const std::string& name : option.names)
          lines += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                          : fmt::format(" -s {}", name.substr(1));
        if (!option.choices.empty())
          lines += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
        lines += fmt::format(" -d '{}'\n", fish_text(option.text));
      }
  }
  return fmt::format(R"(# Completion of bf-aot for fish, made by "bf-aot completion fish".
set -g __bf_aot_names {}
function __bf_aot_is -a command
  set -l words (commandline -opc)
  set -l given compile
  test (count $words) -gt 1; and contains -- $words[2] $__bf_aot_names; and set given $words[2]
  test $given = $command
end
{})",
                     names, lines);
}

}  // namespace bf_aot::cli
