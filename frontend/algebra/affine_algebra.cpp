#include "frontend/algebra/affine_algebra.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/conv_loops.h"

namespace bf_aot {
namespace {

std::size_t rows_of(const Affine& affine) {
  return affine.bias.data.size();
}
std::size_t columns_of(const Affine& affine) {
  return static_cast<std::size_t>(affine.weight.shape.at(1));
}

Shape matrix(std::size_t rows, std::size_t columns) {
  return {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
}
Shape vector(std::size_t count) {
  return {static_cast<std::int64_t>(count)};
}

bool is_exact_zero(const Bounded& x) {
  return x.value == 0 && x.error == 0;
}

// The row of `outer`'s weights times inner's, and its bias through inner's.
void compose_row(const Affine& outer, const Affine& inner, std::size_t row, std::vector<Sum>& sums,
                 Sum& bias) {
  const std::size_t depth = columns_of(outer);
  const std::size_t columns = columns_of(inner);
  std::fill(sums.begin(), sums.end(), Sum());
  bias.add(bounded_at(outer.bias, row));
  for (std::size_t k = 0; k < depth; ++k) {
    const Bounded factor = bounded_at(outer.weight, row * depth + k);
    if (is_exact_zero(factor)) continue;
    bias.add_product(factor, bounded_at(inner.bias, k));
    for (std::size_t j = 0; j < columns; ++j)
      sums[j].add_product(factor, bounded_at(inner.weight, k * columns + j));
  }
}

}  // namespace

bool fits_dense(std::int64_t rows, std::int64_t columns) {
  return columns == 0 || rows <= kMaxWeightElements / columns;
}

// A dense layer of at most 4096 elements costs next to nothing. In a larger one a sparse entry,
// with its column, costs about as much as four dense ones.
bool is_worth_dense(std::int64_t rows, std::int64_t columns, std::int64_t entries) {
  if (!fits_dense(rows, columns)) return false;
  return rows * columns <= 4096 || entries >= rows * columns / 4;
}

double magnitude(const Constant& constant, std::size_t i) {
  return add_up(std::abs(constant.data[i]), constant.error_at(i));
}

ConstantBuilder::ConstantBuilder(Shape shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  constant_.shape = std::move(shape);
  constant_.data.assign(count, 0);
}

void ConstantBuilder::set(std::size_t i, const Bounded& x) {
  constant_.data[i] = x.value;
  if (x.error != 0 && constant_.error.empty()) constant_.error.assign(size(), 0);
  if (!constant_.error.empty()) constant_.error[i] = x.error;
}

void check_finite(const Constant& constant, std::string_view where) {
  for (const std::vector<double>* part : {&constant.data, &constant.error})
    for (double x : *part)
      if (!std::isfinite(x))
        fail("BF2005", std::string(where), "folding its constants overflows double precision",
             "scale the model's weights so that they stay within double's range");
}

Constant ConstantBuilder::finish(std::string_view where) && {
  check_finite(constant_, where);
  return std::move(constant_);
}

bool is_zero(const Constant& constant) {
  return constant.is_exact() &&
         std::all_of(constant.data.begin(), constant.data.end(), [](double x) { return x == 0; });
}

Constant filled(Shape shape, double x) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  return {std::move(shape), std::vector<double>(count, x), {}};
}

bool all_are(const Constant& constant, double x) {
  return constant.is_exact() &&
         std::ranges::all_of(constant.data, [x](double y) { return y == x; });
}

Constant gather(const Constant& constant, const std::vector<std::int64_t>& source, Shape shape) {
  ConstantBuilder result(std::move(shape));
  BF_CHECK(result.size() == source.size());
  for (std::size_t i = 0; i < source.size(); ++i)
    result.set(i, bounded_at(constant, static_cast<std::size_t>(source[i])));
  return std::move(result).finish("");
}

std::vector<std::int64_t> even_rows(std::int64_t rows, std::int64_t length) {
  std::vector<std::int64_t> start;
  for (std::int64_t i = 0; i <= rows; ++i) start.push_back(i * length);
  return start;
}

std::optional<Constant> per_channel(const Constant& tensor, const ConvGeometry& g, bool out) {
  const std::int64_t channels = out ? g.out_channels : g.in_channels;
  const ImageLayout& layout = out ? g.out : g.in;
  ConstantBuilder result({channels});
  bool same = true;
  const auto at = [&](std::int64_t n, std::int64_t c, const Extent& p) {
    return bounded_at(tensor, static_cast<std::size_t>(layout.at(n, c, p)));
  };
  for_each_element(g.batch, channels, out ? g.out_size : g.in_size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     same = same && at(n, c, p) == at(0, c, {0, 0, 0});
                   });
  if (!same) return std::nullopt;
  for (std::int64_t c = 0; c < channels; ++c)
    result.set(static_cast<std::size_t>(c), at(0, c, {0, 0, 0}));
  return std::move(result).finish("");
}

