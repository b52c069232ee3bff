#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/algebra/conv_algebra.h"
#include "frontend/algebra/linear_algebra.h"
#include "frontend/graph/index_maps.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/regions.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

// Elementwise nodes that a map moves up across, at most: keeps recursion shallow on hostile graphs.
constexpr int kReach = 200;

// One IndexMap node y = map(x) of the graph, and the ways to get rid of it. Each way changes only
// values all of whose readers it adapts; none of them touches a graph output.
class MapEliminator {
 public:
  MapEliminator(Graph& graph, Links& links, std::size_t index)
      : graph_(graph),
        links_(links),
        index_(index),
        map_(std::get<IndexMap>(graph.nodes[index].op)),
        origin_(graph.nodes[index].origin),
        x_(graph.nodes[index].inputs.at(0)),
        y_(graph.nodes[index].output),
        input_count_(element_count(graph.value(x_).shape)) {}

  bool run() {
    if (is_identity(map_.source, input_count_))
      return bypass(graph_, links_, index_) || push_into_readers();
    if (compose_with_producer()) return true;
    if (is_permutation(map_.source, input_count_) && move_region()) return true;
    // A map that leaves out elements moves up first: less is computed then.
    if (reads_all(map_.source, input_count_))
      return push_into_readers() || push_across_functions() || pull_up() || copy_affine();
    return pull_up() || push_into_readers() || copy_affine();
  }

