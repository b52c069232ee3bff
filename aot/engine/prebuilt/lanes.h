#pragma once

#include <cstddef>
#include <cstdint>

#include "aot/engine/prebuilt/prebuilt.h"
#include "bf/core/kernel.h"
#include "bf/core/vectors.h"

// Helpers that kernels share. Kernels compute what those of aot/emit/kernels/ compute, and sum in
// the same order: where no compiler fuses products into sums, both give the same bits.

namespace bf_aot::engine {
namespace {

using bf::kernel::broadcast;
using bf::kernel::entry;
using bf::kernel::larger;
using bf::kernel::load;
using bf::kernel::magnitude;
using bf::kernel::place_from;
using bf::kernel::smaller;
using bf::kernel::store;

constexpr int kLanes = bf::kVectorBytes / 4;
constexpr int kHalf = kLanes > 1 ? kLanes / 2 : 1;
using Floats = bf::VectorOf<float, kLanes>::type;
using Doubles = bf::VectorOf<double, kHalf>::type;
using HalfFloats = bf::VectorOf<float, kHalf>::type;

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif

// Converts floats to as many doubles, exactly.
template <typename Wide, typename Narrow>
Wide widened(Narrow x) {
  if constexpr (sizeof(Narrow) == sizeof(float))
    return static_cast<Wide>(x);
  else
    return bf::kernel::convert<Wide>(x);
}

// Converts doubles to as many floats, each rounded to nearest.
template <typename Narrow, typename Wide>
Narrow narrowed(Wide x) {
  if constexpr (sizeof(Narrow) == sizeof(float))
    return static_cast<Narrow>(x);
  else
    return bf::kernel::convert<Narrow>(x);
}

// The numbers from 0 to count - 1, or those of them that a list has, by their places.
template <bool kListed>
struct Numbers {
  const std::int32_t* list;
  int count;

  std::ptrdiff_t operator[](int place) const {
    if constexpr (kListed)
      return entry(list, place);
    else
      return place;
  }
  // The first place whose number is not below `value`. Lists store that place for multiples of 8.
  int place(int value) const {
    if (value > count) value = count;
    if constexpr (!kListed) return value;
    if (value == count) return list[0];
    int found = place_from(list, count, value / 8 * 8);
    while (found < list[0] && entry(list, found) < value) ++found;
    return found;
  }
};

// The arguments of a kernel, in their order.
class Arguments {
 public:
  explicit Arguments(const Value* values) : next_(values) {}
  const KernelExtents& extents() { return *static_cast<const KernelExtents*>(next_++->pointer); }
  template <typename T>
  T* pointer() {
    return static_cast<T*>(const_cast<void*>(next_++->pointer));
  }
  const std::int32_t* list(bool given) { return given ? pointer<const std::int32_t>() : nullptr; }
  float real() { return static_cast<float>(next_++->real); }

 private:
  const Value* next_;
};

// Calls `run` with Count<count>, 1 <= count <= kMost.
template <int kMost, typename Run>
void with_count(int count, const Run& run) {
  if constexpr (kMost == 1) {
    run(bf::Count<1>());
  } else {
    if (count == kMost)
      run(bf::Count<kMost>());
    else
      with_count<kMost - 1>(count, run);
  }
}

// Calls run(Count, first, end) for runs of tiles of one size: the fewest tiles of at most kMost
// that fill first .. end - 1, with sizes that differ by one at most.
template <int kMost, typename Run>
void tiles(int first, int end, const Run& run) {
  const int all = end - first;
  if (all <= 0) return;
  const int count = (all + kMost - 1) / kMost, size = all / count;
  const int larger_end = first + all % count * (size + 1);
  if (first < larger_end)
    with_count<kMost>(size + 1, [&](auto columns) { run(columns, first, larger_end); });
  with_count<kMost>(size, [&](auto columns) { run(columns, larger_end, end); });
}

}  // namespace
}  // namespace bf_aot::engine
