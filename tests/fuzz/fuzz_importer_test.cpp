// The same harness without libFuzzer: seeded random mutations of the seed models, a few seconds.

#include "tests/fuzz/fuzz_importer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/mutate_model.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> load_seeds(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(BF_SOURCE_DIR + folder))
    if (entry.path().extension() == ".textproto") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const fs::path& path : paths) seeds.push_back(test::encode_model_file(path));
  return seeds;
}

// Models that are good or nearly so, and models that are each wrong in one way.
std::vector<std::string> load_good_seeds() {
  return load_seeds("/tests/fuzz/seeds");
}
std::vector<std::string> load_bad_seeds() {
  return load_seeds("/tests/errors");
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  std::string mutate(std::string bytes, const std::vector<std::string>& seeds) {
    for (std::size_t count = 1 + below(6); count > 0; --count) step(bytes, seeds);
    return bytes;
  }

 private:
  void step(std::string& bytes, const std::vector<std::string>& seeds) {
    const std::size_t at = below(bytes.size());
    const std::size_t length = below(std::min<std::size_t>(bytes.size() - at, 16) + 1);
    switch (below(7)) {
      case 0:
        flip(bytes, at);
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = kInteresting[below(kInteresting.size())];
        break;
      case 2:
        bytes.insert(at, 1 + below(4), static_cast<char>(random_()));
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(below(bytes.size()), bytes.substr(at, length));
        break;
      case 5:
        bytes.resize(at);
        break;
      default:
        splice(bytes, at, seeds[below(seeds.size())]);
        break;
    }
  }

  void flip(std::string& bytes, std::size_t at) {
    if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
  }

  void splice(std::string& bytes, std::size_t at, const std::string& other) {
    const std::size_t from = below(other.size());
    bytes.insert(at, other.substr(from, below(64)));
  }

  const std::string kInteresting = {'\0', '\1', '\x7f', '\x80', '\xff', '\x0a', '\x3a'};
  std::mt19937 random_;
};

TEST(FuzzImporter, seeds_cover_both_outcomes) {
  int accepted = 0;
  for (const std::string& seed : load_good_seeds()) accepted += test::try_import(seed);
  EXPECT_EQ(accepted, 5);
  const std::vector<std::string> bad = load_bad_seeds();
  EXPECT_GT(bad.size(), 30u);
  for (const std::string& seed : bad) EXPECT_FALSE(test::try_import(seed));
}

TEST(FuzzImporter, only_compile_errors_escape) {
  const char* const given = std::getenv("BF_FUZZ_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 1;
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE("BF_FUZZ_SEED=" + std::to_string(seed));
  const std::vector<std::string> good = load_good_seeds();
  const std::vector<std::string> bad = load_bad_seeds();
  Mutator mutator(seed);
  int accepted = 0;
  int rejected = 0;
  for (int round = 0; round < 200'000; ++round) {
    const std::vector<std::string>& from = mutator.below(4) == 0 ? bad : good;
    const std::string& start = from[mutator.below(from.size())];
    const std::string bytes = mutator.mutate(start, mutator.below(2) == 0 ? good : bad);
    ++(test::try_import(bytes) ? accepted : rejected);
  }
  // Mutations that never, or only, break a model would test nothing.
  EXPECT_GT(accepted, 100);
  EXPECT_GT(rejected, 1'000);
}

// Messages that are whole: deeper into the operators than damaged bytes come.
TEST(FuzzImporter, only_compile_errors_escape_from_changed_messages) {
  const char* const given = std::getenv("BF_FUZZ_SEED");
  std::mt19937 random(given != nullptr ? static_cast<unsigned>(std::stoul(given)) : 1);
  const std::vector<std::string> good = load_good_seeds();
  const std::vector<std::string> bad = load_bad_seeds();
  int accepted = 0;
  int rejected = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::vector<std::string>& from = random() % 2 == 0 ? bad : good;
    const auto seed = static_cast<unsigned>(random());
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string bytes = test::mutate_model(from[random() % from.size()], seed);
    ++(test::try_import(bytes) ? accepted : rejected);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(rejected, 1'000);
}

}  // namespace
}  // namespace bf_aot
