#pragma once

namespace bf_aot {

// What code is built for before there is a plan (Lowering::kPrebuilt): the constants of its
// templates come from these sets.

// Rows of a backward tile, of all boxes.
constexpr int kPrebuiltRows[] = {4, 8, 16, 32};
// Boxes side by side in lanes.
constexpr int kPrebuiltBoxes[] = {4, 8, 16};

constexpr bool is_prebuilt_rows(int rows) {
  for (const int each : kPrebuiltRows)
    if (each == rows) return true;
  return false;
}

constexpr bool is_prebuilt_boxes(int boxes) {
  for (const int each : kPrebuiltBoxes)
    if (each == boxes) return true;
  return false;
}

// The smallest tile that holds so many rows, or the largest that there is.
constexpr int prebuilt_rows_for(int rows) {
  for (const int each : kPrebuiltRows)
    if (each >= rows) return each;
  return kPrebuiltRows[sizeof(kPrebuiltRows) / sizeof(kPrebuiltRows[0]) - 1];
}

// The largest tile of no more than so many rows, or the smallest that there is.
constexpr int prebuilt_rows_within(int rows) {
  int most = kPrebuiltRows[0];
  for (const int each : kPrebuiltRows)
    if (each <= rows) most = each;
  return most;
}

}  // namespace bf_aot
