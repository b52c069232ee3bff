#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/conformance/run.h"

// docs/reference/operators.md: every operator of the ONNX standard, what the importer makes of it,
// and how many of the backend tests it passes.
namespace bf_aot::conformance {

// Verdicts over the tests of one operator, or of several in one model.
struct Score {
  int passed = 0;
  int total = 0;  // without the excluded ones
  int excluded = 0;
};

// By operator; "" holds the models of several operators.
using Scores = std::map<std::string, Score>;

void count(Scores& scores, const TestCase& test, const Report& report);

// The whole page.
std::string operator_table(const Scores& scores);

// Operators that the table lists as supported in full: the importer knows them, no note restricts
// them.
int fully_supported();

}  // namespace bf_aot::conformance
