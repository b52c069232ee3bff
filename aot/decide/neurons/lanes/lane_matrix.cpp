#include "aot/decide/neurons/lanes/lane_matrix.h"

#include <algorithm>

#include "aot/system/clones.h"

namespace bf_aot::decide {
namespace {

// A vector of 64 bytes with the alignment of its numbers. It is a member, since alias declarations
// and template arguments lose the alignment.
template <class Number>
struct Vectors;
template <>
struct Vectors<float> {
  typedef float type __attribute__((vector_size(64), aligned(4), may_alias));
};
template <>
struct Vectors<double> {
  typedef double type __attribute__((vector_size(64), aligned(8), may_alias));
};

template <class Number>
[[gnu::always_inline]] inline void multiply_full(const float* weight, std::size_t rows,
                                                 std::size_t columns, const Number* x, Number* y) {
  constexpr std::size_t kPanel = 8;
  using Vector = typename Vectors<Number>::type;
  constexpr std::size_t kWidth = sizeof(Vector) / sizeof(Number);
  for (std::size_t first = 0; first < rows; first += kPanel) {
    const std::size_t count = std::min(kPanel, rows - first);
    const float* const panel = weight + first * columns;
    for (std::size_t part = 0; part < kLanes; part += kWidth) {
      Vector sum[kPanel] = {};
      for (std::size_t k = 0; k < columns; ++k) {
        const auto from = *reinterpret_cast<const Vector*>(x + at_lanes(k) + part);
        for (std::size_t i = 0; i < kPanel; ++i)
          sum[i] += static_cast<Number>(panel[k * kPanel + i]) * from;
      }
      for (std::size_t i = 0; i < count; ++i)
        *reinterpret_cast<Vector*>(y + at_lanes(first + i) + part) += sum[i];
    }
  }
}

template <class Number>
[[gnu::always_inline]] inline void multiply_sparse(const float* weight, const std::int32_t* start,
                                                   const std::int32_t* column, std::size_t rows,
                                                   const Number* x, Number* y) {
  using Vector = typename Vectors<Number>::type;
  constexpr std::size_t kWidth = sizeof(Vector) / sizeof(Number);
  constexpr std::int32_t kChains = 4;  // sums that do not wait for each other
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t part = 0; part < kLanes; part += kWidth) {
      const Number* const from = x + part;
      Vector sum[kChains] = {};
      std::int32_t k = start[r];
      for (; k + kChains <= start[r + 1]; k += kChains)
        for (std::int32_t i = 0; i < kChains; ++i)
          sum[i] += static_cast<Number>(weight[k + i]) *
                    *reinterpret_cast<const Vector*>(
                        from + at_lanes(static_cast<std::size_t>(column[k + i])));
      for (; k < start[r + 1]; ++k)
        sum[0] +=
            static_cast<Number>(weight[k]) *
            *reinterpret_cast<const Vector*>(from + at_lanes(static_cast<std::size_t>(column[k])));
      *reinterpret_cast<Vector*>(y + at_lanes(r) + part) += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
}

BF_CLONES void full_product(const float* weight, std::size_t rows, std::size_t columns,
                            const float* x, float* y) {
  multiply_full(weight, rows, columns, x, y);
}
BF_CLONES void full_product_double(const float* weight, std::size_t rows, std::size_t columns,
                                   const double* x, double* y) {
  multiply_full(weight, rows, columns, x, y);
}
BF_CLONES void sparse_product(const float* weight, const std::int32_t* start,
                              const std::int32_t* column, std::size_t rows, const float* x,
                              float* y) {
  multiply_sparse(weight, start, column, rows, x, y);
}
BF_CLONES void sparse_product_double(const float* weight, const std::int32_t* start,
                                     const std::int32_t* column, std::size_t rows, const double* x,
                                     double* y) {
  multiply_sparse(weight, start, column, rows, x, y);
}

}  // namespace

LaneMatrix::LaneMatrix(std::size_t rows, std::size_t columns, const std::vector<Product>& products)
    : rows_(rows), columns_(columns), row_start_(rows + 1) {
  for (const Product& each : products) ++row_start_[static_cast<std::size_t>(each.row) + 1];
  for (const std::int32_t each : row_start_)
    most_products_ = std::max(most_products_, static_cast<std::size_t>(each));
  for (std::size_t r = 0; r < rows; ++r) row_start_[r + 1] += row_start_[r];
  std::vector<std::int32_t> next(row_start_.begin(), row_start_.end() - 1);
  column_.resize(products.size());
  weight_.resize(products.size());
  bool once = true;  // no place has several products
  for (const Product& each : products) {
    const auto k = static_cast<std::size_t>(next[static_cast<std::size_t>(each.row)]++);
    column_[k] = each.column;
    weight_[k] = each.weight;
    once = once && (k == static_cast<std::size_t>(row_start_[static_cast<std::size_t>(each.row)]) ||
                    column_[k - 1] < each.column);
  }
  full_ = once && products.size() * 2 >= rows * columns;
  if (!full_) return;
  const std::size_t panels = (rows + kPanel - 1) / kPanel;
  std::vector<float> full(panels * kPanel * columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::int32_t k = row_start_[r]; k < row_start_[r + 1]; ++k)
      full[r / kPanel * kPanel * columns +
           static_cast<std::size_t>(column_[static_cast<std::size_t>(k)]) * kPanel + r % kPanel] =
          weight_[static_cast<std::size_t>(k)];
  most_products_ = columns;
  weight_ = std::move(full);
  row_start_.clear();
  column_.clear();
}

void LaneMatrix::add_product(const float* x, float* y) const {
  if (full_)
    full_product(weight_.data(), rows_, columns_, x, y);
  else
    sparse_product(weight_.data(), row_start_.data(), column_.data(), rows_, x, y);
}

void LaneMatrix::add_product(const double* x, double* y) const {
  if (full_)
    full_product_double(weight_.data(), rows_, columns_, x, y);
  else
    sparse_product_double(weight_.data(), row_start_.data(), column_.data(), rows_, x, y);
}

}  // namespace bf_aot::decide
