#include "aot/decide/search/gradient.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/system/clones.h"
#include "frontend/functions/function.h"
#include "frontend/functions/function_facts.h"
#include "frontend/graph/conv_loops.h"
#include "planner/network/layer_loops.h"

namespace bf_aot::decide {
namespace {

constexpr std::size_t kPoints = RowGradients::kPoints;

std::size_t at(std::int64_t element) {
  return static_cast<std::size_t>(element) * kPoints;
}

// Adds factor times `from` to `to`, at all points.
inline void add_scaled(float* to, float factor, const float* from) {
  for (std::size_t p = 0; p < kPoints; ++p) to[p] += factor * from[p];
}

BF_CLONES void dense_forward(const float* weight, int rows, int columns, const float* in,
                             float* out) {
  for (int i = 0; i < rows; ++i) {
    float sum[kPoints];
    std::copy_n(out + at(i), kPoints, sum);
    const float* const row =
        weight + static_cast<std::size_t>(i) * static_cast<std::size_t>(columns);
    for (int k = 0; k < columns; ++k) add_scaled(sum, row[k], in + at(k));
    std::copy_n(sum, kPoints, out + at(i));
  }
}

BF_CLONES void dense_backward(const float* weight, int rows, int columns, const float* out,
                              float* in) {
  for (int i = 0; i < rows; ++i) {
    const float* const row =
        weight + static_cast<std::size_t>(i) * static_cast<std::size_t>(columns);
    for (int k = 0; k < columns; ++k) add_scaled(in + at(k), row[k], out + at(i));
  }
}

// Calls visit(output, weight, input) for the products of a term with `outputs` outputs.
template <class Visit>
inline void for_each_product_of(const Term& term, int outputs, const Visit& visit) {
  const float* const weight = term.weight.data();
  if (const auto* const conv = std::get_if<ConvMap>(&term.map)) {
    for_each_product(conv->geometry, [&](std::int64_t o, std::int64_t w, std::int64_t i) {
      visit(o, weight[w], i);
    });
  } else if (const auto* const sparse = std::get_if<SparseMap>(&term.map)) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      const auto row = static_cast<std::size_t>(o);
      for (std::int32_t k = sparse->row_start[row]; k < sparse->row_start[row + 1]; ++k)
        visit(o, weight[k], sparse->column[static_cast<std::size_t>(k)]);
    }
  } else {
    const auto& gather = std::get<GatherMap>(term.map);
    for (std::int64_t o = 0; o < outputs; ++o)
      if (const std::int64_t i = source_of(gather, o); i >= 0) visit(o, 1.0F, i);
  }
}

BF_CLONES void term_forward(const Term& term, int outputs, const float* in, float* out) {
  for_each_product_of(term, outputs, [&](std::int64_t o, float weight, std::int64_t i) {
    add_scaled(out + at(o), weight, in + at(i));
  });
}

BF_CLONES void term_backward(const Term& term, int outputs, const float* out, float* in) {
  for_each_product_of(term, outputs, [&](std::int64_t o, float weight, std::int64_t i) {
    add_scaled(in + at(i), weight, out + at(o));
  });
}

// The slope of the function's chord from z - reach to z + reach; 0 where it is not finite.
float slope(const Function& function, float z, double reach) {
  const double x = static_cast<double>(z);
  const double rise =
      (bf_aot::evaluate(function, x + reach) - bf_aot::evaluate(function, x - reach)) / (2 * reach);
  return std::isfinite(rise) ? static_cast<float>(rise) : 0.0F;
}

// Half the length of the chords of functions with steps: twice the spread of the layer's elements z
// over the points, since nothing else tells how far they can move in the box. So steps that other
// points pass are seen by most elements, and steps that none passes by none, as in straight-through
// estimators (Bengio et al. 2013).
double reach_of_steps(const std::vector<float>& z) {
  const auto mean_square = [&](const auto& centre_of) {
    double squares = 0;
    for (std::size_t i = 0; i < z.size(); i += kPoints)
      for (std::size_t p = 0; p < kPoints; ++p) {
        const double from = static_cast<double>(z[i + p]) - centre_of(i);
        squares += from * from;
      }
    return squares / static_cast<double>(z.size());
  };
  const auto mean = [&](std::size_t i) {
    double sum = 0;
    for (std::size_t p = 0; p < kPoints; ++p) sum += static_cast<double>(z[i + p]);
    return sum / static_cast<double>(kPoints);
  };
  double square = mean_square(mean);
  if (!(square > 0)) square = mean_square([](std::size_t) { return 0.0; });
  const double reach = 2 * std::sqrt(square);
  return reach > 0 && std::isfinite(reach) ? reach : 1;
}

