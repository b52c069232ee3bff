#include "frontend/algebra/linear_algebra.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/conv_loops.h"

namespace bf_aot {
namespace {

std::size_t index_of(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// Collects rows of entries in any order; equal columns of a row add up.
class RowBuilder {
 public:
  explicit RowBuilder(std::int64_t rows) : bias_({rows}) { result_.row_start = {0}; }

  void add(std::int64_t column, const Bounded& value) { row_.push_back({column, value}); }

  void finish_row(const Bounded& bias) {
    std::stable_sort(row_.begin(), row_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < row_.size();) {
      const std::int64_t column = row_[i].first;
      Sum sum;
      for (; i < row_.size() && row_[i].first == column; ++i) sum.add(row_[i].second);
      push(column, sum.result());
    }
    row_.clear();
    bias_.set(result_.row_start.size() - 1, bias);
    result_.row_start.push_back(static_cast<std::int64_t>(result_.column.size()));
  }

  // Appends an entry to a row whose columns come in rising order.
  void push(std::int64_t column, const Bounded& value) {
    if (value.value == 0 && value.error == 0) return;
    result_.column.push_back(column);
    if (value.error != 0) error_.resize(value_.size(), 0);  // exact before; no more once it is kept
    value_.push_back(value.value);
    if (value.error != 0 || !error_.empty()) error_.push_back(value.error);
  }

  SparseAffine finish(std::string_view where) && {
    result_.value = {
        {static_cast<std::int64_t>(value_.size())}, std::move(value_), std::move(error_)};
    check_finite(result_.value, where);
    result_.bias = std::move(bias_).finish(where);
    return std::move(result_);
  }

 private:
  SparseAffine result_;
  std::vector<std::pair<std::int64_t, Bounded>> row_;
  std::vector<double> value_, error_;
  ConstantBuilder bias_;
};

SparseAffine sparse_of(const Affine& op) {
  const auto rows = op.weight.shape[0];
  const auto columns = op.weight.shape[1];
  RowBuilder builder(rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j)
      builder.push(j, bounded_at(op.weight, index_of(i * columns + j)));
    builder.finish_row(bounded_at(op.bias, index_of(i)));
  }
  return std::move(builder).finish("");
}

SparseAffine sparse_of(const Conv& op) {
  const ConvGeometry& g = op.geometry;
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> rows(index_of(g.out_count()));
  for_each_product(g, [&](std::int64_t out, std::int64_t weight, std::int64_t in) {
    rows[index_of(out)].push_back({in, weight});
  });
  std::vector<std::int64_t> channel(rows.size());
  for_each_element(g.batch, g.out_channels, g.out_size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     channel[index_of(g.out.at(n, c, p))] = c;
                   });
  RowBuilder builder(g.out_count());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [in, weight] : rows[i])
      builder.add(in, bounded_at(op.weight, index_of(weight)));
    builder.finish_row(bounded_at(op.bias, index_of(channel[i])));
  }
  return std::move(builder).finish("");
}

SparseAffine sparse_of(const IndexMap& op) {
  RowBuilder builder(static_cast<std::int64_t>(op.source.size()));
  for (std::int64_t source : op.source) {
    builder.push(source, {1, 0});
    builder.finish_row({0, 0});
  }
  return std::move(builder).finish("");
}

SparseAffine sparse_of(const Scale& op) {
  RowBuilder builder(static_cast<std::int64_t>(op.factor.data.size()));
  for (std::size_t i = 0; i < op.factor.data.size(); ++i) {
    builder.push(static_cast<std::int64_t>(i), bounded_at(op.factor, i));
    builder.finish_row(bounded_at(op.offset, i));
  }
  return std::move(builder).finish("");
}

// visit(k) for the entries of a row.
template <class Visit>
void for_each_entry(const SparseAffine& op, std::size_t row, const Visit& visit) {
  for (std::int64_t k = op.row_start[row]; k < op.row_start[row + 1]; ++k) visit(index_of(k));
}

// Returns true if outer(inner(x)) has at most `limit` entries, counted without arithmetic.
bool fits(const SparseAffine& outer, const SparseAffine& inner, std::int64_t in_count,
          std::int64_t limit) {
  std::vector<std::int64_t> seen(index_of(in_count), -1);  // the last row with this column
  std::int64_t entries = 0;
  std::int64_t steps = 0;
  for (std::int64_t row = 0; row < outer.rows(); ++row) {
    for_each_entry(outer, index_of(row), [&](std::size_t k) {
      const std::size_t middle = index_of(outer.column[k]);
      steps += inner.row_start[middle + 1] - inner.row_start[middle];
      if (entries > limit || steps > 16 * limit) return;
      for_each_entry(inner, middle, [&](std::size_t l) {
        std::int64_t& last = seen[index_of(inner.column[l])];
        entries += last == row ? 0 : 1;
        last = row;
      });
    });
    if (entries > limit || steps > 16 * limit) return false;
  }
  return true;
}

}  // namespace

