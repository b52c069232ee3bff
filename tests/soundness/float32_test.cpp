// Semantics float32: whatever evaluation in float32 makes of a network, in any order of its sums,
// with fused multiply-adds or without, by wider accumulators or not, lies inside the bounds.
// Random networks and graphs, and networks made so that an order shows. BF_SEED=n repeats a run.

#include "tests/soundness/float32.h"

#include <functional>

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
  constexpr double kExponents[] = {2, 3, 5, 0.25, 1.5, -1, -2, -0.5, -0.75};
  std::map<FunctionKind, int> covered;
  for (const FunctionFacts& facts : function_facts()) {
    const int times = facts.kind == FunctionKind::kPower ? 6 * rounds : rounds;
    for (int round = 0; round < times && !HasFatalFailure(); ++round) {
      Function f{facts.kind, pick(random_, 1, 16) / 8.0, 0.25};
      if (f.kind == FunctionKind::kPower) f.a = kExponents[pick(random_, 0, 8)];
      if (f.kind == FunctionKind::kRound) f.a = 0x1.99999ap-4;
      if (f.kind == FunctionKind::kQuantise) f = {f.kind, 0x1.99999ap-4, -3, 5};
      if (!evaluated_in_float32(f, 4)) continue;
      const bool small = f.kind == FunctionKind::kAsin || f.kind == FunctionKind::kAcos ||
                         f.kind == FunctionKind::kAtanh;
      const bool positive = f.kind == FunctionKind::kLog || f.kind == FunctionKind::kSqrt ||
                            f.kind == FunctionKind::kReciprocal || f.kind == FunctionKind::kPower;
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
  }
  for (const auto& [kind, count] : covered)
    std::printf("%s: %d evaluations\n", std::string(name_of(kind)).c_str(), count);
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  EXPECT_GE(covered.size(), 30U);
}

// ---- operators that implementations do not compute by the nodes that import makes of them

struct Operator {
  std::string name;
  Graph graph;
  std::function<std::vector<float>(const std::vector<float>&, Random&)> evaluate;
  bool away_from_zero = false;
};

std::vector<Operator> operators_of(int n) {
  constexpr double kEpsilon = 1e-5;
  constexpr auto kRounded = static_cast<float>(kEpsilon);
  constexpr float kScale = 1.3F, kBias = -0.7F;
  std::vector<Operator> made;
  made.push_back({"softmax", softmax_graph(n), softmax_once});
  made.push_back({"log-softmax", log_softmax_graph(n), log_softmax_once});
  made.push_back({"log of a sum of powers", log_sum_graph(n), log_sum_once});
  made.push_back({"sum", sum_graph(n), sum_once});
  made.push_back(
      {"normalisation", normalised_graph(n, kEpsilon),
       [](const auto& x, Random& random) { return normalised_once(x, kRounded, random); }});
  made.push_back({"instance normalisation",
                  scaled_graph(normalised_graph(n, kEpsilon), static_cast<double>(kScale),
                               static_cast<double>(kBias)),
                  [](const auto& x, Random& random) {
                    return shifted_once(x, kRounded, kScale, kBias, random);
                  }});
  made.push_back(
      {"root mean square", root_mean_square_graph(n, kEpsilon),
       [](const auto& x, Random& random) { return root_mean_square_once(x, kRounded, random); }});
  for (const int p : {1, 2})
    made.push_back({fmt::format("norm {}", p), norm_graph(n, p),
                    [p](const auto& x, Random& random) { return norm_once(x, p, random); }, true});
  return made;
}

TEST_F(Float32, EveryUsualFormOfAnOperatorIsInside) {
  std::map<std::string, int> tight;
  for (const int n : {1, 2, 3, 4, 7, 20})
    for (const Operator& each : operators_of(n)) {
      if (n < 3 && each.name.ends_with("softmax")) continue;  // import makes other nodes
      const auto plan = plan_float32(each.graph, Method::kCrown, &refused_);
      ASSERT_NE(plan, nullptr) << each.name << " of " << n;
      const engine::Engine engine(lower(plan));
      for (int i = 0; i < 40; ++i) {
        FloatBox box;
        const float scale = std::ldexp(1.0F, pick(random_, -8, 5));
        const float shift = pick(random_, 0, 1) == 0 ? 0 : std::ldexp(1.0F, pick(random_, -4, 5));
        const float width = i % 2 == 0 ? 0 : std::ldexp(scale, -pick(random_, 3, 12));
        for (int k = 0; k < n; ++k) {
          const float x = std::uniform_real_distribution<float>(-1, 1)(random_);
          box.lower.push_back(shift +
                              scale * (each.away_from_zero ? std::copysign(0.5F, x) + x : x));
          box.upper.push_back(box.lower.back() + width);
        }
        const Called called = call_bounds(*plan, callee_of(engine), {}, {box});
        if (called.status == BF_FLOAT32_RANGE) continue;
        ASSERT_EQ(called.status, BF_OK);
        const Outcome& bounds = called.boxes.front();
        tight[each.name] += bounds.upper.front() - bounds.lower.front() < 1e-3F ? 1 : 0;
        for (int point = 0; point < 40; ++point) {
          const std::vector<float> x = random_point_in(box, random_);
          const std::vector<float> y = each.evaluate(x, random_);
          std::size_t where = 0;
          ASSERT_TRUE(is_inside(y, bounds, &where)) << fmt::format(
              "BF_SEED={} {} of {}: output {} is {:a}, bounds {:a} {:a}", float32_seed(), each.name,
              n, where, y[where], bounds.lower[where], bounds.upper[where]);
        }
      }
    }
  for (const auto& [name, count] : tight) EXPECT_GT(count, 10) << name << ": bounds say little";
}

