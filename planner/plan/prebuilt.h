#pragma once

#include <initializer_list>

#include "planner/plan/kernel_kind.h"

// The code that bf-aot is built with (Lowering::kPrebuilt), for vectors of so many floats; 1 lane:
// scalar code. The planner chooses from these sets, plan verify holds plans to them, and
// aot/engine/prebuilt/ makes code of each member: one list, so none can be asked for that is not
// there. Nothing of the standard library: code of every instruction set includes this.
namespace bf_aot {

// ---- rows of a backward tile, of all boxes

// Rows that leave no lane idle: whole vectors of what is summed, doubles where `wide`, and of no
// fewer floats than the least vector has.
constexpr int row_unit(int lanes, bool wide) {
  constexpr int kLeastLanes = 4;
  if (lanes == 1) return 2;  // both signs of a neuron
  if (!wide) return lanes;
  return lanes / 2 > kLeastLanes ? lanes / 2 : kLeastLanes;
}

// Four vectors: more leave no registers for sums.
constexpr int most_rows(int lanes) {
  return 4 * row_unit(lanes, false);
}

constexpr int kPrebuiltRows[] = {4, 8, 16, 32};

constexpr bool is_prebuilt_rows(int lanes, bool wide, int rows) {
  for (const int each : kPrebuiltRows)
    if (each == rows) return rows % row_unit(lanes, wide) == 0 && rows <= most_rows(lanes);
  return false;
}

// The smallest tile that holds so many rows, or the largest that there is.
constexpr int prebuilt_rows_for(int lanes, bool wide, int rows) {
  int found = 0;
  for (const int each : kPrebuiltRows)
    if (found < rows && is_prebuilt_rows(lanes, wide, each)) found = each;
  return found;
}

// The largest tile of no more than so many rows, or the smallest that there is.
constexpr int prebuilt_rows_within(int lanes, bool wide, int rows) {
  int found = 0;
  for (const int each : kPrebuiltRows)
    if ((found == 0 || each <= rows) && is_prebuilt_rows(lanes, wide, each)) found = each;
  return found;
}

// ---- boxes side by side

// The number of boxes that go side by side is that of a vector's lanes, each with both rows of one
// neuron.
constexpr int prebuilt_boxes(int lanes) {
  return lanes;
}
constexpr int rows_of_boxes(int boxes) {
  return 2 * boxes;
}

// ---- kernels of dense layers

// The code that a kernel needs; the fields are Kernel's.
struct KernelVariant {
  KernelKind kind;
  int rows;   // backward: of all boxes
  int boxes;  // side by side in lanes; 1: lanes are outputs or rows
  bool wide, plain, live_out, live_in, relu, residual, head;
  bool operator==(const KernelVariant&) const = default;
};

struct PrebuiltKernels {
  static constexpr int kMost = 96;
  KernelVariant list[kMost];
  int count = 0;

