#include "tests/soundness/general.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/algebra/affine_algebra.h"
#include "frontend/evaluate/evaluate_exact.h"

namespace bf_aot::soundness {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool is_smooth(const Node& node) {
  if (std::holds_alternative<LogSoftmax>(node.op)) return true;
  const auto* unary = std::get_if<Unary>(&node.op);
  return unary != nullptr && !is_piecewise_linear(unary->function.kind);
}

// Appends to a graph what is made of affine functions of its first output.
class Appender {
 public:
  Appender(Random& random, Graph& graph) : random_(random), graph_(graph) {}

  // The first output becomes softmax(q k) (v g), or softmax(s) (v g), also where some are masked.
  void attention() {
    const std::int64_t rows = testing::pick(random_, 1, 3), sums = testing::pick(random_, 2, 5);
    const std::int64_t columns = testing::pick(random_, 1, 3);
    const ValueId x = graph_.outputs.front();
    ValueId scores = affine_of(x, {rows, sums});
    if (testing::pick(random_, 0, 1) == 0) {
      const std::int64_t depth = testing::pick(random_, 2, 3);
      const ValueId query = affine_of(x, {rows, depth}), key = affine_of(x, {depth, sums});
      scores = add(MatMul{}, {query, key}, {rows, sums});
    }
    LogSoftmax groups{{0}, {}};
    // What is masked follows from the extents, so that other draws stay as they are without masks.
    const bool masked = (rows + sums + columns) % 3 == 0;
    SparseAffine placed{{0}, {}, {}, filled({rows * sums}, 0)};
    for (std::int64_t i = 0; i < rows * sums; ++i) {
      const auto made = static_cast<std::int64_t>(groups.source.size());
      if (!masked || i % sums == 0 || (3 * i + sums) % 4 < 2) {
        groups.source.push_back(i);
        placed.column.push_back(made);
      }
      placed.row_start.push_back(static_cast<std::int64_t>(placed.column.size()));
      if ((i + 1) % sums == 0) groups.row_start.push_back(placed.row_start.back());
    }
    const std::int64_t members = groups.row_start.back();
    placed.value = filled({members}, 1);
    const Shape of_scores = masked ? Shape{members} : Shape{rows, sums};
    const ValueId z = add(std::move(groups), {scores}, of_scores);
    ValueId p = add(Unary{{FunctionKind::kExp}}, {z}, of_scores);
    if (masked) p = add(std::move(placed), {p}, {rows, sums});
    const ValueId gate = affine_of(x, {sums, columns});
    const ValueId value =
        add(Binary{Binary::Kind::kMul}, {affine_of(x, {sums, columns}), gate}, {sums, columns});
    graph_.outputs.front() = add(MatMul{}, {p, value}, {rows, columns});
    if (testing::pick(random_, 0, 2) == 0) graph_.outputs.push_back(z);
  }

  // ln sum e^x becomes another output.
  void log_sum_exp() {
    const std::int64_t rows = testing::pick(random_, 1, 3), sums = testing::pick(random_, 2, 5);
    const ValueId x = affine_of(graph_.outputs.front(), {rows, sums});
    SparseAffine sum{{0}, {}, filled({rows * sums}, 1), filled({rows}, 0)};
    for (std::int64_t i = 0; i < rows * sums; ++i) {
      sum.column.push_back(i);
      if ((i + 1) % sums == 0) sum.row_start.push_back(i + 1);
    }
    const ValueId powers = add(Unary{{FunctionKind::kExp}}, {x}, {rows, sums});
    const ValueId total = add(std::move(sum), {powers}, {rows});
    graph_.outputs.push_back(add(Unary{{FunctionKind::kLog}}, {total}, {rows}));
  }

 private:
  ValueId add(Op op, std::vector<ValueId> inputs, Shape shape) {
    const std::string number = std::to_string(graph_.nodes.size());
    const ValueId made = graph_.add_value("v" + number, std::move(shape));
    graph_.nodes.push_back({std::move(op), std::move(inputs), made, "Node '" + number + "'"});
    return made;
  }

  ValueId affine_of(ValueId x, const Shape& shape) {
    const std::int64_t in = element_count(graph_.value(x).shape), out = element_count(shape);
    return add(Affine{numbers({out, in}), numbers({out})}, {x}, shape);
  }

