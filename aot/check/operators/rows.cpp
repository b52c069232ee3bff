#include "aot/check/operators/rows.h"

#include <algorithm>

namespace bf_check {
namespace {

u64 limbs_of(const Rat& x) {
  return mpz_size(x.get_num_mpz_t()) + mpz_size(x.get_den_mpz_t());
}

}  // namespace

Weight Rows::weight(const Rat& number) const {
  builder_.spend(kRationalSteps);
  return {number, constant_ ? GridWeight{} : builder_.on_grid(number)};
}

Weights Rows::weights(const Numbers& numbers, const Rat& scale, bool once) const {
  Weights all{numbers, scale, {}};
  for (std::size_t i = 0; i < numbers.size() && !constant_ && !once; ++i)
    all.grid.push_back(weight(all.exact(i)).grid);
  return all;
}

void Rows::add(const Value& x, std::size_t at, const Weight& by) {
  if (x.constant) {
    add(x.data[at], by.exact);
  } else if (builder_.term(x.ids[at], by.grid) && builder_.row_terms() == 1) {
    single_ = by.exact;
  }
}

void Rows::add(const Value& x, std::size_t at, const Weights& by, std::size_t i) {
  if (x.constant) {
    add(x.data[at], by.exact(i));
  } else if (builder_.term(x.ids[at], by.grid.empty() ? weight(by.exact(i)).grid : by.grid[i]) &&
             builder_.row_terms() == 1) {
    single_ = by.exact(i);
  }
}

void Rows::add(const Rat& x, const Rat& by) {
  const u64 size = limbs_of(bias_) + limbs_of(x);
  builder_.spend(kRationalSteps + size * size);
  bias_ += x * by;
  most_ = std::max(most_, ++numbers_);
}

void Rows::end(const Rat& bias) {
  bias_ += bias;
  if (constant_) {
    data_.push_back(bias_);
  } else {
    builder_.end_row(bias_, builder_.row_terms() == 1 ? single_ : Rat(0));
  }
  bias_ = 0, numbers_ = 0;
}

// One operation on float32 numbers whose exact result is one rounds nothing.
Value Rows::finish(const std::vector<i64>& shape) {
  const bool one = rounding_.how == Rounded::kMerged && rounding_.more == 0 && most_ <= 2;
  if (constant_ && builder_.grid().float32 && rounding_.how != Rounded::kExact)
    for (const Rat& number : data_)
      if (!one || !is_ieee(number, 8, 23))
        refuse("arithmetic of constants that rounds is not in the checker's table");
  return {shape, constant_, false, data_, constant_ ? std::vector<u32>() : builder_.end()};
}

Value sum(Builder& builder, const Value& a, const Value& b, int factor, const Rounding& rounding) {
  const std::vector<i64> shape = joined(a.shape, b.shape);
  const std::vector<std::size_t> at = spread(a.shape, shape), bt = spread(b.shape, shape);
  Rows rows(builder, a.constant && b.constant, rounding);
  const Weight one{1, builder.on_grid(1)}, other{factor, builder.on_grid(factor)};
  for (std::size_t i = 0; i < at.size(); ++i) {
    rows.add(a, at[i], one);
    rows.add(b, bt[i], other);
    rows.end(0);
  }
  return rows.finish(shape);
}

Value scaled(Builder& builder, const Value& x, const Value& factor, const Rounding& rounding) {
  const std::vector<i64> shape = joined(x.shape, factor.shape);
  const std::vector<std::size_t> at = spread(x.shape, shape), bt = spread(factor.shape, shape);
  Rows rows(builder, x.constant, rounding);
  for (std::size_t i = 0; i < at.size(); ++i) {
    rows.add(x, at[i], rows.weight(factor.data[bt[i]]));
    rows.end(0);
  }
  return rows.finish(shape);
}
Value computed(Builder& builder, const Value& x) {
  return {x.shape, false, false, {}, builder.elements_of(x)};
}

Value applied(Builder& builder, const Value& x, const Program& function,
              const std::optional<Loss>& loss) {
  if (x.constant && function.is_rational() && !builder.grid().float32) {
    std::vector<Rat> numbers = x.data.all();
    for (Rat& number : numbers) number = function.exact(number);
    return constant_of(x.shape, numbers);
  }
  Value result = computed(builder, x);
  result.ids = builder.functions_of(function, result.ids, loss);
  return result;
}

Value positive(Builder& builder, Value x) {
  if (!x.constant) x.ids = builder.relus_of(x.ids);
  std::vector<Rat> numbers = x.data.all();
  for (Rat& number : numbers)
    if (number < 0) number = 0;
  x.data = std::move(numbers);
  return x;
}

}  // namespace bf_check
