#pragma once

#include <functional>
#include <memory>

#include "aot/engine/device/device.h"

namespace bf_aot::engine {

// A device that is opened on a thread of its own while other work goes on: its compiler takes
// seconds, and cannot be told to end. One device is opened at a time.
class OpeningDevice {
 public:
  using Open = std::function<std::shared_ptr<const Device>()>;

  // Begins to open it. The function holds all that it needs.
  explicit OpeningDevice(Open open);
  // Gives up a device whose opening has not begun, and waits for the end of one whose has, since
  // the device's library must not be at work while the program's statics are destroyed.
  ~OpeningDevice();
  OpeningDevice(const OpeningDevice&) = delete;
  OpeningDevice& operator=(const OpeningDevice&) = delete;

  // The device; null while it is not ready. Throws what opening it threw. Several threads may ask.
  std::shared_ptr<const Device> get() const;
  // Likewise, once it is ready or has failed.
  std::shared_ptr<const Device> wait() const;

 private:
  struct Task;
  class Opener;
  static Opener& opener();

  const std::shared_ptr<Task> task_;
};

// Lets destructors leave devices behind that are being opened. Only for a program that ends by
// end_beside_devices().
void leave_opening_devices();

// Returns the exit code, or ends the program with it where a device is being opened: then statics
// are not destroyed.
int end_beside_devices(int code);

}  // namespace bf_aot::engine
