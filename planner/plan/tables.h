#pragma once

#include <cstdint>

#include "planner/plan/buffers.h"

namespace bf_aot {

// The contents of a constant table of the verifier.
enum class TableKind : std::uint8_t {
  kWeight,      // float32 [out / panel][in][panel], zero-padded; of a term: as Term says
  kResidual,    // the same layout
  kBiasFloat,   // float32 [out], padded to whole panels; of sum layers [out / bias_run()]
  kBiasDouble,  // float64, the same
  kRowStart,    // int32, of a sparse map
  kColumn,      // int32, of a sparse map
  kSource,      // int32, of a gather map that is not the identity
  kScores,      // int32, Scores::column
  kRowNorm,     // float32 [out], BallNorms::rows of a layer or of its term
};

Element element_of(TableKind kind);

}  // namespace bf_aot
