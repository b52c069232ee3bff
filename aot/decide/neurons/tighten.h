#pragma once

#include <functional>
#include <span>

#include "aot/decide/neurons/lanes.h"

namespace bf_aot::decide {

struct TightenSettings {
  std::size_t neurons = 0;  // at most; those by which the bound loses most
  int steps = 0;            // by which each neuron's own choices are improved
  // Neurons of a layer are tightened by the ranges that the node has before, so that workers can
  // share them. Else each group of neurons is tightened by those that the groups before it made.
  bool by_layer = false;
};

// A number <= bound / factor, also where the quotient is below the normal range: -2^-1074 / 4
// rounds to 0.
double divided_down(double bound, float factor);

// Tightens the ranges of open neurons at every violation of the clause in a node, by the conditions
// of its splits and of the clause, and writes those that became tighter to the node. False when it
// proves that there is no violation. Overwrites all lanes; the result depends on the node alone.
// lanes: at least one, of the same network and terms, with the same scales; with several, workers
// share layers. pause: called now and then, on any thread; what it throws is thrown on.
bool tighten_ranges(
    const BoxNetwork& network, std::span<NodeLanes* const> lanes, SplitNode& node,
    const TightenSettings& settings, const std::function<void()>& pause = [] {});

}  // namespace bf_aot::decide
