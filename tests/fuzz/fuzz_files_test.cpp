// The same harness without libFuzzer: seeded random changes of .npy and .nnet files.

#include "tests/fuzz/fuzz_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> seeds() {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(BF_SOURCE_DIR "/tests/fuzz/files"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const fs::path& path : paths) files.push_back(test::read_bytes(path));
  return files;
}

std::string changed(std::string bytes, std::mt19937& random) {
  constexpr std::string_view kParts[] = {
      "0", "-1", "1e308", ",",   "\n", "//",  "4294967296",
      "(", ")",  "'",     "nan", "2",  "<f8", "18446744073709551615"};
  for (std::uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
    const std::size_t at = random() % (bytes.size() + 1);
    const std::string_view part = kParts[random() % std::size(kParts)];
    switch (random() % 5) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.insert(at, part);
        break;
      case 2:
        bytes.replace(at, random() % 4, part);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at / 2, random() % 40));
        break;
      default:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
    }
  }
  return bytes;
}

TEST(FuzzFiles, SeedsAreAccepted) {
  EXPECT_GE(seeds().size(), 3U);
  for (const std::string& seed : seeds()) EXPECT_TRUE(test::try_file(seed)) << seed;
}

TEST(FuzzFiles, OnlyCompileErrorsEscape) {
  std::mt19937 random(1);
  const std::vector<std::string> files = seeds();
  int accepted = 0, rejected = 0;
  for (int round = 0; round < 5'000; ++round) {
    SCOPED_TRACE(round);
    ++(test::try_file(changed(files[random() % files.size()], random)) ? accepted : rejected);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(rejected, 500);
}

}  // namespace
}  // namespace bf_aot
