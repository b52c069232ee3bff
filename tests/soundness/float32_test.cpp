// Semantics float32: whatever evaluation in float32 makes of a network, in any order of its sums,
// with fused multiply-adds or without, by wider accumulators or not, lies inside the bounds.
// Random networks and graphs, and networks made so that an order shows. BF_SEED=n repeats a run.

#include "tests/soundness/float32.h"

#include "frontend/evaluate/evaluate_node.h"
#include "frontend/functions/function_facts.h"
#include "tests/property/passes_random_graph.h"

namespace bf_aot::soundness {
namespace {

constexpr Method kMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown,
                               Method::kForward};

TEST_F(Float32, EveryEvaluationOfRandomNetworksIsInside) {
  const int rounds = 4 * testing::rounds_from_environment();
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round)
    for (int family = 0; family < kFamilies; ++family)
      for (const Method method : kMethods) {
        const Net net = random_net(random_, static_cast<Family>(family));
        const Graph graph = to_graph(net, static_cast<Form>(pick(random_, 0, 2)));
        const auto plan = plan_float32(graph, method, &refused_);
        if (plan == nullptr) continue;
        for (int i = 0; i < 3 && !HasFatalFailure(); ++i)
          check(graph, *plan, random_box(random_, net.inputs(), pick(random_, 0, kBoxKinds - 1)),
                fmt::format("{}, {}", net.label, to_string(method)));
      }
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  std::printf("%d boxes, %d beyond, %d evaluations\n", boxes_, beyond_, evaluations_);
  EXPECT_GT(boxes_, rounds * 100);
}

TEST_F(Float32, EveryEvaluationOfRandomGraphsIsInside) {
  const int rounds = 150 * testing::rounds_from_environment();
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    const Graph graph =
        testing::random_graph(random_, testing::Numbers::kFloats, pick(random_, 2, 10));
    for (const Method method : kMethods) {
      const auto plan = plan_float32(graph, method, &refused_);
      if (plan == nullptr) continue;
      for (int i = 0; i < 2 && !HasFatalFailure(); ++i)
        check(graph, *plan, random_general_box(random_, plan->input_count),
              fmt::format("{}, {}", to_string(graph), to_string(method)));
    }
  }
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  std::printf("%d boxes, %d beyond, %d evaluations\n", boxes_, beyond_, evaluations_);
  EXPECT_GT(boxes_, rounds / 2);
}

// Every function that is covered, alone and before a sum, at points and on boxes of every width.
TEST_F(Float32, EveryEvaluationOfFunctionsIsInside) {
  // Tables of functions are made with MPFR: one plan for each function.
  const int rounds = testing::rounds_from_environment();
  std::map<FunctionKind, int> covered;
  for (const FunctionFacts& facts : function_facts())
    for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
      Function f{facts.kind, pick(random_, 1, 16) / 8.0, 0.25};
      if (f.kind == FunctionKind::kPower) f.a = 2;
      if (f.kind == FunctionKind::kRound) f.a = 0x1.99999ap-4;
      if (f.kind == FunctionKind::kQuantise) f = {f.kind, 0x1.99999ap-4, -3, 5};
      if (!evaluated_in_float32(f, 4)) continue;
      const bool small = f.kind == FunctionKind::kAsin || f.kind == FunctionKind::kAcos ||
                         f.kind == FunctionKind::kAtanh;
      const bool positive = f.kind == FunctionKind::kLog || f.kind == FunctionKind::kSqrt ||
                            f.kind == FunctionKind::kReciprocal;
      const Graph graph = pick(random_, 0, 1) == 0
                              ? Builder(4).unary(f).done()
                              : Builder(4).unary(f).matmul(2, {1, -1, 2, 1, 3, -2, 0, 1}).done();
      const auto plan = plan_float32(graph, Method::kCrown, &refused_);
      if (plan == nullptr) continue;
      const engine::Engine engine(lower(plan));
      for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
        FloatBox box;
        const float scale = std::ldexp(1.0F, small ? -pick(random_, 1, 20) : pick(random_, -20, 5));
        const float width = i % 2 == 0 ? 0 : std::ldexp(1.0F, -pick(random_, 0, 20));
        for (int k = 0; k < 4; ++k) {
          float x = std::uniform_real_distribution<float>(-1, 1)(random_) * scale;
          if (positive) x = std::abs(x) + 0x1p-20F;
          if (f.kind == FunctionKind::kAcosh) x = 1 + std::abs(x);
          box.lower.push_back(x);
          box.upper.push_back(x + (small ? 0.4F : 1) * std::abs(x) * width);
        }
        const int before = evaluations_;
        check(graph, *plan, engine, box, to_string(f));
        covered[f.kind] += evaluations_ - before;
      }
    }
  for (const auto& [kind, count] : covered)
    std::printf("%s: %d evaluations\n", std::string(name_of(kind)).c_str(), count);
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  EXPECT_GE(covered.size(), 30U);
}

// ---- operators that implementations do not compute by the nodes that import makes of them

