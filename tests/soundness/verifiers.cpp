#include "tests/soundness/verifiers.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot/build/library.h"
#include "aot/engine/run/find_prebuilt.h"

namespace bf_aot::soundness {

PlannerConfig engine_config(PlannerConfig config) {
  config.lowering = Lowering::kPrebuilt;
  config.tuned.clear();
  const FloatUnit unit = config.target.float_unit;
  if (engine::find_prebuilt(config.target.name) == nullptr || !build::runs_here(config.target))
    config.target = find_target(engine_targets().front());
  config.target.float_unit = unit;  // What it is decides which plans have sums in floats.
  return config;
}

std::string why_not_compiled(const std::string& compiler, const Target& target) {
  if (!has_compiler(compiler)) return compiler + " is not installed";
  if (!build::runs_here(target)) return fmt::format("no {} processor", target.name);
  return "";
}

std::size_t Verifiers::add(const Graph& graph, bool has_spec, const PlannerConfig& config) {
  Network network;
  network.engine = std::make_unique<engine::Engine>(
      lower(plan_for_engine(graph, has_spec, engine_config(config))));
  networks_.push_back(std::move(network));
  return networks_.size() - 1;
}

void Verifiers::add_compiled(const Graph& graph, bool has_spec, const PlannerConfig& config,
                             const emit::Instruments& instruments) {
  networks_.back().compiled.push_back(batch_.add(graph, has_spec, config, instruments));
}

void Verifiers::build(const Build& how) {
  if (batch_.size() > 0) batch_.build(how);
}

std::size_t Verifiers::count_compiled() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      networks_, [](const Network& network) { return !network.compiled.empty(); }));
}

std::vector<Subject> Verifiers::subjects(std::size_t network) const {
  const Network& of = networks_.at(network);
  std::vector<Subject> found = {
      {&of.engine->plan(), callee_of(*of.engine), "the engine", false, 0}};
  for (const std::size_t i : of.compiled)
    found.push_back({&batch_.plan(i), callee_of(batch_, i), "generated code", true, i});
  return found;
}

Outcome run(const Subject& subject, const FloatBox& box) {
  return call_bounds(*subject.plan, subject.callee, {}, {box}).boxes.front();
}

}  // namespace bf_aot::soundness
