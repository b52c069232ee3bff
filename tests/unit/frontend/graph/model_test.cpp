#include "frontend/graph/model.h"

#include <gtest/gtest.h>

#include <string>

namespace bf_aot {
namespace {

TEST(Printable, keeps_text) {
  for (const char* text : {"", "Gemm_1", "dense/MatMul:0", "na\xc3\xafve", "\xe2\x82\xac",
                           "\xf0\x9f\x99\x82", "it's \"quoted\""})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, replaces_what_could_break_out) {
  EXPECT_EQ(printable("a\nb\rc\td"), "a_b_c_d");
  EXPECT_EQ(printable("line\\"), "line_");
  EXPECT_EQ(printable(std::string("a\0b\x7f", 4)), "a_b_");
}

TEST(Printable, replaces_what_is_not_utf8) {
  EXPECT_EQ(printable("\xff"), "_");
  EXPECT_EQ(printable("\xc3"), "_");                 // cut off
  EXPECT_EQ(printable("\xc3("), "_(");               // no continuation
  EXPECT_EQ(printable("\xc0\xaf"), "__");            // overlong '/'
  EXPECT_EQ(printable("\xe0\x80\xaf"), "___");       // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "___");       // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "____");  // above U+10FFFF
}

TEST(Printable, cuts_long_text) {
  EXPECT_EQ(printable(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(printable(std::string(201, 'a')), std::string(200, 'a') + "...");
  // Never within a character.
  EXPECT_EQ(printable(std::string(199, 'a') + "\xc3\xaf"), std::string(199, 'a') + "...");
}

}  // namespace
}  // namespace bf_aot
