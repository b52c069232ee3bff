// Reads all properties of the competitions' benchmarks.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "frontend/property/vnnlib/vnnlib.h"
#include "tests/paths.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

fs::path corpus_folder() {
  const char* const shared = std::getenv("BF_SHARED");
  return (shared != nullptr ? fs::path(shared) : fs::path(BF_SOURCE_DIR "/../shared")) / "corpus";
}

// What a family's files must have in common.
struct Counts {
  std::int64_t inputs, outputs;
  std::size_t cases, clauses, rows;
};

TEST(VnnlibCorpus, ReadsEveryFile) {
  if (!fs::exists(corpus_folder()))
    GTEST_SKIP() << "no corpus: set BF_SHARED to the folder that holds corpus/";
  const std::map<std::string, Counts> expected = {{"mnist_fc", {784, 10, 1, 9, 9}},
                                                  {"oval21_2021", {3072, 10, 1, 9, 9}},
                                                  {"marabou-cifar10", {3072, 10, 1, 1, 9}},
                                                  {"tllverifybench", {2, 1, 1, 1, 1}},
                                                  {"cgan", {5, 1, 1, 2, 1}}};
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(corpus_folder())) {
    const std::string name = entry.path().filename().string();
    if (name.find(".vnnlib") == std::string::npos) continue;
    SCOPED_TRACE(entry.path().string());
    ++files;
    const Property property = read_property(entry.path());
    EXPECT_GT(property.cases.size(), 0u);
    EXPECT_GT(property.rows.size(), 0u);
    const auto family = expected.find(entry.path().parent_path().parent_path().filename().string());
    if (family == expected.end()) continue;
    const Counts& counts = family->second;
    EXPECT_EQ(property.input_count, counts.inputs);
    EXPECT_EQ(property.output_count, counts.outputs);
    EXPECT_EQ(property.cases.size(), counts.cases);
    EXPECT_EQ(property.cases[0].clauses.size(), counts.clauses);
    EXPECT_EQ(property.rows.size(), counts.rows);
  }
  EXPECT_GE(files, 200);
}

TEST(VnnlibCorpus, GroupsDisjunctsByBox) {
  const fs::path path = corpus_folder() / "nn4sys/vnnlib/lindex_200.vnnlib.gz";
  if (!fs::exists(path))
    GTEST_SKIP() << "no corpus: set BF_SHARED to the folder that holds corpus/";
  const Property property = read_property(path);
  EXPECT_EQ(property.cases.size(), 200u);
  for (const PropertyCase& one : property.cases) EXPECT_EQ(one.clauses.size(), 2u);
  EXPECT_EQ(property.rows.size(), 1u);
}

}  // namespace
}  // namespace bf_aot
