#include "aot/decide/neurons/propagation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "aot/input/directed.h"
#include "runtime/bf/search/relu_line.h"

namespace bf_aot::decide {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostProductsNarrowed = 1 << 18;  // of networks that are covered
constexpr std::size_t kMostChoices = 256;               // open neurons whose signs are tried
// Sums are looked at this often for each neuron, at most, before one propagation ends.
constexpr std::size_t kMostVisits = 32;
// A range that shrinks by less than this share of itself is kept, but not followed.
constexpr double kLeastShare = 1.0 / 16;

// A neuron is not tried that has this many times less left of its activation than another.
constexpr double kLessLeft = 4;

// Roundings of a sum of so many numbers, each a product, times their magnitudes: twice what they
// lose, with some more for what is made of the sum.
double rounding_of(std::size_t numbers) {
  return static_cast<double>(numbers + 16) * 0x1p-52;
}

// Whether products with it are exact, unless they overflow.
bool is_power_of_two(double x) {
  int exponent = 0;
  return std::fabs(std::frexp(x, &exponent)) == 0.5 && exponent > 0;
}

// x / y, rounded to a side.
double divided(double x, double y, bool up) {
  return y > 0 ? input::quotient(x, y, up) : input::quotient(-x, -y, up);
}

}  // namespace

bool Propagation::covers(const BoxNetwork& network) {
  std::size_t products = 0;
  for (const auto& layer : network.layers())
    for (const auto& part : layer.parts) products += part.forward.products();
  return network.functions() == 0 && network.products() == 0 && products <= kMostProductsNarrowed;
}

Propagation::Propagation(const BoxNetwork& network, const std::vector<ClauseTerm>& terms)
    : network_(network), terms_(terms) {
  is_relu_.assign(network.inputs(), false);
  source_start_ = {0};
  for (const auto& layer : network.layers()) add_layer(layer);
  list_readers();
  waits_.assign(is_relu_.size(), false);
  is_condition_.assign(bias_.size(), false);
  width_.assign(bias_.size(), 0);
  width_before_.assign(bias_.size(), 0);
  for (auto* const each : {&ranges_.low, &ranges_.high, &ranges_.least, &ranges_.largest})
    each->resize(is_relu_.size());
  load_box();
  for (const std::size_t variable : open_) on_box_.push_back(ranges_.largest[variable]);
  over_.assign(is_relu_.size(), 0);
  sum_error_ = rounding_of(2 * is_relu_.size() + network.inputs() + terms.size());
}

std::size_t Propagation::row_of(const ClauseTerm& term) const {
  const auto [layer, place] = network_.rows()[static_cast<std::size_t>(term.row)];
  return variable_of(layer, static_cast<std::size_t>(place));
}

std::size_t Propagation::variable_of(int layer, std::size_t place) const {
  return layer < 0 ? place : first_[static_cast<std::size_t>(layer)] + place;
}

void Propagation::add_layer(const BoxNetwork::BoxLayer& layer) {
  first_.push_back(is_relu_.size());
  std::vector<std::vector<Source>> sources(layer.size());
  for (const auto& part : layer.parts)
    part.forward.for_each_product([&](std::size_t row, std::size_t column, float weight) {
      sources[row].push_back({variable_of(part.source, column), static_cast<double>(weight)});
    });
  for (std::size_t j = 0; j < layer.size(); ++j) {
    is_relu_.push_back(layer.phase[j] == BoxNetwork::Phase::kOpen);
    if (is_relu_.back()) open_.push_back(is_relu_.size() - 1);
    bias_.push_back(layer.bias[j]);
    sources_.insert(sources_.end(), sources[j].begin(), sources[j].end());
    is_exact_.push_back(std::ranges::all_of(
        sources[j], [](const Source& each) { return is_power_of_two(each.weight); }));
    parts_.resize(std::max(parts_.size(), sources[j].size()));
    source_start_.push_back(sources_.size());
    // 2^-1000 pays for products below the normal range.
    const bool is_known_exactly = layer.weight_error == 0 && layer.bias_error == 0;
    const double inexact = layer.weight_error * layer.reach[j] + layer.bias_error;
    room_.push_back(is_known_exactly ? 0 : inexact * (1 + 0x1p-20) + 0x1p-1000);
    price_.push_back(room_.back());
  }
}

// Lists the variables that read each variable. The most readers of one tell what coefficients are
// off by.
void Propagation::list_readers() {
  const std::size_t inputs = network_.inputs();
  std::vector<std::vector<std::size_t>> readers(is_relu_.size());
  for (std::size_t n = 0; n < bias_.size(); ++n)
    for (std::size_t k = source_start_[n]; k < source_start_[n + 1]; ++k)
      readers[sources_[k].variable].push_back(inputs + n);
  std::size_t most = terms_.size();
  reader_start_ = {0};
  for (const auto& each : readers) {
    readers_.insert(readers_.end(), each.begin(), each.end());
    reader_start_.push_back(readers_.size());
    most = std::max(most, each.size() + 1);
  }
  std::size_t n = 0;
  for (const auto& layer : network_.layers())
    for (const double reach : layer.reach) price_[n++] += rounding_of(most) * reach;
}

