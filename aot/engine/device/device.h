#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aot/build/device/device.h"
#include "planner/lowering/lowered.h"
#include "runtime/bf.h"

namespace bf_aot::engine {

// The items that a group should have on a device: one on a processor. build::kDeviceItems where
// there is no such device, which opening it says.
int device_items(const build::DeviceName& name);

// The options of plans for the device that the options name. With planner.decide, rows of the
// specification write their lines, too.
build::CompileOptions for_named_device(build::CompileOptions options);

// Throws where there is no such device, or it says that it is not fit: BF3340, BF3341. It takes
// milliseconds.
void find_device(const build::DeviceName& name);

// Boxes in the memory of a device of CUDA, one after the other in two arrays of float32.
struct BoxesThere {
  std::size_t count = 0;
  std::uintptr_t lower = 0, upper = 0;  // pointers of the device's primary context
  void* stream = nullptr;               // what the arrays' owner has done; null: the default stream
};

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
  std::shared_ptr<const Plan> shared_plan() const;
  std::string name() const;  // as its library tells it
  std::size_t boxes_at_once() const;
  // Boxes that it bounds side by side, at least: of each processor of a GPU several, which hide
  // each other's latencies, and else one.
  std::size_t boxes_side_by_side() const;
  // Numbers of the lines of the specification's rows over a box, [rows][2][inputs + 1], see
  // planner/entries/keep_coefficients.h; 0: the plan keeps none.
  std::size_t lines() const;

  // Bounds boxes, one after the other in the arrays: of the outputs, or of the specification's
  // rows. statuses: count of them, each that of NAME_bounds; outputs of boxes with another one than
  // BF_OK are not written. Returns the first that is not BF_OK. One call at a time is made; others
  // wait. lines: of lines() numbers each, of boxes with BF_OK; null: they are not asked for.
  // Throws: BF3344.
  bf_status bound(bool of_spec, std::size_t count, const float* lower, const float* upper,
                  float* out_lower, float* out_upper, bf_status* statuses,
                  float* lines = nullptr) const;

  // Has `bound` bound groups of boxes, one after the other, that take about a tenth of a second
  // each, where the device is so fast: a call of a device cannot be ended. goes_on is asked before
  // each, with the number of boxes that are done; false ends it. Returns those that are done.
  // Throws what either throws.
  std::size_t in_groups(
      bool of_spec, std::size_t count, const std::function<bool(std::size_t done)>& goes_on,
      const std::function<void(std::size_t first, std::size_t boxes)>& bound) const;

  // Returns whether it takes arrays in its memory.
  bool takes_pointers() const;

  // bound(), of boxes that lie in the device's memory and are not copied. False where something is
  // no box that bounds are promised for; then nothing is written. Throws: BF3344.
  bool bound_there(bool of_spec, const BoxesThere& boxes, float* out_lower, float* out_upper) const;
  // Numbers of the device's memory. Throws: BF3344.
  std::vector<float> read(std::uintptr_t from, void* stream, std::size_t count) const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace bf_aot::engine
