#include "aot/decide/neurons/lane_proposal.h"

#include <algorithm>
#include <cmath>

#include "aot/decide/neurons/lanes/relu_lanes.h"

// For ReLUs on a box runtime/bf/c/nodes/lanes.h does the same on devices: bound() is
// bf_node_bound() there, forward() bf_node_forward() and step_weights() bf_node_step_weights().
// A change here needs the same change there; tests/soundness/node_device_test.cpp compares the two.

namespace bf_aot::decide {
namespace {

using Phase = BoxNetwork::Phase;

// Rates of steps of rows, which begin near their best choices and have few steps.
constexpr float kRowRate = 0.05F, kRowDecay = 0.7F;

void fill_lanes(float value, float* to) {
  std::fill_n(to, kLanes, value);
}

}  // namespace

LaneProposal::LaneProposal(LaneNodes& nodes)
    : nodes_(nodes),
      network_(nodes.network),
      input_coefficients_(at_lanes(network_.inputs())),
      input_(at_lanes(network_.inputs())),
      gains_(at_lanes(network_.open())),
      gaps_(at_lanes(network_.open())) {
  for (const auto& layer : network_.layers())
    for (auto* each : {&over_a_, &over_z_, &z_, &a_}) each->emplace_back(at_lanes(layer.size()));
}

std::vector<float> LaneProposal::mean_coefficients() const {
  std::vector<float> means;
  for (std::size_t i = 0; i < over_a_.size(); ++i) {
    float sum = 0;
    const auto& open = network_.layers()[i].open;
    for (const int place : open)
      sum += std::fabs(over_a_[i][at_lanes(static_cast<std::size_t>(place))]);
    means.push_back(sum > 0 ? sum / static_cast<float>(open.size()) : 1.0F);
  }
  return means;
}

OpenNeuron LaneProposal::open_neuron(std::size_t i, std::size_t j, std::size_t own) const {
  return {static_cast<float>(network_.layers()[i].bias[j]), nodes_.scales[i],
          nodes_.ranges.lower.data() + own, nodes_.ranges.ratio.data() + own,
          nodes_.phase.data() + own};
}

// The coefficients over the rows, and what the thresholds add.
void LaneProposal::start_bound() {
  for (auto& each : over_a_) std::fill(each.begin(), each.end(), 0.0F);
  std::fill(input_coefficients_.begin(), input_coefficients_.end(), 0.0F);
  bounds_ = {};
  for (std::size_t t = 0; t < nodes_.terms.size(); ++t) {
    const ClauseTerm& term = nodes_.terms[t];
    const auto [layer, place] = network_.rows()[static_cast<std::size_t>(term.row)];
    float* const to =
        over_a_[static_cast<std::size_t>(layer)].data() + at_lanes(static_cast<std::size_t>(place));
    for (std::size_t p = 0; p < kLanes; ++p) {
      const float weight = term.sign * nodes_.weights[at_lanes(t) + p];
      to[p] += weight;
      bounds_[p] -= weight * static_cast<float>(term.threshold);
    }
  }
}

// From coefficients over a of a layer to those over z.
void LaneProposal::pass_neurons(std::size_t i) {
  const auto& layer = network_.layers()[i];
  const float* const over_a = over_a_[i].data();
  float* const over_z = over_z_[i].data();
  std::size_t open = layer.first_open;
  for (std::size_t j = 0; j < layer.size(); ++j) {
    const std::size_t at = at_lanes(j);
    const auto bias = static_cast<float>(layer.bias[j]);
    if (layer.phase[j] == Phase::kLinear) {
      pass_linear(bias, over_a + at, over_z + at, bounds_.data());
      continue;
    }
    const std::size_t number = open++, own = at_lanes(number);
    if (layer.function != nullptr)
      FunctionLanes(*layer.function, &nodes_.function(network_.function_of(number), 0),
                    nodes_.in_use)
          .pass(bias, nodes_.scales[i], over_a + at, over_z + at, bounds_.data());
    else
      pass_open(open_neuron(i, j, own), over_a + at, nodes_.choices.value.data() + own, over_z + at,
                bounds_.data());
  }
  for (std::size_t p = 0; p < kLanes; ++p)
    if (const auto& of = nodes_.objectives[p]; of && of->layer == i) {
      over_z[at_lanes(of->place) + p] += of->factor;
      bounds_[p] += of->factor * static_cast<float>(layer.bias[of->place]);
    }
}

const LaneProposal::Lane& LaneProposal::bound() {
  const auto& layers = network_.layers();
  start_bound();
  for (std::size_t i = layers.size(); i-- > 0;) {
    pass_neurons(i);
    for (const auto& part : layers[i].parts)
      part.backward.add_product(over_z_[i].data(), coefficients(part.source).data());
    pass_products(i);
  }
  if (network_.norm() != Norm::kLargest) {
    to_surface();
    return bounds_;
  }
  for (std::size_t k = 0; k < network_.inputs(); ++k)
    to_corner(network_.lower()[k], network_.upper()[k], input_coefficients_.data() + at_lanes(k),
              input_.data() + at_lanes(k), bounds_.data());
  return bounds_;
}

// Writes the point of the ball in the box where the bound is least, and adds its part.
void LaneProposal::to_surface() {
  const bool euclid = network_.norm() == Norm::kEuclid;
  const auto radius = [this](std::size_t k) {
    return network_.upper()[k] / 2 - network_.lower()[k] / 2;
  };
  Lane sum = {}, largest = {};
  for (std::size_t k = 0; k < network_.inputs(); ++k)
    for (std::size_t p = 0; p < kLanes; ++p) {
      const float part = std::fabs(input_coefficients_[at_lanes(k) + p] * radius(k));
      sum[p] += part * part;
      largest[p] = std::max(largest[p], part);
    }
  for (std::size_t k = 0; k < network_.inputs(); ++k)
    for (std::size_t p = 0; p < kLanes; ++p) {
      const float a = input_coefficients_[at_lanes(k) + p], part = a * radius(k);
      float share = sum[p] > 0 ? part / std::sqrt(sum[p]) : 0.0F;
      if (!euclid) {
        // The first of the largest parts alone.
        const bool here = largest[p] > 0 && std::fabs(part) == largest[p];
        share = !here ? 0.0F : part < 0 ? -1.0F : 1.0F;
        if (here) largest[p] = -1;
      }
      float& x = input_[at_lanes(k) + p];
      x = network_.lower()[k] / 2 + network_.upper()[k] / 2 - share * radius(k);
      bounds_[p] += a * x;
    }
}

ProductChoices LaneProposal::planes_of(std::size_t product) {
  float* const below = nodes_.planes.value.data() + 2 * at_lanes(product);
  return {below, below + kLanes};
}

// Where the factors lie in each lane, of `memory`.
ProductNeuron LaneProposal::product_neuron(const std::array<BoxNetwork::Factor, 2>& factors,
                                           std::array<Lane, 4>& memory) const {
  for (std::size_t k = 0; k < 2; ++k) {
    const BoxNetwork::Factor& factor = factors.at(k);
    Lane& low = memory.at(2 * k);
    Lane& high = memory.at(2 * k + 1);
    if (!factor.open) {
      low.fill(static_cast<float>(factor.lower));
      high.fill(static_cast<float>(factor.upper));
      continue;
    }
    for (std::size_t p = 0; p < kLanes; ++p) {
      low[p] = static_cast<float>(nodes_.ranges.low[at_lanes(*factor.open) + p]);
      high[p] = static_cast<float>(nodes_.ranges.high[at_lanes(*factor.open) + p]);
    }
  }
  return {memory[0].data(), memory[1].data(), memory[2].data(), memory[3].data()};
}

void LaneProposal::pass_products(std::size_t i) {
  const auto& layer = network_.layers()[i];
  std::array<Lane, 4> ends;
  for (std::size_t j = 0; j < layer.factors.size(); ++j) {
    const auto& [x, y] = layer.factors[j];
    pass_product(product_neuron(layer.factors[j], ends), over_z_[i].data() + at_lanes(j),
                 planes_of(layer.first_product + j),
                 coefficients(layer.factor_sources[0]).data() + at_lanes(x.place),
                 coefficients(layer.factor_sources[1]).data() + at_lanes(y.place), bounds_.data());
  }
}

// z of products.
void LaneProposal::forward_products(std::size_t i, Pass pass, const Lane& rates) {
  const auto& layer = network_.layers()[i];
  std::array<Lane, 4> ends;
  for (std::size_t j = 0; j < layer.factors.size(); ++j) {
    const auto& [of_x, of_y] = layer.factors[j];
    const float* const x = values(layer.factor_sources[0]).data() + at_lanes(of_x.place);
    const float* const y = values(layer.factor_sources[1]).data() + at_lanes(of_y.place);
    const float* const over_z = over_z_[i].data() + at_lanes(j);
    float* const z = z_[i].data() + at_lanes(j);
    const std::size_t product = layer.first_product + j, own = 2 * at_lanes(product);
    const ProductNeuron neuron = product_neuron(layer.factors[j], ends);
    switch (pass) {
      case Pass::kAscend:
        step_product(neuron, rates.data(), over_z, x, y, planes_of(product),
                     nodes_.planes.mean.data() + own, nodes_.planes.largest.data() + own, z);
        break;
      case Pass::kMeasure:
        apply_product(neuron, over_z, x, y, planes_of(product), z);
        for (const auto& factor : {of_x, of_y})
          if (factor.open)
            measure_product(neuron, over_z, x, y, z, gains_.data() + at_lanes(*factor.open),
                            gaps_.data() + at_lanes(*factor.open));
        break;
      case Pass::kTrue:
        for (std::size_t p = 0; p < kLanes; ++p) z[p] = x[p] * y[p];
        break;
    }
  }
}

InputPlane LaneProposal::plane(std::size_t lane) const {
  InputPlane made;
  made.constant = bounds_[lane];
  for (std::size_t k = 0; k < network_.inputs(); ++k) {
    const std::size_t at = at_lanes(k) + lane;
    made.coefficients.push_back(input_coefficients_[at]);
    made.constant -= input_coefficients_[at] * input_[at];
  }
  return made;
}

LaneProposal::Lane LaneProposal::rates_of(int step) const {
  Lane rates;
  for (std::size_t p = 0; p < kLanes; ++p)
    rates[p] = nodes_.frozen[p]       ? 0
               : nodes_.objectives[p] ? kRowRate * std::pow(kRowDecay, static_cast<float>(step))
                                      : kRate * std::pow(kDecay, static_cast<float>(step));
  return rates;
}

void LaneProposal::forward(Pass pass, int step) {
  const auto& layers = network_.layers();
  const float unbias = 1 / (1 - std::pow(Ascent::kMean, static_cast<float>(step + 1)));
  Lane rates = rates_of(step);
  for (float& each : rates) each *= unbias;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& layer = layers[i];
    float* const z = z_[i].data();
    float* const a = a_[i].data();
    for (std::size_t j = 0; j < layer.size(); ++j)
      fill_lanes(static_cast<float>(layer.bias[j]), z + at_lanes(j));
    for (const auto& part : layer.parts) part.forward.add_product(values(part.source).data(), z);
    forward_products(i, pass, rates);
    std::size_t open = layer.first_open;
    for (std::size_t j = 0; j < layer.size(); ++j) {
      const std::size_t at = at_lanes(j);
      if (layer.phase[j] == Phase::kLinear) {
        std::copy_n(z + at, kLanes, a + at);
        continue;
      }
      const std::size_t number = open++;
      if (layer.function != nullptr)
        forward_function(i, j, number, pass, rates);
      else
        forward_open(i, j, number, pass, rates);
    }
  }
}

