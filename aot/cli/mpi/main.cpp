#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "aot/check/exact.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/mpi/mpi_company.h"
#include "aot/engine/device/opening.h"
#include "aot/system/guard.h"
#include "aot/system/interrupt.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

// The ranks wait for each other, so one that fails ends all.
int fail_all(const char* text, int code = 1) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "rank %d: %s", rank, text);
  MPI_Abort(MPI_COMM_WORLD, code);
  return code;
}

int search(int argc, char** argv) {
  MpiCompany company;
  if (company.is_first())
    system::install_interrupt_handlers();
  else
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  Call call{{argv, argv + argc}, {}};
  call.arguments.front() = "bf-aot-mpi";
  bf_check::throw_without_memory();
  exit_on_failed_checks(system::kInternalError, [](const Diagnostic& diagnostic) {
    std::fputs(to_string(diagnostic).c_str(), stderr);
  });
  try {
    return verify_together(call, company);
  } catch (const CompileError& error) {
    return fail_all((std::string(error.what()) + "\n").c_str());
  } catch (const system::Interrupted& interrupted) {
    return 128 + interrupted.signal;
  } catch (const std::bad_alloc&) {
    return fail_all("error BF3000: not enough memory\n");
  } catch (const std::exception& error) {
    return fail_all(to_string(internal_error(error.what())).c_str(), system::kInternalError);
  }
}

}  // namespace
}  // namespace bf_aot::cli

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  bf_aot::engine::leave_opening_devices();
  const int code = bf_aot::cli::search(argc, argv);
  MPI_Finalize();
  return bf_aot::engine::end_beside_devices(code);
}
