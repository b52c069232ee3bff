#include "aot/decide/neurons/clauses/input_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aot/input/directed.h"

namespace bf_aot::decide {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
// More neurons and cells of an input are not looked at, which costs tightness alone.
constexpr std::size_t kMostNeurons = 64, kMostCells = 64;

// Where a line from v at a to w at b lies at x in [a, b], rounded to a side.
double value_on_line(double a, double b, double v, double w, double x, bool up) {
  if (x <= a || v == w) return v;
  if (x >= b) return w;
  const double change = input::sum(w, -v, up);
  const bool share_up = (change >= 0) == up;
  const double share = std::min(
      1.0, input::quotient(input::sum(x, -a, share_up), input::sum(b, -a, !share_up), share_up));
  return input::sum(v, input::product(change, share, up), up);
}

}  // namespace

// Nothing is claimed where a number overflows.
InputFunctions::Lines InputFunctions::Lines::finite() const {
  for (const double each : {low_begin, low_end, high_begin, high_end})
    if (!std::isfinite(each)) return {-kInfinity, -kInfinity, kInfinity, kInfinity};
  return *this;
}

InputFunctions::InputFunctions(const Sums& sums)
    : sums_(sums), of_(sums.inputs), ends_(sums.inputs), lines_(sums.is_relu.size()) {
  find_inputs();
  for (std::size_t input = 0; input < sums_.inputs; ++input) {
    find_cells(input);
    bound_neurons(input);
  }
}

void InputFunctions::find_inputs() {
  for (std::size_t input = 0; input < sums_.inputs; ++input) input_of_.push_back(input);
  for (std::size_t n = 0; n < sums_.neurons(); ++n) {
    std::size_t only = kNone;
    bool one = true;
    for (const SumSource& source : sums_.sources_of(n)) {
      const std::size_t of = input_of_[source.variable];
      one = one && of != kNone && (only == kNone || of == only);
      only = of;
    }
    one = one && only != kNone && of_[only].size() < kMostNeurons;
    if (one) of_[only].push_back(sums_.inputs + n);
    input_of_.push_back(one ? only : kNone);
  }
}

std::optional<std::size_t> InputFunctions::input_of(std::size_t variable) const {
  if (input_of_[variable] == kNone) return std::nullopt;
  return input_of_[variable];
}

// Returns about what the first neurons of an input are at x.
std::vector<double> InputFunctions::values_at(std::size_t input, std::size_t count,
                                              double x) const {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t n = of_[input][i] - sums_.inputs;
    double sum = sums_.bias[n];
    for (const SumSource& source : sums_.sources_of(n)) {
      double activation = x;
      if (source.variable >= sums_.inputs) {
        const auto at = std::ranges::lower_bound(of_[input], source.variable);
        activation = values[static_cast<std::size_t>(at - of_[input].begin())];
        if (sums_.is_relu[source.variable]) activation = std::max(activation, 0.0);
      }
      sum += source.weight * activation;
    }
    values.push_back(sum);
  }
  return values;
}

// Divides the box where the neurons' signs change. Between two ends each neuron is about a line
// once the neurons that it reads have been looked at.
void InputFunctions::find_cells(std::size_t input) {
  std::vector<double>& ends = ends_[input];
  ends = {sums_.lower[input], sums_.upper[input]};
  for (std::size_t i = 0; i < of_[input].size(); ++i) {
    if (!sums_.is_relu[of_[input][i]]) continue;
    std::vector<double> values;
    for (const double x : ends) values.push_back(values_at(input, i + 1, x).back());
    std::vector<double> made;
    for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
      if (!(values[k] < 0 && values[k + 1] > 0) && !(values[k] > 0 && values[k + 1] < 0)) continue;
      const double at =
          ends[k] + (ends[k + 1] - ends[k]) * (values[k] / (values[k] - values[k + 1]));
      if (at > ends[k] && at < ends[k + 1]) made.push_back(at);
    }
    if (ends.size() + made.size() > kMostCells) return;
    ends.insert(ends.end(), made.begin(), made.end());
    std::ranges::sort(ends);
  }
}

// A line below relu(z) on a cell is 0, or that of z; one above is the chord of the line above z,
// since relu is convex and rises.
InputFunctions::Lines InputFunctions::activation(std::size_t variable, std::size_t cell) const {
  if (variable < sums_.inputs) {
    const double begin = ends_[variable][cell], end = ends_[variable][cell + 1];
    return {begin, end, begin, end};
  }
  const Lines& z = lines_[variable][cell];
  if (!sums_.is_relu[variable]) return z;
  Lines made = z;
  made.high_begin = std::max(z.high_begin, 0.0);
  made.high_end = std::max(z.high_end, 0.0);
  if (!(z.low_begin >= 0 && z.low_end >= 0) && !(z.low_begin + z.low_end > 0))
    made.low_begin = made.low_end = 0;
  return made;
}

InputFunctions::Lines InputFunctions::lines_of(std::span<const SumSource> sources,
                                               std::size_t cell) const {
  Lines sum;
  for (const auto& [variable, weight] : sources) {
    Lines of = activation(variable, cell);
    if (weight < 0) {
      std::swap(of.low_begin, of.high_begin);
      std::swap(of.low_end, of.high_end);
    }
    sum.low_begin = input::sum(sum.low_begin, input::product(weight, of.low_begin, false), false);
    sum.low_end = input::sum(sum.low_end, input::product(weight, of.low_end, false), false);
    sum.high_begin = input::sum(sum.high_begin, input::product(weight, of.high_begin, true), true);
    sum.high_end = input::sum(sum.high_end, input::product(weight, of.high_end, true), true);
  }
  return sum.finite();
}

