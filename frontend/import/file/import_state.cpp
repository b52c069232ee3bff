#include "frontend/import/file/import_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "frontend/algebra/fold_node.h"
#include "frontend/graph/model.h"
#include "frontend/graph/shapes.h"

namespace bf_aot {

ValueId ImportState::add_value(const std::string& name, const Shape& shape, ElementType type,
                               int maker, bool is_known) {
  graph.values.push_back({unique_name(name), shape});
  types.push_back(type);
  makers.push_back(maker);
  known.push_back(is_known);
  folded.emplace_back();
  return static_cast<ValueId>(graph.values.size() - 1);
}

// Names that had to be changed may have become equal; a number keeps them apart.
std::string ImportState::unique_name(const std::string& name) {
  std::string shown = printable(name);
  if (shown != name || names.contains(shown)) shown += fmt::format("#{}", graph.values.size());
  while (!names.insert(shown).second) shown += "#";
  return shown;
}

void ImportState::rename(ValueId id, const std::string& name) {
  std::string& current = graph.values[index_of(id)].name;
  if (current == name) return;
  names.erase(current);
  current = unique_name(name);
}

void ImportState::expect_elements(const std::string& name, const Shape& shape) {
  if (element_count(shape) == 0)
    fail("BF1014", "",
         fmt::format("tensor '{}' of shape {} has no elements", printable(name), to_string(shape)));
}

ValueId ImportState::add_input(const std::string& name, const Shape& shape, ElementType type) {
  reader.check(shape, "");
  expect_elements(name, shape);
  const ValueId id = add_value(name, shape, type, -1, false);
  graph.inputs.push_back(id);
  return id;
}

ValueId ImportState::add_node(Op op, std::vector<ValueId> inputs, const std::string& name,
                              const Shape& shape, ElementType type, Origin origin) {
  reader.check(shape, "");
  if (element_count(shape) == 0) {
    // A tensor without elements is a constant, also where it is made of computed tensors.
    op = Literal{Constant{shape, {}, {}}};
    inputs.clear();
  }
  for (const ValueId input : inputs)
    expect_elements(graph.value(input).name, graph.value(input).shape);
  const bool is_known =
      std::all_of(inputs.begin(), inputs.end(), [this](ValueId id) { return known[index_of(id)]; });
  const ValueId id = add_value(name, shape, type, static_cast<int>(graph.nodes.size()), is_known);
  reader.charge_made(element_count(graph.value(id).shape), "");  // `shape` may have been moved
  graph.nodes.push_back({std::move(op), std::move(inputs), id, std::move(origin)});
  return id;
}

ValueId ImportState::value(const std::string& name) {
  Symbol& symbol = symbols.at(name);
  if (const auto* id = std::get_if<ValueId>(&symbol)) {
    if (!reads_empty) expect_elements(name, graph.value(*id).shape);
    return *id;
  }
  if (const auto* unavailable = std::get_if<Unavailable>(&symbol))
    fail("BF1020", "", fmt::format("reads '{}', {}", printable(name), unavailable->what),
         unavailable->hint);
  if (const auto* integers = std::get_if<IntegerTensor>(&symbol)) {
    // The name keeps standing for the integers: later nodes may need them as such.
    Constant constant = to_constant(*integers);
    const Shape shape = constant.shape;
    if (!reads_empty) expect_elements(name, shape);
    return add_node(Literal{std::move(constant)}, {}, name, shape, integers->type,
                    fmt::format("constant '{}'", printable(name)));
  }
  if (const auto* const masked = std::get_if<Masked>(&symbol)) {
    if (!masked->other.empty())
      fail("BF1023", "",
           fmt::format("reads '{}', of which an element is {}", printable(name), masked->other),
           "a network with such a number has no bounds, unless a constant condition chooses "
           "others; train or export it again");
    fail("BF1023", "", fmt::format("reads '{}', of which elements are -inf", printable(name)),
         "-inf may stand in what masks elements of a Softmax, LogSoftmax or Attention, alone");
  }
  if (std::holds_alternative<Sequence>(symbol))
    fail("BF1020", "", fmt::format("reads '{}', which is a sequence", printable(name)),
         "SequenceAt and ConcatFromSequence make tensors of it");
  BF_CHECK(std::holds_alternative<PendingLiteral>(symbol));
  auto& pending = std::get<PendingLiteral>(symbol);
  const Shape shape = pending.value.shape;
  if (!reads_empty) expect_elements(name, shape);
  const ValueId id = add_node(Literal{std::move(pending.value)}, {}, name, shape, pending.type,
                              std::move(pending.origin));
  symbol = id;
  return id;
}

Symbol ImportState::constant_symbol(const std::string& name, Constant value, ElementType type,
                                    Origin origin) {
  if (std::ranges::all_of(value.data, [](double x) { return std::isfinite(x); }))
    return PendingLiteral{std::move(value), std::move(origin), type};
  Masked masked;
  for (double& x : value.data) {
    const bool is_number = std::isfinite(x);
    masked.hidden.push_back(!is_number);
    if (is_number) continue;
    if (masked.other.empty() && !(x < 0)) masked.other = std::isnan(x) ? "nan" : "inf";
    x = 0;
  }
  const Shape shape = value.shape;
  masked.value = add_node(Literal{std::move(value)}, {}, name, shape, type, std::move(origin));
  return masked;
}

const Constant* ImportState::constant(ValueId id) {
  const std::size_t i = index_of(id);
  if (!known[i]) return nullptr;
  // Operands first. They were made before their readers, so this walks back without cycles; a
  // stack of its own, because a chain of nodes may be long.
  std::vector<ValueId> pending = {id};
  while (!pending.empty()) {
    const std::size_t at = index_of(pending.back());
    const Node& node = graph.nodes[static_cast<std::size_t>(makers[at])];
    if (std::holds_alternative<Literal>(node.op) || folded[at] != nullptr) {
      pending.pop_back();
      continue;
    }
    std::vector<const Constant*> operands;
    const std::size_t before = pending.size();
    for (ValueId input : node.inputs) {
      const Node& source = graph.nodes[static_cast<std::size_t>(makers[index_of(input)])];
      const auto* literal = std::get_if<Literal>(&source.op);
      operands.push_back(literal != nullptr ? &literal->value : folded[index_of(input)].get());
      if (operands.back() == nullptr) pending.push_back(input);
    }
    if (pending.size() > before) continue;
    folding.charge(graph, node, reader.stored);
    std::optional<Constant> value = fold_node(graph, node, operands);
    if (!value) return nullptr;
    folded[at] = std::make_unique<const Constant>(std::move(*value));
    pending.pop_back();
  }
  const Node& node = graph.nodes[static_cast<std::size_t>(makers[i])];
  const auto* literal = std::get_if<Literal>(&node.op);
  return literal != nullptr ? &literal->value : folded[i].get();
}

std::optional<IntegerTensor> ImportState::integers(ValueId id) {
  const ElementType type = types[index_of(id)];
  const Constant* const value = is_integer_type(type) ? constant(id) : nullptr;
  if (value == nullptr || !value->is_exact()) return std::nullopt;
  IntegerTensor result{graph.value(id).shape, {}, type};
  for (double x : value->data) {
    if (std::abs(x) > 0x1p53 || x != std::floor(x)) return std::nullopt;
    result.data.push_back(static_cast<std::int64_t>(x));
  }
  return result;
}

ValueId ImportState::moved_from(ValueId id, std::vector<std::int64_t>& element) const {
  element.resize(static_cast<std::size_t>(element_count(graph.value(id).shape)));
  std::iota(element.begin(), element.end(), 0);
  while (!token_ids.contains(id) && makers[index_of(id)] >= 0) {
    const Node& node = graph.nodes[static_cast<std::size_t>(makers[index_of(id)])];
    const auto* const map = std::get_if<IndexMap>(&node.op);
    if (map == nullptr) break;
    for (std::int64_t& at : element) at = map->source[static_cast<std::size_t>(at)];
    id = node.inputs[0];
  }
  return id;
}

std::string ImportState::scores_before(ValueId id) const {
  if (!is_integer_type(types[index_of(id)])) return {};
  std::vector<ValueId> open = {id};
  std::unordered_set<std::size_t> seen;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const ValueId value = open[i];
    const std::size_t at = index_of(value);
    if (makers[at] < 0 || known[at] || !seen.insert(at).second) continue;
    const std::string& name = graph.value(value).name;
    const auto symbol = symbols.find(name);
    const auto* const named =
        symbol == symbols.end() ? nullptr : std::get_if<ValueId>(&symbol->second);
    const bool several = element_count(graph.value(value).shape) > 1;
    if (several && named != nullptr && *named == value && is_real_type(types[at])) return name;
    for (const ValueId input : graph.nodes[static_cast<std::size_t>(makers[at])].inputs)
      open.push_back(input);
  }
  return {};
}

}  // namespace bf_aot
