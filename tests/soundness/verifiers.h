#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "aot/engine/run/engine.h"
#include "tests/soundness/engine_call.h"

// The verifiers of a suite's networks: the engine runs each of them, and a sample is compiled, too.
namespace bf_aot::soundness {

// A verifier of a network, whatever runs it.
struct Subject {
  const Plan* plan = nullptr;
  Callee callee;
  std::string by;          // "the engine", "generated code"
  bool compiled = false;   // generated code
  std::size_t number = 0;  // of generated code: in the batch
};

// The same for the engine: lowering prebuilt, and the oldest instruction set that it has code for
// where it has none for the target, or where that code does not run here.
PlannerConfig engine_config(PlannerConfig config);

// Why generated code of a compiler and a target cannot run here; empty: it can.
std::string why_not_compiled(const std::string& compiler, const Target& target);

class Verifiers {
 public:
  // Plans engine_config(config) for the engine; returns the network's number.
  std::size_t add(const Graph& graph, bool has_spec, const PlannerConfig& config);

  // Generates code of the network that was added last, too; may be called again, with other
  // instruments.
  void add_compiled(const Graph& graph, bool has_spec, const PlannerConfig& config,
                    const emit::Instruments& instruments = {});

  // Compiles the generated code, if any.
  void build(const Build& how);

  std::size_t size() const { return networks_.size(); }
  const Plan& plan(std::size_t network) const { return networks_.at(network).engine->plan(); }
  // How many networks have generated code.
  std::size_t count_compiled() const;

  const Batch& batch() const { return batch_; }

  // The engine first, then generated code in the order in which it was added.
  std::vector<Subject> subjects(std::size_t network) const;

 private:
  struct Network {
    std::unique_ptr<engine::Engine> engine;
    std::vector<std::size_t> compiled;  // in the batch
  };

  std::vector<Network> networks_;
  Batch batch_;
};

// NAME_bounds on a box, of whatever runs it.
Outcome run(const Subject& subject, const FloatBox& box);

}  // namespace bf_aot::soundness
