#include <cstdio>

#include "controller.h"
#include "tiny.h"

namespace {

alignas(TINY_WORKSPACE_ALIGN) unsigned char tiny_workspace[TINY_WORKSPACE_BYTES];
alignas(AVOID_WORKSPACE_ALIGN) unsigned char avoid_workspace[AVOID_WORKSPACE_BYTES];

}  // namespace

int main() {
  const float lower[TINY_INPUTS] = {0, 0}, upper[TINY_INPUTS] = {0, 0};
  float out_lower[TINY_OUTPUTS], out_upper[TINY_OUTPUTS];
  bf_status status =
      tiny_bounds(lower, upper, out_lower, out_upper, tiny_workspace, sizeof tiny_workspace);
  if (status != BF_OK || !(out_lower[0] <= -0.5f && -0.5f <= out_upper[0])) {
    std::fprintf(stderr, "tiny: %s\n", bf_status_text(status));
    return 1;
  }
  const float state[AVOID_INPUTS] = {};
  float costs_lower[AVOID_OUTPUTS], costs_upper[AVOID_OUTPUTS], costs[AVOID_OUTPUTS];
  status =
      avoid_bounds(state, state, costs_lower, costs_upper, avoid_workspace, sizeof avoid_workspace);
  if (status == BF_OK)
    status = avoid_evaluate(state, costs, avoid_workspace, sizeof avoid_workspace);
  if (status != BF_OK) {
    std::fprintf(stderr, "avoid: %s\n", bf_status_text(status));
    return 1;
  }
  // The plain inference rounds, too: near the interval, not always inside.
  for (int i = 0; i < AVOID_OUTPUTS; ++i)
    if (!(costs[i] > costs_lower[i] - 1e-4f && costs[i] < costs_upper[i] + 1e-4f)) return 1;
  return 0;
}