void Propagation::assign(std::size_t variable, double low, double high) {
  ranges_.low[variable] = low;
  ranges_.high[variable] = high;
  ranges_.least[variable] = is_relu_[variable] ? std::max(low, 0.0) : low;
  ranges_.largest[variable] = is_relu_[variable] ? std::max(high, 0.0) : high;
}

bool Propagation::is_known(std::size_t open) const {
  return ranges_.low[open_[open]] >= 0 || ranges_.high[open_[open]] <= 0;
}

double Propagation::left_of(std::size_t open) const {
  const std::size_t variable = open_[open];
  return (ranges_.largest[variable] - ranges_.least[variable]) / on_box_[open];
}

double Propagation::share() const {
  double sum = 0;
  for (std::size_t open = 0; open < open_.size(); ++open) sum += left_of(open);
  return sum / static_cast<double>(open_.size());
}

// Has the sum that a neuron is looked at; an input is none.
void Propagation::ask(std::size_t variable) {
  if (variable < network_.inputs() || waits_[variable]) return;
  waits_[variable] = true;
  waiting_.push_back(variable);
}

// Cuts a variable to [low, high], and looks again at the sums that it is part of where that says
// something. The comparisons are false for NaN.
void Propagation::set(std::size_t variable, double low, double high) {
  const double old_low = ranges_.low[variable], old_high = ranges_.high[variable];
  const bool raised = low > old_low, lowered = high < old_high;
  if (!raised && !lowered) return;
  const double new_low = raised ? low : old_low, new_high = lowered ? high : old_high;
  assign(variable, new_low, new_high);
  if (new_low > new_high) {
    empty_ = true;
    return;
  }
  const bool turned =
      is_relu_[variable] && old_low < 0 && old_high > 0 && (new_low >= 0 || new_high <= 0);
  if (!turned && new_high - new_low > (1 - kLeastShare) * (old_high - old_low)) return;
  ask(variable);
  for (std::size_t k = reader_start_[variable]; k < reader_start_[variable + 1]; ++k)
    ask(readers_[k]);
  planes_due_ = planes_due_ || is_relu_[variable] || variable < network_.inputs();
}

// Cuts a variable's activation to [low, high].
void Propagation::set_activation(std::size_t variable, double low, double high) {
  if (!is_relu_[variable])
    set(variable, low, high);
  else if (high < 0)
    empty_ = true;
  else
    set(variable, low > 0 ? low : -kInfinity, high);
}

// Returns the ends between which a neuron's sum lies, rounded outward: exact where they are
// doubles, and infinite where a number overflows. The ends of its parts are left in parts_.
std::pair<double, double> Propagation::sum_of(std::size_t variable) {
  const std::size_t n = variable - network_.inputs();
  const std::size_t first = source_start_[n], count = source_start_[n + 1] - first;
  const bool exact = is_exact_[n];
  double low = bias_[n], high = bias_[n];
  for (std::size_t k = 0; k < count; ++k) {
    const auto [source, weight] = sources_[first + k];
    double a = ranges_.least[source], b = ranges_.largest[source];
    if (weight < 0) std::swap(a, b);
    parts_[k] = exact
                    ? std::pair(weight * a, weight * b)
                    : std::pair(input::product(weight, a, false), input::product(weight, b, true));
    low = input::sum(low, parts_[k].first, false);
    high = input::sum(high, parts_[k].second, true);
  }
  return {std::isfinite(low) ? low : -kInfinity, std::isfinite(high) ? high : kInfinity};
}

// Narrows a neuron by the sum that it is, and what it reads by what the others leave.
void Propagation::visit(std::size_t variable) {
  const std::size_t n = variable - network_.inputs();
  const std::size_t first = source_start_[n], count = source_start_[n + 1] - first;
  const auto [low, high] = sum_of(variable);
  const double room = room_[n];
  width_[n] = high - low;
  set(variable, input::sum(low, -room, false), input::sum(high, room, true));
  // Weight times one activation lies in [under + its largest, over + its least].
  const double over = input::sum(input::sum(ranges_.high[variable], room, true), -low, true);
  const double under = input::sum(input::sum(ranges_.low[variable], -room, false), -high, false);
  const double least_width = std::min(over, -under);
  for (std::size_t k = 0; k < count && !empty_; ++k) {
    const auto [part_low, part_high] = parts_[k];
    if (!(part_high - part_low > least_width)) continue;
    const auto [source, weight] = sources_[first + k];
    double a = ranges_.least[source], b = ranges_.largest[source];
    if (weight < 0) std::swap(a, b);
    const double most = input::sum(over, input::product(weight, a, true), true);
    const double fewest = input::sum(under, input::product(weight, b, false), false);
    if (weight > 0)
      set_activation(source, divided(fewest, weight, false), divided(most, weight, true));
    else
      set_activation(source, divided(most, weight, false), divided(fewest, weight, true));
  }
}

