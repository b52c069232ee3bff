#pragma once

#include <string_view>

// The self-test of --project DIR: templates of emit::fill_in().

namespace bf_aot::artifacts {

inline constexpr std::string_view kSelftestHeader =
    R"(/* The self-test of @name@, for power-on: made by bf-aot @version@ with the verifier, for the target
 * @target@. May be used, changed and shipped without attribution. */
#ifndef BF_SELFTEST_@NAME@_H
#define BF_SELFTEST_@NAME@_H

#include <stddef.h>
#include <stdint.h>

#include "@stem@.h"

#ifdef __cplusplus
extern "C" {
#endif

#define @NAME@_SELFTEST_VECTORS @vectors@u
#define @NAME@_SELFTEST_FLOATS (2 * @NAME@_INPUTS + 2 * @NAME@_OUTPUTS)

/* What failed: the constants, or vector v, as @NAME@_SELFTEST_VECTOR + v. */
#define @NAME@_SELFTEST_PASSED 0u
#define @NAME@_SELFTEST_CONSTANTS 1u
#define @NAME@_SELFTEST_VECTOR 0x100u

/* @what@
 * Returns one of the codes above, of what fails first. floats: room for @NAME@_SELFTEST_FLOATS of them.
 * workspace: as for @name@_bounds. A vector also fails where @name@_bounds refuses it, as it does when
 * the processor does not round to nearest. Reentrant. */
uint32_t @name@_selftest(float *floats, void *workspace, size_t workspace_bytes);

#ifdef __cplusplus
}
#endif

#endif /* BF_SELFTEST_@NAME@_H */
)";

inline constexpr std::string_view kSelftestExact =
    R"(Checks the constants, then whether the bounds of each vector's box are those that follow from the
 * network, to the bit.)";
inline constexpr std::string_view kSelftestWindows =
    R"(Checks the constants, then whether each end of the bounds of each vector's box lies in its window.
 * A window ends where some output of the box would lie outside of the bounds, and where they are
 * wider than bf-aot's own by a sixteenth, and by more than what other orders of sums explain.)";

inline constexpr std::string_view kSelftestSource =
    R"(/* The self-test of @name@; see @stem@_selftest.h. Written anew by bf-aot with the verifier. */
#include "@stem@_selftest.h"

enum { kRanges = @ranges@, kChecked = @checked@ };

/* Input i lies between first unit and (first + steps) unit; where there is one range, all do. */
static const int32_t first[kRanges] = {@first@};
static const uint16_t steps[kRanges] = {@steps@};
static const float unit[kRanges] = {@unit@};

/* The width of each vector's box, of 256 steps. */
static const uint16_t width[@NAME@_SELFTEST_VECTORS] = {@widths@};
@outputs@
/* Bits of floats: the least and the most that an output's lower bound may be, and its upper bound. */
static const uint32_t windows[@NAME@_SELFTEST_VECTORS][kChecked][4] = {@windows@};

/* All operations on floats are exact. */
static void make_box(uint32_t vector, float *lower, float *upper) {
  uint32_t state = (vector + 1u) * 2654435769u;
  size_t i;
  for (i = 0u; i < @NAME@_INPUTS; ++i) {
    const size_t range = kRanges == 1 ? 0u : i;
    const uint32_t wide = ((uint32_t)steps[range] * width[vector]) >> 8;
    int32_t begin;
    state = state * 1664525u + 1013904223u;
    begin = first[range] + (int32_t)(((steps[range] - wide) * (state >> 24)) >> 8);
    lower[i] = (float)begin * unit[range];
    upper[i] = (float)(begin + (int32_t)wide) * unit[range];
  }
}

/* Bits of floats as numbers in the floats' order; what is no number lies outside of the infinities. */
static uint32_t order_of(uint32_t bits) {
  return (bits >> 31) != 0u ? ~bits : bits | 0x80000000u;
}

static int is_inside(float end, const uint32_t window[2]) {
  union {
    float number;
    uint32_t bits;
  } made;
  made.number = end;
  return order_of(made.bits) >= order_of(window[0]) && order_of(made.bits) <= order_of(window[1]);
}

static int are_inside(uint32_t vector, const float *lower, const float *upper) {
  size_t i;
  for (i = 0u; i < kChecked; ++i) {
    const size_t output = @output@;
    const uint32_t *const window = windows[vector][i];
    if (!is_inside(lower[output], window) || !is_inside(upper[output], window + 2)) return 0;
  }
  return 1;
}

uint32_t @name@_selftest(float *floats, void *workspace, size_t workspace_bytes) {
  float *const lower = floats, *const upper = lower + @NAME@_INPUTS;
  float *const out_lower = upper + @NAME@_INPUTS, *const out_upper = out_lower + @NAME@_OUTPUTS;
  uint32_t vector;
@constants@  for (vector = 0u; vector < @NAME@_SELFTEST_VECTORS; ++vector) {
    make_box(vector, lower, upper);
    if (@name@_bounds(lower, upper, out_lower, out_upper, workspace, workspace_bytes) != BF_OK ||
        !are_inside(vector, out_lower, out_upper))
      return @NAME@_SELFTEST_VECTOR + vector;
  }
  return @NAME@_SELFTEST_PASSED;
}
)";

inline constexpr std::string_view kSelftestConstants =
    R"(  if (@name@_constants_crc32() != @NAME@_CONSTANTS_CRC32) return @NAME@_SELFTEST_CONSTANTS;
)";

// This part is for a network that has many outputs.
inline constexpr std::string_view kSelftestOutputs =
    R"(
/* The outputs that are checked. */
static const uint32_t checked[kChecked] = {@checked@};
)";

}  // namespace bf_aot::artifacts
