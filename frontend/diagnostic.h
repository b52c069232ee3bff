#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace bf_aot {

// One problem in what the user gave us, worded for its author.
struct Diagnostic {
  std::string code;     // stable id, listed in docs/reference/diagnostics.md: "BF1003"
  std::string where;    // "Conv 'Conv_12' (node 7)", "file.json:3"; empty for the whole input
  std::string message;  // what is wrong: lower case, no full stop, actual and expected
  std::string hint;     // what to do about it; may be empty

  bool operator==(const Diagnostic&) const = default;
};

// "error BF1003: Conv 'Conv_12' (node 7): group is 3 but only 1 is supported\n  hint: ...\n"
std::string to_string(const Diagnostic& diagnostic);

// The user's input cannot be compiled. Holds at least one diagnostic; what() joins them all.
// The only exception type that the compiler throws on purpose; caught in main() and in tests.
class CompileError : public std::runtime_error {
 public:
  explicit CompileError(std::vector<Diagnostic> diagnostics);

  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

// Throws CompileError with one diagnostic.
[[noreturn]] void fail(std::string code, std::string where, std::string message,
                       std::string hint = {});

namespace internal {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

// A broken invariant of ours, never the user's fault: prints what was checked (see CheckScope),
// file:line and how to report it, and aborts; throws within ThrowingChecks.
#define BF_CHECK(condition) \
  ((condition) ? (void)0 : ::bf_aot::internal::check_failed(#condition, __FILE__, __LINE__))

}  // namespace bf_aot
