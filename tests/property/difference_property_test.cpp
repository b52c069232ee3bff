// The difference network of two random networks of one structure gives, at the slopes of their
// neurons, what the second one's outputs are above the first one's: exactly, where no function is
// smooth. docs/proofs/differences.md.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <variant>

#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/functions/function_exact.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/passes/difference/difference_network.h"
#include "frontend/property/derived_values.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"

namespace bf_aot::testing {
namespace {

using Numbers = testing::Numbers;
using Point = std::vector<mpq_class>;

const std::uint64_t first_seed = seed_from_environment(1);

// Some constants get other small integers.
void change(Random& random, Constant& constant, bool zero_allowed) {
  if (pick(random, 0, 2) == 0) return;
  for (double& x : constant.data)
    if (pick(random, 0, 3) == 0 && (zero_allowed || x != 0)) x = x + pick(random, 0, 2);
}
void change(Random& random, Scale& op) {
  change(random, op.factor, true);
  change(random, op.offset, true);
}
void change(Random& random, Affine& op) {
  change(random, op.weight, true);
  change(random, op.bias, true);
}
void change(Random& random, Conv& op) {
  change(random, op.weight, true);
  change(random, op.bias, true);
}
void change(Random& random, SparseAffine& op) {
  change(random, op.value, true);
  change(random, op.bias, true);
}
template <typename Other>
void change(Random&, Other&) {}

bool divides(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const auto* const binary = std::get_if<Binary>(&node.op);
    return binary != nullptr && binary->kind == Binary::Kind::kDiv;
  });
}

Graph changed(Random& random, Graph graph) {
  const bool divisors = divides(graph);  // literals may be some, and stay what they are
  for (Node& node : graph.nodes) {
    std::visit([&](auto& op) { change(random, op); }, node.op);
    if (auto* const literal = std::get_if<Literal>(&node.op); literal != nullptr && !divisors)
      change(random, literal->value, true);
  }
  return graph;
}

bool is_piecewise(const Graph& graph) {
  return std::ranges::all_of(graph.nodes, [](const Node& node) {
    if (std::holds_alternative<LogSoftmax>(node.op)) return false;
    const auto* const unary = std::get_if<Unary>(&node.op);
    return unary == nullptr || is_piecewise_linear(unary->function.kind);
  });
}

Point joined(const std::vector<std::vector<mpq_class>>& tensors) {
  Point made;
  for (const auto& tensor : tensors) made.insert(made.end(), tensor.begin(), tensor.end());
  return made;
}

// The slopes of the neurons at x. Each round makes those right whose arguments are.
Point slopes_at(const DifferenceNetwork& network, const Point& x) {
  const std::size_t neurons = network.neurons.size();
  const auto first = static_cast<std::size_t>(network.output_count);
  Point slopes(neurons, 0);
  for (std::size_t round = 0; round <= neurons; ++round) {
    Point input = x;
    input.insert(input.end(), slopes.begin(), slopes.end());
    const Point y = joined(evaluate_exact(network.graph, {input}));
    Point next = slopes;
    for (std::size_t j = 0; j < neurons; ++j) {
      const mpq_class &z = y[first + j], &d = y[first + neurons + j];
      const SlopeNeuron& neuron = network.neurons[j];
      const auto value = [&](const mpq_class& at) -> mpq_class {
        return at * mpq_class(at > 0 ? neuron.above.least : neuron.below.least);
      };
      next[j] = d == 0 ? mpq_class(neuron.least) : mpq_class((value(z + d) - value(z)) / d);
    }
    if (next == slopes) return slopes;
    slopes = next;
  }
  return slopes;
}

