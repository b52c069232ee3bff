#include "aot/text/wrap.h"

#include <gtest/gtest.h>

#include <string>

namespace bf_aot {
namespace {

const std::string kLong(40, 'a');
const std::string kLonger(70, 'b');

TEST(Wrap, KeepsWhatFits) {
  const std::string text = "  call(a, b);\n\n#define X " + kLonger + kLonger + "\n";
  EXPECT_EQ(wrap_lines(text), text);
}

TEST(Wrap, BreaksAfterTheLastCommaOfTheLowestNesting) {
  EXPECT_EQ(wrap_lines("  call(" + kLong + ", f(x, y), " + kLong + ", f(z, " + kLong + "), w);\n"),
            "  call(" + kLong + ", f(x, y), " + kLong + ",\n      f(z, " + kLong + "), w);\n");
}

TEST(Wrap, BreaksBeforeOperators) {
  EXPECT_EQ(wrap_lines("x = " + kLong + " + " + kLonger + ";\n"),
            "x = " + kLong + "\n    + " + kLonger + ";\n");
}

// An argument that does not fit behind the function's name goes to the next line.
TEST(Wrap, BreaksBeforeArgumentsOfLongNames) {
  EXPECT_EQ(wrap_lines("  " + kLong + "(at<float>(" + kLonger + "), x, y);\n"),
            "  " + kLong + "(\n      at<float>(" + kLonger + "), x, y);\n");
  EXPECT_EQ(wrap_lines("  " + kLong + "();  // " + kLonger + "\n"),
            "  " + kLong + "();  // " + kLonger + "\n");
}

// Nothing fits: the rest is wrapped all the same.
TEST(Wrap, GoesOnBehindWhatIsTooLong) {
  EXPECT_EQ(wrap_lines("  " + kLonger + kLong + ", c, " + kLonger + ", d;\n"),
            "  " + kLonger + kLong + ",\n      c, " + kLonger + ", d;\n");
}

}  // namespace
}  // namespace bf_aot
