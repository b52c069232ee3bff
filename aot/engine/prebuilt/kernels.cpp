#include "aot/engine/prebuilt/tables.h"
#include "aot/engine/prebuilt/thunk.h"

namespace bf_aot::engine {

Span<PrebuiltKernel> BF_PREBUILT_NAME(kernels_, BF_PREBUILT)() {
  return {nullptr, 0};
}

}  // namespace bf_aot::engine