TEST(Differences, AreThoseOfTheNetworks) {
  int tried = 0, neurons = 0;
  for (unsigned round = 0; round < 400; ++round) {
    Random random(first_seed + round);
    SCOPED_TRACE(first_seed + round);
    const Graph first = round % 2 == 0 ? random_chain(random, Numbers::kSmallIntegers, 8)
                                       : random_graph(random, Numbers::kSmallIntegers, 10);
    const Graph second = changed(random, first);
    ASSERT_TRUE(are_isomorphic(first, second));
    const DifferenceNetwork difference = difference_network(first, second);
    const bool known = std::ranges::all_of(difference.neurons, [](const SlopeNeuron& neuron) {
      return neuron.below.least == neuron.below.most && neuron.above.least == neuron.above.most;
    });
    if (!is_piecewise(first) || !known) continue;
    ++tried;
    neurons += static_cast<int>(difference.neurons.size());
    const auto points = random_point(random, Numbers::kSmallIntegers, first);
    Point x;
    for (const auto& tensor : points) x.insert(x.end(), tensor.begin(), tensor.end());
    const Point slopes = slopes_at(difference, x);
    for (std::size_t j = 0; j < slopes.size(); ++j) {
      EXPECT_GE(slopes[j], mpq_class(difference.neurons[j].least));
      EXPECT_LE(slopes[j], mpq_class(difference.neurons[j].most));
    }
    Point input = x;
    input.insert(input.end(), slopes.begin(), slopes.end());
    const Point d = joined(evaluate_exact(difference.graph, {input}));
    const Point f = joined(evaluate_exact(first, points)),
                g = joined(evaluate_exact(second, points));
    ASSERT_EQ(static_cast<std::size_t>(difference.output_count), f.size());
    for (std::size_t i = 0; i < f.size(); ++i) EXPECT_EQ(d[i], g[i] - f[i]) << i;
  }
  EXPECT_GT(tried, 100);
  EXPECT_GT(neurons, 100);
}

AffineForm random_form(Random& random, std::int64_t elements) {
  AffineForm made;
  for (std::int64_t i = 0; i < elements; ++i)
    if (const int factor = pick(random, -2, 2); factor != 0 && pick(random, 0, 2) == 0)
      made.terms.emplace_back(i, mpq_class(factor));
  made.constant = pick(random, -3, 3);
  return made;
}

// A property of two networks: products, maxima, and rows of inputs, outputs and derived values.
Property random_question(Random& random, std::int64_t inputs, std::int64_t outputs) {
  Property made;
  made.networks.resize(2);
  made.input_count = inputs;
  made.output_count = 2 * outputs;
  const std::int64_t elements = inputs + 2 * outputs;
  for (int k = pick(random, 0, 2); k > 0; --k) {
    const auto before = elements + static_cast<std::int64_t>(made.derived.size());
    made.derived.push_back(
        {pick(random, 0, 1) == 0 ? DerivedValue::Kind::kProduct : DerivedValue::Kind::kMax,
         {random_form(random, before), random_form(random, before)}});
  }
  for (int row = pick(random, 1, 3); row > 0; --row) {
    PropertyRow of;
    of.outputs =
        random_form(random, 2 * outputs + static_cast<std::int64_t>(made.derived.size())).terms;
    of.inputs = random_form(random, inputs).terms;
    made.rows.push_back(std::move(of));
  }
  // What both networks have in common goes.
  made.rows.push_back({LinearForm{{0, 1}, {outputs, -1}}, {}});
  return made;
}

mpq_class value_of(const LinearForm& form, const Point& elements) {
  mpq_class sum = 0;
  for (const auto& [index, factor] : form)
    sum += factor * elements[static_cast<std::size_t>(index)];
  return sum;
}

// Rows of a property over the difference are those over both networks.
TEST(Differences, RowsAreThoseOfBothNetworks) {
  int tried = 0;
  for (unsigned round = 0; round < 300; ++round) {
    Random random(first_seed + round);
    SCOPED_TRACE(first_seed + round);
    const Graph first = random_chain(random, Numbers::kSmallIntegers, 6);
    const Graph second = changed(random, first);
    const DifferenceNetwork difference = difference_network(first, second);
    const bool known = std::ranges::all_of(difference.neurons, [](const SlopeNeuron& neuron) {
      return neuron.below.least == neuron.below.most && neuron.above.least == neuron.above.most;
    });
    if (!is_piecewise(first) || !known) continue;
    ++tried;
    const Property property =
        random_question(random, difference.input_count, difference.output_count);
    const auto points = random_point(random, Numbers::kSmallIntegers, first);
    Point x;
    for (const auto& tensor : points) x.insert(x.end(), tensor.begin(), tensor.end());
    const DifferenceNetwork rows = with_rows(difference, property);
    ASSERT_EQ(static_cast<std::size_t>(rows.output_count), property.rows.size());
    Point input = x;
    for (const mpq_class& slope : slopes_at(difference, x)) input.push_back(slope);
    const auto found = evaluate_exact(rows.graph, {input});
    Point y = joined(evaluate_exact(first, points));
    for (const mpq_class& each : joined(evaluate_exact(second, points))) y.push_back(each);
    y = derived_values(property.derived, x, std::move(y));
    for (std::size_t i = 0; i < property.rows.size(); ++i) {
      const mpq_class expected =
          value_of(property.rows[i].outputs, y) + value_of(property.rows[i].inputs, x);
      EXPECT_EQ(found[0][i], expected) << i;
    }
  }
  EXPECT_GT(tried, 50);
}

