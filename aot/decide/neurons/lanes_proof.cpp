#include <algorithm>
#include <cmath>
#include <limits>

#include "aot/decide/neurons/lanes.h"
#include "runtime/bf/search/relu_line.h"

// Names are those of the proof, docs/proofs/neuron-splits.md.

namespace bf_aot::decide {

// The sum of a proof, in all lanes: the bound as computed, the magnitudes of its summands, and what
// it may have lost by other roundings. says: the sum bounds something, since a weight is not 0.
struct NodeLanes::Sum {
  std::array<double, kLanes> bound = {}, size = {}, paid = {};
  std::array<bool, kLanes> says = {};
  double unit = 0;  // twice the proof's gamma

  void add(std::size_t lane, double number) {
    bound[lane] += number;
    size[lane] += std::fabs(number);
  }
};

void NodeLanes::begin_proof(Sum& sum) {
  const auto& layers = network_.layers();
  for (auto& each : proven_over_a_) std::fill(each.begin(), each.end(), 0.0);
  std::fill(proven_over_input_.begin(), proven_over_input_.end(), 0.0);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const SplitTerm& term = terms_[t];
    const auto [at, place] = network_.rows()[static_cast<std::size_t>(term.row)];
    const auto row = static_cast<std::size_t>(place);
    const auto& layer = layers[static_cast<std::size_t>(at)];
    double* const to = proven_over_a_[static_cast<std::size_t>(at)].data() + at_lanes(row);
    const double most = std::max(std::fabs(layer.lower[row]), std::fabs(layer.upper[row]));
    // The first term of a row that no layer reads is exact: nothing is added to it.
    bool added = layer.is_read;
    for (std::size_t other = 0; other < t; ++other) added = added || terms_[other].row == term.row;
    for (std::size_t p = 0; p < kLanes; ++p) {
      const double weight = static_cast<double>(weights_[at_lanes(t) + p]);
      if (weight > 0 || objectives_[p]) sum.says[p] = true;
      const double signed_weight = static_cast<double>(term.sign) * weight;
      if (added) sum.paid[p] += sum.unit * weight * most;
      to[p] += signed_weight;
      sum.add(p, -(signed_weight * term.threshold));
    }
  }
}

// Carries coefficients over the activations of a layer to those over what it reads.
void NodeLanes::prove_layer(std::size_t i, Sum& sum) {
  const auto& layer = network_.layers()[i];
  const double scale = std::max(0.0, static_cast<double>(scales_[i]));
  std::size_t open = layer.first_open;
  for (std::size_t j = 0; j < layer.size(); ++j) {
    const double* const over_a = proven_over_a_[i].data() + at_lanes(j);
    double* const over_z = proven_over_z_.data() + at_lanes(j);
    const double price =
        sum.unit * layer.reach[j] + layer.weight_error * layer.reach[j] + layer.bias_error;
    if (layer.phase[j] == SplitNetwork::Phase::kLinear) {
      std::copy_n(over_a, kLanes, over_z);
    } else if (layer.phase[j] == SplitNetwork::Phase::kFunction) {
      const FunctionState* const states = &function(network_.function_of(open++), 0);
      for (std::size_t p = 0; p < kLanes; ++p) {
        const FunctionProof made = prove_function(*layer.function, states[p], scale, over_a[p]);
        over_z[p] = made.over_z;
        for (const double offset : made.offsets) sum.add(p, offset);
        sum.paid[p] += sum.unit * made.rounded *
                       std::max(std::fabs(states[p].of_z.low), std::fabs(states[p].of_z.high));
      }
    } else {
      const std::size_t own = at_lanes(open++);
      for (std::size_t p = 0; p < kLanes; ++p) {
        const int split = phase_[own + p];
        const double choice = std::max(0.0, static_cast<double>(choice_[own + p]));
        const bf::ReluLine line = bf::relu_line(
            over_a[p], split, split != 0 ? choice * scale : choice, low_[own + p], high_[own + p]);
        over_z[p] = line.over_z;
        sum.add(p, line.offset);
      }
    }
    for (std::size_t p = 0; p < kLanes; ++p) {
      if (objectives_[p] && objectives_[p]->layer == i && objectives_[p]->place == j) {
        over_z[p] += static_cast<double>(objectives_[p]->factor);
      }
      sum.add(p, over_z[p] * layer.bias[j]);
      sum.paid[p] += std::fabs(over_z[p]) * price;
    }
  }
  for (const auto& part : layer.parts)
    part.backward.add_product(proven_over_z_.data(), proven_coefficients(part.source).data());
  prove_products(i, sum);
}

