// The same harness without libFuzzer: seeded random changes of JSON files.

#include "tests/fuzz/fuzz_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/mutate_json.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> seeds() {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(BF_SOURCE_DIR "/tests/fuzz/json"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) texts.push_back(test::read_bytes(path));
  return texts;
}

TEST(FuzzJson, SeedsAreAccepted) {
  EXPECT_GE(seeds().size(), 5u);
  for (const std::string& seed : seeds()) EXPECT_TRUE(test::try_json(seed)) << seed;
}

TEST(FuzzJson, OnlyCompileErrorsEscape) {
  const char* const given = std::getenv("BF_FUZZ_SEED");
  std::mt19937 random(given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 1);
  const std::vector<std::string> texts = seeds();
  int accepted = 0, rejected = 0;
  for (int round = 0; round < 5'000; ++round) {
    const auto seed = static_cast<unsigned>(random());
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string text = test::mutate_json(texts[random() % texts.size()], seed);
    ++(test::try_json(text) ? accepted : rejected);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(rejected, 500);
}

}  // namespace
}  // namespace bf_aot
