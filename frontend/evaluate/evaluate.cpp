#include "frontend/evaluate/evaluate.h"

#include <algorithm>

#include "frontend/evaluate/evaluate_node.h"

namespace bf_aot {
namespace {

struct DoubleArithmetic {
  using Number = double;

  struct Accumulator {
    double sum = 0;
    void add(double x) { sum += x; }
    void add_product(double a, double b) { sum += a * b; }
    double result() const { return sum; }
  };

  static double constant(const Constant& constant, std::size_t i) { return constant.data[i]; }
  static double number(double x) { return x; }
  static double add(double a, double b) { return a + b; }
  static double subtract(double a, double b) { return a - b; }
  static double multiply(double a, double b) { return a * b; }
  static double divide(double a, double b) { return a / b; }
  static double relu(double x) { return std::max(x, 0.0); }
  static double larger(double a, double b) { return a < b ? b : a; }
  static double apply(const Function& function, double x) { return bf_aot::evaluate(function, x); }
};

}  // namespace

std::vector<std::vector<double>> evaluate(const Graph& graph,
                                          const std::vector<std::vector<double>>& inputs) {
  return evaluate_with<DoubleArithmetic>(graph, inputs);
}

}  // namespace bf_aot
