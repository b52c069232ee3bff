#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "aot/decide/boxes/box_device.h"
#include "aot/decide/property/cases.h"
#include "aot/decide/property/methods.h"
#include "aot/decide/property/sample.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/search/neuron_search.h"
#include "aot/decide/search/split_search.h"
#include "aot/system/stop.h"
#include "frontend/diagnostic.h"
#include "frontend/property/property.h"

namespace bf_aot::decide {

enum class Answer : std::uint8_t { kVerified, kFalsified, kUnknown, kTimeout };

// Functions that a decision calls, on the thread that decides.
struct DecisionCalls {
  std::function<DecisionVerifier(const DecisionMethod& asked, const NetworkForm& form)>
      make_verifier;
  // Begins to make the device that the options name bound boxes by a method; null: they name none.
  std::function<AwaitedDevice::Ask(const DecisionMethod& asked, const NetworkForm& form)>
      make_device;
  // Asks for the device for nodes of neurons, which is kept; null: there is none.
  AskNodeDevice ask_node_device = nullptr;
  // Makes a search by what is known of the network besides, or null where there is none; with
  // DecisionSettings::tree_only one that splits. The cases are those of the decision.
  std::function<std::unique_ptr<Search>(const Cases&)> make_other_search = [](const Cases&) {
    return std::unique_ptr<Search>();
  };
  system::Stop stop;
  std::function<void(const DecisionProgress&)> progress = [](const DecisionProgress&) {};
  // Called with a search that splits before it begins.
  std::function<void(SplitSearch&)> begin_tree = [](SplitSearch&) {};
  // Called about once a minute and at the end with the tree, so that the caller can save it; see
  // SearchCalls::save.
  std::function<void(const tree::TreeState&)> save_tree = [](const tree::TreeState&) {};
  TreeCompany* company = nullptr;
  const Box* range = nullptr;  // counterexamples lie in it, too; null: anywhere in their case
};

// A search that had turns.
struct SearchChoice {
  DecisionPhase phase = DecisionPhase::kBound;
  const char* why = "";  // it was chosen, in words
  double share = 1;      // of a round's seconds
  std::optional<SplitRule> rule;
  SearchTotals totals;
  std::uint64_t open = 0;  // nodes
  double proven = 0;       // part of all cases, by its tree
};

// Says of a question that stays open what held out.
struct Undecided {
  std::optional<HeldOut> part;
  std::vector<SearchChoice> searches;
};

struct Outcome {
  Answer answer = Answer::kUnknown;  // or verified, falsified
  bool stopped = false;              // undecided, as a stop was asked for
  std::optional<Witness> witness;
  std::optional<Undecided> why;  // it is unknown, with DecisionSettings::says_why
  std::size_t cases = 0, verified_cases = 0;
  std::vector<DecisionMethod> methods;                 // that were run
  std::vector<Diagnostic> refused;                     // why a device was, after the verdict
  std::array<SearchTotals, kDecisionPhases> searches;  // by phase
  double seconds = 0, make_seconds = 0;
  double decide_seconds = 0;  // bounding, splitting and searching; not planning

  // Returns the outcome of a property that a certificate proves.
  static Outcome rechecked(const Property& property, double seconds) {
    Outcome outcome;
    outcome.answer = Answer::kVerified;
    outcome.cases = outcome.verified_cases = property.cases.size();
    outcome.seconds = seconds;
    return outcome;
  }

  const SearchTotals& totals(DecisionPhase phase) const {
    return searches[static_cast<std::size_t>(phase)];
  }
};

// Decides a property of a network. It bounds by the methods in order; where boxes are not split, a
// short search for a counterexample follows the first. Then searches take turns, see DESIGN.md,
// "The decision". Of a network that reads token ids the property's inputs are these ids, one at
// each position, and a counterexample has them. Verified is proven by bounds, falsified by a
// witness whose rounding is counted; a stop leaves unknown. Throws: BF3408 when the property is
// about another network, BF3306, and what the caller's functions throw.
Outcome run_decision(const Sampler& network, const Property& property,
                     const DecisionSettings& settings, const DecisionCalls& calls);

}  // namespace bf_aot::decide
