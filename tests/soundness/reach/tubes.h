#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aot/reach/search/simulate.h"
#include "aot/reach/tube/flow.h"
#include "tests/soundness/reach/oracle.h"
#include "tests/support/loops.h"

// Tubes of random loops, compared with runs in other arithmetic.
namespace bf_aot::soundness {

// Whether forms lose their radii and the symbols of remainders before they are compared: what is
// left must be refuted.
enum class Spoiled : std::uint8_t { kNot, kYes };

// The values of symbols that a run has, as far as they are known.
template <class Number>
using KnownSymbols = std::vector<std::optional<Number>>;

// Whether a number may be `value`: within the radius, and unknown symbols in [-1, 1]. slack: what
// the value may be off by.
template <class A>
bool holds(const reach::Form& form, const KnownSymbols<typename A::Number>& symbols,
           const typename A::Number& value, double slack, Spoiled spoiled = Spoiled::kNot) {
  using Number = typename A::Number;
  if (!reach::is_finite(form)) return true;
  Number sum = A::number(form.centre), rest = A::number(slack);
  if (spoiled == Spoiled::kNot) rest = A::add(rest, A::number(form.radius));
  for (std::size_t k = 0; k < form.slope.size(); ++k) {
    const Number slope = A::number(form.slope[k]);
    if (k < symbols.size() && symbols[k])
      sum = A::add(sum, A::multiply(slope, *symbols[k]));
    else if (spoiled != Spoiled::kYes)
      rest = A::add(rest, A::magnitude(slope));
  }
  return at_most(A::magnitude(A::subtract(value, sum)), rest);
}

// One run of a loop beside its tube.
template <class A>
class Run {
 public:
  using Number = typename A::Number;

  Run(const reach::Loop& loop, const reach::Scenario& scenario, Spoiled spoiled)
      : loop_(loop),
        scenario_(scenario),
        spoiled_(spoiled),
        plant_(scalar_program(loop.plant.graph)) {
    if (loop.controller) controller_ = scalar_program(loop.controller->graph);
    if (loop.observer) observer_ = scalar_program(loop.observer->graph);
    for (const double x : scenario.start) state_.push_back(A::number(x));
    for (const Bounded& u : loop.first_control) computed_.push_back(A::number(u.value));
    know_start();
    // What 160 bits may lose, and the integration; no double is that near to another one.
    if (!std::is_same_v<Number, mpq_class>) slack_ = 0x1p-70;
  }

  void see(const reach::Segment& segment) {
    if (segment.from != segment.to) {
      integrate_to(segment);
      return;
    }
    if (!first_ && loop_.kind != reach::PlantKind::kContinuous) step();
    first_ = false;
    check_state(segment, symbols_);
    const mpq_class length = loop_.period;
    const mpq_class number = segment.from / length;
    if (number.get_den() == 1 && number < mpq_class(loop_.steps))
      begin_period(number.get_num().get_ui());
    for (std::size_t i = 0; i < held_.size() && number < mpq_class(loop_.steps); ++i)
      check(segment.control[i], symbols_, held_[i]);
  }

  std::size_t checks() const { return checks_; }
  std::size_t misses() const { return misses_; }

 private:
  // Symbols are those of the start's elements that vary, then those of constant disturbances.
  void know_start() {
    const auto know = [&](double low, double high, double value) {
      const reach::Form form = reach::form_of(reach::Range{low, high});
      if (form.radius == 0) return;
      symbols_.push_back(
          A::divide(A::subtract(A::number(value), A::number(form.centre)), A::number(form.radius)));
    };
    for (std::size_t i = 0; i < loop_.states(); ++i)
      know(loop_.initial.lower[i], loop_.initial.upper[i], scenario_.start[i]);
    std::size_t element = 0;
    for (const reach::Disturbance& w : loop_.disturbances)
      for (std::size_t i = 0; i < w.box.lower.size(); ++i, ++element)
        if (w.is_constant())
          know(w.box.lower[i], w.box.upper[i], scenario_.disturbances[0][element]);
  }

