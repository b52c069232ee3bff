// Imports the competition networks, all of them, and evaluates those whose values are known.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

fs::path shared_folder() {
  const char* const shared = std::getenv("BF_SHARED");
  return shared != nullptr ? fs::path(shared) : fs::path(BF_SOURCE_DIR "/../shared");
}

std::vector<fs::path> models_of(const std::string& family) {
  std::vector<fs::path> models;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(shared_folder() / "corpus" / family / "onnx"))
    models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  return models;
}

struct Family {
  const char* name;
  std::size_t models;
  std::int64_t inputs;  // of the first model
  std::int64_t outputs;
};

class Corpus : public testing::TestWithParam<Family> {};

TEST_P(Corpus, imports) {
  if (!fs::exists(shared_folder() / "corpus" / GetParam().name))
    GTEST_SKIP() << "no corpus: set BF_SHARED to the folder that holds corpus/";
  const std::vector<fs::path> models = models_of(GetParam().name);
  EXPECT_EQ(models.size(), GetParam().models);
  for (const fs::path& path : models) {
    SCOPED_TRACE(path.string());
    const ImportedModel model = import_model(path);
    verify(model.graph);
    EXPECT_EQ(model.graph.inputs.size(), 1u);
    EXPECT_EQ(model.graph.outputs.size(), 1u);
    if (path != models.front()) continue;
    EXPECT_EQ(element_count(model.graph.value(model.graph.inputs[0]).shape), GetParam().inputs);
    EXPECT_EQ(element_count(model.graph.value(model.graph.outputs[0]).shape), GetParam().outputs);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Corpus,
    testing::Values(Family{"acasxu", 22, 5, 5}, Family{"carvana_unet_2022", 1, 5828, 1},
                    Family{"cgan", 1, 5, 1}, Family{"cifar10_resnet", 1, 3072, 10},
                    Family{"cifar_biasfield", 2, 16, 10}, Family{"collins_rul_cnn", 1, 400, 1},
                    Family{"eran", 1, 784, 10}, Family{"marabou-cifar10", 1, 3072, 10},
                    Family{"ml4acopf", 1, 22, 186}, Family{"mnist_fc", 2, 784, 10},
                    Family{"mnist_fc_2021", 1, 784, 10}, Family{"nn4sys", 4, 1, 1},
                    Family{"oval21_2021", 1, 3072, 10}, Family{"reach_prob_density", 1, 3, 3},
                    Family{"rl_benchmarks", 2, 4, 2}, Family{"test", 5, 1, 1},
                    Family{"tllverifybench", 6, 2, 1},
                    Family{"traffic_signs_recognition", 1, 2700, 43},
                    Family{"verivital", 2, 784, 10}, Family{"vit", 1, 3072, 10}),
    [](const auto& instance) {
      std::string name = instance.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

// The corpus' file of this name, packed or not; empty when there is none.
fs::path find_model(const std::string& source) {
  const fs::path wanted = fs::path(source.substr(source.rfind(':') + 1)).filename();
  const std::string stem = wanted.extension() == ".gz" ? wanted.stem() : wanted;
  for (const char* folder : {"corpus", "golden/nets"}) {
    if (!fs::exists(shared_folder() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(shared_folder() / folder)) {
      const fs::path name = entry.path().filename();
      if (name == stem || name == stem + ".gz") return entry.path();
    }
  }
  return {};
}

// auto_LiRPA's values in double at the boxes' centres, whose sums run in another order.
TEST(CorpusValues, agree_with_another_evaluator) {
  const fs::path folder = shared_folder() / "golden";
  if (!fs::exists(folder))
    GTEST_SKIP() << "no golden values: set BF_SHARED to the folder that holds golden/";
  int compared = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().string());
    const nlohmann::json golden = nlohmann::json::parse(test::read_bytes(entry.path()));
    std::string source = golden.at("source");
    source = source.substr(0, source.find(' '));
    const fs::path path = find_model(source);
    if (path.empty()) continue;
    const Graph graph = import_model(path).graph;
    for (const nlohmann::json& box : golden.at("boxes")) {
      std::vector<double> centre = box.at("lower");
      const std::vector<double> upper = box.at("upper");
      for (std::size_t i = 0; i < centre.size(); ++i) centre[i] = (centre[i] + upper[i]) / 2;
      const std::vector<double> expected = box.at("forward");
      const std::vector<double> actual = evaluate(graph, {centre})[0];
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t i = 0; i < actual.size(); ++i)
        EXPECT_NEAR(actual[i], expected[i], 1e-9 * (1 + std::abs(expected[i])));
      ++compared;
    }
  }
  EXPECT_GT(compared, 30);
}

}  // namespace
}  // namespace bf_aot
