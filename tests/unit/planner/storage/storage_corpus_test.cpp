#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/planner.h"
#include "tests/paths.h"

// Workspaces of the networks of the shared corpus (environment: BF_SHARED).
namespace bf_aot {
namespace {

namespace fs = std::filesystem;

fs::path corpus() {
  const char* const shared = std::getenv("BF_SHARED");
  return (shared != nullptr ? fs::path(shared) : fs::path(BF_SOURCE_DIR) / ".." / "shared") /
         "corpus";
}

Plan plan_file(const fs::path& file, Method method) {
  ImportedModel model = import_model(file.string());
  normalise(model.graph);
  PlannerConfig config;
  config.method = method;
  config.target = find_target("x86-64-v4");
  return plan(model.graph, model.info, "net", false, config);
}

// Networks of equal size in bytes are taken for the same architecture.
std::vector<fs::path> networks() {
  std::vector<fs::path> files;
  std::vector<std::uintmax_t> sizes;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(corpus())) {
    if (entry.path().parent_path().filename() != "onnx") continue;
    if (std::ranges::count(sizes, entry.file_size()) > 0) continue;
    sizes.push_back(entry.file_size());
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

class StorageCorpus : public ::testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    if (!fs::exists(corpus()))
      GTEST_SKIP() << "no corpus: set BF_SHARED to the folder that holds corpus/";
  }
};

TEST_P(StorageCorpus, NoWorkspaceCouldBeSmaller) {
  int entries = 0;
  for (const fs::path& file : networks()) {
    for (const Entry& entry : plan_file(file, GetParam()).entries) {
      ++entries;
      EXPECT_TRUE(entry.storage.proof == StorageProof::kLowerBound ||
                  entry.storage.proof == StorageProof::kSearched)
          << file.filename() << " " << to_string(entry.kind) << ": " << entry.storage.planned_bytes
          << " of at least " << entry.storage.lower_bound_bytes;
    }
  }
  EXPECT_GE(entries, 40);
}

INSTANTIATE_TEST_SUITE_P(Methods, StorageCorpus,
                         ::testing::Values(Method::kIbp, Method::kCrownIbp, Method::kCrown),
                         [](const auto& test) {
                           std::string name(to_string(test.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

StorageTotals storage_of(const std::string& file, Method method, EntryKind kind) {
  return plan_file(corpus() / file, method).find_entry(kind)->storage;
}

// Percent of one range per value.
double saved(const StorageTotals& totals) {
  return 100 -
         100 * static_cast<double>(totals.planned_bytes) / static_cast<double>(totals.naive_bytes);
}

TEST(StorageSavings, AreThoseOfAResidualNetworkAndOfASmallConvolutionalOne) {
  if (!fs::exists(corpus())) GTEST_SKIP() << "no corpus: set BF_SHARED to the folder above it";
  const auto bounds = EntryKind::kBounds, evaluate = EntryKind::kEvaluate;
  EXPECT_GE(saved(storage_of("cifar10_resnet/onnx/resnet_2b.onnx", Method::kCrown, bounds)), 76);
  // Float32 sums become activations in place: less memory, and little left to share.
  for (const char* const file :
       {"verivital/onnx/Convnet_avgpool.onnx", "verivital/onnx/Convnet_maxpool.onnx"}) {
    const StorageTotals values = storage_of(file, Method::kIbp, evaluate);
    EXPECT_GE(saved(values), 41) << file;
    EXPECT_LT(storage_of(file, Method::kIbp, bounds).planned_bytes,
              values.planned_bytes * 2 / 3 + 1)
        << file;
  }
}

}  // namespace
}  // namespace bf_aot
