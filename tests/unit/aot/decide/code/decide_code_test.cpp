// NAME_decide of compiled verifiers and of the engine's, on the properties of models/: its
// contract, its limits, and what else a verifier may be compiled with.

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "tests/paths.h"
#include "tests/support/decided.h"

namespace bf_aot::decide {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Question tiny(const std::string& conditions) {
  return {BF_SOURCE_DIR "/models/tiny.onnx",
          parse_property("(declare-const X_0 Real)(declare-const X_1 Real)"
                         "(declare-const Y_0 Real)(declare-const Y_1 Real)"
                         "(assert (<= -1 X_0 1))(assert (<= -1 X_1 1))" +
                             conditions,
                         "p.vnnlib")};
}

// The sum of the hidden neurons relu(x0 - 2 x1) and relu(x0 / 2 + 3 x1 + 1) is at most 0.01: it is
// 0 on a triangle from (-1/2, -1/4) to x0 = -1, and at least 2/3 where x0 >= 0, from kRest on.
const char* const kSum = "(assert (>= (+ (* 3 Y_0) (* 8 Y_1)) -6.51))";
const Floats kRest = {0, -1};

const Floats kLower = {-1, -1}, kUpper = {1, 1};

struct Way {
  const char* name;
  Decider::Change change;
};
using Ways = std::tuple<Way, By>;

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

class DecideCode : public testing::TestWithParam<Ways> {};

TEST_P(DecideCode, DecidesWhatOneBoxLeavesOpen) {
  const Question question = tiny(kSum);
  const auto& [way, by] = GetParam();
  Decider d(question, way.change, by);
  const Decided yes = d.run(kRest, kUpper);
  EXPECT_EQ(yes.status, BF_OK);
  EXPECT_EQ(yes.result.verdict, BF_VERIFIED);
  EXPECT_EQ(yes.point[0], kUntouched);
  EXPECT_GT(yes.search.boxes, 1U);
  EXPECT_EQ(yes.search.open, 0U);
  EXPECT_EQ(yes.search.proven, 1);

  const Decided no = d.run(kLower, kUpper);
  EXPECT_EQ(no.status, BF_OK);
  ASSERT_EQ(no.result.verdict, BF_FALSIFIED);
  EXPECT_EQ(no.result.property_case, 0U);
  EXPECT_EQ(no.result.clause, 0U);
  EXPECT_GE(no.search.points, 1U);
  EXPECT_TRUE(question.is_violated_at({no.point[0], no.point[1]}));

  const bool weighed =
      way.name != std::string("no_split_weights") && way.name != std::string("of_neurons");
  EXPECT_EQ(d.split_weights.size(), weighed ? 2U : 0U);
}

// Where every neuron is stable both lines of a row are the network itself: 3 y0 + 8 y1 is -h0 - h1
// and a constant, its slopes are -1 - 1/2 and 2 - 3 where both are alive, and those of one where
// one is.
class DecideCoefficients : public testing::TestWithParam<By> {};

TEST_P(DecideCoefficients, AreThoseOfTheLines) {
  const Question question = tiny(kSum);
  const Floats boxes[] = {
      {0.75F, 0.0F, 1, 0.125F}, {0.75F, -0.9F, 1, -0.75F}, {-1, 0.25F, -0.75F, 1}};
  const Floats expected[] = {{-1.5F, -1}, {-1, 2}, {-0.5F, -3}};
  for (const int batch : {1, 16}) {
    const auto change = [batch](build::CompileOptions& o) {
      o.planner.batch = batch;
#if defined(__x86_64__)
      if (batch > 1) {
        o.planner.lowering = Lowering::kVector;
        o.planner.target = find_target("x86-64");
      }
#endif
    };
    Decider d(question, change, GetParam());
#if !defined(__x86_64__)
    if (batch > 1) continue;
#endif
    ASSERT_TRUE(d.keeps);
    for (std::size_t i = 0; i < 3; ++i) {
      const float* const box = boxes[i].data();
      float low = 0, high = 0;
      bf_status status = BF_OK;
      Floats found(6, kUntouched);
      if (d.engine() != nullptr)
        status = d.engine()->coefficients(box, box + 2, &low, &high, found.data(), d.workspace,
                                          d.workspace_bytes);
      else if (batch == 1)
        status =
            reinterpret_cast<bf_status (*)(const float*, const float*, float*, float*, float*,
                                           void*, std::size_t)>(d.symbol("net_spec_coefficients"))(
                box, box + 2, &low, &high, found.data(), d.workspace, d.workspace_bytes);
      else
        reinterpret_cast<bf_status (*)(std::size_t, const float*, const float*, float*, float*,
                                       float*, bf_status*, void*, std::size_t)>(
            d.symbol("net_spec_coefficients_batch"))(1, box, box + 2, &low, &high, found.data(),
                                                     &status, d.workspace, d.workspace_bytes);
      EXPECT_EQ(status, BF_OK);
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(found[k], expected[i][k]) << i << ", batch " << batch;
        EXPECT_EQ(found[3 + k], -expected[i][k]) << i << ", batch " << batch;
      }
      EXPECT_NEAR(found[2], low, 1e-5F);
      EXPECT_NEAR(found[5], -high, 1e-5F);
      EXPECT_LT(low, high);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(By, DecideCoefficients, testing::Values(By::kCompiler, By::kEngine),
                         [](const auto& test) { return std::string(to_string(test.param)); });

const Decider::Change kNothing = [](build::CompileOptions&) {};
const Way kWays[] = {
    {"plain", kNothing},
    {"no_split_weights",
     [](build::CompileOptions& o) { o.planner.disabled_passes.emplace_back("weigh-splits"); }},
    {"of_neurons", [](build::CompileOptions& o) { o.planner.splits = Splits::kNeurons; }},
    {"for_workers", [](build::CompileOptions& o) { o.planner.workers = 3; }},
    {"with_a_context",
     [](build::CompileOptions& o) {
       o.planner.reuse.ibp = true;
       o.planner.reuse.bounds = true;
     }},
#if defined(__x86_64__)
    {"for_levels",
     [](build::CompileOptions& o) {
       o.planner.lowering = Lowering::kVector;
       o.planner.target = find_target("x86-64");
       o.planner.batch = 16;
       o.levels = {find_target("x86-64-v3"), find_target("x86-64")};
     }},
#endif
};

INSTANTIATE_TEST_SUITE_P(Ways, DecideCode,
                         testing::Combine(testing::ValuesIn(kWays),
                                          testing::Values(By::kCompiler, By::kEngine)),
                         [](const auto& test) {
                           return fmt::format("{}_{}", std::get<Way>(test.param).name,
                                              to_string(std::get<By>(test.param)));
                         });

// ---- the contract

// A compiled verifier and one of the engine's for all of them, by either kind of splits.
class DecideCodeContract : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const Splits splits : {Splits::kInputs, Splits::kNeurons})
      for (const By by : {By::kCompiler, By::kEngine})
        deciders_.push_back(std::make_unique<Decider>(
            tiny(kSum), [splits](build::CompileOptions& o) { o.planner.splits = splits; }, by));
  }
  static void TearDownTestSuite() { deciders_.clear(); }

