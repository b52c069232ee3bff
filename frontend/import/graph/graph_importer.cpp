#include "frontend/import/graph/graph_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/graph/model.h"
#include "frontend/import/file/bodies.h"
#include "frontend/import/file/names.h"
#include "frontend/import/file/node_import.h"
#include "frontend/import/graph/node_order.h"
#include "frontend/import/graph/ways_out.h"
#include "frontend/import/helpers/integer_types.h"
#include "frontend/import/helpers/masked.h"
#include "frontend/import/operators/operators.h"
#include "frontend/import/operators/versions.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kMostId = std::int64_t{1} << 53;

class GraphImporter : public BodyImporter {
 public:
  GraphImporter(onnx::GraphProto& proto, ImportState state, const InputBindings& bindings,
                const std::map<std::string, TokenInput>& tokens, const NodeFacts& facts)
      : proto_(proto),
        state_(std::move(state)),
        bindings_(bindings),
        tokens_(tokens),
        facts_(facts) {}

  Graph run(ModelInfo& info);

  std::string fresh_name(const std::string& word) override;
  std::vector<std::string> import_body(Body& body, const std::vector<std::string>& inputs,
                                       std::int64_t step) override;

 private:
  Symbol symbol_of(const onnx::TensorProto& tensor, Tensor value, const std::string& name,
                   const Origin& origin);
  void import_initializers();
  template <typename Proto>
  void import_initializer(const Proto& tensor, const onnx::TensorProto& elements,
                          const std::string& name, const std::string& place);
  void import_inputs();
  void import_input(const onnx::ValueInfoProto& info);
  std::string text_alone() const;
  void import_tokens(const onnx::ValueInfoProto& info, const TokenInput& given);
  void bind_input(const std::string& name, const std::string& bytes, const std::string& place);
  void check_bindings();
  Shape input_shape(const onnx::ValueInfoProto& info) const;
  void claim_node_outputs();
  void note_cycle(const std::vector<int>& cycle);
  std::unordered_set<std::string> known_names() const;
  void import_nodes();
  void import_node(int index);
  // The place of a node, which may be in a body.
  struct At {
    std::string place;  // in messages
    Origin origin;
    OpsetSpan opsets;
  };
  void import_node(const onnx::NodeProto& node, const At& at, bool refused);
  void count_unrolled();
  void begin_body(Body& body);
  void import_in_body(const onnx::GraphProto& graph, int index, const NewName& new_name,
                      std::int64_t step);
  std::string tensor_before(const onnx::NodeProto& node) const;
  bool find_inputs(const onnx::NodeProto& node, const std::string& where);
  void evaluate_integers(const onnx::NodeProto& node);
  void import_outputs();

  // Runs `step`; its problems are noted, those without a place as being at `where`.
  bool attempt(const std::string& where, const std::function<void()>& step);
  void note(std::string code, std::string where, std::string message, std::string hint = {}) {
    state_.diagnostics.push_back(
        {std::move(code), std::move(where), std::move(message), std::move(hint)});
  }

  onnx::GraphProto& proto_;
  ImportState state_;
  const InputBindings& bindings_;
  const std::map<std::string, TokenInput>& tokens_;
  const NodeFacts& facts_;
  std::unordered_set<std::string> initializers_;
  std::unordered_set<int> refused_;  // nodes that make a tensor of a name that is taken
  std::optional<FreshNames> names_;  // made when a body is first imported
  // The nodes whose bodies are being imported, the outermost first.
  struct Open {
    const onnx::NodeProto& node;
    At at;
  };
  std::vector<Open> open_;
  std::size_t unrolled_ = 0;  // nodes and steps of bodies so far
};

std::string operator_name(const onnx::NodeProto& node) {
  const std::string type = printable(node.op_type());
  return is_standard_domain(node.domain()) ? type : printable(node.domain()) + "." + type;
}

// A shape that fits what is known of one, as an option has it: 1 for the batch and 16 for others.
std::string example_shape(const onnx::TensorShapeProto& shape) {
  std::string text;
  for (int i = 0; i < shape.dim_size(); ++i) {
    const std::int64_t known = shape.dim(i).has_dim_value() ? shape.dim(i).dim_value() : 0;
    text += fmt::format("{}{}", i == 0 ? "" : ",", known > 0 ? known : i == 0 ? 1 : 16);
  }
  return text;
}

