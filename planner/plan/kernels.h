#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "planner/plan/config.h"
#include "planner/plan/kernel_kind.h"
#include "planner/plan/prebuilt.h"
#include "planner/plan/schedule.h"

namespace bf_aot {

// Kernels and their schedules.

// The place of a kernel's code.
enum class KernelCode : std::uint8_t {
  kPrinted,  // a function of the generated file
  kRoutine,  // in the runtime's headers
};

// A kernel, printed once and shared by all steps of equal key.
struct Kernel {
  std::string key;       // "interval_affine.relu/50x50/f32/panel64/x86-64-v4"
  std::string function;  // its name; of printed ones in the generated file
  KernelKind kind = KernelKind::kIntervalAffine;
  KernelCode code = KernelCode::kPrinted;
  std::string
      map;  // of a term: "conv", "sparse", "gather"; of other routines what tells them apart
  std::string geometry;  // of a convolution's backward term: "16x8x8_32x4x4_k3x3_s2x2"; or empty
  int in = 0;
  int out = 0;
  int rows = 0;   // backward kernels: rows in a tile, of all boxes
  int lines = 0;  // forward lines: coefficients and constant of a neuron
  int boxes = 1;  // side by side, in the lanes of vectors: see Entry::boxes
  int panel = 0;  // outputs that the weight table interleaves: [out / panel][in][panel]
  bool relu = false;
  bool residual = false;
  bool wide = false;   // backward: sums in double, rounded once to float32
  bool plain = false;  // backward: the product alone, of coefficients that are relaxed already
  // Backward: of the layer's neurons, and of the columns that the layer below it reads, those alone
  // that their lists have; forward: of the inputs.
  bool live_out = false;
  bool live_in = false;
  bool head = false;  // writes bounds (or values) to the caller's arrays
  Lowering strategy = Lowering::kGeneric;
  Schedule schedule;
  int channels = 0;              // of a convolution backward: those that the same taps read
  bool rolled = false;           // forward: code after the sums once for a tile, in a loop
  int prefetch = 0;              // bytes ahead that memory is asked for weights; 0: it is not
  int depth = 0;                 // longest chain of float32 roundings of one sum
  std::string reason;            // why this strategy
  double predicted_seconds = 0;  // of one call; see Plan::prediction
  bool operator==(const Kernel&) const = default;
};

using KernelId = std::int32_t;

// Returns kPrinted for the kinds that loop nests are written for, else kRoutine.
KernelCode code_of(KernelKind kind);

// The variant of bf-aot's prebuilt code that serves the kernel.
KernelVariant variant_of(const Kernel& kernel);

std::string_view to_string(KernelKind kind);

}  // namespace bf_aot
