#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "aot/decide/neurons/lanes.h"
#include "planner/plan/plan.h"
#include "tests/soundness/random_net.h"

// What nodes of neuron splits prove.
namespace bf_aot::soundness {

// The plan's network on a box, with the engine's ranges. Null where it is not covered, or nothing
// is open there.
std::unique_ptr<const decide::BoxNetwork> network_on(const std::shared_ptr<const Plan>& plan,
                                                     const FloatBox& box);

// Whether every lane proves the node with this threshold in its first term.
bool is_proven(const decide::BoxNetwork& network, std::vector<decide::ClauseTerm>& terms,
               const std::vector<float>& scales, const decide::SplitNode& node, double threshold);

// The threshold of the first term farthest on its way to a bound of 0 that is proven; nothing where
// none is. near: where it is looked for first.
std::optional<double> last_proven(const decide::BoxNetwork& network,
                                  std::vector<decide::ClauseTerm>& terms,
                                  const std::vector<float>& scales, const decide::SplitNode& node,
                                  double near);

}  // namespace bf_aot::soundness