 private:
  Node* producer(ValueId id) {
    const int maker = links_.maker(id);
    return maker < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(maker)];
  }

  // map(map(x)): this one reads x itself; the inner one stays for its other readers.
  bool compose_with_producer() {
    const Node* inner = producer(x_);
    if (inner == nullptr || !std::holds_alternative<IndexMap>(inner->op)) return false;
    Node& node = graph_.nodes[index_];
    node.op = compose(map_, std::get<IndexMap>(inner->op));
    node.origin = join_origins(inner->origin, node.origin);
    links_.rewire(graph_, index_, std::vector<ValueId>(inner->inputs));
    return true;
  }

  // All that is connected with y, or with x, takes the order in which the map is the identity.
  bool move_region() {
    if (reorder_region(graph_, links_, y_, x_, map_.source)) return true;
    std::vector<std::int64_t> inverse(map_.source.size());
    for (std::size_t i = 0; i < inverse.size(); ++i)
      inverse[static_cast<std::size_t>(map_.source[i])] = static_cast<std::int64_t>(i);
    return reorder_region(graph_, links_, x_, y_, inverse);
  }

  // ---- Down: readers take x and do the moving themselves.

  bool push_into_readers() {
    bool changed = false;
    const std::vector<std::size_t> readers = links_.readers(y_);
    for (std::size_t reader : readers) {
      Node& node = graph_.nodes[reader];
      if (std::holds_alternative<Contraction>(node.op)) {
        changed = compose_factors(reader) || changed;
        continue;
      }
      std::optional<Op> op = with_map(node);
      if (!op) continue;
      const bool identity = is_identity(map_.source, input_count_);
      node.op = std::move(*op);
      links_.rewire(graph_, reader, {x_});
      if (!identity) node.origin = join_origins(origin_, node.origin);
      changed = true;
    }
    return changed;
  }

  // Sources of a contraction of which some operand is y.
  bool compose_factors(std::size_t reader) {
    const bool identity = is_identity(map_.source, input_count_);
    Node& node = graph_.nodes[reader];
    auto& op = std::get<Contraction>(node.op);
    std::vector<ValueId> inputs = node.inputs;
    for (std::size_t side = 0; side < 2; ++side) {
      if (inputs[side] != y_) continue;
      for (std::int64_t& i : side == 0 ? op.left : op.right)
        i = map_.source[static_cast<std::size_t>(i)];
      inputs[side] = x_;
    }
    links_.rewire(graph_, reader, std::move(inputs));
    if (!identity) node.origin = join_origins(origin_, node.origin);
    return true;
  }

  // The reader's operator on x. No dense matrix gets much larger.
  std::optional<Op> with_map(const Node& reader) const {
    if (const auto* affine = std::get_if<Affine>(&reader.op)) {
      const std::int64_t rows = affine->weight.shape[0];
      if (input_count_ > 2 * affine->weight.shape[1] && rows * input_count_ > 4096)
        return std::nullopt;
      return compose(*affine, map_, input_count_, reader.origin);
    }
    if (const auto* sparse = std::get_if<SparseAffine>(&reader.op))
      return compose(*sparse, map_, reader.origin);
    if (const auto* outer = std::get_if<IndexMap>(&reader.op)) return compose(*outer, map_);
    if (const auto* max = std::get_if<GroupMax>(&reader.op)) return compose(*max, map_);
    if (const auto* softmax = std::get_if<LogSoftmax>(&reader.op)) {
      std::optional<LogSoftmax> composed = compose(*softmax, map_);
      return composed ? std::optional<Op>(*std::move(composed)) : std::nullopt;
    }
    const auto* conv = std::get_if<Conv>(&reader.op);
    if (conv == nullptr || !is_permutation(map_.source, input_count_)) return std::nullopt;
    std::optional<ConvGeometry> geometry = moved_geometry(conv->geometry, false, map_.source);
    if (!geometry) return std::nullopt;
    return Conv{*geometry, conv->weight, conv->bias};
  }

  // f(map(x)) = map(f(x)), when the map repeats elements: f, and what functions follow it alone,
  // are computed once for each.
  bool push_across_functions() {
    if (static_cast<std::int64_t>(map_.source.size()) <= input_count_) return false;
    const Shape shape = graph_.value(x_).shape;
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    bool changed = false;
    for (std::size_t reader : links_.readers(y_)) {
      if (!is_function(graph_.nodes[reader])) continue;
      graph_.nodes[reader].inputs = {x_};
      const std::size_t last = last_function(reader, shape);
      Node function = graph_.nodes[last];
      const ValueId y = function.output;
      function.output = graph_.add_value(graph_.value(y).name + "_once", shape);
      Node repeat{map_, {function.output}, y, origin_};
      replacements[last] = {std::move(function), std::move(repeat)};
      changed = true;
    }
    if (!changed) return false;
    replace_nodes(graph_, std::move(replacements));
    links_.invalidate();
    return true;
  }

  static bool is_function(const Node& node) {
    const auto* const unary = std::get_if<Unary>(&node.op);
    if (unary != nullptr) return unary->function.slack == 0;  // else each element has its own value
    return std::holds_alternative<Relu>(node.op);
  }

  // The end of a chain of functions, whose values take the shape.
  std::size_t last_function(std::size_t node, const Shape& shape) {
    for (;;) {
      const ValueId y = graph_.nodes[node].output;
      if (!links_.has_one_reader(y) || !is_function(graph_.nodes[links_.readers(y)[0]]))
        return node;
      graph_.values[index_of(y)].shape = shape;
      node = links_.readers(y)[0];
    }
  }

  // ---- Up: the nodes that make x make it moved. Each value on the way has one reader.

  bool pull_up() {
    if (static_cast<std::int64_t>(map_.source.size()) > input_count_ || !makes_moved(x_))
      return false;
    make_moved(x_);
    links_.take_output(graph_, static_cast<std::size_t>(links_.maker(x_)), index_);
    return true;
  }

  bool makes_moved(ValueId id, int depth = 0) {
    const Node* node = producer(id);
    if (node == nullptr || !links_.has_one_reader(id)) return false;
    if (std::holds_alternative<Relu>(node->op) || std::holds_alternative<Unary>(node->op) ||
        std::holds_alternative<Scale>(node->op))
      return depth < kReach && makes_moved(node->inputs[0], depth + 1);
    return std::holds_alternative<Affine>(node->op) ||
           std::holds_alternative<SparseAffine>(node->op) ||
           std::holds_alternative<GroupMax>(node->op);
  }

  void make_moved(ValueId id) {
    Node& node = *producer(id);
    graph_.values[index_of(id)].shape = graph_.value(y_).shape;
    if (const auto* scale = std::get_if<Scale>(&node.op)) {
      node.op = gather(*scale, map_);
      return make_moved(node.inputs[0]);
    }
    if (std::holds_alternative<Relu>(node.op) || std::holds_alternative<Unary>(node.op))
      return make_moved(node.inputs[0]);
    if (const auto* affine = std::get_if<Affine>(&node.op)) {
      node.op = compose(map_, *affine);
    } else if (const auto* sparse = std::get_if<SparseAffine>(&node.op)) {
      node.op = compose(map_, *sparse);
    } else {
      node.op = compose(map_, std::get<GroupMax>(node.op));
    }
    node.origin = join_origins(node.origin, origin_);
  }

  // x is an Affine's result that others read too: y gets an Affine of its own when that has no more
  // elements than the map written as a matrix.
  bool copy_affine() {
    const Node* maker = producer(x_);
    if (maker == nullptr || !std::holds_alternative<Affine>(maker->op)) return false;
    const auto& affine = std::get<Affine>(maker->op);
    const auto rows = static_cast<std::int64_t>(map_.source.size());
    if (affine.weight.shape[1] > input_count_ || rows > affine.weight.shape[0]) return false;
    Node& node = graph_.nodes[index_];
    const std::vector<ValueId> inputs = maker->inputs;
    node.origin = join_origins(maker->origin, origin_);
    node.op = compose(map_, affine);
    links_.rewire(graph_, index_, inputs);
    return true;
  }

  Graph& graph_;
  Links& links_;
  std::size_t index_;
  IndexMap map_;  // copies: the node itself may be changed or erased
  Origin origin_;
  ValueId x_;
  ValueId y_;
  std::int64_t input_count_;
};

}  // namespace

bool eliminate_permutes(Graph& graph) {
  return rewrite_until_stable(graph, [](Graph& g, Links& links, std::size_t i) {
    return std::holds_alternative<IndexMap>(g.nodes[i].op) && MapEliminator(g, links, i).run();
  });
}

}  // namespace bf_aot
