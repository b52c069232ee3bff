#include "aot/decide/neurons/clauses/propagation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "aot/input/directed.h"
#include "runtime/bf/search/relu_line.h"

namespace bf_aot::decide {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostProductsNarrowed = 1 << 18;  // of networks that are covered
// Sums are looked at this often for each neuron, at most, before one propagation ends.
constexpr std::size_t kMostVisits = 32;
// A range that shrinks by less than this share of itself is kept, but not followed.
constexpr double kLeastShare = 1.0 / 16;
// Gaps that are narrower than this share of an input's range are left out.
constexpr double kLeastGap = 0x1p-10;

// Roundings of a sum of so many numbers, each a product, times their magnitudes: twice what they
// lose, with some more for what is made of the sum.
double rounding_of(std::size_t numbers) {
  return static_cast<double>(numbers + 16) * 0x1p-52;
}

// Returns whether products with it are exact, unless they overflow.
bool is_power_of_two(double x) {
  int exponent = 0;
  return std::fabs(std::frexp(x, &exponent)) == 0.5 && exponent > 0;
}

// x / y, rounded to a side.
double divided(double x, double y, bool up) {
  return y > 0 ? input::quotient(x, y, up) : input::quotient(-x, -y, up);
}

}  // namespace

double Propagation::beyond_gaps(std::size_t input, double end, bool is_high) const {
  for (const Gap& gap : gaps_[input])
    if (end > gap.low && end < gap.high) return is_high ? gap.low : gap.high;
  return end;
}

bool Propagation::covers(const BoxNetwork& network) {
  std::size_t products = 0;
  for (const auto& layer : network.layers())
    for (const auto& part : layer.parts) products += part.forward.products();
  return network.functions() == 0 && network.products() == 0 && products <= kMostProductsNarrowed;
}

Propagation::Propagation(const BoxNetwork& network, const std::vector<ClauseTerm>& terms)
    : network_(network), terms_(terms), gaps_(network.inputs()) {
  sums_.inputs = network.inputs();
  sums_.lower.assign(network.lower().begin(), network.lower().end());
  sums_.upper.assign(network.upper().begin(), network.upper().end());
  sums_.is_relu.assign(network.inputs(), false);
  sums_.source_start = {0};
  for (const auto& layer : network.layers()) add_layer(layer);
  find_price();
  functions_.emplace(sums_);
  find_parts();
  find_readers();
  const std::size_t neurons = sums_.neurons(), variables = sums_.is_relu.size();
  waits_.assign(neurons, false);
  is_idle_.assign(neurons, false);
  is_condition_.assign(neurons, false);
  width_.assign(neurons, 0);
  width_before_.assign(neurons, 0);
  last_.assign(2 * variables, kNone);
  for (auto* const each : {&ranges_.low, &ranges_.high, &ranges_.least, &ranges_.largest})
    each->resize(variables);
  load_box();
  for (const std::size_t variable : open_) on_box_.push_back(ranges_.largest[variable]);
  over_.assign(variables, 0);
  sum_error_ = rounding_of(2 * variables + network.inputs() + terms.size());
}

std::size_t Propagation::row_of(const ClauseTerm& term) const {
  const auto [layer, place] = network_.rows()[static_cast<std::size_t>(term.row)];
  return variable_of(layer, static_cast<std::size_t>(place));
}

std::size_t Propagation::variable_of(int layer, std::size_t place) const {
  return layer < 0 ? place : first_[static_cast<std::size_t>(layer)] + place;
}

void Propagation::add_layer(const BoxNetwork::BoxLayer& layer) {
  first_.push_back(sums_.is_relu.size());
  std::vector<std::vector<SumSource>> sources(layer.size());
  for (const auto& part : layer.parts)
    part.forward.for_each_product([&](std::size_t row, std::size_t column, float weight) {
      sources[row].push_back({variable_of(part.source, column), static_cast<double>(weight)});
    });
  for (std::size_t j = 0; j < layer.size(); ++j) {
    sums_.is_relu.push_back(layer.phase[j] == BoxNetwork::Phase::kOpen);
    if (sums_.is_relu.back()) open_.push_back(sums_.is_relu.size() - 1);
    sums_.bias.push_back(layer.bias[j]);
    sums_.sources.insert(sums_.sources.end(), sources[j].begin(), sources[j].end());
    sums_.source_start.push_back(sums_.sources.size());
    // 2^-1000 pays for products below the normal range.
    const bool is_known_exactly = layer.weight_error == 0 && layer.bias_error == 0;
    const double inexact = layer.weight_error * layer.reach[j] + layer.bias_error;
    sums_.room.push_back(is_known_exactly ? 0 : inexact * (1 + 0x1p-20) + 0x1p-1000);
  }
}

