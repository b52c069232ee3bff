#pragma once

#include <gmpxx.h>

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <type_traits>

#include "planner/reference/scalars.h"

namespace bf_aot::reference {

template <typename Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
template <typename Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename Scalar>
Vector<Scalar> zeros(Eigen::Index count) {
  return Vector<Scalar>::Constant(count, Scalar(0));
}

template <typename Scalar>
Matrix<Scalar> zeros(Eigen::Index rows, Eigen::Index columns) {
  return Matrix<Scalar>::Constant(rows, columns, Scalar(0));
}

// sqrt(x): in double to the nearest, of a rational rounded up by less than 2^-200.
template <typename Scalar>
Scalar root_above(const Scalar& x) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return std::sqrt(x);
  } else {
    mpz_class square = x.get_num() * x.get_den();
    square <<= 400;
    mpz_class root = sqrt(square) + 1;
    mpz_class scale = x.get_den();
    scale <<= 200;
    mpq_class above(root, scale);
    above.canonicalize();
    return above;
  }
}

// Bounds per element. Where nothing is known, both ends are infinite (in double alone).
template <typename Scalar>
struct Interval {
  Vector<Scalar> lower, upper;

  bool is_finite(Eigen::Index j) const {
    return reference::is_finite(lower(j)) && reference::is_finite(upper(j));
  }
  bool unstable(Eigen::Index j) const { return lower(j) < 0 && upper(j) > 0; }

  // An infinite interval is kept as centre 0 and an infinite radius.
  Vector<Scalar> centre() const {
    Vector<Scalar> result(lower.size());
    for (Eigen::Index j = 0; j < lower.size(); ++j)
      result(j) = is_finite(j) ? Scalar((lower(j) + upper(j)) / 2) : Scalar(0);
    return result;
  }
  Vector<Scalar> radius() const {
    Vector<Scalar> result(lower.size());
    for (Eigen::Index j = 0; j < lower.size(); ++j) {
      result(j) = (upper(j) - lower(j)) / 2;
      if constexpr (std::is_floating_point_v<Scalar>)
        if (!is_finite(j)) result(j) = std::numeric_limits<Scalar>::infinity();
    }
    return result;
  }
  // NaN claims nothing.
  void forget_nan() {
    if constexpr (std::is_floating_point_v<Scalar>)
      for (Eigen::Index j = 0; j < lower.size(); ++j) {
        if (is_finite(j)) continue;
        if (!(lower(j) <= upper(j)) || lower(j) == upper(j)) {
          lower(j) = -std::numeric_limits<Scalar>::infinity();
          upper(j) = std::numeric_limits<Scalar>::infinity();
        }
      }
  }
};

}  // namespace bf_aot::reference