TEST_F(Float32, EverySoftmaxAndNormalisationIsInside) {
  constexpr float kEpsilon = 1e-5F;
  int tight = 0;
  for (const int n : {3, 4, 7, 20}) {
    const Graph graphs[] = {softmax_graph(n), normalised_graph(n, 1e-5)};
    for (const Graph& graph : graphs) {
      const bool softmax = &graph == &graphs[0];
      const auto plan = plan_float32(graph, Method::kCrown, &refused_);
      ASSERT_NE(plan, nullptr) << n;
      const engine::Engine engine(lower(plan));
      for (int i = 0; i < 40; ++i) {
        FloatBox box;
        const float scale = std::ldexp(1.0F, pick(random_, -8, 6));
        const float shift = pick(random_, 0, 1) == 0 ? 0 : std::ldexp(1.0F, pick(random_, -4, 6));
        const float width = i % 2 == 0 ? 0 : std::ldexp(scale, -pick(random_, 3, 12));
        for (int k = 0; k < n; ++k) {
          const float x = shift + scale * std::uniform_real_distribution<float>(-1, 1)(random_);
          box.lower.push_back(x);
          box.upper.push_back(x + width);
        }
        const Called called = call_bounds(*plan, callee_of(engine), {}, {box});
        ASSERT_EQ(called.status, BF_OK);
        const Outcome& bounds = called.boxes.front();
        tight += bounds.upper.front() - bounds.lower.front() < 1e-4F ? 1 : 0;
        for (int point = 0; point < 40; ++point) {
          const std::vector<float> x = random_point_in(box, random_);
          const std::vector<float> y =
              softmax ? softmax_once(x, random_) : normalised_once(x, kEpsilon, random_);
          std::size_t where = 0;
          ASSERT_TRUE(is_inside(y, bounds, &where))
              << fmt::format("BF_SEED={} {} of {}: output {} is {:a}, bounds {:a} {:a}",
                             float32_seed(), softmax ? "softmax" : "normalisation", n, where,
                             y[where], bounds.lower[where], bounds.upper[where]);
        }
      }
    }
  }
  EXPECT_GT(tight, 40) << "bounds say little";
}

// ---- networks that detect how they are evaluated (arXiv 2506.01054, section 4): constant inputs
// of 1, a sum whose value tells the order

struct Detector {
  const char* name;
  std::vector<double> weight;
};

std::vector<Detector> detectors() {
  std::vector<Detector> made;
  made.push_back({"precision", {kOmega, 1, -kOmega}});
  Detector first{"order 1", {}};
  for (int i = 0; i < 15; ++i) {
    for (int k = 0; k < 4; ++k) first.weight.push_back(kOmega / 4);
    first.weight.push_back(1);
    for (int k = 0; k < 4; ++k) first.weight.push_back(-kOmega / 4);
  }
  made.push_back(std::move(first));
  Detector second{"order 2", ones(512, 2.0 / 512)};
  second.weight.insert(second.weight.end(), {kOmega, -kOmega});
  made.push_back(std::move(second));
  Detector third{"order 3", ones(512)};
  third.weight.insert(third.weight.end(), {kOmega, -kOmega});
  made.push_back(std::move(third));
  return made;
}

// The detector's ReLU network says 1 where the sum is at least half of its exact value. In real
// arithmetic that is proven, and an evaluation contradicts it; in float32 it is not.
TEST_F(Float32, DetectorsOfOrderProveNothing) {
  for (const Detector& detector : detectors()) {
    SCOPED_TRACE(detector.name);
    double exact = 0;
    for (const double w : detector.weight) exact += w;
    const auto count = static_cast<int>(detector.weight.size());
    const Graph graph = Builder(count)
                            .matmul(1, detector.weight)
                            .binary(Binary::Kind::kSub, ones(1, exact / 2))
                            .relu()
                            .done();
    const std::vector<float> x(detector.weight.size(), 1);
    int contradictions = 0;
    for (int i = 0; i < 1000; ++i)
      contradictions += evaluate_once(graph, x, random_).front() == 0 ? 1 : 0;
    EXPECT_GT(contradictions, 0) << "no order shows";
    for (const Method method : kMethods) {
      SCOPED_TRACE(to_string(method));
      const auto real = plan_float32(graph, method, nullptr, Semantics::kReal);
      const auto float32 = plan_float32(graph, method, nullptr);
      ASSERT_TRUE(real != nullptr && float32 != nullptr);
      const engine::Engine of_real(lower(real)), of_float32(lower(float32));
      const Called proven = call_bounds(*real, callee_of(of_real), {}, {FloatBox{x, x}});
      const Called open = call_bounds(*float32, callee_of(of_float32), {}, {FloatBox{x, x}});
      ASSERT_EQ(proven.status, BF_OK);
      ASSERT_EQ(open.status, BF_OK);
      // ibp sums centres in float32 itself, and pays for it: it may prove neither.
      if (method != Method::kIbp) {
        EXPECT_GT(proven.boxes.front().lower.front(), 0);
      }
      EXPECT_EQ(open.boxes.front().lower.front(), 0);
    }
  }
}

