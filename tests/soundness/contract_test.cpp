// What a verifier promises besides its bounds: status codes, untouched outputs on errors, a
// workspace whose contents do not matter and outside of which nothing is written.

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "frontend/passes/pipeline.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUntouched = 7777.0F;

// A 3-4-4-2 network with a specification of 3 rows, by each method, in generic and vector code.
class Contract : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    batch_ = std::make_unique<Batch>();
    Random random(3);
    Net net;
    net.label = "contract";
    const int widths[] = {3, 40, 17, 2};
    for (int i = 0; i < 3; ++i) {
      NetLayer layer;
      layer.in = widths[i];
      layer.out = widths[i + 1];
      layer.relu = i < 2;
      for (int k = 0; k < layer.in * layer.out; ++k)
        layer.weight.push_back(std::uniform_real_distribution<float>(-1, 1)(random));
      for (int k = 0; k < layer.out; ++k)
        layer.bias.push_back(std::uniform_real_distribution<float>(-1, 1)(random));
      net.layers.push_back(std::move(layer));
    }
    const LinearSpec spec{{{1, -1}, {0.1, 0.3}, {-1, 0}}, {}, {}, {}};
    Graph graph = to_graph(net);
    PassOptions passes;
    passes.spec = &spec;
    normalise(graph, passes);
    for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kForward})
      for (const Lowering lowering : {Lowering::kGeneric, Lowering::kVector})
        batch_->add(graph, true, planner_config(method, lowering, "x86-64"));
    batch_->build({"g++", {"-O2"}});
  }
  static void TearDownTestSuite() { batch_.reset(); }

  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "made for x86-64";
#endif
  }

  // A call with room for all that can go wrong.
  struct Call {
    std::vector<float> lower = {-1, -1, -1}, upper = {1, 1, 1};
    float out_lower[3] = {kUntouched, kUntouched, kUntouched};
    float out_upper[3] = {kUntouched, kUntouched, kUntouched};
    std::size_t bytes;
    std::size_t align;
    Arena arena;

    explicit Call(const Plan& plan)
        : bytes(static_cast<std::size_t>(plan.arena_bytes())),
          align(static_cast<std::size_t>(plan.config.target.align)),
          arena(bytes + align, align) {}

    bf_status run(Batch::Bounds function) {
      return function(lower.data(), upper.data(), out_lower, out_upper, arena.data(), bytes);
    }

    bool untouched() const {
      for (int i = 0; i < 3; ++i)
        if (out_lower[i] != kUntouched || out_upper[i] != kUntouched) return false;
      return true;
    }
  };

  // Runs `check` on both entry points of all verifiers.
  template <typename Check>
  void for_each(const Check& check) {
    for (std::size_t i = 0; i < batch_->size(); ++i) {
      SCOPED_TRACE(i);
      check(batch_->plan(i), batch_->bounds(i));
      check(batch_->plan(i), batch_->spec_bounds(i));
    }
  }

  // The status of a box with one end replaced.
  void expect_status(float lower, float upper, bf_status expected) {
    for_each([&](const Plan& plan, Batch::Bounds function) {
      for (std::size_t at = 0; at < 3; ++at) {
        Call call(plan);
        call.lower[at] = lower;
        call.upper[at] = upper;
        EXPECT_EQ(call.run(function), expected) << lower << " " << upper;
        EXPECT_TRUE(call.untouched());
      }
    });
  }

  static std::unique_ptr<Batch> batch_;
};

std::unique_ptr<Batch> Contract::batch_;

TEST_F(Contract, BadBoxes) {
  expect_status(kNan, 1, BF_NAN_INPUT);
  expect_status(0, kNan, BF_NAN_INPUT);
  expect_status(kNan, kNan, BF_NAN_INPUT);
  expect_status(1, 0.5F, BF_EMPTY_BOX);
  expect_status(0, -std::numeric_limits<float>::denorm_min(), BF_EMPTY_BOX);
  expect_status(kInfinity, -kInfinity, BF_EMPTY_BOX);
  expect_status(-kInfinity, 0, BF_INFINITE_BOX);
  expect_status(0, kInfinity, BF_INFINITE_BOX);
  expect_status(kInfinity, kInfinity, BF_INFINITE_BOX);
}

TEST_F(Contract, NanIsReportedBesideOtherDefects) {
  for_each([](const Plan& plan, Batch::Bounds function) {
    Call call(plan);
    call.lower = {2, -kInfinity, -1};
    call.upper = {1, 1, kNan};
    EXPECT_EQ(call.run(function), BF_NAN_INPUT);
    EXPECT_TRUE(call.untouched());
  });
}

TEST_F(Contract, NullArguments) {
  for_each([](const Plan& plan, Batch::Bounds function) {
    for (int null = 0; null < 5; ++null) {
      Call call(plan);
      const bf_status status =
          function(null == 0 ? nullptr : call.lower.data(), null == 1 ? nullptr : call.upper.data(),
                   null == 2 ? nullptr : call.out_lower, null == 3 ? nullptr : call.out_upper,
                   null == 4 ? nullptr : call.arena.data(), call.bytes);
      EXPECT_EQ(status, BF_NULL_ARGUMENT) << "argument " << null;
      EXPECT_TRUE(call.untouched());
    }
  });
}

