#pragma once

#include <stdexcept>
#include <string>

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

// While one lives, a failed BF_CHECK of its thread throws InternalError, which says the same,
// instead of ending the program.
class ThrowingChecks {
 public:
  ThrowingChecks();
  ~ThrowingChecks();
  ThrowingChecks(const ThrowingChecks&) = delete;
  ThrowingChecks& operator=(const ThrowingChecks&) = delete;

 private:
  const bool outer_;
};

}  // namespace bf_aot