// "Gemm 'fc1'", "Gemm #3"
std::string name_of(const onnx::NodeProto& node, int index) {
  return node.name().empty() ? fmt::format("{} #{}", operator_name(node), index)
                             : fmt::format("{} '{}'", operator_name(node), printable(node.name()));
}

// "Gemm 'fc1' (node 3)", "Gemm #3"
std::string place_of(const onnx::NodeProto& node, int index) {
  const std::string name = name_of(node, index);
  return node.name().empty() ? name : fmt::format("{} (node {})", name, index);
}

const OperatorImporter* find_operator(const onnx::NodeProto& node) {
  const std::string_view domain = node.domain();
  return bf_aot::find_operator(node.op_type(), is_standard_domain(node.domain()) ? "" : domain);
}

// The last input that is not left out decides; trailing empty names do not count.
int input_count(const onnx::NodeProto& node) {
  int count = node.input_size();
  while (count > 0 && node.input(count - 1).empty()) --count;
  return count;
}

// "2 are", "1 to 3 are"
std::string count_range(int least, int most) {
  if (least == most) return fmt::format("{} {}", most, most == 1 ? "is" : "are");
  return fmt::format("{} to {} are", least, most);
}

// Throws: BF1011.
void check_inputs(const onnx::NodeProto& node, const OperatorImporter& op, std::int64_t opset) {
  const bool standard = is_standard_domain(node.domain());
  const InputCounts counts =
      standard ? input_counts(op, opset) : InputCounts{op.least_inputs, op.most_inputs};
  const int inputs = input_count(node);
  if (inputs < counts.least || inputs > counts.most)
    fail("BF1011", "",
         fmt::format("{} inputs, but {} expected{}", inputs, count_range(counts.least, counts.most),
                     standard ? fmt::format(" in operator set {}", opset) : ""));
  const bool variadic = standard && counts.most >= kVariadic;  // none of them is optional
  for (int i = 0; i < (variadic ? inputs : counts.least); ++i)
    if (node.input(i).empty()) fail("BF1011", "", fmt::format("input {} is left out", i));
}

// `opsets`: that the model imports. Throws: BF1012.
void check_attribute(const onnx::NodeProto& node, const onnx::AttributeProto& attribute,
                     const OperatorImporter& op, const OpsetSpan& opsets) {
  const std::string& name = attribute.name();
  if (name.empty() ||
      std::find(op.attributes.begin(), op.attributes.end(), name) == op.attributes.end())
    fail("BF1012", "", fmt::format("unknown attribute '{}'", printable(name)),
         "it may belong to an operator set that is not supported");
  const OpsetSpan known =
      is_standard_domain(node.domain()) ? opsets_with(node.op_type(), name) : OpsetSpan{};
  if (!known.meets(opsets))
    fail("BF1012", "",
         fmt::format("attribute '{}' belongs to operator sets {}, but the model is of {}", name,
                     to_string(known), opsets.last),
         "export again with one operator set");
  if (!attribute.ref_attr_name().empty())
    fail("BF1012", "", fmt::format("attribute '{}' refers to a function's attribute", name));
}

// Throws: BF1011, BF1012.
void check_signature(const onnx::NodeProto& node, const OperatorImporter& op,
                     const OpsetSpan& opsets) {
  check_inputs(node, op, opsets.last);
  if (node.output_size() < 1 || node.output_size() > op.most_outputs)
    fail("BF1011", "",
         fmt::format("{} outputs, but {} expected", node.output_size(),
                     count_range(1, op.most_outputs)));
  const bool none = std::ranges::all_of(node.output(), &std::string::empty);
  if (op.any_output ? none : node.output(0).empty())
    fail("BF1011", "", none ? "all outputs are left out" : "output 0 is left out");
  std::set<std::string> seen;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    check_attribute(node, attribute, op, opsets);
    if (!seen.insert(attribute.name()).second)
      fail("BF1012", "", fmt::format("attribute '{}' is given twice", attribute.name()));
  }
}