  Constant numbers(Shape shape) {
    const std::int64_t count = element_count(shape);
    return {
        std::move(shape), testing::random_numbers(random_, testing::Numbers::kFloats, count), {}};
  }

  Random& random_;
  Graph& graph_;
};

}  // namespace

Example random_example(Random& random, testing::Numbers numbers) {
  const int size = testing::pick(random, 2, 12);
  Example example{testing::random_graph(random, numbers, size)};
  if (numbers == testing::Numbers::kFloats && testing::pick(random, 0, 1) == 0)
    Appender(random, example.graph).attention();
  for (const Node& node : example.graph.nodes) {
    example.exact = example.exact && !is_smooth(node);
    const auto* binary = std::get_if<Binary>(&node.op);
    if (binary != nullptr && binary->kind == Binary::Kind::kDiv) example.divides = true;
  }
  return example;
}

void append_log_sum_exp(Random& random, Example& example) {
  Appender(random, example.graph).log_sum_exp();
  example.exact = false;
}

Point evaluate_at(const Example& example, const Point& x) {
  std::vector<Point> inputs;
  auto next = x.begin();
  for (const ValueId id : example.graph.inputs) {
    const auto size = element_count(example.graph.value(id).shape);
    inputs.emplace_back(next, next + size);
    next += size;
  }
  Point y;
  for (const Point& output : bf_aot::evaluate_exact(example.graph, inputs))
    y.insert(y.end(), output.begin(), output.end());
  return y;
}

FloatBox random_general_box(Random& random, int inputs) {
  const double radii[] = {0, 0x1p-30, 0x1p-8, 0.25, 1, 4};
  const double radius = radii[testing::pick(random, 0, 5)];
  std::uniform_real_distribution<double> unit(-1, 1);
  FloatBox box;
  for (int i = 0; i < inputs; ++i) {
    const double centre = std::round(unit(random) * 64) / 32;
    const double width = testing::pick(random, 0, 3) == 0 ? 0 : radius;
    box.lower.push_back(static_cast<float>(centre - width));
    box.upper.push_back(static_cast<float>(centre + width));
  }
  return box;
}

Point random_point_of(const FloatBox& box, Random& random) {
  Point x;
  const bool corner = testing::pick(random, 0, 1) == 0;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    const mpq_class lower = static_cast<double>(box.lower[i]);
    const mpq_class upper = static_cast<double>(box.upper[i]);
    const int step = corner ? 16 * testing::pick(random, 0, 1) : testing::pick(random, 0, 16);
    x.push_back(lower + (upper - lower) * step / 16);
  }
  return x;
}

void check_order(const Outcome& outcome) {
  for (std::size_t j = 0; j < outcome.lower.size(); ++j)
    ASSERT_LE(outcome.lower[j], outcome.upper[j]) << "output " << j;  // also: no NaN
}

Point rows_at(const LinearSpec& spec, const Point& y) {
  Point values;
  for (const std::vector<double>& row : spec.rows) {
    mpq_class value = 0;
    for (std::size_t k = 0; k < y.size(); ++k) value += mpq_class(row[k]) * y[k];
    values.push_back(value);
  }
  return values;
}

void check_values(const Example& example, const Point& y, const Outcome& outcome, double terms) {
  ASSERT_EQ(y.size(), outcome.lower.size());
  for (std::size_t j = 0; j < y.size(); ++j) {
    const mpq_class slack = example.exact ? mpq_class(0) : mpq_class(0x1p-120 * terms);
    const auto lower = static_cast<double>(outcome.lower[j]);
    const auto upper = static_cast<double>(outcome.upper[j]);
    ASSERT_TRUE(lower == -kInf || (lower < kInf && mpq_class(lower) <= y[j] + slack))
        << fmt::format("output {} is {:a}, lower bound {:a}", j, y[j].get_d(), lower);
    ASSERT_TRUE(upper == kInf || (upper > -kInf && mpq_class(upper) >= y[j] - slack))
        << fmt::format("output {} is {:a}, upper bound {:a}", j, y[j].get_d(), upper);
  }
}

}  // namespace bf_aot::soundness
