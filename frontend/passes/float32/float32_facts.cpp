#include "frontend/passes/float32/float32_facts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

namespace bf_aot {
namespace {

constexpr double kUnknown = -std::numeric_limits<double>::infinity();
// Less than what is left of a number behind the roundings of one node: sums have up to 2^20 terms.
constexpr double kKept = 0.9;

double smallest(const Constant& constant) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < constant.data.size(); ++i)
    least = std::min(least, constant.data[i] - constant.error_at(i));
  return least;
}

// A number that a rounding of `least` or more does not fall below.
double kept(double least) {
  return least > 0 ? kKept * least : least;
}

// Sums of factors that are not negative, times what is at least x, plus an offset. Rows have so
// many factors each; 0: as row_start says.
double of_map(const Constant& factor, const Constant& offset, double x, std::size_t length,
              const std::vector<std::int64_t>& row_start = {}) {
  if (x == kUnknown || !(smallest(factor) >= 0)) return kUnknown;
  double missed = 0;
  if (x < 0) {
    const std::size_t rows = length > 0 ? factor.data.size() / length : row_start.size() - 1;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t begin =
          length > 0 ? row * length : static_cast<std::size_t>(row_start[row]);
      const std::size_t end =
          length > 0 ? begin + length : static_cast<std::size_t>(row_start[row + 1]);
      double sum = 0;
      for (std::size_t k = begin; k < end; ++k) sum += factor.data[k] + factor.error_at(k);
      missed = std::min(missed, 2 * sum * x);
    }
  }
  return kept(smallest(offset) + missed);
}

double of(const Literal& op, double, double) {
  return smallest(op.value);
}
double of(const Relu&, double x, double) {
  return std::max(x, 0.0);
}
double of(const IndexMap&, double x, double) {
  return x;
}
double of(const GroupMax&, double x, double) {
  return x;
}
double of(const Affine& op, double x, double) {
  return of_map(op.weight, op.bias, x, static_cast<std::size_t>(op.weight.shape.back()));
}
double of(const Conv& op, double x, double) {
  return of_map(op.weight, op.bias, x,
                static_cast<std::size_t>(op.geometry.in_group() * op.geometry.taps()));
}
double of(const SparseAffine& op, double x, double) {
  return of_map(op.value, op.bias, x, 0, op.row_start);
}
double of(const Scale& op, double x, double) {
  if (x == kUnknown || !(smallest(op.factor) >= 0)) return kUnknown;
  double largest = 0;
  for (std::size_t i = 0; i < op.factor.data.size(); ++i)
    largest = std::max(largest, op.factor.data[i] + op.factor.error_at(i));
  const double product = x < 0 ? 2 * largest * x : kKept * smallest(op.factor) * x;
  return kept(product + smallest(op.offset));
}
double of(const Binary& op, double a, double b) {
  if (a == kUnknown || b == kUnknown) return kUnknown;
  if (op.kind == Binary::Kind::kAdd) return kept(a + b);
  if (!(a >= 0 && b >= 0)) return kUnknown;
  if (op.kind == Binary::Kind::kMul) return kKept * a * b;
  return op.kind == Binary::Kind::kDiv ? 0 : kUnknown;
}
double of(const Unary& op, double x, double) {
  const Function& f = op.function;
  using enum FunctionKind;
  static constexpr FunctionKind kNeverNegative[] = {kExp, kSigmoid, kStep, kStepAt, kIsZero};
  static constexpr FunctionKind kOfTheSignOfX[] = {kReciprocal, kFloor, kCeil};
  if (f.kind == kAbs) return std::max(x, 0.0);
  if (f.kind == kClip) return std::min(std::max(x, f.a), f.b);
  if (f.kind == kSqrt) return x >= 0 ? kKept * std::sqrt(x) : 0;
  if (f.kind == kPower) return f.a >= 0 && std::fmod(f.a, 2) == 0 ? 0 : x >= 0 ? 0 : kUnknown;
  if (std::ranges::find(kNeverNegative, f.kind) != std::end(kNeverNegative)) return 0;
  if (std::ranges::find(kOfTheSignOfX, f.kind) != std::end(kOfTheSignOfX))
    return x >= 0 ? 0 : kUnknown;
  return kUnknown;
}
template <typename Other>
double of(const Other&, double, double) {
  return kUnknown;
}

