#pragma once

#include <functional>
#include <string>

#include "aot/artifacts/gate/gate.h"
#include "aot/cli/options/command_line.h"

namespace bf_aot::cli {

// The files for pipelines that a command is to write; an empty name: none.
struct GateFiles {
  std::string junit, sarif;

  bool any() const { return !junit.empty() || !sarif.empty(); }
};

// tests: what each test of --junit is about.
void add_gate_options(CommandLine& app, GateFiles& files, const std::string& tests,
                      const std::string& group);

// Writes the files. Throws: BF3101 to BF3103.
void write_gate(const GateFiles& files, const artifacts::Gate& gate);

// Writes what stands in the files until there is an answer, where that can replace it.
void write_provisional_gate(const GateFiles& files, const artifacts::Gate& gate);

// Runs the body. What it throws because of the user's input goes into the files, too: the one case
// of `gate` gets it as its error.
int with_gate(const GateFiles& files, artifacts::Gate gate, const std::function<int()>& body);

}  // namespace bf_aot::cli
