#include "aot/build/dispatch.h"

#include <gtest/gtest.h>

#include "planner/planner.h"

namespace bf_aot::build {
namespace {

TEST(Dispatch, LevelsAreThoseUpToTheTarget) {
  const auto names = [](const std::string& target) {
    std::vector<std::string> made;
    for (const Target& level : dispatch_levels(find_target(target))) made.push_back(level.name);
    return made;
  };
  EXPECT_EQ(names("x86-64-v4"), (std::vector<std::string>{"x86-64-v4", "x86-64-v3", "x86-64"}));
  EXPECT_EQ(names("x86-64-v3"), (std::vector<std::string>{"x86-64-v3", "x86-64"}));
  EXPECT_EQ(names("x86-64"), (std::vector<std::string>{"x86-64"}));
  EXPECT_TRUE(names("aarch64").empty());
  EXPECT_TRUE(names("cortex-m4").empty());
}

}  // namespace
}  // namespace bf_aot::build
