#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/property/cases.h"
#include "aot/decide/property/sample.h"
#include "aot/decide/property/stop.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/search/box_search.h"
#include "aot/decide/search/neuron_search.h"
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
  // not split: first with slopes of the outputs' rows, then of all rows where the time allows it.
  std::optional<Method> method;
  AlphaRows alpha = AlphaRows::kOutputs;  // for a method that is given
  double search_seconds = 5;              // most, to search for a counterexample
  double branch_seconds = 20;  // most, to split boxes where few inputs vary, else neurons
  double bound_seconds = 60;   // from the start, within which alpha-crown of all rows should end
  std::size_t jobs = 1;        // threads that split
  // Decides in real arithmetic, so that verifiers may be made of other networks, see NetworkForm.
  bool real = false;
  // Splits boxes or neurons at once, by the bounds of one method that does not depend on time: all
  // parts of a tree must do the same.
  bool tree_only = false;
};

enum class DecisionPhase : std::uint8_t { kBound, kSearch, kSplit, kNeurons, kPairs };

struct DecisionProgress {
  DecisionPhase phase = DecisionPhase::kBound;
  std::size_t done = 0, count = 0;  // cases, of kBound and kSearch
  // The boxes or nodes that were bounded, and the proven part of all cases, in kSplit, kNeurons and
  // kPairs.
  std::uint64_t nodes = 0;
  double proven = 0;
};

// A verifier whose specification is the property's rows (see to_spec), and its plan.
struct DecisionVerifier {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<const engine::HostVerifier> host;
};

// The method and the options by which a verifier bounds.
struct DecisionMethod {
  Method method = Method::kCrown;
  AlphaRows alpha = AlphaRows::kOutputs;
  bool branches = false;  // branch_and_bound calls it, too
  // Plans with CompileOptions::max_as_relu, which is asked for under real semantics alone.
  bool max_as_relu = false;

  std::string name() const;  // "alpha-crown", "alpha-crown all", "crown without maxima"
};

// A network that a verifier may be made of in place of the one that was asked about.
struct NetworkForm {
  const FixedInputs* fixed = nullptr;  // not null: CompileOptions::fixed
  bool ordered = false;                // CompileOptions::ordered
};

struct PairTotals {
  std::uint64_t boxes = 0;  // bounded by differences
  double seconds = 0;
};

struct CaseCalls {
  StopAsked stop = [] { return false; };
  // Called now and then with the boxes that were bounded, and the part of all cases that is closed.
  std::function<void(std::uint64_t boxes, double closed)> progress = [](std::uint64_t, double) {};
};

// Proves cases by what is known of a network besides the bounds of its layers: of the difference of
// two networks, or of outputs that are mixes.
class CaseSearch {
 public:
  CaseSearch() = default;
  CaseSearch(const CaseSearch&) = delete;
  CaseSearch& operator=(const CaseSearch&) = delete;
  virtual ~CaseSearch() = default;

  // Bounds the cases' own boxes and, if splits, parts of them, for about `seconds`. Marks cases as
  // verified. Throws what calls.stop throws.
  virtual void run(Cases& cases, double seconds, bool splits, const CaseCalls& calls) = 0;

  // Whether nothing is left that it could bound.
  virtual bool is_over() const = 0;

  virtual PairTotals totals() const = 0;
};

// Functions that a decision calls, on the thread that decides.
struct DecisionCalls {
  std::function<DecisionVerifier(const DecisionMethod& asked, const NetworkForm& form)>
      make_verifier;
  // Makes a search by what is known of the network besides, or null where there is none.
  std::function<std::unique_ptr<CaseSearch>()> make_case_search = [] {
    return std::unique_ptr<CaseSearch>();
  };
  StopAsked stop = [] { return false; };
  std::function<void(const DecisionProgress&)> progress = [](const DecisionProgress&) {};
  // Called with a search that splits before it begins.
  std::function<void(SplitSearch&)> begin_tree = [](SplitSearch&) {};
  // Called about once a minute and at the end with the tree, so that the caller can save it; see
  // SplitCalls::save.
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
  PairTotals pairs;
  double seconds = 0, make_seconds = 0;
  double decide_seconds = 0;  // bounding, splitting and searching; not planning
};

// The inputs that verifiers of decide() are made without, since inputs that do not vary only cost
// time. None where boxes are not split, nor outside of real arithmetic.
std::optional<FixedInputs> inputs_to_fix(const Property& property,
                                         const DecisionSettings& settings);

// The methods that decide() bounds by, from fast to tight. branches: boxes are split, which is
// worth more than optimised slopes.
std::vector<DecisionMethod> methods_of(const DecisionSettings& settings, const Graph& graph,
                                       std::size_t cases, bool branches);

// Decides a property of a network. It bounds by the methods in order; where boxes are not split, a
// short search for a counterexample follows the first. Then splitting and searching for a
// counterexample take turns, each for its time. Of two networks of one structure bounds of their
// difference come first, and have turns as well. Verified is proven by bounds, falsified by a
// witness whose rounding is counted; a stop leaves unknown.
// Throws: BF3408 when the property is about another network, BF3306, and what the caller's
// functions throw.
Outcome decide(const Sampler& network, const Property& property, const DecisionSettings& settings,
               const DecisionCalls& calls);

}  // namespace bf_aot::decide
