#pragma once

#include <optional>
#include <vector>

#include "aot/decide/neurons/lanes.h"

namespace bf_aot::decide {

// A linear program's proposals, in plain double, for a node whose open neurons are all split.
struct LeafProposal {
  SplitNode node;                           // with the program's multipliers and weights
  std::optional<std::vector<float>> point;  // where the clause may be violated
};

// Solves the program: the least v with sign (row - threshold) <= v for each term, on the part of
// the box where all splits hold. pieces: the line that each open neuron is there, by number. The
// program's multipliers become those of the node's bound, and its point is where the leaf's affine
// network is least. None when the program would be too large, or is not solved.
std::optional<LeafProposal> solve_leaf(const SplitNetwork& network,
                                       const std::vector<SplitTerm>& terms,
                                       const std::vector<float>& scales, const SplitNode& leaf,
                                       const std::vector<FunctionPiece>& pieces);

}  // namespace bf_aot::decide
