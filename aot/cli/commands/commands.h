#pragma once

#include <span>
#include <string_view>

#include "aot/cli/options/parse.h"

// The commands of bf-aot, one file each. They return the exit code: 0, 1 when something was found
// wrong, 2 for wrong usage; verify and merge have more. They throw: CompileError, Interrupted.

namespace bf_aot::decide {
class TreeCompany;
}  // namespace bf_aot::decide

namespace bf_aot::cli {

int compile_command(const Call& call);
int run_command(const Call& call);
int verify_command(const Call& call);
// Decides as verify_command() does, by several processes, of which the first prints the answer.
// Code 0 for every verdict.
int verify_together(const Call& call, decide::TreeCompany& company);
int merge_command(const Call& call);
int certify_command(const Call& call);
int compare_command(const Call& call);
int invariant_command(const Call& call);
int reach_command(const Call& call);
int supports_command(const Call& call);
int check_command(const Call& call);
int inspect_command(const Call& call);
int ablate_command(const Call& call);
int profile_command(const Call& call);
int bench_command(const Call& call);
int tune_command(const Call& call);
int doctor_command(const Call& call);
int demo_command(const Call& call);
int help_command(const Call& call);
int completion_command(const Call& call);

struct Command {
  const char* name;     // typed on the command line
  const char* title;    // its sentence in the usage text
  const char* summary;  // its line on the first screen
  int (*run)(const Call& call);
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);  // nullptr: none

// The text that bf-aot without an argument prints: commands, examples, where the pages are.
std::string first_screen();

}  // namespace bf_aot::cli
