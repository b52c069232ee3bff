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

// Operators with more entries are not written out to see whether a composition pays.
constexpr std::int64_t kMaxTried = std::int64_t{1} << 22;
constexpr std::int64_t kMaxTriedConvolutions = std::int64_t{1} << 16;

// Sums within sums that are seen as one.
constexpr int kMaxDepth = 64;

bool is_matrix(const Op& op) {
  return std::holds_alternative<Affine>(op) || std::holds_alternative<SparseAffine>(op) ||
         std::holds_alternative<Conv>(op);
}

std::int64_t rows_of(const Op& op) {
  if (const auto* affine = std::get_if<Affine>(&op)) return affine->weight.shape[0];
  if (const auto* sparse = std::get_if<SparseAffine>(&op)) return sparse->rows();
  return std::get<Conv>(op).geometry.out_count();
}

bool is_worth_trying(const Op& outer, const Op& inner) {
  const bool convolutions =
      std::holds_alternative<Conv>(outer) && std::holds_alternative<Conv>(inner);
  const std::int64_t limit = convolutions ? kMaxTriedConvolutions : kMaxTried;
  return entry_count(outer) <= limit && entry_count(inner) <= limit;
}

// outer(inner(x)) as one operator of cost `limit` or less, where that is known to exist.
std::optional<Op> composed(const Op& outer, const Op& inner, std::int64_t in_count,
                           std::int64_t limit, std::string_view where) {
  const auto* second = std::get_if<Affine>(&outer);
  const auto* first = std::get_if<Affine>(&inner);
  if (second != nullptr && first != nullptr) {
    const std::int64_t rows = second->weight.shape[0];
    if (fits_dense(rows, in_count) && rows * in_count <= limit)
      return compose(*second, *first, where);
  }
  const auto* conv = std::get_if<Conv>(&outer);
  const auto* placement = std::get_if<SparseAffine>(&inner);
  if (conv != nullptr && placement != nullptr) {
    std::optional<Conv> absorbed = absorb_placement(*conv, *placement, in_count);
    if (absorbed) return *std::move(absorbed);
  }
  const auto* mixed = std::get_if<SparseAffine>(&outer);
  const auto* image = std::get_if<Conv>(&inner);
  if (mixed != nullptr && image != nullptr && entry_count(outer) <= kMaxTried) {
    std::optional<Conv> made = compose(*mixed, *image, where);
    if (made && cost_of(*made, in_count) <= limit) return *std::move(made);
  }
  if (!is_worth_trying(outer, inner)) return std::nullopt;
  const std::int64_t rows = rows_of(outer);
  const bool fits = fits_dense(rows, in_count) && rows * in_count <= limit;
  const std::int64_t entries = fits ? rows * in_count : limit / 4;
  // Moving and scaling leave a convolution nearly all of its entries.
  if (!fits && conv != nullptr && !is_matrix(inner)) return std::nullopt;
  std::optional<SparseAffine> sparse =
      compose(to_sparse(outer), to_sparse(inner), in_count, entries, where);
  if (!sparse) return std::nullopt;
  Op result = densified(*std::move(sparse), in_count);
  if (cost_of(result, in_count) > limit) return std::nullopt;
  return result;
}

void drop_bias(Op& op) {
  Constant& bias = std::holds_alternative<Affine>(op)         ? std::get<Affine>(op).bias
                   : std::holds_alternative<SparseAffine>(op) ? std::get<SparseAffine>(op).bias
                                                              : std::get<Conv>(op).bias;
  bias = filled(bias.shape, 0);
}

// One node that may swallow what makes its input.
class Merger {
 public:
  Merger(Graph& graph, Links& links, std::size_t index)
      : graph_(graph), links_(links), index_(index) {}

  bool run() {
    if (std::holds_alternative<Binary>(graph_.nodes[index_].op)) return add_terms();
    if (!is_matrix(graph_.nodes[index_].op)) return false;
    if (thin_out()) return true;
    const Node* inner = sole_maker(graph_.nodes[index_].inputs[0]);
    if (inner == nullptr) return false;
    return is_sum(*inner) ? distribute() : merge(*inner);
  }

 private:
  std::int64_t count(ValueId id) const { return element_count(graph_.value(id).shape); }

  const Node* sole_maker(ValueId id) const { return links_.sole_maker(graph_, id); }

  bool is_sum(const Node& node) const {
    const auto* binary = std::get_if<Binary>(&node.op);
    return binary != nullptr && binary->kind == Binary::Kind::kAdd &&
           works_on_flattened(graph_, node);
  }

  // A dense matrix that is mostly zero becomes sparse.
  bool thin_out() {
    Node& node = graph_.nodes[index_];
    const auto* affine = std::get_if<Affine>(&node.op);
    if (affine == nullptr) return false;
    const Constant& weight = affine->weight;
    std::int64_t entries = 0;
    for (std::size_t i = 0; i < weight.data.size(); ++i)
      entries += weight.data[i] != 0 || weight.error_at(i) != 0 ? 1 : 0;
    if (is_worth_dense(weight.shape[0], weight.shape[1], entries)) return false;
    node.op = to_sparse(node.op);
    return true;
  }