// Names that wanted nodes and outputs read.
std::unordered_set<std::string> names_read(const onnx::GraphProto& proto,
                                           const std::vector<bool>& wanted) {
  std::unordered_set<std::string> names;
  for (int i = 0; i < proto.node_size(); ++i)
    if (wanted[static_cast<std::size_t>(i)])
      for_each_read(proto.node(i), [&](const std::string& name) { names.insert(name); });
  for (const onnx::ValueInfoProto& output : proto.output()) names.insert(output.name());
  return names;
}

bool GraphImporter::attempt(const std::string& where, const std::function<void()>& step) {
  try {
    step();
    return true;
  } catch (const CompileError& error) {
    for (Diagnostic diagnostic : error.diagnostics()) {
      if (diagnostic.where.empty()) diagnostic.where = where;
      state_.diagnostics.push_back(std::move(diagnostic));
    }
    return false;
  }
}

// Nothing reads a constant without elements: a zero stands in its place until dead nodes go.
void replace_empty(Graph& graph) {
  for (Node& node : graph.nodes) {
    Shape& shape = graph.values[index_of(node.output)].shape;
    if (element_count(shape) > 0) continue;
    shape = {1};
    node.op = Literal{Constant{shape, {0}, {}}};
  }
}

Graph GraphImporter::run(ModelInfo& info) {
  state_.graph.name = printable(proto_.name());
  state_.bodies = this;
  import_initializers();
  import_inputs();
  check_bindings();
  claim_node_outputs();
  import_nodes();
  import_outputs();
  if (!state_.diagnostics.empty()) throw CompileError(std::move(state_.diagnostics));
  replace_empty(state_.graph);
  verify(state_.graph);
  info.operators = std::move(state_.operators);
  info.narrow = std::ranges::any_of(state_.types, [](ElementType type) {
    return type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
  });
  return std::move(state_.graph);
}

Symbol GraphImporter::symbol_of(const onnx::TensorProto& tensor, Tensor value,
                                const std::string& name, const Origin& origin) {
  if (auto* integers = std::get_if<IntegerTensor>(&value)) return std::move(*integers);
  return state_.constant_symbol(name, std::get<Constant>(std::move(value)), tensor.data_type(),
                                origin);
}

// Reads the initializers that some node or output reads: an unused one is not worth a diagnostic.
void GraphImporter::import_initializers() {
  const std::unordered_set<std::string> read = names_read(proto_, facts_.wanted);
  for (const onnx::SparseTensorProto& sparse : proto_.sparse_initializer()) {
    const std::string& name = sparse.values().name();
    const std::string place = fmt::format("initializer '{}'", printable(name));
    if (!initializers_.insert(name).second)
      note("BF1015", place, "another initializer has the same name",
           "names must be unique; export the model again");
    else if (read.contains(name))
      import_initializer(sparse, sparse.values(), name, place);
  }
  for (onnx::TensorProto& kept : *proto_.mutable_initializer()) {
    onnx::TensorProto tensor;  // its numbers go when they have been read
    tensor.Swap(&kept);
    kept.set_name(tensor.name());
    const std::string place = fmt::format("initializer '{}'", printable(tensor.name()));
    if (!initializers_.insert(tensor.name()).second) {
      note("BF1015", place, "another initializer has the same name",
           "names must be unique; export the model again");
    } else if (read.contains(tensor.name())) {
      import_initializer(tensor, tensor, tensor.name(), place);
    }
  }
}

// elements: the tensor itself, or the values of a sparse one, which have its type.
template <typename Proto>
void GraphImporter::import_initializer(const Proto& tensor, const onnx::TensorProto& elements,
                                       const std::string& name, const std::string& place) {
  state_.symbols[name] = Poisoned{};
  attempt(place, [&] {
    state_.symbols[name] =
        symbol_of(elements, state_.reader.read(tensor, place, true), name, place);
  });
}

// The input of ids that are a text where all inputs have fixed ids, which would leave none: the
// first of those with most positions. Empty: an input is left.
std::string GraphImporter::text_alone() const {
  std::string text;
  std::size_t most = 0;
  for (const onnx::ValueInfoProto& info : proto_.input()) {
    if (initializers_.contains(info.name())) continue;
    const auto given = tokens_.find(info.name());
    if (given == tokens_.end() || !given->second.fixed) return {};
    if (given->second.sets.size() <= most) continue;
    most = given->second.sets.size();
    text = info.name();
  }
  return text;
}

