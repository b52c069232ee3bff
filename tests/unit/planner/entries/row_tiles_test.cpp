#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/lowering/lowering.h"
#include "planner/planner.h"
#include "planner/verify/verify.h"
#include "tests/paths.h"

// How many rows go together, and in which vectors.
namespace bf_aot {
namespace {

PlannerConfig config_of(const char* target) {
  PlannerConfig config;
  config.target = find_target(target);
  config.method = Method::kCrown;
  return config;
}

// Of `neurons` neurons, both signs.
int tile_of(const char* target, int neurons, bool wide, int asked = 0) {
  Plan plan;
  plan.config = config_of(target);
  return LoweringPlanner(plan).row_tile(neurons, wide, asked);
}

TEST(RowTile, IsWholeVectorsOfWhatIsSummed) {
  EXPECT_EQ(tile_of("x86-64-v4", 5, false), 16);
  EXPECT_EQ(tile_of("x86-64-v4", 10, false), 32);
  EXPECT_EQ(tile_of("x86-64-v4", 10, true), 24);  // three vectors of doubles
  EXPECT_EQ(tile_of("x86-64-v4", 100, true), 32);
  EXPECT_EQ(tile_of("x86-64-v3", 5, false), 16);
  EXPECT_EQ(tile_of("x86-64-v3", 5, true), 12);
  EXPECT_EQ(tile_of("x86-64", 1, true), 4);  // no vector of floats is smaller
  EXPECT_EQ(tile_of("generic", 1, true), 2);
}

TEST(RowTile, IsAsAskedButForPadding) {
  EXPECT_EQ(tile_of("x86-64-v4", 100, false, 20), 32);
  EXPECT_EQ(tile_of("x86-64-v4", 100, true, 20), 24);
  EXPECT_EQ(tile_of("x86-64-v4", 100, true, 1000), 64);
  EXPECT_EQ(tile_of("generic", 100, false, 1000), 8);
}

// Of the last rows in tiles of the planner's own size.
int last_of(const char* target, int neurons, bool all, bool wide) {
  Plan plan;
  plan.config = config_of(target);
  const LoweringPlanner lowering(plan);
  return lowering.last_tile(neurons, all, wide, lowering.row_tile(neurons, wide, 0));
}

TEST(LastTile, HoldsWhatIsLeftOrHalfOfATile) {
  EXPECT_EQ(last_of("x86-64-v4", 50, false, false), 16);  // of 32
  EXPECT_EQ(last_of("x86-64-v4", 50, true, false), 16);   // 4 rows left
  EXPECT_EQ(last_of("x86-64-v4", 50, true, true), 8);
  EXPECT_EQ(last_of("x86-64-v3", 50, false, false), 8);
}

TEST(LastTile, IsNoneWhereItSavesNothing) {
  EXPECT_EQ(last_of("x86-64-v4", 8, false, false), 0);  // one vector
  EXPECT_EQ(last_of("x86-64-v4", 10, true, true), 0);   // one tile, as small as can be
  EXPECT_EQ(last_of("x86-64-v4", 64, true, false), 0);  // whole tiles
  EXPECT_EQ(last_of("x86-64-v4", 30, true, false), 0);  // 28 rows left
  EXPECT_EQ(last_of("x86-64-v4", 1000, false, false), 0);
  EXPECT_EQ(last_of("generic", 50, false, false), 0);
}

Plan planned(const char* file, const char* target) {
  ImportedModel model = import_model(std::string(BF_SOURCE_DIR) + "/models/" + file);
  normalise(model.graph);
  return plan(model.graph, model.info, "net", false, config_of(target));
}

// Rows with a smaller last tile.
BackwardRows& rows_with_last(Plan& plan) {
  for (Step& step : plan.entries.at(0).steps)
    if (auto* const rows = std::get_if<BackwardRows>(&step); rows != nullptr && !rows->last.empty())
      return *rows;
  ADD_FAILURE() << "no rows end in a smaller tile";
  return std::get<BackwardRows>(plan.entries.at(0).steps.at(0));
}

TEST(LastTile, UsesTheSameBuffers) {
  Plan made = planned("collision_avoidance_6x50.onnx", "x86-64-v4");
  BackwardRows& rows = rows_with_last(made);
  const BackwardRows& last = rows.last.front();
  EXPECT_EQ(rows.tile, 32);
  EXPECT_EQ(last.tile, 16);
  EXPECT_EQ(access_of(last).writes, access_of(rows).writes);
  for (std::size_t i = 0; i < rows.links.size(); ++i)
    EXPECT_EQ(made.kernels.at(static_cast<std::size_t>(last.links.at(i).kernel)).rows, 16);
  verify(made);
}

TEST(LastTileDeathTest, VerifyCatchesOtherTilesAndBuffers) {
  const Plan made = planned("collision_avoidance_6x50.onnx", "x86-64-v4");
  const auto expect_death = [&](auto change, const char* message) {
    Plan plan = made;
    change(rows_with_last(plan));
    EXPECT_DEATH(verify(plan), message);
  };
  expect_death([](BackwardRows& rows) { rows.last.front().tile = 8; }, "is_of_rows");
  expect_death([](BackwardRows& rows) { rows.last.push_back(rows.last.front()); },
               "step.last.size");
  expect_death([](BackwardRows& rows) { rows.last.front().last = rows.last; }, "last.last.empty");
  expect_death([](BackwardRows& rows) { std::swap(rows.tile, rows.last.front().tile); }, "");
  expect_death([](BackwardRows& rows) { rows.last.front().concretize_inflate *= 2; },
               "same == step");
}

TEST(RowTile, KernelsHaveALaneForEachRow) {
  for (const char* file : {"collision_avoidance_6x50.onnx", "digits_64x2.onnx"})
    for (const char* target : {"generic", "x86-64", "x86-64-v3", "x86-64-v4"}) {
      const Plan made = planned(file, target);
      for (const Kernel& kernel : made.kernels)
        EXPECT_EQ(kernel.rows % (kernel.schedule.lanes * kernel.schedule.vectors), 0) << kernel.key;
    }
}

Schedule product_of(const char* target, int row_tile) {
  PlannerConfig config = config_of(target);
  config.row_tile = row_tile;
  ImportedModel model = import_model(std::string(BF_SOURCE_DIR) + "/models/digits_64x2.onnx");
  normalise(model.graph);
  const Plan made = plan(model.graph, model.info, "net", false, config);
  for (const Kernel& kernel : made.kernels)
    if (kernel.kind == KernelKind::kBackwardAffine && kernel.in == 64 && kernel.out == 64 &&
        !kernel.wide && kernel.rows == row_tile)
      return kernel.schedule;
  ADD_FAILURE() << "no product of " << row_tile << " rows";
  return {};
}

TEST(RegisterTile, FillsTheRegistersAndNoMore) {
  const auto expect = [](const Schedule& schedule, int columns, int vectors) {
    EXPECT_EQ(schedule.columns, columns);
    EXPECT_EQ(schedule.vectors, vectors);
  };
  expect(product_of("x86-64-v4", 32), 13, 2);
  expect(product_of("x86-64-v3", 16), 6, 2);  // 12 sums, two coefficients, one weight
  expect(product_of("x86-64", 8), 6, 2);
}

// With four vectors 16 registers hold sums of two columns, for which every load serves too few
// products.
TEST(RegisterTile, TakesFourVectorsOfRowsInGroupsWhereRegistersAreFew) {
  EXPECT_EQ(product_of("x86-64-v4", 64).vectors, 4);
  for (const char* target : {"x86-64-v3", "x86-64"}) {
    const int lanes = std::string(target) == "x86-64" ? 4 : 8;
    EXPECT_EQ(product_of(target, 4 * lanes).vectors, 2);
    EXPECT_EQ(product_of(target, 4 * lanes).columns, 6);
  }
}

}  // namespace
}  // namespace bf_aot
