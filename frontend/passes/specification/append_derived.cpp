#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/graph.h"
#include "frontend/passes/passes.h"
#include "frontend/property/derived_values.h"

namespace bf_aot {
namespace {

constexpr char kDerivedOrigin[] = "derived values";

// Nodes that derived values become: one for all values of a form at a depth.
enum class DerivedForm : std::uint8_t { kSum, kProduct, kSquare, kAbs, kRelu, kMax };

AffineForm negated(AffineForm form) {
  for (auto& [index, factor] : form.terms) factor = -factor;
  form.constant = -form.constant;
  return form;
}

bool is_zero_form(const AffineForm& form) {
  return form.terms.empty() && form.constant == 0;
}

DerivedForm form_of(const DerivedValue& value) {
  const std::vector<AffineForm>& operands = value.operands;
  switch (value.kind) {
    case DerivedValue::Kind::kSum:
      return DerivedForm::kSum;
    case DerivedValue::Kind::kProduct:
      return operands[0] == operands[1] ? DerivedForm::kSquare : DerivedForm::kProduct;
    case DerivedValue::Kind::kMax:
      if (operands.size() != 2) return DerivedForm::kMax;
      if (operands[0] == negated(operands[1])) return DerivedForm::kAbs;
      return is_zero_form(operands[0]) || is_zero_form(operands[1]) ? DerivedForm::kRelu
                                                                    : DerivedForm::kMax;
  }
  BF_CHECK(false);
  return DerivedForm::kSum;
}

class DerivedAppender {
 public:
  DerivedAppender(Graph& graph, const std::vector<DerivedValue>& derived)
      : graph_(graph), derived_(derived) {
    for (const std::vector<ValueId>* const side : {&graph.inputs, &graph.outputs})
      for (const ValueId id : *side) {
        starts_.push_back(count_);
        tensors_.push_back(id);
        count_ += element_count(graph.value(id).shape);
      }
  }

  void run() {
    std::map<std::pair<int, DerivedForm>, std::vector<std::size_t>> groups;
    for (std::size_t k = 0; k < derived_.size(); ++k) {
      depths_.push_back(depth_of(derived_[k]));
      groups[{depths_[k], form_of(derived_[k])}].push_back(k);
    }
    places_.resize(derived_.size());
    for (const auto& [key, members] : groups) add_group(key.second, members);
    std::vector<AffineForm> all;
    for (std::size_t k = 0; k < derived_.size(); ++k)
      all.push_back({{{count_ + static_cast<std::int64_t>(k), 1}}, 0});
    graph_.outputs.push_back(add_forms(all, "derived"));
    graph_.derived_output = true;
  }

 private:
  struct Place {
    ValueId tensor{};
    std::int64_t element = 0;
  };

  Place place_of(std::int64_t index) const {
    if (index >= count_) return places_.at(static_cast<std::size_t>(index - count_));
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
    const auto at = static_cast<std::size_t>(after - starts_.begin()) - 1;
    return {tensors_[at], index - starts_[at]};
  }

  int depth_of(const DerivedValue& value) const {
    int depth = 0;
    for (const AffineForm& operand : value.operands)
      for (const auto& [index, factor] : operand.terms)
        if (index >= count_)
          depth = std::max(depth, 1 + depths_.at(static_cast<std::size_t>(index - count_)));
    return depth;
  }

  ValueId add_node(Op op, std::vector<ValueId> inputs, const std::string& name,
                   std::int64_t count) {
    const ValueId made = graph_.add_value(name, {count});
    graph_.nodes.push_back({std::move(op), std::move(inputs), made, kDerivedOrigin});
    return made;
  }

  // The part of the forms that reads one tensor.
  SparseAffine part_of(const std::vector<AffineForm>& forms, ValueId tensor, bool constants) const {
    SparseAffine part;
    part.row_start = {0};
    std::vector<Bounded> entries;
    const auto rows = static_cast<std::int64_t>(forms.size());
    ConstantBuilder bias({rows});
    for (std::size_t i = 0; i < forms.size(); ++i) {
      for (const auto& [index, factor] : forms[i].terms) {
        const Place place = place_of(index);
        if (place.tensor != tensor) continue;
        part.column.push_back(place.element);
        entries.push_back(enclosed(factor));
      }
      part.row_start.push_back(static_cast<std::int64_t>(part.column.size()));
      bias.set(i, constants ? enclosed(forms[i].constant) : Bounded{});
    }
    ConstantBuilder values({static_cast<std::int64_t>(entries.size())});
    for (std::size_t i = 0; i < entries.size(); ++i) values.set(i, entries[i]);
    part.value = std::move(values).finish(kDerivedOrigin);
    part.bias = std::move(bias).finish(kDerivedOrigin);
    return part;
  }

