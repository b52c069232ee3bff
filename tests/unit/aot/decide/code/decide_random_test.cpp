// NAME_decide of random small networks and properties, against points that are evaluated in exact
// arithmetic.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "aot/decide/property/sample.h"
#include "aot/decide/search/neuron_search.h"
#include "aot/engine/verifier/engine_verifier.h"
#include "planner/network/split_network.h"
#include "tests/support/decided.h"

namespace bf_aot::decide {
namespace {

using Random = std::mt19937;

// In eighths: outputs at points of few bits are exact in double.
std::string random_numbers(Random& random, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "",
                        (static_cast<double>(random() % 17) - 8) / (i % 3 == 0 ? 4 : 8));
  return text;
}

// Dense layers of these widths with an activation between them, in protobuf text.
std::string random_model(Random& random, const std::vector<int>& widths,
                         const std::string& activation) {
  std::string text = "ir_version: 7 opset_import { version: 13 } graph { name: 'net'\n";
  const auto tensor = [](const std::string& field, const std::string& name, int size) {
    return fmt::format(
        "{} {{ name: '{}' type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 1 }} "
        "dim {{ dim_value: {} }} }} }} }} }}\n",
        field, name, size);
  };
  text += tensor("input", "a0", widths.front());
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const int in = widths[i - 1], out = widths[i];
    const bool last = i + 1 == widths.size();
    text += fmt::format(
        "node {{ op_type: 'Gemm' input: ['a{0}', 'w{1}', 'b{1}'] output: '{2}' "
        "attribute {{ name: 'transB' i: 1 type: INT }} }}\n",
        i - 1, i, last ? "y" : fmt::format("z{}", i));
    const bool two = activation == "Max" && !last;  // the larger of this layer and another
    if (two)
      text += fmt::format(
          "node {{ op_type: 'Gemm' input: ['a{0}', 'u{1}', 'b{1}'] output: 'q{1}' "
          "attribute {{ name: 'transB' i: 1 type: INT }} }}\n",
          i - 1, i);
    if (!last)
      text += fmt::format("node {{ op_type: '{1}' input: ['z{0}'{2}] output: 'a{0}' }}\n", i,
                          activation, two ? fmt::format(", 'q{}'", i) : "");
    for (const char* const name : two ? std::vector{"w", "u"} : std::vector{"w"})
      text += fmt::format(
          "initializer {{ name: '{}{}' dims: [{}, {}] data_type: 1 float_data: [{}] }}\n", name, i,
          out, in, random_numbers(random, in * out));
    text += fmt::format("initializer {{ name: 'b{}' dims: [{}] data_type: 1 float_data: [{}] }}\n",
                        i, out, random_numbers(random, out));
  }
  return text + tensor("output", "y", widths.back()) + "}";
}

// Two cases, split at x_0 = 0, with limits in parts of what outputs reach: 1 excludes all samples.
std::string property_text(int inputs, const std::array<double, 4>& limits) {
  std::string text = "(declare-const Y_0 Real)(declare-const Y_1 Real)";
  for (int i = 0; i < inputs; ++i) text += fmt::format("(declare-const X_{} Real)", i);
  for (int i = 1; i < inputs; ++i) text += fmt::format("(assert (<= -1 X_{} 1))", i);
  return text + fmt::format(
                    "(assert (or (and (<= -1 X_0 0) (>= Y_0 {:.4f}))"
                    " (and (<= -1 X_0 0) (<= Y_0 {:.4f}))"
                    " (and (<= 0 X_0 1) (>= Y_1 {:.4f}))"
                    " (and (<= 0 X_0 1) (<= Y_1 Y_0) (<= Y_1 {:.4f}))))",
                    limits[0], limits[1], limits[2], limits[3]);
}

// A point of a box, often of its border.
std::vector<double> random_point(Random& random, const Floats& lower, const Floats& upper) {
  std::vector<double> x;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const unsigned end = random() % 4;
    const double t = end < 2 ? end : std::uniform_real_distribution<double>(0, 1)(random);
    x.push_back(static_cast<double>(lower[i]) * (1 - t) + static_cast<double>(upper[i]) * t);
  }
  return x;
}