  void check(const reach::Form& form, const KnownSymbols<Number>& symbols, const Number& value) {
    if (!reach::is_finite(form)) return;
    ++checks_;
    const double slack = slack_ * (1 + std::fabs(A::about(value)));
    if (!holds<A>(form, symbols, value, slack, spoiled_)) ++misses_;
  }
  void check_state(const reach::Segment& segment, const KnownSymbols<Number>& symbols) {
    for (std::size_t i = 0; i < state_.size(); ++i) check(segment.state[i], symbols, state_[i]);
  }

  void begin_period(std::size_t period) {
    std::vector<Number> computed;
    if (loop_.controller) {
      computed = state_;
      if (loop_.observer) computed = outputs_of(observer_, computed, A());
      computed = outputs_of(controller_, computed, A());
    }
    held_ = loop_.delayed ? computed_ : computed;
    computed_ = std::move(computed);
    disturbed_.clear();
    for (const double w : scenario_.disturbances[period]) disturbed_.push_back(A::number(w));
  }

  std::vector<Number> others() const {
    std::vector<Number> made = held_;
    made.insert(made.end(), disturbed_.begin(), disturbed_.end());
    return made;
  }

  void step() {
    std::vector<Number> inputs = state_;
    const std::vector<Number> more = others();
    inputs.insert(inputs.end(), more.begin(), more.end());
    std::vector<Number> made = outputs_of(plant_, inputs, A());
    if (loop_.kind == reach::PlantKind::kEuler) {
      const Number h = A::number(loop_.period / std::max<std::size_t>(loop_.substeps, 1));
      for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = A::add(state_[i], A::multiply(h, made[i]));
    }
    state_ = std::move(made);
  }

  // At two times of the segment, of which the first has a symbol of its own; then to its end.
  void integrate_to(const reach::Segment& segment) {
    if constexpr (std::is_same_v<Number, Real>) {
      const mpq_class length = segment.to - segment.from;
      mpq_class at = 0;
      for (const mpq_class& share : {mpq_class(3, 11), mpq_class(29, 31), mpq_class(1)}) {
        const Integrated made =
            integrate(plant_, state_, others(), A::number((share - at) * length));
        if (!(made.error < 0x1p-84)) BF_CHECK(false);
        state_ = made.state;
        at = share;
        if (share == 1) break;
        KnownSymbols<Number> symbols = symbols_;
        symbols.resize(segment_symbols(segment));
        if (!symbols.empty() && symbols.size() > symbols_.size())
          symbols.back() = A::number(2 * share - 1);
        check_state(segment, symbols);
      }
    }
  }
  // The time is the last symbol of all.
  static std::size_t segment_symbols(const reach::Segment& segment) {
    std::size_t most = 0;
    for (const reach::Form& form : segment.state) most = std::max(most, form.slope.size());
    return most;
  }

  const reach::Loop& loop_;
  const reach::Scenario& scenario_;
  Spoiled spoiled_;
  ScalarProgram plant_, controller_, observer_;
  std::vector<Number> state_, computed_, held_, disturbed_;
  KnownSymbols<Number> symbols_;
  double slack_ = 0;
  bool first_ = true;
  std::size_t checks_ = 0, misses_ = 0;
};

struct Compared {
  std::size_t checks = 0, misses = 0;
  bool ended = false;  // the tube ended early
};

// Compares the tube of the whole initial box with runs of these scenarios.
template <class A>
Compared compare(const reach::Flow& flow, const reach::Loop& loop,
                 const std::vector<reach::Scenario>& scenarios, Spoiled spoiled = Spoiled::kNot) {
  struct Visitor : reach::SegmentVisitor {
    bool visit(const reach::Segment& segment, const std::vector<reach::Form>&) override {
      for (Run<A>& run : runs) run.see(segment);
      return true;
    }
    std::vector<Run<A>> runs;
  } visitor;
  for (const reach::Scenario& scenario : scenarios)
    visitor.runs.emplace_back(loop, scenario, spoiled);
  Compared made;
  made.ended = flow.run(loop.initial, visitor).has_value();
  for (const Run<A>& run : visitor.runs) {
    made.checks += run.checks();
    made.misses += run.misses();
  }
  return made;
}

}  // namespace bf_aot::soundness
