#include "frontend/evaluate/evaluate_exact.h"

#include "frontend/evaluate/evaluate_node.h"
#include "frontend/functions/function_exact.h"

namespace bf_aot {
namespace {

struct RationalArithmetic {
  using Number = mpq_class;

  struct Accumulator {
    mpq_class sum;
    void add(const mpq_class& x) { sum += x; }
    void add_product(const mpq_class& a, const mpq_class& b) { sum += a * b; }
    mpq_class result() const { return sum; }
  };

  static mpq_class constant(const Constant& constant, std::size_t i) {
    BF_CHECK(constant.error_at(i) == 0);
    return mpq_class(constant.data[i]);
  }
  static mpq_class number(double x) { return mpq_class(x); }
  static mpq_class add(const mpq_class& a, const mpq_class& b) { return a + b; }
  static mpq_class subtract(const mpq_class& a, const mpq_class& b) { return a - b; }
  static mpq_class multiply(const mpq_class& a, const mpq_class& b) { return a * b; }
  static mpq_class divide(const mpq_class& a, const mpq_class& b) {
    BF_CHECK(b != 0);
    return a / b;
  }
  static mpq_class relu(const mpq_class& x) { return x > 0 ? x : mpq_class(); }
  static mpq_class larger(const mpq_class& a, const mpq_class& b) { return a < b ? b : a; }
  static mpq_class apply(const Function& function, const mpq_class& x) {
    return evaluate_exact(function, x);
  }
};

}  // namespace

std::vector<std::vector<mpq_class>> evaluate_exact(
    const Graph& graph, const std::vector<std::vector<mpq_class>>& inputs) {
  return evaluate_with<RationalArithmetic>(graph, inputs);
}

std::vector<std::vector<mpq_class>> evaluate_exact(const Graph& graph,
                                                   const std::vector<std::vector<double>>& inputs) {
  std::vector<std::vector<mpq_class>> exact;
  for (const std::vector<double>& input : inputs) exact.emplace_back(input.begin(), input.end());
  return evaluate_exact(graph, exact);
}

}  // namespace bf_aot
