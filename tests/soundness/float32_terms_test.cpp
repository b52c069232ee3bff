// Every term that bounds of float32 semantics have is needed: without it some evaluation is
// outside. Numbers that are taken for zero. BF_SEED=n repeats a run.

#include <limits>

#include "frontend/functions/function_float32.h"
#include "tests/property/passes_random_graph.h"
#include "tests/soundness/float32.h"

namespace bf_aot::soundness {
namespace {

struct Mutant {
  const char* term;
  Graph graph;
  std::vector<float> x;
};

// Networks whose evaluations leave the bounds when one term is left out.
std::vector<Mutant> mutants() {
  std::vector<Mutant> made;
  {  // 64 ones after omega are lost, and omega leaves again
    std::vector<double> weight = ones(66);
    weight[0] = kOmega;
    weight[65] = -kOmega;
    made.push_back({"sum", Builder(66).matmul(1, weight).done(), std::vector<float>(66, 1)});
  }
  {  // the bias first: ones after omega are lost
    Conv conv;
    ConvGeometry& g = conv.geometry;
    g.in_channels = 64;
    g.in = dense_layout(64, g.in_size);
    g.out = dense_layout(1, g.out_size);
    conv.weight = {{1, 64, 1}, ones(64), {}};
    conv.bias = {{1}, ones(1, kOmega), {}};
    Builder builder(64);
    const ValueId y = builder.node(conv, {builder.last()}, {1, 1});
    made.push_back({"bias", builder.back_to(y).binary(Binary::Kind::kSub, ones(1, kOmega)).done(),
                    std::vector<float>(64, 1)});
  }
  {  // (x + y) - x, where y is less than a unit of x
    Builder builder(2);
    const ValueId inputs = builder.last();
    const ValueId y = builder.pick(1).last();
    const ValueId x = builder.back_to(inputs).pick(0).last();
    made.push_back({"result",
                    builder.binary(Binary::Kind::kAdd, y).binary(Binary::Kind::kSub, x).done(),
                    {0x1p25F, 1}});
  }
  for (const FunctionKind kind : {FunctionKind::kTanh, FunctionKind::kExp, FunctionKind::kSigmoid})
    made.push_back({"function", Builder(1).unary({kind, 0, 0}).done(), {0.7F}});
  made.push_back({"underflow",
                  Builder(1)
                      .binary(Binary::Kind::kMul, ones(1, 0x1.8p-75))
                      .binary(Binary::Kind::kMul, ones(1, 0x1p120))
                      .done(),
                  {0x1p-80F}});
  {
    Builder builder(1);
    const ValueId x = builder.last();
    ValueId c = builder.literal({1, 1}, {1.1F});
    const ValueId factor = builder.literal({1, 1}, {1.3F});
    for (int i = 0; i < 40; ++i) c = builder.back_to(c).binary(Binary::Kind::kMul, factor).last();
    made.push_back({"constant", builder.back_to(x).binary(Binary::Kind::kMul, c).done(), {1}});
  }
  return made;
}

// Whether an evaluation at x lies outside of the bounds of x.
bool finds_violation(const Graph& graph, const Plan& plan, const std::vector<float>& x,
                     Random& random, int ulps, bool flush = false) {
  const engine::Engine engine(lower(std::make_shared<const Plan>(plan)));
  const Called called = call_bounds(plan, callee_of(engine), {}, {FloatBox{x, x}});
  EXPECT_EQ(called.status, BF_OK);
  for (int i = 0; i < 400; ++i) {
    std::size_t where = 0;
    if (!is_inside(evaluate_once(graph, x, random, ulps, flush), called.boxes.front(), &where))
      return true;
  }
  return false;
}

// By crown, whose own sums at a point are exact enough for the term to show.
TEST_F(Float32, EveryErrorTermIsNeeded) {
  // Of a poor library: relaxations of functions are no better than a good one.
  constexpr int kUlps = 1 << 12;
  for (const Mutant& mutant : mutants()) {
    SCOPED_TRACE(mutant.term);
    Float32Semantics semantics;
    semantics.libm_ulps = kUlps;
    const auto plan = [&] {
      return plan_float32(mutant.graph, Method::kCrown, nullptr, Semantics::kFloat32, semantics);
    };
    const auto whole = plan();
    semantics.dropped = {mutant.term};
    const auto without = plan();
    ASSERT_TRUE(whole != nullptr && without != nullptr);
    EXPECT_FALSE(finds_violation(mutant.graph, *whole, mutant.x, random_, kUlps - 1));
    EXPECT_TRUE(finds_violation(mutant.graph, *without, mutant.x, random_, kUlps - 1));
  }
}

// ---- subnormal numbers taken for zero

// Networks and boxes whose numbers are near the least normal one.
Graph scaled(Graph graph, Random& random) {
  for (Node& node : graph.nodes) {
    const double scale = std::ldexp(1.0, -pick(random, 0, 1) * pick(random, 1, 140));
    const auto shrink = [&](Constant& constant) {
      for (double& x : constant.data) x = static_cast<double>(static_cast<float>(x * scale));
    };
    if (auto* const literal = std::get_if<Literal>(&node.op)) shrink(literal->value);
    if (auto* const affine = std::get_if<Affine>(&node.op)) shrink(affine->weight);
    if (auto* const conv = std::get_if<Conv>(&node.op)) shrink(conv->weight);
    if (auto* const sparse = std::get_if<SparseAffine>(&node.op)) shrink(sparse->value);
  }
  return graph;
}

FloatBox scaled(FloatBox box, Random& random) {
  const int exponent = -pick(random, 0, 1) * pick(random, 1, 140);
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    box.lower[i] = std::ldexp(box.lower[i], exponent);
    box.upper[i] = std::ldexp(box.upper[i], exponent);
  }
  return box;
}

TEST_F(Float32, EveryEvaluationThatFlushesIsInside) {
  flush_ = true;
  Float32Semantics semantics;
  semantics.flush = true;
  const int rounds = 80 * testing::rounds_from_environment();
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    const bool dense = pick(random_, 0, 1) == 0;
    const Graph graph = scaled(
        dense ? to_graph(random_net(random_, static_cast<Family>(pick(random_, 0, kFamilies - 1))),
                         static_cast<Form>(pick(random_, 0, 2)))
              : testing::random_graph(random_, testing::Numbers::kFloats, pick(random_, 2, 8)),
        random_);
    for (const Method method : {Method::kIbp, Method::kCrown}) {
      const auto plan = plan_float32(graph, method, &refused_, Semantics::kFloat32, semantics);
      if (plan == nullptr) continue;
      for (int i = 0; i < 3 && !HasFatalFailure(); ++i)
        check(graph, *plan, scaled(random_general_box(random_, plan->input_count), random_),
              fmt::format("{}, {}", to_string(graph), to_string(method)));
    }
  }
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  std::printf("%d boxes, %d beyond, %d evaluations\n", boxes_, beyond_, evaluations_);
  EXPECT_GT(boxes_, rounds);
}

