// Evaluates a verifier of semantics float32 at points of its boxes, on the target's own arithmetic,
// and counts the values outside of its bounds. The verifier is called net; points_test.py makes
// test_boxes.h and defines POINTS, the number of points of each box.

#include "port.h"
#include "print.h"
#include "test_boxes.h"  // kBoxCount, kLower[][inputs], kUpper[][inputs]
#include "verifier.h"

namespace {

alignas(NET_WORKSPACE_ALIGN) unsigned char workspace[NET_WORKSPACE_BYTES + 16];
float lower[NET_OUTPUTS], upper[NET_OUTPUTS], value[NET_OUTPUTS], point[NET_INPUTS];
uint32_t state = 1;

uint32_t next() {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

// A corner in one of four points.
void choose_point(size_t box) {
  const bool corner = next() % 4 == 0;
  for (size_t i = 0; i < NET_INPUTS; ++i) {
    const float low = kLower[box][i], high = kUpper[box][i];
    const float share =
        corner ? static_cast<float>(next() & 1) : static_cast<float>(next()) * 0x1p-24f;
    const float x = low + share * (high - low);
    point[i] = x < low ? low : x > high ? high : x;
  }
}

uint32_t outside() {
  uint32_t count = 0;
  for (size_t j = 0; j < NET_OUTPUTS; ++j)
    if (!(lower[j] <= value[j] && value[j] <= upper[j])) ++count;
  return count;
}

}  // namespace

int harness_main() {
  uint32_t wrong = 0;
  for (size_t box = 0; box < kBoxCount; ++box) {
    if (net_bounds(kLower[box], kUpper[box], lower, upper, workspace, sizeof workspace)) return 1;
    for (uint32_t i = 0; i < POINTS; ++i) {
      choose_point(box);
      if (net_evaluate(point, value, workspace, sizeof workspace)) return 1;
      wrong += outside();
    }
  }
  port::write("bf outside ");
  print::hex32(wrong);
  port::write("\nbf done\n");
  return 0;
}
