// The stack of a call from GCC's call graphs and reports.

#include "aot/build/footprint/stack_usage.h"

#include <gtest/gtest.h>

namespace bf_aot::build {
namespace {

std::string node(const std::string& name, const std::string& frame) {
  return "node: { title: \"" + name + "\" label: \"void " + name + "(int)\\na.cpp:7:3\\n" + frame +
         "\" }\n";
}
std::string edge(const std::string& from, const std::string& to) {
  return "edge: { sourcename: \"" + from + "\" targetname: \"" + to +
         "\" label: \"a.cpp:8:12\" }\n";
}
const std::string kMemset =
    "node: { title: \"memset\" label: \"__builtin_memset\\n<built-in>\" shape : ellipse }\n";

TEST(StackUsage, IsThatOfTheDeepestChain) {
  const std::string graph = "graph: { title: \"a.cpp\"\n" + node("a", "8 bytes (static)") +
                            node("b", "100 bytes (static)") + node("c", "16 bytes (static)") +
                            node("d", "40 bytes (dynamic,bounded)") + kMemset + edge("a", "b") +
                            edge("a", "c") + edge("c", "d") + edge("b", "memset") + "}\n";
  EXPECT_EQ(deepest_stack({graph}), 108);
}

TEST(StackUsage, GoesThroughSources) {
  const std::string first =
      node("a", "8 bytes (static)") + edge("a", "b") +
      "node: { title: \"b\" label: \"void b()\\nb.h:1:1\" shape : ellipse }\n";
  EXPECT_EQ(deepest_stack({first}), 8);
  EXPECT_EQ(deepest_stack({first, node("b", "24 bytes (static)")}), 32);
}

TEST(StackUsage, IsNotBoundedByRecursionPointersOrVariableFrames) {
  const std::string a = node("a", "8 bytes (static)"), b = node("b", "8 bytes (static)");
  EXPECT_EQ(deepest_stack({a + b + edge("a", "b") + edge("b", "a")}), std::nullopt);
  EXPECT_EQ(deepest_stack({a + edge("a", "a")}), std::nullopt);
  EXPECT_EQ(deepest_stack({a + edge("a", "__indirect_call")}), std::nullopt);
  EXPECT_EQ(deepest_stack({a + node("b", "8 bytes (dynamic)")}), std::nullopt);
  EXPECT_EQ(deepest_stack({}), std::nullopt);
}

TEST(StackUsage, IsTheSumOfFrames) {
  EXPECT_EQ(sum_of_frames("a.cpp:1:2:int a()\t24\tstatic\na.cpp:3:4:b\t8\tdynamic,bounded\n"), 32);
  EXPECT_EQ(sum_of_frames("a.cpp:1:2:int a()\t24\tdynamic\n"), std::nullopt);
  EXPECT_EQ(sum_of_frames("nothing\n"), std::nullopt);
}

}  // namespace
}  // namespace bf_aot::build
