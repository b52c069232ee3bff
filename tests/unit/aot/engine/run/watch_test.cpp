// Calls of the engine that are stopped wherever they ask.
#include "aot/engine/run/watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "aot/build/compile.h"
#include "aot/engine/run/engine.h"
#include "planner/machine/machine_profile.h"
#include "tests/paths.h"

namespace bf_aot::engine {
namespace {

constexpr std::size_t kInputs = 5, kOutputs = 5;

class Counting final : public Watch {
 public:
  explicit Counting(int most) : most_(most) {}

  std::atomic<int> asked = 0;
  std::vector<std::pair<int, double>> seen;  // of one thread

 private:
  bool ask(const Place& place) noexcept override {
    if (most_ < 0) seen.emplace_back(place.task, place.share);
    return ++asked <= most_ || most_ < 0;
  }
  const int most_;  // of asks that are answered by true; -1: all
};

std::shared_ptr<const Lowered> plan_by(Method method, int workers = 1) {
  build::CompileOptions options;
  options.planner.method = method;
  options.planner.lowering = Lowering::kPrebuilt;
  options.planner.target = find_target("host");
  options.planner.profile = host_profile();
  options.planner.iterations = 3;
  options.planner.workers = workers;
  options.planner.row_tile = 2;
  return build::plan_model(BF_SOURCE_DIR "/models/collision_avoidance_6x50.onnx", options);
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

struct Called {
  explicit Called(std::shared_ptr<const Lowered> plan) : engine(std::move(plan)) {}

  std::vector<float> bounds(Watch* watch, const bf_executor* executor = nullptr) const {
    const std::vector<float> lower(kInputs, 0.1F), upper(kInputs, 0.3F);
    std::vector<float> low(kOutputs), high(kOutputs);
    constexpr std::size_t kBytes = 1 << 22, kAlign = 64;
    const std::unique_ptr<void, Free> memory(std::aligned_alloc(kAlign, kBytes));
    Arguments arguments;
    arguments.boxes.lower = lower.data();
    arguments.boxes.upper = upper.data();
    arguments.bounds.lower = low.data();
    arguments.bounds.upper = high.data();
    arguments.workspace = memory.get();
    arguments.workspace_bytes = kBytes;
    arguments.executor = executor;
    arguments.notes.watch = watch;
    Signature signature;
    signature.parallel = executor != nullptr;
    EXPECT_EQ(engine.call(signature, arguments), BF_OK);
    low.insert(low.end(), high.begin(), high.end());
    return low;
  }

  const Engine engine;
};

TEST(Watch, AsksInOrderAndChangesNoBit) {
  for (const Method method :
       {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
    const Called called(plan_by(method));
    Counting all(-1);
    EXPECT_EQ(called.bounds(&all), called.bounds(nullptr));
    EXPECT_FALSE(all.stopped());
    // Iterations go through the tiles of rows anew.
    EXPECT_TRUE(method == Method::kAlphaCrown || std::ranges::is_sorted(all.seen));
    EXPECT_GE(all.asked, static_cast<int>(called.engine.plan().entries.front().tasks.size()));
    EXPECT_TRUE(std::ranges::all_of(
        all.seen, [](const auto& at) { return at.second >= 0 && at.second < 1; }));
    // Rows of hidden layers go by tiles; those of the outputs may be one tile.
    if (method == Method::kCrownIbp) continue;
    EXPECT_EQ(std::ranges::any_of(all.seen, [](const auto& at) { return at.second > 0; }),
              method != Method::kIbp);
  }
}

TEST(Watch, StopsWhereverTheCallAsks) {
  const Called called(plan_by(Method::kAlphaCrown));
  const std::vector<float> expected = called.bounds(nullptr);
  Counting all(-1);
  called.bounds(&all);
  for (int most = 0; most < all.asked; ++most) {
    Counting watch(most);
    EXPECT_THROW(called.bounds(&watch), Stopped);
    EXPECT_TRUE(watch.stopped());
    EXPECT_EQ(watch.asked, most + 1);
  }
  EXPECT_EQ(called.bounds(nullptr), expected);
}

// Jobs on threads of their own.
const bf_executor kThreads = {[](void*, bf_job job, void* data, std::size_t count) {
                                std::vector<std::jthread> threads;
                                for (std::size_t i = 0; i < count; ++i)
                                  threads.emplace_back([=] { job(data, i); });
                              },
                              nullptr, 3};

TEST(Watch, StopsWorkers) {
  const Called called(plan_by(Method::kCrown, 3));
  const std::vector<float> expected = called.bounds(nullptr);
  Counting all(-1);
  called.bounds(&all);
  for (int most = 0; most < all.asked; ++most) {
    Counting watch(most);
    EXPECT_THROW(called.bounds(&watch, &kThreads), Stopped) << most;
  }
  EXPECT_EQ(called.bounds(nullptr, &kThreads), expected);
}

}  // namespace
}  // namespace bf_aot::engine