// Cuts the inputs by a plane below the term, which is at most 0 at a violation.
void Propagation::cut_inputs(const ClauseTerm& term) {
  const std::size_t inputs = network_.inputs();
  std::fill(over_.begin(), over_.end(), 0.0);
  over_[row_of(term)] = static_cast<double>(term.sign);
  double offset = -static_cast<double>(term.sign) * term.nearest();
  double size = std::fabs(offset), paid = 0;
  const auto add = [&](double number) {
    offset += number;
    size += std::fabs(number);
  };
  for (std::size_t variable = is_relu_.size(); variable-- > inputs;) {
    double over_z = over_[variable];
    if (over_z == 0) continue;
    const std::size_t n = variable - inputs;
    const double low = ranges_.low[variable], high = ranges_.high[variable];
    if (is_relu_[variable] && !(low >= 0)) {
      if (high <= 0) continue;
      const bf::ReluLine line = bf::relu_line(over_z, 0, high > -low ? 1 : 0, low, high);
      over_z = line.over_z;
      add(line.offset);
    }
    add(over_z * bias_[n]);
    paid += std::fabs(over_z) * price_[n];
    for (std::size_t k = source_start_[n]; k < source_start_[n + 1]; ++k)
      over_[sources_[k].variable] += over_z * sources_[k].weight;
  }
  for (std::size_t i = 0; i < inputs; ++i)
    add(std::min(over_[i] * ranges_.low[i], over_[i] * ranges_.high[i]));
  const double lost =
      (sum_error_ * size + paid) * (1 + 0x1p-20) + network_.errors().underflow + 0x1p-1000;
  // At a violation the inputs' parts are together at most this above their least ones.
  const double left = lost - offset;
  if (!(left >= 0)) {
    empty_ = empty_ || left < 0;
    return;
  }
  for (std::size_t i = 0; i < inputs && !empty_; ++i) {
    const double a = over_[i];
    if (a > 0 && a * (ranges_.high[i] - ranges_.low[i]) > left)
      set(i, -kInfinity, divided(left + a * ranges_.low[i], a, true));
    else if (a < 0 && a * (ranges_.low[i] - ranges_.high[i]) > left)
      set(i, divided(left + a * ranges_.high[i], a, false), kInfinity);
  }
}

// Looks at the sums that wait, first in, first out, then at the terms' planes, as long as ranges
// shrink.
void Propagation::propagate() {
  std::size_t left = kMostVisits * bias_.size();
  while (!empty_ && left > 0 && (!waiting_.empty() || planes_due_)) {
    for (std::size_t next = 0; next < waiting_.size() && !empty_ && left > 0; ++next, --left) {
      waits_[waiting_[next]] = false;
      visit(waiting_[next]);
    }
    forget_waiting();
    if (!std::exchange(planes_due_, false)) continue;
    for (const ClauseTerm& term : terms_)
      if (!empty_) cut_inputs(term);
  }
  forget_waiting();
  planes_due_ = false;
}

void Propagation::forget_waiting() {
  for (const std::size_t each : waiting_) waits_[each] = false;
  waiting_.clear();
}

void Propagation::load_box() {
  for (std::size_t i = 0; i < network_.inputs(); ++i)
    assign(i, static_cast<double>(network_.lower()[i]), static_cast<double>(network_.upper()[i]));
  std::size_t variable = network_.inputs();
  for (const auto& layer : network_.layers())
    for (std::size_t j = 0; j < layer.size(); ++j)
      assign(variable++, layer.lower[j], layer.upper[j]);
}

// Loads the ranges of a node, and those of the terms' rows.
void Propagation::load(const SplitNode& node) {
  load_box();
  empty_ = false;
  for (const NeuronRange& range : node.ranges)
    set(open_[range.open], static_cast<double>(range.lower), static_cast<double>(range.upper));
  for (const NeuronSplit& split : node.splits)
    set(open_[split.open], split.positive ? 0 : -kInfinity, split.positive ? kInfinity : 0);
  for (const ClauseTerm& term : terms_) {
    const std::size_t row = row_of(term);
    set(row, term.sign > 0 ? -kInfinity : term.nearest(),
        term.sign > 0 ? term.nearest() : kInfinity);
    ask(row);
  }
  planes_due_ = true;
}

