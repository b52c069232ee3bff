// What the entry points of several boxes promise: counts, a status for each box, outputs of good
// boxes beside bad ones, nothing written on errors or outside the workspace.

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <limits>
#include <memory>

#include "frontend/passes/pipeline.h"
#include "tests/soundness/boxes.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kBatch = 11;  // no multiple of the lanes

Graph small_graph() {
  Random random(3);
  Net net;
  net.label = "boxes";
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
  return graph;
}

class BoxesContract : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    batch_ = std::make_unique<Batch>();
    const Graph graph = small_graph();
    for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kForward})
      for (const bool lanes : {true, false})
        for (const Lowering lowering : {Lowering::kGeneric, Lowering::kVector}) {
          PlannerConfig config = planner_config(method, lowering, "x86-64");
          config.batch = kBatch;
          if (!lanes) config.disabled_passes = {"batch-lanes"};
          const std::size_t made = batch_->add(graph, true, config);
          EXPECT_EQ(batch_->plan(made).batch.side_by_side > 1,
                    lanes && lowering == Lowering::kVector);
        }
    batch_->build({"g++", {"-O2"}});
  }
  static void TearDownTestSuite() { batch_.reset(); }

  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "made for x86-64";
#endif
  }

  // Runs `check` on both entry points of all verifiers, with the one of one box beside.
  template <typename Check>
  void for_each(const Check& check) {
    for (std::size_t i = 0; i < batch_->size(); ++i) {
      SCOPED_TRACE(i);
      check(batch_->plan(i), symbol(i, "_bounds_batch"), batch_->bounds(i), std::size_t{2});
      check(batch_->plan(i), symbol(i, "_spec_bounds_batch"), batch_->spec_bounds(i),
            std::size_t{3});
    }
  }

  static BoundsBatch symbol(std::size_t i, const char* suffix) {
    return reinterpret_cast<BoundsBatch>(batch_->symbol(i, suffix));
  }

  static std::vector<FloatBox> boxes(std::size_t count) {
    Random random(count);
    std::vector<FloatBox> made;
    for (std::size_t i = 0; i < count; ++i)
      made.push_back(random_box(random, 3, static_cast<int>(i) % kBoxKinds));
    return made;
  }

  static std::unique_ptr<Batch> batch_;
};

std::unique_ptr<Batch> BoxesContract::batch_;

TEST_F(BoxesContract, Counts) {
  for_each([](const Plan& plan, BoundsBatch function, Batch::Bounds, std::size_t outputs) {
    BatchCall call(plan, outputs, boxes(kBatch + 1));
    EXPECT_EQ(call.run(function), BF_BAD_COUNT);
    EXPECT_EQ(function(0, call.lower.data(), call.upper.data(), call.out_lower.data(),
                       call.out_upper.data(), call.statuses.data(), call.arena.data(), call.bytes),
              BF_BAD_COUNT);
    EXPECT_EQ(function(static_cast<std::size_t>(-1), call.lower.data(), call.upper.data(),
                       call.out_lower.data(), call.out_upper.data(), call.statuses.data(),
                       call.arena.data(), call.bytes),
              BF_BAD_COUNT);
    EXPECT_TRUE(call.untouched());
  });
}

// The same operations in the same order, unless the compiler contracts them: this one does not.
TEST_F(BoxesContract, EveryCountGivesTheBoundsOfSingleCalls) {
  for_each([](const Plan& plan, BoundsBatch function, Batch::Bounds single, std::size_t outputs) {
    for (std::size_t count = 1; count <= kBatch; ++count) {
      const std::vector<FloatBox> asked = boxes(count);
      BatchCall call(plan, outputs, asked);
      ASSERT_EQ(call.run(function), BF_OK);
      EXPECT_TRUE(call.arena.guards_intact());
      for (std::size_t i = 0; i < count; ++i) {
        const Outcome got = call.outcome(i);
        EXPECT_EQ(got.status, BF_OK);
        std::vector<float> low(outputs), high(outputs);
        ASSERT_EQ(single(asked[i].lower.data(), asked[i].upper.data(), low.data(), high.data(),
                         call.arena.data(), call.bytes),
                  BF_OK);
        EXPECT_EQ(std::memcmp(low.data(), got.lower.data(), 4 * outputs), 0) << "box " << i;
        EXPECT_EQ(std::memcmp(high.data(), got.upper.data(), 4 * outputs), 0) << "box " << i;
      }
    }
  });
}

