#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/plan/prebuilt.h"
#include "planner/plan/routine.h"

// The code that is built with bf-aot for each instruction set: the runtime's routines, and the
// kernels of dense layers with extents that are known when they are called. The files of this
// folder are compiled once for each instruction set and use nothing of the standard library that
// has code.
namespace bf_aot::engine {

// An argument of a call. Structures are passed as pointers to them.
union Value {
  const void* pointer;
  std::int64_t integer;
  double real;
};

// Calls a routine or kernel and writes its result, if it has one, to `result`.
using Thunk = void (*)(const Value* arguments, void* result);

// A routine, named by its template parameters in their order; a tile of a convolution takes three.
constexpr int kMostConstants = 5;
struct PrebuiltRoutine {
  calls::Routine routine;
  int constants[kMostConstants];
  Thunk call;
};

// The extents of a kernel, which are the first argument of its thunk, before those that the program
// gives. They are the fields of a plan's Kernel.
struct KernelExtents {
  std::int32_t in, out;
  std::int32_t panel;  // outputs that the weight table interleaves: [out / panel][in][panel]
  std::int32_t chunk;  // terms summed in one accumulator before they go to the next level
  std::int32_t lines;  // for kernels of forward lines
};

struct PrebuiltKernel {
  KernelVariant variant;
  Thunk call;
};

template <typename T>
struct Span {
  const T* first;
  std::size_t count;
};

// The code for an instruction set.
struct Prebuilt {
  const char* target;  // as --target names it
  Span<Span<PrebuiltRoutine>> routines, conv_rows, relax;
  Span<PrebuiltKernel> kernels;
  // Returns whether the compiler fused products into sums in relaxations, which proofs do not
  // allow. Runs code of the instruction set.
  bool (*relax_fuses)();
};

}  // namespace bf_aot::engine