double Propagation::share_of(const SplitNode& node) {
  load(node);
  propagate();
  return empty_ ? 0 : share();
}

bool Propagation::begin(const SplitNode& node) {
  load(node);
  for (std::size_t variable = is_relu_.size(); variable-- > network_.inputs();) ask(variable);
  propagate();
  return !empty_;
}

void Propagation::store(SplitNode& node) const {
  for (std::size_t open = 0; open < open_.size(); ++open) {
    const auto [layer, place] = network_.place_of(open);
    const auto& own = network_.layers()[static_cast<std::size_t>(layer)];
    const auto at = static_cast<std::size_t>(place);
    const double low = ranges_.low[open_[open]], high = ranges_.high[open_[open]];
    const bool is_split = std::ranges::any_of(
        node.splits, [&](const NeuronSplit& each) { return each.open == open; });
    if (!is_split && (low > own.lower[at] || high < own.upper[at]))
      narrow_relu(node, static_cast<std::uint32_t>(open), low, high);
  }
}

// Notes how wide the widest part of each neuron's sum is on the box.
void Propagation::find_units() {
  const Ranges kept = ranges_;
  load_box();
  for (std::size_t n = 0; n < bias_.size(); ++n) {
    sum_of(network_.inputs() + n);
    double unit = 0;
    for (std::size_t k = 0; k < source_start_[n + 1] - source_start_[n]; ++k)
      unit = std::max(unit, parts_[k].second - parts_[k].first);
    unit_.push_back(unit > 0 && std::isfinite(unit) ? unit : 1);
  }
  ranges_ = kept;
}

// Notes which neurons are conditions on what they read, since their ranges leave out some of their
// sums, and how wide these sums are.
void Propagation::find_conditions() {
  for (std::size_t n = 0; n < bias_.size(); ++n) {
    const std::size_t variable = network_.inputs() + n;
    const auto [low, high] = sum_of(variable);
    const double least = kLeastShare * unit_[n];
    is_condition_[n] = ranges_.low[variable] - low > least || high - ranges_.high[variable] > least;
    width_before_[n] = high - low;
  }
}

// The weight of the conditions that a sign has a part in: 2^-r for r free parts that are left, as
// the rule of Jeroslow and Wang (1990) weighs clauses. Nothing where it leaves no violation.
std::optional<double> Propagation::weight_of(std::size_t open, bool positive) {
  width_ = width_before_;
  set(open_[open], positive ? 0 : -kInfinity, positive ? kInfinity : 0);
  propagate();
  double sum = 0;
  for (std::size_t n = 0; n < bias_.size() && !empty_; ++n) {
    const std::size_t variable = network_.inputs() + n;
    const bool has_part = width_before_[n] - width_[n] > kLeastShare * unit_[n];
    if (is_condition_[n] && has_part)
      sum += std::exp2((ranges_.low[variable] - ranges_.high[variable]) / unit_[n]);
  }
  const bool possible = !empty_;
  ranges_ = before_;
  empty_ = false;
  return possible ? std::optional(sum) : std::nullopt;
}

// The open neurons whose signs are tried: of those that are not known the ones that have most left.
std::vector<std::size_t> Propagation::candidates() const {
  std::vector<std::size_t> made;
  double most = 0;
  for (std::size_t open = 0; open < open_.size(); ++open)
    if (!is_known(open)) {
      made.push_back(open);
      most = std::max(most, left_of(open));
    }
  std::erase_if(made, [&](std::size_t open) { return left_of(open) * kLessLeft < most; });
  std::ranges::stable_sort(made, std::greater(), [&](std::size_t open) { return left_of(open); });
  if (made.size() > kMostChoices) made.resize(kMostChoices);
  return made;
}

std::optional<Propagation::Choice> Propagation::choose() {
  if (unit_.empty()) find_units();
  for (bool again = true; again;) {
    again = false;
    std::optional<Choice> best;
    double most = -1;
    before_ = ranges_;
    find_conditions();
    for (const std::size_t open : candidates()) {
      if (is_known(open)) continue;
      const std::optional<double> negative = weight_of(open, false),
                                  positive = weight_of(open, true);
      if (negative && positive) {
        // The sum above all, then that both are alike.
        const double both = 10 * (*negative + *positive) + *negative * *positive;
        if (both > most) best = Choice{open, *positive < *negative};
        most = std::max(most, both);
        continue;
      }
      if (!negative && !positive) {
        empty_ = true;
        return std::nullopt;
      }
      set(open_[open], positive ? 0 : -kInfinity, positive ? kInfinity : 0);
      propagate();
      if (empty_) return std::nullopt;
      before_ = ranges_;
      again = true;  // what was tried before says more now
    }
    if (!again) return best;
  }
  return std::nullopt;
}

}  // namespace bf_aot::decide
