#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/property/branch.h"
#include "aot/decide/property/neurons.h"
#include "aot/decide/property/sample.h"
#include "aot/decide/property/stop.h"
#include "aot/decide/property/witness.h"
#include "aot/engine/verifier/verifier.h"
#include "frontend/graph/graph.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"
#include "planner/plan/config.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

enum class Answer : std::uint8_t { kVerified, kFalsified, kUnknown, kTimeout };

struct DecisionSettings {
  // None: crown, after ibp for many cases or large networks, and then alpha-crown where boxes are
  // not split: first of the outputs' rows, then of all where the time allows it.
  std::optional<Method> method;
  AlphaRows alpha = AlphaRows::kOutputs;  // of a method that is given
  double search_seconds = 5;              // most, to search for a counterexample
  double branch_seconds = 20;  // most, to split boxes where few inputs vary, else neurons
  double bound_seconds = 60;   // from the start, within which alpha-crown of all rows should end
  std::size_t jobs = 1;        // threads that split
  // Of real arithmetic: verifiers may be made of other networks, see NetworkForm.
  bool real = false;
  // Boxes or neurons are split at once, by the bounds of one method, whatever the time: the same
  // for all parts of a tree.
  bool tree_only = false;
};

enum class DecisionPhase : std::uint8_t { kBound, kSearch, kSplit, kNeurons };

struct DecisionProgress {
  DecisionPhase phase = DecisionPhase::kBound;
  std::size_t done = 0, count = 0;  // cases, of kBound and kSearch
  // Of kSplit and kNeurons: boxes or nodes that were bounded, and the part of all that is proven.
  std::uint64_t nodes = 0;
  double proven = 0;
};

// A verifier of the property's rows (see to_spec), and its plan.
struct DecisionVerifier {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<const engine::HostVerifier> host;
};

// How a verifier bounds.
struct DecisionMethod {
  Method method = Method::kCrown;
  AlphaRows alpha = AlphaRows::kOutputs;
  bool branches = false;  // for branch_and_bound, too
  // With CompileOptions::max_as_relu: asked for under real semantics alone.
  bool max_as_relu = false;

  std::string name() const;  // "alpha-crown", "alpha-crown all", "crown without maxima"
};

// What a verifier is made of in place of the network.
struct NetworkForm {
  const FixedInputs* fixed = nullptr;  // not null: CompileOptions::fixed
  bool ordered = false;                // CompileOptions::ordered
};

// What a decision asks of its caller, on the thread that decides.
struct DecisionCalls {
  std::function<DecisionVerifier(const DecisionMethod& asked, const NetworkForm& form)>
      make_verifier;
  StopAsked stop = [] { return false; };
  std::function<void(const DecisionProgress&)> progress = [](const DecisionProgress&) {};
  // Called with the search that splits, where there is one, before it begins.
  std::function<void(SplitSearch&)> begin_tree = [](SplitSearch&) {};
  // As of SplitCalls.
  std::function<void(const tree::TreeState&)> save_tree = [](const tree::TreeState&) {};
  TreeCompany* company = nullptr;
};

struct Outcome {
  Answer answer = Answer::kUnknown;  // or verified, falsified
  bool stopped = false;              // undecided, as a stop was asked for
  std::optional<Witness> witness;
  std::size_t cases = 0, verified_cases = 0;
  std::vector<DecisionMethod> methods;  // that were run
  BranchTotals branched;
  NeuronTotals neurons;
  double seconds = 0, make_seconds = 0;
  double decide_seconds = 0;  // with verifiers that are made
};

// The inputs that decide() has verifiers without: where boxes are split, those that do not vary
// only cost.
std::optional<FixedInputs> inputs_to_fix(const Property& property,
                                         const DecisionSettings& settings);

// What decide() bounds by, from fast to tight. branches: boxes are split, which is worth more than
// optimised slopes.
std::vector<DecisionMethod> methods_of(const DecisionSettings& settings, const Graph& graph,
                                       std::size_t cases, bool branches);

// Decides a property of a network: bounds by the methods in order, with a short search for a
// counterexample behind the first where boxes are not split. Then boxes or neurons are split and a
// counterexample is searched for by turns, each for its time. Verified is proven by bounds,
// falsified by a witness whose rounding is counted; a stop leaves unknown.
// Throws: BF3408 when the property is about another network, BF3306, and what the caller's
// functions throw.
Outcome decide(const Sampler& network, const Property& property, const DecisionSettings& settings,
               const DecisionCalls& calls);

}  // namespace bf_aot::decide
