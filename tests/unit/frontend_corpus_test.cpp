// Imports the competition networks that use supported operators only.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/importer.h"
#include "tests/support/model_text.h"

namespace bf {
namespace {

namespace fs = std::filesystem;

fs::path corpus_folder() {
  const char* const shared = std::getenv("BF_SHARED");
  return (shared != nullptr ? fs::path(shared) : fs::path(BF_SOURCE_DIR "/../shared")) / "corpus";
}

// The model, unpacked into `folder` when it is compressed.
fs::path unpacked(const fs::path& path, const fs::path& folder) {
  if (path.extension() != ".gz") return path;
  const fs::path result = folder / path.stem();
  const std::string command = "gzip -dc '" + path.string() + "' > '" + result.string() + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot unpack " + path.string());
  return result;
}

std::vector<fs::path> models_of(const std::string& family) {
  std::vector<fs::path> models;
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus_folder() / family / "onnx"))
    models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  return models;
}

struct Family {
  const char* name;
  std::size_t models;
  std::size_t relu_layers;  // of the first model
  std::int64_t inputs;
  std::int64_t outputs;
};

class Corpus : public testing::TestWithParam<Family> {};

TEST_P(Corpus, imports) {
  if (!fs::exists(corpus_folder() / GetParam().name))
    GTEST_SKIP() << "no corpus: set BF_SHARED to the folder that holds corpus/";
  const std::vector<fs::path> models = models_of(GetParam().name);
  EXPECT_EQ(models.size(), GetParam().models);
  const test::TempFolder folder;
  for (const fs::path& path : models) {
    SCOPED_TRACE(path.string());
    const ImportedModel model = import_model(unpacked(path, folder.path()));
    verify(model.graph);
    EXPECT_EQ(model.graph.inputs.size(), 1u);
    EXPECT_EQ(model.graph.outputs.size(), 1u);
    if (path != models.front()) continue;
    EXPECT_EQ(element_count(model.graph.value(model.graph.inputs[0]).shape), GetParam().inputs);
    EXPECT_EQ(element_count(model.graph.value(model.graph.outputs[0]).shape), GetParam().outputs);
    EXPECT_EQ(static_cast<std::size_t>(
                  std::count_if(model.graph.nodes.begin(), model.graph.nodes.end(),
                                [](const Node& node) { return op_name(node.op) == "relu"; })),
              GetParam().relu_layers);
  }
}

INSTANTIATE_TEST_SUITE_P(
    FullyConnected, Corpus,
    testing::Values(Family{"acasxu", 22, 6, 5, 5}, Family{"mnist_fc", 2, 2, 784, 10},
                    Family{"rl_benchmarks", 2, 2, 4, 2}, Family{"reach_prob_density", 1, 2, 3, 3},
                    Family{"tllverifybench", 6, 8, 2, 1}, Family{"test", 5, 1, 1, 1}),
    [](const auto& instance) { return std::string(instance.param.name); });

// Networks beyond the supported operators fail in one run with one diagnostic per node.
TEST(CorpusErrors, lists_all_unsupported_operators) {
  const fs::path path = corpus_folder() / "verivital/onnx/Convnet_avgpool.onnx";
  if (!fs::exists(path))
    GTEST_SKIP() << "no corpus: set BF_SHARED to the folder that holds corpus/";
  try {
    import_model(path);
    FAIL() << "accepted";
  } catch (const CompileError& error) {
    std::map<std::string, int> messages;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      EXPECT_EQ(diagnostic.code, "BF1010");
      ++messages[diagnostic.message];
    }
    EXPECT_EQ(messages.size(), 3u);
    EXPECT_EQ(messages["operator Conv is not supported"], 1);
    EXPECT_EQ(messages["operator Pad is not supported"], 1);
    EXPECT_EQ(messages["operator AveragePool is not supported"], 1);
  }
}

}  // namespace
}  // namespace bf