  static std::vector<std::unique_ptr<Decider>> deciders_;
};
std::vector<std::unique_ptr<Decider>> DecideCodeContract::deciders_;

TEST_F(DecideCodeContract, BadArgumentsLeaveEverythingAsItIs) {
  for (const auto& one : deciders_) {
    Decider& d = *one;
    SCOPED_TRACE(d.engine() != nullptr ? "engine" : "compiled");
    const Floats lower = {-1, -1}, upper = {1, 1};
    Floats point = {7, 7};
    bf_result result = {BF_UNKNOWN, 77, 78, point.data()};
    bf_search search = {71, 72, 73, 74, 75};
    std::size_t used = 0;  // of the workspace
    const auto expect = [&](bf_status wanted, const float* low, const float* high, bf_result* to,
                            void* workspace, std::size_t bytes) {
      EXPECT_EQ(d.decide(low, high, nullptr, to, &search, workspace, bytes), wanted);
      EXPECT_EQ(result.verdict, BF_UNKNOWN);
      EXPECT_EQ(result.property_case, 77U);
      EXPECT_EQ(result.clause, 78U);
      EXPECT_EQ(result.counterexample, point.data());
      EXPECT_EQ(point, (Floats{7, 7}));
      EXPECT_EQ(search.boxes, 71U);
      EXPECT_EQ(search.points, 72U);
      EXPECT_EQ(search.open, 73U);
      EXPECT_EQ(search.most_open, 74U);
      EXPECT_EQ(search.proven, 75);
      EXPECT_TRUE(d.is_clean_around(used));
    };
    const std::size_t bytes = d.workspace_bytes;
    expect(BF_NULL_ARGUMENT, nullptr, upper.data(), &result, d.workspace, bytes);
    expect(BF_NULL_ARGUMENT, lower.data(), nullptr, &result, d.workspace, bytes);
    expect(BF_NULL_ARGUMENT, lower.data(), upper.data(), nullptr, d.workspace, bytes);
    expect(BF_NULL_ARGUMENT, lower.data(), upper.data(), &result, nullptr, bytes);
    expect(BF_WORKSPACE_TOO_SMALL, lower.data(), upper.data(), &result, d.workspace, bytes - 1);
    expect(BF_WORKSPACE_TOO_SMALL, lower.data(), upper.data(), &result, d.workspace, 0);
    expect(BF_WORKSPACE_MISALIGNED, lower.data(), upper.data(), &result, d.workspace + 4, bytes);
    used = bytes;
    for (std::size_t i = 0; i < 2; ++i)
      for (const bool above : {false, true}) {
        const auto expect_with = [&](bf_status wanted, float x) {
          Floats low = lower, high = upper;
          (above ? high : low)[i] = x;
          expect(wanted, low.data(), high.data(), &result, d.workspace, bytes);
        };
        expect_with(BF_NAN_INPUT, kNan);
        expect_with(BF_INFINITE_BOX, above ? kInfinity : -kInfinity);
        expect_with(BF_EMPTY_BOX, above ? -1.5F : 1.5F);
      }
  }
}

