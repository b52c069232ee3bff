#pragma once

#include <vector>

#include "planner/plan/plan.h"
#include "planner/search/climb.h"

namespace bf_aot {

// A layer for which there is a choice: one axis of the space. Options go from the loosest and
// fastest to the tightest: interval, backward, optimised where its rows have slopes to choose.
struct Decision {
  LayerId layer = 0;
  bool head = false;
  std::vector<DomainChoice> options;

  int find(Domain domain) const;  // an option's number
  bool has(Domain domain) const;
};

// The choices of a search: domains of the layers that the timed entry needs, then, where there is a
// choice, rows of a tile. The timed entry bounds the specification rows when there are some, else
// the outputs. When it keeps intervals for all of its heads, so do all other layers.
struct SearchSpace {
  std::vector<Decision> decisions;
  std::vector<int>
      tiles;  // options of the last axis, 0 being the planner's own; none: no such axis

  std::vector<int> options() const;
  // Single methods; the tile is the planner's own.
  Candidate ibp() const;
  Candidate crown_ibp() const;
  Candidate crown() const;
  Candidate alpha_crown() const;  // heads optimised, where they have that option
  Candidate tightest() const;     // the last option of every layer
  bool has(Domain domain) const;
};

// Makes the space for a plan whose domains are those of crown.
SearchSpace make_space(const Plan& plan);

// Takes optimised slopes from the options: of all layers, or of those that are no heads.
void leave_out_optimised(SearchSpace& space, bool heads);

// Sets plan.domains.
void apply(const SearchSpace& space, const Candidate& candidate, Plan& plan);

}  // namespace bf_aot
