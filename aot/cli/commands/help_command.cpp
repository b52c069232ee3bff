#include <fmt/format.h>

#include <string>
#include <vector>

#include "aot/cli/commands/commands.h"
#include "aot/cli/commands/manual.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/values.h"

namespace bf_aot::cli {
namespace {

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

}  // namespace

int help_command(const Call& call) {
  std::string name;
  bool all = false, manual = false;
  CommandLine app("Prints what a command does, and its options.", call.arguments[0]);
  app.add_option("COMMAND", name, "which one; none: lists them")
      ->transform(one_of(command_names()));
  app.add_flag("--all", all, "with the options of the planner");
  app.add_flag("--man", manual, "as a manual page, for man and mandoc");
  set_help(app,
           {"bf-aot help verify\nbf-aot help verify --man | man -l -", "", "reference/cli.md"});
  if (const auto code = parse(app, call)) return *code;
  if (name.empty() && !manual) {
    fmt::print("{}", first_screen());
    return 0;
  }
  const Command& command = *find_command(name.empty() ? "compile" : name);
  if (manual) {
    fmt::print("{}", manual_page(command));
    return 0;
  }
  return command.run({{command.title}, [&](const CommandLine& other) {
                        fmt::print("{}", render_help(other, all));
                      }});
}

int completion_command(const Call& call) {
  std::string shell;
  CommandLine app("Prints a script that completes bf-aot's commands and options.",
                  call.arguments[0]);
  app.add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->transform(one_of({"bash", "zsh", "fish"}));
  set_help(app, {"source <(bf-aot completion bash)\n"
                 "bf-aot completion zsh > ~/.zfunc/_bf-aot\n"
                 "bf-aot completion fish > ~/.config/fish/completions/bf-aot.fish",
                 "The Debian package installs these scripts.", "reference/cli.md"});
  if (const auto code = parse(app, call)) return *code;
  fmt::print("{}", shell == "bash"  ? bash_completion()
                   : shell == "zsh" ? zsh_completion()
                                    : fish_completion());
  return 0;
}

}  // namespace bf_aot::cli
