#include "aot/prove/slope_search.h"

#include <algorithm>
#include <cmath>

namespace bf_aot::prove {

using bf_check::Kind;
using bf_check::Layer;
using bf_check::Part;

namespace {

// Both loops take most of the time. Pointers, since vectors would check each index.

// Adds a times a row's weights to the sums of what it reads.
void add_row(const Layer& layer, const LayerWeights& weights, std::uint32_t row, double a,
             double* sums) {
  const std::uint32_t first = layer.start[row], count = layer.start[row + 1] - first;
  const double* const weight = weights.weight.data() + first;
  const std::uint32_t* const column = layer.column.data() + first;
  if (weights.in_a_run[row]) {
    double* const to = sums + column[0];
    for (std::uint32_t i = 0; i < count; ++i) to[i] += a * weight[i];
  } else {
    for (std::uint32_t i = 0; i < count; ++i) sums[column[i]] += a * weight[i];
  }
}

// The sum of products of `count` weights and what they meet, value(i), in several sums, so that
// none waits for another.
template <class Value>
double sum_of_products(const double* weight, std::uint32_t count, const Value& value) {
  double even = 0, odd = 0, third = 0, fourth = 0;
  std::uint32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    even += weight[i] * value(i);
    odd += weight[i + 1] * value(i + 1);
    third += weight[i + 2] * value(i + 2);
    fourth += weight[i + 3] * value(i + 3);
  }
  for (; i < count; ++i) even += weight[i] * value(i);
  return (even + third) + (odd + fourth);
}

// The sum of a row's weights times what it reads.
double row_sum(const Layer& layer, const LayerWeights& weights, std::uint32_t row,
               const double* values) {
  const std::uint32_t first = layer.start[row], count = layer.start[row + 1] - first;
  const double* const weight = weights.weight.data() + first;
  const std::uint32_t* const column = layer.column.data() + first;
  if (weights.in_a_run[row]) {
    const double* const from = values + column[0];
    return sum_of_products(weight, count, [=](std::uint32_t i) { return from[i]; });
  }
  return sum_of_products(weight, count, [=](std::uint32_t i) { return values[column[i]]; });
}

}  // namespace

SlopeSearch::SlopeSearch(const bf_check::Network& network, bf_check::Work& work)
    : network_(network),
      work_(&work),
      weights_(weights_of(network)),
      value_unit_(std::ldexp(1.0, -static_cast<int>(network.grid.value_bits))),
      sums_(network.elements),
      values_(network.elements),
      arrived_(network.relaxations.size()),
      at_inputs_(network.inputs) {}

SlopeSearch::SlopeSearch(const SlopeSearch& other, bf_check::Work& work) : SlopeSearch(other) {
  work_ = &work;
}

std::vector<double> SlopeSearch::input_weights() const {
  std::vector<double> sums(network_.elements);
  for (const std::uint32_t element : network_.outputs) sums[element] += 1;
  for (std::size_t k = network_.layers.size(); k > 1; --k) {
    const Layer& layer = network_.layers[k - 1];
    double largest = 0;
    for (std::uint32_t row = 0; row < layer.count; ++row)
      largest = std::max(largest, sums[layer.first + row]);
    // Scaled, lest deep networks overflow: the inputs are compared with each other alone.
    for (std::uint32_t row = 0; row < layer.count && largest > 0; ++row) {
      const double a = sums[layer.first + row] / largest;
      for (std::uint32_t i = layer.start[row]; i < layer.start[row + 1]; ++i)
        sums[layer.column[i]] +=
            a * (layer.kind == Kind::kAffine ? std::abs((*weights_)[k - 1].weight[i]) : 1.0);
    }
  }
  return {sums.begin(), sums.begin() + network_.inputs};
}

Proposal SlopeSearch::rule(const Part& part) const {
  Proposal proposal;
  const std::size_t count = network_.relaxations.size();
  proposal.slope.resize(count);
  proposal.multiplier.resize(count);
  for (std::size_t n = 0; n < count; ++n) {
    const auto element = network_.relaxations[n].argument;
    proposal.slope[n] = rule_is_one(part, element) ? 1.0 : 0.0;
  }
  return proposal;
}

