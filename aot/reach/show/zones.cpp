#include "aot/reach/show/zones.h"

#include <algorithm>
#include <set>

namespace bf_aot::reach {
namespace {

constexpr std::size_t kMostZones = 64;  // of a requirement

// constant + slope * x[state], where it is known to be that.
struct StateLine {
  bool known = true;
  double constant = 0, slope = 0;
  std::size_t state = 0;

  bool is_constant() const { return known && slope == 0; }
};

constexpr StateLine kUnknownLine = {false};

struct StateLineArithmetic {
  static StateLine constant(const Bounded& x) { return {true, x.value}; }
  static StateLine add(const StateLine& a, const StateLine& b) { return sum(a, b, 1); }
  static StateLine subtract(const StateLine& a, const StateLine& b) { return sum(a, b, -1); }
  static StateLine multiply(const StateLine& a, const StateLine& b) {
    if (a.is_constant()) return scaled(b, a.constant);
    return b.is_constant() ? scaled(a, b.constant) : kUnknownLine;
  }
  static StateLine square(const StateLine& a) { return multiply(a, a); }
  static StateLine divide(const StateLine& a, const StateLine& b) {
    if (!b.is_constant() || b.constant == 0) return kUnknownLine;
    return {a.known, a.constant / b.constant, a.slope / b.constant, a.state};
  }
  static StateLine relu(const StateLine& a) { return larger(a, {}); }
  static StateLine larger(const StateLine& a, const StateLine& b) {
    if (!a.is_constant() || !b.is_constant()) return kUnknownLine;
    return {true, std::max(a.constant, b.constant)};
  }
  static StateLine apply(const Function&, const StateLine&) { return kUnknownLine; }

 private:
  static StateLine scaled(const StateLine& a, double factor) {
    return {a.known, a.constant * factor, a.slope * factor, a.state};
  }
  static StateLine sum(const StateLine& a, const StateLine& b, double sign) {
    if (!a.known || !b.known || (a.slope != 0 && b.slope != 0 && a.state != b.state))
      return kUnknownLine;
    return {true, a.constant + sign * b.constant, a.slope + sign * b.slope,
            a.slope != 0 ? a.state : b.state};
  }
};

using Limits = std::map<std::size_t, Range>;

// Where a value breaks "value <= 0" (or < 0). None: nowhere, or it is not known where.
std::vector<Limits> broken_by(const StateLine& value, bool strict) {
  if (!value.known) return {};
  if (value.slope == 0) {
    const bool broken = strict ? value.constant >= 0 : value.constant > 0;
    return broken ? std::vector<Limits>{{}} : std::vector<Limits>{};
  }
  const double edge = -value.constant / value.slope;
  if (!std::isfinite(edge)) return {};
  return {{{value.state,
            value.slope > 0 ? Range{edge, kEverything.high} : Range{kEverything.low, edge}}}};
}

// Adds the states that lie in both, if there are any.
void add_both(const Limits& a, const Limits& b, std::vector<Limits>& all) {
  Limits both = a;
  for (const auto& [state, range] : b) {
    const auto [at, is_new] = both.emplace(state, range);
    if (is_new) continue;
    if (at->second.low > range.high || range.low > at->second.high) return;
    at->second = meet(at->second, range);
  }
  all.push_back(both);
}

// Where a formula is broken: a union of boxes.
std::vector<Limits> broken_by(const Formula& formula, const std::vector<StateLine>& values) {
  if (formula.kind == Formula::Kind::kCompare)
    return broken_by(values[formula.value], formula.strict);
  std::vector<Limits> all;
  if (formula.kind == Formula::Kind::kAny) all = {{}};
  for (const Formula& part : formula.parts) {
    const std::vector<Limits> broken = broken_by(part, values);
    if (formula.kind == Formula::Kind::kAll) {
      all.insert(all.end(), broken.begin(), broken.end());
    } else {
      std::vector<Limits> together;
      for (const Limits& a : all)
        for (const Limits& b : broken) add_both(a, b, together);
      all = std::move(together);
    }
    if (all.size() > kMostZones) return {};
  }
  return all;
}

std::vector<StateLine> lines_of(const Condition& condition, std::size_t states) {
  std::vector<StateLine> inputs(condition.values.inputs, kUnknownLine);
  for (std::size_t i = 0; i < std::min(states, inputs.size()); ++i) inputs[i] = {true, 0, 1, i};
  return outputs_of(condition.values, inputs, StateLineArithmetic());
}

// The elements of the state that a condition reads.
std::vector<std::size_t> states_in(const Condition& condition, std::size_t states) {
  std::set<std::size_t> read;
  for (const ScalarStep& step : condition.values.steps)
    if (step.kind == ScalarStep::Kind::kInput && step.a < states) read.insert(step.a);
  return {read.begin(), read.end()};
}

}  // namespace

std::vector<Zone> forbidden_zones(const Question& question) {
  std::vector<Zone> zones;
  for (std::size_t r = 0; r < question.requirements.size(); ++r) {
    const Requirement& requirement = question.requirements[r];
    const std::vector<StateLine> values = lines_of(requirement.must, question.loop.states());
    for (const Limits& limits : broken_by(requirement.must.formula, values))
      zones.push_back({r, requirement.from, requirement.to, limits});
  }
  return zones;
}

std::vector<std::pair<std::size_t, std::size_t>> pairs_to_show(const Question& question,
                                                               std::size_t most) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const Requirement& requirement : question.requirements) {
    const std::vector<std::size_t> read = states_in(requirement.must, question.loop.states());
    for (std::size_t i = 0; i < read.size(); ++i)
      for (std::size_t j = i + 1; j < read.size(); ++j)
        if (std::find(pairs.begin(), pairs.end(), std::pair(read[i], read[j])) == pairs.end())
          pairs.emplace_back(read[i], read[j]);
  }
  if (pairs.empty() && question.loop.states() >= 2) pairs.emplace_back(0, 1);
  if (pairs.size() > most) pairs.resize(most);
  return pairs;
}

}  // namespace bf_aot::reach
