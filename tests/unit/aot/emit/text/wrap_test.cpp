#include "aot/emit/text/wrap.h"

#include <gtest/gtest.h>

#include <string>

namespace bf_aot::emit {
namespace {

const std::string kLong(40, 'a');
const std::string kLonger(70, 'b');

void expect_wrapped(const std::string& text, const std::string& expected) {
  EXPECT_EQ(wrap_lines(text), expected);
  EXPECT_EQ(wrap_lines(expected), expected) << "wrapped twice";
}

TEST(Wrap, KeepsWhatFits) {
  const std::string text = "  call(a, b);\n\n#include \"" + kLonger + kLonger + "\"\n";
  expect_wrapped(text, text);
}

TEST(Wrap, PutsTheValueOfAMacroOnALineOfItsOwn) {
  expect_wrapped("#define " + kLong + " " + kLonger + "\n",
                 "#define " + kLong + " \\\n  " + kLonger + "\n");
}

TEST(Wrap, ShiftsWhatFitsNowhereToTheLeft) {
  expect_wrapped(std::string(40, ' ') + kLonger + ");\n", std::string(28, ' ') + kLonger + ");\n");
}

TEST(Wrap, BreaksAfterTheLastCommaOfTheLowestNesting) {
  expect_wrapped(
      "  call(" + kLong + ", f(x, y), " + kLong + ", f(z, " + kLong + "), w);\n",
      "  call(" + kLong + ", f(x, y), " + kLong + ",\n       f(z, " + kLong + "), w);\n");
}

TEST(Wrap, BreaksBehindOperators) {
  expect_wrapped("x = " + kLong + " + " + kLonger + ";\n",
                 "x = " + kLong + " +\n    " + kLonger + ";\n");
  expect_wrapped("  f(" + kLong + " * " + kLonger + ", x);\n",
                 "  f(" + kLong + " *\n      " + kLonger + ", x);\n");
}

// An argument that does not fit behind the function's name goes to the next line.
TEST(Wrap, BreaksBeforeArgumentsOfLongNames) {
  expect_wrapped("  " + kLong + kLong + "(at<float>(" + kLong + "), x, y);\n",
                 "  " + kLong + kLong + "(\n      at<float>(" + kLong + "), x, y);\n");
}

TEST(Wrap, BreaksBehindAnAssignmentToALongName) {
  expect_wrapped("  float* const " + kLonger + " = at<float>(x);\n",
                 "  float* const " + kLonger + " =\n      at<float>(x);\n");
}

TEST(Wrap, PutsTheStatementOfAnIfOnALineOfItsOwn) {
  expect_wrapped("  if (f(" + kLong + ", " + kLong + ")) return BF_NULL_ARGUMENT;\n",
                 "  if (f(" + kLong + ", " + kLong + "))\n    return BF_NULL_ARGUMENT;\n");
}

TEST(Wrap, PutsCommentsBeforeCodeThatIsTooLongWithThem) {
  expect_wrapped("  " + kLong + "();  // " + kLonger + "\n",
                 "  // " + kLonger + "\n  " + kLong + "();\n");
}

TEST(Wrap, BreaksCommentsBetweenWords) {
  expect_wrapped("  // " + kLonger + " " + kLong + "\n",
                 "  // " + kLonger + "\n  // " + kLong + "\n");
  expect_wrapped(" * " + kLonger + " " + kLong + "\n", " * " + kLonger + "\n * " + kLong + "\n");
}

TEST(Wrap, KeepsRowsOfTablesInLine) {
  expect_wrapped("    " + kLong + ", " + kLong + ", " + kLong + ",\n",
                 "    " + kLong + ", " + kLong + ",\n    " + kLong + ",\n");
}

TEST(Wrap, DoesNotBreakStrings) {
  const std::string text = "  f(\"" + kLong + ", " + kLonger + "\");\n";
  expect_wrapped(text, text);
}

// Nothing fits: the rest is wrapped all the same.
TEST(Wrap, GoesOnBehindWhatIsTooLong) {
  expect_wrapped("  " + kLonger + kLong + ", c, " + kLonger + ", d;\n",
                 "  " + kLonger + kLong + ",\n      c, " + kLonger + ", d;\n");
}

}  // namespace
}  // namespace bf_aot::emit
