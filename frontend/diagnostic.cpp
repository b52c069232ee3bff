#include "frontend/diagnostic.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace bf_aot {
namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += to_string(diagnostic);
  return text;
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = "error " + diagnostic.code + ": ";
  if (!diagnostic.where.empty()) text += diagnostic.where + ": ";
  text += diagnostic.message + "\n";
  if (!diagnostic.hint.empty()) text += "  hint: " + diagnostic.hint + "\n";
  return text;
}

CompileError::CompileError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join(diagnostics)), diagnostics_(std::move(diagnostics)) {
  BF_CHECK(!diagnostics_.empty());
}

void fail(std::string code, std::string where, std::string message, std::string hint) {
  throw CompileError({{std::move(code), std::move(where), std::move(message), std::move(hint)}});
}

namespace internal {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace internal
}  // namespace bf_aot