void LaneProposal::forward_open(std::size_t i, std::size_t j, std::size_t number, Pass pass,
                                const Lane& rates) {
  const std::size_t at = at_lanes(j), own = at_lanes(number);
  const float* const over_a = over_a_[i].data() + at;
  const float* const z = z_[i].data() + at;
  float* const a = a_[i].data() + at;
  switch (pass) {
    case Pass::kAscend:
      step_open(open_neuron(i, j, own), rates.data(), over_a, z, nodes_.choices.value.data() + own,
                nodes_.choices.mean.data() + own, nodes_.choices.largest.data() + own, a);
      break;
    case Pass::kMeasure:
      measure_open(open_neuron(i, j, own), over_a, z, nodes_.choices.value.data() + own, a,
                   gains_.data() + own, gaps_.data() + own);
      break;
    case Pass::kTrue:
      for (std::size_t p = 0; p < kLanes; ++p) a[p] = std::max(z[p], 0.0F);
      break;
  }
}

void LaneProposal::forward_function(std::size_t i, std::size_t j, std::size_t number, Pass pass,
                                    const Lane& rates) {
  const std::size_t at = at_lanes(j), own = at_lanes(number);
  const float* const over_a = over_a_[i].data() + at;
  const float* const z = z_[i].data() + at;
  float* const a = a_[i].data() + at;
  FunctionLanes lanes(*network_.layers()[i].function,
                      &nodes_.function(network_.function_of(number), 0), nodes_.in_use);
  switch (pass) {
    case Pass::kAscend:
      lanes.step(nodes_.scales[i], rates, over_a, z, a);
      break;
    case Pass::kMeasure:
      lanes.measure(over_a, z, a, gains_.data() + own, gaps_.data() + own);
      break;
    case Pass::kTrue:
      lanes.evaluate(z, a);
      break;
  }
}