TEST_F(DecideCodeContract, BudgetSearchAndPointMayBeNull) {
  for (const auto& one : deciders_) {
    Decider& d = *one;
    SCOPED_TRACE(d.engine() != nullptr ? "engine" : "compiled");
    for (const Floats& lower : {kRest, kLower}) {
      bf_result result = {BF_UNKNOWN, 77, 77, nullptr};
      EXPECT_EQ(d.decide(lower.data(), kUpper.data(), nullptr, &result, nullptr, d.workspace,
                         d.workspace_bytes),
                BF_OK);
      EXPECT_EQ(result.verdict, lower == kRest ? BF_VERIFIED : BF_FALSIFIED);
      EXPECT_EQ(result.counterexample, nullptr);
      EXPECT_TRUE(d.is_clean_around(d.workspace_bytes));
    }
  }
}

TEST_F(DecideCodeContract, ABoxOutsideOfTheCasesIsNotVerified) {
  for (const auto& one : deciders_) {
    Decider& d = *one;
    SCOPED_TRACE(d.engine() != nullptr ? "engine" : "compiled");
    const Decided far = d.run({5, 5}, {6, 6});
    EXPECT_EQ(far.result.verdict, BF_OUTSIDE);
    EXPECT_EQ(far.search.boxes, 0U);
    EXPECT_EQ(d.run({-9, -9}, {9, 9}).result.verdict, BF_FALSIFIED);
    EXPECT_EQ(d.run({0, -9}, {9, 9}).result.verdict, BF_PARTLY_OUTSIDE) << "a part of the case";
  }
}

