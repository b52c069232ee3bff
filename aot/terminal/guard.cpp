#include "aot/terminal/guard.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <typeinfo>

#include "aot/host/interrupt.h"
#include "aot/terminal/terminal.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

void print_errors(const CompileError& error) {
  const Style red(Style::kError, Stream::kErrors);
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    const std::string text = with_documents(to_string(diagnostic));
    const std::size_t head = text.find(':') + 1;
    fmt::print(stderr, "{}{}", red(text.substr(0, head)), text.substr(head));
  }
  if (shows_progress())
    fmt::print(stderr, "{} explains each code\n", document("reference/diagnostics.md"));
}

// Of the exception that is being handled.
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

}  // namespace

int guarded(const std::function<int()>& command) {
  exit_on_failed_checks(kInternalError);
  std::set_terminate(on_terminate);
  try {
    return command();
  } catch (const CompileError& error) {
    print_errors(error);
    return 1;
  } catch (const Interrupted& interrupted) {
    return 128 + interrupted.signal;
  } catch (const std::bad_alloc&) {
    std::fputs("error BF3000: not enough memory\n", stderr);
    return 1;
  } catch (...) {
    end_by_internal_error(what_was_thrown());
  }
}

}  // namespace bf_aot::cli
