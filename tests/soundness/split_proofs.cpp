#include "tests/soundness/split_proofs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/engine/verifier/engine_verifier.h"
#include "planner/network/split_network.h"

namespace bf_aot::soundness {

using decide::BoxNetwork;
using decide::ClauseTerm;
using decide::kLanes;
using decide::NodeLanes;
using decide::SplitNode;

std::unique_ptr<const BoxNetwork> network_on(const std::shared_ptr<const Plan>& plan,
                                             const FloatBox& box) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  if (!can_split_neurons(*plan)) return nullptr;
  const engine::EngineVerifier verifier(lower(plan), false);
  auto made = BoxNetwork::make(*plan, split_network_of(*plan), box.lower, box.upper,
                               verifier.spec_ranges({box.lower, box.upper}).ranges, kMostBytes);
  return made != nullptr && made->open() > 0 ? std::move(made) : nullptr;
}

bool is_proven(const BoxNetwork& network, std::vector<ClauseTerm>& terms,
               const std::vector<float>& scales, const SplitNode& node, double threshold) {
  terms.front().threshold = threshold;
  NodeLanes lanes(network, terms);
  lanes.nodes.scales = scales;
  for (std::size_t p = 0; p < kLanes; ++p) lanes.nodes.load(p, node);
  const auto proven = lanes.proof.prove();
  for (const bool each : proven) EXPECT_EQ(each, proven.front()) << "lanes differ";
  return proven.front();
}

std::optional<double> last_proven(const BoxNetwork& network, std::vector<ClauseTerm>& terms,
                                  const std::vector<float>& scales, const SplitNode& node,
                                  double near) {
  const double away = terms.front().sign > 0 ? -1 : 1;
  const double size = std::max(1e-30, std::fabs(near));
  double yes = near + away * size, no = near - away * size;
  for (int k = 0; k < 60 && !is_proven(network, terms, scales, node, yes); ++k)
    yes += away * std::ldexp(size, k);
  if (!std::isfinite(yes) || !is_proven(network, terms, scales, node, yes)) return std::nullopt;
  for (int k = 0; k < 1100 && is_proven(network, terms, scales, node, no); ++k)
    no -= away * std::ldexp(size, k);
  while (true) {
    const double middle = yes / 2 + no / 2;
    if (middle == yes || middle == no || !std::isfinite(middle)) return yes;
    (is_proven(network, terms, scales, node, middle) ? yes : no) = middle;
  }
}

}  // namespace bf_aot::soundness
