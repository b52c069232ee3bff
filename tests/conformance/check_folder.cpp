// conformance_check FOLDER: imports, normalises and evaluates models that lie in FOLDER as the ONNX
// backend tests do, with the inputs that each has left free. Fails unless all are right.

#include <fmt/format.h>

#include "tests/conformance/run.h"

int main(int argc, char** argv) {
  using namespace bf_aot::conformance;
  if (argc != 2) {
    fmt::print(stderr, "usage: conformance_check FOLDER\n");
    return 2;
  }
  int right = 0;
  int failed = 0;
  for (const TestCase& test : load_suite(argv[1])) {
    const Attempt attempt = run_attempt(test, candidate_bindings(test).front());
    if (attempt.result == Result::kRight) {
      ++right;
      continue;
    }
    ++failed;
    fmt::print("{}: {}\n", test.name,
               attempt.result == Result::kWrong ? attempt.difference
                                                : to_string(attempt.diagnostics.front()));
  }
  fmt::print("{} right, {} not\n", right, failed);
  return failed == 0 && right > 0 ? 0 : 1;
}