  constexpr void add(const KernelVariant& variant) { list[count++] = variant; }
  constexpr bool has(const KernelVariant& variant) const {
    for (int i = 0; i < count; ++i)
      if (list[i] == variant) return true;
    return false;
  }
};

namespace prebuilt_detail {

constexpr KernelVariant plain_variant(KernelKind kind, int rows, int boxes) {
  return {kind, rows, boxes, false, false, false, false, false, false, false};
}

constexpr void add_forward(PrebuiltKernels& all, int boxes) {
  for (const bool live_in : {false, true}) {
    KernelVariant each = plain_variant(KernelKind::kIntervalAffine, 0, boxes);
    each.live_in = live_in;
    for (const bool relu : {false, true})
      for (const bool head : {false, true}) {
        each.relu = relu;
        each.head = head;
        all.add(each);
      }
    each = plain_variant(KernelKind::kCentreAffine, 0, boxes);
    each.live_in = live_in;
    for (const bool residual : {false, true}) {
      each.residual = residual;
      all.add(each);
    }
  }
  all.add(plain_variant(KernelKind::kForwardLines, 0, boxes));
}

constexpr void add_evaluate(PrebuiltKernels& all) {
  KernelVariant each = plain_variant(KernelKind::kEvaluateAffine, 0, 1);
  for (const bool relu : {false, true})
    for (const bool head : {false, true}) {
      each.relu = relu;
      each.head = head;
      all.add(each);
    }
}

constexpr void add_backward(PrebuiltKernels& all, int rows, int boxes, bool wide) {
  KernelVariant each = plain_variant(KernelKind::kBackwardAffine, rows, boxes);
  each.wide = wide;
  for (const bool live_out : {false, true})
    for (const bool live_in : {false, true}) {
      each.live_out = live_out;
      each.live_in = live_in;
      all.add(each);
    }
  each.live_out = each.live_in = false;
  each.plain = true;
  all.add(each);
}

}  // namespace prebuilt_detail

constexpr PrebuiltKernels prebuilt_kernels(int lanes) {
  namespace detail = prebuilt_detail;
  PrebuiltKernels all = {};
  detail::add_evaluate(all);
  detail::add_forward(all, 1);
  for (const int rows : kPrebuiltRows) {
    const bool floats = is_prebuilt_rows(lanes, false, rows);
    const bool doubles = is_prebuilt_rows(lanes, true, rows);
    if (floats) detail::add_backward(all, rows, 1, false);
    if (doubles) detail::add_backward(all, rows, 1, true);
    if (floats || doubles) all.add(detail::plain_variant(KernelKind::kConcretize, rows, 1));
  }
  if (lanes > 1) {
    const int boxes = prebuilt_boxes(lanes), rows = rows_of_boxes(boxes);
    detail::add_forward(all, boxes);
    detail::add_backward(all, rows, boxes, false);
    detail::add_backward(all, rows, boxes, true);
    all.add(detail::plain_variant(KernelKind::kConcretize, rows, boxes));
  }
  return all;
}

// Returns true if a plan may ask for the kernel.
constexpr bool is_prebuilt(int lanes, const KernelVariant& variant) {
  return prebuilt_kernels(lanes).has(variant);
}

// ---- routines that are templates over rows or boxes

// Rows of tiles, whether their sums are floats or doubles.
constexpr bool is_prebuilt_routine_rows(int lanes, int rows) {
  return is_prebuilt_rows(lanes, false, rows) || is_prebuilt_rows(lanes, true, rows);
}

struct PrebuiltRowSet {
  int rows[sizeof(kPrebuiltRows) / sizeof(kPrebuiltRows[0])];
  int count = 0;
};
constexpr PrebuiltRowSet prebuilt_routine_rows(int lanes) {
  PrebuiltRowSet all = {};
  for (const int rows : kPrebuiltRows)
    if (is_prebuilt_routine_rows(lanes, rows)) all.rows[all.count++] = rows;
  return all;
}

// Backward rows through a convolution.
struct PrebuiltConvRows {
  int rows;
  bool wide;
};
struct PrebuiltConvSet {
  PrebuiltConvRows list[2 * sizeof(kPrebuiltRows) / sizeof(kPrebuiltRows[0])];
  int count = 0;
};
constexpr PrebuiltConvSet prebuilt_conv_rows(int lanes) {
  PrebuiltConvSet all = {};
  for (const bool wide : {false, true})
    for (const int rows : kPrebuiltRows)
      if (is_prebuilt_rows(lanes, wide, rows)) all.list[all.count++] = {rows, wide};
  return all;
}

// All sizes of vectors: whatever tile is asked for, there is one, with all that works on it.
static_assert([] {
  for (const int lanes : {1, 4, 8, 16})
    for (const bool wide : {false, true})
      for (int rows = 1; rows <= 64; ++rows)
        for (const int tile :
             {prebuilt_rows_for(lanes, wide, rows), prebuilt_rows_within(lanes, wide, rows)}) {
          KernelVariant each = prebuilt_detail::plain_variant(KernelKind::kBackwardAffine, tile, 1);
          each.wide = wide;
          if (!is_prebuilt_rows(lanes, wide, tile) || !is_prebuilt_routine_rows(lanes, tile) ||
              !is_prebuilt(lanes, each) ||
              !is_prebuilt(lanes, prebuilt_detail::plain_variant(KernelKind::kConcretize, tile, 1)))
            return false;
        }
  // Boxes side by side use the routines of rows.
  for (const int lanes : {4, 8, 16})
    if (!is_prebuilt_rows(lanes, false, rows_of_boxes(prebuilt_boxes(lanes)))) return false;
  return true;
}());

}  // namespace bf_aot
