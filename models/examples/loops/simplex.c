/* A simplex switch: the learned controller while the monitor proves that it keeps the pendulum
 * within 0.5 radians for the next second, a backup otherwise. The loop is simulated; a push comes
 * after 1.5 s. With an argument, that file gets a line for each period, which plot_csv.py draws. */
#include <math.h>
#include <stdio.h>

#include "learned.h"
#include "monitor.h"
#include "monitor/bf_monitor.h"

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

/* The backup takes over with the first period that is not proven, and lasts until three are. */
static const bf_monitor_settings settings = {3, 1, 3, 0, 0};

static bf_monitor_answer ask(const double* state) {
  static monitor_result result;
  double lower[2], upper[2];
  int i;
  for (i = 0; i < 2; ++i) {
    lower[i] = state[i] - SENSOR;
    upper[i] = state[i] + SENSOR;
  }
  if (monitor_look_ahead(lower, upper, &result, monitor_memory, sizeof monitor_memory) != BF_OK)
    return BF_MONITOR_REFUSED;
  return result.safe_periods == MONITOR_PERIODS ? BF_MONITOR_PROVEN : BF_MONITOR_UNKNOWN;
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

int main(int count, char** words) {
  double state[2] = {0.3, 0}, most = 0;
  bf_monitor monitor;
  FILE* const csv = count > 1 ? fopen(words[1], "w") : NULL;
  int period;
  if (bf_monitor_init(&monitor, &settings) != BF_OK || (count > 1 && csv == NULL)) return 2;
  if (csv != NULL) fputs("seconds,angle,speed,learned\n", csv);
  for (period = 0; period < 60; ++period) {
    int acts;
    if (period == 30) state[1] += 3.5;
    acts = bf_monitor_step(&monitor, ask(state)) == BF_MONITOR_LEARNED;
    if (csv != NULL) fprintf(csv, "%g,%g,%g,%d\n", period * PERIOD, state[0], state[1], acts);
    simulate(state, acts ? learned(state) : backup(state));
    if (fabs(state[0]) > most) most = fabs(state[0]);
    putchar(acts ? '.' : 'B');
  }
  printf("\nat most %.3f radians\n", most);
  if (csv != NULL && fclose(csv) != 0) return 2;
  return most <= 0.5 ? 0 : 1;
}
