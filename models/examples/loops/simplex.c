/* A simplex switch: the learned controller while the monitor proves that it keeps the pendulum
 * within 0.5 radians for the next second, a backup otherwise. The loop is simulated; a push comes
 * after 1.5 s. */
#include <math.h>
#include <stdio.h>

#include "learned.h"
#include "monitor.h"

#define PERIOD 0.05
#define SENSOR 0.002 /* what angle and speed are measured to */

static double monitor_memory[MONITOR_WORKSPACE_BYTES / 8];
_Alignas(LEARNED_WORKSPACE_ALIGN) static unsigned char learned_memory[LEARNED_WORKSPACE_BYTES];

static double learned(const double* state) {
  const float x[2] = {(float)state[0], (float)state[1]};
  float u = 0;
  learned_evaluate(x, &u, learned_memory, sizeof learned_memory);
  return u;
}

/* Strong and simple: no network is needed to trust it. */
static double backup(const double* state) {
  return -40 * state[0] - 8 * state[1];
}

static int is_proven(const double* state) {
  static monitor_result result;
  double lower[2], upper[2];
  int i;
  for (i = 0; i < 2; ++i) {
    lower[i] = state[i] - SENSOR;
    upper[i] = state[i] + SENSOR;
  }
  if (monitor_look_ahead(lower, upper, &result, monitor_memory, sizeof monitor_memory) != BF_OK)
    return 0;
  return result.safe_periods == MONITOR_PERIODS;
}

static void simulate(double* state, double control) {
  const int steps = 100;
  int k;
  for (k = 0; k < steps; ++k) {
    const double acceleration = 9.81 * sin(state[0]) - 0.2 * state[1] + control;
    state[0] += PERIOD / steps * state[1];
    state[1] += PERIOD / steps * acceleration;
  }
}

int main(void) {
  double state[2] = {0.3, 0}, most = 0;
  int period;
  for (period = 0; period < 60; ++period) {
    int proven;
    if (period == 30) state[1] += 3.5;
    proven = is_proven(state);
    simulate(state, proven ? learned(state) : backup(state));
    if (fabs(state[0]) > most) most = fabs(state[0]);
    putchar(proven ? '.' : 'B');
  }
  printf("\nat most %.3f radians\n", most);
  return most <= 0.5 ? 0 : 1;
}
