#include <algorithm>
#include <cmath>
#include <variant>

#include "frontend/diagnostic.h"
#include "frontend/graph/conv_loops.h"
#include "tests/unit/planner/toy_graph.h"

namespace bf_aot::testing {
namespace {

struct ToMatrix {
  const Term& term;
  std::vector<std::vector<double>>& matrix;

  double weight(std::int64_t k) const {
    double w = 1;
    if (!term.weight.empty()) w = static_cast<double>(term.weight[static_cast<std::size_t>(k)]);
    if (!term.residual.empty())
      w += static_cast<double>(term.residual[static_cast<std::size_t>(k)]);
    return w;
  }
  double& at(std::int64_t row, std::int64_t column) const {
    return matrix[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  }
  void operator()(const ConvMap& map) const {
    for_each_product(map.geometry, [&](std::int64_t out, std::int64_t k, std::int64_t in) {
      at(out, in) += weight(k);
    });
  }
  void operator()(const SparseMap& map) const {
    for (std::size_t row = 0; row + 1 < map.row_start.size(); ++row)
      for (std::int64_t k = map.row_start[row]; k < map.row_start[row + 1]; ++k)
        at(static_cast<std::int64_t>(row), map.column[static_cast<std::size_t>(k)]) += weight(k);
  }
  void operator()(const GatherMap& map) const {
    for (std::int64_t row = 0; row < static_cast<std::int64_t>(matrix.size()); ++row) {
      const std::int64_t k = map.source.empty() ? row : map.source[static_cast<std::size_t>(row)];
      if (k >= 0) at(row, k) = 1;
    }
  }
};

// The norms of a term of a layer of `out` elements.
void set_norms(Term& term, int out) {
  for (const std::vector<double>& row : matrix_of(term, out)) {
    double norm = 0;
    for (double w : row) norm += std::fabs(w);
    term.row_norm = std::max(term.row_norm, norm);
  }
  Term ones = term;
  ones.residual.clear();
  std::fill(ones.weight.begin(), ones.weight.end(), 1.F);
  std::vector<int> columns(static_cast<std::size_t>(term.in), 0);
  for (const std::vector<double>& row : matrix_of(ones, out)) {
    int entries = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      entries += static_cast<int>(row[k]);
      columns[k] += static_cast<int>(row[k]);
    }
    term.row_entries = std::max(term.row_entries, entries);
  }
  term.column_entries = *std::max_element(columns.begin(), columns.end());
}

Layer layer_of(std::string name, LayerKind kind, int out) {
  Layer layer;
  layer.origin = "a toy '" + name + "'";
  layer.name = std::move(name);
  layer.kind = kind;
  layer.out = out;
  return layer;
}

int out_of(const Term& term) {
  if (const auto* map = std::get_if<ConvMap>(&term.map))
    return static_cast<int>(map->geometry.out_count());
  if (const auto* map = std::get_if<SparseMap>(&term.map))
    return static_cast<int>(map->row_start.size()) - 1;
  const auto& source = std::get<GatherMap>(term.map).source;
  return source.empty() ? term.in : static_cast<int>(source.size());
}

Term sparse_term(int input, int in) {
  Term term;
  term.input = input;
  term.in = in;
  term.map = SparseMap{{0}, {}};
  return term;
}

}  // namespace

std::vector<std::vector<double>> matrix_of(const Term& term, int out) {
  std::vector<std::vector<double>> matrix(
      static_cast<std::size_t>(out), std::vector<double>(static_cast<std::size_t>(term.in), 0));
  std::visit(ToMatrix{term, matrix}, term.map);
  return matrix;
}

Layer dense(std::string name, int input, const std::vector<std::vector<float>>& weight,
            std::vector<double> bias) {
  Layer layer = layer_of(std::move(name), LayerKind::kDense, static_cast<int>(weight.size()));
  layer.input = input;
  layer.in = static_cast<int>(weight.at(0).size());
  for (const auto& row : weight) layer.weight.insert(layer.weight.end(), row.begin(), row.end());
  layer.bias = std::move(bias);
  return layer;
}

Layer sum(std::string name, std::vector<Term> terms, std::vector<double> bias) {
  Layer layer = layer_of(std::move(name), LayerKind::kSum, static_cast<int>(bias.size()));
  for (Term& term : terms) set_norms(term, layer.out);
  layer.terms = std::move(terms);
  layer.bias = std::move(bias);
  return layer;
}

Layer product(std::string name, Term x, Term y) {
  Layer layer = layer_of(std::move(name), LayerKind::kProduct, out_of(x));
  BF_CHECK(out_of(y) == layer.out);
  layer.terms = {std::move(x), std::move(y)};
  for (Term& term : layer.terms) set_norms(term, layer.out);
  return layer;
}

Layer maximum(std::string name, Term candidates) {
  Layer layer = layer_of(std::move(name), LayerKind::kMax, out_of(candidates));
  layer.terms = {std::move(candidates)};
  set_norms(layer.terms[0], layer.out);
  return layer;
}

Term conv(int input, const ConvGeometry& geometry, std::vector<float> weight) {
  Term term;
  term.input = input;
  term.in = static_cast<int>(geometry.in_count());
  term.map = ConvMap{geometry};
  term.weight = std::move(weight);
  return term;
}

Term sparse(int input, int in, const SparseRows& rows) {
  Term term = sparse_term(input, in);
  auto& map = std::get<SparseMap>(term.map);
  for (const auto& row : rows) {
    for (const auto& [column, weight] : row) {
      map.column.push_back(column);
      term.weight.push_back(weight);
    }
    map.row_start.push_back(static_cast<std::int32_t>(map.column.size()));
  }
  return term;
}

Term candidates(int input, int in, const std::vector<std::vector<int>>& rows) {
  Term term = sparse_term(input, in);
  auto& map = std::get<SparseMap>(term.map);
  for (const auto& row : rows) {
    map.column.insert(map.column.end(), row.begin(), row.end());
    map.row_start.push_back(static_cast<std::int32_t>(map.column.size()));
  }
  return term;
}

Term gather(int input, int in, std::vector<int> source) {
  Term term;
  term.input = input;
  term.in = in;
  term.map = GatherMap{{source.begin(), source.end()}, {}};
  return term;
}

Term identity(int input, int in) {
  return gather(input, in, {});
}

}  // namespace bf_aot::testing
