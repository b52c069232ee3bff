#pragma once

#include <cstdint>
#include <vector>

#include "frontend/graph.h"

namespace bf {

// Readers and maker of each value of a graph, by index into graph.nodes. Stale once nodes are
// added, erased or rewired.
class Links {
 public:
  explicit Links(const Graph& graph);

  int maker(ValueId id) const { return makers_[index_of(id)]; }
  const std::vector<std::size_t>& readers(ValueId id) const { return readers_[index_of(id)]; }
  bool is_output(ValueId id) const { return output_[index_of(id)]; }
  // The only one that reads the value is one node, once.
  bool has_one_reader(ValueId id) const { return readers(id).size() == 1 && !is_output(id); }

 private:
  std::vector<int> makers_;
  std::vector<std::vector<std::size_t>> readers_;  // once for each operand
  std::vector<bool> output_;
};

// Puts the elements of a value into another order, and with it those of all values that elementwise
// nodes (Relu, Unary, Scale, sums and products of two, reshapes) connect with it: element i becomes
// element moved[i], of a permutation. The operators around them move their rows, columns, sources
// or strides.
//   y = conv x;  z = add y, s;  r = relu z;  t = affine r
//     -> the same nodes, y, s, z, r in the new order: rows of what makes s, columns of t moved
// Returns false, with the graph unchanged, when `value` or one that is connected with it is
// `other`, an input or an output of the graph, or next to an operator that cannot move. Rounding:
// none.
bool reorder_region(Graph& graph, const Links& links, ValueId value, ValueId other,
                    const std::vector<std::int64_t>& moved);

}  // namespace bf
