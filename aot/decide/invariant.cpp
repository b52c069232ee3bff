#include "aot/decide/invariant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "aot/decide/differences.h"
#include "aot/decide/mixes.h"
#include "aot/engine/verifier/stopped_calls.h"
#include "aot/system/progress.h"
#include "frontend/numbers/numbers.h"
#include "runtime/bf/core/rounding.h"

namespace bf_aot::decide {
namespace {

constexpr int kStarts = 64;       // where steps begin that are followed
constexpr int kSteps = 64;        // that each is followed for
constexpr double kMargin = 0.05;  // of the box' width, beyond states that were reached
// A box is widened to the bounds of the next state and beyond them, by this share of what they add.
// The share grows by a factor with each round: a state that forgets slowly has a wide invariant
// box, which equal shares would not reach.
constexpr double kWidening = 0.2, kWiden = 1.3;
constexpr double kBeyond = 1e30;  // states that grow so far have no invariant box
constexpr double kLeastQuestion = 0.5;
constexpr double kFollowShare = 0.1;  // of the time, in which steps are followed
constexpr double kFarShare = 0.5;     // of the time, within which boxes are widened by bounds alone

class InvariantSearch {
 public:
  InvariantSearch(const Sampler& network, const ModelInfo& info, const Box& box,
                  const std::vector<StateElement>& state, const Request& request,
                  const InvariantSettings& settings, const RequestCalls& calls)
      : network_(network),
        info_(info),
        first_(box),
        state_(state),
        request_(request),
        settings_(settings),
        calls_(calls) {
    for (const ValueId id : network.graph().outputs)
      outputs_ += element_count(network.graph().value(id).shape);
    made_.box = box;
    round_state();
  }

  Invariant run() {
    follow_steps();
    const Method method = request_.method.value_or(Method::kCrown);
    // Evaluation in float32 may round a mix to beyond what it is a mix of.
    if (request_.compile.planner.semantics == Semantics::kReal)
      mixed_.emplace(network_.graph(), info_, request_, method);
    else
      host_ = make_host(network_.graph(), info_, request_, method);
    stopped_calls_.include(mixed_ ? mixed_->host() : *host_);
    stopped_calls_.run([this] { search(); });
    made_.seconds = stopwatch_.seconds();
    return std::move(made_);
  }

 private:
  // Boxes that are widened by bounds: before any is decided, and beyond these, where a state that
  // forgets slowly has a box that is far larger.
  static constexpr int kBoundsAlone = 24, kFar = 24;

  void search() {
    widen_by_bounds(kBoundsAlone);
    if (!made_.found) {
      // Where bounds lead nowhere, decisions begin with the box before.
      const Box box = made_.box;
      const double widening = widening_;
      if (left() > kFarShare * settings_.seconds) widen_by_bounds(kFar);
      if (!made_.found) {
        made_.box = box;
        widening_ = widening;
      }
    }
    while (!made_.found && !is_over() && is_finite()) {
      ++made_.rounds;
      if (holds_by_bounds())
        made_.found = made_.by_bounds = true;
      else
        decide_box();
    }
    if (made_.found) shrink();
  }

  void widen_by_bounds(int most) {
    for (int round = 0; round < most && !is_over() && is_finite(); ++round) {
      ++made_.rounds;
      if (holds_by_bounds()) {
        made_.found = made_.by_bounds = true;
        return;
      }
      widen(bounds_);
    }
  }

  double left() const { return settings_.seconds - stopwatch_.seconds(); }
  bool is_over() const { return stop_(); }
  bool follows() const { return !is_over() && left() > (1 - kFollowShare) * settings_.seconds; }

  bool is_finite() const {
    return std::ranges::all_of(state_, [&](const StateElement& each) {
      return made_.box.lower[each.input] > -kBeyond && made_.box.upper[each.input] < kBeyond;
    });
  }

