#include "planner/verify/verify_layer.h"

#include <array>
#include <cctype>
#include <cstdint>
#include <utility>
#include <variant>

#include "frontend/graph/conv_loops.h"

namespace bf_aot {
namespace {

// Undoes the rounding of a norm that is summed here in double, in less than 2^12 of its ulps.
constexpr double kNormRounding = 1 - 0x1p-40;

bool is_error_bound(double value) {
  return std::isfinite(value) && value >= 0;
}

std::size_t size(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

// A term's true extremes, found anew.
struct Extremes {
  std::int64_t row_entries = 0;
  std::int64_t column_entries = 0;
  double row_norm = 0;  // at most the true one
};

class TermCheck {
 public:
  TermCheck(const Layer& layer, const Term& term) : layer_(layer), term_(term) {}

  void run() const {
    const Extremes found = std::visit([&](const auto& map) { return check(map); }, term_.map);
    check(term_.residual.empty() || term_.residual.size() == term_.weight.size(), "residuals");
    check(all_finite(term_.weight) && all_finite(term_.residual), "weights: one is not finite");
    check(is_error_bound(term_.row_norm), "row_norm");
    check(term_.row_norm >= found.row_norm * kNormRounding, "row_norm: a row exceeds it");
    check(term_.row_entries >= found.row_entries, "row_entries: a row has more");
    check(term_.column_entries >= found.column_entries, "column_entries: a column has more");
  }

 private:
  void check(bool ok, const char* what) const {
    require(ok, "layer {}: term of input {}: {}", layer_.name, term_.input.number(), what);
  }

  Extremes check(const ConvMap& map) const {
    const ConvGeometry& g = map.geometry;
    check(g.batch > 0 && g.groups > 0 && g.in_channels > 0 && g.out_channels > 0, "channels");
    check(g.in_channels % g.groups == 0 && g.out_channels % g.groups == 0, "groups");
    for (std::size_t d = 0; d < 3; ++d)
      check(g.in_size[d] > 0 && g.out_size[d] > 0 && g.kernel[d] > 0 && g.stride[d] > 0 &&
                g.dilation[d] > 0 && g.pad[d] >= 0,
            "extents");
    check(g.in_count() == term_.in && g.out_count() == layer_.out, "image sizes");
    check(covers(g.batch, g.in_channels, g.in_size, g.in), "input layout");
    check(covers(g.batch, g.out_channels, g.out_size, g.out), "output layout");
    const std::size_t filter = size(g.in_group() * g.taps());
    check(term_.weight.size() == size(g.out_channels) * filter, "weights");

    // The products of one output or input multiply over the dimensions, and so do the largest ones.
    Extremes found{g.in_group(), g.out_group(), 0};
    bool whole = !g.transposed;  // some output meets a whole filter
    for (std::size_t d = 0; d < 3; ++d) {
      const auto [near, far] = most_taps(g, d);
      found.row_entries *= g.transposed ? far : near;
      found.column_entries *= g.transposed ? near : far;
      whole = whole && near == g.kernel[d];
    }
    for (std::size_t o = 0; whole && o < size(g.out_channels); ++o) {
      double norm = 0;
      for (std::size_t k = 0; k < filter; ++k)
        norm += std::fabs(static_cast<double>(term_.weight[o * filter + k]));
      found.row_norm = std::max(found.row_norm, norm);
    }
    return found;
  }

  // Counts in one dimension the most taps of one position of the strided side that fall into the
  // other side, and the most (position, tap) pairs that meet one position there.
  static std::pair<std::int64_t, std::int64_t> most_taps(const ConvGeometry& g, std::size_t d) {
    const std::int64_t near_size = g.transposed ? g.in_size[d] : g.out_size[d];
    std::vector<std::int64_t> meets(size(g.transposed ? g.out_size[d] : g.in_size[d]), 0);
    std::int64_t most = 0;
    for (std::int64_t p = 0; p < near_size; ++p) {
      std::int64_t taps = 0;
      for (std::int64_t t = 0; t < g.kernel[d]; ++t) {
        const std::int64_t q = p * g.stride[d] - g.pad[d] + t * g.dilation[d];
        if (q < 0 || size(q) >= meets.size()) continue;
        ++meets[size(q)];
        ++taps;
      }
      most = std::max(most, taps);
    }
    return {most, *std::max_element(meets.begin(), meets.end())};
  }

  // Every element of the tensor once.
  static bool covers(std::int64_t batch, std::int64_t channels, const Extent& extent,
                     const ImageLayout& layout) {
    std::vector<bool> seen(size(batch * channels * extent[0] * extent[1] * extent[2]), false);
    bool ok = true;
    for_each_element(batch, channels, extent, [&](std::int64_t n, std::int64_t c, const Extent& p) {
      const std::int64_t i = layout.at(n, c, p);
      ok = ok && i >= 0 && size(i) < seen.size() && !seen[size(i)];
      if (ok) seen[size(i)] = true;
    });
    return ok;
  }

  Extremes check(const SparseMap& map) const {
    const std::vector<std::int32_t>& start = map.row_start;
    const bool entries = layer_.kind == LayerKind::kLogSoftmax;  // are its outputs
    check(start.size() >= 2 && start.front() == 0 && start.back() >= 0 &&
              size(start.back()) == map.column.size() &&
              (entries ? start.back() == layer_.out : start.size() == size(layer_.out) + 1),
          "row_start");
    check(std::is_sorted(start.begin(), start.end()), "row_start falls");
    const bool weighted = layer_.kind == LayerKind::kSum;
    check(term_.weight.size() == (weighted ? map.column.size() : 0), "weights");
    Extremes found;
    std::vector<std::int64_t> readers(size(term_.in), 0);
    for (std::size_t row = 0; row + 1 < start.size(); ++row) {
      double norm = 0;
      for (std::size_t k = size(start[row]); k < size(start[row + 1]); ++k) {
        const std::int32_t column = map.column[k];
        check(column >= 0 && column < term_.in, "a column is out of range");
        check(entries || k == size(start[row]) || column > map.column[k - 1],
              "columns do not rise");
        ++readers[size(column)];
        if (weighted) norm += std::fabs(static_cast<double>(term_.weight[k]));
      }
      found.row_norm = std::max(found.row_norm, norm);
      found.row_entries = std::max<std::int64_t>(found.row_entries, start[row + 1] - start[row]);
    }
    found.column_entries = *std::max_element(readers.begin(), readers.end());
    return found;
  }

  void check_view(const std::vector<std::int32_t>& source, const StridedView& view) const {
    std::size_t i = 0;
    for (std::int32_t a = 0; a < view.count[0]; ++a)
      for (std::int32_t b = 0; b < view.count[1]; ++b)
        for (std::int32_t c = 0; c < view.count[2]; ++c)
          for (std::int32_t d = 0; d < view.count[3]; ++d, ++i) {
            check(i < source.size(), "a view of more elements than sources");
            check(source[i] == view.offset + a * view.stride[0] + b * view.stride[1] +
                                   c * view.stride[2] + d * view.stride[3],
                  "the view reads elsewhere than the sources");
          }
    check(i == source.size(), "a view of fewer elements than sources");
  }

  Extremes check(const GatherMap& map) const {
    check(term_.weight.empty(), "weights");
    if (map.view) check_view(map.source, *map.view);
    const auto [elements, readings] = factor();
    if (map.source.empty()) {
      check(term_.in == elements, "an identity of another size");
      return {1, readings, 1};
    }
    check(map.source.size() == size(elements), "source");
    std::vector<std::int64_t> readers(size(term_.in), 0);
    for (std::int32_t source : map.source) {
      check(source >= -1 && source < term_.in, "a source is out of range");
      if (source >= 0) ++readers[size(source)];
    }
    const std::int64_t most = *std::max_element(readers.begin(), readers.end());
    return {most > 0 ? 1 : 0, most * readings, most > 0 ? 1.0 : 0.0};
  }

  // The elements of what the gather makes, and in how many products each of them is.
  std::pair<std::int64_t, std::int64_t> factor() const {
    if (layer_.kind != LayerKind::kContraction) return {layer_.out, 1};
    const ContractionShape& shape = layer_.contraction;
    return &term_ == &layer_.terms.front() ? std::pair(shape.left(), std::int64_t{shape.columns})
                                           : std::pair(shape.right(), std::int64_t{shape.rows});
  }

  const Layer& layer_;
  const Term& term_;
};

void check_reads(const Plan& plan, const Layer& layer, LayerId index, LayerId input, int in) {
  require(input >= kNetworkInput && input < index, "layer {}: input {} is not before it",
          layer.name, input.number());
  const int made = input < 0 ? plan.input_count : plan.layer(input).out;
  require(in > 0 && in == made, "layer {}: reads {} numbers of {}", layer.name, in, made);
}

void check_dense(const Plan& plan, const Layer& layer, LayerId index) {
  require(layer.in > 0, "layer {}: extents {}x{}", layer.name, layer.in, layer.out);
  check_reads(plan, layer, index, layer.input, layer.in);
  require(layer.terms.empty(), "layer {}: dense, with terms", layer.name);
  const std::size_t weights = size(layer.in) * size(layer.out);
  require(layer.weight.size() == weights, "layer {}: {} weights", layer.name, layer.weight.size());
  require(layer.residual.empty() || layer.residual.size() == weights, "layer {}: {} residuals",
          layer.name, layer.residual.size());
  require(all_finite(layer.weight) && all_finite(layer.residual),
          "layer {}: a weight or bias is not finite", layer.name);
}

void check_terms(const Plan& plan, const Layer& layer, LayerId index) {
  require(!layer.terms.empty(), "layer {}: no terms", layer.name);
  require(layer.input == -1 && layer.in == 0 && layer.weight.empty() && layer.residual.empty(),
          "layer {}: has fields of a dense one", layer.name);
  for (const Term& term : layer.terms) {
    check_reads(plan, layer, index, term.input, term.in);
    TermCheck(layer, term).run();
  }
}

// Two factors, nothing missing.
void check_product(const Layer& layer) {
  require(layer.terms.size() == 2, "layer {}: a product of {} factors", layer.name,
          layer.terms.size());
  for (const Term& term : layer.terms) {
    const auto* map = std::get_if<GatherMap>(&term.map);
    require(map != nullptr, "layer {}: a factor is no gather", layer.name);
    require(std::count(map->source.begin(), map->source.end(), -1) == 0,
            "layer {}: a factor misses an element", layer.name);
  }
}

void check_max(const Layer& layer) {
  require(layer.terms.size() == 1, "layer {}: a maximum over {} terms", layer.name,
          layer.terms.size());
  const auto* map = std::get_if<SparseMap>(&layer.terms[0].map);
  require(map != nullptr, "layer {}: its candidates are no sparse map", layer.name);
  for (std::size_t row = 0; row + 1 < map->row_start.size(); ++row)
    require(map->row_start[row] < map->row_start[row + 1], "layer {}: {} has no candidate",
            layer.name, row);
}

void check_log_softmax(const Layer& layer) {
  require(layer.terms.size() == 1, "layer {}: a softmax of {} tensors", layer.name,
          layer.terms.size());
  const auto* map = std::get_if<SparseMap>(&layer.terms[0].map);
  require(map != nullptr, "layer {}: its groups are no sparse map", layer.name);
  std::vector<std::size_t> seen(size(layer.terms[0].in), map->row_start.size());
  for (std::size_t row = 0; row + 1 < map->row_start.size(); ++row) {
    require(map->row_start[row] < map->row_start[row + 1], "layer {}: group {} is empty",
            layer.name, row);
    for (std::size_t k = size(map->row_start[row]); k < size(map->row_start[row + 1]); ++k) {
      std::size_t& last = seen[size(map->column[k])];
      require(last != row, "layer {}: group {} has an element twice", layer.name, row);
      last = row;
    }
  }
}

void check_evaluated(const Plan& plan, const Layer& layer) {
  if (layer.evaluated_depth == 0 || !plan.config.dropped_error_terms.empty()) return;
  const double least = layer.evaluated_depth * 0x1p-24;
  require(layer.kind == LayerKind::kDense && layer.residual.empty() &&
              layer.errors.weight_relative >= least && layer.errors.weight_residual >= least &&
              layer.errors.bias_double >= 0x1p-24 * layer.errors.bias_norm &&
              layer.errors.bias_float >= 0x1p-24 * layer.errors.bias_norm &&
              layer.errors.bias_relative >= 0x1p-24,
          "layer {}: its errors hold fewer roundings than {}", layer.name, layer.evaluated_depth);
}

void check_affine(const Layer& layer) {
  require(layer.bias.size() == size(layer.out), "layer {}: {} biases", layer.name,
          layer.bias.size());
  require(all_finite(layer.bias), "layer {}: a weight or bias is not finite", layer.name);
  const AffineErrors& e = layer.errors;
  for (double value :
       {e.weight_relative, e.weight_residual, e.bias_float, e.bias_double, e.bias_relative,
        e.bias_rest, e.float_bias_relative, e.float_bias_rest, e.row_norm, e.bias_norm})
    require(is_error_bound(value), "layer {}: error bound {}", layer.name, value);
  require(!(layer.relu && layer.function), "layer {}: relu and {}", layer.name,
          layer.function ? to_string(*layer.function) : "");
  if (layer.function)
    require(!std::isnan(layer.function->a) && !std::isnan(layer.function->b),
            "layer {}: parameters of {}", layer.name,
            layer.function ? to_string(*layer.function) : "");
}

}  // namespace

std::string describe(const Layer& layer) {
  return layer.origin.text.empty() ? "layer " + layer.name
                                   : fmt::format("layer {} ({})", layer.name, layer.origin.text);
}

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), letter);
}

