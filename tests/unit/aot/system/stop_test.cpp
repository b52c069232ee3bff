#include "aot/system/stop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <limits>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "aot/system/interrupt.h"

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

// Ends the process by SIGALRM; the caller expects the exit code.
void wait_for(double seconds, bool ended, bool cleans) {
  install_interrupt_handlers();
  Watchdog dog(seconds, 5);
  dog.say("late\n");
  if (ended) dog.end();
  std::optional<CleanupPending> cleanup;
  if (cleans) cleanup.emplace();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  try {
    if (Stop().or_interrupt()()) _exit(1);
  } catch (const Interrupted& interrupted) {
    _exit(interrupted.signal == SIGALRM ? 7 : 1);
  }
  _exit(0);
}

TEST(WatchdogDeathTest, EndsWhatDoesNotAsk) {
  EXPECT_EXIT(wait_for(0.2, false, false), testing::ExitedWithCode(5), "");
  EXPECT_EXIT(wait_for(0.2, true, false), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(wait_for(0, false, false), testing::ExitedWithCode(0), "");
  // What must be removed is, by who asks.
  EXPECT_EXIT(wait_for(0.2, false, true), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace bf_aot::system
