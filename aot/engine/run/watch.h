#pragma once

#include <atomic>
#include <exception>

#include "planner/plan/plan_fwd.h"

namespace bf_aot::engine {

// The progress of a call of an entry: the task bounds `all` rows now, of which `rows` are done;
// with the task's other work that is `share` of the task.
struct Place {
  const Entry& entry;
  int task = 0;
  int rows = 0, all = 0;
  double share = 0;
};

// Watches calls. A call asks before each task and each tile of rows whether to go on; the work in
// between is that of one tile, or of a forward pass through one layer.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  virtual ~Watch() = default;

  // Once false, it stays so, for all threads.
  bool goes_on(const Place& place) {
    if (stopped_) return false;
    if (ask(place)) return true;
    stopped_ = true;
    return false;
  }
  bool stopped() const { return stopped_; }

 private:
  // May be called by several threads at once. Does not throw.
  virtual bool ask(const Place& place) noexcept = 0;

  std::atomic<bool> stopped_ = false;
};

// Thrown by a call that its watch has ended; what it has written is no result.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "the call was stopped"; }
};

}  // namespace bf_aot::engine