// Two readers of a number, of which one takes it for zero; products of inputs that are taken for
// zero; a result; a subnormal weight.
std::vector<Mutant> flush_mutants() {
  std::vector<Mutant> made;
  {
    Builder builder(1);
    const ValueId x = builder.last();
    const ValueId twice = builder.binary(Binary::Kind::kMul, ones(1, 0x1p100)).last();
    const ValueId minus = builder.back_to(x).binary(Binary::Kind::kMul, ones(1, -0x1p100)).last();
    made.push_back({"readers",
                    builder.back_to(twice).binary(Binary::Kind::kAdd, minus).done(),
                    {0x1.8p-127F}});
  }
  made.push_back(
      {"inputs", Builder(2).matmul(1, {0x1p60, -0x1p60}).done(), {0x1p-127F, 0x1p-127F}});
  made.push_back({"result",
                  Builder(1)
                      .binary(Binary::Kind::kMul, ones(1, 0x1p-100))
                      .binary(Binary::Kind::kMul, ones(1, 0x1p100))
                      .done(),
                  {0x1.8p-27F}});
  made.push_back({"sum", Builder(2).matmul(1, {1, -1}).done(), {0x1.8p-126F, 0x1p-126F}});
  made.push_back({"weight", Builder(1).matmul(1, {0x1p-127}).done(), {0x1p40F}});
  made.push_back({"step", Builder(1).unary({FunctionKind::kSign, 0, 0}).done(), {0x1p-127F}});
  made.push_back({"output", Builder(1).relu().done(), {0x1p-127F}});
  return made;
}

TEST_F(Float32, TheTermOfFlushesIsNeeded) {
  for (const Mutant& mutant : flush_mutants()) {
    SCOPED_TRACE(mutant.term);
    Float32Semantics semantics;
    semantics.flush = true;
    const auto plan = [&] {
      return plan_float32(mutant.graph, Method::kCrown, nullptr, Semantics::kFloat32, semantics);
    };
    const auto whole = plan();
    semantics.dropped = {"flush"};
    const auto without = plan();
    ASSERT_TRUE(whole != nullptr && without != nullptr);
    EXPECT_FALSE(finds_violation(mutant.graph, *whole, mutant.x, random_, 3, true));
    EXPECT_TRUE(finds_violation(mutant.graph, *without, mutant.x, random_, 3, true));
  }
}

// A logarithm has no lower bound where its argument may be taken for zero, and one elsewhere.
TEST_F(Float32, LogarithmsOfWhatMayBeTakenForZeroHaveNoBound) {
  Float32Semantics semantics;
  semantics.flush = true;
  const Graph graph = Builder(1).unary({FunctionKind::kLog, 0, 0}).done();
  const auto plan = plan_float32(graph, Method::kCrown, nullptr, Semantics::kFloat32, semantics);
  ASSERT_NE(plan, nullptr);
  const engine::Engine engine(lower(plan));
  const auto lower = [&](float x) {
    return call_bounds(*plan, callee_of(engine), {}, {FloatBox{{x}, {2 * x}}})
        .boxes.front()
        .lower.front();
  };
  EXPECT_EQ(lower(0x1p-127F), -INFINITY);
  EXPECT_NEAR(lower(0x1p-100F), -69.32F, 0.1F);
}

}  // namespace
}  // namespace bf_aot::soundness
