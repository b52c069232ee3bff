#include "aot/decide/boxes/box_device.h"

#include <algorithm>

#include "planner/plan/plan.h"

namespace bf_aot::decide {

std::size_t boxes_together(const Plan& plan, std::size_t lines, std::size_t at_once) {
  constexpr std::size_t kMost = 1024, kMostNumbers = std::size_t{1} << 24;
  const auto ends =
      2 * (static_cast<std::size_t>(plan.input_count) + static_cast<std::size_t>(plan.spec_rows));
  const std::size_t fit = kMostNumbers / std::max<std::size_t>(ends + lines, 1);
  return std::max<std::size_t>(std::min({at_once, kMost, fit}), 1);
}

const BoxDevice* AwaitedDevice::get() {
  if (const BoxDevice* const ready = ready_) return ready;
  const std::scoped_lock lock(mutex_);
  if (!device_) device_ = ask_();
  if (!device_) return nullptr;
  ready_ = &*device_;
  return ready_;
}

}  // namespace bf_aot::decide
