#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "frontend/functions/function.h"
#include "frontend/graph/graph.h"
#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {

// An operation on real numbers. Operands are the numbers of steps before.
struct ScalarStep {
  enum class Kind : std::uint8_t {
    kInput,     // the input of number `a`
    kConstant,  // `constant`
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kRelu,
    kLarger,    // the larger operand
    kFunction,  // `function` of a
  };
  Kind kind = Kind::kConstant;
  std::size_t a = 0, b = 0;
  Bounded constant = {};
  Function function = {};
};

// A graph taken apart into operations on single numbers, each once: what Taylor coefficients in
// time and forms over symbols are computed by.
struct ScalarProgram {
  std::size_t inputs = 0;  // elements of all inputs, one after the other
  std::vector<ScalarStep> steps;
  std::vector<std::size_t> outputs;  // the step of each element of all outputs

  std::size_t add(const ScalarStep& step);
  std::size_t input(std::size_t i);
  std::size_t constant(const Bounded& value);
};

// Takes apart a graph as it was imported. Sums are in index order. Throws: BF2122 where it has more
// than `most` steps.
ScalarProgram scalar_program(const Graph& graph, std::size_t most = 200000);

// Calls a class with a Number for each step, in order, and returns all steps' numbers. Arithmetic:
// constant(Bounded), add, subtract, multiply, square, divide, relu, larger, apply(Function,
// Number).
template <class Arithmetic, class Number>
std::vector<Number> run(const ScalarProgram& program, const std::vector<Number>& inputs,
                        Arithmetic&& on) {
  std::vector<Number> made;
  made.reserve(program.steps.size());
  for (const ScalarStep& step : program.steps) {
    using Kind = ScalarStep::Kind;
    switch (step.kind) {
      case Kind::kInput:
        made.push_back(inputs[step.a]);
        break;
      case Kind::kConstant:
        made.push_back(on.constant(step.constant));
        break;
      case Kind::kAdd:
        made.push_back(on.add(made[step.a], made[step.b]));
        break;
      case Kind::kSubtract:
        made.push_back(on.subtract(made[step.a], made[step.b]));
        break;
      case Kind::kMultiply:
        made.push_back(step.a == step.b ? on.square(made[step.a])
                                        : on.multiply(made[step.a], made[step.b]));
        break;
      case Kind::kDivide:
        made.push_back(on.divide(made[step.a], made[step.b]));
        break;
      case Kind::kRelu:
        made.push_back(on.relu(made[step.a]));
        break;
      case Kind::kLarger:
        made.push_back(on.larger(made[step.a], made[step.b]));
        break;
      case Kind::kFunction:
        made.push_back(on.apply(step.function, made[step.a]));
        break;
    }
  }
  return made;
}

// The outputs of run().
template <class Arithmetic, class Number>
std::vector<Number> outputs_of(const ScalarProgram& program, const std::vector<Number>& inputs,
                               Arithmetic&& on) {
  const std::vector<Number> made = run(program, inputs, on);
  std::vector<Number> outputs;
  for (const std::size_t step : program.outputs) outputs.push_back(made[step]);
  return outputs;
}

}  // namespace bf_aot