// Files of IR version 3 list every initializer as an input, too: as its default value, which is
// what is verified.
void GraphImporter::import_inputs() {
  int count = 0;
  const std::string text = text_alone();
  for (const auto& [name, given] : tokens_)
    for (const std::vector<std::int64_t>& set : given.sets)
      if (!given.fixed || name == text)
        state_.graph.one_hot.size =
            std::max(state_.graph.one_hot.size, static_cast<std::int64_t>(set.size()));
  for (const onnx::ValueInfoProto& info : proto_.input()) {
    if (initializers_.contains(info.name())) continue;
    const std::string place = fmt::format("input '{}'", printable(info.name()));
    const auto bound = bindings_.find(info.name());
    if (bound != bindings_.end() && !state_.symbols.contains(info.name())) {
      state_.symbols[info.name()] = Poisoned{};
      attempt(place, [&] { bind_input(info.name(), bound->second, place); });
      continue;
    }
    const auto tokens = tokens_.find(info.name());
    if (tokens != tokens_.end() && !state_.symbols.contains(info.name())) {
      const bool fixed = tokens->second.fixed && info.name() != text;
      if (!fixed) ++count;
      state_.symbols[info.name()] = Poisoned{};
      attempt(place, [&] { import_tokens(info, {tokens->second.sets, fixed}); });
      continue;
    }
    ++count;
    if (state_.graph.one_hot.size > 0)
      note("BF1029", place, "it is a box beside inputs of token ids, which have none",
           "give its integers as well, \"NAME\": [1, 1, 0], in the file of --tokens");
    if (state_.symbols.contains(info.name())) {
      note("BF1015", place, "another input has the same name",
           "names must be unique; export the model again");
    } else if (!attempt(place, [&] { import_input(info); })) {
      state_.symbols[info.name()] = Poisoned{};
    }
  }
  if (count == 0)
    note("BF1008", "", "the model has no inputs besides its weights",
         tokens_.empty() ? "there is nothing to verify in a constant"
                         : "give the ids of an input as sets, [[3], [5, 8]], not as numbers");
}

void GraphImporter::bind_input(const std::string& name, const std::string& bytes,
                               const std::string& place) {
  onnx::TensorProto tensor;
  if (!tensor.ParseFromString(bytes))
    fail("BF1021", place, "what is bound to it is not a tensor", "give a TensorProto's bytes");
  state_.symbols[name] = symbol_of(tensor, state_.reader.read(tensor, place), name, place);
}

void GraphImporter::check_bindings() {
  for (const auto& binding : bindings_) {
    const std::string& name = binding.first;
    if (std::none_of(proto_.input().begin(), proto_.input().end(),
                     [&](const onnx::ValueInfoProto& info) { return info.name() == name; }))
      note("BF1008", fmt::format("input '{}'", printable(name)),
           "a tensor is bound to it, but the model has no such input");
  }
}

void GraphImporter::import_input(const onnx::ValueInfoProto& info) {
  if (info.name().empty()) fail("BF1008", "", "an input has no name");
  const Shape shape = input_shape(info);
  state_.symbols[info.name()] =
      state_.add_input(info.name(), shape, info.type().tensor_type().elem_type());
}

