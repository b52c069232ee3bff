// Compiled without contraction, so that a search is the same on all machines.

#include "aot/reach/search/lanes.h"

#include <algorithm>
#include <optional>

#include "aot/system/clones.h"
#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate.h"

namespace bf_aot::reach {
namespace {

// Networks with more numbers than this are evaluated tensor by tensor.
constexpr std::int64_t kMostScalars = 150000;

// >= the number of constants that a network's layers read.
std::int64_t constants_of(const Graph& graph) {
  std::int64_t count = 0;
  for (const Node& node : graph.nodes)
    if (const auto* literal = std::get_if<Literal>(&node.op))
      count += static_cast<std::int64_t>(literal->value.data.size());
  return count;
}

std::size_t elements_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::int64_t count = 0;
  for (const ValueId id : values) count += element_count(graph.value(id).shape);
  return static_cast<std::size_t>(count);
}

std::size_t operands_of(const ScalarStep& step) {
  switch (step.kind) {
    case ScalarStep::Kind::kInput:
    case ScalarStep::Kind::kConstant:
      return 0;
    case ScalarStep::Kind::kRelu:
    case ScalarStep::Kind::kFunction:
      return 1;
    case ScalarStep::Kind::kAdd:
    case ScalarStep::Kind::kSubtract:
    case ScalarStep::Kind::kMultiply:
    case ScalarStep::Kind::kDivide:
    case ScalarStep::Kind::kLarger:
      return 2;
  }
  return 0;
}

// How many read each step, of those that outputs need.
std::vector<std::uint32_t> uses_of(const ScalarProgram& program) {
  std::vector<std::uint32_t> uses(program.steps.size());
  for (const std::size_t output : program.outputs) ++uses[output];
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    if (uses[i] == 0) continue;
    const ScalarStep& step = program.steps[i];
    const std::size_t operands = operands_of(step);
    if (operands > 0) ++uses[step.a];
    if (operands > 1) ++uses[step.b];
  }
  return uses;
}

}  // namespace

// Makes a LaneProgram: first with a place for each step, then with as few as it takes.
class LaneCompiler {
 public:
  LaneCompiler(const ScalarProgram& program, LaneProgram& to)
      : program_(program), to_(to), uses_(uses_of(program)), made_(program.steps.size()) {}

  void compile() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i)
      if (uses_[i] > 0 && !is_put_off(i)) make(i);
    for (const std::size_t output : program_.outputs) to_.outputs_.push_back(place(output));
    share_places();
  }

 private:
  using Kind = LaneProgram::Kind;
  using Operation = LaneProgram::Operation;

  bool is_constant(std::size_t i) const {
    return program_.steps[i].kind == ScalarStep::Kind::kConstant;
  }
  // Constants are made once they are read, and multiples that one step reads may become part of it.
  bool is_put_off(std::size_t i) const {
    return is_constant(i) || (uses_[i] == 1 && is_multiple(i));
  }
  bool is_multiple(std::size_t i) const {
    const ScalarStep& step = program_.steps[i];
    return step.kind == ScalarStep::Kind::kMultiply && is_constant(step.a) != is_constant(step.b);
  }
  std::size_t multiplied(std::size_t i) const {
    const ScalarStep& step = program_.steps[i];
    return is_constant(step.a) ? step.b : step.a;
  }
  double factor(std::size_t i) const {
    const ScalarStep& step = program_.steps[i];
    return program_.steps[is_constant(step.a) ? step.a : step.b].constant.value;
  }

  std::uint32_t place(std::size_t i) {
    if (!made_[i]) make(i);
    return *made_[i];
  }

  void put(std::size_t i, Operation operation) {
    operation.to = static_cast<std::uint32_t>(i);
    made_[i] = operation.to;
    to_.operations_.push_back(operation);
  }

  void make(std::size_t i) {
    const ScalarStep& step = program_.steps[i];
    switch (step.kind) {
      case ScalarStep::Kind::kInput:
        return put(i, {Kind::kInput, 0, static_cast<std::uint32_t>(step.a), 0, 0});
      case ScalarStep::Kind::kConstant:
        return put(i, {Kind::kConstant, 0, 0, 0, step.constant.value});
      case ScalarStep::Kind::kAdd:
        return make_sum(i);
      case ScalarStep::Kind::kSubtract:
        return binary(i, Kind::kSubtract);
      case ScalarStep::Kind::kMultiply:
        if (is_multiple(i)) return put(i, {Kind::kScale, 0, place(multiplied(i)), 0, factor(i)});
        return binary(i, Kind::kMultiply);
      case ScalarStep::Kind::kDivide:
        return binary(i, Kind::kDivide);
      case ScalarStep::Kind::kRelu:
        return put(i, {Kind::kRelu, 0, place(step.a), 0, 0});
      case ScalarStep::Kind::kLarger:
        return binary(i, Kind::kLarger);
      case ScalarStep::Kind::kFunction:
        if (step.function.kind == FunctionKind::kPower && step.function.a == 2) {
          const std::uint32_t x = place(step.a);
          return put(i, {Kind::kMultiply, 0, x, x, 0});
        }
        to_.functions_.push_back(step.function);
        return put(i, {Kind::kFunction, 0, place(step.a),
                       static_cast<std::uint32_t>(to_.functions_.size() - 1), 0});
    }
  }

  void binary(std::size_t i, Kind kind) {
    const ScalarStep& step = program_.steps[i];
    const std::uint32_t a = place(step.a);
    put(i, {kind, 0, a, place(step.b), 0});
  }

  void make_sum(std::size_t i) {
    const ScalarStep& step = program_.steps[i];
    if (made_[step.b] || uses_[step.b] > 1 || !is_multiple(step.b)) return binary(i, Kind::kAdd);
    const std::uint32_t a = place(step.a);
    put(i, {Kind::kAddScaled, 0, a, place(multiplied(step.b)), factor(step.b)});
  }

  static bool reads_a(Kind kind) { return kind != Kind::kInput && kind != Kind::kConstant; }
  static bool reads_b(Kind kind) {
    return reads_a(kind) && kind != Kind::kRelu && kind != Kind::kFunction && kind != Kind::kScale;
  }

  void share_places() {
    std::vector<std::size_t> last(program_.steps.size());
    for (std::size_t k = 0; k < to_.operations_.size(); ++k) {
      const Operation& operation = to_.operations_[k];
      if (reads_a(operation.kind)) last[operation.a] = k;
      if (reads_b(operation.kind)) last[operation.b] = k;
    }
    for (const std::uint32_t output : to_.outputs_) last[output] = to_.operations_.size();
    std::vector<std::uint32_t> shared(program_.steps.size()), free;
    for (std::size_t k = 0; k < to_.operations_.size(); ++k) {
      Operation& operation = to_.operations_[k];
      const Operation before = operation;
      if (reads_a(before.kind)) operation.a = shared[before.a];
      if (reads_b(before.kind)) operation.b = shared[before.b];
      if (reads_a(before.kind) && last[before.a] == k) free.push_back(operation.a);
      if (reads_b(before.kind) && last[before.b] == k && before.b != before.a)
        free.push_back(operation.b);
      if (free.empty()) free.push_back(static_cast<std::uint32_t>(to_.places_++));
      operation.to = shared[before.to] = free.back();
      free.pop_back();
    }
    for (std::uint32_t& output : to_.outputs_) output = shared[output];
  }

  const ScalarProgram& program_;
  LaneProgram& to_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::optional<std::uint32_t>> made_;
};

