#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/core/rounding.h"
#include "bf/search/property.h"

// Verdicts on a compiled-in property from bounds in floats: property.h has the logic.

namespace bf {

// A box, and one that is written: [inputs] each.
struct BoxView {
  const float* lower;
  const float* upper;
};
struct BoxEnds {
  float* lower;
  float* upper;
};

// Bounds of the rows over a box, and the lines that gave them.
struct RowsView {
  const float* lower;  // [rows]
  const float* upper;
  const float* lines;  // [rows][2][inputs + 1], of keep_coefficients()
};

using VerdictTerm = VerdictTermOf<float>;
using PropertyTables = PropertyTablesOf<float, float>;

template <>
struct Ends<float> {
  static float after(float x) { return next_up(x); }
  static float before(float x) { return next_down(x); }
  static float middle(float low, float high) { return 0.5f * low + 0.5f * high; }
};

// The verdict on a box that check_box accepts. scratch: verify_bytes().
template <class Bounds>
static inline bf_status verify_property(const PropertyTables& property, const float* lower,
                                        const float* upper, bf_result* result, float* scratch,
                                        const Bounds& bounds) {
  const std::ptrdiff_t numbers = 3 * static_cast<std::ptrdiff_t>(property.inputs);
  return verify_property(property, lower, upper, result, scratch, scratch + numbers, bounds);
}

// verify_boxes, but that a failure leaves verdicts on boxes whose cases have not all been looked
// at.
template <class Together, class Bounds>
static inline bf_status decide_boxes(const PropertyTables& property, std::size_t count,
                                     const float* lower, const float* upper, bf_result* results,
                                     const bf_status* statuses, float* scratch,
                                     const Together& together, const Bounds& bounds) {
  static_assert(sizeof(bf_status) <= sizeof(float), "bf: a status has the room of a float");
  const auto inputs = static_cast<std::size_t>(property.inputs);
  const auto rows = static_cast<std::size_t>(property.rows);
  float* const box_lower = scratch;
  float* const box_upper = box_lower + count * inputs;
  float* const row_lower = box_upper + count * inputs;
  float* const row_upper = row_lower + count * rows;
  float* const point = row_upper + count * rows;
  auto* const box = reinterpret_cast<std::uint32_t*>(point + inputs);  // of each part
  auto* const part_statuses = reinterpret_cast<bf_status*>(box + count);
  for (std::size_t i = 0; i < count; ++i)
    if (statuses[i] == BF_OK) results[i] = {BF_VERIFIED, 0, 0, results[i].counterexample};
  for (std::int32_t index = 0; index < property.cases; ++index) {
    std::size_t parts = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (statuses[i] == BF_OK && results[i].verdict != BF_FALSIFIED &&
          intersect_case(property, index, lower + i * inputs, upper + i * inputs,
                         box_lower + parts * inputs, box_upper + parts * inputs))
        box[parts++] = static_cast<std::uint32_t>(i);
    if (parts == 0) continue;
    if (const bf_status status =
            together(parts, box_lower, box_upper, row_lower, row_upper, part_statuses))
      return status;
    for (std::size_t k = 0; k < parts; ++k)
      if (const bf_status status = decide_case(
              property, index, box_lower + k * inputs, box_upper + k * inputs, row_lower + k * rows,
              row_upper + k * rows, point, &results[box[k]], bounds))
        return status;
  }
  for (std::size_t i = 0; i < count; ++i)
    if (statuses[i] == BF_OK && results[i].verdict == BF_VERIFIED)
      results[i].verdict =
          verdict_within(property, lower + i * inputs, upper + i * inputs, box_lower, box_upper);
  return BF_OK;
}

// verify_property of each box with BF_OK, the same results: case after case, whose parts of the
// boxes together(count, lower, upper, row_lower, row_upper, statuses) bounds in one call. scratch:
// verify_boxes_bytes(). A failure is that of each of these boxes.
template <class Together, class Bounds>
static inline bf_status verify_boxes(const PropertyTables& property, std::size_t count,
                                     const float* lower, const float* upper, bf_result* results,
                                     bf_status* statuses, float* scratch, const Together& together,
                                     const Bounds& bounds) {
  const bf_status failure =
      decide_boxes(property, count, lower, upper, results, statuses, scratch, together, bounds);
  if (failure == BF_OK) return BF_OK;
  for (std::size_t i = 0; i < count; ++i)
    if (statuses[i] == BF_OK) {
      statuses[i] = failure;
      results[i].verdict = BF_UNKNOWN;
    }
  return failure;
}

}  // namespace bf
