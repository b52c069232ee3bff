#pragma once

#include "aot/decide/neurons/lanes.h"

namespace bf_aot::decide {

struct TightenSettings {
  std::size_t neurons = 0;  // at most, those by which the bound loses most
  int steps = 0;            // of each neuron's own choices
};

// At most bound / factor: also where that is below the normal range, which rounds -2^-1074 / 4 to
// 0.
double divided_down(double bound, float factor);

// Where open neurons lie at every violation of the clause in a node, with the conditions of its
// splits and of the clause. Writes what is tighter into the node's ranges. False when there is
// none. Takes all lanes; depends on the node alone.
bool tighten_ranges(const BoxNetwork& network, NodeLanes& lanes, SplitNode& node,
                    const TightenSettings& settings);

}  // namespace bf_aot::decide
