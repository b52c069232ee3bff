#pragma once

#include "aot/engine/prebuilt/prebuilt.h"

// The tables of one instruction set, for lists of them: run(NAME, "TARGET") as in levels.h.

#define BF_DECLARE_PREBUILT(name, target)         \
  Span<Span<PrebuiltRoutine>> routines_##name();  \
  Span<Span<PrebuiltRoutine>> conv_rows_##name(); \
  Span<Span<PrebuiltRoutine>> relax_##name();     \
  bool relax_fuses_##name();                      \
  Span<PrebuiltKernel> kernels_##name();

// A Prebuilt, in namespace bf_aot::engine.
#define BF_PREBUILT_OF(name, target)                                                 \
  {                                                                                  \
    target, routines_##name(), conv_rows_##name(), relax_##name(), kernels_##name(), \
        relax_fuses_##name                                                           \
  }
