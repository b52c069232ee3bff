/* A switch between a learned controller and a fall-back, beside a verifier (the Simplex
 * architecture: Sha, "Using simplicity to control complexity", IEEE Software 18(4), 2001).
 * C99, no heap, no recursion, no loop longer than 32 turns but for those over readings. Yours to
 * change and ship, without attribution.
 *
 * One bf_monitor belongs to one task, which calls bf_monitor_step() once in each period. Interrupts
 * and other tasks may call bf_monitor_request() and bf_monitor_controls() at any time. */
#ifndef BF_MONITOR_H
#define BF_MONITOR_H

#include <stdint.h>

#include "bf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The answer says what the verifier proved of a period's box. */
typedef enum {
  BF_MONITOR_PROVEN = 0, /* what is asked holds for every input of the box */
  BF_MONITOR_UNKNOWN,    /* it is not proven, or false */
  BF_MONITOR_REFUSED,    /* no answer: a reading that is no number, a status other than BF_OK */
  BF_MONITOR_LATE        /* the answer came after its deadline */
} bf_monitor_answer;
#define BF_MONITOR_ANSWERS 4

/* Who controls the plant. Memory that is zeroed means the fall-back. */
typedef enum { BF_MONITOR_FALL_BACK = 0, BF_MONITOR_LEARNED = 1 } bf_monitor_mode;

typedef struct {
  uint8_t window;       /* N, the latest answers that count: 1 to 32 */
  uint8_t falls_at;     /* of these not proven: the fall-back takes over. 1 to N; 1: at once */
  uint8_t returns_at;   /* of these proven: the learned controller may return. Above N - falls_at */
  uint16_t least_steps; /* periods that the fall-back lasts at least */
  uint16_t most_falls;  /* after so many falls the fall-back stays; 0: no limit */
} bf_monitor_settings;

typedef struct {
  bf_monitor_settings settings;
  uint32_t history;                    /* bit i: the answer i periods ago was proven */
  uint32_t counts[BF_MONITOR_ANSWERS]; /* of each answer; a count stays at its largest value */
  uint32_t falls, steps_in_mode;       /* likewise */
  uint8_t latched;                     /* the fall-back stays until bf_monitor_release() */
  volatile uint8_t mode;               /* a bf_monitor_mode */
  volatile uint8_t requested;          /* by bf_monitor_request() */
} bf_monitor;

/* Begins with the fall-back, and no answer proven. Returns BF_NULL_ARGUMENT; BF_BAD_COUNT for
 * settings outside of their ranges, which change nothing. */
bf_status bf_monitor_init(bf_monitor* monitor, const bf_monitor_settings* settings);

/* Takes a period's answer, and returns who controls the plant in this period.
 * The fall-back does where the answer is BF_MONITOR_REFUSED or BF_MONITOR_LATE, where falls_at of
 * the latest `window` answers are not proven, where it was requested, or where it is latched. From
 * it the learned controller returns only by an answer that is proven, with returns_at of the latest
 * `window` proven, after least_steps periods. Any other number than the four answers counts as
 * BF_MONITOR_REFUSED. A null pointer: the fall-back. */
bf_monitor_mode bf_monitor_step(bf_monitor* monitor, bf_monitor_answer answer);

/* Asks for the fall-back, from an interrupt or another task: bf_monitor_controls() says so at once,
 * and the next bf_monitor_step() enters it. It stays until bf_monitor_release(). */
void bf_monitor_request(bf_monitor* monitor);

/* Ends a request and a latch, and begins to count falls anew. The fall-back goes on until answers
 * end it. Called by the task of bf_monitor_step(). */
void bf_monitor_release(bf_monitor* monitor);

/* Who controls the plant now. */
bf_monitor_mode bf_monitor_controls(const bf_monitor* monitor);

/* The answer, or BF_MONITOR_LATE where more than `most` ticks of a counter of 32 bits, which may
 * overflow once, lie between `begin` and `now`. */
bf_monitor_answer bf_monitor_in_time(bf_monitor_answer answer, uint32_t begin, uint32_t now,
                                     uint32_t most);

/* The box of what readings may stand for: for each i < count, and every real x with
 * |x - value[i]| <= error[i], lower[i] <= scale[i] x + offset[i] <= upper[i]. It also holds what a
 * controller makes of value[i] in float32, in whatever order, fused or not. Ends are rounded
 * outward, by less than 2^-49 of their summands' magnitudes and then to the next float. scale: all
 * 1 where null; offset: all 0 where null. Returns BF_NULL_ARGUMENT; BF_NAN_INPUT; BF_EMPTY_BOX a
 * negative error; BF_INFINITE_BOX a number, a product or an end beyond the floats. Then lower and
 * upper hold no box. Needs rounding to nearest, doubles of IEEE 754, and subnormals, as the
 * verifier does. */
bf_status bf_monitor_box(const float* value, const float* error, const float* scale,
                         const float* offset, size_t count, float* lower, float* upper);

/* bf_monitor_box() of whole numbers, as converters from analogue to digital give them. error: in
 * codes. */
bf_status bf_monitor_box_of_codes(const int32_t* code, const float* error, const float* scale,
                                  const float* offset, size_t count, float* lower, float* upper);

#ifdef __cplusplus
}
#endif

#endif
