#include "bf_monitor.h" /* shipped beside it */

#include <float.h>

#define MOST_WINDOW 32u

/* The number of the latest `window` answers that are proven. */
static uint32_t proven_of(uint32_t history, uint32_t window) {
  uint32_t i, count = 0u;
  for (i = 0u; i < window; ++i) count += (history >> i) & 1u;
  return count;
}

static void count_up(uint32_t* count) {
  if (*count < UINT32_MAX) *count += 1u;
}

bf_status bf_monitor_init(bf_monitor* monitor, const bf_monitor_settings* settings) {
  bf_monitor begun = {{0u, 0u, 0u, 0u, 0u}, 0u, {0u, 0u, 0u, 0u}, 0u, 0u, 0u, 0u, 0u};
  if (monitor == NULL || settings == NULL) return BF_NULL_ARGUMENT;
  if (settings->window < 1u || settings->window > MOST_WINDOW) return BF_BAD_COUNT;
  if (settings->falls_at < 1u || settings->falls_at > settings->window) return BF_BAD_COUNT;
  /* With fewer, the same answers could ask for the fall-back and for its end. */
  if (settings->returns_at > settings->window ||
      settings->returns_at + settings->falls_at <= settings->window)
    return BF_BAD_COUNT;
  begun.settings = *settings;
  *monitor = begun;
  return BF_OK;
}

/* Whether the fall-back is to control the plant, by all but what ends it. */
static int falls(const bf_monitor* monitor, bf_monitor_answer answer) {
  const uint32_t window = monitor->settings.window;
  const uint32_t not_proven = window - proven_of(monitor->history, window);
  return (answer != BF_MONITOR_PROVEN && answer != BF_MONITOR_UNKNOWN) ||
         not_proven >= monitor->settings.falls_at || monitor->requested != 0u;
}

static int may_return(const bf_monitor* monitor, bf_monitor_answer answer) {
  const bf_monitor_settings* const settings = &monitor->settings;
  return answer == BF_MONITOR_PROVEN && monitor->latched == 0u &&
         proven_of(monitor->history, settings->window) >= settings->returns_at &&
         monitor->steps_in_mode >= settings->least_steps;
}

static void enter(bf_monitor* monitor, bf_monitor_mode mode) {
  monitor->mode = (uint8_t)mode;
  monitor->steps_in_mode = 0u;
  if (mode != BF_MONITOR_FALL_BACK) return;
  count_up(&monitor->falls);
  if (monitor->settings.most_falls > 0u && monitor->falls >= monitor->settings.most_falls)
    monitor->latched = 1u;
}

bf_monitor_mode bf_monitor_step(bf_monitor* monitor, bf_monitor_answer answer) {
  bf_monitor_answer counted = answer;
  if (monitor == NULL) return BF_MONITOR_FALL_BACK;
  if (answer != BF_MONITOR_PROVEN && answer != BF_MONITOR_UNKNOWN && answer != BF_MONITOR_LATE)
    counted = BF_MONITOR_REFUSED;
  count_up(&monitor->counts[counted]);
  monitor->history = (monitor->history << 1) | (counted == BF_MONITOR_PROVEN ? 1u : 0u);
  if (monitor->mode == (uint8_t)BF_MONITOR_LEARNED) {
    if (falls(monitor, counted)) enter(monitor, BF_MONITOR_FALL_BACK);
  } else if (!falls(monitor, counted) && may_return(monitor, counted)) {
    enter(monitor, BF_MONITOR_LEARNED);
  }
  count_up(&monitor->steps_in_mode);
  return bf_monitor_controls(monitor);
}

void bf_monitor_request(bf_monitor* monitor) {
  if (monitor != NULL) monitor->requested = 1u;
}

void bf_monitor_release(bf_monitor* monitor) {
  if (monitor == NULL) return;
  monitor->requested = 0u;
  monitor->latched = 0u;
  monitor->falls = 0u;
}

bf_monitor_mode bf_monitor_controls(const bf_monitor* monitor) {
  if (monitor == NULL || monitor->requested != 0u) return BF_MONITOR_FALL_BACK;
  return monitor->mode == (uint8_t)BF_MONITOR_LEARNED ? BF_MONITOR_LEARNED : BF_MONITOR_FALL_BACK;
}

bf_monitor_answer bf_monitor_in_time(bf_monitor_answer answer, uint32_t begin, uint32_t now,
                                     uint32_t most) {
  return now - begin > most ? BF_MONITOR_LATE : answer;
}

