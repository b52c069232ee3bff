/* A monitor beside a collision-avoidance controller. The controller advises the manoeuvre whose
 * cost, an output of its network, is the least. It sees one state; a radar measures within errors.
 * For each reading the monitor asks which advice the controller can give to any state that the
 * reading may stand for. Yours to change and ship, without attribution. */
#include <stdint.h>

#include "avoid.h"

#ifdef ON_BOARD
#include "board.h"
#else
#include <stdio.h>
static void put_text(const char* text) {
  fputs(text, stdout);
}
static void put_number(float number) {
  printf("%.9g", (double)number);
}
#endif

enum { kAdvisories = 5, kReadings = 16 };

static const char* const advisories[kAdvisories] = {"clear of conflict", "weak left", "weak right",
                                                    "strong left", "strong right"};

/* The rows of pairs.json, in its order: cost `one` less cost `other`. */
static const struct {
  unsigned char one, other;
} pairs[AVOID_SPEC_ROWS] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2},
                            {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}};

/* Distance (ft), bearing and heading of the intruder (rad), both speeds (ft/s): what the network
 * reads, times its ranges. */
static const float range[AVOID_INPUTS] = {60760, 6.2831853f, 6.2831853f, 1100, 1200};

/* The radar's greatest errors, with room for the roundings below. */
static const float error[AVOID_INPUTS] = {150, 0.009f, 0.009f, 5, 5};

/* An encounter, recorded every three seconds: the intruder comes head-on, a little to the right,
 * and passes. In rain errors are six times as large. One reading is no number. */
static const struct {
  float state[AVOID_INPUTS];
  unsigned char rain, broken;
} readings[kReadings] = {
    {{48065, -0.052f, 3.107f, 600, 600}, 0, 0}, {{44468, -0.055f, 3.107f, 600, 600}, 0, 0},
    {{40871, -0.058f, 3.107f, 600, 600}, 0, 0}, {{37275, -0.062f, 3.107f, 600, 600}, 0, 0},
    {{33680, -0.067f, 3.107f, 600, 600}, 0, 0}, {{30085, -0.073f, 3.107f, 600, 600}, 1, 0},
    {{26492, -0.080f, 3.107f, 600, 600}, 0, 0}, {{22901, -0.090f, 3.107f, 600, 600}, 0, 0},
    {{19312, -0.104f, 3.107f, 600, 600}, 0, 1}, {{15729, -0.123f, 3.107f, 600, 600}, 0, 0},
    {{12156, -0.155f, 3.107f, 600, 600}, 0, 0}, {{8604, -0.212f, 3.107f, 600, 600}, 0, 0},
    {{5120, -0.348f, 3.107f, 600, 600}, 0, 0},  {{2076, -0.946f, 3.107f, 600, 600}, 0, 0},
    {{2883, -2.545f, 3.107f, 600, 600}, 0, 0},  {{6183, -2.887f, 3.107f, 600, 600}, 0, 0},
};

/* Room to align the workspace: C99 has no way to ask for an alignment. */
static unsigned char memory[AVOID_WORKSPACE_BYTES + AVOID_WORKSPACE_ALIGN];
static float lower[AVOID_INPUTS], upper[AVOID_INPUTS];
static float row_lower[AVOID_SPEC_ROWS], row_upper[AVOID_SPEC_ROWS];

/* The states that a reading may stand for, as a box of the network's inputs. */
static void read_radar(int step) {
  static const union {
    uint32_t bits;
    float number;
  } not_a_number = {0x7fc00000};
  int i;
  for (i = 0; i < AVOID_INPUTS; ++i) {
    const float most = readings[step].rain ? 6 * error[i] : error[i];
    lower[i] = (readings[step].state[i] - most) / range[i];
    upper[i] = (readings[step].state[i] + most) / range[i];
  }
  if (readings[step].broken) lower[0] = not_a_number.number;
}

/* The set of advisories that may be the least somewhere in the box, one bit each: a cost that is
 * above another on the whole box is never the least. */
static unsigned possible_advisories(void) {
  unsigned possible = (1u << kAdvisories) - 1;
  int row;
  for (row = 0; row < AVOID_SPEC_ROWS; ++row) {
    if (row_lower[row] > 0) possible &= ~(1u << pairs[row].one);
    if (row_upper[row] < 0) possible &= ~(1u << pairs[row].other);
  }
  return possible;
}

/* Whether a single advisory is possible. */
static int report(unsigned possible) {
  int advisory, count = 0;
  for (advisory = 0; advisory < kAdvisories; ++advisory) count += possible >> advisory & 1;
  put_text(count == 1 ? "proven: " : "unknown, one of: ");
  for (advisory = 0; advisory < kAdvisories; ++advisory) {
    if (!(possible >> advisory & 1)) continue;
    put_text(advisories[advisory]);
    possible &= ~(1u << advisory);
    if (possible) put_text(", ");
  }
  put_text("\n");
  return count == 1;
}

int main(void) {
  const uintptr_t misaligned = (uintptr_t)memory % AVOID_WORKSPACE_ALIGN;
  unsigned char* workspace = memory + (misaligned ? AVOID_WORKSPACE_ALIGN - misaligned : 0);
  int step, proven = 0;
  for (step = 0; step < kReadings; ++step) {
    bf_status status;
    read_radar(step);
    put_number(readings[step].state[0]);
    put_text(" ft: ");
    status =
        avoid_spec_bounds(lower, upper, row_lower, row_upper, workspace, AVOID_WORKSPACE_BYTES);
    if (status == BF_OK) {
      proven += report(possible_advisories());
    } else { /* the rows were not written: act as without a radar */
      put_text("refused: ");
      put_text(bf_status_text(status));
      put_text("\n");
    }
  }
  put_text("the advice is proven for ");
  put_number((float)proven);
  put_text(" of 16 readings\n");
  return 0;
}