Affine compose(const Affine& outer, const Affine& inner, std::string_view where) {
  BF_CHECK(columns_of(outer) == rows_of(inner));
  const std::size_t rows = rows_of(outer);
  const std::size_t columns = columns_of(inner);
  ConstantBuilder weight(matrix(rows, columns));
  ConstantBuilder bias(vector(rows));
  std::vector<Sum> sums(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    Sum bias_sum;
    compose_row(outer, inner, i, sums, bias_sum);
    for (std::size_t j = 0; j < columns; ++j) weight.set(i * columns + j, sums[j].result());
    bias.set(i, bias_sum.result());
  }
  return {std::move(weight).finish(where), std::move(bias).finish(where)};
}

Affine compose(const Affine& outer, const Scale& inner, std::string_view where) {
  const std::size_t rows = rows_of(outer);
  const std::size_t columns = columns_of(outer);
  BF_CHECK(inner.factor.data.size() == columns);
  ConstantBuilder weight(matrix(rows, columns));
  ConstantBuilder bias(vector(rows));
  for (std::size_t i = 0; i < rows; ++i) {
    Sum sum;
    sum.add(bounded_at(outer.bias, i));
    for (std::size_t j = 0; j < columns; ++j) {
      const Bounded w = bounded_at(outer.weight, i * columns + j);
      weight.set(i * columns + j, multiply(w, bounded_at(inner.factor, j)));
      sum.add_product(w, bounded_at(inner.offset, j));
    }
    bias.set(i, sum.result());
  }
  return {std::move(weight).finish(where), std::move(bias).finish(where)};
}

Affine compose(const Scale& outer, const Affine& inner, std::string_view where) {
  const std::size_t rows = rows_of(inner);
  const std::size_t columns = columns_of(inner);
  BF_CHECK(outer.factor.data.size() == rows);
  ConstantBuilder weight(matrix(rows, columns));
  ConstantBuilder bias(vector(rows));
  for (std::size_t i = 0; i < rows; ++i) {
    const Bounded factor = bounded_at(outer.factor, i);
    for (std::size_t j = i * columns; j < (i + 1) * columns; ++j)
      weight.set(j, multiply(factor, bounded_at(inner.weight, j)));
    Sum sum;
    sum.add_product(factor, bounded_at(inner.bias, i));
    sum.add(bounded_at(outer.offset, i));
    bias.set(i, sum.result());
  }
  return {std::move(weight).finish(where), std::move(bias).finish(where)};
}

Scale compose(const Scale& outer, const Scale& inner, std::string_view where) {
  const std::size_t count = outer.factor.data.size();
  BF_CHECK(inner.factor.data.size() == count);
  ConstantBuilder factor(outer.factor.shape);
  ConstantBuilder offset(outer.factor.shape);
  for (std::size_t i = 0; i < count; ++i) {
    const Bounded f = bounded_at(outer.factor, i);
    factor.set(i, multiply(f, bounded_at(inner.factor, i)));
    Sum sum;
    sum.add_product(f, bounded_at(inner.offset, i));
    sum.add(bounded_at(outer.offset, i));
    offset.set(i, sum.result());
  }
  return {std::move(factor).finish(where), std::move(offset).finish(where)};
}