// The line by which the checker bounds a function with a coefficient.
SlopeSearch::Line SlopeSearch::line_of(const Part& part, std::uint32_t function,
                                       double coefficient) const {
  const bf_check::Line line = (coefficient < 0 ? part.above : part.below)[function];
  return {std::ldexp(static_cast<double>(line.slope), -static_cast<int>(network_.grid.weight_bits)),
          static_cast<double>(line.offset) * value_unit_};
}

// The plane of the checker's rule below, or above, a product: of_x x + of_y y + constant.
SlopeSearch::Planes SlopeSearch::planes_of(const Part& part, const Layer& layer, std::uint32_t row,
                                           double coefficient) const {
  const std::uint32_t x = layer.column[2 * row], y = layer.column[2 * row + 1];
  const auto low = [&](std::uint32_t e) {
    return static_cast<double>(part.lower[e]) * value_unit_;
  };
  const auto high = [&](std::uint32_t e) {
    return static_cast<double>(part.upper[e]) * value_unit_;
  };
  const double p = (low(x) + high(x)) / 2, q = (low(y) + high(y)) / 2;
  const double loss = (high(x) - low(x)) * (high(y) - low(y)) / 4;
  return {x, y, q, p, -p * q + (coefficient < 0 ? loss : -loss)};
}

double SlopeSearch::bound(const Part& part, const bf_check::Sum& sum,
                          const std::vector<signed char>& side, const Proposal& proposal) {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  double total = sum.constant.get_d();
  for (const auto& [element, coefficient] : sum.terms) sums_[element] += coefficient.get_d();
  for (std::size_t k = network_.layers.size(); k > 1; --k) {
    const Layer& layer = network_.layers[k - 1];
    work_->spend(layer.count + layer.column.size());
    for (std::uint32_t row = 0; row < layer.count; ++row) {
      const double a = sums_[layer.first + row];
      if (layer.kind == Kind::kAffine) {
        if (a == 0) continue;
        total += a * static_cast<double>(layer.bias[row]) * value_unit_;
        add_row(layer, (*weights_)[k - 1], row, a, sums_.data());
      } else if (layer.kind == Kind::kFunction) {
        const Line line = line_of(part, layer.first_line + row, a);
        total += a * line.offset;
        sums_[layer.column[row]] += a * line.slope;
      } else if (layer.kind == Kind::kProduct) {
        const Planes planes = planes_of(part, layer, row, a);
        total += a * planes.constant;
        sums_[planes.x] += a * planes.of_x;
        sums_[planes.y] += a * planes.of_y;
      } else {
        const std::uint32_t n = layer.first_number + row, z = layer.column[row];
        const double low = static_cast<double>(part.lower[z]) * value_unit_;
        const double high = static_cast<double>(part.upper[z]) * value_unit_;
        arrived_[n] = a;
        double kept = 0;
        if (low >= 0) {
          kept = a;
        } else if (high > 0) {
          kept = a < 0 ? a * high / (high - low) : a * proposal.slope[n];
          if (a < 0) total += a * -low * high / (high - low);
        }
        if (side[n] != 0) kept -= side[n] * proposal.multiplier[n];
        sums_[z] += kept;
      }
    }
  }
  for (std::uint32_t i = 0; i < network_.inputs; ++i) {
    const double a = at_inputs_[i] = sums_[i];
    total += a * static_cast<double>(a > 0 ? part.lower[i] : part.upper[i]) * value_unit_;
  }
  return total;
}