TEST_F(DecideCodeContract, TheSameOnEveryRun) {
  for (const auto& one : deciders_) {
    Decider& d = *one;
    SCOPED_TRACE(d.engine() != nullptr ? "engine" : "compiled");
    for (const Floats& lower : {kRest, kLower}) {
      const Decided a = d.run(lower, kUpper), b = d.run(lower, kUpper);
      EXPECT_EQ(a.result.verdict, b.result.verdict);
      EXPECT_EQ(a.point, b.point);
      EXPECT_EQ(a.search.boxes, b.search.boxes);
      EXPECT_EQ(a.search.points, b.search.points);
      EXPECT_EQ(a.search.most_open, b.search.most_open);
    }
  }
}

int stop_at_once(void* data, const bf_search* search) {
  EXPECT_EQ(search->boxes, 0U);
  ++*static_cast<int*>(data);
  return 1;
}

TEST_F(DecideCodeContract, TheCallerStopsIt) {
  for (const auto& one : deciders_) {
    Decider& d = *one;
    SCOPED_TRACE(d.engine() != nullptr ? "engine" : "compiled");
    int calls = 0;
    const bf_budget budget = {0, stop_at_once, &calls};
    const Decided got = d.run(kLower, kUpper, &budget);
    EXPECT_EQ(got.status, BF_OK);
    EXPECT_EQ(got.result.verdict, BF_BUDGET);
    EXPECT_EQ(got.search.boxes, 0U);
    EXPECT_EQ(calls, 1);
  }
}

// ---- limits

// Between (-1, 0) and (0, 0) output 0 is -1/2 - x0 / 2, not below -1/2: at 0 bounds never show it,
// for their roundings, however small a box becomes. Boxes are not clipped: they would be to (0, 0).
class DecideCodeLimits : public testing::TestWithParam<std::tuple<int, By>> {
 protected:
  Decided run(std::uint64_t boxes, std::size_t more = 0) {
    const bf_budget budget = {boxes, nullptr, nullptr};
    const Decided got = d.run({-1, 0}, {0, 0}, &budget, more);
    EXPECT_EQ(got.status, BF_OK);
    EXPECT_EQ(got.result.verdict, BF_BUDGET);
    EXPECT_EQ(got.point[0], kUntouched);
    EXPECT_GT(got.search.open, 0U);
    EXPECT_LE(got.search.proven, 1);
    return got;
  }

  const int batch_ = std::get<int>(GetParam());
  Decider d{tiny("(assert (< Y_0 -0.5))"),
            [this](build::CompileOptions& o) {
              o.planner.batch = batch_;
              o.planner.disabled_passes.emplace_back("keep-coefficients");
            },
            std::get<By>(GetParam())};
};

TEST_P(DecideCodeLimits, TheBudgetOfBoxes) {
  for (const std::uint64_t boxes : {1, 17, 100}) EXPECT_EQ(run(boxes).search.boxes, boxes);
}

TEST_P(DecideCodeLimits, RoomForOpenBoxes) {
  constexpr std::uint64_t kBoxes = 100'000;
  const auto batch = static_cast<std::uint64_t>(batch_);
  const std::uint64_t room = std::max<std::uint64_t>(128, 64 * batch);
  for (const std::uint64_t more : {0, 1, 10}) {
    const Decided full = run(kBoxes, more);
    EXPECT_EQ(full.search.most_open, room + more);
    EXPECT_EQ(full.search.open, room + more);
    EXPECT_LT(full.search.boxes, kBoxes);
  }
  EXPECT_EQ(run(kBoxes, 1000).search.boxes, kBoxes);
}

INSTANTIATE_TEST_SUITE_P(Batches, DecideCodeLimits,
                         testing::Combine(testing::Values(1, 16),
                                          testing::Values(By::kCompiler, By::kEngine)));

}  // namespace
}  // namespace bf_aot::decide