// A network, and a property whose limits lie `margin` of the outputs' ranges behind what samples
// reach; before, when it is negative.
class RandomQuestion {
 public:
  RandomQuestion(unsigned seed, const std::vector<int>& widths, double margin,
                 const std::string& activation) {
    Random random(seed);
    const std::filesystem::path model = folder_.path() / "net.onnx";
    test::write_bytes(model, test::encode_model(random_model(random, widths, activation)));
    const Graph graph = import_model(model.string()).graph;
    std::array<double, 4> reach = {-1e9, 1e9, -1e9, 1e9};
    for (int k = 0; k < 4000; ++k) {
      const auto inputs = static_cast<std::size_t>(widths.front());
      std::vector<double> x = random_point(random, Floats(inputs, -1), Floats(inputs, 1));
      const auto y = evaluate_exact(graph, {x})[0];
      const double y0 = y[0].get_d(), y1 = y[1].get_d();
      if (x[0] <= 0) reach = {std::max(reach[0], y0), std::min(reach[1], y0), reach[2], reach[3]};
      if (x[0] >= 0) reach[2] = std::max(reach[2], y1);
      if (x[0] >= 0 && y1 <= y0) reach[3] = std::min(reach[3], y1);
    }
    const double step = margin * (reach[0] - reach[1]);
    const std::array<double, 4> limits = {reach[0] + step, reach[1] - step, reach[2] + step,
                                          reach[3] - step};
    question = std::make_unique<Question>(
        model, parse_property(property_text(widths.front(), limits), "p.vnnlib"));
  }

  std::unique_ptr<Question> question;

 private:
  test::TempFolder folder_;
};

