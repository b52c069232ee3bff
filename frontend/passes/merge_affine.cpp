#include <utility>
#include <vector>

#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

bool saves_work(const Affine& outer, const Affine& inner) {
  const std::int64_t out = outer.weight.shape[0];
  const std::int64_t middle = outer.weight.shape[1];
  const std::int64_t in = inner.weight.shape[1];
  return fits_dense(out, in) && out * in <= out * middle + middle * in;
}

bool merge_one(Graph& graph) {
  const std::vector<int> uses = count_uses(graph);
  const std::vector<int> makers = producers(graph);
  for (Node& outer : graph.nodes) {
    if (!std::holds_alternative<Affine>(outer.op)) continue;
    const std::size_t middle = index_of(outer.inputs[0]);
    if (makers[middle] < 0 || uses[middle] != 1) continue;
    const Node& inner = graph.nodes[static_cast<std::size_t>(makers[middle])];
    if (!std::holds_alternative<Affine>(inner.op)) continue;
    const auto& first = std::get<Affine>(inner.op);
    const auto& second = std::get<Affine>(outer.op);
    if (!saves_work(second, first)) continue;
    outer.op = compose(second, first, outer.origin);
    outer.inputs = inner.inputs;
    outer.origin = join_origins(inner.origin, outer.origin);
    return true;
  }
  return false;
}

}  // namespace

void merge_affine(Graph& graph) {
  rewrite_until_stable(graph, merge_one);
}

}  // namespace bf
