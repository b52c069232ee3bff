#include "frontend/passes/products/quadratic_form.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace bf_aot {
namespace {

using Vector = std::vector<mpq_class>;
using Matrix = std::vector<Vector>;  // by rows

std::size_t packed(std::size_t n, std::size_t i, std::size_t j) {
  if (i > j) std::swap(i, j);
  return i * n - i * (i + 1) / 2 + j;
}

Matrix zeros(std::size_t n) {
  return Matrix(n, Vector(n));
}

Matrix identity(std::size_t n) {
  Matrix made = zeros(n);
  for (std::size_t i = 0; i < n; ++i) made[i][i] = 1;
  return made;
}

// The symmetric matrix M with x'Mx = the terms of degree two.
Matrix matrix_of(const QuadraticForm& form) {
  const std::size_t n = form.variables();
  Matrix made = zeros(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      made[i][j] = form.square[packed(n, i, j)] / (i == j ? 1 : 2);
  return made;
}

// The sum of |a_i|, about.
double reach_of(const Vector& a) {
  return std::accumulate(a.begin(), a.end(), 0.0,
                         [](double sum, const mpq_class& x) { return sum + std::fabs(x.get_d()); });
}

// x with A x = b for each column b of B, by elimination; nullopt where A has no inverse.
std::optional<Matrix> solve(Matrix a, Matrix b) {
  const std::size_t n = a.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    while (pivot < n && a[pivot][k] == 0) ++pivot;
    if (pivot == n) return std::nullopt;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k || a[i][k] == 0) continue;
      const mpq_class factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      for (std::size_t j = 0; j < b[i].size(); ++j) b[i][j] -= factor * b[k][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (mpq_class& x : b[i]) x /= a[i][i];
  return b;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix made(a.size(), Vector(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < b.size(); ++k)
      for (std::size_t j = 0; j < b[0].size(); ++j) made[i][j] += a[i][k] * b[k][j];
  return made;
}

Matrix transposed(const Matrix& a) {
  Matrix made(a[0].size(), Vector(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) made[j][i] = a[i][j];
  return made;
}

// N = L D L', L with ones on its diagonal, without exchanging rows; nullopt where that needs them.
struct Factors {
  Matrix lower;
  Vector diagonal;
};
std::optional<Factors> factors_of(Matrix rest) {
  const std::size_t n = rest.size();
  Factors made{identity(n), Vector(n)};
  for (std::size_t i = 0; i < n; ++i) {
    const mpq_class pivot = rest[i][i];
    made.diagonal[i] = pivot;
    for (std::size_t j = i + 1; j < n; ++j) {
      if (pivot == 0 && rest[j][i] != 0) return std::nullopt;
      if (rest[j][i] == 0) continue;
      made.lower[j][i] = rest[j][i] / pivot;
    }
    for (std::size_t j = i + 1; j < n; ++j)
      for (std::size_t k = i + 1; k < n; ++k)
        rest[j][k] -= made.lower[j][i] * made.lower[k][i] * pivot;
  }
  return made;
}

// Columns near the principal axes of M, those of the largest eigenvalues first: multiples of 2^-20,
// so that exact arithmetic with them stays short.
std::optional<Matrix> axes_of(const Matrix& m) {
  const auto n = static_cast<Eigen::Index>(m.size());
  Eigen::MatrixXd rounded(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j)
      rounded(i, j) = m[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)].get_d();
  if (!rounded.allFinite()) return std::nullopt;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(rounded);
  if (solver.info() != Eigen::Success) return std::nullopt;
  std::vector<Eigen::Index> order(m.size());
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::ranges::stable_sort(order, [&](Eigen::Index a, Eigen::Index b) {
    return std::fabs(solver.eigenvalues()(a)) > std::fabs(solver.eigenvalues()(b));
  });
  Matrix made = zeros(m.size());
  for (std::size_t i = 0; i < m.size(); ++i)
    for (std::size_t j = 0; j < m.size(); ++j)
      made[i][j] = std::round(std::ldexp(
                       solver.eigenvectors()(static_cast<Eigen::Index>(i), order[j]), 20)) /
                   0x1p20;
  return made;
}

// Squares are shifted to where the form's slope along them is 0, unless that is far away: there
// numbers become large that cancel each other.
bool is_near(const mpq_class& shift, const Vector& a) {
  constexpr double kFar = 64;
  return std::fabs(shift.get_d()) <= kFar * reach_of(a);
}

// M = Q N Q' = (Q L) D (Q L)', N = L D L'. With a_i the columns of Q L and l = sum b_i a_i:
//   d (a x)^2 + b a x = d (a x + b / 2 d)^2 - b^2 / 4 d
std::optional<SumOfSquares> along(const QuadraticForm& form, const Matrix& m, const Matrix& q) {
  const std::optional<Matrix> half = solve(q, m);
  const std::optional<Matrix> n = half ? solve(q, transposed(*half)) : std::nullopt;
  const std::optional<Factors> factors = n ? factors_of(*n) : std::nullopt;
  if (!factors) return std::nullopt;
  const Matrix axes = product(q, factors->lower);
  const std::optional<Matrix> slopes = solve(axes, transposed({form.linear}));
  if (!slopes) return std::nullopt;
  SumOfSquares made{{}, Vector(form.variables()), form.constant};
  for (std::size_t i = 0; i < form.variables(); ++i) {
    ShiftedSquare square{factors->diagonal[i], transposed(axes)[i], 0};
    const mpq_class& b = (*slopes)[i][0];
    const mpq_class shift = square.factor == 0 ? mpq_class(0) : mpq_class(b / (2 * square.factor));
    if (square.factor != 0 && is_near(shift, square.a)) {
      square.shift = shift;
      made.constant -= square.factor * shift * shift;
    } else {
      for (std::size_t j = 0; j < form.variables(); ++j) made.linear[j] += b * square.a[j];
    }
    if (square.factor == 0) continue;
    const double reach = reach_of(square.a);
    made.spread += std::fabs(square.factor.get_d()) * reach * reach;
    made.squares.push_back(std::move(square));
  }
  return made;
}

std::optional<int> common_sign(const std::optional<int>& a, const std::optional<int>& b) {
  if (!a || !b || *a * *b < 0) return std::nullopt;
  return *a != 0 ? a : b;
}

}  // namespace

QuadraticForm zero_form(std::size_t variables) {
  return {0, Vector(variables), {}, 0, 0};
}

QuadraticForm variable_form(std::size_t variables, std::size_t which) {
  QuadraticForm made = zero_form(variables);
  made.linear[which] = 1;
  return made;
}

void add_multiple(const mpq_class& factor, const QuadraticForm& x, QuadraticForm& sum) {
  if (factor == 0) return;
  sum.constant += factor * x.constant;
  for (std::size_t i = 0; i < x.linear.size(); ++i) sum.linear[i] += factor * x.linear[i];
  sum.square.resize(std::max(sum.square.size(), x.square.size()));
  for (std::size_t i = 0; i < x.square.size(); ++i) sum.square[i] += factor * x.square[i];
  sum.spread += std::fabs(factor.get_d()) * x.spread;
  sum.sign = common_sign(sum.sign, x.sign ? std::optional(*x.sign * sgn(factor)) : std::nullopt);
}

QuadraticForm product_of(const QuadraticForm& a, const QuadraticForm& b) {
  const std::size_t n = a.variables();
  QuadraticForm made = zero_form(n);
  made.constant = a.constant * b.constant;
  made.square.resize(n * (n + 1) / 2);
  for (std::size_t i = 0; i < n; ++i) {
    made.linear[i] = a.constant * b.linear[i] + b.constant * a.linear[i];
    for (std::size_t j = 0; j < n; ++j) made.square[packed(n, i, j)] += a.linear[i] * b.linear[j];
  }
  const bool square = a.linear == b.linear && a.constant == b.constant;
  made.spread = reach_of(a.linear) * reach_of(b.linear) * (square ? 1 : 2);
  made.sign = square ? std::optional(1) : std::nullopt;
  return made;
}

std::optional<SumOfSquares> as_squares(const QuadraticForm& form) {
  const Matrix m = matrix_of(form);
  std::optional<SumOfSquares> best = along(form, m, identity(m.size()));
  const std::optional<Matrix> axes = axes_of(m);
  const auto principal = axes ? along(form, m, *axes) : std::nullopt;
  if (principal && (!best || principal->spread < best->spread)) best = principal;
  return best;
}

}  // namespace bf_aot
