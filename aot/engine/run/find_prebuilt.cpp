#include "aot/engine/run/find_prebuilt.h"

#include "aot/engine/prebuilt/declare.h"

// The tables of aot/engine/prebuilt/, which is compiled for each instruction set of the build.
#include "aot/engine/prebuilt/levels.h"

namespace bf_aot::engine {

BF_FOR_EACH_PREBUILT(BF_DECLARE_PREBUILT)

const Prebuilt* find_prebuilt(std::string_view target) {
#define BF_LIST(name, target) BF_PREBUILT_OF(name, target),
  static const Prebuilt all[] = {BF_FOR_EACH_PREBUILT(BF_LIST)};
#undef BF_LIST
  for (const Prebuilt& each : all)
    if (target == each.target) return &each;
  return nullptr;
}

}  // namespace bf_aot::engine
