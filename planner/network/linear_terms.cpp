#include "planner/network/linear_terms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/index_maps.h"
#include "planner/network/error_terms.h"

namespace bf_aot {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& wide) {
  return {wide.begin(), wide.end()};  // tensors have less than 2^31 elements: see build_layers
}

int to_int(std::int64_t x) {
  BF_CHECK(x >= 0 && x < std::int64_t{1} << 31);
  return static_cast<int>(x);
}

// The largest number of positions p and taps t with p stride - pad + t dilation = q for one q: in
// each dimension the taps of one residue class modulo stride / gcd(stride, dilation).
std::int64_t taps_of_one_far_position(const ConvGeometry& g) {
  std::int64_t taps = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t classes = g.stride[d] / std::gcd(g.stride[d], g.dilation[d]);
    taps *= (g.kernel[d] + classes - 1) / classes;
  }
  return taps;
}

void measure(const ConvMap& map, int, Term& term) {
  const ConvGeometry& g = map.geometry;
  const std::int64_t near = g.taps();
  const std::int64_t far = taps_of_one_far_position(g);
  term.row_entries = to_int(g.in_group() * (g.transposed ? far : near));
  term.column_entries = to_int(g.out_group() * (g.transposed ? near : far));
  const std::int64_t row = g.in_group() * g.taps();
  for (std::int64_t o = 0; o < g.out_channels; ++o) {
    double norm = 0;
    for (std::int64_t k = 0; k < row; ++k)
      norm = up(norm + std::abs(static_cast<double>(term.weight[at(o * row + k)])));
    term.row_norm = std::max(term.row_norm, norm);
  }
}

void count_columns(const std::vector<std::int32_t>& column, Term& term) {
  std::vector<int> count(at(term.in), 0);
  for (const std::int32_t k : column)
    if (k >= 0) term.column_entries = std::max(term.column_entries, ++count[at(k)]);
}

void measure(const SparseMap& map, int out, Term& term) {
  for (int i = 0; i < out; ++i) {
    const std::int32_t begin = map.row_start[at(i)];
    const std::int32_t end = map.row_start[at(i) + 1];
    term.row_entries = std::max(term.row_entries, end - begin);
    if (term.weight.empty()) continue;  // candidates of a maximum
    double norm = 0;
    for (std::int32_t k = begin; k < end; ++k)
      norm = up(norm + std::abs(static_cast<double>(term.weight[at(k)])));
    term.row_norm = std::max(term.row_norm, norm);
  }
  count_columns(map.column, term);
}

void measure(const GatherMap& map, int, Term& term) {
  term.row_entries = 1;
  term.row_norm = 1;
  term.column_entries = map.source.empty() ? 1 : 0;
  count_columns(map.source, term);
}

std::int64_t products(const ConvMap& map, int, const Term&) {
  const ConvGeometry& g = map.geometry;
  const std::int64_t near = g.transposed ? g.in_count() : g.out_count();
  return near * (g.transposed ? g.out_group() : g.in_group()) * g.taps();
}
std::int64_t products(const SparseMap& map, int, const Term&) {
  return static_cast<std::int64_t>(map.column.size());
}
std::int64_t products(const GatherMap&, int out, const Term&) {
  return out;
}

}  // namespace

void measure_term(int out, Term& term) {
  term.row_norm = 0;
  term.row_entries = term.column_entries = 0;
  std::visit([&](const auto& map) { measure(map, out, term); }, term.map);
}

std::int64_t tiled_channels(const ConvGeometry& g) {
  return g.in_group() == 1 ? g.groups : g.in_group();
}

std::int64_t term_products(int out, const Term& term) {
  return std::visit([&](const auto& map) { return products(map, out, term); }, term.map);
}

Term conv_term(const Conv& conv, LayerId input, const std::string& origin, AffineErrors& errors) {
  Term term;
  term.input = input;
  term.in = to_int(conv.geometry.in_count());
  term.map = ConvMap{conv.geometry};
  RoundedWeights rounded = round_weights(conv.weight, origin, errors);
  term.weight = std::move(rounded.weight);
  term.residual = std::move(rounded.residual);
  measure_term(to_int(conv.geometry.out_count()), term);
  return term;
}

Term sparse_term(const SparseAffine& sparse, LayerId input, int in, const std::string& origin,
                 AffineErrors& errors) {
  Term term;
  term.input = input;
  term.in = in;
  term.map = SparseMap{narrow(sparse.row_start), narrow(sparse.column)};
  RoundedWeights rounded = round_weights(sparse.value, origin, errors);
  term.weight = std::move(rounded.weight);
  term.residual = std::move(rounded.residual);
  measure_term(to_int(sparse.rows()), term);
  return term;
}

Term gather_term(const std::vector<std::int64_t>& source, LayerId input, int in) {
  Term term;
  term.input = input;
  term.in = in;
  GatherMap map;
  if (!is_identity(source, in)) map.source = narrow(source);
  term.map = std::move(map);
  measure_term(to_int(static_cast<std::int64_t>(source.size())), term);
  return term;
}

std::optional<LayerId> copied_layer(const Layer& layer) {
  if (layer.kind != LayerKind::kSum || layer.terms.size() != 1 || layer.relu || layer.function ||
      std::ranges::any_of(layer.bias, [](double b) { return b != 0; }))
    return std::nullopt;
  const Term& term = layer.terms[0];
  const auto* const gather = std::get_if<GatherMap>(&term.map);
  if (gather == nullptr || !gather->source.empty() || term.input < 0) return std::nullopt;
  return term.input;
}

Term identity_term(LayerId input, int in) {
  Term term;
  term.input = input;
  term.in = in;
  term.map = GatherMap{};
  measure_term(in, term);
  return term;
}

Term diagonal_term(const Constant& factor, LayerId input, const std::string& origin,
                   AffineErrors& errors) {
  const auto count = static_cast<std::int64_t>(factor.data.size());
  SparseAffine diagonal;
  diagonal.row_start.resize(at(count) + 1);
  diagonal.column.resize(at(count));
  std::iota(diagonal.row_start.begin(), diagonal.row_start.end(), 0);
  std::iota(diagonal.column.begin(), diagonal.column.end(), 0);
  diagonal.value = factor;
  diagonal.bias.shape = {count};
  return sparse_term(diagonal, input, to_int(count), origin, errors);
}

double density(const Affine& affine) {
  std::size_t present = 0;
  for (std::size_t i = 0; i < affine.weight.data.size(); ++i)
    if (affine.weight.data[i] != 0 || affine.weight.error_at(i) != 0) ++present;
  return static_cast<double>(present) / static_cast<double>(affine.weight.data.size());
}

SparseAffine to_sparse(const Affine& affine) {
  const std::int64_t rows = affine.weight.shape.at(0);
  const std::int64_t columns = affine.weight.shape.at(1);
  SparseAffine sparse;
  sparse.row_start.push_back(0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::size_t i = at(row * columns + column);
      if (affine.weight.data[i] == 0 && affine.weight.error_at(i) == 0) continue;
      sparse.column.push_back(column);
      sparse.value.data.push_back(affine.weight.data[i]);
      if (!affine.weight.error.empty()) sparse.value.error.push_back(affine.weight.error[i]);
    }
    sparse.row_start.push_back(static_cast<std::int64_t>(sparse.column.size()));
  }
  sparse.value.shape = {static_cast<std::int64_t>(sparse.column.size())};
  sparse.bias = affine.bias;
  return sparse;
}

}  // namespace bf_aot
