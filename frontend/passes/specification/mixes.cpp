#include "frontend/passes/specification/mixes.h"

#include <optional>
#include <utility>
#include <variant>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/shapes.h"

namespace bf_aot {
namespace {

constexpr std::size_t kMostMixes = 64;

struct Ends {
  ValueId first, second;
};

class MixFinder {
 public:
  explicit MixFinder(Graph graph) : makers_(graph.values.size()) {
    made_.graph = std::move(graph);
    for (std::size_t i = 0; i < made_.graph.nodes.size(); ++i)
      makers_[index_of(made_.graph.nodes[i].output)] = i;
  }

  MixedOutputs run() {
    std::vector<std::size_t> starts;
    std::size_t end = 0;
    const auto start = [&](ValueId output) {
      starts.push_back(end);
      end += static_cast<std::size_t>(element_count(made_.graph.value(output).shape));
    };
    for (const ValueId output : made_.graph.outputs) start(output);
    // Outputs that are added are looked at, too: the states before the last one.
    for (std::size_t i = 0; i < made_.graph.outputs.size() && made_.mixes.size() < kMostMixes;
         ++i) {
      std::vector<IndexMap> maps;
      const ValueId mixed = behind_maps(made_.graph.outputs[i], maps);
      const std::optional<Ends> ends = ends_of(mixed);
      if (!ends) continue;
      const auto count =
          static_cast<std::size_t>(element_count(made_.graph.value(made_.graph.outputs[i]).shape));
      made_.mixes.push_back({starts[i], end, end + count, count});
      for (const ValueId each : {ends->first, ends->second}) {
        const ValueId output = through(each, maps);
        note_copies(output, end);
        start(output);
        made_.graph.outputs.push_back(output);
      }
    }
    verify(made_.graph);
    return std::move(made_);
  }

 private:
  const Node* maker(ValueId id) const {
    const std::optional<std::size_t> at =
        index_of(id) < makers_.size() ? makers_[index_of(id)] : std::nullopt;
    return at ? &made_.graph.nodes[*at] : nullptr;
  }

  const Node* binary(ValueId id, Binary::Kind kind) const {
    const Node* const node = maker(id);
    const auto* const op = node != nullptr ? std::get_if<Binary>(&node->op) : nullptr;
    return op != nullptr && op->kind == kind ? node : nullptr;
  }

  // The tensor whose elements this one has, and the maps in between, the last one first.
  ValueId behind_maps(ValueId id, std::vector<IndexMap>& maps) const {
    for (const Node* node = maker(id); node != nullptr; node = maker(id)) {
      const auto* const map = std::get_if<IndexMap>(&node->op);
      if (map == nullptr) return id;
      maps.push_back(*map);
      id = node->inputs[0];
    }
    return id;
  }

  // Makes of a tensor what the maps make of another one of as many elements.
  ValueId through(ValueId id, const std::vector<IndexMap>& maps) {
    if (maps.empty()) {
      IndexMap same;
      for (std::int64_t i = 0; i < element_count(made_.graph.value(id).shape); ++i)
        same.source.push_back(i);
      return add(std::move(same), id);
    }
    for (auto map = maps.rbegin(); map != maps.rend(); ++map) id = add(*map, id);
    return id;
  }

  // Elements of an output from `first` on that are the network's inputs.
  void note_copies(ValueId output, std::size_t first) {
    std::vector<IndexMap> maps;
    const ValueId origin = behind_maps(output, maps);
    std::size_t before = 0;
    for (const ValueId input : made_.graph.inputs) {
      const auto count = static_cast<std::size_t>(element_count(made_.graph.value(output).shape));
      for (std::size_t i = 0; input == origin && i < count; ++i) {
        auto element = static_cast<std::int64_t>(i);
        for (const IndexMap& map : maps) element = map.source[static_cast<std::size_t>(element)];
        made_.copies.push_back({first + i, before + static_cast<std::size_t>(element)});
      }
      before += static_cast<std::size_t>(element_count(made_.graph.value(input).shape));
    }
  }

  ValueId add(IndexMap map, ValueId input) {
    const auto count = static_cast<std::int64_t>(map.source.size());
    const ValueId made = made_.graph.add_value("mixed", {count});
    makers_.resize(made_.graph.values.size());
    makers_[index_of(made)] = made_.graph.nodes.size();
    made_.graph.nodes.push_back({std::move(map), {input}, made, Origin("mixed")});
    return made;
  }

  bool is_share(ValueId id) const {
    std::vector<IndexMap> maps;
    const Node* const node = maker(behind_maps(id, maps));
    const auto* const unary = node != nullptr ? std::get_if<Unary>(&node->op) : nullptr;
    return unary != nullptr && (unary->function.kind == FunctionKind::kSigmoid ||
                                unary->function.kind == FunctionKind::kHardSigmoid);
  }

  // Whether a tensor is 1 - z.
  bool is_rest(ValueId id, ValueId z) const {
    const Node* const node = maker(id);
    if (node == nullptr) return false;
    if (const auto* const scale = std::get_if<Scale>(&node->op))
      return node->inputs[0] == z && all_are(scale->factor, -1) && all_are(scale->offset, 1);
    if (binary(id, Binary::Kind::kSub) == nullptr || node->inputs[1] != z) return false;
    const Node* const one = maker(node->inputs[0]);
    const auto* const literal = one != nullptr ? std::get_if<Literal>(&one->op) : nullptr;
    return literal != nullptr && all_are(literal->value, 1);
  }

  // Nothing is repeated by broadcasting.
  bool fit(ValueId sum, const Ends& ends) const {
    const Shape& shape = made_.graph.value(sum).shape;
    return made_.graph.value(ends.first).shape == shape &&
           made_.graph.value(ends.second).shape == shape;
  }

  std::optional<Ends> ends_of(ValueId sum) const {
    const Node* const node = binary(sum, Binary::Kind::kAdd);
    if (node == nullptr) return std::nullopt;
    const ValueId a = node->inputs[0], b = node->inputs[1];
    std::optional<Ends> ends = ends_of(a, b);
    if (!ends) ends = ends_of(b, a);
    return ends && fit(sum, *ends) ? ends : std::nullopt;
  }

  std::optional<Ends> ends_of(ValueId a, ValueId b) const {
    const Node* const left = binary(a, Binary::Kind::kMul);
    if (left == nullptr) return std::nullopt;
    const Node* const right = binary(b, Binary::Kind::kMul);
    for (const std::size_t i : {0, 1}) {
      const ValueId z = left->inputs[i], other = left->inputs[1 - i];
      if (!is_share(z)) continue;
      const Node* const difference = binary(other, Binary::Kind::kSub);
      if (difference != nullptr && difference->inputs[1] == b)
        return Ends{difference->inputs[0], b};
      for (const std::size_t k : {0, 1})
        if (right != nullptr && is_rest(right->inputs[k], z))
          return Ends{other, right->inputs[1 - k]};
    }
    return std::nullopt;
  }

  MixedOutputs made_;
  std::vector<std::optional<std::size_t>> makers_;  // of each value, its node
};

}  // namespace

MixedOutputs with_mixes(Graph graph) {
  return MixFinder(std::move(graph)).run();
}

}  // namespace bf_aot
