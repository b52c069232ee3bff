#include "aot/neurons/lanes.h"

#include <algorithm>
#include <cmath>

#include "aot/neurons/clones.h"

namespace bf_aot::cli {
namespace {

using Phase = SplitNetwork::Phase;

// One number of all lanes, and what comparisons of them give.
using Floats = float __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
using Ints = std::int32_t __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

// Adam with the largest gradient in place of the root of a mean square (AdaMax; Kingma and Ba,
// 2015).
constexpr float kRate = 0.1F, kDecay = 0.97F;
constexpr float kMean = 0.9F, kFade = 0.999F;

constexpr float kSlopeUnit = 1.0F / 255;

struct OpenNeuron {
  float lower, upper, bias, scale;
};

// Coefficients over a -> over z, and what the bound gains, of one open neuron.
BF_CLONES void pass_open(const OpenNeuron& n, const float* over_a, const float* choice,
                         const std::int32_t* phase, float* over_z, float* bounds) {
  const auto a = *reinterpret_cast<const Floats*>(over_a);
  const auto c = *reinterpret_cast<const Floats*>(choice);
  const auto p = *reinterpret_cast<const Ints*>(phase);
  const float slope = n.upper / (n.upper - n.lower);
  const Floats multiplier = c * n.scale;
  const Floats free = a >= 0 ? a * c : a * slope;
  const Floats split = p > 0 ? a - multiplier : multiplier;
  const Floats z = p == 0 ? free : split;
  const Floats zero = {};
  const Floats offset = (p == 0) & (a < 0) ? a * (-slope * n.lower) : zero;
  *reinterpret_cast<Floats*>(over_z) = z;
  *reinterpret_cast<Floats*>(bounds) += z * n.bias + offset;
}

BF_CLONES void pass_linear(float bias, const float* over_a, float* over_z, float* bounds) {
  const auto a = *reinterpret_cast<const Floats*>(over_a);
  *reinterpret_cast<Floats*>(over_z) = a;
  *reinterpret_cast<Floats*>(bounds) += a * bias;
}

// x where a lane's bound is least, and what the bound is there.
BF_CLONES void to_corner(float lower, float upper, const float* coefficient, float* x,
                         float* bounds) {
  const auto a = *reinterpret_cast<const Floats*>(coefficient);
  const Floats zero = {};
  const Floats at = a >= 0 ? zero + lower : zero + upper;
  *reinterpret_cast<Floats*>(x) = at;
  *reinterpret_cast<Floats*>(bounds) += a * at;
}

// The activation that a lane's own lines make of z.
inline void line_value(const OpenNeuron& n, const Floats& a, const Floats& z, const Floats& c,
                       const Ints& p, Floats& value) {
  const float slope = n.upper / (n.upper - n.lower);
  const Floats zero = {};
  const Floats free = a >= 0 ? z * c : (z - n.lower) * slope;
  value = p == 0 ? free : (p > 0 ? z : zero);
}

// rates: of each lane.
BF_CLONES void step_open(const OpenNeuron& n, const float* rates, const float* over_a,
                         const float* z_at, const std::int32_t* phase, float* choice, float* mean,
                         float* largest, float* a_at) {
  const auto a = *reinterpret_cast<const Floats*>(over_a);
  const auto z = *reinterpret_cast<const Floats*>(z_at);
  auto c = *reinterpret_cast<const Floats*>(choice);
  const auto p = *reinterpret_cast<const Ints*>(phase);
  line_value(n, a, z, c, p, *reinterpret_cast<Floats*>(a_at));
  const Floats zero = {};
  const Floats scaled = z * n.scale;
  const Floats of_slope = a > 0 ? a * z : zero;
  const Floats gradient = p == 0 ? of_slope : (p > 0 ? -scaled : scaled);
  const Floats m = kMean * *reinterpret_cast<const Floats*>(mean) + (1 - kMean) * gradient;
  const Floats faded = kFade * *reinterpret_cast<const Floats*>(largest);
  const Floats size = gradient < 0 ? -gradient : gradient;
  const Floats v = size > faded ? size : faded;
  *reinterpret_cast<Floats*>(mean) = m;
  *reinterpret_cast<Floats*>(largest) = v;
  c += v > 0 ? *reinterpret_cast<const Floats*>(rates) * m / v : zero;
  // NaN too becomes 0.
  c = c > 0 ? c : zero;
  c = (p == 0) & (c > 1) ? zero + 1 : c;
  *reinterpret_cast<Floats*>(choice) = c;
}

BF_CLONES void measure_open(const OpenNeuron& n, const float* over_a, const float* z_at,
                            const std::int32_t* phase, const float* choice, float* a_at,
                            float* gain, float* gap) {
  const auto a = *reinterpret_cast<const Floats*>(over_a);
  const auto z = *reinterpret_cast<const Floats*>(z_at);
  const auto p = *reinterpret_cast<const Ints*>(phase);
  Floats value;
  line_value(n, a, z, *reinterpret_cast<const Floats*>(choice), p, value);
  *reinterpret_cast<Floats*>(a_at) = value;
  const float slope = n.upper / (n.upper - n.lower);
  const Floats zero = {};
  const Floats offset = a < 0 ? a * (slope * n.lower) : zero;
  *reinterpret_cast<Floats*>(gain) = p == 0 ? offset : zero;
  const Floats loss = a * ((z > 0 ? z : zero) - value);
  *reinterpret_cast<Floats*>(gap) = p == 0 ? (loss > 0 ? loss : zero) : zero;
}

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
  for (auto* each : {&choice_, &mean_, &largest_, &gains_, &gaps_}) each->resize(open);
  phase_.resize(open);
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

void NodeLanes::load(std::size_t lane, const SplitNode& node, const NeuronSplit* another) {
  frozen_[lane] = false;
  for (std::size_t i = 0; i < network_.open(); ++i) {
    const std::size_t at = at_lanes(i) + lane;
    choice_[at] = static_cast<float>(node.slopes[i]) * kSlopeUnit;
    phase_[at] = 0;
    mean_[at] = largest_[at] = 0;
  }
  const auto split = [&](const NeuronSplit& each) {
    const std::size_t at = at_lanes(each.open) + lane;
    phase_[at] = each.positive ? 1 : -1;
    choice_[at] = each.multiplier;
  };
  for (const NeuronSplit& each : node.splits) split(each);
  if (another != nullptr) split(*another);
  for (std::size_t t = 0; t < terms_.size(); ++t) weights_[at_lanes(t) + lane] = node.weights[t];
}

void NodeLanes::store(std::size_t lane, SplitNode& node) const {
  for (std::size_t i = 0; i < network_.open(); ++i)
    if (const std::size_t at = at_lanes(i) + lane; phase_[at] == 0)
      node.slopes[i] = static_cast<std::uint8_t>(std::lround(choice_[at] / kSlopeUnit));
  for (NeuronSplit& each : node.splits) each.multiplier = choice_[at_lanes(each.open) + lane];
  for (std::size_t t = 0; t < terms_.size(); ++t) node.weights[t] = weights_[at_lanes(t) + lane];
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
      if (layer.phase[j] == Phase::kLinear) {
        pass_linear(static_cast<float>(layer.bias[j]), over_a + at, over_z + at, bounds_.data());
        continue;
      }
      const OpenNeuron neuron = {static_cast<float>(layer.lower[j]),
                                 static_cast<float>(layer.upper[j]),
                                 static_cast<float>(layer.bias[j]), scales_[i]};
      const std::size_t own = at_lanes(open++);
      pass_open(neuron, over_a + at, choice_.data() + own, phase_.data() + own, over_z + at,
                bounds_.data());
    }
    for (const auto& part : layer.parts)
      part.backward.add_product(over_z, coefficients(part.source).data());
  }
  for (std::size_t k = 0; k < network_.inputs(); ++k)
    to_corner(network_.lower()[k], network_.upper()[k], input_coefficients_.data() + at_lanes(k),
              input_.data() + at_lanes(k), bounds_.data());
  return bounds_;
}