// The ids, where they vary, are sums of one-hot inputs, each times its id.
void GraphImporter::import_tokens(const onnx::ValueInfoProto& info, const TokenInput& given) {
  const ElementType type = info.type().tensor_type().elem_type();
  if (!is_integer_type(type))
    fail("BF1029", "", fmt::format("its elements are {}, no token ids", element_type_name(type)),
         "give a box of it, or the name of the input of ids");
  const Shape shape = input_shape(info);
  const std::int64_t positions = element_count(shape);
  if (positions != static_cast<std::int64_t>(given.sets.size()))
    fail("BF1029", "",
         fmt::format("ids of {} positions are given, but its shape is {}", given.sets.size(),
                     to_string(shape)),
         "give a set of ids for each position, of padding as well");
  for (std::size_t p = 0; p < given.sets.size(); ++p) {
    const std::set<std::int64_t> ids(given.sets[p].begin(), given.sets[p].end());
    if (ids.empty())
      fail("BF1029", "", fmt::format("no id may stand at position {}", p),
           "a set has one id at least");
    if (ids.size() != given.sets[p].size())
      fail("BF1029", "", fmt::format("an id is given twice at position {}", p));
    if (*ids.begin() < -kMostId || *ids.rbegin() > kMostId)
      fail("BF1029", "", fmt::format("an id at position {} is beyond 2^53", p));
  }
  if (given.fixed) {
    IntegerTensor ids{shape, {}, type};
    for (const std::vector<std::int64_t>& set : given.sets) ids.data.push_back(set.front());
    state_.symbols[info.name()] = std::move(ids);
    return;
  }
  const std::int64_t size = state_.graph.one_hot.size;
  Shape all = shape;
  all.push_back(size);
  std::vector<std::vector<std::int64_t>>& positions_so_far = state_.graph.one_hot.ids;
  positions_so_far.insert(positions_so_far.end(), given.sets.begin(), given.sets.end());
  const ValueId one_hot = state_.add_input(info.name(), all, onnx::TensorProto::FLOAT);
  SparseAffine ids;
  ids.row_start = {0};
  for (std::size_t p = 0; p < given.sets.size(); ++p) {
    for (std::size_t c = 0; c < given.sets[p].size(); ++c) {
      ids.column.push_back(static_cast<std::int64_t>(p) * size + static_cast<std::int64_t>(c));
      ids.value.data.push_back(static_cast<double>(given.sets[p][c]));
    }
    ids.row_start.push_back(static_cast<std::int64_t>(ids.column.size()));
  }
  ids.value.shape = {static_cast<std::int64_t>(ids.column.size())};
  ids.bias = filled({positions}, 0);
  const ValueId made = state_.add_node(std::move(ids), {one_hot}, info.name() + "/ids", shape, type,
                                       fmt::format("token ids '{}'", printable(info.name())));
  state_.token_ids.emplace(made, TokenIds{one_hot, given.sets});
  state_.symbols[info.name()] = made;
}

Shape GraphImporter::input_shape(const onnx::ValueInfoProto& info) const {
  if (!info.type().has_tensor_type()) fail("BF1008", "", "its type is not a dense tensor");
  const onnx::TypeProto::Tensor& type = info.type().tensor_type();
  // A box of reals holds the integers within it.
  if (!is_real_type(type.elem_type()) && !is_integer_type(type.elem_type()))
    fail("BF1008", "",
         fmt::format("elements are {}, but only numbers of 8 to 64 bits can be bounded",
                     element_type_name(type.elem_type())),
         "cast inside the application and export the rest of the model");
  if (!type.has_shape())
    fail("BF1009", "", "its shape is unknown",
         fmt::format("say it: --shape {}=1,16 or the like, or export with static shapes",
                     printable(info.name())));
  Shape shape;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const onnx::TensorShapeProto::Dimension& dim = type.shape().dim(i);
    const bool known = dim.has_dim_value() && dim.dim_value() > 0;
    if (!known && i > 0)
      fail("BF1009", "",
           dim.dim_param().empty()
               ? fmt::format("dimension {} is unknown", i)
               : fmt::format("dimension {} is dynamic: '{}'", i, printable(dim.dim_param())),
           fmt::format("say the shape: --shape {}={} or the like, or export with static shapes",
                       printable(info.name()), example_shape(type.shape())));
    shape.push_back(known ? dim.dim_value() : 1);  // one box is one sample: batch 1
  }
  return shape;
}

// Names that more than one node makes, or that are inputs or initializers already.
void GraphImporter::claim_node_outputs() {
  std::unordered_map<std::string, int> maker;
  for (int i = 0; i < proto_.node_size(); ++i)
    for (const std::string& name : proto_.node(i).output()) {
      if (name.empty()) continue;
      const auto [found, fresh] = maker.emplace(name, i);
      const bool known = state_.symbols.contains(name) || initializers_.contains(name);
      if (fresh && !known) continue;
      refused_.insert(i);
      const std::string other =
          known ? "an input or initializer" : place_of(proto_.node(found->second), found->second);
      note("BF1015", place_of(proto_.node(i), i),
           fmt::format("makes '{}', which is already made by {}", printable(name), other),
           "names must be unique; export the model again");
    }
}

