#pragma once

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

}  // namespace bf_aot
