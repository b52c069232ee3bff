#include "aot/engine/run/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/host/thread_executor.h"

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

// Two jobs that wait for each other: they end when another thread takes one of them.
void meet(const bf_executor& threads) {
  struct Pair {
    std::atomic<int> here = 0;
    std::atomic<bool> met = true;
  } pair;
  const bf_job job = [](void* data, std::size_t) {
    Pair& both = *static_cast<Pair*>(data);
    ++both.here;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (both.here < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (both.here < 2) both.met = false;
  };
  threads.run(threads.self, job, &pair, 2);
  EXPECT_TRUE(pair.met);
}

TEST(Pool, ThreadsWithoutWorkHelpWithCallsWithinCalls) {
  const bf::host::ThreadExecutor threads(4);
  const bf_job outer = [](void* data, std::size_t) {
    meet(*static_cast<const bf_executor*>(data));
  };
  for (int i = 0; i < 100; ++i)
    threads.get()->run(threads.get()->self, outer, const_cast<bf_executor*>(threads.get()), 2);
}

TEST(Pool, CallersShareThreads) {
  const bf::host::ThreadExecutor threads(4);
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i)
    callers.emplace_back([&] {
      for (int k = 0; k < 100; ++k) meet(*threads.get());
    });
  for (std::thread& caller : callers) caller.join();
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