void verify_layer(const Plan& plan, LayerId index) {
  const Layer& layer = plan.layer(index);
  const CheckScope scope(describe(layer));
  require(is_identifier(layer.name), "layer {}: '{}' is no identifier", index.number(), layer.name);
  require(layer.out > 0, "layer {}: extents {}x{}", layer.name, layer.in, layer.out);
  if (layer.kind == LayerKind::kDense)
    check_dense(plan, layer, index);
  else
    check_terms(plan, layer, index);
  const ContractionShape& shape = layer.contraction;
  require(layer.kind == LayerKind::kContraction
              ? shape.batch > 0 && shape.rows > 0 && shape.columns > 0 && shape.sums > 0 &&
                    std::int64_t{shape.batch} * shape.rows * shape.columns == layer.out
              : shape == ContractionShape{},
          "layer {}: the shape of a contraction", layer.name);
  if (layer.kind == LayerKind::kProduct || layer.kind == LayerKind::kContraction)
    check_product(layer);
  require(std::isfinite(layer.most) && layer.most >= 0 &&
              (layer.most == 0 || layer.kind == LayerKind::kProduct),
          "layer {}: magnitudes of at most {}", layer.name, layer.most);
  require(!layer.scores ||
              (layer.kind == LayerKind::kContraction && layer.scores == scores_of(plan, layer)),
          "layer {}: its left factor may not be the softmax of these scores", layer.name);
  if (layer.kind == LayerKind::kMax) check_max(layer);
  if (layer.kind == LayerKind::kLogSoftmax) check_log_softmax(layer);
  check_evaluated(plan, layer);
  if (layer.is_affine()) return check_affine(layer);
  require(layer.bias.empty(), "layer {}: {} biases", layer.name, layer.bias.size());
  require(!layer.relu && !layer.function, "layer {}: an activation", layer.name);
}

}  // namespace bf_aot
