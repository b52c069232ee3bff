#include "planner/network/build_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/network/error_terms.h"
#include "planner/network/expression.h"
#include "planner/network/fusion_classes.h"
#include "planner/network/linear_terms.h"

namespace bf_aot {
namespace {

// The last words of a name, as many as fit; a longer word is cut.
std::string last_words(const std::string& name) {
  constexpr std::size_t kMost = 28;
  if (name.size() <= kMost) return name;
  const std::size_t word = name.find('_', name.size() - kMost - 1);
  return name.substr(word == std::string::npos ? name.size() - kMost : word + 1);
}

// A C identifier from an ONNX tensor name, unique among `taken`.
std::string layer_name(std::string_view text, std::set<std::string>& taken) {
  std::string base;
  for (const char c : text) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (keep) base += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!keep && !base.empty() && base.back() != '_') base += '_';
  }
  while (!base.empty() && base.back() == '_') base.pop_back();
  base = last_words(base);
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base.front())) != 0)
    base = "layer_" + base;
  std::string name = base;
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

// "a + b".
Origin appended(const Origin& a, const Origin& b) {
  return join_origins(a, b, a.text + " + " + b.text);
}

// A node whose inputs were not made, because of what was reported already.
struct FollowsFromProblem {};

class LayerBuilder {
 public:
  LayerBuilder(const Graph& graph, Plan& plan)
      : graph_(graph),
        plan_(plan),
        producer_(producers(graph)),
        uses_(count_uses(graph)),
        layer_of_value_(graph.values.size()),
        affine_copy_(graph.values.size()),
        pending_(graph.values.size()) {}

  void run() {
    if (graph_.inputs.size() != 1)
      problem(
          "",
          fmt::format("the model has {} inputs but only one is supported", graph_.inputs.size()),
          "enable the pass that joins the inputs");
    else
      layer_of_value_[index_of(graph_.inputs[0])] = kNetworkInput;
    for (const Node& node : graph_.nodes) {
      try {
        std::visit([&](const auto& op) { visit(op, node); }, node.op);
      } catch (const FollowsFromProblem&) {
      } catch (const CompileError& error) {
        problems_.insert(problems_.end(), error.diagnostics().begin(), error.diagnostics().end());
      }
    }
    if (!problems_.empty()) throw CompileError(std::move(problems_));
  }

  // The layer that gives an output to the caller: dense or a sum, without other function than ReLU,
  // and of one output alone.
  LayerId head_of(ValueId output) {
    const LayerId made = materialise(output);
    if (made.is_layer()) {
      const Layer& layer = plan_.layer(made);
      if (layer.is_affine() && !layer.function && heads_.insert(made).second) return made;
    }
    Expression copy = copy_of(output);
    const LayerId head = add_sum(std::move(copy), graph_.value(output).name, nullptr);
    heads_.insert(head);
    return head;
  }

 private:
  // Dense inputs and outputs together: keeps n u of every float32 sum below 1/2 (gamma_float).
  static constexpr std::int64_t kMaxDenseNeurons = std::int64_t{1} << 22;
  // All elements of all tensors: what one verifier can reasonably hold.
  static constexpr std::int64_t kMaxNeurons = std::int64_t{1} << 26;
  // A dense matrix of at least so many weights, so few of them not zero, is kept in rows.
  // Measured: a product of compressed rows costs about eight dense ones.
  static constexpr std::size_t kSparseWeights = std::size_t{1} << 15;
  static constexpr double kSparseDensity = 0.12;

  void problem(const std::string& where, const std::string& message, const std::string& hint) {
    problems_.push_back({"BF2102", where, message, hint});
  }

  int count(ValueId id) const { return static_cast<int>(element_count(graph_.value(id).shape)); }

