#pragma once

#include "aot/decide/neurons/lanes.h"

namespace bf_aot::decide {

struct TightenSettings {
  std::size_t neurons = 0;  // at most; those by which the bound loses most
  int steps = 0;            // by which each neuron's own choices are improved
};

// A number <= bound / factor, also where the quotient is below the normal range: -2^-1074 / 4
// rounds to 0.
double divided_down(double bound, float factor);

// Tightens the ranges of open neurons at every violation of the clause in a node, by the conditions
// of its splits and of the clause, and writes those that became tighter to the node. False when it
// proves that there is no violation. Overwrites all lanes; the result depends on the node alone.
bool tighten_ranges(const SplitNetwork& network, NodeLanes& lanes, SplitNode& node,
                    const TightenSettings& settings);

}  // namespace bf_aot::decide
