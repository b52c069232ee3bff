#pragma once

#include <type_traits>

// Operations that doubles and rationals share.
namespace bf_aot::reference {

template <typename Scalar>
Scalar magnitude(const Scalar& x) {
  return x < 0 ? Scalar(-x) : x;
}

template <typename Scalar>
const Scalar& larger(const Scalar& a, const Scalar& b) {
  return a < b ? b : a;
}

template <typename Scalar>
const Scalar& smaller(const Scalar& a, const Scalar& b) {
  return b < a ? b : a;
}

// Rationals are always finite.
template <typename Scalar>
bool is_finite(const Scalar& x) {
  if constexpr (std::is_floating_point_v<Scalar>)
    return x - x == 0;
  else
    return true;
}

}  // namespace bf_aot::reference
