#pragma once

#include <cstddef>
#include <vector>

#include "aot/decide/tree/tree_state.h"

namespace bf_aot::decide::tree {

// Leaves in a state the open nodes of one root alone, for as long as this lives.
class OneRoot {
 public:
  OneRoot(TreeState& state, std::size_t root);
  ~OneRoot();
  OneRoot(const OneRoot&) = delete;
  OneRoot& operator=(const OneRoot&) = delete;

 private:
  TreeState& state_;
  std::vector<Node> others_;
};

// Makes a root, which is known to be closed, one leaf.
void close_root(TreeState& state, std::size_t root);

}  // namespace bf_aot::decide::tree
