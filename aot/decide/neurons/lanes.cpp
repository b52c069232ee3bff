#include "aot/decide/neurons/lanes.h"

#include <algorithm>
#include <cmath>

#include "aot/decide/neurons/lanes/relu_lanes.h"

namespace bf_aot::decide {
namespace {

using Phase = SplitNetwork::Phase;

// The rate of step k is kRate kDecay^k, see Ascent.
constexpr float kRate = 0.1F, kDecay = 0.97F;
// Rates for objectives of load_row(), which begin near their best choices and have few steps.
constexpr float kRowRate = 0.05F, kRowDecay = 0.7F;

void fill_lanes(float value, float* to) {
  std::fill_n(to, kLanes, value);
}

}  // namespace

NodeLanes::NodeLanes(const SplitNetwork& network, const std::vector<SplitTerm>& terms)
    : network_(network),
      terms_(terms),
      scales_(network.layers().size(), 1.0F),
      weights_(at_lanes(terms.size())),
      input_coefficients_(at_lanes(network.inputs())),
      input_(at_lanes(network.inputs())) {
  const std::size_t open = at_lanes(network.open());
  for (auto* each : {&choice_, &mean_, &largest_, &gains_, &gaps_, &lower_, &ratio_})
    each->resize(open);
  low_.resize(open);
  high_.resize(open);
  phase_.resize(open);
  functions_.resize(at_lanes(network.functions()));
  for (auto* each : {&planes_, &plane_mean_, &plane_largest_})
    each->resize(2 * at_lanes(network.products()));
  for (std::size_t i = 0; i < network.open(); ++i) {
    const auto& layer = network.layer_of(i);
    if (layer.function != nullptr) {
      const auto j = static_cast<std::size_t>(network.place_of(i).second);
      slopes_on_box_.push_back(slopes_on(*layer.function, layer.lower[j], layer.upper[j]));
      on_box_.push_back(layer.interval(layer.lower[j], layer.upper[j]));
    }
    for (std::size_t p = 0; p < kLanes; ++p) clear(p, i);
  }
  std::size_t widest = 0;
  for (const auto& layer : network.layers()) {
    const std::size_t size = at_lanes(layer.size());
    for (auto* each : {&over_a_, &over_z_, &z_, &a_}) each->emplace_back(size);
    proven_over_a_.emplace_back(size);
    widest = std::max(widest, size);
  }
  proven_over_z_.resize(widest);
  proven_over_input_.resize(input_.size());
}

std::vector<float> NodeLanes::mean_coefficients() const {
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

OpenNeuron NodeLanes::open_neuron(std::size_t i, std::size_t j, std::size_t own) const {
  return {static_cast<float>(network_.layers()[i].bias[j]), scales_[i], lower_.data() + own,
          ratio_.data() + own, phase_.data() + own};
}

std::pair<double, double> NodeLanes::range_of(std::size_t open, std::size_t lane) const {
  const std::size_t at = at_lanes(open) + lane;
  return {low_[at], high_[at]};
}

std::optional<double> NodeLanes::point_of(std::size_t open, std::size_t lane) const {
  const auto& layer = network_.layer_of(open);
  if (layer.function == nullptr) {
    if (is_split(open, lane)) return std::nullopt;
    return 0;
  }
  return functions_[at_lanes(network_.function_of(open)) + lane].of_z.point;
}

std::optional<FunctionPiece> NodeLanes::piece_of(std::size_t open, std::size_t lane) const {
  const auto& layer = network_.layer_of(open);
  if (layer.function == nullptr) {
    if (!is_split(open, lane)) return std::nullopt;
    return FunctionPiece{is_positive(open, lane) ? 1.0 : 0.0, 0};
  }
  const auto [low, high] = range_of(open, lane);
  return piece_on(*layer.function, low, high);
}

const NodeLanes::Lane& NodeLanes::bound() {
  const auto& layers = network_.layers();
  for (auto& each : over_a_) std::fill(each.begin(), each.end(), 0.0F);
  std::fill(input_coefficients_.begin(), input_coefficients_.end(), 0.0F);
  bounds_ = {};
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const SplitTerm& term = terms_[t];
    const auto [layer, place] = network_.rows()[static_cast<std::size_t>(term.row)];
    float* const to =
        over_a_[static_cast<std::size_t>(layer)].data() + at_lanes(static_cast<std::size_t>(place));
    for (std::size_t p = 0; p < kLanes; ++p) {
      const float weight = term.sign * weights_[at_lanes(t) + p];
      to[p] += weight;
      bounds_[p] -= weight * static_cast<float>(term.threshold);
    }
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    const auto& layer = layers[i];
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
        FunctionLanes(*layer.function, &function(network_.function_of(number), 0), lanes_in_use_)
            .pass(bias, scales_[i], over_a + at, over_z + at, bounds_.data());
      else
        pass_open(open_neuron(i, j, own), over_a + at, choice_.data() + own, over_z + at,
                  bounds_.data());
    }
    for (std::size_t p = 0; p < kLanes; ++p)
      if (objectives_[p] && objectives_[p]->layer == i) {
        over_z[at_lanes(objectives_[p]->place) + p] += objectives_[p]->factor;
        bounds_[p] +=
            objectives_[p]->factor * static_cast<float>(layer.bias[objectives_[p]->place]);
      }
    for (const auto& part : layer.parts)
      part.backward.add_product(over_z, coefficients(part.source).data());
    pass_products(i);
  }
  for (std::size_t k = 0; k < network_.inputs(); ++k)
    to_corner(network_.lower()[k], network_.upper()[k], input_coefficients_.data() + at_lanes(k),
              input_.data() + at_lanes(k), bounds_.data());
  return bounds_;
}

