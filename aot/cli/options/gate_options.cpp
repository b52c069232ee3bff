#include "aot/cli/options/gate_options.h"

#include "aot/system/files.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {

void add_gate_options(CommandLine& app, GateFiles& files, const std::string& tests,
                      const std::string& group) {
  app.add_option("--junit", files.junit, "JUnit XML, " + tests)->writes("FILE")->group(group);
  app.add_option("--sarif", files.sarif, "SARIF, which code hosts show: what did not pass")
      ->writes("FILE")
      ->group(group);
}

void write_gate(const GateFiles& files, const artifacts::Gate& gate) {
  if (!files.junit.empty()) system::publish_file(files.junit, artifacts::junit_text(gate));
  if (!files.sarif.empty()) system::publish_file(files.sarif, artifacts::sarif_text(gate));
}

void write_provisional_gate(const GateFiles& files, const artifacts::Gate& gate) {
  GateFiles replaced = files;
  for (std::string* const file : {&replaced.junit, &replaced.sarif})
    if (!file->empty() && system::is_written_in_place(*file)) file->clear();
  write_gate(replaced, gate);
}

int with_gate(const GateFiles& files, artifacts::Gate gate, const std::function<int()>& body) {
  try {
    return body();
  } catch (const CompileError& error) {
    if (files.any()) {
      artifacts::GateCase& asked = gate.cases.front();
      asked.outcome = artifacts::GateOutcome::kError;
      asked.answer = "error";
      asked.message = error.what();
      write_gate(files, gate);
    }
    throw;
  }
}

}  // namespace bf_aot::cli
