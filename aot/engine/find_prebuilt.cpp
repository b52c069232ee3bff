#include "aot/engine/find_prebuilt.h"

// The tables of aot/engine/prebuilt/, which is compiled for each instruction set of the build.
#include "aot/engine/prebuilt/levels.h"

namespace bf_aot::engine {

#define BF_DECLARE(name, target)                  \
  Span<Span<PrebuiltRoutine>> routines_##name();  \
  Span<Span<PrebuiltRoutine>> conv_rows_##name(); \
  Span<Span<PrebuiltRoutine>> relax_##name();     \
  bool relax_fuses_##name();                      \
  Span<PrebuiltKernel> kernels_##name();
BF_FOR_EACH_PREBUILT(BF_DECLARE)
#undef BF_DECLARE

const Prebuilt* find_prebuilt(std::string_view target) {
#define BF_LIST(name, target)                             \
  {target,         routines_##name(), conv_rows_##name(), \
   relax_##name(), kernels_##name(),  relax_fuses_##name},
  static const Prebuilt all[] = {BF_FOR_EACH_PREBUILT(BF_LIST)};
#undef BF_LIST
  for (const Prebuilt& each : all)
    if (target == each.target) return &each;
  return nullptr;
}

}  // namespace bf_aot::engine