void InputFunctions::bound_neurons(std::size_t input) {
  for (const std::size_t variable : of_[input]) {
    const std::size_t n = variable - sums_.inputs;
    const double low = input::sum(sums_.bias[n], -sums_.room[n], false);
    const double high = input::sum(sums_.bias[n], sums_.room[n], true);
    for (std::size_t cell = 0; cell + 1 < ends_[input].size(); ++cell) {
      Lines z = lines_of(sums_.sources_of(n), cell);
      for (double* const each : {&z.low_begin, &z.low_end}) *each = input::sum(*each, low, false);
      for (double* const each : {&z.high_begin, &z.high_end}) *each = input::sum(*each, high, true);
      lines_[variable].push_back(z.finite());
    }
  }
}

std::size_t InputFunctions::add(std::span<const SumSource> sources) {
  Function made;
  made.input = input_of_[sources.front().variable];
  for (std::size_t cell = 0; cell + 1 < ends_[made.input].size(); ++cell)
    made.lines.push_back(lines_of(sources, cell));
  functions_.push_back(std::move(made));
  return functions_.size() - 1;
}

std::pair<double, double> InputFunctions::range(std::size_t function, double low,
                                                double high) const {
  const Function& of = functions_[function];
  for (const Range& each : of.last)
    if (each.low == low && each.high == high) return each.ends;
  const std::vector<double>& ends = ends_[of.input];
  double least = kInfinity, largest = -kInfinity;
  for (std::size_t cell = 0; cell < of.lines.size(); ++cell) {
    const double begin = ends[cell], end = ends[cell + 1];
    if (end < low || begin > high) continue;
    const Lines& lines = of.lines[cell];
    for (const double x : {std::max(low, begin), std::min(high, end)}) {
      const double below = value_on_line(begin, end, lines.low_begin, lines.low_end, x, false);
      const double above = value_on_line(begin, end, lines.high_begin, lines.high_end, x, true);
      least = std::min(least, below);
      largest = std::max(largest, above);
    }
  }
  of.last[of.next] = {low, high, {least, largest}};
  of.next = (of.next + 1) % of.last.size();
  return {least, largest};
}

std::optional<std::pair<double, double>> InputFunctions::part_of_cell(const Function& function,
                                                                      std::size_t cell, double low,
                                                                      double high, double limit,
                                                                      bool is_upper) const {
  const double begin = ends_[function.input][cell], end = ends_[function.input][cell + 1];
  const double a = std::max(low, begin), b = std::min(high, end);
  if (a > b) return std::nullopt;
  const Lines& lines = function.lines[cell];
  // A line v that must be at most a limit.
  const double at_begin = is_upper ? lines.low_begin : -lines.high_begin;
  const double at_end = is_upper ? lines.low_end : -lines.high_end;
  const double most = is_upper ? limit : -limit;
  const bool without_a = value_on_line(begin, end, at_begin, at_end, a, false) > most;
  const bool without_b = value_on_line(begin, end, at_begin, at_end, b, false) > most;
  if (without_a && without_b) return std::nullopt;
  if (without_a == without_b) return std::pair(a, b);
  // The share of the cell, from the end that is left, on which v is at most the limit.
  const double left = without_b ? at_begin : at_end, gone = without_b ? at_end : at_begin;
  const double rise = input::sum(gone, -left, false);
  if (!(rise > 0) || !std::isfinite(rise)) return std::pair(a, b);
  const double share = input::quotient(std::max(0.0, input::sum(most, -left, true)), rise, true);
  const double length = input::product(share, input::sum(end, -begin, true), true);
  if (without_b) return std::pair(a, std::min(b, std::max(a, input::sum(begin, length, true))));
  return std::pair(std::max(a, std::min(b, input::sum(end, -length, false))), b);
}

std::optional<std::pair<double, double>> InputFunctions::part_of(std::size_t function, double low,
                                                                 double high, double limit,
                                                                 bool is_upper) const {
  const Function& of = functions_[function];
  std::optional<std::pair<double, double>> made;
  for (std::size_t cell = 0; cell < of.lines.size(); ++cell) {
    const auto part = part_of_cell(of, cell, low, high, limit, is_upper);
    if (!part) continue;
    if (!made) made = part;
    made->second = part->second;
  }
  return made;
}

std::vector<std::pair<double, double>> InputFunctions::parts_of(std::size_t function, double limit,
                                                                bool is_upper) const {
  const Function& of = functions_[function];
  const std::vector<double>& ends = ends_[of.input];
  std::vector<std::pair<double, double>> made;
  for (std::size_t cell = 0; cell < of.lines.size(); ++cell) {
    const auto part = part_of_cell(of, cell, ends.front(), ends.back(), limit, is_upper);
    if (!part) continue;
    if (made.empty() || made.back().second < part->first)
      made.push_back(*part);
    else
      made.back().second = part->second;
  }
  return made;
}

}  // namespace bf_aot::decide