void GraphImporter::note_cycle(const std::vector<int>& cycle) {
  constexpr std::size_t kShown = 8;
  const auto place = [this](int i) { return place_of(proto_.node(i), i); };
  std::string path;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) path += place(cycle[i]) + " -> ";
  if (cycle.size() > kShown) path += fmt::format("{} more -> ", cycle.size() - kShown);
  note("BF1016", place(cycle.front()),
       fmt::format("the graph has a cycle: {}{}", path, place(cycle.front())),
       "only feed-forward networks are supported");
}

// Tensors that are there without any node.
std::unordered_set<std::string> GraphImporter::known_names() const {
  std::unordered_set<std::string> names = initializers_;
  for (const auto& [name, symbol] : state_.symbols) names.insert(name);
  return names;
}

void GraphImporter::import_nodes() {
  const NodeOrder order = order_nodes(proto_, known_names());
  if (!order.cycle.empty()) note_cycle(order.cycle);
  // Problems are reported in file order, whatever order the nodes are imported in.
  std::map<int, std::vector<Diagnostic>> by_node;
  std::vector<Diagnostic> before = std::exchange(state_.diagnostics, {});
  const auto import = [&](int i) {
    import_node(i);
    if (!state_.diagnostics.empty()) by_node[i] = std::exchange(state_.diagnostics, {});
  };
  for (int i : order.order) import(i);
  std::vector<bool> sorted(static_cast<std::size_t>(proto_.node_size()), false);
  for (int i : order.order) sorted[static_cast<std::size_t>(i)] = true;
  for (int i = 0; i < proto_.node_size(); ++i) {
    if (sorted[static_cast<std::size_t>(i)]) continue;
    for (const std::string& name : proto_.node(i).output()) state_.symbols[name] = Poisoned{};
  }
  for (int i = 0; i < proto_.node_size(); ++i)  // behind a cycle: what the node itself shows
    if (!sorted[static_cast<std::size_t>(i)]) import(i);
  state_.diagnostics = std::move(before);
  for (auto& [index, found] : by_node)
    state_.diagnostics.insert(state_.diagnostics.end(), found.begin(), found.end());
}

// Operators of domain ai.onnx that are read where an input has no elements, as the halves of a
// rotary embedding may: they move or map each element, or count them.
bool takes_no_elements(const onnx::NodeProto& node) {
  static constexpr std::string_view kTypes[] = {
      "Add",     "Cast",     "CastLike",  "Concat",   "Cos",   "Div",     "Exp",
      "Flatten", "Identity", "Mul",       "Neg",      "Relu",  "Reshape", "Shape",
      "Sigmoid", "Sin",      "Size",      "Slice",    "Split", "Sqrt",    "Squeeze",
      "Sub",     "Tanh",     "Transpose", "Unsqueeze"};
  return is_standard_domain(node.domain()) &&
         std::ranges::find(kTypes, node.op_type()) != std::end(kTypes);
}

void GraphImporter::import_node(int index) {
  if (!facts_.wanted[static_cast<std::size_t>(index)]) return;
  const onnx::NodeProto& node = proto_.node(index);
  import_node(node,
              {place_of(node, index), Origin(name_of(node, index), index),
               facts_.opsets[static_cast<std::size_t>(index)]},
              refused_.contains(index));
}

void GraphImporter::import_node(const onnx::NodeProto& node, const At& at, bool refused) {
  const OperatorImporter* const op = find_operator(node);
  if (op == nullptr)
    note("BF1010", at.place, fmt::format("operator {} is not supported", operator_name(node)),
         way_out(node, open_.empty() ? tensor_before(node) : ""));
  const bool readable = find_inputs(node, at.place);
  state_.oldest_opset = at.opsets.first;
  state_.opset = at.opsets.last;
  const bool imported = op != nullptr &&
                        attempt(at.place, [&] { check_signature(node, *op, at.opsets); }) &&
                        readable && !refused && attempt(at.place, [&] {
                          open_.push_back({node, at});
                          struct Close {  // whatever is thrown
                            GraphImporter& importer;
                            ~Close() { importer.open_.pop_back(); }
                          } const close{*this};
                          NodeImport import(state_, node, at.origin);
                          state_.operators.emplace(node.op_type(), at.origin);
                          state_.reads_empty = takes_no_elements(node);
                          if (reads_masked(state_, node))
                            import_masked(state_, node, *op, at.origin);
                          else
                            op->run(import);
                          keep_in_types(state_, node, at.origin);
                          evaluate_integers(node);
                        });
  if (imported) return;
  for (const std::string& name : node.output())
    if (!name.empty()) state_.symbols[name] = Poisoned{};
}

