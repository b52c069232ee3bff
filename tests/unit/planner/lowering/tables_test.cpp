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

template <typename T>
void expect_elements(const Plan& plan, const WeightTable& table) {
  ASSERT_EQ(table.bytes, table.count * static_cast<std::int64_t>(sizeof(T)));
  std::vector<T> packed(static_cast<std::size_t>(table.count), T{77});
  pack_table(plan, table, packed.data());
  for (std::int64_t i = 0; i < table.count; ++i)
    ASSERT_EQ(static_cast<double>(packed[static_cast<std::size_t>(i)]),
              table_element(plan, table, i))
        << table.name << ", element " << i;
}

void expect_elements(const Plan& plan, int tables) {
  for (const WeightTable& table : weight_tables(plan)) {
    --tables;
    switch (element_of(table.kind)) {
      case Element::kFloat32:
        expect_elements<float>(plan, table);
        break;
      case Element::kFloat64:
        expect_elements<double>(plan, table);
        break;
      case Element::kInt32:
        expect_elements<std::int32_t>(plan, table);
        break;
      case Element::kUint8:
        FAIL() << table.name << " is of bytes";
    }
  }
  EXPECT_EQ(tables, 0);
}

TEST(PackedTables, HaveTheElementsOfConvolutions) {
  std::vector<Layer> layers = residual_layers();
  float next = 1;
  for (Layer& layer : layers)
    for (Term& term : layer.terms)
      for (float& weight : term.weight) weight = next++;
  const Plan plan = residual_plan(layers);
  expect_elements(plan, static_cast<int>(weight_tables(plan).size()));
}

TEST(PackedTables, HaveTheElementsOfPanels) {
  for (const int panel : {1, 2, 4, 8, 16})
    for (const int out : {1, 3, 8, 13}) {
      Plan plan = with_bias("x86-64-v4", std::vector<double>(static_cast<std::size_t>(out), 0.5));
      plan.layers.erase(plan.layers.begin());
      Layer& layer = plan.layers.front();
      layer.terms.clear();
      layer.in = 5;
      for (int i = 0; i < 5 * out; ++i) {
        layer.weight.push_back(static_cast<float>(i + 1));
        layer.residual.push_back(static_cast<float>(-i));
      }
      plan.layouts = {{0, panel}};
      expect_elements(plan, 3);
    }
}

TEST(PackedTables, HaveTheElementsOfSparseRows) {
  Layer layer = residual_layers()[kFirst];
  layer.terms.resize(1);
  layer.terms[0].map = SparseMap{{0, 2, 3}, {4, 0, 1}};
  layer.terms[0].weight = {1, 2, 3};
  layer.terms[0].residual = {-1, -2, -3};
  layer.bias = {0.25, 0};
  layer.out = 2;
  Plan plan;
  plan.config.target = find_target("x86-64-v4");
  plan.layers = {layer};
  expect_elements(plan, 5);
}

}  // namespace
}  // namespace bf_aot
