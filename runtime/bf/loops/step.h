#pragma once

#include "bf/loops/series.h"

// One step of a solution of x' = f(x, held). Proof: docs/proofs/closed-loops.md.

namespace bf::loops {

static constexpr int kTries = 24;           // to find ranges
static constexpr int kRefinements = 3;      // of ranges that were found
static constexpr double kInflation = 0.05;  // of a range that was not found yet, by its width
static constexpr double kLeast = 0x1p-40;   // by magnitude, where it has none

// A step computes in this room.
template <class Form>
struct StepRoom {
  Range* held;          // [held]
  Range* inputs;        // [states + held]
  Range* values;        // [steps of the program]
  Range* tried;         // [states]
  Range* found;         // [states]
  Range* range_series;  // [series][order + 2]
  Form* form_series;    // [series][order + 1]
};

// The plan of a step.
template <class Program>
struct StepPlan {
  const Program& plant;
  const typename Program::Place* places;  // of TaylorSeries
  size_t states, held;
  double seconds, seconds_error;  // the step lasts `seconds`, to within the error
  size_t order;
  size_t time_symbol;  // which no form has
  // Ranges that what is held is in while it changes, for the ranges of solutions; null: those of
  // its forms.
  const Range* changing = nullptr;
};

// to = state + [0, seconds] f(ranges, held).
template <class Values, class Program, class Form>
static inline void picard(const StepPlan<Program>& plan, const StepRoom<Form>& room,
                          const Range* state, double seconds, const Range* ranges, Range* to) {
  for (size_t i = 0; i < plan.states; ++i) room.inputs[i] = ranges[i];
  for (size_t i = 0; i < plan.held; ++i) room.inputs[plan.states + i] = room.held[i];
  run_program<RangesOf<Values>>(plan.plant, room.inputs, room.values);
  for (size_t i = 0; i < plan.states; ++i)
    to[i] = state[i] + hull({0, 0}, Range{0, seconds} * room.values[plan.plant.outputs[i]]);
}

// Ranges in which every solution stays that begins in `state`, up to `seconds`, into room.found.
// Returns false where none were found.
template <class Values, class Program, class Form>
static inline bool picard_ranges(const StepPlan<Program>& plan, const StepRoom<Form>& room,
                                 const Range* state, double seconds) {
  for (size_t i = 0; i < plan.states; ++i) room.tried[i] = state[i];
  for (int round = 0; round < kTries; ++round) {
    picard<Values>(plan, room, state, seconds, room.tried, room.found);
    bool finite = true, inside = true;
    for (size_t i = 0; i < plan.states; ++i) {
      finite = finite && room.found[i].is_finite();
      inside = inside && room.tried[i].contains(room.found[i]);
    }
    if (!finite) return false;
    if (inside) {
      for (int refined = 0; refined < kRefinements; ++refined)
        picard<Values>(plan, room, state, seconds, room.found, room.found);
      return true;
    }
    for (size_t i = 0; i < plan.states; ++i) {
      const Range& each = room.found[i];
      const double by = kInflation * width(each) + kLeast * magnitude(each) + 1e-12;
      room.tried[i] = each + Range{-by, by};
    }
  }
  return false;
}

// Encloses all solutions from `state` for the plan's seconds by Taylor's series of its order with
// the remainder of Lagrange, on ranges that Picard's iteration proves. end: of the state at the end
// of the step; during: at any time of it, over one more symbol, which is the time; [states] each.
// room.found then has ranges that every solution stays in. Returns false where none were found:
// solutions may grow beyond all bounds within the step.
template <class Values, class Program, class Form>
static inline bool validated_step(const StepPlan<Program>& plan, const StepRoom<Form>& room,
                                  const Form* state, const Form* held, Form* end, Form* during) {
  const Range step = range_about(plan.seconds, plan.seconds_error);
  const size_t order = plan.order;
  Range* const start = room.range_series;  // until the series is made
  for (size_t i = 0; i < plan.held; ++i)
    room.held[i] = plan.changing == nullptr ? range_of(held[i]) : plan.changing[i];
  for (size_t i = 0; i < plan.states; ++i) start[i] = range_of(state[i]);
  if (!picard_ranges<Values>(plan, room, start, step.high)) return false;
  for (size_t i = 0; i < plan.held; ++i) room.held[i] = range_of(held[i]);
  TaylorSeries<FormsOf<Values, Form>, Form, Program> series(
      plan.plant, plan.places, plan.states, state, held, room.form_series, order + 1);
  while (series.order() < order) series.extend();
  // The remainder is h^(order + 1) times the next coefficient, anywhere in the ranges.
  TaylorSeries<RangesOf<Values>, Range, Program> next(
      plan.plant, plan.places, plan.states, room.found, room.held, room.range_series, order + 2);
  while (next.order() <= order) next.extend();
  Form time = form_of<Form>(plan.seconds / 2, plan.seconds_error);
  time.slope.resize(plan.time_symbol + 1);
  time.slope[plan.time_symbol] = plan.seconds / 2;
  Range power = {1, 1};
  for (size_t k = 0; k <= order; ++k) power = power * step;
  for (size_t i = 0; i < plan.states; ++i) {
    Form at_end = series.at(i, order), any = at_end;
    for (size_t k = order; k-- > 0;) {
      at_end = times(at_end, plan.seconds, plan.seconds_error) + series.at(i, k);
      any = any * time + series.at(i, k);
    }
    const Range rest = next.at(i, order + 1) * power;
    end[i] = at_end + form_of<Form>(rest);
    during[i] = any + form_of<Form>(hull({0, 0}, rest));
    if (!is_finite(end[i])) return false;
  }
  return true;
}

}  // namespace bf::loops
