#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "planner/lowering/weight_tables.h"
#include "planner/planner.h"
#include "tests/unit/planner/toy_images.h"

// Biases that neurons side by side share.
namespace bf_aot {
namespace {

using namespace bf_aot::testing;

// Two layers of `bias.size()` neurons, a sum and a dense one.
Plan with_bias(std::string_view target, std::vector<double> bias) {
  Plan plan;
  plan.config.target = find_target(target);
  Layer layer = sum("s", {identity(-1, static_cast<std::int64_t>(bias.size()))}, bias);
  plan.layers = {layer, layer};
  plan.layers[1].kind = LayerKind::kDense;
  return plan;
}

// bias[c] for each of `pixels` neurons of channel c.
std::vector<double> by_channels(const std::vector<double>& bias, std::size_t pixels) {
  std::vector<double> all;
  for (const double b : bias) all.insert(all.end(), pixels, b);
  return all;
}

int run_of(std::string_view target, std::vector<double> bias) {
  return bias_run(with_bias(target, std::move(bias)), 0);
}

TEST(BiasRuns, AreWholeVectorsOfChannels) {
  for (const char* target : {"x86-64", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    EXPECT_EQ(run_of(target, by_channels({1, 2, 3}, 16)), 16);
    EXPECT_EQ(run_of(target, by_channels({1, 2, 1, 2}, 48)), 48);
    EXPECT_EQ(run_of(target, by_channels({1, 2}, 27)), 1);
  }
  for (const char* target : {"generic", "cortex-m4", "cortex-m7", "riscv64"}) {
    EXPECT_EQ(run_of(target, by_channels({1, 2, 3}, 16)), 16);
    EXPECT_EQ(run_of(target, by_channels({1, 2}, 27)), 27);
    EXPECT_EQ(run_of(target, by_channels({1, 2}, 15)), 1);
  }
}

TEST(BiasRuns, AllOrNone) {
  EXPECT_EQ(run_of("x86-64-v4", by_channels({1, 1, 1}, 9)), 27);
  EXPECT_EQ(run_of("x86-64-v4", by_channels({0, 0}, 16)), 1);  // has no table
  EXPECT_EQ(run_of("x86-64-v4", {5}), 1);
  EXPECT_EQ(bias_run(with_bias("x86-64-v4", by_channels({1, 2}, 16)), 1), 1);  // dense
}

TEST(BiasRuns, EndWhereOneNeuronDiffers) {
  std::vector<double> bias = by_channels({1, 2, 3, 4}, 16);
  bias[40] = 3.5;  // as an offset does at a border
  EXPECT_EQ(run_of("x86-64-v4", bias), 1);
  bias = by_channels({1, 2}, 16);
  bias.push_back(2);  // no whole run
  EXPECT_EQ(run_of("x86-64-v4", bias), 1);
}

TEST(BiasRuns, TablesHaveOneOfEach) {
  std::vector<Layer> layers = residual_layers();
  layers[kFirst].bias = std::vector<double>(16, 2.5);
  layers[kSecond].bias = std::vector<double>(16, 0.0);
  layers[kBlock].bias[3] = 1;
  const Plan plan = residual_plan(layers);
  PerLayer<std::int64_t> counts(layers.size(), 0);
  for (const WeightTable& table : weight_tables(plan)) {
    if (table.kind != TableKind::kBiasDouble) continue;
    counts[table.layer] = table.count;
    EXPECT_EQ(table.bytes, 8 * table.count);
    if (table.layer == kFirst) {
      EXPECT_EQ(table_element(plan, table, 0), 2.5);
    } else if (table.layer == kBlock) {
      EXPECT_EQ(table_element(plan, table, 3), 1);
    }
  }
  EXPECT_EQ(counts[kFirst], 1);
  EXPECT_EQ(counts[kSecond], 0);
  EXPECT_EQ(counts[kBlock], 16);
}

}  // namespace
}  // namespace bf_aot