ProductChoices NodeLanes::planes_of(std::size_t product) {
  float* const below = planes_.data() + 2 * at_lanes(product);
  return {below, below + kLanes};
}

// The ranges of the factors in each lane, written to `memory`.
ProductNeuron NodeLanes::product_neuron(const std::array<SplitNetwork::Factor, 2>& factors,
                                        std::array<Lane, 4>& memory) const {
  for (std::size_t k = 0; k < 2; ++k) {
    const SplitNetwork::Factor& factor = factors.at(k);
    Lane& low = memory.at(2 * k);
    Lane& high = memory.at(2 * k + 1);
    if (!factor.open) {
      low.fill(static_cast<float>(factor.lower));
      high.fill(static_cast<float>(factor.upper));
      continue;
    }
    for (std::size_t p = 0; p < kLanes; ++p) {
      low[p] = static_cast<float>(low_[at_lanes(*factor.open) + p]);
      high[p] = static_cast<float>(high_[at_lanes(*factor.open) + p]);
    }
  }
  return {memory[0].data(), memory[1].data(), memory[2].data(), memory[3].data()};
}

void NodeLanes::pass_products(std::size_t i) {
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

// Computes z of products.
void NodeLanes::forward_products(std::size_t i, Pass pass, const Lane& rates) {
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
                     plane_mean_.data() + own, plane_largest_.data() + own, z);
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

InputPlane NodeLanes::plane(std::size_t lane) const {
  InputPlane made;
  made.constant = bounds_[lane];
  for (std::size_t k = 0; k < network_.inputs(); ++k) {
    const std::size_t at = at_lanes(k) + lane;
    made.coefficients.push_back(input_coefficients_[at]);
    made.constant -= input_coefficients_[at] * input_[at];
  }
  return made;
}

NodeLanes::Lane NodeLanes::rates_of(int step) const {
  Lane rates;
  for (std::size_t p = 0; p < kLanes; ++p)
    rates[p] = frozen_[p]       ? 0
               : objectives_[p] ? kRowRate * std::pow(kRowDecay, static_cast<float>(step))
                                : kRate * std::pow(kDecay, static_cast<float>(step));
  return rates;
}

void NodeLanes::forward(Pass pass, int step) {
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

void NodeLanes::forward_open(std::size_t i, std::size_t j, std::size_t number, Pass pass,
                             const Lane& rates) {
  const std::size_t at = at_lanes(j), own = at_lanes(number);
  const float* const over_a = over_a_[i].data() + at;
  const float* const z = z_[i].data() + at;
  float* const a = a_[i].data() + at;
  switch (pass) {
    case Pass::kAscend:
      step_open(open_neuron(i, j, own), rates.data(), over_a, z, choice_.data() + own,
                mean_.data() + own, largest_.data() + own, a);
      break;
    case Pass::kMeasure:
      measure_open(open_neuron(i, j, own), over_a, z, choice_.data() + own, a, gains_.data() + own,
                   gaps_.data() + own);
      break;
    case Pass::kTrue:
      for (std::size_t p = 0; p < kLanes; ++p) a[p] = std::max(z[p], 0.0F);
      break;
  }
}

void NodeLanes::forward_function(std::size_t i, std::size_t j, std::size_t number, Pass pass,
                                 const Lane& rates) {
  const std::size_t at = at_lanes(j), own = at_lanes(number);
  const float* const over_a = over_a_[i].data() + at;
  const float* const z = z_[i].data() + at;
  float* const a = a_[i].data() + at;
  FunctionLanes lanes(*network_.layers()[i].function, &function(network_.function_of(number), 0),
                      lanes_in_use_);
  switch (pass) {
    case Pass::kAscend:
      lanes.step(scales_[i], rates, over_a, z, a);
      break;
    case Pass::kMeasure:
      lanes.measure(over_a, z, a, gains_.data() + own, gaps_.data() + own);
      break;
    case Pass::kTrue:
      lanes.evaluate(z, a);
      break;
  }
}

void NodeLanes::ascend(int step) {
  forward(Pass::kAscend, step);
  const bool rows = std::ranges::any_of(objectives_, [](const auto& of) { return of.has_value(); });
  if (terms_.size() < 2 && !rows) return;
  // Weights of terms that hold by less at the point grow; their sum stays 1.
  const Lane rates = rates_of(step);
  for (std::size_t p = 0; p < kLanes; ++p) {
    if (frozen_[p] || (terms_.size() < 2 && !objectives_[p])) continue;
    std::vector<float> lack;
    float most = 0, sum = 0;
    for (const SplitTerm& term : terms_) {
      const auto [layer, place] = network_.rows()[static_cast<std::size_t>(term.row)];
      const float row =
          z_[static_cast<std::size_t>(layer)][at_lanes(static_cast<std::size_t>(place)) + p];
      lack.push_back(term.sign * (row - static_cast<float>(term.threshold)));
      most = std::max(most, std::fabs(lack.back()));
    }
    if (!(most > 0)) continue;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      float& weight = weights_[at_lanes(t) + p];
      weight = std::max(0.0F, weight + rates[p] * lack[t] / most);
      sum += weight;
    }
    if (objectives_[p]) continue;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      float& weight = weights_[at_lanes(t) + p];
      weight = sum > 0 ? weight / sum : 1 / static_cast<float>(terms_.size());
    }
  }
}

void NodeLanes::measure_gaps() {
  forward(Pass::kMeasure, 0);
}

std::vector<float> NodeLanes::point(std::size_t lane) const {
  std::vector<float> x;
  for (std::size_t k = 0; k < network_.inputs(); ++k) x.push_back(input_[at_lanes(k) + lane]);
  return x;
}

std::array<bool, kLanes> NodeLanes::violated() {
  forward(Pass::kTrue, 0);
  std::array<bool, kLanes> all;
  all.fill(true);
  for (const SplitTerm& term : terms_) {
    const auto [layer, place] = network_.rows()[static_cast<std::size_t>(term.row)];
    const float* const row =
        z_[static_cast<std::size_t>(layer)].data() + at_lanes(static_cast<std::size_t>(place));
    for (std::size_t p = 0; p < kLanes; ++p)
      all[p] = all[p] && term.sign * (row[p] - static_cast<float>(term.threshold)) < 0;
  }
  return all;
}

}  // namespace bf_aot::decide
