#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "aot/check/exact.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/options/help.h"
#include "aot/engine/device/opening.h"
#include "aot/system/guard.h"
#include "aot/system/interrupt.h"
#include "aot/system/terminal.h"

namespace bf_aot::cli {
namespace {

// Says what was probably meant by a word that is neither a command nor a file. Empty: it may be the
// model, which then is not there.
std::string no_such_command(const std::string& word, bool has_operand) {
  std::error_code error;
  if (word.starts_with('-') || word.find_first_of("./") != std::string::npos ||
      std::filesystem::exists(word, error))
    return {};
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  const std::string meant = closest(word, names);
  if (meant.empty() && !has_operand) return {};
  return fmt::format(
      "there is no command '{}'; {}", word,
      meant.empty() ? "bf-aot --help names them" : fmt::format("did you mean {}?", meant));
}

// The command of a line that names none: "bf-aot MODEL ..." compiles. "bf-aot QUERY --network f=F"
// decides, as Vehicle calls a solver of VNN-LIB 2.0.
const Command& unnamed_command(int argc, char** argv) {
  const bool decides = std::any_of(argv + 1, argv + argc, [](std::string_view argument) {
    return argument == "--network" || argument.starts_with("--network=");
  });
  return *find_command(decides ? "verify" : "compile");
}

// A model file named like a command is given as "./run".
int dispatch(int argc, char** argv) {
  if (argc < 2) {
    fmt::print("{}", first_screen());
    return 2;
  }
  const std::string_view first = argv[1];
  if (first == "--name" && argc == 2) {  // VNN-LIB 2.0, section 5: what a solver is called
    fmt::print("bf-aot\n");
    return 0;
  }
  if (first == "--help" || first == "-h" || first == "--help-all")
    fmt::print("{}\n", first_screen());
  const Command* const named = find_command(first);
  if (named == nullptr)
    if (const std::string text = no_such_command(argv[1], argc > 2 && *argv[2] != '-');
        !text.empty()) {
      fmt::print(stderr, "{} {}\n",
                 system::Style(system::Style::kError, system::Stream::kErrors)("bf-aot:"), text);
      return 2;
    }
  const Command& command = named != nullptr ? *named : unnamed_command(argc, argv);
  Call call{{argv + (named != nullptr ? 1 : 0), argv + argc}, {}};
  call.arguments.front() = command.title;
  return command.run(call);
}

}  // namespace
}  // namespace bf_aot::cli

int main(int argc, char** argv) {
  using namespace bf_aot;
  system::install_interrupt_handlers();
  bf_check::throw_without_memory();
  engine::leave_opening_devices();
  return engine::end_beside_devices(system::guarded([&] { return cli::dispatch(argc, argv); }));
}