Affine compose(const Affine& outer, const IndexMap& map, std::int64_t input_count,
               std::string_view where) {
  const std::size_t rows = rows_of(outer);
  const std::size_t depth = columns_of(outer);
  const auto columns = static_cast<std::size_t>(input_count);
  BF_CHECK(map.source.size() == depth);
  ConstantBuilder weight(matrix(rows, columns));
  std::vector<Sum> sums(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    std::fill(sums.begin(), sums.end(), Sum());
    for (std::size_t k = 0; k < depth; ++k)
      sums[static_cast<std::size_t>(map.source[k])].add(bounded_at(outer.weight, i * depth + k));
    for (std::size_t j = 0; j < columns; ++j) weight.set(i * columns + j, sums[j].result());
  }
  return {std::move(weight).finish(where), outer.bias};
}

Affine compose(const IndexMap& map, const Affine& inner) {
  const std::size_t columns = columns_of(inner);
  const std::size_t rows = map.source.size();
  ConstantBuilder weight(matrix(rows, columns));
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t from = static_cast<std::size_t>(map.source[i]) * columns;
    for (std::size_t j = 0; j < columns; ++j)
      weight.set(i * columns + j, bounded_at(inner.weight, from + j));
  }
  return {std::move(weight).finish(""), gather(inner.bias, map.source, vector(rows))};
}

Affine gather_columns(const Affine& outer, const IndexMap& map) {
  const std::size_t rows = rows_of(outer), depth = columns_of(outer);
  const std::size_t columns = map.source.size();
  ConstantBuilder weight(matrix(rows, columns));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      weight.set(i * columns + j,
                 bounded_at(outer.weight, i * depth + static_cast<std::size_t>(map.source[j])));
  return {std::move(weight).finish(""), outer.bias};
}

IndexMap compose(const IndexMap& outer, const IndexMap& inner) {
  IndexMap result;
  result.source.reserve(outer.source.size());
  for (std::int64_t i : outer.source)
    result.source.push_back(inner.source.at(static_cast<std::size_t>(i)));
  return result;
}

Scale gather(const Scale& inner, const IndexMap& map) {
  const Shape shape = vector(map.source.size());
  return {gather(inner.factor, map.source, shape), gather(inner.offset, map.source, shape)};
}

Scale scatter(const Scale& outer, const IndexMap& map) {
  IndexMap inverse{std::vector<std::int64_t>(map.source.size())};
  for (std::size_t i = 0; i < map.source.size(); ++i)
    inverse.source.at(static_cast<std::size_t>(map.source[i])) = static_cast<std::int64_t>(i);
  return gather(outer, inverse);
}

Affine dense(const Scale& scale) {
  const std::size_t count = scale.factor.data.size();
  ConstantBuilder weight(matrix(count, count));
  for (std::size_t i = 0; i < count; ++i) weight.set(i * count + i, bounded_at(scale.factor, i));
  Constant bias = scale.offset;
  bias.shape = vector(count);
  return {std::move(weight).finish(""), std::move(bias)};
}

Affine dense(const IndexMap& map, std::int64_t input_count) {
  const std::size_t rows = map.source.size();
  const auto columns = static_cast<std::size_t>(input_count);
  Affine affine{filled(matrix(rows, columns), 0), filled(vector(rows), 0)};
  for (std::size_t i = 0; i < rows; ++i)
    affine.weight.data[i * columns + static_cast<std::size_t>(map.source[i])] = 1;
  return affine;
}

Affine identity_affine(std::int64_t count) {
  return dense(Scale{filled({count}, 1), filled({count}, 0)});
}

bool is_identity(const Scale& scale) {
  const auto all = [](const Constant& constant, double x) {
    return constant.is_exact() && std::all_of(constant.data.begin(), constant.data.end(),
                                              [x](double each) { return each == x; });
  };
  return all(scale.factor, 1) && all(scale.offset, 0);
}

}  // namespace bf_aot
