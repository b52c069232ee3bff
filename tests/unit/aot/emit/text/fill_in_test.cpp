#include "aot/emit/text/fill_in.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace bf_aot::emit {
namespace {

TEST(FillIn, ReplacesEachKey) {
  EXPECT_EQ(fill_in("@NAME@_BYTES @bytes@ ${NAME} {@NAME@}",
                    {{"bytes", std::size_t{12}}, {"NAME", "NET"}}),
            "NET_BYTES 12 ${NAME} {NET}");
  EXPECT_EQ(fill_in("@a@@b@", {{"a", "@b@"}, {"b", true}}), "@b@true") << "values are no templates";
  EXPECT_EQ(fill_in("none", {}), "none");
}

TEST(FillIn, NamesMayBeUnused) {
  EXPECT_EQ(fill_in("@name@", {}, {{"name", "net"}, {"NAME", "NET"}}), "net");
}

TEST(FillIn, RefusesOtherKeysThanTheTemplates) {
  EXPECT_DEATH(fill_in("@name@ @other@", {{"name", "net"}}), "BF9000");
  EXPECT_DEATH(fill_in("@name@", {{"name", "net"}, {"other", 1}}), "BF9000");
  EXPECT_DEATH(fill_in("user@host", {}), "BF9000");
}

}  // namespace
}  // namespace bf_aot::emit
