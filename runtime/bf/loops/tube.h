#pragma once

#include "bf/contract/spans.h"
#include "bf/core/bounds.h"
#include "bf/loops/lines.h"
#include "bf/loops/program.h"
#include "bf/loops/step.h"
#include "bf/loops/symbols.h"
#include "bf/loops/tube_bytes.h"

// The tube of a closed loop from a box of states, period after period, in fixed memory: what a
// monitor of a loop computes.

namespace bf::loops {

enum class PlantKind : std::uint8_t {
  kContinuous,  // the plant's program has dx/dt
  kEuler,       // the next state is x + h times the program's outputs
  kDiscrete,    // the program has the next state
  kNetwork,     // the network has the next state
};

// Loop: a struct of a generated monitor, which says what the loop and the plan of its tube are.
// Constants: kKind, kStates, kControls, kDisturbances, kPeriods, kSubsteps, kOrder, kSymbols,
// kAllSymbols, kSlopes, kSeconds, kSecondsError, kRequirements, kLines and kSizes. Functions:
//
//   plant(), places()          the plant's program, and where its Taylor series begin
//   condition(i)               the program of a requirement's values
//   holds(i, values)           whether the requirement is proven by these
//   disturbance(i)             the range of an element that disturbs the plant
//   is_constant(i)             whether it has one value for all time
//   bound(lower, upper, low, high, lines, workspace)   the verifier of the network
template <class Loop>
class Tube {
 public:
  using Form = FormOf<FixedSlopes<Loop>>;
  static_assert(sizeof(Form) == form_bytes(Loop::kSlopes), "bf: doubles are not aligned to 8");

  explicit Tube(void* workspace)
      : next_(static_cast<unsigned char*>(workspace)),
        state_(take<Form>(kStates)),
        initial_(take<Form>(kStates)),
        held_(take<Form>(kHeld)),
        constant_(take<Form>(kDrawn)),
        end_(take<Form>(kStates)),
        during_(take<Form>(kStates)),
        spreads_(take<double>(Loop::kAllSymbols)),
        kept_(take<bool>(Loop::kAllSymbols)),
        symbols_(Loop::kAllSymbols, spreads_, kept_) {
    next_ = static_cast<unsigned char*>(workspace) + Loop::kSizes.fixed_bytes();
  }

  // Computes the tube of all starts in the box, and tells the visitor of each piece
  // state(period, i, range) and requirement(period, i, proven); the last instant has the number of
  // periods. Returns how many periods have a tube: fewer where no bounds were found.
  template <class Visitor>
  size_t run(const double* lower, const double* upper, Visitor& visitor) {
    start(lower, upper);
    for (period_ = 0; period_ < Loop::kPeriods; ++period_)
      if (!run_period(visitor)) return period_;
    visit(visitor, state_);
    return period_;
  }

 private:
  static constexpr size_t kStates = Loop::kStates, kControls = Loop::kControls;
  static constexpr size_t kDrawn = Loop::kDisturbances, kHeld = kControls + kDrawn;
  static constexpr bool kNetworkSteps = Loop::kKind == PlantKind::kNetwork;

  template <class T>
  T* take(size_t count) {
    T* const taken = reinterpret_cast<T*>(next_);
    next_ += count * sizeof(T);
    return taken;
  }

  Form* control() { return held_; }
  Form* disturbed() { return held_ + kControls; }

  void start(const double* lower, const double* upper) {
    for (size_t i = 0; i < kHeld; ++i) held_[i] = {};
    for (size_t i = 0; i < kStates; ++i) {
      state_[i] = symbols_.form_over_own({lower[i], upper[i]});
      initial_[i] = state_[i];
    }
    for (size_t i = 0; i < kDrawn; ++i)
      if (Loop::is_constant(i)) constant_[i] = symbols_.form_over_own(Loop::disturbance(i));
    symbols_.keep_first();
  }

  template <class Visitor>
  bool run_period(Visitor& visitor) {
    make_room();
    if constexpr (!kNetworkSteps && kControls > 0) {
      if (!bound(state_, kStates, control(), kControls)) return false;
      symbols_.add_remainders(control(), kControls);
    }
    for (size_t i = 0; i < kDrawn; ++i)
      disturbed()[i] =
          Loop::is_constant(i) ? constant_[i] : symbols_.form_over_own(Loop::disturbance(i));
    for (size_t k = 0; k < Loop::kSubsteps; ++k) {
      visit(visitor, state_);
      if (!step(k, visitor)) return false;
      for (size_t i = 0; i < kStates; ++i) {
        if (!is_finite(end_[i])) return false;
        state_[i] = end_[i];
      }
      symbols_.add_remainders(state_, kStates);
    }
    return true;
  }

