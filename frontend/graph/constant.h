#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bf_aot {

// All dimensions of an ONNX tensor, a batch dimension included (it is 1); {} is a scalar.
using Shape = std::vector<std::int64_t>;

// Number of elements; 1 for a scalar.
std::int64_t element_count(const Shape& shape);

// "[1, 28, 28]"
std::string to_string(const Shape& shape);

// A tensor known at compile time, row-major.
//
// `data` stands for the exact real numbers that the ONNX file defines: |exact_i - data_i| <=
// error_i. Initializers are exact (`error` empty); folding adds what its own rounding may have
// lost. So the function that is verified stays the original network's, whatever was folded.
struct Constant {
  Shape shape;
  std::vector<double> data;   // size() == element_count(shape)
  std::vector<double> error;  // empty: exact; else one bound per element, finite and >= 0

  bool is_exact() const { return error.empty(); }
  double error_at(std::size_t i) const { return error.empty() ? 0.0 : error[i]; }

  bool operator==(const Constant&) const = default;
};

}  // namespace bf_aot
