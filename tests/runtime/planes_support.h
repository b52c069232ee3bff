#pragma once

#include "terms_random.h"

// Layers of two variables and more in their boxes, for the tests of runtime/bf/sums/planes.h,
// log_softmax.h and contraction.h.

namespace bf_test {

constexpr int kRows = 4;

// A tensor in its box, and points of it.
struct Tensor {
  std::vector<double> centre;
  std::vector<float> radius;
  int size() const { return static_cast<int>(centre.size()); }
};

inline Tensor random_tensor(Random& random, Numbers kind, int n) {
  Tensor made{random.centres(n, kind), random.radii(n, kind)};
  if (random.below(3) == 0)
    for (float& r : made.radius) r *= 0x1p-20F;
  return made;
}

// Corners, the centre, and points between.
inline std::vector<mpq_class> random_point(Random& random, const Tensor& x) {
  std::vector<mpq_class> point;
  const int where = random.below(3);
  for (std::size_t i = 0; i < x.centre.size(); ++i) {
    const double t = where == 0 ? random.below(3) - 1 : 2 * random.unit() - 1;
    point.push_back(exact(x.centre[i]) + exact(t) * exact(static_cast<double>(x.radius[i])));
  }
  return point;
}

// One layer z over one or two tensors, its table, and where backward rows through it arrive.
struct Layer {
  Tensor z;
  std::vector<double> slack = {-1, -1, -1, -1};
  std::vector<float> table;
  std::vector<std::vector<float>> out;  // coefficients over each factor
};

// Returns whether sum A (z - z_c) >= sum C (x - x_c) + F for all rows, as a lower bound must be. z
// is known up to what moves the left side by `missed`.
inline bool rows_hold(const std::vector<float>& a, const std::vector<mpq_class>& z,
                      const Layer& layer, const std::vector<const Tensor*>& factors,
                      const std::vector<const std::vector<mpq_class>*>& points,
                      const std::vector<float>& sums, const mpq_class& missed = 0) {
  for (std::size_t r = 0; r < kRows; ++r) {
    mpq_class value = -exact(static_cast<double>(sums[r]));
    value += exact(layer.slack[2]) * exact(0x1p-147);
    for (std::size_t i = 0; i < z.size(); ++i)
      value += exact(static_cast<double>(a[i * kRows + r])) * (z[i] - exact(layer.z.centre[i]));
    for (std::size_t f = 0; f < factors.size(); ++f)
      for (std::size_t k = 0; k < factors[f]->centre.size(); ++k)
        value -= exact(static_cast<double>(layer.out[f][k * kRows + r])) *
                 ((*points[f])[k] - exact(factors[f]->centre[k]));
    if (value + missed < 0) return false;
  }
  return true;
}

inline bool box_holds(const Tensor& z, const std::vector<mpq_class>& point,
                      const mpq_class& missed = 0) {
  for (std::size_t i = 0; i < point.size(); ++i)
    if (abs(point[i] - exact(z.centre[i])) > exact(static_cast<double>(z.radius[i])) + missed)
      return false;
  return true;
}

inline void resize(Layer& layer, int n, int table_rows) {
  layer.z.centre.assign(static_cast<std::size_t>(n), 7);
  layer.z.radius.assign(static_cast<std::size_t>(n), 7);
  layer.table.assign(static_cast<std::size_t>(table_rows * n), 7);
}

}  // namespace bf_test
