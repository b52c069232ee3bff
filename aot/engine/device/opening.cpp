#include "aot/engine/device/opening.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "frontend/check_scope.h"

namespace bf_aot::engine {
namespace {

std::atomic<bool> is_left = false;  // devices are, that nobody needs any more
std::atomic<bool> is_busy = false;  // a device is being opened

}  // namespace

struct Opening::Task {
  std::function<void()> open;
  std::exception_ptr failure;
  std::atomic<bool> is_done = false;  // it has returned, or failure is written
  bool has_begun = false;

  void run() {
    try {
      const ThrowingChecks checks;
      open();
    } catch (...) {
      failure = std::current_exception();
    }
    open = nullptr;
    is_done = true;
    is_done.notify_all();
  }
};

// The thread that opens devices, one after the other. It lives while there are any.
class Opening::Opener {
 public:
  Opener() = default;
  ~Opener() {
    if (thread_.joinable() && is_here()) thread_.join();
    if (!is_here()) new (&thread_) std::thread;  // a fork has no such thread
  }
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;

  void add(const std::shared_ptr<Task>& task) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(task);
    if (is_busy) return;
    if (thread_.joinable()) thread_.join();  // it has ended
    is_busy = true;
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {  // no further thread: it is opened here
      is_busy = false;
      waiting_.pop_back();
      task->has_begun = true;
      task->run();
    }
  }

  // Returns whether the task has begun; one that has not never does. A fork of the process has none
  // that could end.
  bool give_up(const std::shared_ptr<Task>& task) {
    if (!is_here()) return false;
    const std::scoped_lock lock(mutex_);
    std::erase(waiting_, task);
    return task->has_begun;
  }

 private:
  bool is_here() const { return process_ == getpid(); }

  void work() {
    for (;;) {
      std::shared_ptr<Task> task;
      {
        const std::scoped_lock lock(mutex_);
        is_busy = !waiting_.empty();
        if (!is_busy) return;
        task = std::move(waiting_.front());
        waiting_.pop_front();
        task->has_begun = true;
      }
      task->run();
    }
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::deque<std::shared_ptr<Task>> waiting_;
  std::thread thread_;
};

Opening::Opener& Opening::opener() {
  static Opener made;
  return made;
}

Opening::Opening(std::function<void()> open) : task_(std::make_shared<Task>()) {
  task_->open = std::move(open);
  opener().add(task_);
}

Opening::~Opening() {
  if (opener().give_up(task_) && !is_left) task_->is_done.wait(false);
}

bool Opening::is_ready() const {
  if (!task_->is_done) return false;
  if (task_->failure) std::rethrow_exception(task_->failure);
  return true;
}

void Opening::wait() const {
  task_->is_done.wait(false);
  (void)is_ready();
}

void leave_opening_devices() {
  is_left = true;
}

int end_beside_devices(int code) {
  if (!is_busy) return code;
  (void)std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace bf_aot::engine
