#include "aot/engine/run/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace bf_aot::engine {
namespace {

TEST(Pool, SharesEachPieceOnce) {
  for (const std::size_t workers : {1, 2, 7}) {
    std::vector<std::atomic<int>> calls(1000);
    std::vector<std::atomic<int>> working(workers);
    share(workers, calls.size(), [&](std::size_t i, std::size_t worker) {
      ASSERT_LT(worker, workers);
      EXPECT_EQ(working[worker]++, 0) << "two pieces of one worker at a time";
      ++calls[i];
      --working[worker];
    });
    for (const std::atomic<int>& each : calls) EXPECT_EQ(each, 1);
  }
  share(4, 0, [](std::size_t, std::size_t) { FAIL(); });
}

TEST(Pool, OneWorkerIsTheCaller) {
  share(1, 10, [caller = std::this_thread::get_id()](std::size_t, std::size_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(Pool, ThrowsWhatThePiecesThrow) {
  for (const std::size_t workers : {1, 4}) {
    std::atomic<int> calls = 0;
    const auto fails = [&](std::size_t i, std::size_t) {
      ++calls;
      if (i == 3) throw std::runtime_error("the third");
    };
    EXPECT_THROW(share(workers, 1'000'000, fails), std::runtime_error);
    EXPECT_LT(calls, 1'000'000);
  }
}

// The caller's own pieces may end long before those of others.
TEST(Pool, AsksTheCallerWhileItWaits) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> over = false;
  int asked = 0;
  const auto until_over = [&](std::size_t, std::size_t) {
    if (std::this_thread::get_id() == caller) return;
    while (!over) std::this_thread::yield();
  };
  share(4, 1000, until_over, [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    over = ++asked > 2;
  });
  const auto fails = [] { throw std::runtime_error("enough"); };
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> calls = 0;
    const auto slow = [&](std::size_t, std::size_t) {
      ++calls;
      if (std::this_thread::get_id() != caller)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    };
    try {
      share(2, 2, slow, fails);
    } catch (const std::runtime_error&) {
    }
    EXPECT_GE(calls, 1);
  }
}

TEST(Pool, CallsWithinCallsEnd) {
  std::atomic<int> calls = 0;
  share(4, 8,
        [&](std::size_t, std::size_t) { share(4, 8, [&](std::size_t, std::size_t) { ++calls; }); });
  EXPECT_EQ(calls, 64);
}

}  // namespace
}  // namespace bf_aot::engine