// Without its term an evaluation leaves the bounds.
TEST_F(Float32, EveryFormOfAnOperatorNeedsItsTerm) {
  struct Mutant {
    std::vector<std::string> terms;  // no evaluation leaves the bounds without all but the last
    Operator of;
    std::vector<float> x;
  };
  std::vector<Mutant> mutants;
  std::vector<Operator> all = operators_of(3);
  mutants.push_back({{"function"}, all[0], {0.3F, 0.1F, -0.2F}});
  mutants.push_back({{"function"}, all[1], {0.3F, 0.1F, -0.2F}});
  mutants.push_back({{"function"}, all[2], {0.3F, 0.1F, -0.2F}});
  // omega - omega + 1 + ..., in another order.
  std::vector<float> x(66, 1);
  x[0] = static_cast<float>(kOmega);
  x[1] = -x[0];
  mutants.push_back({{"result", "bias"}, {"sum", sum_graph(66), sum_once}, x});
  // Products of a row and a column: ones after omega are lost.
  Builder builder(132);
  std::vector<std::int64_t> first(66), second(66);
  for (int i = 0; i < 66; ++i)
    first[static_cast<std::size_t>(i)] = i, second[static_cast<std::size_t>(i)] = 66 + i;
  const ValueId a = builder.node(IndexMap{first}, {builder.last()}, {1, 66});
  const ValueId b = builder.node(IndexMap{second}, {builder.last()}, {66, 1});
  const Graph product = builder.back_to(builder.node(MatMul{}, {a, b}, {1, 1})).done();
  std::vector<float> both(132, 1);
  both[0] = static_cast<float>(kOmega), both[65] = -both[0];
  mutants.push_back(
      {{"sum"},
       {"product", product,
        [&](const auto& at, Random& random) { return evaluate_once(product, at, random); }},
       both});
  // A mean by a softmax of equal elements: ones after omega are lost.
  constexpr int kMembers = 64;
  Builder of_mean(2 * kMembers);
  std::vector<std::int64_t> members(kMembers), values(kMembers);
  for (int i = 0; i < kMembers; ++i) {
    members[static_cast<std::size_t>(i)] = i;
    values[static_cast<std::size_t>(i)] = kMembers + i;
  }
  const ValueId input = of_mean.last();
  const ValueId logarithms =
      of_mean.node(LogSoftmax{{0, kMembers}, members}, {input}, {1, kMembers});
  const ValueId shares = of_mean.back_to(logarithms).unary({FunctionKind::kExp}).last();
  const ValueId column = of_mean.node(IndexMap{values}, {input}, {kMembers, 1});
  const Graph mean = of_mean.back_to(of_mean.node(MatMul{}, {shares, column}, {1, 1})).done();
  std::vector<float> equal(2 * kMembers, 1);
  equal[kMembers] = static_cast<float>(kOmega), equal.back() = -equal[kMembers];
  mutants.push_back(
      {{"sum", "function"},
       {"mean", mean,
        [&](const auto& at, Random& random) { return evaluate_once(mean, at, random); }},
       equal});
  for (const Mutant& mutant : mutants) {
    SCOPED_TRACE(mutant.of.name);
    const auto outside = [&](std::vector<std::string> dropped) {
      const auto plan = plan_float32(mutant.of.graph, Method::kCrown, nullptr, Semantics::kFloat32,
                                     {4, false, std::move(dropped)});
      const engine::Engine engine(lower(plan));
      const Called called =
          call_bounds(*plan, callee_of(engine), {}, {FloatBox{mutant.x, mutant.x}});
      for (int i = 0; i < 1000; ++i) {
        std::size_t where = 0;
        if (!is_inside(mutant.of.evaluate(mutant.x, random_), called.boxes.front(), &where))
          return true;
      }
      return false;
    };
    EXPECT_FALSE(outside({mutant.terms.begin(), mutant.terms.end() - 1}));
    EXPECT_TRUE(outside(mutant.terms));
  }
}

