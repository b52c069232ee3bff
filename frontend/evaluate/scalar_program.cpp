#include "frontend/evaluate/scalar_program.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate_node.h"

namespace bf_aot {
namespace {

// Records what NodeEvaluator computes. Its functions are static, so the program is too, by thread.
class Recorder {
 public:
  using Number = std::size_t;  // a step

  struct Accumulator {
    void add(Number x) { sum = sum ? Recorder::add(*sum, x) : x; }
    void add_product(Number a, Number b) { add(multiply(a, b)); }
    Number result() const { return sum ? *sum : number(0); }
    std::optional<Number> sum;
  };

  static Number constant(const Constant& value, std::size_t i) {
    return to->constant({value.data[i], value.error_at(i)});
  }
  static Number number(double x) { return to->constant({x, 0}); }
  static Number add(Number a, Number b) {
    if (is(a, 0)) return b;
    return is(b, 0) ? a : binary(ScalarStep::Kind::kAdd, a, b);
  }
  static Number subtract(Number a, Number b) {
    return is(b, 0) ? a : binary(ScalarStep::Kind::kSubtract, a, b);
  }
  static Number multiply(Number a, Number b) {
    if (is(a, 0) || is(b, 1)) return a;
    return is(b, 0) || is(a, 1) ? b : binary(ScalarStep::Kind::kMultiply, a, b);
  }
  static Number divide(Number a, Number b) {
    return is(b, 1) ? a : binary(ScalarStep::Kind::kDivide, a, b);
  }
  static Number larger(Number a, Number b) { return binary(ScalarStep::Kind::kLarger, a, b); }
  static Number relu(Number a) { return record({ScalarStep::Kind::kRelu, a, 0, {}, {}}); }
  static Number apply(const Function& f, Number a) {
    return record({ScalarStep::Kind::kFunction, a, 0, {}, f});
  }

  static thread_local ScalarProgram* to;
  static thread_local std::size_t most;

 private:
  static bool is(Number a, double value) {
    const ScalarStep& step = to->steps[a];
    return step.kind == ScalarStep::Kind::kConstant && step.constant == Bounded{value, 0};
  }
  static Number binary(ScalarStep::Kind kind, Number a, Number b) {
    return record({kind, a, b, {}, {}});
  }
  static Number record(const ScalarStep& step) {
    if (to->steps.size() >= most)
      fail("BF2122", "", fmt::format("the network has more than {} operations on numbers", most),
           "a plant is computed number by number: put large layers into the controller");
    return to->add(step);
  }
};

thread_local ScalarProgram* Recorder::to = nullptr;
thread_local std::size_t Recorder::most = 0;

}  // namespace

std::size_t ScalarProgram::add(const ScalarStep& step) {
  steps.push_back(step);
  return steps.size() - 1;
}

std::size_t ScalarProgram::input(std::size_t i) {
  return add({ScalarStep::Kind::kInput, i, 0, {}, {}});
}

std::size_t ScalarProgram::constant(const Bounded& value) {
  return add({ScalarStep::Kind::kConstant, 0, 0, value, {}});
}

ScalarProgram scalar_program(const Graph& graph, std::size_t most) {
  ScalarProgram made;
  Recorder::to = &made;
  Recorder::most = most;
  std::vector<std::vector<std::size_t>> inputs;
  for (const ValueId id : graph.inputs) {
    inputs.emplace_back();
    for (std::int64_t i = 0; i < element_count(graph.value(id).shape); ++i)
      inputs.back().push_back(made.input(made.inputs++));
  }
  for (const std::vector<std::size_t>& output : evaluate_with<Recorder>(graph, inputs))
    made.outputs.insert(made.outputs.end(), output.begin(), output.end());
  Recorder::to = nullptr;
  return made;
}

}  // namespace bf_aot
