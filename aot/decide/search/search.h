#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "aot/decide/property/cases.h"
#include "aot/decide/property/witness.h"
#include "aot/decide/tree/tree_state.h"
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
};

}  // namespace bf_aot::decide
