#include "aot/decide/neurons/lane_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aot/decide/neurons/lanes/product_lanes.h"
#include "runtime/bf/search/relu_line.h"

// Proof: docs/proofs/neuron-splits.md, whose names these are.

namespace bf_aot::decide {

// The sums of a pass, for each lane: the bound as computed, its part before the inputs, the
// magnitudes of the numbers that were added up, and what else it may have lost. says: some term has
// a weight, or a neuron is bounded.
struct LaneProof::Sum {
  std::array<double, kLanes> bound = {}, constant = {}, size = {}, paid = {};
  std::array<bool, kLanes> says = {};

  void add(std::size_t lane, double number) {
    bound[lane] += number;
    size[lane] += std::fabs(number);
  }
};

LaneProof::LaneProof(const LaneNodes& nodes)
    : nodes_(nodes), network_(nodes.network), over_input_(at_lanes(network_.inputs())) {
  std::size_t widest = 0;
  for (const auto& layer : network_.layers()) {
    over_a_.emplace_back(at_lanes(layer.size()));
    widest = std::max(widest, over_a_.back().size());
  }
  over_z_.resize(widest);
}

// The coefficients over the rows, and what the thresholds add.
void LaneProof::begin(Sum& sum) {
  const auto& layers = network_.layers();
  for (auto& each : over_a_) std::fill(each.begin(), each.end(), 0.0);
  std::fill(over_input_.begin(), over_input_.end(), 0.0);
  for (std::size_t t = 0; t < nodes_.terms.size(); ++t) {
    const ClauseTerm& term = nodes_.terms[t];
    const auto [at, place] = network_.rows()[static_cast<std::size_t>(term.row)];
    const auto row = static_cast<std::size_t>(place);
    const auto& layer = layers[static_cast<std::size_t>(at)];
    double* const to = over_a_[static_cast<std::size_t>(at)].data() + at_lanes(row);
    const double most = std::max(std::fabs(layer.lower[row]), std::fabs(layer.upper[row]));
    // The first term of a row that no layer reads is exact: nothing is added to it.
    bool added = layer.is_read;
    for (std::size_t other = 0; other < t; ++other)
      added = added || nodes_.terms[other].row == term.row;
    for (std::size_t p = 0; p < kLanes; ++p) {
      const double weight = static_cast<double>(nodes_.weights[at_lanes(t) + p]);
      if (weight > 0 || nodes_.objectives[p]) sum.says[p] = true;
      const double signed_weight = static_cast<double>(term.sign) * weight;
      if (added) sum.paid[p] += network_.errors().row * weight * most;
      to[p] += signed_weight;
      sum.add(p, -(signed_weight * term.threshold));
    }
  }
}

// From the coefficients over a function's neuron to those over z.
void LaneProof::prove_function_neuron(const BoxNetwork::BoxLayer& layer,
                                      const FunctionState* states, double scale,
                                      const double* over_a, double* over_z, Sum& sum) const {
  const double unit = network_.errors().coefficient;
  for (std::size_t p = 0; p < kLanes; ++p) {
    const FunctionProof made = prove_function(*layer.function, states[p], scale, over_a[p]);
    over_z[p] = made.over_z;
    for (const double offset : made.offsets) sum.add(p, offset);
    sum.paid[p] += unit * made.rounded *
                   std::max(std::fabs(states[p].of_z.low), std::fabs(states[p].of_z.high));
  }
}

// Goes from the coefficients over an open ReLU to those over z. open: its number.
void LaneProof::prove_relu(std::size_t open, double scale, const double* over_a, double* over_z,
                           Sum& sum) const {
  const std::size_t own = at_lanes(open);
  const RangeLanes& ranges = nodes_.ranges;
  for (std::size_t p = 0; p < kLanes; ++p) {
    const int split = nodes_.phase[own + p];
    const double choice = std::max(0.0, static_cast<double>(nodes_.choices.value[own + p]));
    const bf::ReluLine line = bf::relu_line(over_a[p], split, split != 0 ? choice * scale : choice,
                                            ranges.low[own + p], ranges.high[own + p]);
    over_z[p] = line.over_z;
    sum.add(p, line.offset);
  }
}

// From coefficients over the activations of a layer to those over what it reads.
void LaneProof::prove_layer(std::size_t i, Sum& sum) {
  const auto& layer = network_.layers()[i];
  const double scale = std::max(0.0, static_cast<double>(nodes_.scales[i]));
  std::size_t open = layer.first_open;
  for (std::size_t j = 0; j < layer.size(); ++j) {
    const double* const over_a = over_a_[i].data() + at_lanes(j);
    double* const over_z = over_z_.data() + at_lanes(j);
    const double price = network_.errors().coefficient * layer.reach[j] +
                         layer.weight_error * layer.reach[j] + layer.bias_error;
    if (layer.phase[j] == BoxNetwork::Phase::kLinear)
      std::copy_n(over_a, kLanes, over_z);
    else if (layer.phase[j] == BoxNetwork::Phase::kFunction)
      prove_function_neuron(layer, &nodes_.function(network_.function_of(open++), 0), scale, over_a,
                            over_z, sum);
    else
      prove_relu(open++, scale, over_a, over_z, sum);
    for (std::size_t p = 0; p < kLanes; ++p) {
      if (const auto& of = nodes_.objectives[p]; of && of->layer == i && of->place == j)
        over_z[p] += static_cast<double>(of->factor);
      sum.add(p, over_z[p] * layer.bias[j]);
      sum.paid[p] += std::fabs(over_z[p]) * price;
    }
  }
  for (const auto& part : layer.parts)
    part.backward.add_product(over_z_.data(), coefficients(part.source).data());
  prove_products(i, sum);
}

// From coefficients over products to those over their factors. Roundings are paid by their reach.
void LaneProof::prove_products(std::size_t i, Sum& sum) {
  const auto& layer = network_.layers()[i];
  for (std::size_t j = 0; j < layer.factors.size(); ++j) {
    const auto& [x, y] = layer.factors[j];
    double* const over_x = coefficients(layer.factor_sources[0]).data() + at_lanes(x.place);
    double* const over_y = coefficients(layer.factor_sources[1]).data() + at_lanes(y.place);
    const double magnitudes = (1 + std::max(std::fabs(x.lower), std::fabs(x.upper))) *
                              (1 + std::max(std::fabs(y.lower), std::fabs(y.upper)));
    const float* const planes = nodes_.planes.value.data() + 2 * at_lanes(layer.first_product + j);
    const auto end = [&](const BoxNetwork::Factor& factor, bool upper, std::size_t p) {
      if (!factor.open) return upper ? factor.upper : factor.lower;
      return (upper ? nodes_.ranges.high : nodes_.ranges.low)[at_lanes(*factor.open) + p];
    };
    for (std::size_t p = 0; p < kLanes; ++p) {
      const double over_z = over_z_[at_lanes(j) + p];
      const ProductProof made =
          prove_product(over_z, planes[(over_z < 0 ? kLanes : 0) + p], end(x, false, p),
                        end(x, true, p), end(y, false, p), end(y, true, p));
      over_x[p] += made.over_x;
      over_y[p] += made.over_y;
      sum.add(p, made.offset);
      // Underflow of the products, times the largest value that they are multiplied with.
      sum.paid[p] += 0x1p-1060 * (1 + std::fabs(over_z)) * magnitudes;
    }
  }
}

// Adds the least value over the box.
void LaneProof::prove_corner(Sum& sum) const {
  for (std::size_t k = 0; k < network_.inputs(); ++k) {
    const auto lower = static_cast<double>(network_.lower()[k]);
    const auto upper = static_cast<double>(network_.upper()[k]);
    for (std::size_t p = 0; p < kLanes; ++p) {
      const double a = over_input_[at_lanes(k) + p];
      sum.add(p, a >= 0 ? a * lower : a * upper);
    }
  }
}

// Adds the least value over the ball in the box, rounded down: docs/proofs/balls.md.
void LaneProof::prove_ball(Sum& sum) const {
  const bool euclid = network_.norm() == Norm::kEuclid;
  std::array<double, kLanes> spread = {};
  for (std::size_t k = 0; k < network_.inputs(); ++k) {
    const auto lower = static_cast<double>(network_.lower()[k]);
    const auto upper = static_cast<double>(network_.upper()[k]);
    const double centre = lower / 2 + upper / 2, radius = upper / 2 - lower / 2;
    for (std::size_t p = 0; p < kLanes; ++p) {
      const double a = over_input_[at_lanes(k) + p], part = std::fabs(a * radius);
      spread[p] = euclid ? spread[p] + part * part : std::max(spread[p], part);
      sum.add(p, a * centre);
    }
  }
  const auto inputs = static_cast<double>(network_.inputs());
  const double raised = 1 + (inputs + 16) * 0x1p-50;
  for (std::size_t p = 0; p < kLanes; ++p) {
    const double dual = euclid ? std::sqrt(spread[p]) : spread[p];
    sum.add(p, -(dual * raised + inputs * 0x1p-500));
    sum.paid[p] += 0x1p-50 * sum.size[p];
  }
}

LaneProof::Sum LaneProof::prove_sum() {
  Sum sum;
  begin(sum);
  for (std::size_t i = network_.layers().size(); i-- > 0;) prove_layer(i, sum);
  sum.constant = sum.bound;
  if (network_.norm() == Norm::kLargest)
    prove_corner(sum);
  else
    prove_ball(sum);
  for (std::size_t p = 0; p < kLanes; ++p)
    sum.paid[p] = (network_.errors().sum * sum.size[p] + sum.paid[p]) * (1 + 0x1p-20) +
                  network_.errors().underflow;
  return sum;
}

std::array<bool, kLanes> LaneProof::proven(const Sum& sum) {
  std::array<bool, kLanes> made;
  // False for NaN.
  for (std::size_t p = 0; p < kLanes; ++p)
    made[p] = sum.says[p] && sum.bound[p] >= sum.paid[p] && std::isfinite(sum.bound[p]);
  return made;
}

std::array<bool, kLanes> LaneProof::prove() {
  return proven(prove_sum());
}

LaneProof::Proven LaneProof::prove_planes() {
  const Sum sum = prove_sum();
  return {proven(sum), lowered(sum.constant, sum)};
}

// Returns each lane's number less all that the pass may have lost; -inf where nothing is said.
std::array<double, kLanes> LaneProof::lowered(const std::array<double, kLanes>& numbers,
                                              const Sum& sum) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  std::array<double, kLanes> made;
  for (std::size_t p = 0; p < kLanes; ++p)
    made[p] = sum.says[p] ? std::nextafter(numbers[p] - sum.paid[p], kNothing) : kNothing;
  return made;
}

std::array<double, kLanes> LaneProof::proven_bounds() {
  const Sum sum = prove_sum();
  return lowered(sum.bound, sum);
}

std::array<double, kLanes> LaneProof::plane_constants() {
  const Sum sum = prove_sum();
  return lowered(sum.constant, sum);
}

}  // namespace bf_aot::decide
