#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/algebra/conv_algebra.h"
#include "frontend/algebra/linear_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {
namespace {

bool is_unit(const Constant& factor) {
  return factor.is_exact() &&
         std::all_of(factor.data.begin(), factor.data.end(), [](double x) { return x == 1; });
}

// Products that a Scale's offset may cost on its way through a convolution.
constexpr std::int64_t kMaxOffsetProducts = std::int64_t{1} << 28;

// One Scale node y = factor x + offset, and the ways to get rid of it.
class ScaleFolder {
 public:
  ScaleFolder(Graph& graph, Links& links, std::size_t index)
      : graph_(graph),
        links_(links),
        index_(index),
        scale_(std::get<Scale>(graph.nodes[index].op)) {}

  bool run() {
    if (is_identity(scale_) && bypass(graph_, links_, index_)) return true;
    return into_producer() || into_readers();
  }

 private:
  bool into_producer() {
    const Node* inner = links_.sole_maker(graph_, graph_.nodes[index_].inputs[0]);
    if (inner == nullptr) return false;
    Node& node = graph_.nodes[index_];
    std::optional<Op> op;
    if (const auto* affine = std::get_if<Affine>(&inner->op)) {
      op = compose(scale_, *affine, node.origin);
    } else if (const auto* sparse = std::get_if<SparseAffine>(&inner->op)) {
      op = compose(scale_, *sparse, node.origin);
    } else if (const auto* conv = std::get_if<Conv>(&inner->op)) {
      return into_convolution(*inner, *conv);
    } else if (std::holds_alternative<Binary>(inner->op)) {
      return into_arms(*inner);
    } else if (std::holds_alternative<Contraction>(inner->op)) {
      return into_factor(*inner);
    }
    if (!op) return false;
    node.op = std::move(*op);
    node.origin = join_origins(inner->origin, node.origin);
    links_.rewire(graph_, index_, std::vector<ValueId>(inner->inputs));
    return true;
  }

  // scale(conv(x)); an offset that differs between positions stays, as a Scale of factor 1.
  bool into_convolution(const Node& inner, const Conv& conv) {
    const bool only_offset = is_unit(scale_.factor);
    if (only_offset && is_zero(conv.bias) && !per_channel(scale_.offset, conv.geometry, true))
      return false;  // as it is left by this function
    Node& node = graph_.nodes[index_];
    std::optional<OffsetConv> folded = compose(scale_, conv, node.origin);
    if (!folded) return false;
    const Origin origin = join_origins(inner.origin, node.origin);
    const std::vector<ValueId> inputs = inner.inputs;
    if (folded->rest) {
      Node& maker = graph_.nodes[static_cast<std::size_t>(links_.maker(node.inputs[0]))];
      maker.op = std::move(folded->conv);
      maker.origin = origin;
      node.op = unit_scale(std::move(*folded->rest));
    } else {
      node.op = std::move(folded->conv);
      node.origin = origin;
      links_.rewire(graph_, index_, inputs);
    }
    return true;
  }

  // f sum a b = sum (f a) b for a number f. What differs between elements stays behind the sums:
  // the offsets and, as factors 1 with an error, what the exact factors miss f by.
  bool into_factor(const Node& inner) {
    const Constant& factor = scale_.factor;
    const double f = factor.data.empty() ? 1 : factor.data.front();
    if (f == 0 || f == 1 || std::ranges::any_of(factor.data, [&](double x) { return x != f; }))
      return false;
    const Node node = graph_.nodes[index_];
    ConstantBuilder rest(factor.shape);
    for (std::size_t i = 0; i < factor.data.size(); ++i)
      rest.set(i, divide(bounded_at(factor, i), {f, 0}));
    const Value a = graph_.value(inner.inputs[0]);
    const std::int64_t count = element_count(a.shape);
    const ValueId scaled = graph_.add_value(a.name + "_scaled", Shape(a.shape));
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    const auto maker = static_cast<std::size_t>(links_.maker(inner.output));
    Node contraction = inner;
    replacements[maker] = {
        {Scale{filled({count}, f), filled({count}, 0)}, {inner.inputs[0]}, scaled, node.origin}};
    contraction.inputs[0] = scaled;
    contraction.origin = join_origins(inner.origin, node.origin);
    replacements[maker].push_back(std::move(contraction));
    replacements[index_] = {{Scale{std::move(rest).finish(node.origin), scale_.offset},
                             {inner.output},
                             node.output,
                             node.origin}};
    replace_nodes(graph_, std::move(replacements));
    links_.invalidate();
    return true;
  }

