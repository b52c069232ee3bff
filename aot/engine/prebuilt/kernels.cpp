#include "aot/engine/prebuilt/backward.h"
#include "aot/engine/prebuilt/forward.h"
#include "aot/engine/prebuilt/lines.h"
#include "aot/engine/prebuilt/tables.h"

namespace bf_aot::engine {
namespace {

// Most kernels that an instruction set has.
constexpr int kMostKernels = 192;

struct Table {
  PrebuiltKernel kernels[kMostKernels] = {};
  int count = 0;

  constexpr void add(const KernelVariant& variant, Thunk call) {
    kernels[count++] = PrebuiltKernel{variant, call};
  }

  static constexpr KernelVariant of(KernelKind kind, int rows, int boxes) {
    return {kind, rows, boxes, false, false, false, false, false, false, false};
  }

  template <bool kBoxes, bool kLiveIn>
  constexpr void add_forward() {
    KernelVariant variant = of(KernelKind::kIntervalAffine, 0, kBoxes ? kLanes : 1);
    variant.live_in = kLiveIn;
    add(variant, call_interval<kBoxes, kLiveIn, false, false>);
    variant.relu = true;
    add(variant, call_interval<kBoxes, kLiveIn, true, false>);
    variant.head = true;
    add(variant, call_interval<kBoxes, kLiveIn, true, true>);
    variant.relu = false;
    add(variant, call_interval<kBoxes, kLiveIn, false, true>);
    variant = of(KernelKind::kCentreAffine, 0, kBoxes ? kLanes : 1);
    variant.live_in = kLiveIn;
    add(variant, call_centre<kBoxes, kLiveIn, false>);
    variant.residual = true;
    add(variant, call_centre<kBoxes, kLiveIn, true>);
  }

  template <bool kBoxes>
  constexpr void add_forward() {
    add_forward<kBoxes, false>();
    add_forward<kBoxes, true>();
    add(of(KernelKind::kForwardLines, 0, kBoxes ? kLanes : 1), call_lines<kBoxes>);
  }

  constexpr void add_evaluate() {
    KernelVariant variant = of(KernelKind::kEvaluateAffine, 0, 1);
    add(variant, call_evaluate<false, false>);
    variant.relu = true;
    add(variant, call_evaluate<true, false>);
    variant.head = true;
    add(variant, call_evaluate<true, true>);
    variant.relu = false;
    add(variant, call_evaluate<false, true>);
  }

  template <int kRows, int kBoxes, bool kWide>
  constexpr void add_backward() {
    KernelVariant variant = of(KernelKind::kBackwardAffine, kRows, kBoxes);
    variant.wide = kWide;
    add(variant, call_backward<kRows, kBoxes, kWide, false, false>);
    variant.live_in = true;
    add(variant, call_backward<kRows, kBoxes, kWide, false, true>);
    variant.live_out = true;
    add(variant, call_backward<kRows, kBoxes, kWide, true, true>);
    variant.live_in = false;
    add(variant, call_backward<kRows, kBoxes, kWide, true, false>);
    variant.live_out = false;
    variant.plain = true;
    add(variant, call_product<kRows, kBoxes, kWide>);
  }

  template <int kRows, int kBoxes = 1>
  constexpr void add_concretize() {
    add(of(KernelKind::kConcretize, kRows, kBoxes), call_concretize<kRows, kBoxes>);
  }

  // Tiles of rows are whole vectors, up to four.
  template <int... kVectors>
  constexpr void add_rows() {
    (add_backward<kVectors * kRowUnit, 1, false>(), ...);
  }
  template <int... kVectors>
  constexpr void add_wide_rows() {
    (add_backward<kVectors * kWideUnit, 1, true>(), ...);
  }
  template <int... kVectors>
  constexpr void add_concretize_rows() {
    (add_concretize<kVectors * kWideUnit>(), ...);
  }

  // As LoweringPlanner::row_unit.
  static constexpr int kRowUnit = kLanes > 1 ? kLanes : 2;
  static constexpr int kWideUnit = kLanes == 1 ? 2 : kLanes > 8 ? kLanes / 2 : 4;
};

constexpr Table all_kernels() {
  Table table;
  table.add_evaluate();
  table.add_forward<false>();
  table.add_rows<1, 2, 4>();
  if constexpr (Table::kWideUnit == Table::kRowUnit) {
    table.add_wide_rows<1, 2, 4>();
    table.add_concretize_rows<1, 2, 4>();
  } else {
    table.add_wide_rows<1, 2, 3, 4>();
    table.add_concretize_rows<1, 2, 3, 4, 8>();
  }
  if constexpr (kLanes > 1) {
    table.add_forward<true>();
    table.add_backward<2 * kLanes, kLanes, false>();
    table.add_backward<2 * kLanes, kLanes, true>();
    table.add_concretize<2 * kLanes, kLanes>();
  }
  return table;
}

constexpr Table kTable = all_kernels();

}  // namespace

Span<PrebuiltKernel> BF_PREBUILT_NAME(kernels_, BF_PREBUILT)() {
  return {kTable.kernels, static_cast<std::size_t>(kTable.count)};
}

}  // namespace bf_aot::engine
