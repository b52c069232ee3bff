#include "aot/emit/text/marks.h"

#include <gtest/gtest.h>

#include "aot/emit/text/wrap.h"

namespace bf_aot::emit {
namespace {

TEST(Marks, GiveLinesAndGo) {
  std::string text = "a\n" + begin_mark("outer") + "\nb\n  " + begin_mark("inner") +
                     "\n\n  c\n  d\n\n  " + end_mark() + "\n\n" + end_mark() + "\ne\n";
  const std::vector<MarkedLines> expected = {{"inner", 4, 5}, {"outer", 2, 5}};
  EXPECT_EQ(take_marks(text), expected);
  EXPECT_EQ(text, "a\nb\n\n  c\n  d\n\n\ne\n");
}

TEST(Marks, AroundNothingAreLeftOut) {
  std::string text = begin_mark("none") + "\n\n" + end_mark() + "\nlast";
  EXPECT_TRUE(take_marks(text).empty());
  EXPECT_EQ(text, "\nlast");
}

TEST(Marks, StayWhereLinesAreWrapped) {
  const std::string call = "  f(" + std::string(60, 'a') + ", " + std::string(60, 'b') + ");\n";
  std::string text =
      wrap_lines("  " + begin_mark("call") + "\n" + call + "  " + end_mark() + "\n  g();\n");
  const std::vector<MarkedLines> expected = {{"call", 1, 2}};
  EXPECT_EQ(take_marks(text), expected);
  EXPECT_EQ(text, wrap_lines(call) + "  g();\n");
}

}  // namespace
}  // namespace bf_aot::emit
