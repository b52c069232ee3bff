#pragma once

#include <algorithm>
#include <cfenv>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/bf.h"

namespace bf_aot::soundness {

// Executors of one thread that try what the contract allows, and some of what it does not.
enum class Habit : int {
  kInOrder,
  kReversed,
  kRandom,
  kLastAlone,
  kNone,
  kTwice,
  kTooMany,
  kRoundsUp,  // its threads do not round to nearest
  kStaysUp,   // nor does the caller's afterwards: refused, see check_refusals
};
constexpr int kHabits = 8;  // that change no bit

class SerialExecutor {
 public:
  SerialExecutor(Habit habit, std::size_t workers) : habit_(habit) {
    executor_ = {run, this, workers};
  }
  SerialExecutor(const SerialExecutor&) = delete;
  SerialExecutor& operator=(const SerialExecutor&) = delete;

  const bf_executor* get() const { return &executor_; }
  std::size_t runs() const { return runs_; }

 private:
  static void run(void* self, bf_job job, void* data, std::size_t jobs) {
    static_cast<SerialExecutor*>(self)->run(job, data, jobs);
  }

  void run(bf_job job, void* data, std::size_t jobs) {
    ++runs_;
    std::vector<std::size_t> order(jobs);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (habit_ == Habit::kReversed) std::reverse(order.begin(), order.end());
    if (habit_ == Habit::kRandom) std::shuffle(order.begin(), order.end(), random_);
    if (habit_ == Habit::kLastAlone) order = {jobs - 1};
    if (habit_ == Habit::kNone) order.clear();
    if (habit_ == Habit::kTwice) order.insert(order.end(), order.begin(), order.end());
    if (habit_ == Habit::kTooMany) order.insert(order.begin(), jobs + 1000);
    const int rounding = std::fegetround();
    if (habit_ >= Habit::kRoundsUp) std::fesetround(FE_UPWARD);
    for (const std::size_t i : order) job(data, i);
    if (habit_ != Habit::kStaysUp) std::fesetround(rounding);
  }

  const Habit habit_;
  bf_executor executor_ = {};
  std::size_t runs_ = 0;
  std::mt19937_64 random_{20261121};
};

}  // namespace bf_aot::soundness
