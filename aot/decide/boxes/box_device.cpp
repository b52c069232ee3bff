#include "aot/decide/boxes/box_device.h"

namespace bf_aot::decide {

const BoxDevice* AwaitedDevice::get() {
  if (const BoxDevice* const ready = ready_) return ready;
  const std::scoped_lock lock(mutex_);
  if (!device_) device_ = ask_();
  if (!device_) return nullptr;
  ready_ = &*device_;
  return ready_;
}

}  // namespace bf_aot::decide