bool is_linear(const Op& op) {
  return std::holds_alternative<Affine>(op) || std::holds_alternative<Conv>(op) ||
         std::holds_alternative<SparseAffine>(op) || std::holds_alternative<IndexMap>(op) ||
         std::holds_alternative<Scale>(op);
}

std::int64_t product_count(const ConvGeometry& g) {
  std::int64_t count = g.batch * g.out_channels * g.in_group();
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t near = g.transposed ? g.in_size[d] : g.out_size[d];
    const std::int64_t far = g.transposed ? g.out_size[d] : g.in_size[d];
    std::int64_t inside = 0;
    for (std::int64_t p = 0; p < near; ++p)
      for (std::int64_t t = 0; t < g.kernel[d]; ++t) {
        const std::int64_t q = p * g.stride[d] - g.pad[d] + t * g.dilation[d];
        inside += q >= 0 && q < far ? 1 : 0;
      }
    count *= inside;
  }
  return count;
}

std::int64_t entry_count(const Op& op) {
  if (const auto* affine = std::get_if<Affine>(&op))
    return static_cast<std::int64_t>(affine->weight.data.size());
  if (const auto* conv = std::get_if<Conv>(&op)) return product_count(conv->geometry);
  if (const auto* sparse = std::get_if<SparseAffine>(&op))
    return static_cast<std::int64_t>(sparse->column.size());
  if (const auto* map = std::get_if<IndexMap>(&op))
    return static_cast<std::int64_t>(map->source.size());
  return static_cast<std::int64_t>(std::get<Scale>(op).factor.data.size());
}

std::int64_t cost_of(const Op& op, std::int64_t in_count) {
  const std::int64_t entries = entry_count(op);
  if (const auto* sparse = std::get_if<SparseAffine>(&op))
    return is_worth_dense(sparse->rows(), in_count, entries) ? sparse->rows() * in_count
                                                             : 4 * entries;
  return entries;
}

SparseAffine to_sparse(const Op& op) {
  if (const auto* affine = std::get_if<Affine>(&op)) return sparse_of(*affine);
  if (const auto* conv = std::get_if<Conv>(&op)) return sparse_of(*conv);
  if (const auto* sparse = std::get_if<SparseAffine>(&op)) return *sparse;
  if (const auto* map = std::get_if<IndexMap>(&op)) return sparse_of(*map);
  return sparse_of(std::get<Scale>(op));
}

Op densified(SparseAffine sparse, std::int64_t in_count) {
  const auto entries = static_cast<std::int64_t>(sparse.column.size());
  if (!is_worth_dense(sparse.rows(), in_count, entries)) return sparse;
  ConstantBuilder weight({sparse.rows(), in_count});
  for (std::int64_t row = 0; row < sparse.rows(); ++row)
    for_each_entry(sparse, index_of(row), [&](std::size_t k) {
      weight.set(index_of(row * in_count + sparse.column[k]), bounded_at(sparse.value, k));
    });
  return Affine{std::move(weight).finish(""), std::move(sparse.bias)};
}

std::optional<SparseAffine> compose(const SparseAffine& outer, const SparseAffine& inner,
                                    std::int64_t in_count, std::int64_t limit,
                                    std::string_view where) {
  if (!fits(outer, inner, in_count, std::min(limit, kMaxEntries))) return std::nullopt;
  RowBuilder builder(outer.rows());
  std::vector<Sum> sums(index_of(in_count));
  std::vector<std::int64_t> seen(index_of(in_count), -1);
  std::vector<std::int64_t> columns;
  for (std::int64_t row = 0; row < outer.rows(); ++row) {
    columns.clear();
    Sum bias;
    bias.add(bounded_at(outer.bias, index_of(row)));
    for_each_entry(outer, index_of(row), [&](std::size_t k) {
      const std::size_t middle = index_of(outer.column[k]);
      const Bounded factor = bounded_at(outer.value, k);
      bias.add_product(factor, bounded_at(inner.bias, middle));
      for_each_entry(inner, middle, [&](std::size_t l) {
        const std::int64_t column = inner.column[l];
        if (seen[index_of(column)] != row) {
          seen[index_of(column)] = row;
          sums[index_of(column)] = Sum();
          columns.push_back(column);
        }
        sums[index_of(column)].add_product(factor, bounded_at(inner.value, l));
      });
    });
    std::sort(columns.begin(), columns.end());
    for (std::int64_t column : columns) builder.push(column, sums[index_of(column)].result());
    builder.finish_row(bias.result());
  }
  return std::move(builder).finish(where);
}

