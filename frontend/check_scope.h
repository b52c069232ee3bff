#pragma once

#include <stdexcept>
#include <string>

#include "frontend/diagnostic.h"

namespace bf_aot {

// Says what is being checked while it lives: a failed BF_CHECK names what all scopes of its thread
// say, the outermost first.
class CheckScope {
 public:
  explicit CheckScope(std::string what);
  ~CheckScope();
  CheckScope(const CheckScope&) = delete;
  CheckScope& operator=(const CheckScope&) = delete;

  const CheckScope* outer() const { return outer_; }
  const std::string& what() const { return what_; }

 private:
  const std::string what_;
  const CheckScope* const outer_;
};

// A broken invariant of ours, where it must not end the program.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// While a ThrowingChecks lives, a failed BF_CHECK in its thread throws InternalError with the same
// text instead of ending the program.
class ThrowingChecks {
 public:
  ThrowingChecks();
  ~ThrowingChecks();
  ThrowingChecks(const ThrowingChecks&) = delete;
  ThrowingChecks& operator=(const ThrowingChecks&) = delete;

 private:
  const bool outer_;
};

// Makes every later BF_CHECK that fails outside of ThrowingChecks end the program with this exit
// code, at once and without a core dump; with BF_AOT_ABORT in the environment it aborts, for
// debuggers. `print` writes the diagnostic and flushes its stream. Before the first call they go
// to standard error.
void exit_on_failed_checks(int code, void (*print)(const Diagnostic& diagnostic));

// BF9000, "internal error: WHAT", with the hint that this is a bug of bf-aot.
Diagnostic internal_error(const std::string& what);

// Prints that diagnostic and ends the program as a failed BF_CHECK does.
[[noreturn]] void end_by_internal_error(const std::string& what);

// A broken invariant that no condition says: as BF_CHECK(false), with these words.
#define BF_BROKEN(what) \
  ::bf_aot::internal::check_failed(std::string(what).c_str(), __FILE__, __LINE__)

}  // namespace bf_aot
