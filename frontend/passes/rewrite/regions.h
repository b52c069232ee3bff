#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/passes/rewrite/links.h"

namespace bf_aot {

// A value and all values that elementwise nodes (Relu, Unary, Scale, sums and products of two,
// reshapes) connect with it: their elements lie in the same order. One region after the other.
class Region {
 public:
  Region(Graph& graph, const Links& links);

  // Finds the region of `value`, which is in none that was found before. False when a value of it
  // is an input or an output of the graph, or next to an operator that cannot move.
  bool collect(ValueId value);
  // Returns true if any call of collect() found the value.
  bool is_found(ValueId id) const { return inside_[index_of(id)]; }

  const std::vector<ValueId>& values() const { return values_; }
  std::int64_t element_count() const;

  // The elements that the operators around the region read. An Affine reads those with weights; a
  // convolution that reads or makes the region takes whole boxes of positions from the first on.
  std::vector<bool> read() const;

  // Element i becomes element moved[i] of all values, or is dropped where that is -1, which must
  // not be read. The operators around the region move their rows, columns, sources or strides.
  // False, with the graph unchanged, when a convolution cannot. Rounding: none.
  bool move(const std::vector<std::int64_t>& moved);

 private:
  enum class Known : std::uint8_t { kNot, kNo, kYes };

  bool is_elementwise(std::size_t node);
  void enter(ValueId id);
  bool can_move(const std::vector<std::int64_t>& moved) const;
  bool fill_boxes(std::vector<bool>& read) const;
  void mark_read(const Op& op, std::vector<bool>& read) const;

  Graph& graph_;
  const Links& links_;
  std::vector<bool> inside_;        // of all regions that were collected
  std::vector<Known> elementwise_;  // of each node
  // The region's values, and the nodes that make, read and are part of it; one may do all three.
  std::vector<ValueId> values_;
  std::set<std::size_t> makers_, readers_, within_;
};

// Puts the elements of the region of `value` into another order: Region::move().
//   y = conv x;  z = add y, s;  r = relu z;  t = affine r
//     -> the same nodes, y, s, z, r in the new order: rows of what makes s, columns of t moved
// Returns false, with the graph unchanged, when Region::collect() or move() does, or when `other`
// is in the region. Rounding: none.
bool reorder_region(Graph& graph, const Links& links, ValueId value, ValueId other,
                    const std::vector<std::int64_t>& moved);

}  // namespace bf_aot
