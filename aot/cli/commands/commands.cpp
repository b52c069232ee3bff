#include "aot/cli/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "aot/system/terminal.h"

namespace bf_aot::cli {
namespace {

constexpr Command kCommands[] = {
    {"demo", "bf-aot demo", "see it at work on a controller that it brings", demo_command},
    {"compile", "bf-aot", "make a verifier: source, header, library (the default)",
     compile_command},
    {"run", "bf-aot run", "bound the outputs on a box, here and now", run_command},
    {"verify", "bf-aot verify", "decide a property in VNN-LIB", verify_command},
    {"merge", "bf-aot merge", "join the parts of a search into a verdict", merge_command},
    {"certify", "bf-aot certify", "certified accuracy of a classifier on a data set",
     certify_command},
    {"compare", "bf-aot compare", "bound how far apart two networks are on a box", compare_command},
    {"invariant", "bf-aot invariant", "search states that no step of a network leaves",
     invariant_command},
    {"reach", "bf-aot reach", "prove where a controlled plant goes in time", reach_command},
    {"check", "bf-aot check", "compare bounds with reference bounds", check_command},
    {"inspect", "bf-aot inspect", "show the network, the plan, its kernels", inspect_command},
    {"bench", "bf-aot bench", "time a verifier on this machine", bench_command},
    {"tune", "bf-aot tune", "search faster schedules by measurement", tune_command},
    {"ablate", "bf-aot ablate", "measure what each choice of the planner brings", ablate_command},
    {"profile", "bf-aot profile", "measure this machine for predicted times", profile_command},
    {"supports", "bf-aot supports", "say what models and properties may hold", supports_command},
    {"doctor", "bf-aot doctor", "say what is missing on this machine", doctor_command},
    {"help", "bf-aot help", "print the help or the manual page of a command", help_command},
    {"completion", "bf-aot completion", "print a script that completes in bash, zsh or fish",
     completion_command},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

const Command* find_command(std::string_view name) {
  const auto* const found = std::ranges::find(
      kCommands, name, [](const Command& each) { return std::string_view(each.name); });
  return found == std::end(kCommands) ? nullptr : found;
}

std::string first_screen() {
  const system::Style bold(system::Style::kBold, system::Stream::kOutput);
  std::string text =
      "Compiles a neural network into a verifier: sound bounds of its outputs for every\n"
      "input in a box.\n\n" +
      bold("Commands:") + "\n";
  for (const Command& command : kCommands)
    text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  text += "\n" + bold("Examples:") +
          "\n"
          "  bf-aot run model.onnx --box box.json           bounds on a box\n"
          "  bf-aot verify model.onnx property.vnnlib       is the property true?\n"
          "  bf-aot certify model.onnx --data test.npz --eps 0.03\n"
          "                                                 robust around which samples?\n"
          "  bf-aot model.onnx -o verifier.cpp              a verifier for your program\n"
          "\n";
  return text + "'bf-aot COMMAND --help' says more of each. Documents:\n  " + system::document("") +
         "\n";
}

}  // namespace bf_aot::cli