// The most readers of a variable tell what coefficients are off by.
void Propagation::find_price() {
  std::vector<std::size_t> readers(sums_.is_relu.size());
  for (const SumSource& source : sums_.sources) ++readers[source.variable];
  const std::size_t most = std::max(terms_.size(), std::ranges::max(readers) + 1);
  price_ = sums_.room;
  std::size_t n = 0;
  for (const auto& layer : network_.layers())
    for (const double reach : layer.reach) price_[n++] += rounding_of(most) * reach;
}

// Puts what a sum reads of the same input together, as a function where that is more than the input
// itself.
void Propagation::find_parts() {
  std::size_t most = 0;
  for (std::size_t n = 0; n < sums_.neurons(); ++n) {
    std::vector<Part>& parts = parts_.emplace_back();
    std::map<std::size_t, std::vector<SumSource>> of_inputs;
    bool is_exact = true;
    // Inputs themselves are put together with neurons that depend on them alone.
    const auto sources = sums_.sources_of(n);
    const bool reads_functions = std::ranges::any_of(sources, [&](const SumSource& source) {
      return source.variable >= sums_.inputs && functions_->input_of(source.variable);
    });
    for (const SumSource& source : sources) {
      const auto input = functions_->input_of(source.variable);
      if (input && reads_functions)
        of_inputs[*input].push_back(source);
      else
        parts.push_back({source.variable, source.weight});
    }
    for (const auto& [input, of] : of_inputs) {
      if (of.size() == 1 && of.front().variable == input)
        parts.push_back({input, of.front().weight});
      else
        parts.push_back({input, 0, functions_->add(of)});
    }
    for (const Part& part : parts)
      is_exact = is_exact && (part.function != kNone || is_power_of_two(part.weight));
    is_exact_.push_back(is_exact);
    most = std::max(most, parts.size());
  }
  ends_.resize(most);
}

void Propagation::find_readers() {
  readers_.resize(sums_.is_relu.size());
  for (std::size_t n = 0; n < parts_.size(); ++n)
    for (std::size_t k = 0; k < parts_[n].size(); ++k)
      readers_[parts_[n][k].variable].push_back({n, k});
  for (std::size_t variable = sums_.inputs; variable < readers_.size(); ++variable) {
    const bool is_read = !readers_[variable].empty() || sums_.is_relu[variable];
    needs_low_.push_back(is_read);
    needs_high_.push_back(is_read);
  }
  for (const ClauseTerm& term : terms_) {
    const std::size_t row = row_of(term);
    if (row < sums_.inputs) continue;
    (term.sign > 0 ? needs_low_ : needs_high_)[row - sums_.inputs] = true;
  }
}

