#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "aot/cli/commands.h"
#include "aot/host/interrupt.h"
#include "frontend/diagnostic.h"

namespace {

struct Command {
  const char* name;   // what is typed
  const char* title;  // what the usage text says
  int (*run)(int argc, const char* const* argv);
};

constexpr Command kCommands[] = {
    {"run", "bf-aot run", bf_aot::cli::run_command},
    {"verify", "bf-aot verify", bf_aot::cli::verify_command},
    {"supports", "bf-aot supports", bf_aot::cli::supports_command},
    {"check", "bf-aot check", bf_aot::cli::check_command},
    {"inspect", "bf-aot inspect", bf_aot::cli::inspect_command},
    {"ablate", "bf-aot ablate", bf_aot::cli::ablate_command},
    {"profile", "bf-aot profile", bf_aot::cli::profile_command},
    {"bench", "bf-aot bench", bf_aot::cli::bench_command},
    {"tune", "bf-aot tune", bf_aot::cli::tune_command},
};

// "bf-aot MODEL ..." compiles; a model file named like a command is given as "./run".
int dispatch(int argc, char** argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  if (arguments.empty()) arguments.push_back("bf-aot");
  if (argc >= 2)
    for (const Command& command : kCommands)
      if (std::strcmp(argv[1], command.name) == 0) {
        arguments.erase(arguments.begin());
        arguments[0] = command.title;
        return command.run(static_cast<int>(arguments.size()), arguments.data());
      }
  arguments[0] = "bf-aot";
  return bf_aot::cli::compile_command(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

int main(int argc, char** argv) {
  bf_aot::cli::install_interrupt_handlers();
  try {
    return dispatch(argc, argv);
  } catch (const bf_aot::CompileError& error) {
    std::fputs(error.what(), stderr);
    return 1;
  } catch (const bf_aot::cli::Interrupted& interrupted) {
    return 128 + interrupted.signal;
  } catch (const std::bad_alloc&) {
    std::fputs("error BF3000: not enough memory\n", stderr);
    return 1;
  }
}