void LaneProposal::ascend(int step) {
  forward(Pass::kAscend, step);
  const Lane rates = rates_of(step);
  for (std::size_t p = 0; p < kLanes; ++p)
    if (!nodes_.frozen[p] && (nodes_.terms.size() >= 2 || nodes_.objectives[p]))
      step_weights(p, rates[p]);
}

// Weights of terms that hold by less at the point grow; the sum of those that are weighed stays 1,
// but for an objective. Others take steps in proportion.
void LaneProposal::step_weights(std::size_t lane, float rate) {
  std::vector<float> lack;
  float most = 0, sum = 0;
  int weighed = 0;
  for (const ClauseTerm& term : nodes_.terms) {
    const auto [layer, place] = network_.rows()[static_cast<std::size_t>(term.row)];
    const float row =
        z_[static_cast<std::size_t>(layer)][at_lanes(static_cast<std::size_t>(place)) + lane];
    lack.push_back(term.sign * (row - static_cast<float>(term.threshold)));
    most = std::max(most, std::fabs(lack.back()));
  }
  if (!(most > 0)) return;
  for (std::size_t t = 0; t < lack.size(); ++t) {
    float& weight = nodes_.weights[at_lanes(t) + lane];
    const float unit = nodes_.is_weighed[t] ? 1.0F : 1.0F + weight;
    weight = std::max(0.0F, weight + rate * unit * lack[t] / most);
    if (!nodes_.is_weighed[t]) continue;
    sum += weight;
    ++weighed;
  }
  if (nodes_.objectives[lane]) return;
  for (std::size_t t = 0; t < lack.size(); ++t) {
    if (!nodes_.is_weighed[t]) continue;
    float& weight = nodes_.weights[at_lanes(t) + lane];
    weight = sum > 0 ? weight / sum : 1 / static_cast<float>(weighed);
  }
}

void LaneProposal::measure_gaps() {
  forward(Pass::kMeasure, 0);
}

std::vector<float> LaneProposal::point(std::size_t lane) const {
  std::vector<float> x;
  for (std::size_t k = 0; k < network_.inputs(); ++k) x.push_back(input_[at_lanes(k) + lane]);
  return x;
}

std::array<bool, kLanes> LaneProposal::violated() {
  forward(Pass::kTrue, 0);
  std::array<bool, kLanes> all;
  all.fill(true);
  for (const ClauseTerm& term : nodes_.terms) {
    const auto [layer, place] = network_.rows()[static_cast<std::size_t>(term.row)];
    const float* const row =
        z_[static_cast<std::size_t>(layer)].data() + at_lanes(static_cast<std::size_t>(place));
    for (std::size_t p = 0; p < kLanes; ++p)
      all[p] = all[p] && term.sign * (row[p] - static_cast<float>(term.threshold)) < 0;
  }
  return all;
}

}  // namespace bf_aot::decide