// Multiplies d by the slopes of the function at z.
void multiply_slopes(const Function& function, const std::vector<float>& z, std::vector<float>& d) {
  const bool steps = facts_of(function.kind).integers;
  const double wide = steps ? reach_of_steps(z) : 0;
  for (std::size_t i = 0; i < d.size(); ++i)
    if (d[i] != 0)
      d[i] *= slope(function, z[i],
                    steps ? wide : 1e-3 * std::max(1.0, std::fabs(static_cast<double>(z[i]))));
}

// visit(output, element of x, element of y) for all products of a product or contraction.
template <typename Visit>
void for_each_factor_pair(const Layer& layer, const Visit& visit) {
  if (layer.kind == LayerKind::kContraction) {
    for_each_contracted(layer, [&](std::int64_t i, std::int64_t x, std::int64_t y, std::int64_t,
                                   std::int64_t, bool) { visit(i, x, y); });
    return;
  }
  const auto& first = std::get<GatherMap>(layer.term(0).map);
  const auto& second = std::get<GatherMap>(layer.term(1).map);
  for (int i = 0; i < layer.out; ++i) visit(i, source_of(first, i), source_of(second, i));
}

// Candidates of element i of a max layer.
std::pair<std::int32_t, std::int32_t> candidates(const SparseMap& map, int i) {
  const auto k = static_cast<std::size_t>(i);
  return {map.row_start[k], map.row_start[k + 1]};
}

}  // namespace

RowGradients::RowGradients(const Plan& plan)
    : plan_(plan), input_adjoint_(at(plan.input_count)), rows_(at(plan.spec_rows)) {
  for (const LayerId id : plan.layer_ids()) {
    const std::size_t count = at(plan.layer(id).out);
    before_.emplace_back(count);
    after_.emplace_back(count);
    adjoint_.emplace_back(count);
  }
}

const std::vector<float>& RowGradients::value(LayerId id) const {
  return id == kNetworkInput ? input_ : after_[id];
}

std::vector<float>& RowGradients::adjoint(LayerId id) {
  return id == kNetworkInput ? input_adjoint_ : adjoint_[id];
}

void RowGradients::evaluate(LayerId id) {
  const Layer& layer = plan_.layer(id);
  std::vector<float>& z = before_[id];
  if (layer.is_affine())
    for (int i = 0; i < layer.out; ++i)
      std::fill_n(
          z.data() + at(i), kPoints,
          layer.bias.empty() ? 0.0F : static_cast<float>(layer.bias[static_cast<std::size_t>(i)]));
  switch (layer.kind) {
    case LayerKind::kDense:
      dense_forward(layer.weight.data(), layer.out, layer.in, value(layer.input).data(), z.data());
      break;
    case LayerKind::kSum:
      for (const Term& term : layer.terms)
        term_forward(term, layer.out, value(term.input).data(), z.data());
      break;
    case LayerKind::kProduct:
    case LayerKind::kContraction: {
      const float* const x = value(layer.term(0).input).data();
      const float* const y = value(layer.term(1).input).data();
      std::fill(z.begin(), z.end(), 0.0F);
      for_each_factor_pair(layer, [&](std::int64_t i, std::int64_t left, std::int64_t right) {
        for (std::size_t p = 0; p < kPoints; ++p)
          z[at(i) + p] += x[at(left) + p] * y[at(right) + p];
      });
      break;
    }
    case LayerKind::kMax: {
      const auto& map = std::get<SparseMap>(layer.term(0).map);
      const float* const x = value(layer.term(0).input).data();
      std::fill(z.begin(), z.end(), -INFINITY);
      for (int i = 0; i < layer.out; ++i)
        for (auto [k, end] = candidates(map, i); k < end; ++k)
          for (std::size_t p = 0; p < kPoints; ++p)
            z[at(i) + p] =
                std::max(z[at(i) + p], x[at(map.column[static_cast<std::size_t>(k)]) + p]);
      break;
    }
    case LayerKind::kLogSoftmax: {
      const auto& map = std::get<SparseMap>(layer.term(0).map);
      const float* const x = value(layer.term(0).input).data();
      for_each_group(map, [&](std::int64_t begin, std::int64_t end) {
        for (std::size_t p = 0; p < kPoints; ++p) {
          const auto input = [&](std::int64_t k) {
            return x[at(map.column[static_cast<std::size_t>(k)]) + p];
          };
          float largest = input(begin), sum = 0;
          for (std::int64_t k = begin; k < end; ++k) largest = std::max(largest, input(k));
          for (std::int64_t k = begin; k < end; ++k) sum += std::exp(input(k) - largest);
          for (std::int64_t k = begin; k < end; ++k)
            z[at(k) + p] = input(k) - largest - std::log(sum);
        }
      });
      break;
    }
  }
  std::vector<float>& a = after_[id];
  for (std::size_t i = 0; i < z.size(); ++i)
    a[i] = layer.relu ? std::max(z[i], 0.0F)
           : layer.function
               ? static_cast<float>(bf_aot::evaluate(*layer.function, static_cast<double>(z[i])))
               : z[i];
}