  // The state's ends as float32 numbers, so that a verifier bounds this box and no larger one.
  void round_state() {
    for (const StateElement& each : state_) {
      double &low = made_.box.lower[each.input], &high = made_.box.upper[each.input];
      low = static_cast<double>(bf::float_down(low));
      high = static_cast<double>(bf::float_up(high));
    }
  }

  // The hull of the box and an interval of a state's element, and a share of what that adds.
  void extend(std::size_t input, double low, double high, double margin) {
    double &lower = made_.box.lower[input], &upper = made_.box.upper[input];
    if (low < lower) lower = low - margin * (lower - low);
    if (high > upper) upper = high + margin * (high - upper);
  }

  // Holds states that are reached from points of the first box.
  void follow_steps() {
    std::vector<std::vector<double>> points = Sampler::points(float_box(first_), kStarts, 1);
    const std::vector<std::vector<double>> drives = Sampler::points(float_box(first_), kSteps, 2);
    Box reached = made_.box;
    for (std::vector<double>& x : points)
      for (int step = 0; step < kSteps && follows(); ++step) {
        std::vector<Bounded> input;
        for (std::size_t i = 0; i < x.size(); ++i) input.push_back({x[i], 0});
        const std::vector<Bounded> y = network_.outputs(input);
        x = drives.empty() ? x : drives[static_cast<std::size_t>(step) % drives.size()];
        bool known = true;
        for (const StateElement& each : state_) {
          const double next = y[each.output].value;
          known = known && std::fabs(next) < kBeyond;
          if (!known) break;
          x[each.input] = next;
          reached.lower[each.input] = std::min(reached.lower[each.input], next);
          reached.upper[each.input] = std::max(reached.upper[each.input], next);
        }
        if (!known) break;
      }
    for (const StateElement& each : state_) {
      const double margin = kMargin * (reached.upper[each.input] - reached.lower[each.input]);
      made_.box.lower[each.input] =
          std::min(made_.box.lower[each.input], reached.lower[each.input] - margin);
      made_.box.upper[each.input] =
          std::max(made_.box.upper[each.input], reached.upper[each.input] + margin);
    }
    round_state();
  }

  bool contains(const engine::Bounds& bounds, const Box& box) const {
    return std::ranges::all_of(state_, [&](const StateElement& each) {
      return static_cast<double>(bounds.lower[each.output]) >= box.lower[each.input] &&
             static_cast<double>(bounds.upper[each.output]) <= box.upper[each.input];
    });
  }

  engine::Bounds bounds_of(const Box& box) const {
    return mixed_ ? mixed_->bounds(float_box(box)) : host_->bounds(float_box(box));
  }

  bool holds_by_bounds() {
    bounds_ = bounds_of(made_.box);
    return contains(bounds_, made_.box);
  }

  void widen(const engine::Bounds& bounds) {
    for (const StateElement& each : state_)
      extend(each.input, static_cast<double>(bounds.lower[each.output]),
             static_cast<double>(bounds.upper[each.output]), widening_);
    widening_ *= kWiden;
    round_state();
  }

  // Decides whether the box is invariant; else widens it by the point that leaves it.
  void decide_box() {
    const Outcome outcome =
        decide_within(std::max(left() / 2, kLeastQuestion), network_, info_,
                      obligation(made_.box, state_, outputs_), request_, calls_);
    made_.last = outcome.witness;
    if (outcome.answer == Answer::kVerified) {
      made_.found = true;
    } else if (outcome.witness) {
      for (const StateElement& each : state_) {
        const double next = outcome.witness->y[each.output];
        const double width = made_.box.upper[each.input] - made_.box.lower[each.input];
        extend(each.input, next, next, 0);
        if (next <= made_.box.lower[each.input]) made_.box.lower[each.input] -= kMargin * width;
        if (next >= made_.box.upper[each.input]) made_.box.upper[each.input] += kMargin * width;
      }
      round_state();
    } else {
      widen(bounds_);
    }
  }

