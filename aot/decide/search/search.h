#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/property/cases.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/tree/tree_state.h"
#include "aot/input/json_io.h"
#include "aot/system/stop.h"

namespace bf_aot::decide {

class TreeCompany;

// A decision is in one phase at a time: it bounds cases by a method, or a search has its turn.
enum class DecisionPhase : std::uint8_t {
  kBound,
  kPoints,
  kBoxes,
  kNeurons,
  kTokens,
  kDifferences,
  kMixes
};
constexpr std::size_t kDecisionPhases = 7;

struct DecisionProgress {
  DecisionPhase phase = DecisionPhase::kBound;
  std::size_t done = 0, count = 0;  // cases, of kBound and kPoints
  std::uint64_t nodes = 0;          // that were bounded, of the other phases
  double proven = 0;                // part of all cases, of the other phases
};

struct SearchTotals {
  std::uint64_t nodes = 0;   // that were bounded
  std::uint64_t points = 0;  // that were tried
  std::uint64_t leaves = 0;  // that are not closed, and cannot be split
  double seconds = 0;
  std::uint64_t on_device = 0;  // nodes whose choices and splits a device proposed
};

// An element of a layer of the plan.
struct NeuronName {
  std::string layer;
  int index = 0;
};

// A neuron that a bound may lose most by, and where it lies in the part that is bounded.
struct HeldNeuron {
  NeuronName name;
  double lower = 0, upper = 0;
  double loss = 0;
};

// A neuron that is on one side of a point in a part.
struct HeldSide {
  NeuronName name;
  bool above = false;
  double point = 0;
};

// The part that an undecided search lacks most of.
struct HeldOut {
  DecisionPhase by = DecisionPhase::kBound;
  std::size_t property_case = 0, clause = 0;
  std::uint32_t splits = 0;     // from the case to the part
  std::optional<double> lacks;  // what its bound misses; none: it has no finite one
  input::FloatBox box;          // of kBoxes; of kBound the case's own
  std::vector<HeldSide> sides;  // of kNeurons
  std::optional<HeldNeuron> neuron;
};

// The rule by which a search chooses what it splits.
enum class SplitRule : std::uint8_t {
  kLines,    // the input by which lines below and above the nearest row differ most
  kWeights,  // the input that is widest, by all weights
  kGain,     // the neuron whose halves gain most
  kClauses,  // the neuron in most conditions, whose signs are propagated
  kTokens,   // the position whose ids change the margin most
  kSlopes    // the input by which neurons of open slopes move most
};

struct SearchBudget {
  double seconds = 0;
  bool roots_alone = false;  // the cases' own nodes are bounded, and nothing is split
};

// Functions that a search calls, on the thread that decides.
struct SearchCalls {
  PointCheck prove;
  system::Stop stop;
  // Called now and then.
  std::function<void(const DecisionProgress&)> progress = [](const DecisionProgress&) {};
  // Called with the whole state of a tree about every minute, and at the end, without a company
  // also when something was thrown. In a company it is called in the first process alone.
  std::function<void(const tree::TreeState&)> save = [](const tree::TreeState&) {};
  // The processes that search trees together; null: this process alone.
  TreeCompany* company = nullptr;
};

// A way to decide cases of a property. It has turns, between which it keeps what it has done.
class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;

  virtual DecisionPhase phase() const = 0;

  // Searches on for about the budget's seconds, and marks cases that it proves as verified. Returns
  // a proven counterexample, if it finds one. Throws what the functions of `calls` throw.
  virtual std::optional<Witness> run(Cases& cases, const SearchBudget& budget,
                                     const SearchCalls& calls) = 0;

  // Whether nothing is left that another turn could do.
  virtual bool is_over() const = 0;

  virtual SearchTotals totals() const = 0;

  // The rule of a search that splits.
  virtual std::optional<SplitRule> rule() const { return std::nullopt; }

  // Looks for what held out, for about so many seconds; none where nothing is open, or the search
  // knows no bounds of it. After the last turn.
  virtual std::optional<HeldOut> held_out(double seconds) {
    (void)seconds;
    return std::nullopt;
  }
};

}  // namespace bf_aot::decide
