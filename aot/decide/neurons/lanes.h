#pragma once

#include <vector>

#include "aot/decide/neurons/lane_nodes.h"
#include "aot/decide/neurons/lane_proof.h"
#include "aot/decide/neurons/lane_proposal.h"

namespace bf_aot::decide {

// Bounds kLanes nodes side by side, in plain float32, which proposes, and proves bounds in double.
//
// The bound of a node is the least value of F = sum_t weight_t sign_t (row_t - threshold_t) on the
// part of the box where its splits hold, from below. F >= 0 there excludes a violation.
struct NodeLanes {
  LaneNodes nodes;
  LaneProposal proposal;
  LaneProof proof;

  // Keeps references to both arguments. Not for several threads.
  NodeLanes(const BoxNetwork& network, const std::vector<ClauseTerm>& terms)
      : nodes(network, terms), proposal(nodes), proof(nodes) {}
  NodeLanes(const NodeLanes&) = delete;
  NodeLanes& operator=(const NodeLanes&) = delete;
};

}  // namespace bf_aot::decide
