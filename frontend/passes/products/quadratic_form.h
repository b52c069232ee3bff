#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <optional>
#include <vector>

// Polynomials of degree two with rational coefficients, and the squares whose sum they are.

namespace bf_aot {

// c + sum l_i x_i + sum over i <= j of m_ij x_i x_j.
struct QuadraticForm {
  mpq_class constant;
  std::vector<mpq_class> linear;  // [n]
  std::vector<mpq_class> square;  // [n (n + 1) / 2], row by row; empty: none of degree two
  // The sign of all squares that it is written as a sum of; nothing where signs differ, or where
  // other products are among them. 0: there are none.
  std::optional<int> sign = 0;
  // How much bounds of the products that make it, each by itself, differ over [-1, 1]^n.
  double spread = 0;

  std::size_t variables() const { return linear.size(); }
};

QuadraticForm zero_form(std::size_t variables);
QuadraticForm variable_form(std::size_t variables, std::size_t which);

// sum += factor x.
void add_multiple(const mpq_class& factor, const QuadraticForm& x, QuadraticForm& sum);

// Neither has terms of degree two. A product of equal factors is a square, which is never negative.
QuadraticForm product_of(const QuadraticForm& a, const QuadraticForm& b);

// factor (a x + shift)^2.
struct ShiftedSquare {
  mpq_class factor;
  std::vector<mpq_class> a;
  mpq_class shift;
};

// A form as squares and what is left: exactly c + l x + sum of the squares.
struct SumOfSquares {
  std::vector<ShiftedSquare> squares;
  std::vector<mpq_class> linear;
  mpq_class constant;
  double spread = 0;  // of the squares
};

// The form's squares (proof: docs/proofs/quadratic-forms.md) along its principal axes, or by
// elimination, whichever have the least spread. At most as many as there are variables. nullopt:
// none was found.
std::optional<SumOfSquares> as_squares(const QuadraticForm& form);

}  // namespace bf_aot
