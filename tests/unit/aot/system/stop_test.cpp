#include "aot/system/stop.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <stop_token>

namespace bf_aot::system {
namespace {

TEST(Stop, IsAskedForByATokenAFunctionOrATime) {
  EXPECT_FALSE(Stop()());
  EXPECT_FALSE(Stop().is_possible());
  std::stop_source source;
  const Stop token(source.get_token());
  EXPECT_TRUE(token.is_possible());
  EXPECT_FALSE(token());
  source.request_stop();
  EXPECT_TRUE(token());
  EXPECT_FALSE(token.is_late());

  int asked = 0;
  const Stop function = [&] { return ++asked == 2; };
  EXPECT_FALSE(function());
  EXPECT_TRUE(function());
  EXPECT_THROW(Stop([]() -> bool { throw std::logic_error("enough"); })(), std::logic_error);

  const Stop late = Stop().within(0);
  EXPECT_TRUE(late());
  EXPECT_TRUE(late.is_late());
  EXPECT_FALSE(Stop().within(1000)());
}

TEST(Stop, TheEarliestTimeCounts) {
  EXPECT_TRUE(Stop().within(0).within(1000).is_late());
  EXPECT_TRUE(Stop().within(1000).within(-1).is_late());
  EXPECT_FALSE(Stop().within(std::numeric_limits<double>::infinity()).is_possible());
  EXPECT_FALSE(Stop({}, 0).is_possible());
  EXPECT_TRUE(Stop({}, 1e-9)());
  std::stop_source source;
  const Stop both = Stop(source.get_token()).within(1000);
  source.request_stop();
  EXPECT_TRUE(both());
  EXPECT_FALSE(both.is_late());
}

}  // namespace
}  // namespace bf_aot::system
