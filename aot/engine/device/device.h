#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "aot/build/device/device.h"
#include "planner/lowering/lowered.h"
#include "runtime/bf.h"

namespace bf_aot::engine {

// The items that a group should have on a device: one on a processor. One where there is no such
// device, which opening it says.
int device_items(const build::DeviceName& name);

// The options of plans for the device that the options name.
build::CompileOptions for_named_device(build::CompileOptions options);

// A device of this machine that bounds boxes by a plan made for devices. Its compiler has taken the
// verifier, and its arithmetic was probed.
class Device {
 public:
  // Throws: BF3112 devices lack what the plan needs; BF3340 no library, or no such device; BF3341
  // it is not fit; BF3342 its compiler refuses the verifier; BF3343 the probe finds arithmetic that
  // is not IEEE 754's; BF3344 a call failed. more: options of its compiler besides the usual ones,
  // for tests.
  Device(std::shared_ptr<const Lowered> lowered, const build::DeviceName& name,
         const std::string& more = "");
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Plan& plan() const;
  std::string name() const;  // as its library tells it
  std::size_t boxes_at_once() const;

  // Bounds boxes, one after the other in the arrays: of the outputs, or of the specification's
  // rows. statuses: count of them, each that of NAME_bounds; outputs of boxes with another one than
  // BF_OK are not written. Returns the first that is not BF_OK. One call at a time is made; others
  // wait. Throws: BF3344.
  bf_status bound(bool of_spec, std::size_t count, const float* lower, const float* upper,
                  float* out_lower, float* out_upper, bf_status* statuses) const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace bf_aot::engine
