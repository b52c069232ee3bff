#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/engine/verifier/verifier.h"
#include "planner/cost/cost_model.h"

namespace bf_aot::apps {

// A verifier that was timed part by part; its tasks are steps.
struct Observation {
  std::string name;
  std::shared_ptr<const Plan> plan;
  Activity activity;  // that of the timed calls, so that predictions are for the same work
  std::vector<engine::TracedPart> parts;

  const Entry& entry() const;  // the one that was called
};

// Compiles a network for this machine, instrumented, and times it on a box.
Observation observe(const build::FrontendResult& front, const std::string& name,
                    const build::CompileOptions& options, const build::CompilerOptions& compiler,
                    const input::FloatBox& box);

// A part's predicted and measured time.
struct Comparison {
  int task = 0;
  std::string part;
  double predicted = 0, measured = 0;  // seconds
};
std::vector<Comparison> compare(const Observation& observation, const MachineProfile& profile);

// Sets the families' costs to those that predict the observed parts best, by the mean square of
// log(predicted / measured). A cost that is 0, and those of families that do not occur, stay.
void fit(const std::vector<Observation>& observations, MachineProfile& profile);

}  // namespace bf_aot::apps
