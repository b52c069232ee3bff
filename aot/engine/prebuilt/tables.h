#pragma once

#include "aot/engine/prebuilt/prebuilt.h"

// BF_PREBUILT is the name, as part of an identifier, of the instruction set that this file is
// compiled for.
#define BF_PREBUILT_JOIN(a, b) a##b
#define BF_PREBUILT_NAME(prefix, name) BF_PREBUILT_JOIN(prefix, name)

namespace bf_aot::engine {

Span<Span<PrebuiltRoutine>> BF_PREBUILT_NAME(routines_, BF_PREBUILT)();
Span<Span<PrebuiltRoutine>> BF_PREBUILT_NAME(conv_rows_, BF_PREBUILT)();
Span<Span<PrebuiltRoutine>> BF_PREBUILT_NAME(relax_, BF_PREBUILT)();
bool BF_PREBUILT_NAME(relax_fuses_, BF_PREBUILT)();
Span<PrebuiltKernel> BF_PREBUILT_NAME(kernels_, BF_PREBUILT)();

}  // namespace bf_aot::engine
