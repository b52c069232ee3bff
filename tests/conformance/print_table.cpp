// conformance_table: prints docs/reference/operators.md.

#include <fmt/format.h>

#include "tests/conformance/table.h"

int main() {
  const auto folder = bf_aot::conformance::suite_folder();
  if (!folder) {
    fmt::print(stderr, "no ONNX backend tests: install libonnx-testdata\n");
    return 1;
  }
  bf_aot::conformance::Scores scores;
  for (const bf_aot::conformance::TestCase& test : bf_aot::conformance::load_suite(*folder))
    bf_aot::conformance::count(scores, test, bf_aot::conformance::run_test(test));
  fmt::print("{}", bf_aot::conformance::operator_table(scores));
  return 0;
}
