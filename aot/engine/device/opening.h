#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "aot/engine/device/device.h"

namespace bf_aot::engine {

// Opens a device on a thread of its own while other work goes on: its compiler takes seconds, and
// cannot be told to end. One device is opened at a time.
class Opening {
 public:
  // Begins to call the function, which holds all that it needs.
  explicit Opening(std::function<void()> open);
  // Gives up what has not begun, and waits for the end of what has, since the device's library must
  // not be at work while the program's statics are destroyed.
  ~Opening();
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  // Returns whether the function has returned. Throws what it threw. Several threads may ask.
  bool is_ready() const;
  // Waits until the function has returned. Throws what it threw.
  void wait() const;

 private:
  struct Task;
  class Opener;
  static Opener& opener();

  const std::shared_ptr<Task> task_;
};

// The same, of a function that returns what it has opened.
template <class Made>
class OpeningOf {
 public:
  using Open = std::function<std::shared_ptr<Made>()>;

  explicit OpeningOf(Open open)
      : made_(std::make_shared<std::shared_ptr<Made>>()),
        opening_([made = made_, open = std::move(open)] { *made = open(); }) {}

  // Returns null while it is not ready. Throws what opening it threw. Several threads may ask.
  std::shared_ptr<Made> get() const { return opening_.is_ready() ? *made_ : nullptr; }
  std::shared_ptr<Made> wait() const {
    opening_.wait();
    return *made_;
  }

 private:
  const std::shared_ptr<std::shared_ptr<Made>> made_;
  const Opening opening_;
};

using OpeningDevice = OpeningOf<const Device>;

// Lets destructors leave devices behind that are being opened. Only for a program that ends by
// end_beside_devices().
void leave_opening_devices();

// Returns the exit code, or ends the program with it where a device is being opened: then statics
// are not destroyed.
int end_beside_devices(int code);

}  // namespace bf_aot::engine
