#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace bf_aot {

// IEEE 754 binary16, exactly.
inline double float16_to_double(std::uint16_t bits) {
  return Eigen::half_impl::half_to_float(Eigen::half_impl::raw_uint16_to_half(bits));
}

// bfloat16, the upper half of a binary32, exactly.
inline double bfloat16_to_double(std::uint16_t bits) {
  return Eigen::bfloat16_impl::bfloat16_to_float(
      Eigen::bfloat16_impl::raw_uint16_to_bfloat16(bits));
}

}  // namespace bf_aot
