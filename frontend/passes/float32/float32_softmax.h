#pragma once

#include <cstdint>

// These functions bound what evaluation in float32 makes of softmax, its logarithm, and the
// logarithm of a sum of powers. Implementations subtract the largest element; so the error is
// bounded as a whole, as one of the exact result. Proofs: docs/proofs/float32.md.

namespace bf_aot {

constexpr double kRoundingUnit = 0x1p-24;  // of a result: what rounding it to nearest takes at most

// |y' - y| <= relative |y| + absolute.
struct ResultError {
  double relative = 0, absolute = 0;
};

// Groups have so many elements.
ResultError softmax_in_float32(std::int64_t members, double libm_ulps);
ResultError log_softmax_in_float32(std::int64_t members, double libm_ulps);

// ln sum e^x of so many x: the absolute error, besides that of the logarithm as a function.
double log_sum_in_float32(std::int64_t terms, double libm_ulps);

}  // namespace bf_aot
