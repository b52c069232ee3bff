#include "aot/engine/device/device_verifier.h"

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "planner/plan/plan.h"
#include "planner/reference/executor.h"

namespace bf_aot::engine {

std::unique_ptr<const HostVerifier> DeviceVerifier::twin() const {
  return std::make_unique<DeviceVerifier>(device_);
}

Bounds DeviceVerifier::bound(bool of_spec, const input::FloatBox& box) const {
  const Plan& plan = device_->plan();
  const auto rows = static_cast<std::size_t>(of_spec ? plan.spec_rows : plan.output_count);
  std::vector<float> lower(rows), upper(rows);
  bf_status status = BF_OK;
  device_->bound(of_spec, 1, box.lower.data(), box.upper.data(), lower.data(), upper.data(),
                 &status);
  if (status != BF_OK) fail("BF3306", plan.name, bf_status_text(status));
  return {{lower.begin(), lower.end()}, {upper.begin(), upper.end()}};
}

Bounds DeviceVerifier::bounds(const input::FloatBox& box) const {
  return bound(false, box);
}

Bounds DeviceVerifier::spec_bounds(const input::FloatBox& box) const {
  return bound(true, box);
}

std::vector<float> DeviceVerifier::evaluate(const std::vector<float>& x) const {
  const std::vector<double> y = reference::evaluate(device_->plan(), {x.begin(), x.end()});
  std::vector<float> made;
  for (const double value : y) made.push_back(static_cast<float>(value));
  return made;
}

bool DeviceVerifier::ask(engine::Watch* watch) const {
  watch_ = watch;
  return true;
}

bf_status DeviceVerifier::in_groups(std::size_t count, const float* lower, const float* upper,
                                    float* row_lower, float* row_upper, float* lines,
                                    bf_status* statuses) const {
  const Plan& plan = device_->plan();
  const auto inputs = static_cast<std::size_t>(plan.input_count);
  const auto rows = static_cast<std::size_t>(plan.spec_rows);
  const Entry* const entry = plan.find_entry(EntryKind::kSpecBounds);
  bf_status status = BF_OK;
  const auto goes_on = [&](std::size_t /*done*/) {
    return watch_ == nullptr || watch_->goes_on({*entry, 0, 0, 1, 0});
  };
  const auto bound = [&](std::size_t first, std::size_t boxes) {
    const bf_status made =
        device_->bound(true, boxes, lower + first * inputs, upper + first * inputs,
                       row_lower + first * rows, row_upper + first * rows, statuses + first,
                       lines == nullptr ? nullptr : lines + first * device_->lines());
    if (status == BF_OK) status = made;
  };
  if (device_->in_groups(true, count, goes_on, bound) < count) throw engine::Stopped();
  return status;
}

bf_status DeviceVerifier::spec_bounds_batch(std::size_t count, const float* lower,
                                            const float* upper, float* row_lower, float* row_upper,
                                            bf_status* statuses) const {
  return in_groups(count, lower, upper, row_lower, row_upper, nullptr, statuses);
}

bf_status DeviceVerifier::spec_coefficients_batch(std::size_t count, const float* lower,
                                                  const float* upper, float* row_lower,
                                                  float* row_upper, float* coefficients,
                                                  bf_status* statuses) const {
  return in_groups(count, lower, upper, row_lower, row_upper, coefficients, statuses);
}

std::vector<double> DeviceVerifier::sample_times(const input::FloatBox& box,
                                                 const system::SampleLimits& limits) const {
  const bool of_spec = device_->plan().spec_rows > 0;
  return system::sample_calls([&] { (void)bound(of_spec, box); }, limits);
}

std::vector<TimedPart> DeviceVerifier::time_parts(const input::FloatBox& /*box*/,
                                                  int /*repeats*/) const {
  fail("BF3305", device_->plan().name, "code on a device does not tell where its time goes",
       "leave the device out");
}

}  // namespace bf_aot::engine
