#pragma once

#include <memory>
#include <vector>

#include "aot/engine/device/device.h"
#include "aot/engine/verifier/verifier.h"

namespace bf_aot::engine {

// A device as a verifier. The network itself is evaluated here, in double. Many boxes go there in
// groups, see Device::in_groups(), so that a watch ends calls between them.
class DeviceVerifier final : public HostVerifier {
 public:
  explicit DeviceVerifier(std::shared_ptr<const Device> device) : device_(std::move(device)) {}

  std::unique_ptr<const HostVerifier> twin() const override;
  bool ask(engine::Watch* watch) const override;
  Bounds bounds(const input::FloatBox& box) const override;
  Bounds spec_bounds(const input::FloatBox& box) const override;
  std::vector<float> evaluate(const std::vector<float>& x) const override;
  bf_status spec_bounds_batch(std::size_t count, const float* lower, const float* upper,
                              float* row_lower, float* row_upper,
                              bf_status* statuses) const override;
  bf_status spec_coefficients_batch(std::size_t count, const float* lower, const float* upper,
                                    float* row_lower, float* row_upper, float* coefficients,
                                    bf_status* statuses) const override;
  std::vector<double> sample_times(const input::FloatBox& box,
                                   const system::SampleLimits& limits) const override;
  // Throws: BF3305.
  std::vector<TimedPart> time_parts(const input::FloatBox& box, int repeats) const override;

 private:
  Bounds bound(bool of_spec, const input::FloatBox& box) const;
  bf_status in_groups(std::size_t count, const float* lower, const float* upper, float* row_lower,
                      float* row_upper, float* lines, bf_status* statuses) const;

  std::shared_ptr<const Device> device_;
  mutable engine::Watch* watch_ = nullptr;
};

}  // namespace bf_aot::engine
