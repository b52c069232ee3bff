#pragma once

#include <vector>

#include "tests/soundness/batch.h"

namespace bf_aot::soundness {

using BoundsBatch = bf_status (*)(std::size_t, const float*, const float*, float*, float*,
                                  bf_status*, void*, std::size_t);

constexpr float kNotWritten = 7777.0F;

// Arguments and results of one call of NAME_bounds_batch or NAME_spec_bounds_batch. Outputs are
// kNotWritten before; guard bytes lie around the workspace, which is exactly as large as it must
// be.
struct BatchCall {
  std::size_t inputs, outputs;
  std::vector<float> lower, upper, out_lower, out_upper;
  std::vector<bf_status> statuses;
  std::size_t bytes;
  Arena arena;
  bf_status status = BF_OK;

  BatchCall(const Plan& plan, std::size_t outputs_of_a_box, const std::vector<FloatBox>& boxes)
      : inputs(static_cast<std::size_t>(plan.input_count)),
        outputs(outputs_of_a_box),
        out_lower(boxes.size() * outputs, kNotWritten),
        out_upper(boxes.size() * outputs, kNotWritten),
        statuses(boxes.size(), static_cast<bf_status>(-1)),
        bytes(static_cast<std::size_t>(plan.batch_bytes())),
        arena(bytes, static_cast<std::size_t>(plan.config.target.align)) {
    for (const FloatBox& box : boxes) {
      lower.insert(lower.end(), box.lower.begin(), box.lower.end());
      upper.insert(upper.end(), box.upper.begin(), box.upper.end());
    }
    arena.fill(0xaa);
  }

  std::size_t count() const { return statuses.size(); }

  bf_status run(BoundsBatch function) {
    status = function(count(), lower.data(), upper.data(), out_lower.data(), out_upper.data(),
                      statuses.data(), arena.data(), bytes);
    return status;
  }

  Outcome outcome(std::size_t box) const {
    const auto part = [&](const std::vector<float>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(box * outputs);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(outputs));
    };
    return {statuses[box], part(out_lower), part(out_upper)};
  }

  bool untouched(std::size_t box) const {
    for (std::size_t i = box * outputs; i < (box + 1) * outputs; ++i)
      if (out_lower[i] != kNotWritten || out_upper[i] != kNotWritten) return false;
    return true;
  }

  bool untouched() const {
    for (std::size_t i = 0; i < count(); ++i)
      if (!untouched(i) || statuses[i] != static_cast<bf_status>(-1)) return false;
    return true;
  }
};

}  // namespace bf_aot::soundness
