#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/decide/property/decision.h"
#include "frontend/graph/model.h"
#include "frontend/property/property.h"

namespace bf_aot::decide {

class TreeKeeper;

// How a property of a network is to be decided. Commands, the library and Python fill it in; what
// follows from it is the same for all of them.
struct Request {
  // None: methods_of() chooses. One that is given has compile.planner.alpha.
  std::optional<Method> method;
  // How verifiers are planned: semantics, iterations, row tile, memory budget and so on. Method,
  // rows and the form of the network are the decision's; name: prefix of symbols, or empty.
  build::CompileOptions compile;
  build::CompilerOptions compiler;  // of compiled verifiers, and of calls of the engine
  // Seconds, as of DecisionSettings. None: 5 and 20; as long as it takes where there is a timeout,
  // or of branch_seconds where a file keeps the tree.
  std::optional<double> search_seconds, branch_seconds;
  bool keeps_tree = false;
  // Within which the most accurate method should end; 0: a minute. RequestCalls::stop ends a
  // decision.
  double timeout_seconds = 0;
  std::size_t jobs = 0;  // threads that split; 0: as many as there are cores
};

// Functions that decide() calls while it works, among them the one that ends it.
struct RequestCalls {
  StopAsked stop = [] { return false; };
  std::function<void(const DecisionProgress&)> progress = [](const DecisionProgress&) {};
  // Called before a verifier is made, and after it with the seconds that planning it took.
  std::function<void(const DecisionMethod&)> before_plan = [](const DecisionMethod&) {};
  std::function<void(const DecisionMethod&, double seconds)> after_plan = [](const DecisionMethod&,
                                                                             double) {};
  TreeKeeper* keeper = nullptr;    // the tree begins where its file says, and is kept there
  TreeCompany* company = nullptr;  // processes that search the same tree
};

// Float32 for a query about float32, else the semantics of the options.
Semantics semantics_of(const build::CompileOptions& options, const Property& property);

// The network as float32 evaluation gives it, where options.planner.semantics says so; else none:
// `network` itself is what counterexamples are checked on. Throws: BF2110, BF2111.
std::optional<Sampler> rounded(const Sampler& network, const ModelInfo& info,
                               const build::CompileOptions& options);

// Decides a property of a network that was imported, by verifiers that the request asks for.
// Throws: BF2110, BF2111 semantics that the network has no bounds for; BF2xxx what cannot be
// planned; and as decide() of decision.h. system::Interrupted: with a keeper, whose file is then
// complete.
Outcome decide(const Sampler& network, const ModelInfo& info, const Property& property,
               const Request& request, const RequestCalls& calls);

}  // namespace bf_aot::decide