  // The values of the forms, as one tensor: a sum of what reads each tensor.
  ValueId add_forms(const std::vector<AffineForm>& forms, const std::string& name) {
    const auto count = static_cast<std::int64_t>(forms.size());
    std::set<ValueId> tensors;
    for (const AffineForm& form : forms)
      for (const auto& [index, factor] : form.terms) tensors.insert(place_of(index).tensor);
    if (tensors.empty()) tensors.insert(tensors_.front());  // constants alone
    std::optional<ValueId> sum;
    for (const ValueId tensor : tensors) {
      const ValueId part = add_node(part_of(forms, tensor, !sum), {tensor}, name, count);
      sum = sum ? add_node(Binary{Binary::Kind::kAdd}, {*sum, part}, name, count) : part;
    }
    return *sum;
  }

  ValueId add_operands(const std::vector<std::size_t>& members, std::size_t operand) {
    std::vector<AffineForm> forms;
    for (const std::size_t k : members) forms.push_back(derived_[k].operands[operand]);
    return add_forms(forms, "derived_operand");
  }

  ValueId add_maxima(const std::vector<std::size_t>& members) {
    GroupMax op;
    op.row_start = {0};
    std::vector<AffineForm> forms;
    for (const std::size_t k : members) {
      for (const AffineForm& operand : derived_[k].operands) {
        op.source.push_back(static_cast<std::int64_t>(forms.size()));
        forms.push_back(operand);
      }
      op.row_start.push_back(static_cast<std::int64_t>(forms.size()));
    }
    return add_node(std::move(op), {add_forms(forms, "derived_operand")}, "derived_max",
                    static_cast<std::int64_t>(members.size()));
  }

  // The operands that are not 0.
  ValueId add_positive_parts(const std::vector<std::size_t>& members) {
    std::vector<AffineForm> forms;
    for (const std::size_t k : members) {
      const std::vector<AffineForm>& operands = derived_[k].operands;
      forms.push_back(is_zero_form(operands[0]) ? operands[1] : operands[0]);
    }
    return add_node(Relu{}, {add_forms(forms, "derived_operand")}, "derived_relu",
                    static_cast<std::int64_t>(members.size()));
  }

  ValueId add_values(DerivedForm form, const std::vector<std::size_t>& members) {
    const auto count = static_cast<std::int64_t>(members.size());
    switch (form) {
      case DerivedForm::kSum:
        return add_operands(members, 0);
      case DerivedForm::kProduct: {
        const ValueId a = add_operands(members, 0), b = add_operands(members, 1);
        return add_node(Binary{Binary::Kind::kMul}, {a, b}, "derived_product", count);
      }
      case DerivedForm::kSquare:
        return add_node(Unary{{FunctionKind::kPower, 2}}, {add_operands(members, 0)},
                        "derived_square", count);
      case DerivedForm::kAbs:
        return add_node(Unary{{FunctionKind::kAbs}}, {add_operands(members, 0)}, "derived_abs",
                        count);
      case DerivedForm::kRelu:
        return add_positive_parts(members);
      case DerivedForm::kMax:
        return add_maxima(members);
    }
    BF_CHECK(false);
    return {};
  }

  void add_group(DerivedForm form, const std::vector<std::size_t>& members) {
    const ValueId made = add_values(form, members);
    for (std::size_t i = 0; i < members.size(); ++i)
      places_[members[i]] = {made, static_cast<std::int64_t>(i)};
  }

  Graph& graph_;
  const std::vector<DerivedValue>& derived_;
  std::vector<std::int64_t> starts_;  // of each tensor, the index of its first element
  std::vector<ValueId> tensors_;
  std::int64_t count_ = 0;     // elements of inputs and outputs
  std::vector<int> depths_;    // of derived values
  std::vector<Place> places_;  // of derived values
};

}  // namespace

void append_derived(Graph& graph, const std::vector<DerivedValue>& derived) {
  if (derived.empty()) return;
  BF_CHECK(!graph.derived_output && graph.input_parts.empty() && graph.one_hot.size == 0);
  DerivedAppender(graph, derived).run();
}

}  // namespace bf_aot
