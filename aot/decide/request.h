#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/build/options/decision_options.h"
#include "aot/decide/decision.h"
#include "frontend/graph/model.h"
#include "frontend/property/property.h"
#include "planner/lowering/lowered.h"

namespace bf_aot::engine {
class Device;
template <class Made>
class OpeningOf;
}  // namespace bf_aot::engine

namespace bf_aot::decide {

class TreeKeeper;

// A question about a property of a network: everything that a user may choose about its decision.
// Commands, the library and Python fill it in; what follows from it is the same for all of them.
// Its timeout says what there is time for: RequestCalls::stop ends the decision. Its files are
// their callers'.
struct Request : build::DecisionOptions {
  bool says_why = false;  // of what stays open: Outcome::why
  // None: methods_of() chooses. A method that is given optimises the rows of compile.planner.alpha.
  std::optional<Method> method;
  // Options by which verifiers are planned: semantics, iterations, row tile, memory budget and so
  // on. The decision itself sets the method, the rows and the form of the network. compile.name:
  // prefix of symbols, or empty.
  build::CompileOptions compile;
  // Makes compiled verifiers, and calls that the engine has compiled.
  build::CompilerOptions compiler;
};

// Plans of decisions of one network by one request, whose properties have the same rows and differ
// in their boxes alone. Several threads may use it.
class RowPlans {
 public:
  using Make = std::function<std::shared_ptr<const Lowered>()>;
  // Returns the plan of this method and form, which is made once. One whose inputs are fixed
  // depends on the boxes, and is not kept.
  std::shared_ptr<const Lowered> plan(const DecisionMethod& method, const NetworkForm& form,
                                      const Make& make);

  // Likewise the device that a plan was made for, whose compiler may take seconds.
  using Opening = std::shared_ptr<const engine::OpeningOf<const engine::Device>>;
  Opening device(const DecisionMethod& method, const NetworkForm& form,
                 const std::function<Opening()>& open);
  // Likewise the device that proposes for nodes of neurons.
  using OpeningNodes = std::shared_ptr<const engine::OpeningOf<NodeDevice>>;
  OpeningNodes node_device(const std::function<OpeningNodes()>& open);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Lowered>> plans_;
  std::map<std::string, Opening> devices_;
  OpeningNodes node_device_;
};

// Functions that decide() calls while it works, and what the decision shares with files and other
// processes.
struct RequestCalls {
  system::Stop stop;
  std::function<void(const DecisionProgress&)> progress = [](const DecisionProgress&) {};
  // Called before a verifier is made, and after it with the seconds that planning it took.
  std::function<void(const DecisionMethod&)> before_plan = [](const DecisionMethod&) {};
  std::function<void(const DecisionMethod&, double seconds)> after_plan = [](const DecisionMethod&,
                                                                             double) {};
  TreeKeeper* keeper = nullptr;    // the tree begins where its file says, and is kept there
  TreeCompany* company = nullptr;  // processes that search the same tree
  RowPlans* plans = nullptr;       // of decisions that share them
  const Box* range = nullptr;      // counterexamples lie in it, too; null: anywhere
};

// The semantics of a decision: float32 for a query about float32, else those of the options.
Semantics semantics_of(const build::CompileOptions& options, const Property& property);

// Returns by how many units in the last place functions of the library are off, where a decision is
// about every evaluation in float32 with subnormals; else none.
std::optional<double> ulps_of(const build::CompileOptions& options, const Property& property);

// The network as float32 evaluation gives it, where options.planner.semantics asks for it; else
// none, and counterexamples are checked on `network` itself. Throws: BF2110, BF2111.
std::optional<Sampler> rounded(const Sampler& network, const ModelInfo& info,
                               const build::CompileOptions& options);

// Makes a verifier of a network for one call or more, outside of a decision, on this processor: of
// `method`, with rows of `spec` or none. Throws: CompileError.
std::unique_ptr<const engine::HostVerifier> make_host(Graph network, const ModelInfo& info,
                                                      const Request& request, Method method,
                                                      std::optional<LinearSpec> spec = {});

// Decides by methods that decide() chooses, for at most so many seconds.
Outcome decide_within(double seconds, const Sampler& network, const ModelInfo& info,
                      const Property& property, const Request& request, const RequestCalls& calls);

// Decides a property of an imported network by verifiers that the request asks for. Throws: BF2110,
// BF2111 semantics that the network has no bounds for; BF2xxx what cannot be planned; as decide()
// of decision.h; with a keeper also system::Interrupted, after its file is complete.
Outcome decide(const Sampler& network, const ModelInfo& info, const Property& property,
               const Request& request, const RequestCalls& calls);

}  // namespace bf_aot::decide
