#include "frontend/passes/permute_regions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "frontend/index_maps.h"
#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/conv_algebra.h"
#include "frontend/passes/linear_algebra.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

class Region {
 public:
  Region(Graph& graph, const Links& links, const std::vector<std::int64_t>& moved)
      : graph_(graph), links_(links), moved_(moved), inside_(graph.values.size(), false) {}

  // Finds all values that are connected; false when one cannot move.
  bool collect(ValueId value, ValueId other) {
    enter(value);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const ValueId id = values_[i];
      if (id == other || links_.is_output(id) || links_.maker(id) < 0) return false;
      const Node& maker = graph_.nodes[static_cast<std::size_t>(links_.maker(id))];
      if (is_elementwise(maker)) {
        for (ValueId input : maker.inputs) enter(input);
      } else if (!moves_rows(maker.op)) {
        return false;
      }
      for (std::size_t reader : links_.readers(id)) {
        const Node& node = graph_.nodes[reader];
        if (is_elementwise(node)) {
          enter(node.output);
          for (ValueId input : node.inputs) enter(input);
        } else if (!moves_columns(node.op)) {
          return false;
        }
      }
    }
    return true;
  }

  void reorder() {
    IndexMap gather{std::vector<std::int64_t>(moved_.size())};  // of the old elements
    for (std::size_t i = 0; i < moved_.size(); ++i)
      gather.source[static_cast<std::size_t>(moved_[i])] = static_cast<std::int64_t>(i);
    const IndexMap scatter{moved_};
    // All found before any is moved: a map with both sides inside may look like a reshape halfway.
    std::set<std::size_t> makers, readers, scales;
    for (ValueId id : values_) {
      const auto maker = static_cast<std::size_t>(links_.maker(id));
      if (!is_elementwise(graph_.nodes[maker])) makers.insert(maker);
      if (std::holds_alternative<Scale>(graph_.nodes[maker].op)) scales.insert(maker);
      for (std::size_t reader : links_.readers(id))
        if (!is_elementwise(graph_.nodes[reader])) readers.insert(reader);
    }
    for (std::size_t node : scales)
      graph_.nodes[node].op = bf::gather(std::get<Scale>(graph_.nodes[node].op), gather);
    for (std::size_t node : makers) move_rows(graph_.nodes[node].op, gather);
    for (std::size_t node : readers) move_columns(graph_.nodes[node], scatter);
  }

 private:
  void enter(ValueId id) {
    if (inside_[index_of(id)]) return;
    inside_[index_of(id)] = true;
    values_.push_back(id);
  }

  // Reshapes too: what is the identity stays it, so that every call leaves fewer maps to move.
  bool is_elementwise(const Node& node) const {
    if (const auto* map = std::get_if<IndexMap>(&node.op))
      return is_identity(map->source, element_count(graph_.value(node.inputs[0]).shape));
    return std::holds_alternative<Relu>(node.op) || std::holds_alternative<Unary>(node.op) ||
           std::holds_alternative<Scale>(node.op) ||
           (std::holds_alternative<Binary>(node.op) && works_on_flattened(graph_, node));
  }

  bool moves_rows(const Op& op) const {
    if (const auto* conv = std::get_if<Conv>(&op))
      return moved_geometry(conv->geometry, true, moved_).has_value();
    return is_linear(op) || std::holds_alternative<GroupMax>(op);
  }

  bool moves_columns(const Op& op) const {
    if (const auto* conv = std::get_if<Conv>(&op))
      return moved_geometry(conv->geometry, false, moved_).has_value();
    return is_linear(op) || std::holds_alternative<GroupMax>(op);
  }

  void move_rows(Op& op, const IndexMap& gather) const {
    if (auto* affine = std::get_if<Affine>(&op)) {
      op = compose(gather, *affine);
    } else if (auto* sparse = std::get_if<SparseAffine>(&op)) {
      op = compose(gather, *sparse);
    } else if (auto* max = std::get_if<GroupMax>(&op)) {
      op = compose(gather, *max);
    } else if (auto* map = std::get_if<IndexMap>(&op)) {
      op = compose(gather, *map);
    } else if (auto* conv = std::get_if<Conv>(&op)) {
      conv->geometry = *moved_geometry(conv->geometry, true, moved_);
    }
  }

  void move_columns(Node& node, const IndexMap& scatter) const {
    Op& op = node.op;
    if (auto* affine = std::get_if<Affine>(&op)) {
      op = compose(*affine, scatter, affine->weight.shape[1], node.origin);
    } else if (auto* sparse = std::get_if<SparseAffine>(&op)) {
      op = compose(*sparse, scatter, node.origin);
    } else if (auto* max = std::get_if<GroupMax>(&op)) {
      op = compose(*max, scatter);
    } else if (auto* map = std::get_if<IndexMap>(&op)) {
      op = compose(*map, scatter);
    } else if (auto* conv = std::get_if<Conv>(&op)) {
      conv->geometry = *moved_geometry(conv->geometry, false, moved_);
    }
  }

  Graph& graph_;
  const Links& links_;
  const std::vector<std::int64_t>& moved_;
  std::vector<ValueId> values_;
  std::vector<bool> inside_;
};

}  // namespace

bool reorder_region(Graph& graph, const Links& links, ValueId value, ValueId other,
                    const std::vector<std::int64_t>& moved) {
  Region region(graph, links, moved);
  if (!region.collect(value, other)) return false;
  region.reorder();
  return true;
}

}  // namespace bf