struct Case {
  const char* name;
  unsigned seed;
  std::vector<int> widths;
  double margin;
  bool compiled;
  const char* activation = "Relu";
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class DecideRandom : public testing::TestWithParam<Case> {
 protected:
  void add(const Decider::Change& change, By by) {
    deciders_.push_back(std::make_unique<Decider>(*random_.question, change, by));
  }

  // The engine on all of them, one by one and side by side, and by splits of neurons; compiled code
  // where the case says so.
  void SetUp() override {
    for (const int batch : {1, 16})
      add([batch](build::CompileOptions& o) { o.planner.batch = batch; }, By::kEngine);
    const auto neurons = [](build::CompileOptions& o) { o.planner.splits = Splits::kNeurons; };
    const bool relu = GetParam().activation == std::string("Relu");
    if (relu) add(neurons, By::kEngine);
    if (!GetParam().compiled) return;
    add([](build::CompileOptions&) {}, By::kCompiler);
    if (relu) add(neurons, By::kCompiler);
#if defined(__x86_64__)
    for (const int batch : {1, 16})
      add(
          [batch](build::CompileOptions& o) {
            o.planner.lowering = Lowering::kVector;
            o.planner.target = find_target("x86-64");
            o.planner.batch = batch;
          },
          By::kCompiler);
#endif
  }

  // The verdict that all agree on. The property's region is [-1, 1]^n.
  bf_verdict decide(const Floats& lower, const Floats& upper) {
    std::array<bool, BF_PARTLY_OUTSIDE + 1> seen = {};
    for (const auto& decider : deciders_) {
      const bf_budget budget = {100'000, nullptr, nullptr};
      const Decided d = decider->run(lower, upper, &budget, 1000);
      EXPECT_EQ(d.status, BF_OK);
      seen.at(d.result.verdict) = true;
      if (d.result.verdict != BF_FALSIFIED) {
        for (const float x : d.point) EXPECT_EQ(x, kUntouched);
        continue;
      }
      for (std::size_t i = 0; i < lower.size(); ++i)
        EXPECT_TRUE(lower[i] <= d.point[i] && d.point[i] <= upper[i]);
      EXPECT_TRUE(is_violated_at({d.point.begin(), d.point.end()}));
    }
    EXPECT_EQ(std::ranges::count(seen, true), 1) << "not all say the same";
    EXPECT_FALSE(seen[BF_UNKNOWN] || seen[BF_BUDGET]) << "a property with a margin is undecided";
    if (seen[BF_FALSIFIED]) return BF_FALSIFIED;
    const bf_verdict place = place_of(lower, upper);
    EXPECT_TRUE(seen[place]) << "a box is not where it is said to be";
    return place;
  }

  static bf_verdict place_of(const Floats& lower, const Floats& upper) {
    bool meets = true, inside = true;
    for (std::size_t i = 0; i < lower.size(); ++i) {
      meets = meets && lower[i] <= 1 && upper[i] >= -1;
      inside = inside && lower[i] >= -1 && upper[i] <= 1;
    }
    return !meets ? BF_OUTSIDE : inside ? BF_VERIFIED : BF_PARTLY_OUTSIDE;
  }

  bool is_violated_at(const std::vector<double>& x) const {
    return random_.question->is_violated_at(x);
  }

  RandomQuestion random_{GetParam().seed, GetParam().widths, GetParam().margin,
                         GetParam().activation};
  std::vector<std::unique_ptr<Decider>> deciders_;
};

TEST_P(DecideRandom, AgreesWithSamples) {
  const Case& one = GetParam();
  const auto inputs = static_cast<std::size_t>(one.widths.front());
  Random random(one.seed + 1000);
  EXPECT_EQ(decide(Floats(inputs, -1), Floats(inputs, 1)),
            one.margin > 0 ? BF_VERIFIED : BF_FALSIFIED);
  int verified = 0, falsified = 0;
  for (int round = 0; round < 60; ++round) {
    Floats lower(inputs), upper(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
      lower[i] = std::uniform_real_distribution<float>(-1.3F, 1)(random);
      const float width =
          random() % 8 == 0 ? 0 : std::uniform_real_distribution<float>(0, 1)(random);
      upper[i] = lower[i] + width;
    }
    const bf_verdict verdict = decide(lower, upper);
    (verdict == BF_FALSIFIED ? falsified : verified) += 1;
    if (verdict == BF_FALSIFIED) continue;
    for (int k = 0; k < 100; ++k) {
      const std::vector<double> x = random_point(random, lower, upper);
      ASSERT_FALSE(is_violated_at(x)) << x[0] << " " << x[1];
    }
  }
  EXPECT_GT(verified, one.margin > 0 ? 59 : 10);
  EXPECT_GT(falsified, one.margin > 0 ? -1 : 5);
}

// q >= least + sum |a_k| d_k, exactly, for the lines that boxes are clipped by.
void expect_below(const float* line, const Floats& lower, const Floats& upper,
                  const std::vector<double>& x, const mpq_class& q) {
  mpq_class claim = line[lower.size()];
  for (std::size_t k = 0; k < lower.size(); ++k) {
    const mpq_class a = line[k];
    claim += a > 0 ? mpq_class(a * (x[k] - mpq_class(lower[k])))
                   : mpq_class(a * (x[k] - mpq_class(upper[k])));
  }
  EXPECT_GE(q, claim);
}

TEST_P(DecideRandom, LinesBoundTheRows) {
  const Question& question = *random_.question;
  const auto inputs = static_cast<std::size_t>(GetParam().widths.front());
  const std::size_t rows = question.property.rows.size(), line = inputs + 1;
  Random random(GetParam().seed + 2000);
  for (int round = 0; round < 40; ++round) {
    Floats lower(inputs), upper(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
      lower[i] = std::uniform_real_distribution<float>(-1, 1)(random);
      upper[i] = lower[i] + std::ldexp(1.0F, -static_cast<int>(random() % 12));
    }
    for (const auto& decider : deciders_) {
      if (decider->engine() == nullptr) continue;
      if (decider->engine()->plan().config.splits == Splits::kNeurons) continue;
      ASSERT_TRUE(decider->keeps || GetParam().activation != std::string("Relu"));
      if (!decider->keeps) continue;
      Floats low(rows), high(rows), lines(2 * rows * line);
      ASSERT_EQ(decider->engine()->coefficients(lower.data(), upper.data(), low.data(), high.data(),
                                                lines.data(), decider->workspace,
                                                decider->workspace_bytes),
                BF_OK);
      for (int k = 0; k < 10; ++k) {
        const std::vector<double> x = random_point(random, lower, upper);
        const std::vector<mpq_class> q = question.rows_at(x);
        for (std::size_t row = 0; row < rows; ++row) {
          expect_below(&lines[2 * row * line], lower, upper, x, q[row]);
          expect_below(&lines[(2 * row + 1) * line], lower, upper, x, -q[row]);
        }
      }
    }
  }
}

// Neuron splits of the whole property: what they verify is complete, and the tree is the same for
// any number of threads.
TEST_P(DecideRandom, NeuronSplitsDecideTheProperty) {
  const Question& question = *random_.question;
  build::CompileOptions options;
  options.name = "net";
  options.planner.method = Method::kCrown;
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  options.spec = to_spec(question.property);
  options.max_as_relu = GetParam().activation == std::string("Max");
  const auto lowered = build::plan_model(question.model, options);
  ASSERT_TRUE(can_split_neurons(lowered->plan()));
  const DecisionVerifier verifier = {lowered->shared_plan(),
                                     std::make_unique<engine::EngineVerifier>(lowered, false)};
  const Sampler network(question.model);
  const WitnessCheck check(question.property, network);
  std::vector<std::uint64_t> nodes;
  for (const std::size_t threads : {1U, 3U}) {
    Cases cases(question.property);
    NeuronSearch search(verifier, cases, threads);
    SearchCalls calls;
    calls.prove = [&](std::size_t index, const std::vector<double>& x) {
      return check.prove(index, x);
    };
    const auto witness = search.run(cases, {60}, calls);
    if (GetParam().margin > 0) {
      EXPECT_EQ(search.totals().leaves, 0U);
      EXPECT_FALSE(witness);
      EXPECT_EQ(cases.verified_count(), cases.count());
      nodes.push_back(search.totals().nodes);
    } else {
      ASSERT_TRUE(witness);
      std::vector<double> x;
      for (const mpq_class& each : witness->x) x.push_back(each.get_d());
      EXPECT_TRUE(question.is_violated_at(x));
      EXPECT_LT(cases.verified_count(), cases.count());
    }
  }
  if (GetParam().margin > 0) {
    EXPECT_EQ(nodes.front(), nodes.back());
  }
}

// Compiled code is tried on two of them: a compiler takes longer than all of the rest.
const Case kCases[] = {{"narrow_holds", 1, {2, 6, 2}, 0.02, true},
                       {"deep_violated", 3, {3, 6, 5, 2}, -0.1, true},
                       {"narrow_violated", 5, {2, 6, 2}, -0.1, false},
                       {"wide_holds", 7, {2, 16, 2}, 0.05, false},
                       {"wide_violated", 9, {3, 20, 2}, -0.2, false},
                       {"deep_holds", 11, {2, 5, 5, 5, 2}, 0.05, false},
                       {"one_input_holds", 13, {1, 8, 8, 2}, 0.02, false},
                       {"four_inputs_violated", 17, {4, 8, 2}, -0.2, false},
                       {"leaky_holds", 19, {3, 8, 6, 2}, 0.1, false, "LeakyRelu"},
                       {"leaky_violated", 21, {3, 8, 6, 2}, -0.1, false, "LeakyRelu"},
                       {"abs_holds", 23, {2, 6, 4, 2}, 0.1, false, "Abs"},
                       {"sigmoid_holds", 25, {3, 8, 6, 2}, 0.05, false, "Sigmoid"},
                       {"tanh_holds", 27, {3, 6, 2}, 0.05, false, "Tanh"},
                       {"tanh_violated", 29, {3, 6, 2}, -0.2, false, "Tanh"},
                       {"max_holds", 31, {3, 6, 4, 2}, 0.05, false, "Max"},
                       {"max_violated", 33, {3, 8, 2}, -0.1, false, "Max"}};

INSTANTIATE_TEST_SUITE_P(Nets, DecideRandom, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace bf_aot::decide
