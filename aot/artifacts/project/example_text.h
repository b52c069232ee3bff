#pragma once

#include <string_view>

// Programs of --project DIR: templates of emit::fill_in().

namespace bf_aot::artifacts {

inline constexpr std::string_view kExample =
    R"(/* A monitor beside a learned controller: in each period it reads a sensor, asks the verifier what
 * holds for every input that the reading may stand for, and switches (bf_monitor.h). Yours to change
 * and ship, without attribution.
 * Bounds hold for @covers@ */
#include <stdint.h>
@console@
#include "bf_monitor.h"
#include "@stem@_readings.h"
#include "@stem@_selftest.h"
@printers@
enum { kReadings = 10, kBrokenReading = 7 };

/* The fall-back takes over with the first answer that is not proven, and lasts until two answers in
 * a row are. What suits the plant is yours to argue. */
static const bf_monitor_settings settings = {2, 1, 2, 0, 0};

/* Room to align the workspace: C99 has no way to ask for an alignment. */
static unsigned char memory[@WORKSPACE@ + @NAME@_WORKSPACE_ALIGN];
static float value[@NAME@_INPUTS], error[@NAME@_INPUTS]; /* what the sensor says, and how surely */
static float lower[@NAME@_INPUTS], upper[@NAME@_INPUTS];
static float numbers[@NAME@_SELFTEST_FLOATS];
@results@@context_memory@
/* A simulated sensor: yours goes here. Its error triples with each reading, and one reading is no
 * number. */
static void read_sensor(int step) {
  static const uint32_t not_a_number = 0x7fc00000;
  static uint32_t state = 1;
  float most = 0.0001f;
  int i;
  for (i = 1; i < step; ++i) most *= 3;
@base@  for (i = 0; i < @NAME@_INPUTS; ++i) {
    /* From -1 to 1; reading 0 is zero. */
    const float number = step == 0 ? 0.0f : (float)(state >> 8) * 0x1p-23f - 1;
    state = state * 1664525u + 1013904223u;
@box@  }
  if (step == kBrokenReading) {
    const union {
      uint32_t bits;
      float number;
    } broken = {not_a_number};
    value[0] = broken.number;
  }
}

/* What is not proven, and why. */
static bf_monitor_answer fall_back(bf_monitor_answer answer, const char *reason) {
  put_text("falls back: ");
  put_text(reason);
  return answer;
}

static bf_monitor_answer proven(const char *what) {
  put_text("proven: ");
  put_text(what);
  return BF_MONITOR_PROVEN;
}

/* Before anything is controlled: the constants, and what the code makes of ten boxes. */
static int passes_selftest(void *workspace) {
  const uint32_t failed = @name@_selftest(numbers, workspace, @NAME@_WORKSPACE_BYTES);
  put_text(failed == @NAME@_SELFTEST_PASSED ? "self-test: passed" : "self-test: fails with code ");
  if (failed != @NAME@_SELFTEST_PASSED) put_number((float)failed);
  put_text("\n");
  return failed == @NAME@_SELFTEST_PASSED;
}

@judge@
int main(void) {
  const uintptr_t misaligned = (uintptr_t)memory % @NAME@_WORKSPACE_ALIGN;
  unsigned char *workspace = memory + (misaligned ? @NAME@_WORKSPACE_ALIGN - misaligned : 0);
  bf_monitor monitor;
  int step;@variables@

  if (!passes_selftest(workspace)) return 1;
  if (bf_monitor_init(&monitor, &settings) != BF_OK) return 1;
  for (step = 0; step < kReadings; ++step) {
    bf_monitor_answer answer;
    bf_status status;
    read_sensor(step);
    /* With the sensor's scale and offset in place of the null pointers. */
    status = @name@_box_from_readings(value, error, NULL, NULL, lower, upper);
@before_call@    if (status == BF_OK) status = ask(workspace);
@after_call@    put_text("reading ");
    put_number((float)step);
    put_text(": ");
    if (status == BF_OK)
      answer = judge();
    else /* the outputs were not written */
      answer = fall_back(BF_MONITOR_REFUSED, bf_status_text(status));
    /* With a clock: answer = bf_monitor_in_time(answer, begin, now, most). */
    if (bf_monitor_step(&monitor, answer) == BF_MONITOR_LEARNED)
      put_text("; the learned controller acts\n"); /* yours goes here */
    else
      put_text("; the fall-back acts\n"); /* what the controlled machine does: yours goes here */
    if (step == 0 && status != BF_OK) return 1;
@print@  }
@context_calls@@report@  return 0;
}
)";

