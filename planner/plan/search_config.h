#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bf_aot {

// The kind of search of `auto`: steepest descent, one choice at a time; the same from several
// candidates at once; every candidate.
enum class SearchKind : std::uint8_t { kGreedy, kBeam, kExhaustive };

// Weights of what is minimised, each relative to crown's plan.
struct Objective {
  double time = 0;
  double memory = 0;  // workspace
  double looseness = 0;
  double compile = 0;  // time to compile the code
  bool operator==(const Objective&) const = default;
};

struct SearchConfig {
  SearchKind kind = SearchKind::kGreedy;
  int beam_width = 4;
  // The goal. If there is none, the search takes the tightest plan within the budgets, and of
  // equally tight ones the fastest; with a looseness target, the fastest plan that meets it.
  std::optional<Objective> objective;
  double time_budget = 0;       // predicted seconds of a call; 0: none
  double looseness_target = 0;  // mean width at most so many times crown's; 0: none
  bool operator==(const SearchConfig&) const = default;
};

std::string_view to_string(SearchKind kind);

}  // namespace bf_aot
