// The same harness without libFuzzer: seeded random mutations of good and bad properties.

#include "tests/fuzz/fuzz_vnnlib.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/mutate_property.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> load(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(BF_SOURCE_DIR + folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) texts.push_back(test::read_bytes(path));
  return texts;
}

TEST(FuzzVnnlib, SeedsCoverBothOutcomes) {
  const std::vector<std::string> seeds = load("/tests/fuzz/vnnlib");
  EXPECT_GE(seeds.size(), 4u);
  for (const std::string& seed : seeds) EXPECT_TRUE(test::try_property(seed)) << seed;
}

// Whole tokens are moved about, so that many texts still mean something.
TEST(FuzzVnnlib, OnlyCompileErrorsEscape) {
  const char* const given = std::getenv("BF_FUZZ_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 1;
  SCOPED_TRACE("BF_FUZZ_SEED=" + std::to_string(seed));
  std::vector<std::string> texts = load("/tests/fuzz/vnnlib");
  for (std::string& text : load("/tests/errors/vnnlib")) texts.push_back(std::move(text));
  static const char* const kTokens[] = {
      "(",     ")",     "or",     "and", "not", "<=",  ">=",   "=",   "X_0",      "Y_0",
      "-1e-5", "1e300", "0.1",    "+",   "*",   "-",   "true", ";",   "\"",       "[0]",
      "X[0]",  "<",     "assert", "let", "ite", "max", "abs",  "min", "((a X_0))"};
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  int accepted = 0, rejected = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text = texts[below(texts.size())];
    for (std::size_t count = 1 + below(4); count > 0; --count) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text.insert(at, std::string(" ") + kTokens[below(std::size(kTokens))] + " ");
          break;
        case 1:
          text.erase(at, below(12));
          break;
        case 2:
          text.insert(below(text.size()), text.substr(at, below(60)));
          break;
        case 3:
          if (!text.empty()) text[at] = static_cast<char>(random());
          break;
        default:
          text.replace(at, below(4), std::to_string(random() % 1000));
          break;
      }
    }
    ++(test::try_property(text) ? accepted : rejected);
  }
  // Mutations that never, or only, break a text would test nothing.
  EXPECT_GT(accepted, 1'000);
  EXPECT_GT(rejected, 10'000);
}

// Whole s-expressions: deeper into the meaning than damaged texts come.
TEST(FuzzVnnlib, OnlyCompileErrorsEscapeFromChangedExpressions) {
  const char* const given = std::getenv("BF_FUZZ_SEED");
  std::mt19937 random(given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 1);
  const std::vector<std::string> good = load("/tests/fuzz/vnnlib");
  const std::vector<std::string> bad = load("/tests/errors/vnnlib");
  int accepted = 0, rejected = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto seed = static_cast<unsigned>(random());
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<std::string>& from = random() % 4 == 0 ? bad : good;
    const std::string text = test::mutate_property(from[random() % from.size()], seed);
    ++(test::try_property(text) ? accepted : rejected);
  }
  EXPECT_GT(accepted, 1'000);
  EXPECT_GT(rejected, 1'000);
}

}  // namespace
}  // namespace bf_aot
