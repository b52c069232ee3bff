#include "planner/plan/prebuilt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/lowering/lowered.h"
#include "planner/lowering/lowering.h"
#include "planner/lowering/walk.h"
#include "planner/lowering/weight_tables.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "runtime/bf/contract/tiles.h"
#include "tests/paths.h"
#include "tests/unit/frontend/graph/graph_builder.h"

// Plans whose template constants come from closed sets.
namespace bf_aot {
namespace {

constexpr const char* kTargets[] = {"generic", "x86-64", "x86-64-v3", "x86-64-v4", "aarch64"};

PlannerConfig config_of(const std::string& target, Method method = Method::kCrown) {
  PlannerConfig config;
  config.lowering = Lowering::kPrebuilt;
  config.target = find_target(target);
  config.method = method;
  config.iterations = 3;
  return config;
}

Graph model(const char* file) {
  ImportedModel made = import_model(std::string(BF_SOURCE_DIR) + "/models/" + file);
  normalise(made.graph);
  return std::move(made.graph);
}

Plan planned(const Graph& graph, const PlannerConfig& config) {
  return plan(graph, {}, "net", false, config);
}

// ---- networks

using Size = std::array<std::int64_t, 3>;  // channels, height, width

Shape shape_of(const Size& size) {
  return {size[0], size[1], size[2]};
}

std::vector<double> weights(std::int64_t count) {
  std::vector<double> made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(static_cast<double>(i * 7 % 11) - 5);
  return made;
}

// 3 x 3 with ReLU.
ValueId convolved(testing::Builder& b, ValueId x, const Size& from, const Size& to,
                  std::int64_t groups = 1) {
  ConvGeometry g;
  g.in_channels = from[0];
  g.out_channels = to[0];
  g.groups = groups;
  g.in_size = {1, from[1], from[2]};
  g.out_size = {1, to[1], to[2]};
  g.kernel = {1, 3, 3};
  g.stride = {1, from[1] / to[1], from[2] / to[2]};
  g.pad = {0, 1, 1};
  g.in = dense_layout(from[0], g.in_size);
  g.out = dense_layout(to[0], g.out_size);
  const std::int64_t group = from[0] / groups;
  const Conv conv = {g, testing::constant({to[0], group, 9}, weights(to[0] * group * 9)),
                     testing::constant({to[0]}, weights(to[0]))};
  return b.relu(b.add(conv, {x}, shape_of(to)));
}

// The largest of every 2 x 2.
ValueId pooled(testing::Builder& b, ValueId x, const Size& from) {
  GroupMax pool{{0}, {}};
  for (std::int64_t c = 0; c < from[0]; ++c)
    for (std::int64_t y = 0; y < from[1]; y += 2)
      for (std::int64_t z = 0; z < from[2]; z += 2) {
        for (const std::int64_t tap : {std::int64_t{0}, std::int64_t{1}, from[2], from[2] + 1})
          pool.source.push_back((c * from[1] + y) * from[2] + z + tap);
        pool.row_start.push_back(static_cast<std::int64_t>(pool.source.size()));
      }
  return b.add(std::move(pool), {x}, {from[0], from[1] / 2, from[2] / 2});
}

Graph headed(testing::Builder& b, ValueId x, std::int64_t in, std::int64_t out) {
  return b.outputs({b.add(testing::affine(out, in, weights(in * out), weights(out)), {x}, {out})});
}

Graph residual() {
  const Size image = {3, 6, 6}, more = {5, 6, 6};
  testing::Builder b(shape_of(image));
  const ValueId first = convolved(b, b.x(), image, more);
  const ValueId second = convolved(b, first, more, more);
  const ValueId sum = b.relu(b.add(Binary{}, {first, second}, shape_of(more)));
  return headed(b, convolved(b, sum, more, {4, 3, 3}), 36, 10);
}

Graph pooling() {
  const Size image = {2, 8, 8}, more = {4, 8, 8}, half = {4, 4, 4};
  testing::Builder b(shape_of(image));
  const ValueId first = pooled(b, convolved(b, b.x(), image, more), more);
  return headed(b, convolved(b, first, half, half, 4), 64, 3);
}

Graph products() {
  testing::Builder b({6});
  const auto layer = [&](ValueId x, std::int64_t in) {
    return b.add(testing::affine(9, in, weights(9 * in), weights(9)), {x}, {9});
  };
  const ValueId left = b.relu(layer(b.x(), 6));
  const ValueId right = b.add(Unary{{FunctionKind::kTanh}}, {layer(b.x(), 6)}, {9});
  const ValueId product = b.add(Binary{Binary::Kind::kMul}, {left, right}, {9});
  return headed(b, b.relu(layer(product, 9)), 9, 5);
}

struct Network {
  const char* name;
  Graph graph;
  bool dense;  // with ReLUs alone
};

std::vector<Network> networks() {
  return {{"small", testing::dense_chain({2, 3, 1}), true},
          {"narrow", testing::dense_chain({7, 20, 6, 12}), true},
          {"deep", testing::dense_chain({5, 50, 50, 50, 5}), true},
          {"wide", testing::dense_chain({33, 140, 10}), true},
          {"digits", model("digits_64x2.onnx"), true},
          {"residual", residual(), false},
          {"pooling", pooling(), false},
          {"products", products(), false}};
}

// ---- what plans are made of

void expect_prebuilt(const Plan& plan, const calls::Call& call) {
  using namespace calls;
  const auto* const routine = std::get_if<Routine>(&call.callee);
  if (routine == nullptr) {
    const Kernel& kernel = plan.kernel(std::get<KernelCall>(call.callee).id);
    EXPECT_TRUE(is_prebuilt(plan.config.target.vector_bytes / 4, variant_of(kernel))) << kernel.key;
    return;
  }
  EXPECT_NE(*routine, Routine::kFirstLink);
  EXPECT_NE(*routine, Routine::kMaxIntervalGroups);
  const int bytes = plan.config.target.vector_bytes;
  for (const TemplateArgument& constant : call.constants) {
    if (const auto* const number = std::get_if<Integer>(&constant)) {
      const auto value = static_cast<int>(number->value);
      const int rows = *routine == Routine::kStartRows ? 2 * value : value;  // pairs
      EXPECT_TRUE(value == 1 || value == prebuilt_boxes(bytes / 4) ||
                  is_prebuilt_routine_rows(bytes / 4, rows))
          << value;
    } else if (const auto* const tile = std::get_if<Tile>(&constant)) {
      bool found = false;
      for (int sums = 1; sums <= 8; sums *= 2) {
        const bf::ConvRowTile made = bf::prebuilt_row_tile(bytes, sums);
        found = found || *tile == Tile{made.columns, made.pixels, made.last_columns};
      }
      EXPECT_TRUE(found) << tile->columns << " " << tile->pixels << " " << tile->last_columns;
    } else {
      EXPECT_TRUE(std::holds_alternative<Flag>(constant));
    }
  }
}

void expect_prebuilt(const Plan& plan) {
  for (const calls::Program& program : calls::programs_of(plan, weight_tables(plan)))
    calls::for_each_call(program, [&](const calls::Call& call) { expect_prebuilt(plan, call); });
  for (const Kernel& kernel : plan.kernels) {
    EXPECT_NE(kernel.strategy, Lowering::kVector);
    EXPECT_EQ(kernel.strategy == Lowering::kPrebuilt,
              kernel.reason.ends_with("extents of prebuilt code"));
  }
}

class Prebuilt : public ::testing::TestWithParam<Method> {};

TEST_P(Prebuilt, ConstantsAreInTheSets) {
  const int batches[] = {1, 16, 100};
  const int tiles[] = {0, 2, 6, 24, 64, 1000, 12};
  std::size_t turn = 0;
  for (const Network& network : networks())
    for (const char* target : kTargets)
      for (int i = 0; i < 3; ++i, ++turn) {
        if (GetParam() == Method::kForward && !network.dense) continue;
        PlannerConfig config = config_of(target, GetParam());
        config.batch = batches[turn % std::size(batches)];
        config.row_tile = tiles[turn % std::size(tiles)];
        SCOPED_TRACE(std::string(network.name) + " " + target + " " + std::to_string(config.batch) +
                     " " + std::to_string(config.row_tile));
        expect_prebuilt(planned(network.graph, config));
      }
}

// The smallest budget that a refusal names.
int least_budget(const Graph& graph, PlannerConfig config) {
  config.memory_budget = 1;
  try {
    planned(graph, config);
  } catch (const CompileError& error) {
    const std::string& hint = error.diagnostics().front().hint;
    const std::string option = "--memory-budget ";
    const std::size_t found = hint.find(option);
    if (found != std::string::npos) return std::stoi(hint.substr(found + option.size()));
  }
  ADD_FAILURE() << "not refused";
  return 1 << 20;
}

TEST(PrebuiltPlans, KeepTheSetsInLittleMemory) {
  for (const Network& network : networks())
    for (const char* target : kTargets) {
      PlannerConfig config = config_of(target);
      const auto whole = static_cast<int>(planned(network.graph, config).arena_bytes());
      const int least = least_budget(network.graph, config);
      for (const int budget : {least, (least + whole) / 2}) {
        SCOPED_TRACE(std::string(network.name) + " " + target + " " + std::to_string(budget));
        config.memory_budget = budget;
        const Plan plan = planned(network.graph, config);
        EXPECT_LE(plan.arena_bytes(), budget);
        expect_prebuilt(plan);
      }
    }
}

TEST(PrebuiltPlans, KeepTheSetsWhenRowsAreSearched) {
  for (const char* target : kTargets) {
    PlannerConfig config = config_of(target, Method::kAuto);
    expect_prebuilt(planned(testing::dense_chain({5, 20, 20, 3}), config));
  }
}

// Sizes of tiles are those of vectors, or the next that there is.
TEST(PrebuiltPlans, RoundRowsToTheSet) {
  const auto tile_of = [](const char* target, int neurons, bool wide, int asked = 0) {
    Plan plan;
    plan.config = config_of(target);
    return LoweringPlanner(plan).row_tile(neurons, wide, asked);
  };
  EXPECT_EQ(tile_of("x86-64-v4", 10, true), 32);  // 24 as vectors
  EXPECT_EQ(tile_of("x86-64-v4", 5, true), 16);
  EXPECT_EQ(tile_of("x86-64-v3", 5, true), 16);  // 12 as vectors
  EXPECT_EQ(tile_of("x86-64", 1, true), 4);
  EXPECT_EQ(tile_of("generic", 1, true), 4);
  EXPECT_EQ(tile_of("x86-64-v4", 100, false, 2), 16);  // no vector of floats is smaller
  EXPECT_EQ(tile_of("x86-64-v4", 100, true, 24), 16);  // no more than asked
  EXPECT_EQ(tile_of("x86-64-v4", 100, true, 1000), 32);
  EXPECT_EQ(tile_of("x86-64-v3", 100, false, 1000), 32);
  EXPECT_EQ(tile_of("x86-64", 100, false, 1000), 16);
  EXPECT_EQ(tile_of("generic", 100, false, 6), 4);
}

// The set of each instruction set, whatever this machine has: a tile of 32 rows of doubles is four
// vectors of v4 and eight of v3, and SSE2 has none.
TEST(PrebuiltPlans, HaveKernelsOfEveryTile) {
  const auto backward = [](int rows, bool wide) {
    KernelVariant variant = {};
    variant.kind = KernelKind::kBackwardAffine;
    variant.rows = rows;
    variant.boxes = 1;
    variant.wide = wide;
    return variant;
  };
  EXPECT_TRUE(is_prebuilt(8, backward(32, true)));
  EXPECT_TRUE(is_prebuilt(8, backward(4, true)));
  EXPECT_FALSE(is_prebuilt(8, backward(4, false)));
  EXPECT_FALSE(is_prebuilt(8, backward(12, true)));
  EXPECT_TRUE(is_prebuilt(16, backward(8, true)));
  EXPECT_FALSE(is_prebuilt(16, backward(64, false)));
  EXPECT_FALSE(is_prebuilt(4, backward(32, true)));
  for (const char* target : {"x86-64", "x86-64-v3", "x86-64-v4"})
    for (const int tile : {2, 12, 24, 32, 64}) {
      PlannerConfig config = config_of(target);
      config.row_tile = tile;
      expect_prebuilt(planned(testing::dense_chain({7, 20, 6, 12}), config));
      expect_prebuilt(planned(residual(), config));
    }
}

TEST(PrebuiltPlans, AreOfVectorsAndNotOfFirstLinksAndViews) {
  const Plan plan = planned(model("collision_avoidance_6x50.onnx"), config_of("x86-64-v4"));
  const auto has = [&](Lowering lowering) {
    return std::ranges::count(plan.kernels, lowering, &Kernel::strategy) > 0;
  };
  EXPECT_TRUE(has(Lowering::kPrebuilt));
  EXPECT_EQ(std::ranges::count(plan.kernels, KernelKind::kFirstLink, &Kernel::kind), 0);
  const Plan pool = planned(pooling(), config_of("x86-64-v4", Method::kIbp));
  int maxima = 0;
  for (const Step& step : pool.entries.front().steps)
    if (const auto* const max = std::get_if<IntervalMax>(&step)) {
      ++maxima;
      EXPECT_FALSE(max->groups.has_value());
    }
  EXPECT_EQ(maxima, 1);
}

TEST(PrebuiltPlansDeathTest, VerifyCatchesWhatIsNotInTheSets) {
  const auto as_prebuilt = [](const Graph& graph, PlannerConfig config) {
    config.lowering = Lowering::kVector;
    Plan made = planned(graph, config);
    made.config.lowering = Lowering::kPrebuilt;
    verify(made);
  };
  PlannerConfig config = config_of("x86-64-v3");
  config.row_tile = 24;
  EXPECT_DEATH(as_prebuilt(testing::dense_chain({5, 50, 50, 5}), config),
               "rows24.* is not prebuilt|pairs = 12 is not prebuilt");
  EXPECT_DEATH(as_prebuilt(residual(), config), "rows = 24 is not prebuilt");
  EXPECT_DEATH(as_prebuilt(testing::dense_chain({5, 50, 50, 5}), config_of("x86-64-v4")),
               "call of first_link: in = 5 is not prebuilt");
  EXPECT_DEATH(as_prebuilt(pooling(), config_of("x86-64-v3", Method::kIbp)),
               "call of max_interval: its groups is not prebuilt");
  EXPECT_DEATH(as_prebuilt(residual(), config_of("x86-64-v3")), "its tile is not prebuilt");
}

INSTANTIATE_TEST_SUITE_P(Methods, Prebuilt,
                         ::testing::Values(Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                           Method::kAlphaCrown, Method::kForward),
                         [](const auto& test) {
                           std::string name(to_string(test.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace bf_aot
