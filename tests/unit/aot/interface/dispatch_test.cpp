#include "aot/compile/dispatch.h"

#include <gtest/gtest.h>

#include "planner/planner.h"

namespace bf_aot {
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

TEST(Dispatch, ReadsPrototypes) {
  const auto found =
      read_prototypes(header_of("",
                                "/* Not int net_no(int a); */\n#define NET_X 1\n"
                                "bf_status net_bounds(const float *lower, float *upper,\n"
                                "                     size_t bytes);\n\n/* two\n * lines */\n"
                                "const bf_model_info *net_info(void);\n"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].result, "bf_status");
  EXPECT_EQ(found[0].name, "net_bounds");
  EXPECT_EQ(found[0].parameters, "const float *lower, float *upper, size_t bytes");
  EXPECT_EQ(found[0].arguments, (std::vector<std::string>{"lower", "upper", "bytes"}));
  EXPECT_EQ(found[1].result, "const bf_model_info *");
  EXPECT_EQ(found[1].name, "net_info");
  EXPECT_TRUE(found[1].arguments.empty());
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
  EXPECT_DEATH(
      merge_headers({header_of("", "int net_x(void);\n"), header_of("", "int net_y(void);\n")}),
      "");
}

}  // namespace
}  // namespace bf_aot