LaneProgram::LaneProgram(const ScalarProgram& program) {
  LaneCompiler(program, *this).compile();
}

BF_CLONES void LaneProgram::run(std::span<const Lanes> inputs, std::span<Lanes> outputs) const {
  using Vector [[gnu::vector_size(sizeof(Lanes))]] = double;
  std::vector<Lanes> values(places_);
  const auto at = [&](std::uint32_t place) -> Vector& {
    return reinterpret_cast<Vector&>(values[place]);
  };
  for (const Operation& op : operations_) {
    switch (op.kind) {
      case Kind::kInput:
        values[op.to] = inputs[op.a];
        break;
      case Kind::kConstant:
        values[op.to].fill(op.c);
        break;
      case Kind::kAdd:
        at(op.to) = at(op.a) + at(op.b);
        break;
      case Kind::kSubtract:
        at(op.to) = at(op.a) - at(op.b);
        break;
      case Kind::kMultiply:
        at(op.to) = at(op.a) * at(op.b);
        break;
      case Kind::kDivide:
        at(op.to) = at(op.a) / at(op.b);
        break;
      case Kind::kRelu:
        at(op.to) = at(op.a) > 0 ? at(op.a) : Vector{};
        break;
      case Kind::kLarger:
        at(op.to) = at(op.a) < at(op.b) ? at(op.b) : at(op.a);
        break;
      case Kind::kFunction:
        for (std::size_t l = 0; l < kLanes; ++l)
          values[op.to][l] = evaluate(functions_[op.b], values[op.a][l]);
        break;
      case Kind::kScale:
        at(op.to) = op.c * at(op.a);
        break;
      case Kind::kAddScaled:
        at(op.to) = at(op.a) + op.c * at(op.b);
        break;
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs[i] = values[outputs_[i]];
}

LaneNetwork::LaneNetwork(const Graph& graph) : outputs_(elements_of(graph, graph.outputs)) {
  if (constants_of(graph) <= kMostScalars) {
    try {
      program_.emplace_back(scalar_program(graph, 4 * kMostScalars));
      return;
    } catch (const CompileError&) {
      // Weights that are read often, as those of convolutions, make too many operations.
    }
  }
  graph_ = &graph;
}

void LaneNetwork::run(std::span<const Lanes> inputs, std::span<Lanes> outputs) const {
  if (!program_.empty()) return program_.front().run(inputs, outputs);
  for (std::size_t l = 0; l < kLanes; ++l) {
    std::vector<std::vector<double>> tensors;
    std::size_t i = 0;
    for (const ValueId id : graph_->inputs) {
      const auto count = static_cast<std::size_t>(element_count(graph_->value(id).shape));
      tensors.emplace_back();
      for (std::size_t k = 0; k < count; ++k) tensors.back().push_back(inputs[i++][l]);
    }
    std::size_t to = 0;
    for (const std::vector<double>& tensor : evaluate(*graph_, tensors))
      for (const double value : tensor) outputs[to++][l] = value;
  }
}

}  // namespace bf_aot::reach
