#include "frontend/diagnostic.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "frontend/check_scope.h"

namespace bf_aot {
namespace {

std::string join(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += to_string(diagnostic);
  return text;
}

thread_local const CheckScope* innermost = nullptr;
thread_local bool checks_throw = false;

void print_text(const Diagnostic& diagnostic) {
  std::fputs(to_string(diagnostic).c_str(), stderr);
}

std::atomic<int> code_of_failed_checks = 0;  // 0: abort
std::atomic<void (*)(const Diagnostic&)> print_failed_check = print_text;

// "entry bounds, step 2 (relax), ", the outermost scope first.
std::string scopes() {
  std::string text;
  for (const CheckScope* scope = innermost; scope != nullptr; scope = scope->outer())
    text.insert(0, scope->what() + (text.empty() ? ": " : ", "));
  return text;
}

// A source file's name from the project's root on: __FILE__ may start with a path of the machine
// that built the compiler, or, by compiler caches, with the way up from the build's folder.
std::string_view from_root(std::string_view file) {
  constexpr std::string_view kThis = __FILE__;
  constexpr std::string_view kRoot =
      kThis.substr(0, kThis.size() - std::string_view("frontend/diagnostic.cpp").size());
  if (file.starts_with(kRoot)) return file.substr(kRoot.size());
  while (file.starts_with("../")) file.remove_prefix(3);
  return file;
}

}  // namespace

CheckScope::CheckScope(std::string what) : what_(std::move(what)), outer_(innermost) {
  innermost = this;
}

CheckScope::~CheckScope() {
  innermost = outer_;
}

ThrowingChecks::ThrowingChecks() : outer_(std::exchange(checks_throw, true)) {}

ThrowingChecks::~ThrowingChecks() {
  checks_throw = outer_;
}

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

void exit_on_failed_checks(int code, void (*print)(const Diagnostic& diagnostic)) {
  code_of_failed_checks = code;
  print_failed_check = print;
}

Diagnostic internal_error(const std::string& what) {
  return {"BF9000", "", "internal error: " + what,
          "this is a bug of bf-aot; please report it with this message, the version, the "
          "command line, the model and its property"};
}

void end_by_internal_error(const std::string& what) {
  print_failed_check.load()(internal_error(what));
  if (code_of_failed_checks != 0 && std::getenv("BF_AOT_ABORT") == nullptr)
    std::_Exit(code_of_failed_checks);
  std::abort();
}

namespace internal {

void check_failed(const char* condition, const char* file, int line) {
  const std::string name(from_root(file));
  const std::string what =
      scopes() + "check failed: " + condition + " (" + name + ":" + std::to_string(line) + ")";
  if (checks_throw) throw InternalError(what);
  end_by_internal_error(what);
}

}  // namespace internal
}  // namespace bf_aot