TEST_F(Contract, ShortAndMisalignedWorkspaces) {
  for_each([](const Plan& plan, Batch::Bounds function) {
    Call call(plan);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, call.bytes - 1})
      EXPECT_EQ(function(call.lower.data(), call.upper.data(), call.out_lower, call.out_upper,
                         call.arena.data(), bytes),
                BF_WORKSPACE_TOO_SMALL);
    for (std::size_t shift = 1; shift < call.align; ++shift)
      EXPECT_EQ(function(call.lower.data(), call.upper.data(), call.out_lower, call.out_upper,
                         static_cast<unsigned char*>(call.arena.data()) + shift, call.bytes),
                BF_WORKSPACE_MISALIGNED);
    EXPECT_TRUE(call.untouched());
    EXPECT_EQ(call.run(function), BF_OK);
    EXPECT_FALSE(call.untouched());
  });
}

// Statuses are compared after the environment is restored: GoogleTest is no part of the experiment.
TEST_F(Contract, RoundingModes) {
  for_each([](const Plan& plan, Batch::Bounds function) {
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      Call call(plan);
      std::fesetround(mode);
      const bf_status status = call.run(function);
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(status, BF_FLOAT_ENVIRONMENT);
      EXPECT_TRUE(call.untouched());
    }
  });
}

TEST_F(Contract, FlushedSubnormals) {
#if defined(__SSE2__)
  for_each([](const Plan& plan, Batch::Bounds function) {
    for (const unsigned flag : {0x8000U, 0x0040U}) {
      Call call(plan);
      const unsigned before = _mm_getcsr();
      _mm_setcsr(before | flag);
      const bf_status status = call.run(function);
      _mm_setcsr(before);
      EXPECT_EQ(status, BF_FLOAT_ENVIRONMENT);
      EXPECT_TRUE(call.untouched());
    }
  });
#else
  GTEST_SKIP() << "no MXCSR";
#endif
}

TEST_F(Contract, EvaluateChecksItsArguments) {
  for (std::size_t i = 0; i < batch_->size(); ++i) {
    const auto evaluate = batch_->evaluate(i);
    Call call(batch_->plan(i));
    float* y = call.out_lower;
    void* arena = call.arena.data();
    EXPECT_EQ(evaluate(nullptr, y, arena, call.bytes), BF_NULL_ARGUMENT);
    EXPECT_EQ(evaluate(call.lower.data(), nullptr, arena, call.bytes), BF_NULL_ARGUMENT);
    EXPECT_EQ(evaluate(call.lower.data(), y, nullptr, call.bytes), BF_NULL_ARGUMENT);
    EXPECT_EQ(evaluate(call.lower.data(), y, arena, 1), BF_WORKSPACE_TOO_SMALL);
    call.lower[1] = kNan;
    EXPECT_EQ(evaluate(call.lower.data(), y, arena, call.bytes), BF_NAN_INPUT);
    call.lower[1] = kInfinity;
    EXPECT_EQ(evaluate(call.lower.data(), y, arena, call.bytes), BF_INFINITE_BOX);
    EXPECT_TRUE(call.untouched());
    call.lower[1] = 0;
    EXPECT_EQ(evaluate(call.lower.data(), y, arena, call.bytes), BF_OK);
    EXPECT_NE(y[1], kUntouched);
    EXPECT_EQ(y[2], kUntouched);
  }
}

// 0xff: NaNs of all sizes; 0x7f: huge finite numbers; 0xaa: tiny negative ones.
TEST_F(Contract, WorkspaceContentsDoNotMatter) {
  Random random(5);
  for_each([&](const Plan& plan, Batch::Bounds function) {
    for (int kind = 0; kind < kBoxKinds; ++kind) {
      const FloatBox box = random_box(random, 3, kind);
      Call first(plan);
      first.lower = box.lower;
      first.upper = box.upper;
      first.arena.fill(0);
      ASSERT_EQ(first.run(function), BF_OK);
      for (const unsigned char poison : {0xff, 0xaa, 0x7f, 0x80}) {
        Call call(plan);
        call.lower = box.lower;
        call.upper = box.upper;
        call.arena.fill(poison);
        ASSERT_EQ(call.run(function), BF_OK);
        EXPECT_EQ(std::memcmp(call.out_lower, first.out_lower, sizeof call.out_lower), 0);
        EXPECT_EQ(std::memcmp(call.out_upper, first.out_upper, sizeof call.out_upper), 0);
      }
      // As left by the call before.
      ASSERT_EQ(first.run(function), BF_OK);
    }
  });
}

// The arena is exactly as long as the plan says; guard bytes lie on both sides of it.
TEST_F(Contract, NothingIsWrittenOutsideTheWorkspace) {
  Random random(6);
  for (std::size_t i = 0; i < batch_->size(); ++i) {
    const Plan& plan = batch_->plan(i);
    for (const auto& function : {batch_->bounds(i), batch_->spec_bounds(i)}) {
      for (int kind = 0; kind < kBoxKinds; ++kind) {
        const FloatBox box = random_box(random, 3, kind);
        const auto bytes = static_cast<std::size_t>(plan.arena_bytes());
        Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
        std::vector<float> outputs(8, kUntouched);
        const std::size_t count = function == batch_->bounds(i) ? 2 : 3;
        ASSERT_EQ(function(box.lower.data(), box.upper.data(), outputs.data(), outputs.data() + 4,
                           arena.data(), bytes),
                  BF_OK);
        EXPECT_TRUE(arena.guards_intact());
        for (std::size_t k = count; k < 4; ++k) {
          EXPECT_EQ(outputs[k], kUntouched);
          EXPECT_EQ(outputs[4 + k], kUntouched);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bf_aot::soundness
