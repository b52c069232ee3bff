#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/graph/index_maps.h"

// Lowers products of matrices, for lower_affine().

namespace bf_aot {

// A node with its operands: constant or computed.
struct Operands {
  const Graph& graph;
  const Node& node;
  const std::vector<const Constant*>& literals;
  // Each operand's constant where this node alone reads it, so that it may be emptied; else null.
  std::array<Constant*, 2> spare = {};
  bool contract = false;  // products of two computed matrices become a Contraction

  std::size_t count() const { return node.inputs.size(); }
  const Constant* literal(std::size_t i) const { return literals[index_of(node.inputs[i])]; }
  const Shape& shape(std::size_t i) const { return graph.value(node.inputs[i]).shape; }
  const std::string& name(std::size_t i) const { return graph.value(node.inputs[i]).name; }
  const Shape& output_shape() const { return graph.value(node.output).shape; }
};

// The nodes that take the place of one node. All have its origin; the last makes its output.
class Replacement {
 public:
  Replacement(Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  // A node that makes a new value, named after the output.
  ValueId add(Op op, std::vector<ValueId> inputs, std::string_view suffix, Shape shape);

  // x repeated as broadcasting to the output says; x itself when that repeats nothing.
  ValueId broadcast(ValueId x);
  ValueId scaled(ValueId x, double factor);
  ValueId function(ValueId x, const Function& function, std::string_view suffix);

  void finish(Op op, std::vector<ValueId> inputs);
  // The node that makes `last`, which add() gave, makes the output instead.
  void finish_as(ValueId last);

  std::vector<Node> nodes() && { return std::move(nodes_); }

 private:
  Graph& graph_;
  const Node& node_;
  std::vector<Node> nodes_;
};

// alpha A B + bias; bias: of the output's shape.
struct ProductTerms {
  double alpha = 1;
  Constant bias;
};

// alpha A B + bias for the node's first two operands, of which at most one is constant. The value
// is made by the last of the nodes that are added, which is
//   a dense Affine, when it is small or at least a quarter of its entries are products;
//   else a Conv of kernel 1, when all batch entries share the constant factor: the positions are
//   the rows of A or the columns of B;
//   else a SparseAffine. Two computed factors are a Contraction, or gathered, multiplied and summed:
//   p = index_map A;  q = index_map B;  m = mul p, q;  y = sparse_affine m {alpha, ...}
ValueId lower_product(const Operands& in, const ProductLayout& layout, ProductTerms terms,
                      Replacement& out);

}  // namespace bf_aot
