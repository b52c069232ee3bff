#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/plan/prebuilt.h"
#include "planner/plan/routine.h"

// What is built with bf-aot for each instruction set: the runtime's routines and the kernels of
// dense layers, with extents that are known when they are called. The files of this folder are
// compiled once for each instruction set and use nothing of the standard library that has code.
namespace bf_aot::engine {

// An argument of a call. Structures are passed as pointers to them.
union Value {
  const void* pointer;
  std::int64_t integer;
  double real;
};

// Calls a routine or kernel. What it returns goes to `result`.
using Thunk = void (*)(const Value* arguments, void* result);

// A routine by its template parameters, in their order; tiles of convolutions are three.
constexpr int kMostConstants = 5;
struct PrebuiltRoutine {
  calls::Routine routine;
  int constants[kMostConstants];
  Thunk call;
};

// What kernels are told besides what the program gives them; the first argument of their thunks.
// As the fields of Kernel.
struct KernelExtents {
  std::int32_t in, out;
  std::int32_t panel;  // outputs that the weight table interleaves: [out / panel][in][panel]
  std::int32_t chunk;  // terms summed in one accumulator before they go to the next level
  std::int32_t lines;  // of forward lines
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
  // Whether relaxations are compiled with products fused into sums, as none may be; runs code of
  // the instruction set.
  bool (*relax_fuses)();
};

}  // namespace bf_aot::engine
