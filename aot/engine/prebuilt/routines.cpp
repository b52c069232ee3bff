#include "aot/engine/prebuilt/tables.h"
#include "aot/engine/prebuilt/thunk.h"

namespace bf_aot::engine {

Span<PrebuiltRoutine> BF_PREBUILT_NAME(routines_, BF_PREBUILT)() {
  return {nullptr, 0};
}

}  // namespace bf_aot::engine
