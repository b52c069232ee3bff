#include "planner/entries/split_weights.h"

#include <cmath>
#include <vector>

#include "planner/network/layer_loops.h"
#include "planner/reference/linear.h"

namespace bf_aot {
namespace {

using Magnitudes = reference::Matrix<double>;  // one column

Layer magnitudes_of(Layer layer) {
  const auto all = [](std::vector<float>& weights) {
    for (float& weight : weights) weight = std::fabs(weight);
  };
  all(layer.weight);
  layer.residual.clear();
  for (Term& term : layer.terms) {
    all(term.weight);
    term.residual.clear();
  }
  return layer;
}

// Each sum of a contraction passes its weight on to all elements that it multiplies.
template <typename SumOf>
void pass_on_contraction(const Layer& layer, const Magnitudes& from, const SumOf& sum_of) {
  Magnitudes& to_x = sum_of(layer.term(0).input);
  Magnitudes& to_y = sum_of(layer.term(1).input);
  for_each_contracted(
      layer, [&](Eigen::Index j, Eigen::Index x, Eigen::Index y, Eigen::Index, Eigen::Index, bool) {
        to_x(x, 0) += from(j, 0);
        to_y(y, 0) += from(j, 0);
      });
}

// Each element of a group depends on all of them.
void pass_on_groups(const SparseMap& map, const Magnitudes& from, Magnitudes& to) {
  for_each_group(map, [&](Eigen::Index begin, Eigen::Index end) {
    const double weight = from.col(0).segment(begin, end - begin).sum();
    for (Eigen::Index k = begin; k < end; ++k)
      to(map.column[static_cast<std::size_t>(k)], 0) += weight;
  });
}

// Lets each candidate of a maximum, and each factor of a product, pass on all of its output's
// weight: which of them the output depends on is not known.
void pass_on(const Layer& layer, const Term& term, const Magnitudes& from, Magnitudes& to) {
  if (const auto* const sources = std::get_if<GatherMap>(&term.map)) {
    reference::GatherPart<double>(*sources).apply_back(from, to);
    return;
  }
  const auto& rows = std::get<SparseMap>(term.map);
  for (std::size_t row = 0; row < static_cast<std::size_t>(layer.out); ++row)
    for (auto k = static_cast<std::size_t>(rows.row_start[row]);
         k < static_cast<std::size_t>(rows.row_start[row + 1]); ++k)
      to(rows.column[k], 0) += from(static_cast<Eigen::Index>(row), 0);
}

}  // namespace

void weigh_splits(Plan& plan) {
  if (!plan.config.decide || plan.config.splits != Splits::kInputs) return;
  const std::vector<LayerId>& heads = plan.spec_rows > 0 ? plan.spec_heads : plan.output_heads;
  PerLayer<Magnitudes> sums;  // of each layer's outputs
  for (const Layer& layer : plan.layers) sums.push_back(reference::zeros<double>(layer.out, 1));
  Magnitudes inputs = reference::zeros<double>(plan.input_count, 1);
  for (const LayerId head : heads) sums[head].setOnes();
  for (std::size_t i = plan.layers.size(); i-- > 0;) {
    const Layer& layer = plan.layers[i];
    const auto sum_of = [&](LayerId source) -> Magnitudes& {
      return source < 0 ? inputs : sums[source];
    };
    if (layer.is_affine()) {
      const Layer magnitudes = magnitudes_of(layer);
      const reference::AffineMap<double> map(magnitudes);
      const std::vector<LayerId> sources = inputs_of(layer);
      for (std::size_t k = 0; k < sources.size(); ++k)
        map.parts[k]->apply_back(sums[i], sum_of(sources[k]));
    } else if (layer.kind == LayerKind::kContraction) {
      pass_on_contraction(layer, sums[i], sum_of);
    } else if (layer.kind == LayerKind::kLogSoftmax) {
      const Term& term = layer.terms.front();
      pass_on_groups(std::get<SparseMap>(term.map), sums[i], sum_of(term.input));
    } else {
      for (const Term& term : layer.terms) pass_on(layer, term, sums[i], sum_of(term.input));
    }
  }
  plan.split_weights.assign(static_cast<std::size_t>(plan.input_count), 1.0F);
  if (!inputs.allFinite()) return;  // widths alone decide
  const double largest = inputs.maxCoeff();
  if (largest <= 0) return;
  for (std::size_t i = 0; i < plan.split_weights.size(); ++i)
    plan.split_weights[i] = static_cast<float>(inputs(static_cast<Eigen::Index>(i), 0) / largest);
}

}  // namespace bf_aot
