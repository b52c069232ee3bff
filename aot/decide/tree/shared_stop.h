#pragma once

#include <atomic>
#include <thread>
#include <utility>

#include "aot/system/stop.h"

namespace bf_aot::decide::tree {

// A stop that several threads look at. Only the thread that makes it asks for it; the others see
// what was answered. A question that throws is a stop for all of them.
class SharedStop {
 public:
  explicit SharedStop(system::Stop asked) : asked_(std::move(asked)) {}

  // Returns whether to stop. Throws what the question throws, on the thread that asks.
  bool operator()() {
    if (stopped_ || !is_asking_thread()) return stopped_;
    try {
      stopped_ = asked_();
    } catch (...) {
      stopped_ = true;
      throw;
    }
    return stopped_;
  }

  void set() { stopped_ = true; }
  bool is_set() const { return stopped_; }
  bool is_asking_thread() const { return std::this_thread::get_id() == thread_; }

 private:
  const system::Stop asked_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> stopped_ = false;
};

}  // namespace bf_aot::decide::tree