TEST_F(BoxesContract, ABadBoxKeepsNoOtherFromItsBounds) {
  for_each([](const Plan& plan, BoundsBatch function, Batch::Bounds, std::size_t outputs) {
    const std::vector<FloatBox> good = boxes(kBatch);
    BatchCall expected(plan, outputs, good);
    ASSERT_EQ(expected.run(function), BF_OK);
    std::vector<FloatBox> asked = good;
    asked[1].lower[2] = kNan;
    asked[4].lower[0] = 2;
    asked[4].upper[0] = 1;
    asked[5].upper[1] = kInfinity;
    asked[5].lower[1] = 0;
    asked[10].upper[0] = kNan;
    BatchCall call(plan, outputs, asked);
    EXPECT_EQ(call.run(function), BF_NAN_INPUT);
    const bf_status statuses[kBatch] = {BF_OK,        BF_NAN_INPUT,    BF_OK,       BF_OK,
                                        BF_EMPTY_BOX, BF_INFINITE_BOX, BF_OK,       BF_OK,
                                        BF_OK,        BF_OK,           BF_NAN_INPUT};
    for (std::size_t i = 0; i < kBatch; ++i) {
      EXPECT_EQ(call.statuses[i], statuses[i]) << "box " << i;
      if (statuses[i] != BF_OK) {
        EXPECT_TRUE(call.untouched(i)) << "box " << i;
        continue;
      }
      const Outcome a = call.outcome(i), b = expected.outcome(i);
      EXPECT_EQ(std::memcmp(a.lower.data(), b.lower.data(), 4 * outputs), 0) << "box " << i;
      EXPECT_EQ(std::memcmp(a.upper.data(), b.upper.data(), 4 * outputs), 0) << "box " << i;
    }
  });
}

TEST_F(BoxesContract, BadBoxesAlone) {
  for_each([](const Plan& plan, BoundsBatch function, Batch::Bounds, std::size_t outputs) {
    std::vector<FloatBox> asked = boxes(3);
    for (FloatBox& box : asked) {
      box.lower[1] = 1;
      box.upper[1] = 0;
    }
    BatchCall call(plan, outputs, asked);
    EXPECT_EQ(call.run(function), BF_EMPTY_BOX);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(call.statuses[i], BF_EMPTY_BOX);
      EXPECT_TRUE(call.untouched(i));
    }
  });
}

TEST_F(BoxesContract, NullArguments) {
  for_each([](const Plan& plan, BoundsBatch function, Batch::Bounds, std::size_t outputs) {
    for (int null = 0; null < 6; ++null) {
      BatchCall call(plan, outputs, boxes(2));
      EXPECT_EQ(function(2, null == 0 ? nullptr : call.lower.data(),
                         null == 1 ? nullptr : call.upper.data(),
                         null == 2 ? nullptr : call.out_lower.data(),
                         null == 3 ? nullptr : call.out_upper.data(),
                         null == 4 ? nullptr : call.statuses.data(),
                         null == 5 ? nullptr : call.arena.data(), call.bytes),
                BF_NULL_ARGUMENT)
          << "argument " << null;
      EXPECT_TRUE(call.untouched());
    }
  });
}

TEST_F(BoxesContract, ShortAndMisalignedWorkspaces) {
  for_each([](const Plan& plan, BoundsBatch function, Batch::Bounds, std::size_t outputs) {
    BatchCall call(plan, outputs, boxes(2));
    const auto with = [&](std::size_t shift, std::size_t bytes) {
      return function(2, call.lower.data(), call.upper.data(), call.out_lower.data(),
                      call.out_upper.data(), call.statuses.data(),
                      static_cast<unsigned char*>(call.arena.data()) + shift, bytes);
    };
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, call.bytes - 1})
      EXPECT_EQ(with(0, bytes), BF_WORKSPACE_TOO_SMALL);
    EXPECT_EQ(with(4, call.bytes), BF_WORKSPACE_MISALIGNED);
    EXPECT_TRUE(call.untouched());
  });
}

TEST_F(BoxesContract, RoundingModes) {
  for_each([](const Plan& plan, BoundsBatch function, Batch::Bounds, std::size_t outputs) {
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      BatchCall call(plan, outputs, boxes(2));
      std::fesetround(mode);
      const bf_status status = call.run(function);
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(status, BF_FLOAT_ENVIRONMENT);
      EXPECT_TRUE(call.untouched());
    }
  });
}

