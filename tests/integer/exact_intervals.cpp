#include "tests/integer/exact_intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/evaluate/evaluate_node.h"
#include "frontend/functions/function_exact.h"
#include "frontend/functions/function_facts.h"

namespace bf_aot::integer_test {
namespace {

mpq_class rational(double x) {
  return mpq_class(x);
}

Interval product(const Interval& a, const Interval& b) {
  const std::initializer_list<mpq_class> ends = {a.low * b.low, a.low * b.high, a.high * b.low,
                                                 a.high * b.high};
  return {std::min(ends), std::max(ends)};
}

struct IntervalArithmetic {
  using Number = Interval;

  class Accumulator {
   public:
    void add(const Interval& x) {
      sum_.low += x.low;
      sum_.high += x.high;
    }
    void add_product(const Interval& a, const Interval& b) { add(product(a, b)); }
    Interval result() const { return sum_; }

   private:
    Interval sum_;
  };

  static Interval constant(const Constant& c, std::size_t i) {
    return {rational(c.data[i]) - rational(c.error_at(i)),
            rational(c.data[i]) + rational(c.error_at(i))};
  }
  static Interval number(double x) { return {rational(x), rational(x)}; }
  static Interval add(const Interval& a, const Interval& b) {
    return {a.low + b.low, a.high + b.high};
  }
  static Interval subtract(const Interval& a, const Interval& b) {
    return {a.low - b.high, a.high - b.low};
  }
  static Interval multiply(const Interval& a, const Interval& b) { return product(a, b); }
  static Interval divide(const Interval& a, const Interval& b) {
    return product(a, {1 / b.high, 1 / b.low});
  }
  static Interval relu(const Interval& x) {
    return {std::max(x.low, mpq_class(0)), std::max(x.high, mpq_class(0))};
  }
  static Interval larger(const Interval& a, const Interval& b) {
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }
  static Interval apply(const Function& f, const Interval& x) {
    BF_CHECK(facts_of(f.kind).monotony(f) == Monotony::kRises);
    mpq_class error = 0;
    if (facts_of(f.kind).rational == nullptr) {
      error = 1;
      mpq_div_2exp(error.get_mpq_t(), error.get_mpq_t(), 190);
    }
    Interval image = {evaluate_exact(f, x.low) - error, evaluate_exact(f, x.high) + error};
    if (f.slack == 0) return image;
    image.low = std::max(mpq_class(image.low - mpq_class(f.slack)), mpq_class(f.b));
    image.high = std::min(mpq_class(image.high + mpq_class(f.slack)), mpq_class(f.c));
    return image;
  }
};

}  // namespace

std::vector<Interval> output_images(const Graph& graph, const std::vector<Interval>& input) {
  std::vector<std::vector<Interval>> values(graph.values.size());
  values[index_of(graph.inputs.at(0))] = input;
  for (const Node& node : graph.nodes) {
    std::vector<const std::vector<Interval>*> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(&values[index_of(id)]);
    values[index_of(node.output)] = NodeEvaluator<IntervalArithmetic>(graph, node, inputs).run();
  }
  std::vector<Interval> outputs;
  for (const ValueId id : graph.outputs)
    outputs.insert(outputs.end(), values[index_of(id)].begin(), values[index_of(id)].end());
  return outputs;
}

std::vector<Interval> box_of(const std::vector<float>& lower, const std::vector<float>& upper) {
  std::vector<Interval> box;
  for (std::size_t i = 0; i < lower.size(); ++i)
    box.push_back(
        {rational(static_cast<double>(lower[i])), rational(static_cast<double>(upper[i]))});
  return box;
}

bool is_rounded_down(float x, const mpq_class& exact) {
  const float next = std::nextafter(x, std::numeric_limits<float>::infinity());
  return rational(static_cast<double>(x)) <= exact && exact < rational(static_cast<double>(next));
}

bool is_rounded_up(float x, const mpq_class& exact) {
  return is_rounded_down(-x, -exact);
}

}  // namespace bf_aot::integer_test