NodeLanes::Lane NodeLanes::rates_of(int step) const {
  Lane rates;
  for (std::size_t p = 0; p < kLanes; ++p)
    rates[p] = frozen_[p] ? 0 : kRate * std::pow(kDecay, static_cast<float>(step));
  return rates;
}

void NodeLanes::forward(Pass pass, int step) {
  const auto& layers = network_.layers();
  const float unbias = 1 / (1 - std::pow(kMean, static_cast<float>(step + 1)));
  Lane rates = rates_of(step);
  for (float& each : rates) each *= unbias;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& layer = layers[i];
    float* const z = z_[i].data();
    float* const a = a_[i].data();
    for (std::size_t j = 0; j < layer.size(); ++j)
      fill_lanes(static_cast<float>(layer.bias[j]), z + at_lanes(j));
    for (const auto& part : layer.parts) part.forward.add_product(values(part.source).data(), z);
    std::size_t open = layer.first_open;
    for (std::size_t j = 0; j < layer.size(); ++j) {
      const std::size_t at = at_lanes(j);
      if (layer.phase[j] == Phase::kLinear) {
        std::copy_n(z + at, kLanes, a + at);
        continue;
      }
      const OpenNeuron neuron = {static_cast<float>(layer.lower[j]),
                                 static_cast<float>(layer.upper[j]),
                                 static_cast<float>(layer.bias[j]), scales_[i]};
      const std::size_t own = at_lanes(open++);
      const float* const over_a = over_a_[i].data() + at;
      if (pass == Pass::kAscend)
        step_open(neuron, rates.data(), over_a, z + at, phase_.data() + own, choice_.data() + own,
                  mean_.data() + own, largest_.data() + own, a + at);
      else if (pass == Pass::kMeasure)
        measure_open(neuron, over_a, z + at, phase_.data() + own, choice_.data() + own, a + at,
                     gains_.data() + own, gaps_.data() + own);
      else
        for (std::size_t p = 0; p < kLanes; ++p) a[at + p] = std::max(z[at + p], 0.0F);
    }
  }
}