std::string GraphImporter::fresh_name(const std::string& word) {
  if (!names_) names_.emplace().take(proto_);
  return names_->make(name_prefix(open_.back().node) + word);
}

// Counts a node or step of a body. Throws: BF1005.
void GraphImporter::count_unrolled() {
  if (++unrolled_ > state_.reader.limits.nodes)
    fail("BF1005", "",
         fmt::format("branches and steps of loops make over {} nodes, which is the limit",
                     state_.reader.limits.nodes),
         "export with fewer steps");
}

// Imports a node of the body of the node that is open.
void GraphImporter::import_in_body(const onnx::GraphProto& graph, int index,
                                   const NewName& new_name, std::int64_t step) {
  count_unrolled();
  onnx::NodeProto node = graph.node(index);
  rename_tensors(node, new_name);
  const At& around = open_.back().at;
  const std::string name = name_of(node, index);
  const std::string of_step = step < 0 ? "" : fmt::format(", step {}", step);
  At at{fmt::format("{} in {}{}", name, around.place, of_step), around.origin, around.opsets};
  at.origin.text = fmt::format("{} in {}", name, around.origin.text);
  import_node(node, at, false);
}

// Imports what is the same for all steps: constants, and the nodes that read nothing else.
void GraphImporter::begin_body(Body& body) {
  const onnx::GraphProto& graph = *body.graph;
  std::unordered_set<std::string> known, changing;
  const auto define = [&](const std::string& name) {
    if (!name.empty() && !known.insert(name).second)
      fail("BF1015", "", fmt::format("its body makes '{}' more than once", printable(name)),
           "names must be unique; export the model again");
  };
  for (const onnx::ValueInfoProto& input : graph.input()) define(input.name());
  changing = known;
  const auto initialize = [&](const auto& tensor, const onnx::TensorProto& elements) {
    define(elements.name());
    const std::string name = fresh_name(elements.name());
    body.fixed[elements.name()] = name;
    import_initializer(tensor, elements, name,
                       fmt::format("initializer '{}'", printable(elements.name())));
  };
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer())
    initialize(sparse, sparse.values());
  for (const onnx::TensorProto& tensor : graph.initializer()) initialize(tensor, tensor);
  for (const onnx::NodeProto& node : graph.node())
    for (const std::string& name : node.output()) define(name);
  const NodeOrder order = order_nodes(graph, {});
  if (!order.cycle.empty())
    fail("BF1016", "", "its body has a cycle", "only feed-forward networks are supported");
  const auto new_name = [&](const std::string& name) {
    const auto found = body.fixed.find(name);
    return found == body.fixed.end() ? nullptr : &found->second;
  };
  for (const int index : order.order) {
    const onnx::NodeProto& node = graph.node(index);
    bool fixed = true;
    for_each_read(node,
                  [&](const std::string& name) { fixed = fixed && !changing.contains(name); });
    if (!fixed) {
      changing.insert(node.output().begin(), node.output().end());
      body.steps.push_back(index);
      continue;
    }
    for (const std::string& name : node.output())
      if (!name.empty()) body.fixed[name] = fresh_name(name);
    import_in_body(graph, index, new_name, -1);
  }
  body.begun = true;
}

