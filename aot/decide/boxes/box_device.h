#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "aot/engine/verifier/verifier.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

// A device that bounds boxes by a plan of its own, many at a time.
struct BoxDevice {
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<const engine::HostVerifier> host;
  std::size_t boxes = 0;  // that go together
};

// The boxes that should go to a device together: no more than it takes at once, and those whose
// ends, rows and lines take 64 MiB here at most. lines: numbers of a box.
std::size_t boxes_together(const Plan& plan, std::size_t lines, std::size_t at_once);

// A device that may not be ready yet: until then this processor bounds. Several threads may ask.
class AwaitedDevice {
 public:
  // ask: returns the device, or none while it is not ready; throws where it never will be.
  using Ask = std::function<std::optional<BoxDevice>()>;
  explicit AwaitedDevice(Ask ask) : ask_(std::move(ask)) {}

  // The device; null while it is not ready. Throws what asking throws.
  const BoxDevice* get();

  // Counts boxes that it has bounded.
  void add_bounded(std::size_t boxes) { bounded_ += boxes; }
  std::uint64_t bounded() const { return bounded_; }

 private:
  std::mutex mutex_;  // of what follows
  Ask ask_;
  std::optional<BoxDevice> device_;
  std::atomic<const BoxDevice*> ready_ = nullptr;
  std::atomic<std::uint64_t> bounded_ = 0;
};

}  // namespace bf_aot::decide