void NodeLanes::ascend(int step) {
  forward(Pass::kAscend, step);
  if (terms_.size() < 2) return;
  // Weights of terms that hold by less at the point grow; their sum stays 1.
  const Lane rates = rates_of(step);
  for (std::size_t p = 0; p < kLanes; ++p) {
    if (frozen_[p]) continue;
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

// Proof: docs/proofs/neuron-splits.md, whose names these are.
std::array<bool, kLanes> NodeLanes::prove() {
  const auto& layers = network_.layers();
  const double unit = 0x1p-52 * network_.roundings();  // gamma, twice
  std::array<double, kLanes> bound = {}, size = {}, paid = {};
  std::array<bool, kLanes> proven = {};
  for (auto& each : proven_over_a_) std::fill(each.begin(), each.end(), 0.0);
  std::fill(proven_over_input_.begin(), proven_over_input_.end(), 0.0);
  const auto add = [&](std::size_t lane, double number) {
    bound[lane] += number;
    size[lane] += std::fabs(number);
  };
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
      if (weight > 0) proven[p] = true;  // so far: a sum without terms says nothing
      const double signed_weight = static_cast<double>(term.sign) * weight;
      if (added) paid[p] += unit * weight * most;
      to[p] += signed_weight;
      add(p, -(signed_weight * term.threshold));
    }
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    const auto& layer = layers[i];
    std::size_t open = layer.first_open;
    for (std::size_t j = 0; j < layer.size(); ++j) {
      const double* const over_a = proven_over_a_[i].data() + at_lanes(j);
      double* const over_z = proven_over_z_.data() + at_lanes(j);
      const double price =
          unit * layer.reach[j] + layer.weight_error * layer.reach[j] + layer.bias_error;
      if (layer.phase[j] == Phase::kLinear) {
        std::copy_n(over_a, kLanes, over_z);
      } else {
        const double lower = layer.lower[j], upper = layer.upper[j];
        const double slope = upper / (upper - lower);
        const std::size_t own = at_lanes(open++);
        for (std::size_t p = 0; p < kLanes; ++p) {
          const double a = over_a[p];
          const double choice = std::max(0.0, static_cast<double>(choice_[own + p]));
          const double multiplier = choice * std::max(0.0, static_cast<double>(scales_[i]));
          if (phase_[own + p] != 0) {
            over_z[p] = phase_[own + p] > 0 ? a - multiplier : multiplier;
          } else if (a >= 0) {
            over_z[p] = a * std::min(choice, 1.0);
          } else {
            const double z = a * slope;
            over_z[p] = z;
            // Least of a relu(z) - lambda z at the ends and at 0.
            add(p, std::min({-z * lower, (a - z) * upper, 0.0}));
          }
        }
      }
      for (std::size_t p = 0; p < kLanes; ++p) {
        add(p, over_z[p] * layer.bias[j]);
        paid[p] += std::fabs(over_z[p]) * price;
      }
    }
    for (const auto& part : layer.parts)
      part.backward.add_product(
          proven_over_z_.data(),
          (part.source < 0 ? proven_over_input_
                           : proven_over_a_[static_cast<std::size_t>(part.source)])
              .data());
  }
  for (std::size_t k = 0; k < network_.inputs(); ++k) {
    const auto lower = static_cast<double>(network_.lower()[k]);
    const auto upper = static_cast<double>(network_.upper()[k]);
    for (std::size_t p = 0; p < kLanes; ++p) {
      const double a = proven_over_input_[at_lanes(k) + p];
      add(p, a >= 0 ? a * lower : a * upper);
    }
  }
  for (std::size_t p = 0; p < kLanes; ++p) {
    const double lost = (unit * size[p] + paid[p]) * (1 + 0x1p-20) + network_.underflow();
    // False for NaN.
    proven[p] = proven[p] && bound[p] >= lost && std::isfinite(bound[p]);
  }
  return proven;
}

}  // namespace bf_aot::cli
