#include <algorithm>
#include <utility>
#include <vector>

#include "frontend/index_maps.h"
#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

// Elementwise nodes that a map moves across, at most: keeps recursion shallow on hostile graphs.
constexpr int kReach = 200;

// One IndexMap node y = map(x) of the graph, and the ways to get rid of it. Each way changes only
// values all of whose readers it adapts; none of them touches a graph output.
class MapEliminator {
 public:
  MapEliminator(Graph& graph, std::size_t index)
      : graph_(graph),
        index_(index),
        map_(std::get<IndexMap>(graph.nodes[index].op)),
        origin_(graph.nodes[index].origin),
        x_(graph.nodes[index].inputs.at(0)),
        y_(graph.nodes[index].output),
        input_count_(element_count(graph.value(x_).shape)),
        uses_(count_uses(graph)),
        makers_(producers(graph)) {}

  bool run() {
    if (is_identity(map_.source, input_count_)) return bypass(graph_, index_) || move();
    return move();
  }

 private:
  // A map that leaves out elements moves up first: less is computed then.
  bool move() {
    if (compose_with_producer()) return true;
    if (reads_all(map_.source, input_count_)) return push_down() || pull_up() || copy_affine();
    return pull_up() || push_down() || copy_affine();
  }

  Node* producer(ValueId id) {
    const int maker = makers_[index_of(id)];
    return maker < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(maker)];
  }

  // map(map(x)): this one reads x itself; the inner one stays for its other readers.
  bool compose_with_producer() {
    const Node* inner = producer(x_);
    if (inner == nullptr || !std::holds_alternative<IndexMap>(inner->op)) return false;
    Node& node = graph_.nodes[index_];
    node.op = compose(map_, std::get<IndexMap>(inner->op));
    node.inputs = inner->inputs;
    node.origin = join_origins(inner->origin, node.origin);
    return true;
  }

  // ---- Down: readers take x and do the moving themselves.

  bool push_down() {
    bool changed = false;
    for (Node& reader : graph_.nodes) {
      if (std::find(reader.inputs.begin(), reader.inputs.end(), y_) == reader.inputs.end())
        continue;
      if (!takes_map(reader)) continue;
      take_map(reader);
      reader.inputs = {x_};
      changed = true;
    }
    return changed;
  }

  bool takes_map(const Node& reader, int depth = 0) const {
    if (const auto* affine = std::get_if<Affine>(&reader.op))
      return fits_dense(affine->weight.shape[0], input_count_);
    if (std::holds_alternative<IndexMap>(reader.op)) return true;
    const bool elementwise =
        std::holds_alternative<Relu>(reader.op) ||
        (std::holds_alternative<Scale>(reader.op) && is_permutation(map_.source, input_count_));
    return elementwise && depth < kReach && all_readers_take_map(reader.output, depth + 1);
  }

  bool all_readers_take_map(ValueId id, int depth) const {
    if (is_graph_output(graph_, id)) return false;
    return std::all_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
      return std::find(node.inputs.begin(), node.inputs.end(), id) == node.inputs.end() ||
             takes_map(node, depth);
    });
  }

  // The reader's input loses the map: it is now unmoved.
  void take_map(Node& reader) {
    if (auto* affine = std::get_if<Affine>(&reader.op)) {
      if (is_identity(map_.source, input_count_)) return;
      reader.op = compose(*affine, map_, input_count_, reader.origin);
      reader.origin = join_origins(origin_, reader.origin);
      return;
    }
    if (auto* outer = std::get_if<IndexMap>(&reader.op)) {
      reader.op = compose(*outer, map_);
      reader.origin = join_origins(origin_, reader.origin);
      return;
    }
    if (auto* scale = std::get_if<Scale>(&reader.op)) reader.op = scatter(*scale, map_);
    graph_.values[index_of(reader.output)].shape = graph_.value(x_).shape;
    for (Node& node : graph_.nodes)
      if (std::find(node.inputs.begin(), node.inputs.end(), reader.output) != node.inputs.end())
        take_map(node);
  }

  // ---- Up: the nodes that make x make it moved. Each value on the way has one reader.

  bool pull_up() {
    if (!makes_moved(x_)) return false;
    make_moved(x_);
    producer(x_)->output = y_;
    graph_.nodes.erase(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(index_));
    return true;
  }

  bool makes_moved(ValueId id, int depth = 0) {
    const Node* node = producer(id);
    if (node == nullptr || uses_[index_of(id)] != 1) return false;
    if (std::holds_alternative<Relu>(node->op) || std::holds_alternative<Scale>(node->op))
      return depth < kReach && makes_moved(node->inputs[0], depth + 1);
    return std::holds_alternative<Affine>(node->op) && gathered_rows_fit(*node);
  }

  void make_moved(ValueId id) {
    Node& node = *producer(id);
    graph_.values[index_of(id)].shape = graph_.value(y_).shape;
    if (const auto* affine = std::get_if<Affine>(&node.op)) {
      node.op = compose(map_, *affine);
      node.origin = join_origins(node.origin, origin_);
      return;
    }
    if (const auto* scale = std::get_if<Scale>(&node.op)) node.op = gather(*scale, map_);
    make_moved(node.inputs[0]);
  }

  bool gathered_rows_fit(const Node& node) const {
    const std::int64_t columns = std::get<Affine>(node.op).weight.shape[1];
    return fits_dense(static_cast<std::int64_t>(map_.source.size()), columns);
  }

  // x is an Affine's result that others read too: y gets an Affine of its own when that has no more
  // elements than the map written as a matrix.
  bool copy_affine() {
    const Node* maker = producer(x_);
    if (maker == nullptr || !std::holds_alternative<Affine>(maker->op)) return false;
    const auto& affine = std::get<Affine>(maker->op);
    if (affine.weight.shape[1] > input_count_ || !gathered_rows_fit(*maker)) return false;
    Node& node = graph_.nodes[index_];
    Node copy{compose(map_, affine), maker->inputs, y_, join_origins(maker->origin, origin_)};
    node = std::move(copy);
    return true;
  }

  Graph& graph_;
  std::size_t index_;
  IndexMap map_;  // copies: the node itself may be changed or erased
  std::string origin_;
  ValueId x_;
  ValueId y_;
  std::int64_t input_count_;
  std::vector<int> uses_;
  std::vector<int> makers_;
};

bool eliminate_one(Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (std::holds_alternative<IndexMap>(graph.nodes[i].op) && MapEliminator(graph, i).run())
      return true;
  return false;
}

}  // namespace

void eliminate_permutes(Graph& graph) {
  rewrite_until_stable(graph, eliminate_one);
}

}  // namespace bf
