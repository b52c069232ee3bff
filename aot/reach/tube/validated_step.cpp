#include "aot/reach/tube/validated_step.h"

#include <utility>

#include "aot/reach/numbers/taylor.h"

namespace bf_aot::reach {
namespace {

constexpr int kTries = 24;           // to find ranges
constexpr int kRefinements = 3;      // of ranges that were found
constexpr double kInflation = 0.05;  // of a range that was not found yet, by its width
constexpr double kLeast = 0x1p-40;   // by magnitude, where it has none

using Ranges = std::vector<Range>;

std::vector<Range> derivatives(const ScalarProgram& plant, const Ranges& state,
                               const Ranges& held) {
  Ranges inputs = state;
  inputs.insert(inputs.end(), held.begin(), held.end());
  return outputs_of(plant, inputs, RangeArithmetic());
}

// state + [0, seconds] f(ranges, held).
Ranges picard(const ScalarProgram& plant, const Ranges& state, const Ranges& held, double seconds,
              const Ranges& ranges) {
  const Ranges slopes = derivatives(plant, ranges, held);
  Ranges made;
  for (std::size_t i = 0; i < state.size(); ++i)
    made.push_back(state[i] + hull({0, 0}, Range{0, seconds} * slopes[i]));
  return made;
}

bool all_finite(const Ranges& ranges) {
  for (const Range& each : ranges)
    if (!each.is_finite()) return false;
  return true;
}

bool contains(const Ranges& outer, const Ranges& inner) {
  for (std::size_t i = 0; i < outer.size(); ++i)
    if (!outer[i].contains(inner[i])) return false;
  return true;
}

void inflate(Ranges& ranges) {
  for (Range& each : ranges) {
    const double by = kInflation * width(each) + kLeast * magnitude(each) + 1e-12;
    each = each + Range{-by, by};
  }
}

// The remainder h^(order + 1) times the next coefficient, anywhere in the ranges.
Ranges next_coefficients(const ScalarProgram& plant, const Ranges& within, const Ranges& held,
                         std::size_t order) {
  TaylorSeries<RangeArithmetic, Range> series(plant, within, held);
  for (std::size_t k = 0; k <= order; ++k) series.extend();
  Ranges made;
  for (std::size_t i = 0; i < within.size(); ++i) made.push_back(series.at(i, order + 1));
  return made;
}

Range power(const Range& x, std::size_t exponent) {
  Range made = {1, 1};
  for (std::size_t k = 0; k < exponent; ++k) made = made * x;
  return made;
}

}  // namespace

std::optional<Ranges> picard_ranges(const ScalarProgram& plant, const Ranges& state,
                                    const Ranges& held, double seconds) {
  Ranges tried = state;
  for (int round = 0; round < kTries; ++round) {
    Ranges made = picard(plant, state, held, seconds, tried);
    if (!all_finite(made)) return std::nullopt;
    if (contains(tried, made)) {
      for (int refined = 0; refined < kRefinements; ++refined)
        made = picard(plant, state, held, seconds, made);
      return made;
    }
    tried = std::move(made);
    inflate(tried);
  }
  return std::nullopt;
}

std::optional<ValidatedStep> validated_step(const ScalarProgram& plant,
                                            const std::vector<Form>& state,
                                            const std::vector<Form>& held, const Bounded& seconds,
                                            std::size_t order, std::size_t time_symbol) {
  const Range step = range_of(seconds);
  const Ranges held_ranges = ranges_of(held);
  const std::optional<Ranges> within =
      picard_ranges(plant, ranges_of(state), held_ranges, step.high);
  if (!within) return std::nullopt;
  TaylorSeries<FormArithmetic, Form> series(plant, state, held);
  while (series.order() < order) series.extend();
  const Ranges next = next_coefficients(plant, *within, held_ranges, order);
  Form time = form_of(Bounded{seconds.value / 2, seconds.error});
  time.slope.assign(time_symbol + 1, 0);
  time.slope[time_symbol] = seconds.value / 2;
  ValidatedStep made;
  made.within = *within;
  for (std::size_t i = 0; i < state.size(); ++i) {
    Form end = series.at(i, order), during = end;
    for (std::size_t k = order; k-- > 0;) {
      end = times(end, seconds) + series.at(i, k);
      during = during * time + series.at(i, k);
    }
    const Range rest = next[i] * power(step, order + 1);
    made.end.push_back(end + form_of(rest));
    made.during.push_back(during + form_of(hull({0, 0}, rest)));
    if (!is_finite(made.end.back())) return std::nullopt;
  }
  return made;
}

}  // namespace bf_aot::reach