// Slopes of secants, of numbers near to each other and apart, lie in the range of their interval,
// which is no wider than the derivatives at its ends, and at 0, say.
TEST(Differences, SecantsLieBetween) {
  using Kind = SlopeNeuron::Kind;
  const Function functions[] = {{FunctionKind::kSigmoid},
                                {FunctionKind::kTanh},
                                {FunctionKind::kErf},
                                {FunctionKind::kLeakyRelu, 0.3},
                                {FunctionKind::kElu, 0.5}};
  const SlopeNeuron neurons[] = {{Kind::kSigmoid, 0, 0.25, {}, {}},
                                 {Kind::kTanh, 0, 1, {}, {}},
                                 {Kind::kErf, 0, 1.13, {}, {}},
                                 {Kind::kOther, 0.3, 1, {0.3, 0.3}, {1, 1}},
                                 {Kind::kOther, 0, 1, {0, 0.5}, {1, 1}}};
  for (unsigned round = 0; round < 3000; ++round) {
    Random random(first_seed + round);
    SCOPED_TRACE(first_seed + round);
    const std::size_t which = round % std::size(functions);
    // Far from 0 an error function is 1 to all digits of its exact values.
    const double size =
        std::ldexp(1.0, pick(random, -30, neurons[which].kind == Kind::kErf ? 2 : 5));
    const auto number = [&] { return size * (pick(random, -1000, 1000) / 1000.0); };
    double ends[2] = {number(), round % 3 == 0 ? 0.0 : number()};
    if (round % 7 == 0) ends[1] = std::nextafter(ends[0], 1e9);
    if (ends[0] > ends[1]) std::swap(ends[0], ends[1]);
    // Exact values of the functions are rounded to 200 binary digits: denormal ends have none
    // apart.
    if (mpq_class(ends[1]) - mpq_class(ends[0]) < mpq_class(0x1p-120)) continue;
    const SlopeNeuron range = between(neurons[which], ends[0], ends[1]);
    const auto value = [&](const mpq_class& x) { return evaluate_exact(functions[which], x); };
    const mpq_class low(ends[0]), high(ends[1]);
    for (int part = 0; part < 4; ++part) {
      const mpq_class z = low + (high - low) * mpq_class(part, 4);
      const mpq_class w = low + (high - low) * mpq_class(part + 1, 4);
      const mpq_class slope = mpq_class(value(w) - value(z)) / mpq_class(w - z);
      EXPECT_GE(slope, mpq_class(range.least));
      EXPECT_LE(slope, mpq_class(range.most));
    }
  }
}

// Networks that do not differ have the difference 0, and no neurons.
TEST(Differences, OfEqualNetworksAreZero) {
  for (unsigned round = 0; round < 50; ++round) {
    Random random(first_seed + round);
    const Graph graph = random_graph(random, Numbers::kSmallIntegers, 8);
    const DifferenceNetwork difference = difference_network(graph, graph);
    EXPECT_TRUE(difference.neurons.empty());
    const auto points = random_point(random, Numbers::kSmallIntegers, graph);
    Point x;
    for (const auto& tensor : points) x.insert(x.end(), tensor.begin(), tensor.end());
    for (const mpq_class& d : joined(evaluate_exact(difference.graph, {x}))) EXPECT_EQ(d, 0);
  }
}

}  // namespace
}  // namespace bf_aot::testing
