#include "planner/functions/series.h"

#include <cstddef>

namespace bf_aot {

namespace {

Interval integer(std::size_t k) {
  return {static_cast<double>(k)};
}

// sum_{j=first..k} a_j b_{k-j}
Interval convolution(const Series& a, const Series& b, std::size_t k, std::size_t first = 0) {
  Interval sum;
  for (std::size_t j = first; j <= k; ++j) sum = sum + a[j] * b[k - j];
  return sum;
}

// (1/k) sum_{j=1..k} j u_j q_{k-j}: the coefficient k of the integral of q u'.
Interval integrated(const Series& u, const Series& q, std::size_t k) {
  Interval sum;
  for (std::size_t j = 1; j <= k; ++j) sum = sum + integer(j) * u[j] * q[k - j];
  return sum / integer(k);
}

// y' = y z u' and z_k = sign y_k for k > 0: the sigmoid with its complement.
Series logistic(const Series& u, Interval y0, Interval z0) {
  Series y(u.size()), z(u.size()), product(u.size());
  y[0] = std::move(y0);
  z[0] = std::move(z0);
  for (std::size_t k = 1; k < u.size(); ++k) {
    product[k - 1] = convolution(y, z, k - 1);
    y[k] = integrated(u, product, k);
    z[k] = -y[k];
  }
  return y;
}

// 1 / (1 + e^-x)
Interval sigmoid_value(const Interval& x) {
  return Interval(1) / (Interval(1) + increasing(mpfr_exp, -x));
}

}  // namespace

Series variable(const Interval& x, int order) {
  Series made(static_cast<std::size_t>(order) + 1);
  made[0] = x;
  if (order > 0) made[1] = Interval(1);
  return made;
}

Series operator+(Series a, const Series& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = a[k] + b[k];
  return a;
}

Series operator*(const Series& a, const Series& b) {
  Series made(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) made[k] = convolution(a, b, k);
  return made;
}

Series operator/(const Series& a, const Series& b) {
  Series made(a.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    made[k] = (a[k] - (k == 0 ? Interval() : convolution(b, made, k, 1))) / b[0];
  return made;
}

Series operator*(const Interval& a, Series b) {
  for (Interval& coefficient : b) coefficient = a * coefficient;
  return b;
}

Series operator+(Series a, const Interval& b) {
  a[0] = a[0] + b;
  return a;
}

Series exponential(const Series& u) {
  Series made(u.size());
  made[0] = increasing(mpfr_exp, u[0]);
  for (std::size_t k = 1; k < u.size(); ++k) made[k] = integrated(u, made, k);
  return made;
}

// y = u^a: u y' = a y u', so k u_0 y_k = sum_{j=1..k} (a j - (k - j)) u_j y_{k-j}.
Series power(const Series& u, double a) {
  Series made(u.size());
  made[0] = power(u[0], a);
  for (std::size_t k = 1; k < u.size(); ++k) {
    Interval sum;
    for (std::size_t j = 1; j <= k; ++j)
      sum = sum + (Interval(a) * integer(j) - integer(k - j)) * u[j] * made[k - j];
    made[k] = sum / (integer(k) * u[0]);
  }
  return made;
}

namespace {

struct Circular {
  Series sine, cosine;
};

Circular circular(const Series& u) {
  Circular made{Series(u.size()), Series(u.size())};
  made.sine[0] = sine(u[0]);
  made.cosine[0] = cosine(u[0]);
  for (std::size_t k = 1; k < u.size(); ++k) {
    made.sine[k] = integrated(u, made.cosine, k);
    made.cosine[k] = -integrated(u, made.sine, k);
  }
  return made;
}

}  // namespace

Series sine(const Series& u) {
  return circular(u).sine;
}

Series cosine(const Series& u) {
  return circular(u).cosine;
}

Series sigmoid(const Series& u) {
  return logistic(u, sigmoid_value(u[0]), sigmoid_value(-u[0]));
}

// 2 sigmoid(2 u) - 1, with the value of tanh itself.
Series hyperbolic_tangent(const Series& u) {
  const Series doubled = Interval(2) * u;
  Series made = Interval(2) * sigmoid(doubled);
  made[0] = increasing(mpfr_tanh, u[0]);
  return made;
}

// Within one period: tan' = 1 + tan^2.
Series tangent(const Series& u) {
  Series made(u.size()), square(u.size());
  const Interval cosine_value = cosine(u[0]);
  made[0] = cosine_value.contains_zero() ? Interval::entire() : increasing(mpfr_tan, u[0]);
  for (std::size_t k = 1; k < u.size(); ++k) {
    square[k - 1] = convolution(made, made, k - 1) + Interval(k == 1 ? 1 : 0);
    made[k] = integrated(u, square, k);
  }
  return made;
}

Series integral(const Interval& value, const Series& slope, const Series& u) {
  Series made(u.size());
  made[0] = value;
  for (std::size_t k = 1; k < u.size(); ++k) made[k] = integrated(u, slope, k);
  return made;
}

}  // namespace bf_aot