// The rows of a map that copies one element, or its negative, or is 0; nullopt: it is none.
std::optional<std::vector<bool>> copied_rows(const SparseAffine& op) {
  if (!op.value.is_exact() || !op.bias.is_exact()) return std::nullopt;
  std::vector<bool> made;
  for (std::size_t row = 0; row + 1 < op.row_start.size(); ++row) {
    const std::int64_t length = op.row_start[row + 1] - op.row_start[row];
    if (length > 1 || op.bias.data[row] != 0) return std::nullopt;
    made.push_back(length == 1);
  }
  for (const double x : op.value.data)
    if (std::abs(x) != 1) return std::nullopt;
  return made;
}

// Each row has 1 - 1/n of one element and -1/n of n - 1 others.
bool centres(const SparseAffine& op) {
  constexpr double kSlack = 0x1p-40;
  for (std::size_t row = 0; row + 1 < op.row_start.size(); ++row) {
    const std::int64_t n = op.row_start[row + 1] - op.row_start[row];
    if (n == 0 || op.bias.data[row] != 0) return false;
    const double share = 1 / static_cast<double>(n);
    std::int64_t own = 0;
    for (std::int64_t k = op.row_start[row]; k < op.row_start[row + 1]; ++k) {
      const double x = op.value.data[static_cast<std::size_t>(k)];
      if (x >= 0) ++own;
      if (std::abs(x - (x >= 0 ? 1 - share : -share)) > kSlack) return false;
    }
    if (own != 1) return false;
  }
  return op.rows() > 0;
}

// Each row is x_i - x_j.
bool is_difference(const SparseAffine& op) {
  if (!op.value.is_exact() || !op.bias.is_exact()) return false;
  for (std::size_t row = 0; row + 1 < op.row_start.size(); ++row) {
    const auto first = static_cast<std::size_t>(op.row_start[row]);
    if (op.row_start[row + 1] - op.row_start[row] != 2 || op.bias.data[row] != 0 ||
        std::abs(op.value.data[first]) != 1 || op.value.data[first] + op.value.data[first + 1] != 0)
      return false;
  }
  return op.rows() > 0;
}

bool asks_for_sign(const Node& node) {
  const auto* const unary = std::get_if<Unary>(&node.op);
  if (unary == nullptr) return false;
  static constexpr FunctionKind kAsking[] = {FunctionKind::kSign, FunctionKind::kStep,
                                             FunctionKind::kStepAt, FunctionKind::kIsZero};
  return std::ranges::find(kAsking, unary->function.kind) != std::end(kAsking);
}

bool is_sum(const Node& node) {
  const auto* const binary = std::get_if<Binary>(&node.op);
  return binary != nullptr && binary->kind == Binary::Kind::kAdd;
}

}  // namespace

std::vector<double> least_values(const Graph& graph) {
  std::vector<double> least(graph.values.size(), kUnknown);
  for (const Node& node : graph.nodes) {
    const auto input = [&](std::size_t i) {
      return i < node.inputs.size() ? least[index_of(node.inputs[i])] : kUnknown;
    };
    least[index_of(node.output)] =
        std::visit([&](const auto& op) { return of(op, input(0), input(1)); }, node.op);
  }
  return least;
}

EvaluationFacts::EvaluationFacts(const Graph& graph)
    : makers_(producers(graph)),
      least_(least_values(graph)),
      joins_(graph.nodes.size()),
      centred_(graph.nodes.size()),
      compared_(graph.nodes.size()),
      operands_(graph.nodes.size()),
      powers_(graph.nodes.size()),
      inner_(graph.nodes.size()) {
  find_joins(graph);
  find_operands(graph);
  find_centred(graph);
  find_compared(graph);
  find_powers(graph);
}

double EvaluationFacts::least(ValueId id) const {
  return index_of(id) < least_.size() ? least_[index_of(id)] : kUnknown;
}

const Node* EvaluationFacts::maker(const Graph& graph, ValueId id) const {
  const int index = makers_[index_of(id)];
  return index < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(index)];
}

