#pragma once

#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "tests/conformance/suite.h"

// Feeds a backend test's model to the importer. Weights, shapes and axes are graph inputs there, so
// a test is tried with several sets of inputs left free, the others being bound to the test's data.
namespace bf_aot::conformance {

// Which inputs stay inputs; the others become initializers.
using FreeInputs = std::vector<bool>;

enum class Result {
  kDiagnosed,  // the importer or a pass says why not
  kWrong,      // the values differ from the expected ones
  kRight,
};

// One set of free inputs.
struct Attempt {
  FreeInputs free;
  Result result = Result::kDiagnosed;
  std::vector<Diagnostic> diagnostics;  // when kDiagnosed
  std::string difference;               // when kWrong
  Graph graph;                          // as imported, unless kDiagnosed
  Graph normal;                         // the same after normalisation
};

// What a whole test says.
enum class Verdict {
  kExcluded,     // no claim is made: `reason`
  kUnsupported,  // `reason` is the first diagnostic of the most natural attempt
  kConstant,     // right, but with all inputs bound, though some of them are real
  kPassed,
  kWrong,
};

struct Report {
  Verdict verdict = Verdict::kUnsupported;
  std::string reason;
  std::vector<Attempt> attempts;
};

// Sets of free inputs: all; the real ones; each alone; none. Without duplicates, in this order.
std::vector<FreeInputs> candidate_bindings(const TestCase& test);

// The test's model with the inputs that are not free as initializers. A model without any free
// input gets one that nobody reads, for the compiler wants a box.
onnx::ModelProto bind(const TestCase& test, const FreeInputs& free);

// The values of the free inputs, as the bound model's graph wants them.
std::vector<std::vector<double>> free_values(const DataSet& data, const FreeInputs& free);

// Why no claim is made for this test; empty: none.
std::string exclusion(const TestCase& test);

// One set of free inputs: imports, normalises and evaluates.
Attempt run_attempt(const TestCase& test, const FreeInputs& free);

// Imports, normalises and evaluates, attempt by attempt, before and after. A wrong attempt makes
// the test wrong.
Report run_test(const TestCase& test);

// What `values` misses of the expected tensors by more than the backend tests' tolerance, a
// relative 1e-3 (1e-9 for doubles) and an absolute 1e-7; empty: nothing.
std::string compare(const std::vector<std::vector<double>>& values,
                    const std::vector<TestTensor>& expected);

}  // namespace bf_aot::conformance