SparseAffine add(const SparseAffine& a, const SparseAffine& b, std::string_view where) {
  BF_CHECK(a.rows() == b.rows());
  RowBuilder builder(a.rows());
  for (std::size_t row = 0; row < index_of(a.rows()); ++row) {
    for (const SparseAffine* part : {&a, &b})
      for_each_entry(*part, row, [&](std::size_t k) {
        builder.add(part->column[k], bounded_at(part->value, k));
      });
    builder.finish_row(add(bounded_at(a.bias, row), bounded_at(b.bias, row)));
  }
  return std::move(builder).finish(where);
}

SparseAffine compose(const SparseAffine& outer, const Scale& inner, std::string_view where) {
  RowBuilder builder(outer.rows());
  for (std::size_t row = 0; row < index_of(outer.rows()); ++row) {
    Sum bias;
    bias.add(bounded_at(outer.bias, row));
    for_each_entry(outer, row, [&](std::size_t k) {
      const std::size_t column = index_of(outer.column[k]);
      const Bounded value = bounded_at(outer.value, k);
      builder.push(outer.column[k], multiply(value, bounded_at(inner.factor, column)));
      bias.add_product(value, bounded_at(inner.offset, column));
    });
    builder.finish_row(bias.result());
  }
  return std::move(builder).finish(where);
}

SparseAffine compose(const Scale& outer, const SparseAffine& inner, std::string_view where) {
  RowBuilder builder(inner.rows());
  for (std::size_t row = 0; row < index_of(inner.rows()); ++row) {
    const Bounded factor = bounded_at(outer.factor, row);
    for_each_entry(inner, row, [&](std::size_t k) {
      builder.push(inner.column[k], multiply(factor, bounded_at(inner.value, k)));
    });
    Sum bias;
    bias.add_product(factor, bounded_at(inner.bias, row));
    bias.add(bounded_at(outer.offset, row));
    builder.finish_row(bias.result());
  }
  return std::move(builder).finish(where);
}

SparseAffine compose(const SparseAffine& outer, const IndexMap& map, std::string_view where) {
  RowBuilder builder(outer.rows());
  for (std::size_t row = 0; row < index_of(outer.rows()); ++row) {
    for_each_entry(outer, row, [&](std::size_t k) {
      builder.add(map.source[index_of(outer.column[k])], bounded_at(outer.value, k));
    });
    builder.finish_row(bounded_at(outer.bias, row));
  }
  return std::move(builder).finish(where);
}

SparseAffine compose(const IndexMap& map, const SparseAffine& inner) {
  RowBuilder builder(static_cast<std::int64_t>(map.source.size()));
  for (std::int64_t source : map.source) {
    for_each_entry(inner, index_of(source), [&](std::size_t k) {
      builder.push(inner.column[k], bounded_at(inner.value, k));
    });
    builder.finish_row(bounded_at(inner.bias, index_of(source)));
  }
  return std::move(builder).finish("");
}

GroupMax compose(const IndexMap& map, const GroupMax& inner) {
  GroupMax result;
  result.row_start = {0};
  for (std::int64_t source : map.source) {
    for (std::int64_t k = inner.row_start[index_of(source)];
         k < inner.row_start[index_of(source) + 1]; ++k)
      result.source.push_back(inner.source[index_of(k)]);
    result.row_start.push_back(static_cast<std::int64_t>(result.source.size()));
  }
  return result;
}

GroupMax compose(const GroupMax& outer, const IndexMap& map) {
  GroupMax result = outer;
  for (std::int64_t& source : result.source) source = map.source[index_of(source)];
  return result;
}

std::optional<LogSoftmax> compose(const LogSoftmax& outer, const IndexMap& map) {
  LogSoftmax result = outer;
  for (std::int64_t& source : result.source) source = map.source[index_of(source)];
  for (std::size_t row = 0; row + 1 < result.row_start.size(); ++row) {
    std::vector<std::int64_t> members(result.source.begin() + result.row_start[row],
                                      result.source.begin() + result.row_start[row + 1]);
    std::ranges::sort(members);
    if (std::ranges::adjacent_find(members) != members.end()) return std::nullopt;
  }
  return result;
}

}  // namespace bf_aot