void EvaluationFacts::find_joins(const Graph& graph) {
  std::map<std::size_t, std::vector<bool>> copied;  // by value: the elements that are not 0
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (const auto* const sparse = std::get_if<SparseAffine>(&node.op)) {
      if (auto rows = copied_rows(*sparse)) copied.emplace(index_of(node.output), *std::move(rows));
      continue;
    }
    if (!is_sum(node)) continue;
    const auto a = copied.find(index_of(node.inputs[0]));
    const auto b = copied.find(index_of(node.inputs[1]));
    if (a == copied.end() || b == copied.end() || a->second.size() != b->second.size() ||
        element_count(graph.value(node.output).shape) !=
            static_cast<std::int64_t>(a->second.size()))
      continue;
    std::vector<bool> both = a->second;
    bool apart = true;
    for (std::size_t k = 0; k < both.size(); ++k) {
      apart = apart && !(both[k] && b->second[k]);
      both[k] = both[k] || b->second[k];
    }
    joins_[i] = apart;
    if (apart) copied.emplace(index_of(node.output), std::move(both));
  }
}

void EvaluationFacts::find_operands(const Graph& graph) {
  const std::vector<int> uses = count_uses(graph);
  std::vector<std::int64_t> below(graph.nodes.size(), 1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    inner_[i].assign(node.inputs.size(), false);
    if (!is_sum(node)) continue;
    below[i] = 0;
    for (std::size_t side = 0; side < 2; ++side) {
      const Node* const made = maker(graph, node.inputs[side]);
      inner_[i][side] = made != nullptr && is_sum(*made) && made->origin == node.origin &&
                        uses[index_of(node.inputs[side])] == 1;
      below[i] += inner_[i][side]
                      ? below[static_cast<std::size_t>(makers_[index_of(node.inputs[side])])]
                      : 1;
    }
  }
  // The last addition of an operator has all of its operands below it.
  operands_ = below;
  for (std::size_t i = graph.nodes.size(); i-- > 0;)
    for (std::size_t side = 0; side < inner_[i].size(); ++side)
      if (inner_[i][side])
        operands_[static_cast<std::size_t>(makers_[index_of(graph.nodes[i].inputs[side])])] =
            operands_[i];
}

void EvaluationFacts::find_centred(const Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (const auto* const sparse = std::get_if<SparseAffine>(&node.op))
      centred_[i] = centres(*sparse);
    const auto* const binary = std::get_if<Binary>(&node.op);
    if (binary == nullptr || binary->kind != Binary::Kind::kSub) continue;
    const Node* mean = maker(graph, node.inputs[1]);
    if (mean != nullptr && std::holds_alternative<IndexMap>(mean->op))
      mean = maker(graph, mean->inputs[0]);
    centred_[i] = mean != nullptr && std::holds_alternative<SparseAffine>(mean->op) &&
                  mean->inputs[0] == node.inputs[0];
  }
}

void EvaluationFacts::find_compared(const Graph& graph) {
  std::vector<bool> otherwise(graph.values.size(), false);
  for (const ValueId output : graph.outputs) otherwise[index_of(output)] = true;
  for (const Node& node : graph.nodes)
    if (!asks_for_sign(node))
      for (const ValueId input : node.inputs) otherwise[index_of(input)] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto* const sparse = std::get_if<SparseAffine>(&node.op);
    const auto* const binary = std::get_if<Binary>(&node.op);
    compared_[i] =
        !otherwise[index_of(node.output)] &&
        ((sparse != nullptr && is_difference(*sparse)) || std::holds_alternative<Scale>(node.op) ||
         (binary != nullptr && operands_[i] <= 2));
  }
}

void EvaluationFacts::find_powers(const Graph& graph) {
  const auto is_function = [](const Node* node, FunctionKind kind) {
    const auto* const unary = node == nullptr ? nullptr : std::get_if<Unary>(&node->op);
    return unary != nullptr && unary->function.kind == kind;
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!is_function(&node, FunctionKind::kLog)) continue;
    const Node* const sum = maker(graph, node.inputs[0]);
    const auto* const op = sum == nullptr ? nullptr : std::get_if<SparseAffine>(&sum->op);
    if (op == nullptr || !is_function(maker(graph, sum->inputs[0]), FunctionKind::kExp)) continue;
    for (std::size_t row = 0; row + 1 < op->row_start.size(); ++row)
      powers_[i] = std::max(powers_[i], op->row_start[row + 1] - op->row_start[row]);
  }
}

}  // namespace bf_aot