  static Scale unit_scale(Constant offset) {
    Constant factor = filled(offset.shape, 1);
    return {std::move(factor), std::move(offset)};
  }

  bool takes_scale(ValueId id) const {
    const Node* inner = links_.sole_maker(graph_, id);
    if (inner == nullptr) return false;
    const Op& op = inner->op;
    if (const auto* conv = std::get_if<Conv>(&op))
      return per_channel(scale_.factor, conv->geometry, true).has_value();
    return std::holds_alternative<Affine>(op) || std::holds_alternative<SparseAffine>(op);
  }

  // f (a + b) + o = (f a + o) + f b, when one of the arms then takes its factor.
  bool into_arms(const Node& inner) {
    const auto& sum = std::get<Binary>(inner.op);
    if (sum.kind != Binary::Kind::kAdd || !works_on_flattened(graph_, inner)) return false;
    if (inner.inputs[0] == inner.inputs[1]) return false;
    if (!takes_scale(inner.inputs[0]) && !takes_scale(inner.inputs[1])) return false;
    const std::size_t first = takes_scale(inner.inputs[0]) ? 0 : 1;  // has the offset
    const Node add = inner;
    const Node node = graph_.nodes[index_];
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    Node result{add.op, add.inputs, node.output, join_origins(add.origin, node.origin)};
    for (std::size_t arm = 0; arm < 2; ++arm) {
      Scale scale = scale_;
      if (arm != first) scale.offset = filled(scale.offset.shape, 0);
      const Value& value = graph_.value(add.inputs[arm]);
      result.inputs[arm] = graph_.add_value(value.name + "_scaled", Shape(value.shape));
      replacements[index_].push_back(
          {std::move(scale), {add.inputs[arm]}, result.inputs[arm], node.origin});
    }
    replacements[index_].push_back(std::move(result));
    replace_nodes(graph_, std::move(replacements));
    links_.invalidate();
    return true;
  }

  // Linear nodes that read the scaled tensor read x instead. Others still read it.
  bool into_readers() {
    const Node inner = graph_.nodes[index_];
    bool changed = false;
    const std::vector<std::size_t> readers = links_.readers(inner.output);
    for (std::size_t reader : readers) {
      Node& node = graph_.nodes[reader];
      if (const auto* affine = std::get_if<Affine>(&node.op)) {
        node.op = compose(*affine, scale_, node.origin);
      } else if (const auto* outer = std::get_if<Scale>(&node.op)) {
        node.op = compose(*outer, scale_, node.origin);
      } else if (const auto* sparse = std::get_if<SparseAffine>(&node.op)) {
        node.op = compose(*sparse, scale_, node.origin);
      } else if (const auto* conv = std::get_if<Conv>(&node.op)) {
        if (product_count(conv->geometry) > kMaxOffsetProducts) continue;
        std::optional<OffsetConv> folded = compose(*conv, scale_, node.origin);
        if (!folded) continue;
        node.op = std::move(folded->conv);
        if (folded->rest) {  // indices of nodes change
          node.inputs = inner.inputs;
          node.origin = join_origins(inner.origin, node.origin);
          add_rest(reader, std::move(*folded->rest));
          return true;
        }
      } else {
        continue;
      }
      links_.rewire(graph_, reader, inner.inputs);
      node.origin = join_origins(inner.origin, node.origin);
      changed = true;
    }
    return changed;
  }

  // Appends to the convolution a Scale of factor 1, which adds the offsets that it cannot hold.
  void add_rest(std::size_t index, Constant rest) {
    Node& node = graph_.nodes[index];
    const ValueId y = node.output;
    const Value value = graph_.value(y);
    node.output = graph_.add_value(value.name + "_product", value.shape);
    Node scale{unit_scale(std::move(rest)), {node.output}, y, node.origin};
    graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                        std::move(scale));
    links_.invalidate();
  }

  Graph& graph_;
  Links& links_;
  std::size_t index_;
  Scale scale_;  // a copy: the node itself may be changed or erased
};

}  // namespace

bool fold_scale(Graph& graph) {
  return rewrite_until_stable(graph, [](Graph& g, Links& links, std::size_t i) {
    return std::holds_alternative<Scale>(g.nodes[i].op) && ScaleFolder(g, links, i).run();
  });
}

}  // namespace bf_aot
