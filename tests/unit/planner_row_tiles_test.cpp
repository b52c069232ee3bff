#include <gtest/gtest.h>

#include <string>

#include "frontend/import/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/lowering.h"
#include "planner/planner.h"

// How many rows go together, and in which vectors.
namespace bf {
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

TEST(RowTile, KernelsHaveALaneForEachRow) {
  for (const char* file : {"collision_avoidance_6x50.onnx", "digits_64x2.onnx"})
    for (const char* target : {"generic", "x86-64", "x86-64-v3", "x86-64-v4"}) {
      ImportedModel model = import_model(std::string(BF_SOURCE_DIR) + "/models/" + file);
      normalise(model.graph);
      const Plan made = plan(model.graph, model.info, "net", false, config_of(target));
      for (const Kernel& kernel : made.kernels)
        EXPECT_TRUE(kernel.rows == 0 ||
                    kernel.rows == kernel.schedule.lanes * kernel.schedule.vectors)
            << kernel.key;
    }
}

}  // namespace
}  // namespace bf
