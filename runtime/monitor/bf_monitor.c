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

/* scale value + offset + |scale| error, rounded up. Both products are exact: factors have 24 bits,
 * and a double has 53 and the exponents of all products. With S the sum of the summands'
 * magnitudes, three sums err by 2^-53 S each, but for factors near 1. 2^-51 S pays for that. */
static bf_status end_above(double scale, double value, double error, double offset, float* end) {
  const double product = scale * value;
  const double radius = (scale < 0.0 ? -scale : scale) * error;
  const double sum = product + radius + offset;
  const double magnitudes =
      (product < 0.0 ? -product : product) + radius + (offset < 0.0 ? -offset : offset);
  return round_up(sum + magnitudes * 0x1p-51, end);
}

static bf_status box_of(float value, float error, float scale, float offset, float* lower,
                        float* upper) {
  const float numbers[4] = {value, error, scale, offset};
  bf_status status = BF_OK;
  size_t i;
  for (i = 0u; i < 4u && status == BF_OK; ++i) status = status_of(numbers[i]);
  if (status == BF_OK && error < 0.0f) status = BF_EMPTY_BOX;
  if (status == BF_OK) status = end_above(scale, value, error, offset, upper);
  /* The lower end is minus the upper end of -(scale x + offset). */
  if (status == BF_OK) status = end_above(-(double)scale, value, error, -(double)offset, lower);
  if (status == BF_OK) *lower = -*lower;
  return status;
}

bf_status bf_monitor_box(const float* value, const float* error, const float* scale,
                         const float* offset, size_t count, float* lower, float* upper) {
  bf_status status = BF_OK;
  size_t i;
  if (value == NULL || error == NULL || lower == NULL || upper == NULL) return BF_NULL_ARGUMENT;
  for (i = 0u; i < count && status == BF_OK; ++i)
    status = box_of(value[i], error[i], scale == NULL ? 1.0f : scale[i],
                    offset == NULL ? 0.0f : offset[i], &lower[i], &upper[i]);
  return status;
}
