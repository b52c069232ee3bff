#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "aot/reach/search/reach.h"
#include "aot/reach/search/simulate.h"
#include "aot/system/stop.h"
#include "frontend/property/property.h"

namespace bf_aot::reach {

// A scenario that breaks a requirement as far as a simulation can tell.
struct Candidate {
  Scenario scenario;
  std::size_t requirement = 0;
  double margin = 0;  // negative
  double time = 0;    // where the margin is least
};

struct FalsifySettings {
  std::vector<Box> cells;         // of the initial box: these are tried first, the worst one first
  std::size_t most_runs = 20000;  // simulations
  std::size_t most_descents = 1000;  // of each requirement
  std::size_t most_kept = 8;         // candidates of each requirement
  std::uint64_t seed = 1;
  system::Stop stop;
};

// Proves that a candidate breaks its requirement, or another one; nothing where it cannot.
using Prover = std::function<std::optional<Violation>(const Candidate&)>;

// A search has found this, in so many simulations.
struct Falsified {
  std::optional<Violation> violation;
  std::vector<Candidate> candidates;  // by margin, the least one first
  std::uint64_t runs = 0;
  std::vector<double> least;  // of each requirement: the least margin that was seen
};

// Looks for scenarios that break requirements: cells, corners, faces and random points, then
// descents on the margin from the best of them, by differences and by random steps. Candidates are
// given to the prover once they are found, and again where a margin is twice as deep or a descent
// has ended; the search ends with the first proof. Without a prover it ends once every requirement
// has a candidate. Equal arguments give equal results where nothing stops it.
Falsified falsify(const Simulation& simulation, const FalsifySettings& settings,
                  const Prover& prover = {});

}  // namespace bf_aot::reach
