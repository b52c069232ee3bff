#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bf_aot::decide {

// The number of vectors that are held side by side, one in each lane: element i of lane p is number
// i kLanes + p of an array.
constexpr std::size_t kLanes = 16;

constexpr std::size_t at_lanes(std::size_t element) {
  return element * kLanes;
}

// One product of a matrix: y_row += weight x_column.
struct Product {
  std::int32_t row = 0, column = 0;
  float weight = 0;
};

// A matrix that is multiplied by kLanes vectors at once. It is stored in full where at least half
// of its places have a product, and none has several.
class LaneMatrix {
 public:
  LaneMatrix() = default;
  // The products may come in any order. Several of one place are all added in each multiplication.
  LaneMatrix(std::size_t rows, std::size_t columns, const std::vector<Product>& products);

  // y += M x with x: [columns][kLanes] and y: [rows][kLanes]. Each element of y becomes y + the sum
  // of its products, in some order, each rounded or fused: at most most_products() + 4 roundings.
  void add_product(const float* x, float* y) const;
  void add_product(const double* x, double* y) const;

  // The largest number of products of one element of y, and the number of all products.
  std::size_t most_products() const { return most_products_; }
  std::size_t products() const { return full_ ? rows_ * columns_ : weight_.size(); }

  // Calls visit(row, column, weight) for all entries that are not 0.
  template <class Visit>
  void for_each_product(const Visit& visit) const {
    for (std::size_t r = 0; r < rows_; ++r) {
      if (full_) {
        const float* const panel = weight_.data() + r / kPanel * kPanel * columns_;
        for (std::size_t k = 0; k < columns_; ++k)
          if (const float weight = panel[k * kPanel + r % kPanel]; weight != 0) visit(r, k, weight);
      } else {
        for (std::int32_t k = row_start_[r]; k < row_start_[r + 1]; ++k)
          visit(r, static_cast<std::size_t>(column_[static_cast<std::size_t>(k)]),
                weight_[static_cast<std::size_t>(k)]);
      }
    }
  }

 private:
  static constexpr std::size_t kPanel = 8;  // rows of full matrices that are summed together

  std::size_t rows_ = 0, columns_ = 0, most_products_ = 0;
  bool full_ = false;
  std::vector<float> weight_;  // full: [rows / kPanel][columns][kPanel]; else by row_start_
  std::vector<std::int32_t> row_start_, column_;
};

}  // namespace bf_aot::decide
