#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

// Affine and Scale nodes that read node number `index`, a Scale, read its input instead. Others
// still read its output.
bool fold_into_readers(Graph& graph, std::size_t index) {
  const Node& inner = graph.nodes[index];
  const auto& scale = std::get<Scale>(inner.op);
  bool changed = false;
  for (Node& reader : graph.nodes) {
    if (reader.inputs.size() != 1 || reader.inputs[0] != inner.output) continue;
    if (const auto* affine = std::get_if<Affine>(&reader.op)) {
      reader.op = compose(*affine, scale, reader.origin);
    } else if (const auto* outer = std::get_if<Scale>(&reader.op)) {
      reader.op = compose(*outer, scale, reader.origin);
    } else {
      continue;
    }
    reader.inputs = inner.inputs;
    reader.origin = join_origins(inner.origin, reader.origin);
    changed = true;
  }
  return changed;
}

// The Scale node becomes an Affine that reads what the Affine before it reads. When others read
// that one's result too, this doubles its weights; it is done if a diagonal matrix would be larger.
bool fold_into_producer(Graph& graph, std::size_t index) {
  Node& node = graph.nodes[index];
  const ValueId x = node.inputs[0];
  const int maker = producers(graph)[index_of(x)];
  if (maker < 0) return false;
  const Node& inner = graph.nodes[static_cast<std::size_t>(maker)];
  const auto* affine = std::get_if<Affine>(&inner.op);
  if (affine == nullptr) return false;
  const bool sole_reader = count_uses(graph)[index_of(x)] == 1;
  if (!sole_reader && affine->weight.shape[1] > affine->weight.shape[0]) return false;
  node.op = compose(std::get<Scale>(node.op), *affine, node.origin);
  node.inputs = inner.inputs;
  node.origin = join_origins(inner.origin, node.origin);
  return true;
}

bool fold_one(Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto* scale = std::get_if<Scale>(&graph.nodes[i].op);
    if (scale == nullptr) continue;
    if (is_identity(*scale) && bypass(graph, i)) return true;
    if (fold_into_producer(graph, i) || fold_into_readers(graph, i)) return true;
  }
  return false;
}

}  // namespace

void fold_scale(Graph& graph) {
  rewrite_until_stable(graph, fold_one);
}

}  // namespace bf