// The point at which the last bound is attained: the corner of the inputs, and what the relaxations
// make of it.
void SlopeSearch::forward(const Part& part, const std::vector<signed char>& side,
                          const Proposal& proposal) {
  std::vector<unsigned char> idle(network_.elements);  // what ReLUs that are 0 read
  for (std::size_t n = 0; n < side.size(); ++n) {
    const bf_check::Relaxed& relaxed = network_.relaxations[n];
    idle[relaxed.argument] =
        relaxed.kind == Kind::kRelu && side[n] == 0 && part.upper[relaxed.argument] <= 0;
  }

  for (std::uint32_t i = 0; i < network_.inputs; ++i)
    values_[i] =
        static_cast<double>(at_inputs_[i] > 0 ? part.lower[i] : part.upper[i]) * value_unit_;
  for (std::size_t k = 1; k < network_.layers.size(); ++k) {
    const Layer& layer = network_.layers[k];
    work_->spend(layer.count + layer.column.size());
    for (std::uint32_t row = 0; row < layer.count; ++row) {
      double value = 0;
      if (layer.kind == Kind::kAffine) {
        if (idle[layer.first + row] != 0 && (*weights_)[k].for_relus_alone[row] != 0) continue;
        value = static_cast<double>(layer.bias[row]) * value_unit_ +
                row_sum(layer, (*weights_)[k], row, values_.data());
      } else if (layer.kind == Kind::kFunction) {
        const Line line = line_of(part, layer.first_line + row, sums_[layer.first + row]);
        value = line.slope * values_[layer.column[row]] + line.offset;
      } else if (layer.kind == Kind::kProduct) {
        const Planes planes = planes_of(part, layer, row, sums_[layer.first + row]);
        value = planes.of_x * values_[planes.x] + planes.of_y * values_[planes.y] + planes.constant;
      } else if (layer.kind == Kind::kRelu) {
        const std::uint32_t n = layer.first_number + row, z = layer.column[row];
        const double low = static_cast<double>(part.lower[z]);
        const double high = static_cast<double>(part.upper[z]);
        const double at = values_[z];
        if (low >= 0) {
          value = at;
        } else if (high > 0) {
          value = arrived_[n] < 0 ? high / (high - low) * (at - low * value_unit_)
                                  : proposal.slope[n] * at;
        }
      }
      values_[layer.first + row] = value;
    }
  }
}

double SlopeSearch::improve(const Part& part, const bf_check::Sum& sum,
                            const std::vector<signed char>& side, Proposal& proposal, int steps,
                            double enough) {
  constexpr double kSlopeRate = 0.1, kMultiplierRate = 0.05, kDecay = 0.97;
  const std::size_t count = network_.relaxations.size();
  std::vector<std::uint32_t> open, split;
  for (std::uint32_t n = 0; n < count; ++n) {
    if (is_open(network_, part, n)) open.push_back(n);
    if (side[n] != 0) split.push_back(n);
  }
  std::vector<double> mean(open.size() + split.size()), square(mean.size());
  Proposal best = proposal;
  double most = bound(part, sum, side, proposal), rate = 1;
  for (int step = 1; step <= steps && most <= enough && !mean.empty(); ++step) {
    forward(part, side, proposal);
    const double mean_scale = 1 / (1 - std::pow(0.9, step));
    const double square_scale = 1 / (1 - std::pow(0.999, step));
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const bool slope = i < open.size();
      const std::uint32_t n = slope ? open[i] : split[i - open.size()];
      const double z = values_[network_.relaxations[n].argument];
      const double gradient = !slope ? -side[n] * z : arrived_[n] > 0 ? arrived_[n] * z : 0;
      mean[i] = 0.9 * mean[i] + 0.1 * gradient;
      square[i] = 0.999 * square[i] + 0.001 * gradient * gradient;
      const double change =
          rate * mean[i] * mean_scale / (std::sqrt(square[i] * square_scale) + 1e-12);
      if (slope) {
        proposal.slope[n] = std::clamp(proposal.slope[n] + kSlopeRate * change, 0.0, 1.0);
      } else {
        proposal.multiplier[n] = std::max(0.0, proposal.multiplier[n] + kMultiplierRate * change);
      }
    }
    rate *= kDecay;
    const double now = bound(part, sum, side, proposal);
    if (now > most) {
      most = now;
      best = proposal;
    }
  }
  proposal = best;
  bound(part, sum, side, proposal);
  return most;
}

std::vector<double> SlopeSearch::losses(const Part& part) const {
  std::vector<double> losses(network_.relaxations.size());
  for (std::uint32_t n = 0; n < losses.size(); ++n) {
    if (!is_open(network_, part, n)) continue;
    const double low =
        static_cast<double>(part.lower[network_.relaxations[n].argument]) * value_unit_;
    const double high =
        static_cast<double>(part.upper[network_.relaxations[n].argument]) * value_unit_;
    const double gap = -low * high / (high - low);
    losses[n] = gap * (arrived_[n] < 0 ? -arrived_[n] : 0.1 * arrived_[n]);
  }
  return losses;
}

}  // namespace bf_aot::prove
