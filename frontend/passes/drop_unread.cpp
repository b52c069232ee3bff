#include <algorithm>
#include <cstdint>
#include <vector>

#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/regions.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

// Returns whether any element was left out.
bool drop_from_regions(Graph& graph) {
  const Links links(graph);
  Region region(graph, links);
  bool changed = false;
  // The loop runs from the end: what a layer leaves out need not be made by the layers before it.
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const ValueId value = graph.nodes[i].output;
    if (region.is_found(value) || !region.collect(value)) continue;
    const std::vector<bool> read = region.read();
    std::vector<std::int64_t> moved(read.size(), -1);
    std::int64_t kept = 0;
    for (std::size_t e = 0; e < read.size(); ++e)
      if (read[e]) moved[e] = kept++;
    // A layer none of whose results matters stays as it is.
    if (kept == 0 || kept == static_cast<std::int64_t>(read.size())) continue;
    changed = region.move(moved) || changed;
  }
  return changed;
}

}  // namespace

bool drop_unread(Graph& graph) {
  remove_dead_nodes(graph);
  // Blocks around a sum read and make one region: they may shrink in turn, by an element at least.
  constexpr int kRounds = 16;
  int round = 0;
  while (round < kRounds && drop_from_regions(graph)) ++round;
  return round > 0;
}

}  // namespace bf_aot
