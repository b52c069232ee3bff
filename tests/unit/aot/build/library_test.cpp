#include "aot/build/library.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bf_aot::build {
namespace {

TEST(LibraryTest, SplitsWords) {
  EXPECT_EQ(split_words("  -a  -b\t-c "), (std::vector<std::string>{"-a", "-b", "-c"}));
  EXPECT_TRUE(split_words("").empty());
}

TEST(LibraryTest, KnowsWhatRunsHere) {
  EXPECT_TRUE(runs_here(find_target("host")));
  EXPECT_TRUE(runs_here(find_target("generic")));
  EXPECT_FALSE(runs_here(find_target("cortex-m7")));
}

}  // namespace
}  // namespace bf_aot::build
