#pragma once

#include "aot/engine/prebuilt/prebuilt.h"

// Declares the functions that give the tables of one instruction set. For lists of instruction
// sets: run(NAME, "TARGET") as in levels.h.

#define BF_DECLARE_PREBUILT(name, target)         \
  Span<Span<PrebuiltRoutine>> routines_##name();  \
  Span<Span<PrebuiltRoutine>> conv_rows_##name(); \
  Span<Span<PrebuiltRoutine>> relax_##name();     \
  bool relax_fuses_##name();                      \
  Span<PrebuiltKernel> kernels_##name();

// The value of a Prebuilt, in namespace bf_aot::engine.
#define BF_PREBUILT_OF(name, target)                                                 \
  {                                                                                  \
    target, routines_##name(), conv_rows_##name(), relax_##name(), kernels_##name(), \
        relax_fuses_##name                                                           \
  }
