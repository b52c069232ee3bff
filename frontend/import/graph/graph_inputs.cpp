#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/import/file/node_import.h"
#include "frontend/import/graph/graph_building.h"
#include "frontend/import/graph/node_checks.h"
#include "frontend/import/helpers/integer_types.h"

namespace bf_aot {
namespace {

constexpr std::int64_t kMostId = std::int64_t{1} << 53;

// A shape that fits what is known of one, as an option has it: 1 for the batch and 16 for others.
std::string example_shape(const onnx::TensorShapeProto& shape) {
  std::string text;
  for (int i = 0; i < shape.dim_size(); ++i) {
    const std::int64_t known = shape.dim(i).has_dim_value() ? shape.dim(i).dim_value() : 0;
    text += fmt::format("{}{}", i == 0 ? "" : ",", known > 0 ? known : i == 0 ? 1 : 16);
  }
  return text;
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

}  // namespace

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

template void GraphImporter::import_initializer(const onnx::TensorProto&, const onnx::TensorProto&,
                                                const std::string&, const std::string&);
template void GraphImporter::import_initializer(const onnx::SparseTensorProto&,
                                                const onnx::TensorProto&, const std::string&,
                                                const std::string&);

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

}  // namespace bf_aot
