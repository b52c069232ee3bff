#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/reach/question/loop.h"
#include "aot/reach/tube/flow.h"
#include "frontend/evaluate/scalar_program.h"
#include "runtime/bf/loops/tube_bytes.h"

namespace bf_aot::reach {

// A requirement as a monitor asks for it: at any time.
struct MonitorCondition {
  ScalarProgram values;
  Formula formula;
  std::string text;
};

// The plan of a look-ahead monitor: of a box of states now, which of the next periods are proven to
// meet the requirements. Nothing of it is decided on the device.
struct MonitorPlan {
  std::string name;  // the symbols' prefix
  std::string stem;  // of its files; those of the network's verifier end in _network
  FlowPlan flow;
  PlantKind kind = PlantKind::kContinuous;
  std::size_t periods = 0;
  Bounded seconds;                     // of a substep
  std::optional<ScalarProgram> plant;  // none: the network is the whole step
  std::vector<std::size_t> places;     // of its Taylor series; empty where it has none
  std::vector<MonitorCondition> conditions;
  std::optional<build::Verifier> network;
  bool lines = false;  // the network's verifier tells lines, not only bounds
  bf::loops::TubeSizes sizes{};
  std::size_t network_calls() const { return network ? periods * (plant ? 1 : flow.substeps) : 0; }
  std::uint64_t operations = 0;  // on doubles in a call, at most, besides those of the verifier
};

struct MonitorSettings {
  std::string stem;
  std::size_t order = 0, symbols = 0;  // 0: chosen
  build::CompileOptions compile;
};

// Throws: CompileError BF3630 what a monitor cannot be made of; as Flow, and as the compiler.
MonitorPlan plan_monitor(const Question& question, const MonitorSettings& settings);

}  // namespace bf_aot::reach
