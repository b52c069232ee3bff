#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/helpers/winners.h"
#include "frontend/import/operators/operators.h"

namespace bf_aot {
namespace {

using onnx::TensorProto;

// Pairs of positions whose elements are put in order at the same time.
using Stage = std::vector<std::pair<std::int64_t, std::int64_t>>;

// A sorting network for n elements: Batcher's merge exchange (Knuth, The Art of Computer
// Programming, volume 3, algorithm 5.2.2M).
std::vector<Stage> sorting_network(std::int64_t n) {
  std::vector<Stage> stages;
  std::int64_t top = 1;
  while (top * 2 < n) top *= 2;
  for (std::int64_t p = n > 1 ? top : 0; p > 0; p /= 2) {
    std::int64_t q = top, r = 0, d = p;
    while (true) {
      Stage stage;
      for (std::int64_t i = 0; i + d < n; ++i)
        if ((i & p) == r) stage.emplace_back(i, i + d);
      stages.push_back(std::move(stage));
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
  return stages;
}

// Each pair becomes (max, min). On x and -x together every element is one maximum, up to its sign:
// min(a, b) = -max(-a, -b). All steps are monotone, so that intervals stay as tight as they can be.
ValueId add_stage(NodeImport& node, ValueId x, const Rows& rows, const Stage& stage) {
  const std::int64_t n = rows.length;
  const std::int64_t count = rows.rows() * n;
  RowBuilder both(node);
  for (std::int64_t i = 0; i < 2 * count; ++i) {
    both.begin();
    both.add(i % count, {i < count ? 1.0 : -1.0, 0});
  }
  const ValueId signed_x = std::move(both).finish_sums(x, {2 * count});
  std::vector<std::int64_t> partner(static_cast<std::size_t>(n), -1);
  std::vector<double> sign(static_cast<std::size_t>(n), 1);
  for (const auto& [first, second] : stage) {
    partner[static_cast<std::size_t>(first)] = second;
    partner[static_cast<std::size_t>(second)] = first;
    sign[static_cast<std::size_t>(second)] = -1;
  }
  RowBuilder maxima(node);
  Constant factor{{count}, {}, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i % n);
    const std::int64_t begin = i - i % n + (sign[at] < 0 ? count : 0);
    maxima.begin();
    maxima.add(begin + i % n);
    if (partner[at] >= 0) maxima.add(begin + partner[at]);
    factor.data.push_back(sign[at]);
  }
  const ValueId largest = std::move(maxima).finish_maxima(signed_x, {count});
  return add_scale(node, largest, std::move(factor),
                   Constant{{count}, std::vector<double>(static_cast<std::size_t>(count), 0), {}});
}

// [row][rank]: sorted rows, the largest first.
ValueId add_sorted(NodeImport& node, ValueId x, const Rows& rows) {
  const std::int64_t count = rows.rows() * rows.length;
  x = add_index_map(node, x, {count}, [&] {
    std::vector<std::int64_t> source;
    for (std::int64_t row = 0; row < rows.rows(); ++row)
      for (std::int64_t i = 0; i < rows.length; ++i) source.push_back(rows.at(row, i));
    return source;
  });
  for (const Stage& stage : sorting_network(rows.length)) x = add_stage(node, x, rows, stage);
  return x;
}

// [row][rank]: the index of the element with so many others before it, as the largest i r_i, where
// r_i is 1 for that element and 0 for others.
ValueId add_indices(NodeImport& node, ValueId x, const Rows& rows, std::int64_t k, double sign) {
  const std::int64_t n = rows.length;
  const std::int64_t count = rows.rows() * k;
  if (n == 1)
    return add_scale(node,
                     add_index_map(node, x, {count},
                                   [&] {
                                     std::vector<std::int64_t> all(static_cast<std::size_t>(count));
                                     std::iota(all.begin(), all.end(), 0);
                                     return all;
                                   }),
                     0, 0);
  const ValueId wins = add_wins(node, x, rows, false, sign);
  RowBuilder ranks(node);  // n - 1 less the wins are those before it
  Constant index{{count * n}, {}, {}};
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::int64_t rank = 0; rank < k; ++rank)
      for (std::int64_t i = 0; i < n; ++i) {
        ranks.begin({static_cast<double>(n - 1 - rank), 0});
        for (std::int64_t j = 0; j < n - 1; ++j) ranks.add((row * n + i) * (n - 1) + j, {-1, 0});
        index.data.push_back(static_cast<double>(i));
      }
  const ValueId excess = std::move(ranks).finish_sums(wins, {count * n});
  const ValueId found = add_unary(node, excess, {FunctionKind::kIsZero});
  Constant zero{{count * n}, std::vector<double>(index.data.size(), 0), {}};
  const ValueId scaled = add_scale(node, found, std::move(index), std::move(zero));
  RowBuilder largest(node);
  for (std::int64_t i = 0; i < count * n; ++i) {
    if (i % n == 0) largest.begin();
    largest.add(i);
  }
  return std::move(largest).finish_maxima(scaled, {count});
}

std::int64_t read_k(NodeImport& node, std::int64_t length) {
  std::int64_t k = node.int_attribute("k", 0);
  if (node.has_input(1)) {
    (void)node.list(1, "k");
    k = node.integer(1, "k");
  }
  if (k < 1 || k > length) fail("BF1014", "", fmt::format("k is {} out of {}", k, length));
  return k;
}

// The k largest or smallest elements along an axis, in order, and where they were.
void import_top_k(NodeImport& node) {
  constexpr std::int64_t kMostSorted = 256;
  const Shape shape = node.input_shape(0);
  const std::size_t axis = checked_axis(node.int_attribute("axis", -1), shape.size());
  (void)node.flag("sorted", true);
  const double sign = node.flag("largest", true) ? 1 : -1;
  const Rows rows = rows_along(shape, axis);
  const std::int64_t k = read_k(node, rows.length);
  check_comparisons(node, rows);
  if (rows.length > kMostSorted)
    fail("BF1026", "",
         fmt::format("{} elements to sort, the limit is {}", rows.length, kMostSorted));
  check_work(node, rows.rows() * k, rows.length * rows.length);
  Shape result = shape;
  result[axis] = k;
  const Rows places = rows_along(result, axis);
  const auto back = [&](std::int64_t row_length) {
    std::vector<std::int64_t> source(static_cast<std::size_t>(element_count(result)));
    for (std::int64_t row = 0; row < rows.rows(); ++row)
      for (std::int64_t i = 0; i < k; ++i)
        source[static_cast<std::size_t>(places.at(row, i))] = row * row_length + i;
    return source;
  };
  const ValueId x = node.input(0);
  const ValueId sorted = add_sorted(node, sign == 1 ? x : add_scale(node, x, -1, 0), rows);
  const ValueId values = add_index_map(node, sorted, result, [&] { return back(rows.length); });
  node.emit(0, sign == 1 ? values : add_scale(node, values, -1, 0));
  if (!node.has_output(1)) return;
  node.set_output_type(TensorProto::INT64);
  const ValueId indices = add_indices(node, x, rows, k, sign);
  node.emit(1, add_index_map(node, indices, result, [&] { return back(k); }));
}

}  // namespace

OperatorRows topk_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"TopK", import_top_k, 1, 2, 2, {"axis", "k", "largest", "sorted"}},
  };
  return kRows;
}

}  // namespace bf_aot
