#include "aot/prove/slope_search.h"

#include <algorithm>
#include <cmath>

namespace bf_aot::prove {

using bf_check::Kind;
using bf_check::Layer;
using bf_check::Part;

namespace {

constexpr std::uint64_t kPieceSteps = 64;  // of a line

unsigned place_of(double place) {
  return static_cast<unsigned>(std::lround(std::ldexp(place, bf_check::kSlopeBits)));
}

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
      curves_(network),
      at_inputs_(network.inputs) {
  for (std::uint32_t k = 0; k < network.layers.size(); ++k)
    if (network.layers[k].kind != Kind::kInput && network.layers[k].kind != Kind::kAffine)
      layer_.insert(layer_.end(), network.layers[k].count, k);
  has_curves_ = std::any_of(network.relaxations.begin(), network.relaxations.end(),
                            [](const auto& each) { return each.kind != Kind::kRelu; });
}

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
    proposal.slope[n] = network_.relaxations[n].kind != Kind::kRelu ? kNoChoice
                        : rule_is_one(part, element)                ? 1.0
                                                                    : 0.0;
  }
  return proposal;
}

// The checker's line of a function at a place that is chosen.
bf_check::Line SlopeSearch::checkers_line(const Part& part, std::uint32_t n, double coefficient,
                                          unsigned place) {
  const Layer& layer = network_.layers[layer_[n]];
  work_->spend(kPieceSteps);
  return curves_.line(part, layer, n - layer.first_number, coefficient < 0 ? 1 : -1, place);
}

// The line by which the checker bounds a function with a coefficient.
SlopeSearch::Line SlopeSearch::line_of(const Part& part, std::uint32_t n, double coefficient,
                                       double place) {
  const Layer& layer = network_.layers[layer_[n]];
  const bf_check::Line line =
      place == kNoChoice
          ? (coefficient < 0 ? part.above : part.below)[layer.first_line + n - layer.first_number]
          : checkers_line(part, n, coefficient, place_of(place));
  return {std::ldexp(static_cast<double>(line.slope), -static_cast<int>(network_.grid.weight_bits)),
          static_cast<double>(line.offset) * value_unit_};
}

SlopeSearch::Factors SlopeSearch::factors_of(const Part& part, const Layer& layer,
                                             std::uint32_t row) const {
  const std::uint32_t x = layer.column[2 * row], y = layer.column[2 * row + 1];
  const auto low = [&](std::uint32_t e) {
    return static_cast<double>(part.lower[e]) * value_unit_;
  };
  const auto width = [&](std::uint32_t e) {
    return static_cast<double>(part.upper[e] - part.lower[e]) * value_unit_;
  };
  return {x, y, low(x), width(x), low(y), width(y)};
}