// The boxes of the network's inputs.
inline constexpr std::string_view kReadings =
    R"(/* Boxes of readings for @name@: bf_monitor.h says what they hold, and what is refused. */
#ifndef BF_READINGS_@NAME@_H
#define BF_READINGS_@NAME@_H

#include "@stem@.h"
#include "bf_monitor.h"

/* Each array has @NAME@_INPUTS elements; scale and offset may be null. */
static inline bf_status @name@_box_from_readings(const float *value, const float *error,
                                                 const float *scale, const float *offset,
                                                 float *lower, float *upper) {
  return bf_monitor_box(value, error, scale, offset, @NAME@_INPUTS, lower, upper);
}

/* The same of whole numbers, as converters give them. error: in codes. */
static inline bf_status @name@_box_from_codes(const int32_t *code, const float *error,
                                              const float *scale, const float *offset, float *lower,
                                              float *upper) {
  return bf_monitor_box_of_codes(code, error, scale, offset, @NAME@_INPUTS, lower, upper);
}

#endif /* BF_READINGS_@NAME@_H */
)";

// The console with an operating system; without one board.h has it.
inline constexpr std::string_view kHostConsole = R"(#include <stdio.h>
)";
inline constexpr std::string_view kHostPrinters = R"(
static void put_text(const char *text) { fputs(text, stdout); }
static void put_number(float number) { printf("%.9g", (double)number); }
)";
inline constexpr std::string_view kBoardConsole = R"(
#include "board.h")";

// These lines say what a reading is; with a property it lies around a point of its first case.
inline constexpr std::string_view kBox = R"(    value[i] = number;
    error[i] = most;
)";
inline constexpr std::string_view kPropertyBase =
    R"(  @name@_property_box(0, lower, upper); /* the property's: large errors leave it */
)";
inline constexpr std::string_view kPropertyBox =
    R"(    value[i] = lower[i] + (upper[i] - lower[i]) * (0.5f + 0.25f * number);
    error[i] = (upper[i] - lower[i]) * most;
)";

inline constexpr std::string_view kOutputs =
    R"(static float out_lower[@NAME@_OUTPUTS], out_upper[@NAME@_OUTPUTS];
)";
inline constexpr std::string_view kAskBounds = R"(static bf_status ask(void *workspace) {
  return @name@_bounds(lower, upper, out_lower, out_upper, workspace, @NAME@_WORKSPACE_BYTES);
}
)";

inline constexpr std::string_view kJudgeLargest =
    R"(/* The output that is the largest for every input of the box; -1: not known, bounds overlap. */
static int largest_output(void) {
  int best = 0, i;
  for (i = 1; i < @NAME@_OUTPUTS; ++i)
    if (out_lower[i] > out_lower[best]) best = i;
  for (i = 0; i < @NAME@_OUTPUTS; ++i)
    if (i != best && out_upper[i] >= out_lower[best]) return -1;
  return best;
}

static bf_monitor_answer judge(void) {
  const int best = largest_output();
  if (best < 0) return fall_back(BF_MONITOR_UNKNOWN, "unknown");
  (void)proven("the largest is number ");
  put_number((float)best);
  return BF_MONITOR_PROVEN;
}
)";

inline constexpr std::string_view kJudgeSign =
    R"(/* The sign of the output, where it is one for every input of the box. */
static bf_monitor_answer judge(void) {
  if (out_lower[0] > 0) return proven("above zero");
  if (out_upper[0] < 0) return proven("below zero");
  return fall_back(BF_MONITOR_UNKNOWN, "unknown");
}
)";

inline constexpr std::string_view kSpecResults =
    R"(static float row_lower[@NAME@_SPEC_ROWS], row_upper[@NAME@_SPEC_ROWS];
)";
inline constexpr std::string_view kJudgeSpec = R"(static bf_status ask(void *workspace) {
  return @name@_spec_bounds(lower, upper, row_lower, row_upper, workspace, @NAME@_WORKSPACE_BYTES);
}

/* Whether every row of the specification is above zero for every input of the box. */
static bf_monitor_answer judge(void) {
  int i;
  for (i = 0; i < @NAME@_SPEC_ROWS; ++i)
    if (!(row_lower[i] > 0)) return fall_back(BF_MONITOR_UNKNOWN, "unknown");
  return proven("all rows are above zero");
}
)";

