#pragma once

#include "aot/check/value.h"

// Affine sums, which most operators that compute are made of.

namespace bf_check {

constexpr u64 kOfMeans = 4;  // roundings of a mean besides those of a sum

// A weight, 0 where it is irrational, and what the grid has of it.
struct Weight {
  Rat exact;
  GridWeight grid;
};

// Weights: multiples of a tensor's numbers. On the grid where they are read more than once.
struct Weights {
  const Numbers& numbers;
  Rat scale;
  std::vector<GridWeight> grid;

  Rat exact(std::size_t i) const { return scale * numbers[i]; }
};

// Affine sums: numbers where nothing that they read is computed, else the rows of a new layer.
class Rows {
 public:
  // terms: about as many as the rows will have.
  Rows(Builder& builder, bool constant, const Rounding& rounding = {}, i64 terms = 0)
      : builder_(builder), constant_(constant), rounding_(rounding) {
    if (!constant) builder.begin(static_cast<u64>(terms), rounding);
  }

  Weight weight(const Rat& number) const;
  Weights weights(const Numbers& numbers, const Rat& scale, bool once) const;

  void add(const Value& x, std::size_t at, const Weight& by);
  void add(const Value& x, std::size_t at, const Weights& by, std::size_t i);
  void end(const Rat& bias);
  Value finish(const std::vector<i64>& shape);

 private:
  void add(const Rat& x, const Rat& by);

  Builder& builder_;
  bool constant_;
  Rounding rounding_;
  std::size_t numbers_ = 0, most_ = 0;  // that are added up, in this row of constants, and in any
  Rat bias_ = 0, single_ = 0;           // of the row; single_: the exact weight of its first term
  std::vector<Rat> data_;
};

// a + factor b, with broadcasting.
Value sum(Builder& builder, const Value& a, const Value& b, int factor,
          const Rounding& rounding = {});
// x times a constant.
Value scaled(Builder& builder, const Value& x, const Value& factor, const Rounding& rounding = {});
// Elements of the values of a tensor, also of those that are numbers.
Value computed(Builder& builder, const Value& x);
// A function of each element. Numbers stay numbers where it is rational.
Value applied(Builder& builder, const Value& x, const Program& function,
              const std::optional<Loss>& loss = std::nullopt);
// a b with broadcasting; rounding: of the sums that it is where one factor is constant.
Value product(Builder& builder, const Value& a, const Value& b, const Rounding& rounding = {});
// The products of matrices of computed numbers, whose axes before the last two are spread.
Value matrix_product(Builder& builder, const Value& a, const Value& b);
// max(x, 0).
Value positive(Builder& builder, Value x);
// The greatest of tensors (sign 1), or the least (sign -1): of neighbours, until one is left.
Value extreme(Builder& builder, std::vector<Value> left, int sign);

}  // namespace bf_check
