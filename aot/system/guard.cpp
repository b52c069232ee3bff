#include "aot/system/guard.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <typeinfo>
#include <vector>

#include "aot/system/errors.h"
#include "aot/system/interrupt.h"
#include "aot/system/terminal.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"

namespace bf_aot::system {
namespace {

void explain(const CompileError& error) {
  print_errors(error.diagnostics());
  if (shows_progress())
    fmt::print(stderr, "{} explains each code\n", document("reference/diagnostics.md"));
}

// Prints and flushes, because the program ends without doing so.
void print_at_once(const Diagnostic& diagnostic) {
  print_errors(std::vector<Diagnostic>{diagnostic});
  std::fflush(nullptr);
}

// The text of the exception that is being handled.
std::string what_was_thrown() {
  try {
    throw;
  } catch (const InternalError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return fmt::format("{} ({})", error.what(), typeid(error).name());
  } catch (...) {
    return "an exception of unknown type";
  }
}

[[noreturn]] void on_terminate() {
  end_by_internal_error(std::current_exception() == nullptr ? "std::terminate()"
                                                            : what_was_thrown());
}

// Standard output got all that was printed, or the program failed.
int with_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fail("BF3102", "standard output", fmt::format("cannot write: {}", std::strerror(errno)),
       "check the free space, and who reads it");
}

}  // namespace

int guarded(const std::function<int()>& command) {
  exit_on_failed_checks(kInternalError, print_at_once);
  std::set_terminate(on_terminate);
  try {
    return with_output(command());
  } catch (const CompileError& error) {
    explain(error);
    return 1;
  } catch (const Interrupted& interrupted) {
    return 128 + interrupted.signal;
  } catch (const std::system_error& error) {
    // fmt throws where a stream is broken.
    if (std::ferror(stdout) == 0 && std::ferror(stderr) == 0)
      end_by_internal_error(what_was_thrown());
    std::fprintf(stderr, "error BF3102: standard output: cannot write: %s\n",
                 error.code().message().c_str());
    return 1;
  } catch (const std::bad_alloc&) {
    print_errors(std::vector<Diagnostic>{{"BF3000", "", "not enough memory", ""}});
    return 1;
  } catch (...) {
    end_by_internal_error(what_was_thrown());
  }
}

}  // namespace bf_aot::system