// A layer that is active on all of a box in real arithmetic by less than what rounding takes
// (Jia and Rinard, arXiv 2003.03021): the ReLU cuts in float32.
TEST_F(Float32, LayersActiveByLessThanRoundingAreNotTakenForActive) {
  constexpr int kInputs = 64;
  std::vector<double> weight;
  for (int i = 0; i < kInputs; ++i)
    weight.push_back(static_cast<double>(std::uniform_real_distribution<float>(-1, 1)(random_)));
  std::vector<float> x;
  for (int i = 0; i < kInputs; ++i)
    x.push_back(std::uniform_real_distribution<float>(0.5F, 1)(random_));
  double least = 0;
  for (int i = 0; i < kInputs; ++i)
    least +=
        weight[static_cast<std::size_t>(i)] * static_cast<double>(x[static_cast<std::size_t>(i)]);
  // z = w x - fl(w x) + 1e-7: as large as the rounding of the sum.
  const double bias = static_cast<double>(static_cast<float>(1e-7 - least));
  const Graph graph =
      Builder(kInputs).matmul(1, weight).binary(Binary::Kind::kAdd, ones(1, bias)).relu().done();
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(evaluate_once(graph, x, random_).front());
  const auto [low, high] = std::ranges::minmax(values);
  EXPECT_LT(low, high) << "no order shows";
  const auto plan = plan_float32(graph, Method::kCrown, nullptr);
  const engine::Engine engine(lower(plan));
  const Called called = call_bounds(*plan, callee_of(engine), {}, {FloatBox{x, x}});
  EXPECT_LE(called.boxes.front().lower.front(), low);
  EXPECT_GE(called.boxes.front().upper.front(), high);
}

// A residual sum whose products are added to the tensor one by one: 64 ones are lost beside omega.
TEST_F(Float32, ATensorThatIsAddedToASumMayGoFirst) {
  Builder builder(65);
  const ValueId inputs = builder.last();
  const ValueId residual = builder.pick(64).last();
  // Small, so that what a layer has for all its neurons together does not hide the term.
  std::vector<double> weight = ones(65, 0x1p-10);
  weight[64] = 0;
  const Graph graph =
      builder.back_to(inputs).matmul(1, weight).binary(Binary::Kind::kAdd, residual).done();
  std::vector<float> x(65, 0x1p10F);
  x[64] = static_cast<float>(kOmega);
  float fused = x[64];
  for (int i = 0; i < 64; ++i) fused = fused + 0x1p-10F * x[static_cast<std::size_t>(i)];
  EXPECT_EQ(fused, x[64]);
  for (const Method method : kMethods) {
    const auto plan = plan_float32(graph, method, nullptr);
    if (plan == nullptr) continue;  // forward has no sums of tensors
    const engine::Engine engine(lower(plan));
    const Called called = call_bounds(*plan, callee_of(engine), {}, {FloatBox{x, x}});
    EXPECT_LE(called.boxes.front().lower.front(), fused) << to_string(method);
  }
  // What the tensor has pays for it, also without what the sum has, which a layer of both shares.
  const auto lower_without = [&](std::vector<std::string> terms) {
    const auto plan = plan_float32(graph, Method::kCrown, nullptr, Semantics::kFloat32,
                                   {4, false, std::move(terms)});
    const engine::Engine engine(lower(plan));
    return call_bounds(*plan, callee_of(engine), {}, {FloatBox{x, x}}).boxes.front().lower.front();
  };
  EXPECT_LE(lower_without({"sum"}), fused);
  EXPECT_GT(lower_without({"sum", "bias"}), fused) << "the term is not needed";
}

// Boxes beyond the reach are refused; at its end evaluations are finite.
TEST_F(Float32, NoEvaluationOverflowsWithinTheReach) {
  const Graph graph = Builder(3)
                          .matmul(2, {0x1p60, -0x1p60, 1, 3, -2, 5})
                          .relu()
                          .matmul(1, {0x1p20, -0x1p20})
                          .done();
  const auto plan = plan_float32(graph, Method::kCrown, nullptr);
  ASSERT_NE(plan, nullptr);
  const auto reach = static_cast<float>(plan->float32_reach);
  EXPECT_GE(reach, 0x1p40F);
  EXPECT_LE(reach, 0x1p47F);
  const engine::Engine engine(lower(plan));
  const auto status = [&](float x) {
    const std::vector<float> point(3, x);
    return call_bounds(*plan, callee_of(engine), {}, {FloatBox{point, point}}).status;
  };
  EXPECT_EQ(status(reach), BF_OK);
  EXPECT_EQ(status(-reach), BF_OK);
  EXPECT_EQ(status(std::nextafter(reach, INFINITY)), BF_FLOAT32_RANGE);
  EXPECT_EQ(status(-std::nextafter(reach, INFINITY)), BF_FLOAT32_RANGE);
  for (int i = 0; i < 200; ++i)
    EXPECT_TRUE(std::isfinite(evaluate_once(graph, {reach, -reach, reach}, random_).front()));
}

}  // namespace
}  // namespace bf_aot::soundness
