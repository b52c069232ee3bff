#include "aot/decide/tree/tree_state.h"

#include <algorithm>
#include <utility>

namespace bf_aot::decide::tree {

TreeState start_of(std::vector<std::vector<std::byte>> roots) {
  TreeState state;
  state.roots.resize(roots.size());
  for (std::size_t i = roots.size(); i-- > 0;)
    state.open.push_back({static_cast<std::uint32_t>(i), 0, std::move(roots[i])});
  return state;
}

bool is_verified(const TreeState& state, std::uint32_t root) {
  return state.roots.at(root).closed.is_one();
}

bool is_verified(const TreeState& state) {
  return std::ranges::all_of(state.roots,
                             [](const RootLeaves& leaves) { return leaves.closed.is_one(); });
}

bool is_whole(const TreeState& state) {
  std::vector<KraftSum> sums;
  for (const RootLeaves& leaves : state.roots) {
    sums.push_back(leaves.closed);
    sums.back().add(leaves.stuck);
  }
  for (const Node& node : state.open) sums.at(node.root).add(node.depth);
  return std::ranges::all_of(sums, [](const KraftSum& sum) { return sum.is_one(); });
}

double closed_part(const TreeState& state) {
  if (state.roots.empty()) return 1;
  double sum = 0;
  for (const RootLeaves& leaves : state.roots) sum += leaves.closed.approximate();
  return sum / static_cast<double>(state.roots.size());
}

}  // namespace bf_aot::decide::tree