// The heads of attention: softmax(Q K) V, with Q, K and V parts of the input.
TEST_F(Float32, EveryEvaluationOfAttentionIsInside) {
  constexpr int kRows = 3, kWidth = 2, kPart = kRows * kWidth;
  Builder builder(3 * kPart);
  const ValueId input = builder.last();
  const auto part = [&](int begin, bool turned) {
    std::vector<std::int64_t> source;
    for (int i = 0; i < kPart; ++i)
      source.push_back(begin + (turned ? i % kRows * kWidth + i / kRows : i));
    return builder.node(IndexMap{source}, {input},
                        turned ? Shape{kWidth, kRows} : Shape{kRows, kWidth});
  };
  const ValueId q = part(0, false), k = part(kPart, true), v = part(2 * kPart, false);
  const ValueId scores = builder.node(MatMul{}, {q, k}, {kRows, kRows});
  LogSoftmax op{{0}, {}};
  for (int i = 0; i < kRows * kRows; ++i) {
    op.source.push_back(i);
    if (i % kRows == kRows - 1) op.row_start.push_back(i + 1);
  }
  const ValueId logarithms = builder.node(std::move(op), {scores}, {kRows * kRows});
  const ValueId weights = builder.back_to(logarithms).unary({FunctionKind::kExp}).last();
  const ValueId matrix =
      builder.node(IndexMap{{0, 1, 2, 3, 4, 5, 6, 7, 8}}, {weights}, {kRows, kRows});
  const Graph graph = builder.back_to(builder.node(MatMul{}, {matrix, v}, {kRows, kWidth})).done();
  for (const Method method : {Method::kIbp, Method::kCrown, Method::kAlphaCrown}) {
    const auto plan = plan_float32(graph, method, &refused_);
    ASSERT_NE(plan, nullptr);
    const engine::Engine engine(lower(plan));
    for (int i = 0; i < 20; ++i)
      check(graph, *plan, engine, random_general_box(random_, plan->input_count),
            std::string(to_string(method)));
    // Whatever the scores, a mean of numbers in [1, 2] is one of them, but for rounding.
    FloatBox wide{std::vector<float>(3 * kPart, -3), std::vector<float>(3 * kPart, 3)};
    std::fill(wide.lower.end() - kPart, wide.lower.end(), 1.0F);
    std::fill(wide.upper.end() - kPart, wide.upper.end(), 2.0F);
    const Called called = call_bounds(*plan, callee_of(engine), {}, {wide});
    ASSERT_EQ(called.status, BF_OK);
    EXPECT_GE(called.boxes.front().lower.front(), 1 - 1e-4F) << to_string(method);
    EXPECT_LE(called.boxes.front().upper.front(), 2 + 1e-4F) << to_string(method);
  }
  EXPECT_GT(evaluations_, 500);
}

// Bounds at a point are those of real semantics, to the bit.
void expect_exact(const Graph& graph, const std::vector<float>& x) {
  const auto bounds = [&](Semantics semantics) {
    const auto plan = plan_float32(graph, Method::kIbp, nullptr, semantics);
    const engine::Engine engine(lower(plan));
    const Called called = call_bounds(*plan, callee_of(engine), {}, {FloatBox{x, x}});
    EXPECT_EQ(called.status, BF_OK);
    return called.boxes.front();
  };
  const Outcome exact = bounds(Semantics::kReal), rounded = bounds(Semantics::kFloat32);
  EXPECT_EQ(rounded.lower, exact.lower);
  EXPECT_EQ(rounded.upper, exact.upper);
}

TEST_F(Float32, ComparisonsAreExact) {
  SparseAffine difference;
  difference.row_start = {0, 2, 4};
  difference.column = {0, 1, 0, 1};
  difference.value = {{4}, {1, -1, -1, 1}, {}};
  difference.bias = filled({2}, 0);
  Builder builder(2);
  const ValueId d = builder.node(difference, {builder.last()}, {1, 2});
  const Graph wins = builder.back_to(d).unary({FunctionKind::kStepAt}).done();
  expect_exact(wins, {0.1F, 0.1F});
  expect_exact(wins, {0.1F, std::nextafter(0.1F, 1.0F)});
  const ValueId limit = builder.literal({1, 2}, {0.1F, 0.3F});
  builder.back_to(builder.node(IndexMap{{0, 1}}, {ValueId{0}}, {1, 2}));
  expect_exact(builder.binary(Binary::Kind::kSub, limit).unary({FunctionKind::kIsZero}).done(),
               {0.1F, 0.3F});
}

// ---- divisors near zero

TEST_F(Float32, QuotientsByWhatMayBeZeroHaveNoBounds) {
  const Graph graph = Builder(1).unary({FunctionKind::kReciprocal}).done();
  const auto plan = plan_float32(graph, Method::kCrown, nullptr);
  ASSERT_NE(plan, nullptr);
  EXPECT_LE(plan->float32_reach, 0x1p127);
  const engine::Engine engine(lower(plan));
  const auto upper = [&](float x) {
    return call_bounds(*plan, callee_of(engine), {}, {FloatBox{{x}, {x}}}).boxes.front().upper[0];
  };
  EXPECT_EQ(upper(0), INFINITY);
  EXPECT_EQ(upper(0x1p-41F), INFINITY);
  EXPECT_GE(upper(0x1p-39F), 0x1p39F);
  EXPECT_LE(upper(0x1p-30F), 0x1.01p30F);
  EXPECT_NEAR(upper(0.5F), 2, 1e-5);
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
