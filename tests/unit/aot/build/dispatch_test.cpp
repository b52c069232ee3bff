#include "aot/build/dispatch.h"

#include <gtest/gtest.h>

#include "planner/planner.h"

namespace bf_aot::build {
namespace {

std::string header_of(const std::string& sizes, const std::string& functions) {
  return "/* a banner\n */\n#ifndef BF_VERIFIER_NET_H\n" + sizes +
         "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + functions +
         "\n#ifdef __cplusplus\n}\n#endif\n";
}

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

TEST(Dispatch, MergesSizes) {
  const auto header = [](int workspace, int weights, int blob, const std::string& banner) {
    return banner + header_of("#define NET_WORKSPACE_BYTES " + std::to_string(workspace) +
                                  "\n#define NET_WEIGHTS_BYTES " + std::to_string(weights) +
                                  "\n#define NET_BLOB_BYTES (BF_BLOB_HEADER_BYTES + " +
                                  std::to_string(blob) + ")\n",
                              "int net_x(void);\n");
  };
  EXPECT_EQ(merge_headers({header(64, 10, 8, "/* v4 */\n"), header(96, 20, 4, "/* v3 */\n/* */\n"),
                           header(32, 30, 6, "")}),
            header(96, 60, 8, "/* v4 */\n"));
}

TEST(DispatchDeathTest, RefusesHeadersThatDifferInMore) {
  EXPECT_DEATH(
      merge_headers({header_of("#define NET_A 1\n", ""), header_of("#define NET_B 1\n", "")}), "");
}

}  // namespace
}  // namespace bf_aot::build