  // Networks read forms over as many symbols as they are planned for: those of the state, its
  // remainders, and disturbances that are drawn behind them.
  void make_room() {
    size_t coming = kStates;
    for (size_t i = 0; i < kDrawn; ++i) coming += Loop::is_constant(i) ? 0 : 1;
    const FormGroup<Form> groups[] = {{state_, kStates}, {held_, kHeld}};
    symbols_.make_room(groups, 2, Loop::kSymbols < coming ? 0 : Loop::kSymbols - coming);
    symbols_.add_remainders(state_, kStates);
  }

  template <class Visitor>
  bool step(size_t substep, Visitor& visitor) {
    if constexpr (kNetworkSteps) {
      if (substep != 0) make_room();
      unsigned char* const place = next_;
      Form* const inputs = take<Form>(kStates + kDrawn);
      for (size_t i = 0; i < kStates; ++i) inputs[i] = state_[i];
      for (size_t i = 0; i < kDrawn; ++i) inputs[kStates + i] = disturbed()[i];
      const bool bounded = bound(inputs, kStates + kDrawn, end_, kStates);
      next_ = place;
      return bounded;
    } else if constexpr (Loop::kKind == PlantKind::kContinuous) {
      if (!continuous_step()) return false;
      visit(visitor, during_);
      return true;
    } else {
      program_step();
      return true;
    }
  }

  bool continuous_step() {
    unsigned char* const place = next_;
    const MonitorProgram plant = Loop::plant();
    StepRoom<Form> room;
    room.form_series = take<Form>(Loop::kSizes.series * (Loop::kOrder + 1));
    room.held = take<Range>(kHeld);
    room.inputs = take<Range>(kStates + kHeld);
    room.values = take<Range>(plant.steps.size());
    room.tried = take<Range>(kStates);
    room.found = take<Range>(kStates);
    room.range_series = take<Range>(Loop::kSizes.series * (Loop::kOrder + 2));
    next_ = place;
    const StepPlan<MonitorProgram> plan = {plant,        Loop::places(),   kStates,
                                           kHeld,        Loop::kSeconds,   Loop::kSecondsError,
                                           Loop::kOrder, Loop::kAllSymbols};
    return validated_step<MonitorValues>(plan, room, state_, held_, end_, during_);
  }

  // The plant's program, of Euler steps and of discrete plants.
  void program_step() {
    const MonitorProgram plant = Loop::plant();
    const Form* const values = run(plant, state_, held_, kHeld);
    for (size_t i = 0; i < kStates; ++i) {
      const Form& made = values[plant.outputs[i]];
      end_[i] = Loop::kKind == PlantKind::kEuler
                    ? state_[i] + times(made, Loop::kSeconds, Loop::kSecondsError)
                    : made;
    }
  }

  // All steps of a program whose inputs are the state and `others`.
  const Form* run(const MonitorProgram& program, const Form* state, const Form* others,
                  size_t count) {
    unsigned char* const place = next_;
    Form* const inputs = take<Form>(kStates + count);
    Form* const values = take<Form>(program.steps.size());
    next_ = place;
    for (size_t i = 0; i < kStates; ++i) inputs[i] = state[i];
    for (size_t i = 0; i < count; ++i) inputs[kStates + i] = others[i];
    run_program<FormsOf<MonitorValues, Form>>(program, inputs, values);
    return values;
  }

  // The network's outputs. Returns false where it has no bounds.
  bool bound(const Form* inputs, size_t count, Form* outputs, size_t made) {
    unsigned char* const place = next_;
    const LinePlaces at = {Loop::kSymbols, count};
    float* const lower = take<float>(at.count());
    float* const upper = take<float>(at.count());
    float* const low = take<float>(made);
    float* const high = take<float>(made);
    float* const lines = take<float>(Loop::kLines ? 2 * made * (at.count() + 1) : 0);
    next_ = place;
    if (!write_box(inputs, at, lower, upper)) return false;
    const auto end = reinterpret_cast<std::uintptr_t>(place) + Loop::kSizes.network_bytes();
    constexpr std::uintptr_t kAlign = Loop::kSizes.network_align;
    void* const workspace = reinterpret_cast<void*>((end + kAlign - 1) / kAlign * kAlign);
    if (!Loop::bound(lower, upper, low, high, lines, workspace)) return false;
    for (size_t i = 0; i < made; ++i)
      outputs[i] = output_form<Form>(low[i], high[i],
                                     Loop::kLines ? lines + 2 * i * (at.count() + 1) : nullptr, at);
    return true;
  }