  bool merge(const Node& inner) {
    if (!is_linear(inner.op)) return false;
    Node& outer = graph_.nodes[index_];
    const std::int64_t in_count = count(inner.inputs[0]);
    const std::int64_t limit =
        cost_of(outer.op, count(outer.inputs[0])) + cost_of(inner.op, in_count);
    std::optional<Op> op = composed(outer.op, inner.op, in_count, limit, outer.origin);
    if (!op) return false;
    outer.op = *std::move(op);
    outer.origin = join_origins(inner.origin, outer.origin);
    links_.rewire(graph_, index_, std::vector<ValueId>(inner.inputs));
    return true;
  }

  // The terms of a sum of which nobody else reads a part.
  void collect_terms(ValueId id, std::vector<ValueId>& terms, int depth = 0) const {
    const Node* node = sole_maker(id);
    if (node == nullptr || !is_sum(*node) || depth == kMaxDepth) return terms.push_back(id);
    for (ValueId input : node->inputs) collect_terms(input, terms, depth + 1);
  }

  // The cost of what makes a term and would go if its reader swallowed it.
  std::int64_t inner_cost(ValueId term) const {
    const Node* inner = sole_maker(term);
    if (inner == nullptr || !is_linear(inner->op)) return 0;
    return cost_of(inner->op, count(inner->inputs[0]));
  }

  // outer(a + b) = outer(a) + outer(b), when that costs no more because what makes a and b goes
  // into the outer operators.
  bool distribute() {
    const Node outer = graph_.nodes[index_];
    std::vector<ValueId> terms;
    collect_terms(outer.inputs[0], terms);
    std::int64_t before = cost_of(outer.op, count(outer.inputs[0]));
    for (ValueId term : terms) before += inner_cost(term);
    std::int64_t after = 0;
    bool swallowed = false;
    std::vector<Node> parts;
    for (ValueId term : terms) {
      Node copy = outer;
      if (!parts.empty()) drop_bias(copy.op);
      parts.push_back(part(std::move(copy), term, before));
      const ValueId x = parts.back().inputs[0];
      after += cost_of(parts.back().op, count(x)) + (x == term ? inner_cost(term) : 0);
      swallowed = swallowed || x != term;
      if (after > before) return false;
    }
    if (!swallowed) return false;
    replace_by_sum(outer, std::move(parts));
    return true;
  }

  // outer of one term.
  Node part(Node outer, ValueId term, std::int64_t limit) const {
    outer.inputs = {term};
    const Node* inner = sole_maker(term);
    if (inner == nullptr || !is_linear(inner->op)) return outer;
    std::optional<Op> op =
        composed(outer.op, inner->op, count(inner->inputs[0]), limit, outer.origin);
    if (!op) return outer;
    return {*std::move(op), inner->inputs, outer.output, join_origins(inner->origin, outer.origin)};
  }

  // The parts, which all have outer's output, and their sum in place of outer.
  void replace_by_sum(const Node& outer, std::vector<Node> parts) {
    std::vector<std::vector<Node>> replacements(graph_.nodes.size());
    const Value value = graph_.value(outer.output);
    const auto fresh = [&](std::string_view suffix) {
      return graph_.add_value(value.name + std::string(suffix), value.shape);
    };
    std::vector<Node>& nodes = replacements[index_];
    ValueId sum = {};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].output = fresh("_part");
      const ValueId made = parts[i].output;
      nodes.push_back(std::move(parts[i]));
      if (i > 0) {
        const ValueId next = i + 1 == parts.size() ? outer.output : fresh("_sum");
        nodes.push_back({Binary{Binary::Kind::kAdd}, {sum, made}, next, outer.origin});
        sum = next;
      } else {
        sum = made;
      }
    }
    replace_nodes(graph_, std::move(replacements));
    links_.invalidate();
  }

  // a x + b x = (a + b) x.
  bool add_terms() {
    Node& node = graph_.nodes[index_];
    if (!is_sum(node)) return false;
    const Node* a = sole_maker(node.inputs[0]);
    const Node* b = sole_maker(node.inputs[1]);
    if (a == nullptr || b == nullptr || a == b) return false;
    if (!is_linear(a->op) || !is_linear(b->op) || a->inputs != b->inputs) return false;
    if (!is_worth_trying(a->op, b->op)) return false;
    const std::int64_t in_count = count(a->inputs[0]);
    Op op = densified(add(to_sparse(a->op), to_sparse(b->op), node.origin), in_count);
    if (cost_of(op, in_count) > cost_of(a->op, in_count) + cost_of(b->op, in_count)) return false;
    node.origin = join_origins(join_origins(a->origin, b->origin), node.origin);
    node.op = std::move(op);
    links_.rewire(graph_, index_, std::vector<ValueId>(a->inputs));
    return true;
  }

  Graph& graph_;
  Links& links_;
  std::size_t index_;
};

}  // namespace

bool merge_affine(Graph& graph) {
  return rewrite_until_stable(
      graph, [](Graph& g, Links& links, std::size_t i) { return Merger(g, links, i).run(); });
}

}  // namespace bf_aot