TEST_F(BoxesContract, WorkspaceContentsDoNotMatter) {
  for_each([](const Plan& plan, BoundsBatch function, Batch::Bounds, std::size_t outputs) {
    BatchCall first(plan, outputs, boxes(kBatch));
    ASSERT_EQ(first.run(function), BF_OK);
    for (const unsigned char poison : {0x00, 0xff, 0x7f}) {
      BatchCall call(plan, outputs, boxes(kBatch));
      call.arena.fill(poison);
      ASSERT_EQ(call.run(function), BF_OK);
      EXPECT_EQ(
          std::memcmp(call.out_lower.data(), first.out_lower.data(), 4 * first.out_lower.size()),
          0);
      EXPECT_EQ(
          std::memcmp(call.out_upper.data(), first.out_upper.data(), 4 * first.out_upper.size()),
          0);
    }
  });
}

// Without a batch there is nothing of it.
TEST_F(BoxesContract, NoneWithoutTheOption) {
  Batch batch;
  batch.add(small_graph(), true, planner_config(Method::kIbp, Lowering::kVector, "x86-64"));
  batch.build({"g++", {"-O1"}});
  EXPECT_FALSE(batch.has_symbol(0, "_bounds_batch"));
}

// A convolution goes box by box, with the same promises.
TEST_F(BoxesContract, OtherLayersGoByTurns) {
  Random random(9);
  Net net = random_net(random, Family::kTrained);
  Batch batch;
  PlannerConfig config = planner_config(Method::kCrown, Lowering::kVector, "x86-64");
  config.batch = kBatch;
  batch.add(to_graph(net, Form::kConv), false, config);
  batch.build({"g++", {"-O1"}});
  const Plan& made = batch.plan(0);
  EXPECT_EQ(made.batch.side_by_side, 1);
  EXPECT_NE(made.batch.reason.find("is no dense layer"), std::string::npos) << made.batch.reason;
  std::vector<FloatBox> asked;
  for (int i = 0; i < kBatch; ++i) asked.push_back(random_box(random, net.inputs(), i));
  asked[3].lower[0] = kInfinity;
  BatchCall call(made, static_cast<std::size_t>(made.output_count), asked);
  EXPECT_EQ(call.run(reinterpret_cast<BoundsBatch>(batch.symbol(0, "_bounds_batch"))),
            BF_EMPTY_BOX);
  for (std::size_t i = 0; i < kBatch; ++i) {
    const Outcome alone = batch.run(0, asked[i]), got = call.outcome(i);
    EXPECT_EQ(got.status, i == 3 ? BF_EMPTY_BOX : BF_OK);
    EXPECT_EQ(got.status, alone.status);
    if (i == 3) {
      EXPECT_TRUE(call.untouched(i));
      continue;
    }
    EXPECT_EQ(std::memcmp(got.lower.data(), alone.lower.data(), 4 * got.lower.size()), 0);
    EXPECT_EQ(std::memcmp(got.upper.data(), alone.upper.data(), 4 * got.upper.size()), 0);
  }
}

TEST_F(BoxesContract, ABudgetKeepsBoxesApart) {
  PlannerConfig config = planner_config(Method::kIbp, Lowering::kVector, "x86-64");
  config.batch = kBatch;
  const Graph graph = small_graph();
  ModelInfo info;
  info.sha256 = std::string(64, '0');
  const Plan free = plan(graph, info, "net", true, config);
  ASSERT_GT(free.batch_bytes(), free.arena_bytes());
  config.memory_budget = free.batch_bytes();
  EXPECT_EQ(plan(graph, info, "net", true, config).batch.side_by_side, 4);
  config.memory_budget = free.batch_bytes() - 1;
  const Plan tight = plan(graph, info, "net", true, config);
  EXPECT_EQ(tight.batch.side_by_side, 1);
  EXPECT_EQ(tight.batch_bytes(), tight.arena_bytes());
  EXPECT_NE(tight.batch.reason.find("the budget is"), std::string::npos);
  EXPECT_EQ(std::ranges::count(tight.rejected, "batch", &Rejected::slot), 1);
}

}  // namespace
}  // namespace bf_aot::soundness