inline constexpr std::string_view kPropertyResults = R"(static bf_result result;
)";
inline constexpr std::string_view kJudgeProperty = R"(static bf_status ask(void *workspace) {
  return @name@_verify(lower, upper, &result, workspace, @NAME@_VERIFY_WORKSPACE_BYTES);
}

static bf_monitor_answer judge(void) {
  if (result.verdict == BF_VERIFIED) return proven("the property holds");
  /* Also outside of the property's region. */
  return fall_back(BF_MONITOR_UNKNOWN, bf_verdict_text(result.verdict));
}
)";

// The bounds, or rows, of the first reading.
inline constexpr std::string_view kPrint = R"(    if (step == 0) {
      int i;
      for (i = 0; i < @NAME@_@count@; ++i) {
        put_text("@what@ ");
        put_number((float)i);
        put_text(": [");
        put_number(@array@_lower[i]);
        put_text(", ");
        put_number(@array@_upper[i]);
        put_text("]\n");
      }
    }
)";

// The stack of a call, on a board that tells.
inline constexpr std::string_view kStackVariables = R"(
  size_t most_stack = 0;)";
inline constexpr std::string_view kStackBefore = R"(    paint_stack();
)";
inline constexpr std::string_view kStackAfter =
    R"(    if (stack_used() > most_stack) most_stack = stack_used();
)";
inline constexpr std::string_view kStackReport = R"(  put_text("bytes of stack of a call: ");
  put_number((float)most_stack);
  put_text("\n");
)";

// Text that is added where the verifier keeps things between calls.
inline constexpr std::string_view kContextMemory =
    R"(/* What calls keep for each other. */
static unsigned char kept[@NAME@_CONTEXT_BYTES + @NAME@_CONTEXT_ALIGN];
)";

inline constexpr std::string_view kContextCalls = R"(
  {
    const uintptr_t rest = (uintptr_t)kept % @NAME@_CONTEXT_ALIGN;
    unsigned char *context = kept + (rest ? @NAME@_CONTEXT_ALIGN - rest : 0);
    static float low[@NAME@_OUTPUTS], high[@NAME@_OUTPUTS];
    bf_cache_counters counters;
    bf_status status = @name@_context_init(context, @NAME@_CONTEXT_BYTES);
    read_sensor(0);
    if (status == BF_OK)
      status = @name@_box_from_readings(value, error, NULL, NULL, lower, upper);
    for (step = 0; step < 2 && status == BF_OK; ++step)
      status = @name@_bounds_cached(context, @NAME@_CONTEXT_BYTES, lower, upper, low, high,
                                   workspace, @NAME@_WORKSPACE_BYTES);
    if (status == BF_OK) status = @name@_cache_counters(context, @NAME@_CONTEXT_BYTES, &counters);
    if (status != BF_OK) {
      put_text(bf_status_text(status));
      return 1;
    }
    put_number((float)(int)counters.calls);
    put_text(" calls with a context, ");
    put_number((float)(int)counters.hits);
    put_text(" of them on the box of the call before\n");
  }
)";

inline constexpr std::string_view kParallelExample =
    R"(// Bounds of a demonstration box by several threads. Yours to change and ship, without attribution.
#include <algorithm>
#include <cstdio>

#include "@stem@.h"
#include "thread_executor.h"

alignas(@NAME@_WORKSPACE_ALIGN) static unsigned char workspace[@NAME@_PARALLEL_WORKSPACE_BYTES];
static float lower[@NAME@_INPUTS], upper[@NAME@_INPUTS];
static float out_lower[@NAME@_OUTPUTS], out_upper[@NAME@_OUTPUTS];

int main() {
  bf::host::ThreadExecutor threads;  // as many workers as this machine has cores
  std::fill_n(lower, @NAME@_INPUTS, -0.01f);
  std::fill_n(upper, @NAME@_INPUTS, 0.01f);
  const bf_status status = @name@_bounds_parallel(lower, upper, out_lower, out_upper, workspace,
                                                 sizeof workspace, threads.get());
  if (status != BF_OK) {
    std::fprintf(stderr, "%s\n", bf_status_text(status));
    return 1;
  }
  for (int i = 0; i < @NAME@_OUTPUTS; ++i)
    std::printf("output %d: [%.9g, %.9g]\n", i, static_cast<double>(out_lower[i]),
                static_cast<double>(out_upper[i]));
  return 0;
}
)";

}  // namespace bf_aot::artifacts
