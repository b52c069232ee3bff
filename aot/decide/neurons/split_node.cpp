#include "aot/decide/neurons/split_node.h"

#include <algorithm>

namespace bf_aot::decide {

void add_split(SplitNode& node, const NeuronSplit& split) {
  const auto same = std::ranges::find_if(node.splits, [&](const NeuronSplit& each) {
    return each.open == split.open && each.positive == split.positive;
  });
  if (same != node.splits.end())
    *same = split;
  else
    node.splits.push_back(split);
}

}  // namespace bf_aot::decide
