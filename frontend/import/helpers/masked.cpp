#include "frontend/import/helpers/masked.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/import/operators/versions.h"

namespace bf_aot {
namespace {

// The inputs whose elements an operator moves, chooses from or adds: -inf stays -inf in its result.
// Empty: it does something else.
std::vector<int> carried_inputs(const onnx::NodeProto& node) {
  static constexpr std::string_view kMovers[] = {
      "Cast",   "CastLike",       "Compress", "DepthToSpace",    "Expand",  "Flatten",
      "Gather", "GatherElements", "GatherND", "Identity",        "Reshape", "Slice",
      "Split",  "SpaceToDepth",   "Squeeze",  "ReverseSequence", "Tile",    "Transpose",
      "Trilu",  "Unsqueeze"};
  static constexpr std::string_view kWriters[] = {"Scatter", "ScatterElements", "ScatterND"};
  if (!is_standard_domain(node.domain())) return {};
  const std::string& type = node.op_type();
  if (type == "Concat") {
    std::vector<int> all(static_cast<std::size_t>(node.input_size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const bool reduces = std::ranges::any_of(
      node.attribute(), [](const auto& each) { return each.name() == "reduction"; });
  if (std::ranges::find(kWriters, type) != std::end(kWriters))
    return reduces ? std::vector<int>{} : std::vector{0, 2};
  if (type == "Where") return {1, 2};
  if (type == "Add") return {0, 1};
  constexpr int kFill = 2;
  if (type == "Pad")
    return node.input_size() > kFill && !node.input(kFill).empty() ? std::vector{0, kFill}
                                                                   : std::vector{0};
  return std::ranges::find(kMovers, type) != std::end(kMovers) ? std::vector<int>{0}
                                                               : std::vector<int>{};
}

// The inputs that an operator leaves elements out of where they are -inf. Empty: it leaves out
// none.
std::vector<int> masking_inputs(const onnx::NodeProto& node) {
  if (!is_standard_domain(node.domain())) return {};
  const std::string& type = node.op_type();
  if (type == "Softmax" || type == "LogSoftmax") return {0};
  constexpr int kMask = 3;
  return type == "Attention" && node.input_size() > kMask ? std::vector{kMask} : std::vector<int>{};
}

[[noreturn]] void refuse_computed() {
  fail("BF1023", "", "the inputs decide which of its elements are -inf, or no number",
       "masks of Softmax must be constants, and so what chooses between numbers and others");
}

// One node, whose inputs stand for other values while it runs.
class MaskedNode {
 public:
  MaskedNode(ImportState& state, const onnx::NodeProto& node, const OperatorImporter& op,
             const Origin& origin)
      : state_(state), node_(node), op_(op), origin_(origin) {}
  MaskedNode(const MaskedNode&) = delete;
  MaskedNode& operator=(const MaskedNode&) = delete;
  ~MaskedNode() {  // whatever is thrown
    state_.hidden.clear();
    for (const auto& [name, symbol] : kept_) state_.symbols.insert_or_assign(name, symbol);
  }

  // Elements of -inf are left out.
  void leave_out(const std::vector<int>& inputs) {
    if (!keep_masks(inputs)) return run();
    for (const auto& [name, symbol] : kept_)
      if (const auto* masked = std::get_if<Masked>(&symbol)) {
        state_.symbols[name] = masked->value;
        state_.hidden[name] = masked->hidden;
      }
    run();
  }

  // Twice: for the other elements, and for 1 where there is -inf and 0 elsewhere, which tells where
  // the result has -inf.
  void carry(const std::vector<int>& inputs) {
    keep(inputs);
    for (const auto& [name, symbol] : kept_)
      if (const auto* masked = std::get_if<Masked>(&symbol)) state_.symbols[name] = masked->value;
    run();
    const std::map<std::string, ValueId> values = outputs();
    put_indicators(1);
    run();
    std::string other;
    for (const auto& [name, symbol] : kept_)
      if (const auto* masked = std::get_if<Masked>(&symbol); masked != nullptr && other.empty())
        other = masked->other;
    for (const auto& [name, value] : values) put_masked(name, value, 1, other);
  }

  // The largest of a constant's elements: -inf where all are. Twice: with the least of the others
  // in place of -inf, which no maximum of one that is there is below, and for 0 where there is
  // -inf and 1 elsewhere.
  void maximum() {
    if (!keep_masks({0})) return run();
    const Constant value = constant_of(node_.input(0));
    const std::vector<bool>& hidden = std::get<Masked>(kept_.at(node_.input(0))).hidden;
    double least = 0;
    bool any = false;
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      if (hidden[i]) continue;
      least = any ? std::min(least, value.data[i]) : value.data[i];
      any = true;
    }
    put(node_.input(0), with(value, hidden, least));
    run();
    const std::map<std::string, ValueId> values = outputs();
    put_indicators(0);
    run();
    for (const auto& [name, made] : values) put_masked(name, made, 0, {});
  }

  // Elements of constants are equal where both or neither are -inf, and what is not -inf is equal.
  void equal() {
    if (!keep_masks({0, 1})) return run();
    for (const auto& [name, symbol] : kept_)
      if (const auto* masked = std::get_if<Masked>(&symbol))
        put(name, with(constant_of(name), masked->hidden, 0));
    run();
    const ValueId same_values = state_.value(node_.output(0));
    put_indicators(1);
    run();
    const ValueId same_places = state_.value(node_.output(0));
    const Shape shape = state_.graph.value(same_places).shape;
    state_.symbols[node_.output(0)] =
        state_.add_node(Binary{Binary::Kind::kMul}, {same_values, same_places}, node_.output(0),
                        shape, state_.types[index_of(same_places)], origin_);
  }

  // Clip's ends that are infinite are left out.
  void clip() {
    constexpr int kLow = 1, kHigh = 2;
    onnx::NodeProto node = node_;
    for (const int i : {kLow, kHigh}) {
      if (i >= node.input_size()) continue;
      const auto found = state_.symbols.find(node.input(i));
      if (found == state_.symbols.end()) continue;
      const auto* const masked = std::get_if<Masked>(&found->second);
      if (masked != nullptr && masked->other == (i == kLow ? "" : "inf") &&
          masked->hidden.size() == 1)
        node.set_input(i, "");
    }
    NodeImport import(state_, node, origin_);
    op_.run(import);
  }

  void run() {
    NodeImport import(state_, node_, origin_);
    op_.run(import);
  }

 private:
  void keep(const std::vector<int>& inputs) {
    for (const int i : inputs) kept_.emplace(node_.input(i), state_.symbols.at(node_.input(i)));
  }

  // Keeps the inputs, and returns true, if all elements that are hidden in them are -inf.
  bool keep_masks(const std::vector<int>& inputs) {
    for (const int i : inputs) {
      const auto* const masked = std::get_if<Masked>(&state_.symbols.at(node_.input(i)));
      if (masked != nullptr && !masked->other.empty()) return false;
    }
    keep(inputs);
    return true;
  }

  std::map<std::string, ValueId> outputs() {
    std::map<std::string, ValueId> values;
    for (const std::string& name : node_.output())
      if (!name.empty()) values.emplace(name, state_.value(name));
    return values;
  }

  void put(const std::string& name, Constant value) {
    const Shape shape = value.shape;
    const ElementType type = state_.types[index_of(std::get<Masked>(kept_.at(name)).value)];
    state_.symbols[name] =
        state_.add_node(Literal{std::move(value)}, {}, name, shape, type, origin_);
  }

  // `indicates` in place of -inf, and the other of 0 and 1 elsewhere.
  void put_indicators(double indicates) {
    for (const auto& [name, symbol] : kept_) {
      const auto* const masked = std::get_if<Masked>(&symbol);
      const ValueId value = masked != nullptr ? masked->value : state_.value(name);
      const Shape shape = state_.graph.value(value).shape;
      Constant indicator = filled(shape, 1 - indicates);
      if (masked != nullptr) indicator = with(std::move(indicator), masked->hidden, indicates);
      state_.symbols[name] = state_.add_node(Literal{std::move(indicator)}, {}, name, shape,
                                             state_.types[index_of(value)], origin_);
    }
  }

  // The output has -inf, or what `other` says, where the symbol of its name, a constant, is
  // `indicates`.
  void put_masked(const std::string& name, ValueId value, double indicates,
                  const std::string& other) {
    const Constant* const hidden = state_.constant(state_.value(name));
    if (hidden == nullptr || !hidden->is_exact()) refuse_computed();
    Masked masked{value, {}, other};
    for (const double x : hidden->data) masked.hidden.push_back((x != 0) == (indicates != 0));
    const bool any = std::ranges::find(masked.hidden, true) != masked.hidden.end();
    state_.symbols[name] = any ? Symbol(std::move(masked)) : Symbol(value);
  }

  // Throws: BF1023 when the inputs decide it.
  Constant constant_of(const std::string& name) {
    const Constant* const value = state_.constant(std::get<Masked>(kept_.at(name)).value);
    if (value == nullptr || !value->is_exact()) refuse_computed();
    return *value;
  }

  static Constant with(Constant value, const std::vector<bool>& hidden, double there) {
    for (std::size_t i = 0; i < hidden.size(); ++i)
      if (hidden[i]) value.data[i] = there;
    return value;
  }

  ImportState& state_;
  const onnx::NodeProto& node_;
  const OperatorImporter& op_;
  const Origin& origin_;
  std::map<std::string, Symbol> kept_;
};

bool is_masked(const ImportState& state, const std::string& name) {
  const auto found = state.symbols.find(name);
  return found != state.symbols.end() && std::holds_alternative<Masked>(found->second);
}

}  // namespace

bool reads_masked(const ImportState& state, const onnx::NodeProto& node) {
  return std::ranges::any_of(node.input(),
                             [&](const std::string& name) { return is_masked(state, name); });
}

void import_masked(ImportState& state, const onnx::NodeProto& node, const OperatorImporter& op,
                   const Origin& origin) {
  MaskedNode masked(state, node, op, origin);
  const bool standard = is_standard_domain(node.domain());
  const std::vector<int> masking = masking_inputs(node), carried = carried_inputs(node);
  if (!masking.empty()) return masked.leave_out(masking);
  if (standard && node.op_type() == "ReduceMax" && is_masked(state, node.input(0)))
    return masked.maximum();
  if (standard && node.op_type() == "Equal") return masked.equal();
  if (standard && node.op_type() == "Clip") return masked.clip();
  carried.empty() ? masked.run() : masked.carry(carried);
}

}  // namespace bf_aot
