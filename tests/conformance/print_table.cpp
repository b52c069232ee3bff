// conformance_table: prints docs/operators.md.

#include <fmt/format.h>

#include "tests/conformance/table.h"

int main() {
  const auto folder = bf::conformance::suite_folder();
  if (!folder) {
    fmt::print(stderr, "no ONNX backend tests: install libonnx-testdata\n");
    return 1;
  }
  bf::conformance::Scores scores;
  for (const bf::conformance::TestCase& test : bf::conformance::load_suite(*folder))
    bf::conformance::count(scores, test, bf::conformance::run_test(test));
  fmt::print("{}", bf::conformance::operator_table(scores));
  return 0;
}