void RowGradients::pull_back(LayerId id) {
  const Layer& layer = plan_.layer(id);
  const std::vector<float>& z = before_[id];
  std::vector<float>& d = adjoint_[id];
  if (std::all_of(d.begin(), d.end(), [](float each) { return each == 0; })) return;
  if (layer.relu)
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = z[i] > 0 ? d[i] : 0.0F;
  else if (layer.function)
    multiply_slopes(*layer.function, z, d);
  switch (layer.kind) {
    case LayerKind::kDense:
      dense_backward(layer.weight.data(), layer.out, layer.in, d.data(),
                     adjoint(layer.input).data());
      break;
    case LayerKind::kSum:
      for (const Term& term : layer.terms)
        term_backward(term, layer.out, d.data(), adjoint(term.input).data());
      break;
    case LayerKind::kProduct:
    case LayerKind::kContraction: {
      const float* const x = value(layer.term(0).input).data();
      const float* const y = value(layer.term(1).input).data();
      float* const dx = adjoint(layer.term(0).input).data();
      float* const dy = adjoint(layer.term(1).input).data();
      for_each_factor_pair(layer, [&](std::int64_t i, std::int64_t left, std::int64_t right) {
        for (std::size_t p = 0; p < kPoints; ++p) {
          const std::size_t g = at(left) + p, h = at(right) + p;
          const float by = d[at(i) + p];
          const float to_x = by * y[h], to_y = by * x[g];
          dx[g] += to_x;
          dy[h] += to_y;
        }
      });
      break;
    }
    case LayerKind::kMax: {
      const auto& map = std::get<SparseMap>(layer.term(0).map);
      const float* const x = value(layer.term(0).input).data();
      float* const dx = adjoint(layer.term(0).input).data();
      for (int i = 0; i < layer.out; ++i)
        for (std::size_t p = 0; p < kPoints; ++p)
          for (auto [k, end] = candidates(map, i); k < end; ++k) {
            const std::size_t from = at(map.column[static_cast<std::size_t>(k)]) + p;
            if (x[from] != z[at(i) + p]) continue;
            dx[from] += d[at(i) + p];  // to the first of the largest
            break;
          }
      break;
    }
    case LayerKind::kLogSoftmax: {  // dx_j = d_j - e^z_j sum d
      const auto& map = std::get<SparseMap>(layer.term(0).map);
      float* const dx = adjoint(layer.term(0).input).data();
      for_each_group(map, [&](std::int64_t begin, std::int64_t end) {
        for (std::size_t p = 0; p < kPoints; ++p) {
          float sum = 0;
          for (std::int64_t k = begin; k < end; ++k) sum += d[at(k) + p];
          for (std::int64_t k = begin; k < end; ++k)
            dx[at(map.column[static_cast<std::size_t>(k)]) + p] +=
                d[at(k) + p] - std::exp(z[at(k) + p]) * sum;
        }
      });
      break;
    }
  }
}

const std::vector<float>& RowGradients::rows(const std::vector<float>& x) {
  input_ = x;
  std::size_t row = 0;
  for (const LayerId id : plan_.layer_ids()) evaluate(id);
  for (const LayerId head : plan_.spec_heads) {
    std::copy(after_[head].begin(), after_[head].end(),
              rows_.begin() + static_cast<std::ptrdiff_t>(row));
    row += after_[head].size();
  }
  return rows_;
}

const std::vector<float>& RowGradients::gradient(const std::vector<float>& weights) {
  std::fill(input_adjoint_.begin(), input_adjoint_.end(), 0.0F);
  const auto ids = plan_.layer_ids();
  for (const LayerId id : ids) std::fill(adjoint_[id].begin(), adjoint_[id].end(), 0.0F);
  std::size_t row = 0;
  for (const LayerId head : plan_.spec_heads) {
    std::vector<float>& d = adjoint_[head];
    std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(row), d.size(), d.begin());
    row += d.size();
  }
  for (const LayerId id : ids.reversed()) pull_back(id);
  return input_adjoint_;
}

}  // namespace bf_aot::decide
