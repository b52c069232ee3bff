#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Answers as files that pipelines read: JUnit XML, of which test reports are made, and SARIF, which
// code hosts show beside changes.
namespace bf_aot::artifacts {

// kOpen: there is no answer, and none was asked for. kError: a file cannot be handled.
enum class GateOutcome : std::uint8_t { kPassed, kFailed, kOpen, kError };

// A question and what became of it.
struct GateCase {
  std::string subject;  // the model
  std::string name;     // what is asked about it
  std::string file;     // as it was given, which SARIF points at: the property, or the model
  GateOutcome outcome = GateOutcome::kPassed;
  std::string answer;   // a word: "falsified"; "missed" of a certified accuracy
  std::string message;  // a sentence
  std::string details;  // more lines, or none
  double seconds = 0;
};

struct Gate {
  std::string name;  // the command and its subject
  std::vector<GateCase> cases;
  double seconds = 0;
};

// A test suite with a test for each case: kFailed is a failure, kError an error, kOpen is skipped.
std::string junit_text(const Gate& gate);

// SARIF 2.1.0: a result for each case that is not passed, by the rule "bf-aot/ANSWER": an error
// where it failed, else a warning. A file of a relative path is one of the repository.
std::string sarif_text(const Gate& gate);

}  // namespace bf_aot::artifacts