// The plane of the checker below, or above, a product: of_x x + of_y y + constant.
SlopeSearch::Planes SlopeSearch::planes_of(const Factors& of, double coefficient,
                                           double place) const {
  const double t = place == kNoChoice ? 0.5 : place;
  const double p = of.x_low + t * of.x_width;
  const double q = of.y_low + (coefficient < 0 ? 1 - t : t) * of.y_width;
  const double loss = t * (1 - t) * of.x_width * of.y_width;
  return {q, p, -p * q + (coefficient < 0 ? loss : -loss)};
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
        const std::uint32_t n = layer.first_number + row;
        arrived_[n] = a;
        if (a == 0) continue;
        const Line line = line_of(part, n, a, proposal.slope[n]);
        total += a * line.offset;
        sums_[layer.column[row]] += a * line.slope;
      } else if (layer.kind == Kind::kProduct) {
        const std::uint32_t n = layer.first_number + row;
        arrived_[n] = a;
        if (a == 0) continue;
        const Factors factors = factors_of(part, layer, row);
        const Planes planes = planes_of(factors, a, proposal.slope[n]);
        total += a * planes.constant;
        sums_[factors.x] += a * planes.of_x;
        sums_[factors.y] += a * planes.of_y;
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
        const std::uint32_t n = layer.first_number + row;
        const Line line = line_of(part, n, arrived_[n], proposal.slope[n]);
        value = line.slope * values_[layer.column[row]] + line.offset;
      } else if (layer.kind == Kind::kProduct) {
        const std::uint32_t n = layer.first_number + row;
        const Factors factors = factors_of(part, layer, row);
        const Planes planes = planes_of(factors, arrived_[n], proposal.slope[n]);
        value =
            planes.of_x * values_[factors.x] + planes.of_y * values_[factors.y] + planes.constant;
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

// Lists what may be improved.
void SlopeSearch::list_open(const Part& part, const std::vector<signed char>& side) {
  choices_.clear();
  for (std::uint32_t n = 0; n < side.size(); ++n)
    if (is_open(network_, part, n) || is_curved(network_, part, n)) choices_.push_back({n, false});
  for (std::uint32_t n = 0; n < side.size(); ++n)
    if (side[n] != 0) choices_.push_back({n, true});
}

// How the last bound grows with the slope of a ReLU or the place of a product. Of a function: with
// a place that goes towards that at which the point touches it.
double SlopeSearch::gradient(const Part& part, std::uint32_t n, double place) const {
  const bf_check::Relaxed& relaxed = network_.relaxations[n];
  const double z = values_[relaxed.argument], a = arrived_[n];
  if (relaxed.kind == Kind::kRelu) return a > 0 ? a * z : 0;
  const Layer& layer = network_.layers[layer_[n]];
  if (relaxed.kind == Kind::kFunction) {
    const double low = static_cast<double>(part.lower[relaxed.argument]) * value_unit_;
    const double high = static_cast<double>(part.upper[relaxed.argument]) * value_unit_;
    return std::abs(a) * ((z - low) / (high - low) - place);
  }
  const Factors of = factors_of(part, layer, n - layer.first_number);
  const double x = z - of.x_low, y = values_[of.y] - of.y_low;
  return a * (a < 0 ? of.x_width * y - of.y_width * x
                    : of.x_width * y + of.y_width * x - of.x_width * of.y_width);
}

// A step of Adam from the point of the last bound.
void SlopeSearch::advance(const Part& part, const std::vector<signed char>& side, int step,
                          double rate, Proposal& proposal) {
  constexpr double kSlopeRate = 0.1, kMultiplierRate = 0.05;
  const double mean_scale = 1 / (1 - std::pow(0.9, step));
  const double square_scale = 1 / (1 - std::pow(0.999, step));
  for (Choice& choice : choices_) {
    const std::uint32_t n = choice.relaxation;
    double& slope = proposal.slope[n];
    if (!choice.is_multiplier && slope == kNoChoice) slope = 0.5;
    const double gradient = choice.is_multiplier
                                ? -side[n] * values_[network_.relaxations[n].argument]
                                : this->gradient(part, n, slope);
    choice.mean = 0.9 * choice.mean + 0.1 * gradient;
    choice.square = 0.999 * choice.square + 0.001 * gradient * gradient;
    const double change =
        rate * choice.mean * mean_scale / (std::sqrt(choice.square * square_scale) + 1e-12);
    if (choice.is_multiplier) {
      proposal.multiplier[n] = std::max(0.0, proposal.multiplier[n] + kMultiplierRate * change);
    } else {
      slope = std::clamp(slope + kSlopeRate * change, 0.0, 1.0);
    }
  }
}

double SlopeSearch::improve(const Part& part, const bf_check::Sum& sum,
                            const std::vector<signed char>& side, Proposal& proposal, int steps,
                            double enough) {
  constexpr double kDecay = 0.97;
  list_open(part, side);
  Proposal best = proposal;
  double most = bound(part, sum, side, proposal), rate = 1;
  for (int step = 1; step <= steps && most <= enough && !choices_.empty(); ++step) {
    forward(part, side, proposal);
    advance(part, side, step, rate, proposal);
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

bool SlopeSearch::is_choice(const Part& part, std::uint32_t n, unsigned place) {
  if (network_.relaxations[n].kind == Kind::kProduct) return place != bf_check::kRulePlace;
  const Layer& layer = network_.layers[layer_[n]];
  const std::uint32_t line = layer.first_line + n - layer.first_number;
  return !(checkers_line(part, n, arrived_[n], place) ==
           (arrived_[n] < 0 ? part.above : part.below)[line]);
}

std::vector<double> SlopeSearch::losses(const Part& part, const std::vector<signed char>& side,
                                        const Proposal& proposal) {
  std::vector<double> losses(network_.relaxations.size());
  if (has_curves_) forward(part, side, proposal);
  for (std::uint32_t n = 0; n < losses.size(); ++n) {
    const bf_check::Relaxed& relaxed = network_.relaxations[n];
    const double z = values_[relaxed.argument];
    if (is_open(network_, part, n)) {
      const double low = static_cast<double>(part.lower[relaxed.argument]) * value_unit_;
      const double high = static_cast<double>(part.upper[relaxed.argument]) * value_unit_;
      const double gap = -low * high / (high - low);
      losses[n] = gap * (arrived_[n] < 0 ? -arrived_[n] : 0.1 * arrived_[n]);
    } else if (relaxed.kind == Kind::kFunction && is_curved(network_, part, n)) {
      const Line below = line_of(part, n, 1, kNoChoice), above = line_of(part, n, -1, kNoChoice);
      losses[n] = std::abs(arrived_[n]) / 2 *
                  std::max(0.0, (above.slope - below.slope) * z + above.offset - below.offset);
    } else if (relaxed.kind == Kind::kProduct && is_curved(network_, part, n)) {
      losses[n] = std::abs(arrived_[n] * (values_[relaxed.element] - z * values_[other_factor(n)]));
    }
  }
  return losses;
}

}  // namespace bf_aot::prove