std::vector<std::string> GraphImporter::import_body(Body& body,
                                                    const std::vector<std::string>& inputs,
                                                    std::int64_t step) {
  const onnx::GraphProto& graph = *body.graph;
  BF_CHECK(static_cast<std::size_t>(graph.input_size()) == inputs.size());
  std::vector<Diagnostic> before = std::exchange(state_.diagnostics, {});
  struct Restore {  // whatever is thrown
    std::vector<Diagnostic>& diagnostics;
    std::vector<Diagnostic>& before;
    ~Restore() { diagnostics = std::move(before); }
  } const restore{state_.diagnostics, before};
  const auto stop_at_problems = [&] {
    if (!state_.diagnostics.empty()) throw CompileError(std::move(state_.diagnostics));
  };
  count_unrolled();
  if (!body.begun) begin_body(body);
  stop_at_problems();
  std::unordered_map<std::string, std::string> names;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    names[graph.input(static_cast<int>(i)).name()] = inputs[i];
  const auto new_name = [&](const std::string& name) -> const std::string* {
    if (const auto found = names.find(name); found != names.end()) return &found->second;
    const auto fixed = body.fixed.find(name);
    return fixed == body.fixed.end() ? nullptr : &fixed->second;
  };
  for (const int index : body.steps) {
    for (const std::string& name : graph.node(index).output())
      if (!name.empty()) names[name] = fresh_name(name);
    import_in_body(graph, index, new_name, step);
  }
  stop_at_problems();
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const std::string* const renamed = new_name(output.name());
    outputs.push_back(renamed != nullptr ? *renamed : output.name());
    if (!state_.symbols.contains(outputs.back()))
      fail("BF1017", "",
           fmt::format("nothing makes the output '{}' of its body", printable(output.name())),
           "the file is incomplete; export the model again");
  }
  return outputs;
}

// The first tensor that the node reads, another node makes and an output of the model can be.
// Empty: there is none.
std::string GraphImporter::tensor_before(const onnx::NodeProto& node) const {
  for (const std::string& name : node.input()) {
    const auto found = state_.symbols.find(name);
    if (found == state_.symbols.end()) continue;
    const auto* const value = std::get_if<ValueId>(&found->second);
    if (value != nullptr && state_.makers[index_of(*value)] >= 0) return name;
  }
  return "";
}

// Integers that depend on constants alone become IntegerTensors; the nodes that were made for them
// are left to remove_dead_nodes. Those that have no exact value stay what they are: shapes and
// indices will be refused where they are read.
void GraphImporter::evaluate_integers(const onnx::NodeProto& node) {
  for (const std::string& name : node.output()) {
    const auto found = state_.symbols.find(name);
    if (name.empty() || found == state_.symbols.end()) continue;
    const auto* id = std::get_if<ValueId>(&found->second);
    if (id == nullptr) continue;
    if (std::optional<IntegerTensor> integers = state_.integers(*id))
      found->second = std::move(*integers);
  }
}

// False when an input is missing or poisoned.
bool GraphImporter::find_inputs(const onnx::NodeProto& node, const std::string& where) {
  bool readable = true;
  for_each_read(node, [&](const std::string& name) {
    if (name.empty()) return;
    const auto found = state_.symbols.find(name);
    if (found == state_.symbols.end()) {
      note("BF1013", where, fmt::format("reads '{}', which nothing makes", printable(name)),
           "the file is incomplete; export the model again");
      state_.symbols[name] = Poisoned{};
      readable = false;
    } else if (std::holds_alternative<Poisoned>(found->second)) {
      readable = false;
    }
  });
  return readable;
}

void GraphImporter::import_outputs() {
  if (proto_.output_size() == 0) note("BF1017", "", "the model has no outputs");
  for (const onnx::ValueInfoProto& info : proto_.output()) {
    const std::string place = fmt::format("output '{}'", printable(info.name()));
    const auto found = state_.symbols.find(info.name());
    if (info.name().empty() || found == state_.symbols.end()) {
      note("BF1017", place, "nothing makes it", "the file is incomplete; export the model again");
    } else if (!std::holds_alternative<Poisoned>(found->second)) {
      attempt(place, [&] {
        state_.reads_empty = false;
        state_.graph.outputs.push_back(state_.value(info.name()));
      });
    }
  }
}

}  // namespace

Graph import_graph(onnx::GraphProto& proto, ImportState state, const InputBindings& bindings,
                   const std::map<std::string, TokenInput>& tokens, const NodeFacts& nodes,
                   ModelInfo& info) {
  return GraphImporter(proto, std::move(state), bindings, tokens, nodes).run(info);
}

}  // namespace bf_aot
