#include "aot/decide/tree/one_root.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bf_aot::decide::tree {

OneRoot::OneRoot(TreeState& state, std::size_t root) : state_(state) {
  const auto others = std::stable_partition(state.open.begin(), state.open.end(),
                                            [root](const Node& node) { return node.root == root; });
  others_.assign(std::make_move_iterator(others), std::make_move_iterator(state.open.end()));
  state.open.erase(others, state.open.end());
}

OneRoot::~OneRoot() {
  others_.insert(others_.end(), std::make_move_iterator(state_.open.begin()),
                 std::make_move_iterator(state_.open.end()));
  state_.open = std::move(others_);
}

void close_root(TreeState& state, std::size_t root) {
  if (is_verified(state, static_cast<std::uint32_t>(root))) return;
  std::erase_if(state.open, [root](const Node& node) { return node.root == root; });
  state.roots[root] = {};
  state.roots[root].closed.add(0);
}

}  // namespace bf_aot::decide::tree