/* ---- the box of readings */

/* BF_OK where a number is a finite float. */
static bf_status status_of(float number) {
  if (number >= -FLT_MAX && number <= FLT_MAX) return BF_OK;
  return number < 0.0f || number > 0.0f ? BF_INFINITE_BOX : BF_NAN_INPUT;
}

/* The float behind a finite one, towards the larger. */
static float next_above(float number) {
  union {
    float number;
    uint32_t bits;
  } next;
  next.number = number;
  if ((next.bits << 1) == 0u)
    next.bits = 1u; /* of both zeros */
  else if ((next.bits >> 31) != 0u)
    next.bits -= 1u;
  else
    next.bits += 1u;
  return next.number;
}

/* Sets the least float that is >= number. */
static bf_status round_up(double number, float* result) {
  if (!(number >= -(double)FLT_MAX && number <= (double)FLT_MAX)) return BF_INFINITE_BOX;
  *result = (float)number;
  if ((double)*result < number) *result = next_above(*result);
  return status_of(*result);
}

/* A sensor's number, which means scale x + offset for each x within `error` of value. */
typedef struct {
  double value, error, scale, offset;
  int is_converted; /* by a scale or an offset: a controller's conversion rounds, too */
} reading;

static double magnitude(double number) {
  return number < 0.0 ? -number : number;
}

/* The upper end of what a reading means, times sign, rounded up: docs/proofs/readings.md. */
static bf_status end_above(const reading* from, double sign, float* end) {
  const double product = sign * from->scale * from->value;
  const double terms = magnitude(product), offset = magnitude(from->offset);
  const double rounded =
      from->is_converted ? (3.0 * terms + offset) * 0x1.0008p-24 + 0x1p-149 : 0.0;
  double radius = magnitude(from->scale) * from->error;
  if (radius < rounded) radius = rounded;
  if (terms + rounded > (double)FLT_MAX)
    return BF_INFINITE_BOX; /* so may a controller's product be */
  return round_up(product + radius + sign * from->offset + (terms + radius + offset) * 0x1p-50,
                  end);
}

static bf_status box_of(const reading* from, float* lower, float* upper) {
  bf_status status = from->error < 0.0 ? BF_EMPTY_BOX : end_above(from, 1.0, upper);
  if (status == BF_OK) status = end_above(from, -1.0, lower);
  if (status == BF_OK) *lower = -*lower;
  return status;
}

/* Sets all but the value. */
static bf_status read_scales(const float* error, const float* scale, const float* offset, size_t i,
                             reading* from) {
  const float numbers[3] = {error[i], scale == NULL ? 1.0f : scale[i],
                            offset == NULL ? 0.0f : offset[i]};
  bf_status status = BF_OK;
  size_t j;
  for (j = 0u; j < 3u && status == BF_OK; ++j) status = status_of(numbers[j]);
  from->error = (double)numbers[0];
  from->scale = (double)numbers[1];
  from->offset = (double)numbers[2];
  from->is_converted = scale != NULL || offset != NULL;
  return status;
}

bf_status bf_monitor_box(const float* value, const float* error, const float* scale,
                         const float* offset, size_t count, float* lower, float* upper) {
  bf_status status = BF_OK;
  size_t i;
  if (value == NULL || error == NULL || lower == NULL || upper == NULL) return BF_NULL_ARGUMENT;
  for (i = 0u; i < count && status == BF_OK; ++i) {
    reading from;
    status = status_of(value[i]);
    if (status == BF_OK) status = read_scales(error, scale, offset, i, &from);
    from.value = (double)value[i];
    if (status == BF_OK) status = box_of(&from, &lower[i], &upper[i]);
  }
  return status;
}

bf_status bf_monitor_box_of_codes(const int32_t* code, const float* error, const float* scale,
                                  const float* offset, size_t count, float* lower, float* upper) {
  bf_status status = BF_OK;
  size_t i;
  if (code == NULL || error == NULL || lower == NULL || upper == NULL) return BF_NULL_ARGUMENT;
  for (i = 0u; i < count && status == BF_OK; ++i) {
    reading from;
    status = read_scales(error, scale, offset, i, &from);
    from.value = (double)code[i];
    from.is_converted = 1; /* the code itself, to a float */
    if (status == BF_OK) status = box_of(&from, &lower[i], &upper[i]);
  }
  return status;
}