  const Node* maker(ValueId id) const {
    const int index = producer_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  bool is_output(ValueId id) const { return std::ranges::count(graph_.outputs, id) > 0; }

  // ---- Layers

  // Charges the network's size; false when it is too large.
  bool charge(const Layer& layer) {
    neurons_ += layer.out;
    if (layer.kind == LayerKind::kDense) dense_neurons_ += layer.in + layer.out;
    if (dense_neurons_ <= kMaxDenseNeurons && neurons_ <= kMaxNeurons) return true;
    fail("BF2102", layer.origin,
         fmt::format("the network has more than {} neurons",
                     neurons_ > kMaxNeurons ? kMaxNeurons : kMaxDenseNeurons),
         "float32 sums of so many terms have no useful error bound");
  }

  LayerId add_layer(Layer layer) {
    charge(layer);
    plan_.layers.push_back(std::move(layer));
    return static_cast<int>(plan_.layers.size()) - 1;
  }

  static void activate(const Node* activation, Layer& layer) {
    if (activation == nullptr) return;
    layer.origin = appended(layer.origin, activation->origin);
    if (const auto* unary = std::get_if<Unary>(&activation->op))
      layer.function = unary->function;
    else
      layer.relu = true;
  }

  LayerId add_sum(Expression expression, const std::string& name, const Node* activation) {
    Layer layer;
    layer.kind = LayerKind::kSum;
    layer.name = layer_name(name, names_);
    layer.origin = expression.origin;
    layer.out = static_cast<int>(expression.bias.data.size());
    layer.terms = std::move(expression.terms);
    layer.errors = expression.errors;
    activate(activation, layer);
    round_bias(expression.bias, layer.origin, layer);
    for (const Term& term : layer.terms)
      layer.errors.row_norm = up(layer.errors.row_norm + term.row_norm);
    return add_layer(std::move(layer));
  }

  LayerId add_dense(const Node& node, const Node* activation) {
    const auto& affine = std::get<Affine>(node.op);
    Layer layer;
    layer.name = layer_name(graph_.value(node.output).name, names_);
    layer.origin = node.origin;
    layer.input = materialise(node.inputs[0]);
    layer.out = static_cast<int>(affine.weight.shape.at(0));
    layer.in = static_cast<int>(affine.weight.shape.at(1));
    activate(activation, layer);
    round_weights(affine, layer);
    return add_layer(std::move(layer));
  }

  // The tensor that holds a value's elements; made now when it is still an expression.
  LayerId materialise(ValueId id) {
    std::optional<LayerId>& layer = layer_of_value_[index_of(id)];
    if (layer) return *layer;
    std::optional<Expression>& waiting = pending_[index_of(id)];
    if (waiting) {
      Expression expression = *std::move(waiting);
      waiting.reset();
      return layer.emplace(add_sum(std::move(expression), graph_.value(id).name, nullptr));
    }
    if (!problems_.empty()) throw FollowsFromProblem{};
    const Node* node = maker(id);
    BF_CHECK(node != nullptr && std::holds_alternative<Affine>(node->op));
    return layer.emplace(add_dense(*node, nullptr));
  }

  // ---- Expressions

  Expression copy_of(ValueId id) {
    Expression made;
    made.terms.push_back(identity_term(materialise(id), count(id)));
    made.bias = zeros(count(id));
    const Node* node = maker(id);
    made.origin =
        node == nullptr ? Origin(fmt::format("input '{}'", graph_.value(id).name)) : node->origin;
    return made;
  }

  // Returns true if the expression is elements of one tensor in another order, or some of them.
  static bool is_gather(const Expression& expression) {
    return expression.terms.size() == 1 &&
           std::holds_alternative<GatherMap>(expression.terms[0].map) &&
           expression.bias.is_exact() &&
           std::ranges::all_of(expression.bias.data, [](double b) { return b == 0; });
  }

  // The expression that a reader of `id` adds up: the one that makes it when nobody else reads it,
  // or when it only moves elements, so that each reader gathers them in place and nothing is copied
  // for all; else a copy of the layer that all its readers share.
  Expression take(ValueId id) {
    std::optional<Expression>& waiting = pending_[index_of(id)];
    if (waiting && uses_[index_of(id)] != 1 && is_gather(*waiting)) return *waiting;
    if (!waiting || uses_[index_of(id)] != 1) return copy_of(id);
    Expression made = *std::move(waiting);
    waiting.reset();
    return made;
  }

  void keep(const Node& node, Expression expression) {
    BF_CHECK(fusion_rule(node.op).waits);
    pending_[index_of(node.output)] = std::move(expression);
  }

  // ---- Nodes

  // An Affine becomes a layer when the graph reaches its reader: with its activation if that is
  // the reader.
  void visit(const Affine& op, const Node& node) {
    if (op.weight.data.size() >= kSparseWeights && density(op) <= kSparseDensity) {
      plan_.rejected.push_back(
          {"lowering", fmt::format("{}: dense weights", graph_.value(node.output).name),
           fmt::format("{:.1f} % of the weights are not zero", 100 * density(op))});
      sparse_.insert(node.output);
      return visit(to_sparse(op), node);
    }
    const bool plain =
        is_output(node.output) || std::ranges::any_of(graph_.nodes, [&](const Node& reader) {
          return !is_activation(reader.op) && std::ranges::count(reader.inputs, node.output) > 0;
        });
    if (plain) materialise(node.output);
  }

  void visit(const Conv& op, const Node& node) {
    keep(node, conv_expression(op, materialise(node.inputs[0]), node.origin));
  }

  void visit(const SparseAffine& op, const Node& node) {
    Expression made;
    made.origin = node.origin;
    made.terms.push_back(sparse_term(op, materialise(node.inputs[0]), count(node.inputs[0]),
                                     node.origin, made.errors));
    made.bias = op.bias;
    keep(node, std::move(made));
  }

  void visit(const IndexMap& op, const Node& node) {
    Expression made;
    made.origin = node.origin;
    made.terms.push_back(
        gather_term(op.source, materialise(node.inputs[0]), count(node.inputs[0])));
    made.bias = zeros(count(node.output));
    keep(node, std::move(made));
  }

  void visit(const Scale& op, const Node& node) {
    const bool ones = fusion_rule(node.op).joins;
    Expression made;
    if (ones) {
      made = take(node.inputs[0]);
      multiply_by_ones(op.factor, made);
      made.bias = add_constants(std::move(made.bias), op.offset);
    } else {
      made.origin = node.origin;
      made.terms.push_back(
          diagonal_term(op.factor, materialise(node.inputs[0]), node.origin, made.errors));
      made.bias = op.offset;
    }
    made.bias.shape = {count(node.output)};
    if (ones) made.origin = appended(made.origin, node.origin);
    keep(node, std::move(made));
  }

  void visit(const Binary& op, const Node& node) {
    if (fusion_rule(node.op).kind == FusionClass::kOpaque) return add_product(node);
    BF_CHECK(op.kind == Binary::Kind::kAdd);
    Expression made = take(node.inputs[0]);
    add_expression(take(node.inputs[1]), made);
    made.origin = join_names(made.origin, node.origin);
    keep(node, std::move(made));
  }

  // A factor that is a gather of a tensor is read in place.
  Term factor(ValueId id) {
    const Node* node = maker(id);
    if (node != nullptr && std::holds_alternative<IndexMap>(node->op)) {
      const ValueId x = node->inputs[0];
      return gather_term(std::get<IndexMap>(node->op).source, materialise(x), count(x));
    }
    return identity_term(materialise(id), count(id));
  }

  void add_product(const Node& node) {
    Layer layer;
    layer.kind = LayerKind::kProduct;
    layer.most = std::get<Binary>(node.op).most;
    layer.name = layer_name(graph_.value(node.output).name, names_);
    layer.origin = node.origin;
    layer.out = count(node.output);
    for (const ValueId input : node.inputs) {
      layer.terms.push_back(factor(input));
      const Node* const moves = maker(input);
      if (moves != nullptr && std::holds_alternative<IndexMap>(moves->op))
        layer.origin = join_origins(layer.origin, moves->origin, layer.origin.text);
    }
    layer_of_value_[index_of(node.output)] = add_layer(std::move(layer));
  }

  void visit(const GroupMax& op, const Node& node) {
    Layer layer;
    layer.kind = LayerKind::kMax;
    layer.name = layer_name(graph_.value(node.output).name, names_);
    layer.origin = node.origin;
    layer.out = static_cast<int>(op.rows());
    Term term;
    term.input = materialise(node.inputs[0]);
    term.in = count(node.inputs[0]);
    // Candidates in rising order, each once.
    SparseMap map{{0}, {}};
    for (std::size_t row = 0; row + 1 < op.row_start.size(); ++row) {
      const std::set<std::int64_t> group(op.source.begin() + op.row_start[row],
                                         op.source.begin() + op.row_start[row + 1]);
      map.column.insert(map.column.end(), group.begin(), group.end());
      map.row_start.push_back(static_cast<std::int32_t>(map.column.size()));
    }
    term.map = std::move(map);
    measure_term(layer.out, term);
    layer.terms.push_back(std::move(term));
    layer_of_value_[index_of(node.output)] = add_layer(std::move(layer));
  }

  // A tensor that backward rows can bound: of what is no sum a copy.
  LayerId affine_of(ValueId id) {
    const LayerId made = materialise(id);
    if (!made.is_layer() || plan_.layer(made).is_affine()) return made;
    std::optional<LayerId>& copy = affine_copy_[index_of(id)];
    if (!copy) copy = add_sum(copy_of(id), graph_.value(id).name, nullptr);
    return *copy;
  }

  void visit(const Contraction& op, const Node& node) {
    Layer layer;
    layer.kind = LayerKind::kContraction;
    layer.name = layer_name(graph_.value(node.output).name, names_);
    layer.origin = node.origin;
    layer.out = count(node.output);
    layer.contraction = {static_cast<int>(op.batch), static_cast<int>(op.rows),
                         static_cast<int>(op.columns), static_cast<int>(op.sums)};
    for (std::size_t side = 0; side < 2; ++side) {
      const ValueId input = node.inputs[side];
      Term term = gather_term(side == 0 ? op.left : op.right, affine_of(input), count(input));
      term.column_entries *= static_cast<int>(side == 0 ? op.columns : op.rows);
      layer.terms.push_back(std::move(term));
    }
    layer.scores = scores_of(plan_, layer);
    layer_of_value_[index_of(node.output)] = add_layer(std::move(layer));
  }

  void visit(const LogSoftmax& op, const Node& node) {
    Layer layer;
    layer.kind = LayerKind::kLogSoftmax;
    layer.name = layer_name(graph_.value(node.output).name, names_);
    layer.origin = node.origin;
    layer.out = count(node.output);
    Term term;
    term.input = affine_of(node.inputs[0]);
    term.in = count(node.inputs[0]);
    term.map =
        SparseMap{{op.row_start.begin(), op.row_start.end()}, {op.source.begin(), op.source.end()}};
    measure_term(static_cast<int>(op.rows()), term);
    layer.terms.push_back(std::move(term));
    layer_of_value_[index_of(node.output)] = add_layer(std::move(layer));
  }

  void add_activation(const Node& node) {
    const ValueId x = node.inputs[0];
    const Node* made = maker(x);
    std::optional<LayerId>& layer = layer_of_value_[index_of(node.output)];
    const bool dense =
        made != nullptr && std::holds_alternative<Affine>(made->op) && !pending_[index_of(x)] &&
        (!layer_of_value_[index_of(x)] || uses_[index_of(x)] > 1) && !sparse_.contains(x);
    if (dense)
      layer = add_dense(*made, &node);
    else
      layer = add_sum(take(x), graph_.value(node.output).name, &node);
  }

  void visit(const Relu&, const Node& node) { add_activation(node); }
  void visit(const Unary&, const Node& node) { add_activation(node); }

  template <typename Other>
  void visit(const Other& op, const Node& node) {
    static_assert(std::is_same_v<Other, Literal> || std::is_same_v<Other, MatMul> ||
                  std::is_same_v<Other, Gemm>);
    problem(node.origin, fmt::format("operator '{}' cannot be planned", op_name(Op(op))),
            "enable the passes that lower it");
  }

  const Graph& graph_;
  Plan& plan_;
  std::vector<int> producer_;
  std::vector<int> uses_;
  std::vector<std::optional<LayerId>> layer_of_value_;  // none: not made yet
  std::vector<std::optional<LayerId>> affine_copy_;     // of what is no sum
  std::vector<std::optional<Expression>> pending_;
  std::set<ValueId> sparse_;  // made by an Affine that is kept in rows
  std::set<LayerId> heads_;
  std::set<std::string> names_;
  std::int64_t neurons_ = 0;
  std::int64_t dense_neurons_ = 0;
  std::vector<Diagnostic> problems_;
};

int total_count(const std::vector<Value>& values) {
  std::int64_t total = 0;
  for (const Value& value : values) total += element_count(value.shape);
  return static_cast<int>(total);
}

}  // namespace

void build_layers(const Graph& graph, bool has_spec, Plan& plan) {
  LayerBuilder builder(graph, plan);
  builder.run();
  const std::size_t outputs = graph.outputs.size() - (has_spec ? 1 : 0);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const LayerId head = builder.head_of(graph.outputs[i]);
    (i < outputs ? plan.output_heads : plan.spec_heads).push_back(head);
  }
  plan.inputs = graph.input_parts;
  if (plan.inputs.empty())
    for (const ValueId id : graph.inputs) plan.inputs.push_back(graph.value(id));
  for (std::size_t i = 0; i < outputs; ++i) plan.outputs.push_back(graph.value(graph.outputs[i]));
  if (is_in_float32(plan.config.semantics)) {
    BF_CHECK(std::isfinite(graph.float32_reach));
    plan.float32_reach = graph.float32_reach;
  }
  plan.input_count = total_count(plan.inputs);
  plan.one_hot = graph.one_hot;
  plan.output_count = total_count(plan.outputs);
  for (const LayerId head : plan.spec_heads) plan.spec_rows += plan.layer(head).out;
}

}  // namespace bf_aot
