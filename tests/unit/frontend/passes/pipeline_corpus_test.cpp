// Normalises the competition networks, all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "frontend/algebra/linear_algebra.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/graph/index_maps.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "tests/paths.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

fs::path corpus() {
  const char* const shared = std::getenv("BF_SHARED");
  return (shared != nullptr ? fs::path(shared) : fs::path(BF_SOURCE_DIR "/../shared")) / "corpus";
}

std::vector<fs::path> networks() {
  std::vector<fs::path> result;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(corpus()))
    if (entry.path().filename().string().find(".onnx") != std::string::npos)
      result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

std::int64_t count(const Graph& graph, ValueId id) {
  return element_count(graph.value(id).shape);
}

// Maps that only move elements, but for results of contractions, which are in the order of their
// rows and columns.
int permutations(const Graph& graph) {
  int found = 0;
  const std::vector<int> makers = producers(graph);
  for (const Node& node : graph.nodes) {
    const auto* map = std::get_if<IndexMap>(&node.op);
    if (map == nullptr) continue;
    const int maker = makers[index_of(node.inputs[0])];
    if (maker >= 0 &&
        std::holds_alternative<Contraction>(graph.nodes[static_cast<std::size_t>(maker)].op))
      continue;
    found += is_permutation(map->source, count(graph, node.inputs[0])) ? 1 : 0;
  }
  return found;
}

std::int64_t products(const Graph& graph) {
  std::int64_t cost = 0;
  for (const Node& node : graph.nodes)
    if (is_linear(node.op)) cost += cost_of(node.op, count(graph, node.inputs[0]));
  return cost;
}

void expect_same_function(const Graph& original, const Graph& graph) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> point(static_cast<std::size_t>(count(original, original.inputs.at(0))));
  for (double& x : point) x = uniform(random);
  const std::vector<std::vector<double>> expected = evaluate(original, {point});
  const std::vector<std::vector<double>> actual = evaluate(graph, {point});
  ASSERT_EQ(expected.size(), actual.size());
  double largest = 1;
  for (double y : expected[0]) largest = std::max(largest, std::fabs(y));
  for (std::size_t i = 0; i < expected[0].size(); ++i)
    ASSERT_NEAR(expected[0][i], actual[0][i], 1e-9 * largest) << "output " << i;
}

// No tensor is permuted at run time, whatever the exporter left in the model; networks small enough
// for a test compute the same as before.
TEST(NormalisedCorpus, HasNoPermutationsAndTheSameFunction) {
  if (!fs::exists(corpus()))
    GTEST_SKIP() << "no corpus: set BF_SHARED to the folder that holds corpus/";
  int tested = 0;
  for (const fs::path& path : networks()) {
    SCOPED_TRACE(path.string());
    const ImportedModel model = import_model(path);
    Graph graph = model.graph;
    normalise(graph);
    EXPECT_EQ(permutations(graph), 0) << to_string(graph);
    ++tested;
    if (model.graph.inputs.size() == 1 && products(graph) < 3'000'000)
      expect_same_function(model.graph, graph);
  }
  EXPECT_GE(tested, 50);
}

}  // namespace
}  // namespace bf_aot