  // Takes the hull of the first states and of the bounds of the next ones, which lies in the box,
  // as long as bounds say that no step leaves that either.
  void shrink() {
    const system::Stopwatch stopwatch;
    if (!made_.by_bounds) return;
    while (!is_over() && stopwatch.seconds() < settings_.shrink_seconds) {
      Box box = made_.box;
      for (const StateElement& each : state_) {
        const auto low = static_cast<double>(bounds_.lower[each.output]);
        const auto high = static_cast<double>(bounds_.upper[each.output]);
        box.lower[each.input] =
            std::min(low, static_cast<double>(bf::float_down(first_.lower[each.input])));
        box.upper[each.input] =
            std::max(high, static_cast<double>(bf::float_up(first_.upper[each.input])));
      }
      if (box == made_.box) return;
      const engine::Bounds bounds = bounds_of(box);
      if (!contains(bounds, box)) return;
      ++made_.rounds;
      made_.box = std::move(box);
      bounds_ = bounds;
    }
  }

  const Sampler& network_;
  const ModelInfo& info_;
  const Box& first_;
  const std::vector<StateElement>& state_;
  const Request& request_;
  const InvariantSettings& settings_;
  const RequestCalls& calls_;
  std::int64_t outputs_ = 0;
  std::optional<MixedBounds> mixed_;                  // in real arithmetic
  std::unique_ptr<const engine::HostVerifier> host_;  // else
  engine::Bounds bounds_;                             // of the box
  double widening_ = kWidening;
  const system::Stopwatch stopwatch_;
  const system::Stop stop_ = calls_.stop.within(settings_.seconds);
  engine::StoppedCalls stopped_calls_{stop_};
  Invariant made_;
};

}  // namespace

Invariant find_invariant(const Sampler& network, const ModelInfo& info, const Box& box,
                         const std::vector<StateElement>& state, const Request& request,
                         const InvariantSettings& settings, const RequestCalls& calls) {
  return InvariantSearch(network, info, box, state, request, settings, calls).run();
}

Property obligation(const Box& box, const std::vector<StateElement>& state, std::int64_t outputs) {
  Property made;
  made.file_name = "invariant";
  made.input_count = static_cast<std::int64_t>(box.lower.size());
  made.output_count = outputs;
  made.cases.push_back({box, box, {}, {}});
  for (const StateElement& each : state) {
    const auto row = static_cast<int>(made.rows.size());
    made.rows.push_back({LinearForm{{static_cast<std::int64_t>(each.output), 1}}, {}});
    made.cases[0].clauses.push_back({{row, false, true, mpq_class(box.lower[each.input])}});
    made.cases[0].clauses.push_back({{row, true, true, -mpq_class(box.upper[each.input])}});
  }
  return made;
}

std::string obligation_text(const Box& box, const std::vector<StateElement>& state,
                            std::int64_t outputs) {
  std::string text = "; A step leaves the box of states that bf-aot invariant found: never.\n";
  for (std::size_t i = 0; i < box.lower.size(); ++i)
    text += fmt::format("(declare-const X_{} Real)\n", i);
  for (std::int64_t i = 0; i < outputs; ++i) text += fmt::format("(declare-const Y_{} Real)\n", i);
  for (std::size_t i = 0; i < box.lower.size(); ++i)
    text += fmt::format("(assert (>= X_{} {}))\n(assert (<= X_{} {}))\n", i,
                        vnnlib::exact_text(mpq_class(box.lower[i])), i,
                        vnnlib::exact_text(mpq_class(box.upper[i])));
  text += "(assert (or\n";
  for (const StateElement& each : state)
    text += fmt::format("  (and (< Y_{} {}))\n  (and (> Y_{} {}))\n", each.output,
                        vnnlib::exact_text(mpq_class(box.lower[each.input])), each.output,
                        vnnlib::exact_text(mpq_class(box.upper[each.input])));
  return text + "))\n";
}

}  // namespace bf_aot::decide