  // Tells the visitor what states there may be now, and which requirements are proven of them.
  template <class Visitor>
  void visit(Visitor& visitor, const Form* state) {
    for (size_t i = 0; i < kStates; ++i) visitor.state(period_, i, range_of(state[i]));
    for (size_t i = 0; i < Loop::kRequirements; ++i)
      visitor.requirement(period_, i, holds(i, state));
  }

  // Values of a condition are computed from the state, the control and the state at the start.
  bool holds(size_t requirement, const Form* state) {
    unsigned char* const place = next_;
    Form* const others = take<Form>(kControls + kStates);
    for (size_t i = 0; i < kControls; ++i) others[i] = control()[i];
    for (size_t i = 0; i < kStates; ++i) others[kControls + i] = initial_[i];
    const Form* const values =
        run(Loop::condition(requirement), state, others, kControls + kStates);
    next_ = place;
    return Loop::holds(requirement, values);
  }

  unsigned char* next_;
  Form *state_, *initial_, *held_, *constant_, *end_, *during_;
  double* spreads_;
  bool* kept_;
  Symbols<Form> symbols_;
  size_t period_ = 0;
};

// Returns whether a value is proven to be at most 0, or below it.
template <class Form>
static inline bool at_most_zero(const Form& value) {
  return range_of(value).high <= 0;
}
template <class Form>
static inline bool below_zero(const Form& value) {
  return range_of(value).high < 0;
}

// Writes what a tube is into the result of a monitor.
template <class Loop, class Result>
class Findings {
 public:
  explicit Findings(Result& result) : result_(result) {
    result_.open_requirement = Loop::kRequirements;
    for (size_t p = 0; p < Loop::kPeriods; ++p) result_.proven[p] = 1;
    for (size_t i = 0; i < (Loop::kPeriods + 1) * Loop::kStates; ++i) set(i, {kNone, -kNone});
  }

  void state(size_t period, size_t i, const Range& range) {
    const size_t at = period * Loop::kStates + i;
    set(at, hull({result_.lower[at], result_.upper[at]}, range));
  }

  // The last instant belongs to the last period.
  void requirement(size_t period, size_t i, bool proven) {
    if (proven) return;
    const size_t p = period < Loop::kPeriods ? period : Loop::kPeriods - 1;
    if (result_.proven[p] != 0 && p < first_open_) {
      first_open_ = p;
      result_.open_requirement = static_cast<std::uint32_t>(i);
    }
    result_.proven[p] = 0;
  }

  // Ends a tube that has so many periods.
  void end(size_t periods) {
    if (periods < Loop::kPeriods) {
      for (size_t p = periods; p < Loop::kPeriods; ++p) result_.proven[p] = 0;
      for (size_t i = periods * Loop::kStates; i < (Loop::kPeriods + 1) * Loop::kStates; ++i)
        set(i, kEverything);
    }
    size_t safe = 0;
    while (safe < Loop::kPeriods && result_.proven[safe] != 0) ++safe;
    result_.safe_periods = static_cast<std::uint32_t>(safe);
  }

 private:
  static constexpr double kNone = __builtin_inf();

  void set(size_t at, const Range& range) {
    result_.lower[at] = range.low;
    result_.upper[at] = range.high;
  }

  Result& result_;
  size_t first_open_ = Loop::kPeriods;
};

// BF_OK where tubes are computed of the box. count: of states.
static inline bf_status check_states(const double* lower, const double* upper, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!is_number(lower[i]) || !is_number(upper[i])) return BF_NAN_INPUT;
  for (size_t i = 0; i < count; ++i)
    if (!(lower[i] <= upper[i])) return BF_EMPTY_BOX;
  for (size_t i = 0; i < count; ++i)
    if (!is_finite(lower[i]) || !is_finite(upper[i])) return BF_INFINITE_BOX;
  return BF_OK;
}

// A monitor's call, its arguments checked.
template <class Loop, class Result>
static inline bf_status look_ahead(const double* lower, const double* upper, Result* result,
                                   void* workspace, size_t bytes) {
  constexpr size_t kBytes = Loop::kSizes.bytes();
  if (lower == nullptr || upper == nullptr || result == nullptr) return BF_NULL_ARGUMENT;
  if (const bf_status status = check_workspace(workspace, bytes, kBytes, 8)) return status;
  const Span spans[] = {{result, sizeof *result},
                        {workspace, kBytes},
                        {lower, Loop::kStates * sizeof(double)},
                        {upper, Loop::kStates * sizeof(double)}};
  if (overlap(spans, 4, 2)) return BF_OVERLAP;
  if (const bf_status status = check_states(lower, upper, Loop::kStates)) return status;
  Findings<Loop, Result> findings(*result);
  findings.end(Tube<Loop>(workspace).run(lower, upper, findings));
  return BF_OK;
}

}  // namespace bf::loops
