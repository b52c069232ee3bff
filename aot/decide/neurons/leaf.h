#pragma once

#include <optional>
#include <vector>

#include "aot/decide/neurons/lane_nodes.h"

namespace bf_aot::decide {

// What a linear program says of a node whose open neurons are all split: proposals, in plain
// double.
struct LeafProposal {
  SplitNode node;                           // with the program's multipliers and weights
  std::optional<std::vector<float>> point;  // where the clause may be violated
};

// The program: the least v with sign (row - threshold) <= v for each term, on the part of the box
// where all splits hold. pieces: what each open neuron is there, by number. Its multipliers are
// those of the node's bound, and at its point the network is what the leaf makes of it. Nothing
// when it would be too large, or is not solved.
std::optional<LeafProposal> solve_leaf(const BoxNetwork& network,
                                       const std::vector<ClauseTerm>& terms,
                                       const std::vector<float>& scales, const SplitNode& leaf,
                                       const std::vector<FunctionPiece>& pieces);

}  // namespace bf_aot::decide