void Propagation::assign(std::size_t variable, double low, double high) {
  ranges_.low[variable] = low;
  ranges_.high[variable] = high;
  ranges_.least[variable] = sums_.is_relu[variable] ? std::max(low, 0.0) : low;
  ranges_.largest[variable] = sums_.is_relu[variable] ? std::max(high, 0.0) : high;
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

void Propagation::ask(std::size_t neuron) {
  if (waits_[neuron] || neuron == visited_ || (searches_ && is_idle_[neuron])) return;
  waits_[neuron] = true;
  waiting_.push_back(neuron);
}

// Has the sums looked at that a variable's parts changed in since its range was this.
void Propagation::ask_readers(std::size_t variable, double low, double high) {
  const bool is_relu = sums_.is_relu[variable];
  const double least = is_relu ? std::max(low, 0.0) : low;
  const double largest = is_relu ? std::max(high, 0.0) : high;
  const bool raised = ranges_.least[variable] > least;
  const bool lowered = ranges_.largest[variable] < largest;
  if (!raised && !lowered) return;
  for (const auto& [neuron, k] : readers_[variable]) {
    if (waits_[neuron] || (searches_ && is_idle_[neuron])) continue;
    const Part& part = parts_[neuron][k];
    bool low_changed = part.weight > 0 ? raised : lowered;
    bool high_changed = part.weight > 0 ? lowered : raised;
    if (part.function != kNone) {
      const auto before = ends_of(part, low, high);
      const auto now = ends_of(part, ranges_.low[variable], ranges_.high[variable]);
      low_changed = now.first > before.first;
      high_changed = now.second < before.second;
    }
    // In a search, the sum of a neuron that is off says something from above alone.
    const bool is_off =
        searches_ && kept_.high[sums_.inputs + neuron] <= 0 && sums_.is_relu[sums_.inputs + neuron];
    if ((low_changed && needs_low_[neuron]) || (high_changed && needs_high_[neuron] && !is_off))
      ask(neuron);
  }
}

void Propagation::note(std::size_t variable, bool is_high, double value) {
  Step step = cause_;
  step.variable = variable;
  step.is_high = is_high;
  step.before = (is_high ? ranges_.high : ranges_.low)[variable];
  step.value = value;
  std::size_t& last = last_[2 * variable + (is_high ? 1 : 0)];
  step.earlier = std::exchange(last, trail_.size());
  trail_.push_back(step);
}

// Cuts a variable to [low, high], and looks again at the sums that it is part of where that says
// something. The comparisons are false for NaN.
void Propagation::set(std::size_t variable, double low, double high) {
  const double old_low = ranges_.low[variable], old_high = ranges_.high[variable];
  double new_low = low > old_low ? low : old_low, new_high = high < old_high ? high : old_high;
  if (variable < sums_.inputs) {
    new_low = beyond_gaps(variable, new_low, false);
    new_high = beyond_gaps(variable, new_high, true);
  }
  const bool raised = new_low > old_low, lowered = new_high < old_high;
  if (!raised && !lowered) return;
  const bool turned =
      sums_.is_relu[variable] && old_low < 0 && old_high > 0 && (new_low >= 0 || new_high <= 0);
  if (new_low > new_high) {
    if (raised) note(variable, false, new_low);
    if (lowered) note(variable, true, new_high);
    assign(variable, new_low, new_high);
    conflict_ = {last_[2 * variable], last_[2 * variable + 1]};
    std::erase(conflict_, kNone);
    empty_ = true;
    return;
  }
  // In a search only what others read of a sum, or a sign, is worth noting.
  if (searches_ && cause_.cause == Cause::kSum && !turned &&
      (readers_[variable].empty() ||
       (sums_.is_relu[variable] && !(std::max(new_low, 0.0) > ranges_.least[variable]) &&
        !(std::max(new_high, 0.0) < ranges_.largest[variable]))))
    return;
  if (raised) note(variable, false, new_low);
  if (lowered) note(variable, true, new_high);
  assign(variable, new_low, new_high);
  if (!turned && new_high - new_low > (1 - kLeastShare) * (old_high - old_low)) return;
  if (variable >= sums_.inputs) ask(variable - sums_.inputs);
  ask_readers(variable, old_low, old_high);
  planes_due_ = planes_due_ || sums_.is_relu[variable] || variable < sums_.inputs;
}

// Cuts a variable's activation to [low, high].
void Propagation::set_activation(std::size_t variable, double low, double high) {
  if (!sums_.is_relu[variable])
    set(variable, low, high);
  else if (high < 0)
    fail(variable, true);
  else
    set(variable, low > 0 ? low : -kInfinity, high);
}

// The cause leaves nothing of a variable, whatever its other bound is.
void Propagation::fail(std::size_t variable, bool is_high) {
  note(variable, is_high, is_high ? -kInfinity : kInfinity);
  conflict_ = {trail_.size() - 1};
  empty_ = true;
}

// Cuts an input to where a function of it is on the side of the cause's limit.
void Propagation::narrow_input(const Part& part) {
  const std::size_t input = part.variable;
  const auto left = functions_->part_of(part.function, ranges_.low[input], ranges_.high[input],
                                        cause_.limit, cause_.from_above);
  if (left)
    set(input, left->first, left->second);
  else
    fail(input, true);
}

std::pair<double, double> Propagation::ends_of(const Part& part, double low, double high) const {
  if (part.function != kNone) return functions_->range(part.function, low, high);
  double a = low, b = high;
  if (part.weight < 0) std::swap(a, b);
  return {input::product(part.weight, a, false), input::product(part.weight, b, true)};
}

// Returns the ends between which a neuron's sum lies, rounded outward: exact where they are
// doubles, and infinite where a number overflows. The ends of its parts are left in ends_.
std::pair<double, double> Propagation::sum_of(std::size_t neuron) {
  const bool exact = is_exact_[neuron];
  double low = sums_.bias[neuron], high = low;
  for (std::size_t k = 0; k < parts_[neuron].size(); ++k) {
    const Part& part = parts_[neuron][k];
    const std::size_t from = part.variable;
    if (part.function != kNone) {
      ends_[k] = functions_->range(part.function, ranges_.low[from], ranges_.high[from]);
    } else if (exact) {
      double a = ranges_.least[from], b = ranges_.largest[from];
      if (part.weight < 0) std::swap(a, b);
      ends_[k] = {part.weight * a, part.weight * b};
    } else {
      ends_[k] = ends_of(part, ranges_.least[from], ranges_.largest[from]);
    }
    low = input::sum(low, ends_[k].first, false);
    high = input::sum(high, ends_[k].second, true);
  }
  return {std::isfinite(low) ? low : -kInfinity, std::isfinite(high) ? high : kInfinity};
}

// Narrows a neuron by the sum that it is, and what it reads by what the others leave.
void Propagation::visit(std::size_t neuron) {
  const std::size_t variable = sums_.inputs + neuron;
  const auto [low, high] = sum_of(neuron);
  const double room = sums_.room[neuron];
  width_[neuron] = high - low;
  visited_ = neuron;
  cause_ = {.cause = Cause::kSum, .of = neuron};
  set(variable, input::sum(low, -room, false), input::sum(high, room, true));
  visited_ = kNone;
  // A part lies in [under + its largest, over + its least].
  const double over = input::sum(input::sum(ranges_.high[variable], room, true), -low, true);
  const double under = input::sum(input::sum(ranges_.low[variable], -room, false), -high, false);
  for (std::size_t k = 0; k < parts_[neuron].size() && !empty_; ++k) {
    const auto [part_low, part_high] = ends_[k];
    const Part& part = parts_[neuron][k];
    for (const bool from_above : {true, false}) {
      if (empty_ || !(part_high - part_low > (from_above ? over : -under))) continue;
      const double limit =
          from_above ? input::sum(over, part_low, true) : input::sum(under, part_high, false);
      cause_ = {
          .cause = Cause::kPart, .from_above = from_above, .of = neuron, .part = k, .limit = limit};
      if (part.function != kNone)
        narrow_input(part);
      else if (from_above == (part.weight > 0))
        set_activation(part.variable, -kInfinity, divided(limit, part.weight, true));
      else
        set_activation(part.variable, divided(limit, part.weight, false), kInfinity);
    }
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
  for (std::size_t variable = sums_.is_relu.size(); variable-- > inputs;) {
    double over_z = over_[variable];
    if (over_z == 0) continue;
    const std::size_t n = variable - inputs;
    const double low = ranges_.low[variable], high = ranges_.high[variable];
    if (sums_.is_relu[variable] && !(low >= 0)) {
      if (high <= 0) continue;
      const bf::ReluLine line = bf::relu_line(over_z, 0, high > -low ? 1 : 0, low, high);
      over_z = line.over_z;
      add(line.offset);
    }
    add(over_z * sums_.bias[n]);
    paid += std::fabs(over_z) * price_[n];
    for (const SumSource& source : sums_.sources_of(n))
      over_[source.variable] += over_z * source.weight;
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
  cause_ = {.cause = Cause::kPlane};
  for (std::size_t i = 0; i < inputs && !empty_; ++i) {
    const double a = over_[i];
    if (a > 0 && a * (ranges_.high[i] - ranges_.low[i]) > left)
      set(i, -kInfinity, divided(left + a * ranges_.low[i], a, true));
    else if (a < 0 && a * (ranges_.low[i] - ranges_.high[i]) > left)
      set(i, divided(left + a * ranges_.high[i], a, false), kInfinity);
  }
}

bool Propagation::visit_next() {
  if (empty_ || visits_ == 0 || next_ == waiting_.size()) {
    forget_waiting();
    return false;
  }
  --visits_;
  const std::size_t neuron = waiting_[next_++];
  waits_[neuron] = false;
  visit(neuron);
  return true;
}

// Looks at the sums that wait, first in, first out, then at the terms' planes, as long as ranges
// shrink.
void Propagation::propagate() {
  visits_ = kMostVisits * sums_.neurons();
  while (!empty_ && visits_ > 0 && (!waiting_.empty() || planes_due_)) {
    while (visit_next()) {
    }
    if (!std::exchange(planes_due_, false)) continue;
    for (const ClauseTerm& term : terms_)
      if (!empty_) cut_inputs(term);
  }
  forget_waiting();
  planes_due_ = false;
}

void Propagation::propagate_all() {
  for (std::size_t neuron = sums_.neurons(); neuron-- > 0;) ask(neuron);
  planes_due_ = true;
  propagate();
  keep();
}

void Propagation::forget_waiting() {
  for (; next_ < waiting_.size(); ++next_) waits_[waiting_[next_]] = false;
  waiting_.clear();
  next_ = 0;
}

void Propagation::load_box() {
  for (std::size_t i = 0; i < network_.inputs(); ++i) assign(i, sums_.lower[i], sums_.upper[i]);
  std::size_t variable = network_.inputs();
  for (const auto& layer : network_.layers())
    for (std::size_t j = 0; j < layer.size(); ++j)
      assign(variable++, layer.lower[j], layer.upper[j]);
}

// Loads the ranges of a node, and those of the terms' rows.
void Propagation::load(const SplitNode& node) {
  forget_waiting();
  searches_ = false;
  load_box();
  keep();
  empty_ = false;
  for (auto& gaps : gaps_) gaps.clear();
  cause_ = {};
  for (const NeuronRange& range : node.ranges)
    set(open_[range.open], static_cast<double>(range.lower), static_cast<double>(range.upper));
  for (const NeuronSplit& split : node.splits)
    set(open_[split.open], split.positive ? 0 : -kInfinity, split.positive ? kInfinity : 0);
  for (const ClauseTerm& term : terms_) {
    const std::size_t row = row_of(term);
    set(row, term.sign > 0 ? -kInfinity : term.nearest(),
        term.sign > 0 ? term.nearest() : kInfinity);
    if (row >= sums_.inputs) ask(row - sums_.inputs);
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
  propagate_all();
  if (empty_) return false;
  find_gaps();
  propagate();
  keep();
  return !empty_;
}

// Notes between which ends inputs do not lie, since the functions of them that sums read would be
// beyond what is left of these.
void Propagation::find_gaps() {
  std::vector<std::vector<Gap>> found(sums_.inputs);
  const auto add = [&](const Part& part, double limit, bool is_upper) {
    const auto left = functions_->parts_of(part.function, limit, is_upper);
    const double least = kLeastGap * (sums_.upper[part.variable] - sums_.lower[part.variable]);
    for (std::size_t k = 0; k + 1 < left.size(); ++k)
      if (left[k + 1].first - left[k].second > least)
        found[part.variable].push_back({left[k].second, left[k + 1].first});
  };
  for (std::size_t neuron = 0; neuron < parts_.size(); ++neuron) {
    const auto [low, high] = sum_of(neuron);
    const std::size_t variable = sums_.inputs + neuron;
    const double room = sums_.room[neuron];
    const double over = input::sum(input::sum(ranges_.high[variable], room, true), -low, true);
    const double under = input::sum(input::sum(ranges_.low[variable], -room, false), -high, false);
    for (std::size_t k = 0; k < parts_[neuron].size(); ++k) {
      const Part& part = parts_[neuron][k];
      if (part.function == kNone) continue;
      add(part, input::sum(over, ends_[k].first, true), true);
      add(part, input::sum(under, ends_[k].second, false), false);
    }
  }
  // Gaps that meet or overlap are one.
  cause_ = {};
  for (std::size_t input = 0; input < sums_.inputs; ++input) {
    std::ranges::sort(found[input], {}, &Gap::low);
    for (const Gap& gap : found[input]) {
      std::vector<Gap>& gaps = gaps_[input];
      if (!gaps.empty() && gap.low < gaps.back().high)
        gaps.back().high = std::max(gaps.back().high, gap.high);
      else
        gaps.push_back(gap);
    }
    set(input, -kInfinity, kInfinity);
  }
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

}  // namespace bf_aot::decide