// Carries coefficients over products to those over their factors. Their roundings are paid for by
// the layer's reach.
void NodeLanes::prove_products(std::size_t i, Sum& sum) {
  const auto& layer = network_.layers()[i];
  for (std::size_t j = 0; j < layer.factors.size(); ++j) {
    const auto& [x, y] = layer.factors[j];
    double* const over_x = proven_coefficients(layer.factor_sources[0]).data() + at_lanes(x.place);
    double* const over_y = proven_coefficients(layer.factor_sources[1]).data() + at_lanes(y.place);
    const double magnitudes = (1 + std::max(std::fabs(x.lower), std::fabs(x.upper))) *
                              (1 + std::max(std::fabs(y.lower), std::fabs(y.upper)));
    const float* const planes = planes_.data() + 2 * at_lanes(layer.first_product + j);
    const auto end = [&](const SplitNetwork::Factor& factor, bool upper, std::size_t p) {
      if (!factor.open) return upper ? factor.upper : factor.lower;
      return (upper ? high_ : low_)[at_lanes(*factor.open) + p];
    };
    for (std::size_t p = 0; p < kLanes; ++p) {
      const double over_z = proven_over_z_[at_lanes(j) + p];
      const ProductProof made =
          prove_product(over_z, planes[(over_z < 0 ? kLanes : 0) + p], end(x, false, p),
                        end(x, true, p), end(y, false, p), end(y, true, p));
      over_x[p] += made.over_x;
      over_y[p] += made.over_y;
      sum.add(p, made.offset);
      // This pays for products below the normal range, times what they are multiplied by.
      sum.paid[p] += 0x1p-1060 * (1 + std::fabs(over_z)) * magnitudes;
    }
  }
}

NodeLanes::Sum NodeLanes::prove_sum() {
  Sum sum;
  sum.unit = 0x1p-52 * network_.roundings();
  begin_proof(sum);
  for (std::size_t i = network_.layers().size(); i-- > 0;) prove_layer(i, sum);
  for (std::size_t k = 0; k < network_.inputs(); ++k) {
    const auto lower = static_cast<double>(network_.lower()[k]);
    const auto upper = static_cast<double>(network_.upper()[k]);
    for (std::size_t p = 0; p < kLanes; ++p) {
      const double a = proven_over_input_[at_lanes(k) + p];
      sum.add(p, a >= 0 ? a * lower : a * upper);
    }
  }
  for (std::size_t p = 0; p < kLanes; ++p)
    sum.paid[p] = (sum.unit * sum.size[p] + sum.paid[p]) * (1 + 0x1p-20) + network_.underflow();
  return sum;
}

std::array<bool, kLanes> NodeLanes::prove() {
  const Sum sum = prove_sum();
  std::array<bool, kLanes> proven;
  // The comparison is false for NaN.
  for (std::size_t p = 0; p < kLanes; ++p)
    proven[p] = sum.says[p] && sum.bound[p] >= sum.paid[p] && std::isfinite(sum.bound[p]);
  return proven;
}

std::array<double, kLanes> NodeLanes::proven_bounds() {
  const Sum sum = prove_sum();
  std::array<double, kLanes> bounds;
  for (std::size_t p = 0; p < kLanes; ++p)
    bounds[p] = sum.says[p] ? std::nextafter(sum.bound[p] - sum.paid[p],
                                             -std::numeric_limits<double>::infinity())
                            : -std::numeric_limits<double>::infinity();
  return bounds;
}

}  // namespace bf_aot::decide
