#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph/graph.h"
#include "frontend/numbers/exact_arithmetic.h"

// Constant tensors, Affine and Scale as values with bounds of their own rounding. All functions
// return constants whose error covers incoming errors and the arithmetic here; results that need
// no rounding stay exact. `where` (a node's origin) is named when a result overflows: BF2005.

namespace bf_aot {

// No pass makes a weight matrix with more elements (512 MB).
constexpr std::int64_t kMaxWeightElements = std::int64_t{64} << 20;

// rows * columns <= kMaxWeightElements, without overflow.
bool fits_dense(std::int64_t rows, std::int64_t columns);

// Returns true if a matrix of these extents with so many entries should be written densely.
bool is_worth_dense(std::int64_t rows, std::int64_t columns, std::int64_t entries);

inline Bounded bounded_at(const Constant& constant, std::size_t i) {
  return {constant.data[i], constant.error_at(i)};
}

// The largest magnitude of a constant's element.
double magnitude(const Constant& constant, std::size_t i);

// The least normal float: every subnormal float is closer to zero.
inline constexpr double kLeastNormalFloat = 0x1p-126;

// Collects elements; keeps an error vector only if one is needed.
class ConstantBuilder {
 public:
  explicit ConstantBuilder(Shape shape);

  std::size_t size() const { return constant_.data.size(); }
  void set(std::size_t i, const Bounded& x);

  // See check_finite.
  Constant finish(std::string_view where) &&;

 private:
  Constant constant_;
};

// Fails with BF2005 when an element or its error is not finite.
void check_finite(const Constant& constant, std::string_view where);

// Returns true if all elements are exactly 0, without error.
bool is_zero(const Constant& constant);

Constant filled(Shape shape, double x);

// Every element is x, exactly.
bool all_are(const Constant& constant, double x);

// Elements source[i], as a tensor of `shape`.
Constant gather(const Constant& constant, const std::vector<std::int64_t>& source, Shape shape);

// Row starts of `rows` rows of `length` entries each.
std::vector<std::int64_t> even_rows(std::int64_t rows, std::int64_t length);

// The numbers of each channel, when the tensor has the same at all positions.
// `out`: it lies as the result of the convolution, else as its input.
std::optional<Constant> per_channel(const Constant& tensor, const ConvGeometry& geometry, bool out);

// outer(inner(x)): W = W2 W1, b = W2 b1 + b2.
Affine compose(const Affine& outer, const Affine& inner, std::string_view where);

// outer(inner(x)): W diag(f), W o + b.
Affine compose(const Affine& outer, const Scale& inner, std::string_view where);

// outer(inner(x)): diag(f) W, f b + o.
Affine compose(const Scale& outer, const Affine& inner, std::string_view where);

// outer(inner(x)): f2 f1, f2 o1 + o2.
Scale compose(const Scale& outer, const Scale& inner, std::string_view where);

// outer(map(x)): columns move, those of elements that the map repeats add up.
Affine compose(const Affine& outer, const IndexMap& map, std::int64_t input_count,
               std::string_view where);

// map(inner(x)): rows move.
Affine compose(const IndexMap& map, const Affine& inner);

// outer(x) of map(x), which repeats no element: columns move, those of elements that the map leaves
// out must be 0.
Affine gather_columns(const Affine& outer, const IndexMap& map);

// outer(map(x)): z_i = x_{outer(map(i))}.
IndexMap compose(const IndexMap& outer, const IndexMap& inner);

// map(inner(x)) = gathered(map(x)).
Scale gather(const Scale& inner, const IndexMap& map);

// outer(map(x)) = map(scattered(x)), for a permutation.
Scale scatter(const Scale& outer, const IndexMap& map);

// Dense forms; fits_dense() must hold.
Affine dense(const Scale& scale);
Affine dense(const IndexMap& map, std::int64_t input_count);
Affine identity_affine(std::int64_t count);

bool is_identity(const Scale& scale);

}  // namespace bf_aot
