#pragma once

#include <cstddef>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/passes/passes.h"

namespace bf_aot {

// Readers and maker of each value of a graph, by index into graph.nodes, kept while a pass rewires
// nodes. Nodes whose results nobody reads any more are dead: they count as no readers. After nodes
// were added or erased it must be made anew.
class Links {
 public:
  explicit Links(const Graph& graph);

  int maker(ValueId id) const { return makers_[index_of(id)]; }
  // The nodes that read a value; a node occurs once for each of its operands that is the value.
  const std::vector<std::size_t>& readers(ValueId id) const { return readers_[index_of(id)]; }
  bool is_output(ValueId id) const { return output_[index_of(id)]; }
  bool is_dead(std::size_t node) const { return dead_[node]; }
  // Returns true if one node reads the value, once, and it is no output of the graph.
  bool has_one_reader(ValueId id) const { return readers(id).size() == 1 && !is_output(id); }
  // The node that makes a value that has one reader, else null.
  const Node* sole_maker(const Graph& graph, ValueId id) const {
    if (maker(id) < 0 || !has_one_reader(id)) return nullptr;
    return &graph.nodes[static_cast<std::size_t>(maker(id))];
  }

  // Sets the node's inputs; what nobody reads any more dies.
  void rewire(Graph& graph, std::size_t node, std::vector<ValueId> inputs);
  // All readers of `from` read `to` instead, which is made before them.
  void redirect(Graph& graph, ValueId from, ValueId to);
  // outer reads what inner makes, and nothing else: inner makes the value that outer made, and
  // outer dies. Other readers of what inner made are to be redirected.
  void take_output(Graph& graph, std::size_t inner, std::size_t outer);

  // Nodes were added or erased: this object is of no use any more.
  void invalidate() { valid_ = false; }
  bool is_valid() const { return valid_; }

 private:
  void unlink(const Graph& graph, std::size_t node);

  std::vector<int> makers_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> output_;
  std::vector<bool> dead_;
  bool valid_ = true;
};

// Runs rewrite(graph, links, i), which makes at most one rewrite of node i and returns whether it
// did, for all nodes that live, until no node is rewritten. Returns whether any was.
template <class Rewrite>
bool rewrite_until_stable(Graph& graph, const Rewrite& rewrite) {
  bool ever_changed = false;
  for (bool changed = true; changed; ever_changed = ever_changed || changed) {
    remove_dead_nodes(graph);
    Links links(graph);
    changed = false;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (links.is_dead(i)) continue;
      changed = rewrite(graph, links, i) || changed;
      if (!links.is_valid()) links = Links(graph);
    }
  }
  return ever_changed;
}

}  // namespace bf_aot
