#pragma once

#include <cstdint>

namespace bf_aot {

enum class KernelKind : std::uint8_t {
  kBindFloat,       // box -> float centre, radius
  kBindDouble,      // box -> double centre, float radius
  kIntervalAffine,  // IBP: affine [+ ReLU], float centre and radius, one pass over the weights
  kCentreAffine,    // double centre, float radius, one pass over the weights
  kRelax,           // pre-activation bounds -> linear relaxation, activation centre and radius
  kStartRows,       // backward coefficients of chosen rows: +-W
  kBackwardAffine,  // relaxation of a layer, then coefficients x W
  kFirstLink,       // a routine: both of these for a layer of few inputs, in registers
  kConcretize,      // coefficients over the box -> lower bound per row
  kEvaluateAffine,  // plain inference of affine [+ ReLU]
  // Routines of the runtime, for layers of other kinds than dense:
  kTermInterval,      // one term of a sum: float centres and radii
  kIntervalMax,       // the same of candidates -> of their maximum
  kTermCentre,        // one term of a sum: adds to double centres and float radii
  kTermStart,         // backward coefficients of chosen rows of one term
  kTermBackward,      // coefficients x one term
  kRelaxRows,         // relaxation of a layer applied to backward coefficients
  kRelaxProduct,      // boxes of the factors -> planes
  kRelaxMax,          // box of the candidates -> the chosen one
  kRelaxLogSoftmax,   // box of the elements -> planes of each group
  kRelaxContraction,  // boxes of both factors -> planes
  // and for rows with optimised slopes:
  kForwardRows,  // one term, or a dense layer, at each row's own point
  kStepSlopes,   // the chosen lines at that point; better slopes
  // Forward lines:
  kStartLines,    // a routine: lines of a layer over the box
  kForwardLines,  // lines times a dense layer's weights
  kRelaxLines,    // a routine: lines of z -> of the activation
};

}  // namespace bf_aot
