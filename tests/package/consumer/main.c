#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "controller.h"
#include "tiny.h"

#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define ALIGN MOST(TINY_WORKSPACE_ALIGN, AVOID_WORKSPACE_ALIGN)

/* One workspace serves both: nothing in it survives a call. */
static unsigned char memory[MOST(TINY_WORKSPACE_BYTES, AVOID_WORKSPACE_BYTES) + ALIGN];

static int expect(int condition, const char* text) {
  if (!condition) fprintf(stderr, "not so: %s\n", text);
  return !condition;
}

int main(void) {
  unsigned char* workspace = memory + (ALIGN - (uintptr_t)memory % ALIGN);
  const float lower[TINY_INPUTS] = {-1, -1}, upper[TINY_INPUTS] = {1, 1};
  float out_lower[TINY_OUTPUTS], out_upper[TINY_OUTPUTS];
  float state_lower[AVOID_INPUTS] = {0}, state_upper[AVOID_INPUTS] = {0};
  float row_lower[AVOID_SPEC_ROWS], row_upper[AVOID_SPEC_ROWS];
  int bad = 0, i;

  bad |= expect(
      tiny_bounds(lower, upper, out_lower, out_upper, workspace, TINY_WORKSPACE_BYTES) == BF_OK,
      "tiny_bounds is BF_OK");
  /* The network's value at the centre: -0.5, -0.75. */
  bad |= expect(out_lower[0] <= -0.5f && out_upper[0] >= -0.5f, "output 0 holds -0.5");
  bad |= expect(out_lower[1] <= -0.75f && out_upper[1] >= -0.75f, "output 1 holds -0.75");
  bad |= expect(out_lower[0] >= -4.001f && out_upper[0] <= 5.001f, "output 0 is tight");

  bad |= expect(avoid_spec_bounds(state_lower, state_upper, row_lower, row_upper, workspace,
                                  AVOID_WORKSPACE_BYTES) == BF_OK,
                "avoid_spec_bounds is BF_OK");
  for (i = 0; i < AVOID_SPEC_ROWS; ++i)
    bad |= expect(row_lower[i] <= row_upper[i] && row_upper[i] - row_lower[i] < 0.1f,
                  "a point has narrow rows");
  bad |= expect(strcmp(avoid_info()->method, "crown-ibp") == 0, "info names the method");

  state_lower[0] = NAN;
  bad |= expect(avoid_spec_bounds(state_lower, state_upper, row_lower, row_upper, workspace,
                                  AVOID_WORKSPACE_BYTES) == BF_NAN_INPUT,
                "NaN is refused");
  return bad;
}
