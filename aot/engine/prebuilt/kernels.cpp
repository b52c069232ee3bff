#include <cstddef>
#include <utility>

#include "aot/engine/prebuilt/backward.h"
#include "aot/engine/prebuilt/forward.h"
#include "aot/engine/prebuilt/lines.h"
#include "aot/engine/prebuilt/tables.h"

namespace bf_aot::engine {
namespace {

constexpr PrebuiltKernels kList = prebuilt_kernels(kLanes);

template <KernelVariant kOf>
constexpr Thunk code_of() {
  constexpr bool kBoxes = kOf.boxes > 1;
  if constexpr (kOf.kind == KernelKind::kEvaluateAffine) {
    return call_evaluate<kOf.relu, kOf.head>;
  } else if constexpr (kOf.kind == KernelKind::kIntervalAffine) {
    return call_interval<kBoxes, kOf.live_in, kOf.relu, kOf.head>;
  } else if constexpr (kOf.kind == KernelKind::kCentreAffine) {
    return call_centre<kBoxes, kOf.live_in, kOf.residual>;
  } else if constexpr (kOf.kind == KernelKind::kForwardLines) {
    return call_lines<kBoxes>;
  } else if constexpr (kOf.kind == KernelKind::kConcretize) {
    return call_concretize<kOf.rows, kOf.boxes>;
  } else if constexpr (kOf.plain) {
    return call_product<kOf.rows, kOf.boxes, kOf.wide>;
  } else {
    static_assert(kOf.kind == KernelKind::kBackwardAffine, "a kind of kernel without code");
    return call_backward<kOf.rows, kOf.boxes, kOf.wide, kOf.live_out, kOf.live_in>;
  }
}

template <typename Places>
struct Table;
template <std::size_t... kPlace>
struct Table<std::index_sequence<kPlace...>> {
  static constexpr PrebuiltKernel all[] = {{kList.list[kPlace], code_of<kList.list[kPlace]>()}...};
};
using Own = Table<std::make_index_sequence<kList.count>>;

}  // namespace

Span<PrebuiltKernel> BF_PREBUILT_NAME(kernels_, BF_PREBUILT)() {
  return {Own::all, kList.count};
}

}  // namespace bf_aot::engine
