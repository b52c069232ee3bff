#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "frontend/numbers/exact_arithmetic.h"

namespace bf_aot {

// Resize and Upsample along one axis, in exact rational arithmetic.

enum class Coordinates : std::uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kHalfPixelForNearest,  // tf_half_pixel_for_nn
  kCropAndResize,        // tf_crop_and_resize
};

enum class Nearest : std::uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };

enum class Interpolation : std::uint8_t { kNearest, kLinear, kCubic };

struct Resampling {
  Interpolation interpolation = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kPreferFloor;
  mpq_class cubic = mpq_class(-3, 4);  // the coefficient a of cubic convolution
  bool exclude_outside = false;        // weights outside are dropped, the others made to sum to 1
  bool antialias = false;              // smaller images are means of wider parts; not kNearest
};

struct ResampledAxis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  mpq_class scale = 1;
  mpq_class roi_begin = 0, roi_end = 1;
};

// The elements and weights that make output element i; nothing where tf_crop_and_resize leaves the
// image. Sorted by element, weights not zero.
std::vector<std::pair<std::int64_t, mpq_class>> resampled(const Resampling& how,
                                                          const ResampledAxis& axis,
                                                          std::int64_t i);

// The double next to x, with its distance.
Bounded to_bounded(const mpq_class& x);

}  // namespace bf_aot
