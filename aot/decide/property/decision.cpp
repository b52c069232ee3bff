#include "aot/decide/property/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "aot/decide/boxes/nearest_inside.h"
#include "aot/decide/property/cases.h"
#include "aot/decide/search/bounds_and_points.h"
#include "aot/decide/tree/shared_stop.h"
#include "aot/engine/run/pool.h"
#include "aot/engine/run/recording.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/engine/verifier/stopped_calls.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/property/derived_values.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/network/split_network.h"
#include "planner/plan/plan.h"
#include "planner/split_neurons.h"

namespace bf_aot::decide {
namespace {

// A short search comes before tighter bounds, once bounds have taken kFirstSearch seconds. It lasts
// as long, or this share of all seconds before it.
constexpr double kFirstSearch = 0.2;
constexpr double kFirstShare = 0.25;
constexpr double kCheapBounds = 0.05;
// Seconds of the first turn of splits, and the search that follows a turn as a share of it, by one
// thread and by several.
constexpr double kFirstTurn = 1;
constexpr double kSearchShare = 0.5, kSharedSearchShare = 0.25;
// Seconds that neurons are split in a turn, as a share of those that boxes were split before it.
constexpr double kNeuronShare = 0.5;
// Share of the time for splits in which the difference of two networks is bounded first.
constexpr double kPairShare = 0.1;
// Share of the time for splits that may be spent on optimising the slopes of neurons that maxima
// are written as.
constexpr double kOptimisedShare = 0.25;

// A larger number of elements of all layers leaves out gradients of points, which take 200 bytes
// for each.
constexpr std::int64_t kMostGradientElements = 4'000'000;

// Whether neurons could be split with CompileOptions::max_as_relu alone.
bool has_maxima_to_split(const Plan& plan) {
  return plan.config.semantics == Semantics::kReal && can_split_but_for_maxima(plan) &&
         !can_split_neurons(plan);
}

// Predicted seconds of bounds of the rows on one box, the same for any number of threads.
double seconds_of_one_thread(const Plan& plan) {
  double seconds = 0;
  for (const Task& task : plan.find_entry(EntryKind::kSpecBounds)->tasks)
    seconds += task.predicted_seconds;
  return seconds;
}

class Decision {
 public:
  Decision(const Sampler& network, const Property& property, const DecisionSettings& settings,
           const DecisionCalls& calls)
      : network_(network),
        whole_(property),
        settings_(settings),
        calls_(calls),
        fixed_(inputs_to_fix(property, settings)) {
    if (fixed_) check_.place_by(&*fixed_);
  }

  Outcome run() {
    outcome_.cases = cases_.count();
    stopped_calls_.run([this] {
      if (settings_.tree_only)
        decide_by_tree();
      else
        decide_by_all();
    });
    outcome_.verified_cases = cases_.verified_count();
    if (outcome_.verified_cases == outcome_.cases) outcome_.answer = Answer::kVerified;
    if (outcome_.witness) {
      outcome_.witness = check_.shortened(*outcome_.witness);
      outcome_.answer = Answer::kFalsified;
    }
    outcome_.stopped = !is_decided() && calls_.stop();
    outcome_.seconds = stopwatch_.seconds();
    return std::move(outcome_);
  }

 private:
  // Throws: BF3020.
  void decide_by_tree() {
    const bool branches = is_branchable(property_);
    DecisionMethod method = {Method::kCrown, AlphaRows::kOutputs, branches};
    if (settings_.method)
      method.method = *settings_.method;
    else if (!branches)
      method = {Method::kAlphaCrown, AlphaRows::kAll};
    make(method);
    if (branches)
      begin(branches_, made_);
    else if (!begin_neurons())
      fail("BF3020", property_.file_name,
           fmt::format("nothing is split: more than {} inputs vary, and the network is not made of "
                       "affine layers, products, ReLUs, functions and, in real arithmetic, maxima",
                       kMostBranchedInputs));
    if (settings_.search_seconds > 0) search(std::min(settings_.search_seconds, kFirstTurn));
    if (branches)
      branch(settings_.branch_seconds);
    else
      split(settings_.branch_seconds);
  }

  void decide_by_all() {
    const bool branches = is_branchable(property_) && settings_.branch_seconds > 0;
    const auto methods = methods_of(settings_, network_.graph(), cases_.count(), branches);
    for (const DecisionMethod& method : methods) {
      const bool timed = !settings_.method && method.alpha == AlphaRows::kAll;
      // Bounds of both networks are faster, and optimised ones are not.
      if (method.method == Method::kAlphaCrown) begin_other();
      if (is_over() || (timed && !has_time_for_all())) break;
      if (!settings_.method && method.method == Method::kAlphaCrown && !can_choose_lines())
        continue;
      bound(method);
      // A violation that is easily found needs no bounds that take longer. Where boxes are split,
      // points of them are tried, too, and most properties need no more, unless each takes long.
      const bool cheap = outcome_.decide_seconds < kCheapBounds;
      const bool due = branches ? bounding_ > kFirstSearch : !cheap || &method == &methods.back();
      if (searches_ == 0 && due)
        search(std::min(settings_.search_seconds,
                        std::max(kFirstSearch, kFirstShare * stopwatch_.seconds())));
    }
    begin_other();
    split_and_search(branches);
  }

  // Returns true if rows of the last method's plan pass layers whose lines they could choose: else
  // alpha-crown gives the same bounds.
  bool can_choose_lines() const {
    return made_.plan != nullptr && std::ranges::any_of(made_.plan->layers, has_choices);
  }

  bool is_decided() const {
    return outcome_.witness.has_value() || cases_.verified_count() == cases_.count();
  }
  bool is_over() const { return is_decided() || calls_.stop(); }

  CaseProgress case_progress(DecisionPhase phase) const {
    return [this, phase](std::size_t done, std::size_t count) {
      DecisionProgress progress;
      progress.phase = phase;
      progress.done = done;
      progress.count = count;
      calls_.progress(progress);
    };
  }

  // Makes the verifier of this method. Inputs that the property fixes are folded into it.
  DecisionVerifier verifier_of(const DecisionMethod& method) {
    NetworkForm form;
    if (fixed_) form.fixed = &*fixed_;
    form.ordered = ordered_.has_value();
    DecisionVerifier made = calls_.make_verifier(method, form);
    BF_CHECK(made.plan->input_count == property_.input_count);
    // In a company a process that leaves its work would keep the others waiting.
    if (calls_.company == nullptr) stopped_calls_.include(*made.host);
    return made;
  }

  // Makes the verifier of this method the one that is called from now on.
  void make(const DecisionMethod& method) {
    const system::Stopwatch making;
    network_.release();
    searchers_.clear();
    check_.use_evaluation(nullptr);
    branches_.reset();
    neurons_.reset();
    made_ = verifier_of(method);
    if (made_.plan->config.semantics == Semantics::kFloat32Exact)
      check_.use_evaluation(made_.host.get());
    outcome_.make_seconds += making.seconds();
    outcome_.methods.push_back(method);
  }

  // Bounds the open cases by a method.
  void bound(const DecisionMethod& method) {
    make(method);
    const system::Stopwatch deciding;
    const auto exact = ExactBoxes::make(property_, *made_.plan);
    verify_cases(*made_.host, exact ? &*exact : nullptr, cases_, calls_.stop,
                 case_progress(DecisionPhase::kBound));
    bounding_ = deciding.seconds();
    decide_points();
    if (exact) try_corners();
    outcome_.decide_seconds += deciding.seconds();
  }

  // Decides cases of one point there, in exact arithmetic: bounds of floats enclose a limit that
  // the point meets, and plain evaluation may be beyond a jump.
  void decide_points() {
    if (made_.plan->config.semantics != Semantics::kReal) return;
    for (std::size_t i = 0; i < whole_.cases.size() && !calls_.stop(); ++i) {
      const PropertyCase& one = whole_.cases[i];
      if (!is_point(one) || cases_.is_verified(i)) continue;
      outcome_.witness = check_.prove(i, one.box.lower);
      if (outcome_.witness) return;
      if (check_.refutes(i, one.box.lower)) cases_.mark_verified(i);
    }
  }

  // Proves a counterexample at a corner of a case's exact box, if one is there. The corners are
  // tried once.
  void try_corners() {
    if (tried_corners_ || outcome_.witness) return;
    tried_corners_ = true;
    for (std::size_t i = 0; i < whole_.cases.size() && !calls_.stop(); ++i) {
      if (cases_.is_verified(i)) continue;
      for (const std::vector<double>& corner : corners_that_no_double_is(whole_.cases[i]))
        if (outcome_.witness = check_.prove(i, corner); outcome_.witness) return;
    }
  }

  // Predicts that optimising the rows of all layers ends in time: it takes as long as optimising
  // the outputs' rows, times how many more tiles hidden layers have. That is an overestimate, since
  // their rows pass fewer layers, and stable neurons have no rows. By the cost model, since a clock
  // would choose another way on a machine that is busy.
  bool has_time_for_all() const {
    const Plan& plan = *made_.plan;
    double rows = 0, outputs = 1;
    for (const LayerId id : plan.layer_ids()) {
      const Layer& layer = plan.layer(id);
      if (plan.is_head(id))
        outputs = std::max(outputs, static_cast<double>(layer.out));
      else if (layer.is_affine() && (layer.relu || layer.function))
        rows += layer.out;
    }
    constexpr double kTile = 16;  // rows of a tile, about
    const double once = seconds_of_one_thread(plan);
    const auto open = static_cast<double>(cases_.count() - cases_.verified_count());
    return open * once * (rows / kTile) / std::ceil(outputs / kTile) <= settings_.bound_seconds;
  }

  SplitCalls branch_calls(DecisionPhase phase) {
    SplitCalls calls;
    calls.prove = [this](std::size_t property_case, const std::vector<double>& x) {
      return check_.prove(property_case, x);
    };
    calls.stop = calls_.stop;
    calls.progress = [this, phase](std::uint64_t nodes, double proven) {
      DecisionProgress of;
      of.phase = phase;
      of.nodes = nodes;
      of.proven = proven;
      calls_.progress(of);
    };
    calls.save = calls_.save_tree;
    calls.company = calls_.company;
    return calls;
  }

  template <class Search>
  void begin(std::optional<Search>& search, const DecisionVerifier& verifier) {
    search.emplace(*verifier.host, *verifier.plan, cases_, settings_.jobs);
    calls_.begin_tree(*search);
  }

  void branch(double seconds) {
    if (is_over() || seconds <= 0) return;
    const system::Stopwatch deciding;
    if (!branches_) begin(branches_, made_);
    // The check of a point may leave open what bounds prove, if functions have no rational values.
    outcome_.witness = branches_->run(cases_, seconds, branch_calls(DecisionPhase::kSplit));
    outcome_.branched = branches_->totals();
    outcome_.decide_seconds += deciding.seconds();
  }

  double left_to_split() const {
    return settings_.branch_seconds - outcome_.branched.seconds - outcome_.neurons.seconds -
           outcome_.pairs.seconds;
  }

  // The cases' own boxes come first: bounds of a difference prove much or little.
  void begin_other() {
    if (asked_for_other_ || is_over() || settings_.branch_seconds <= 0) return;
    asked_for_other_ = true;
    const system::Stopwatch making;
    other_ = calls_.make_case_search();
    outcome_.make_seconds += making.seconds();
    pair(kPairShare * std::min(settings_.branch_seconds, settings_.bound_seconds), false);
  }

  void pair(double seconds, bool splits) {
    if (other_ == nullptr || is_over() || seconds <= 0 || other_->is_over()) return;
    const system::Stopwatch deciding;
    CaseCalls calls;
    calls.stop = calls_.stop;
    calls.progress = [this](std::uint64_t boxes, double closed) {
      DecisionProgress of;
      of.phase = DecisionPhase::kPairs;
      of.nodes = boxes;
      of.proven = closed;
      calls_.progress(of);
    };
    other_->run(cases_, seconds, splits, calls);
    outcome_.pairs = other_->totals();
    outcome_.decide_seconds += deciding.seconds();
  }

  // Splitting and searching take turns, each twice as long as the one before. What holds is proven
  // by splits, of boxes or of neurons; what does not is found by either. Where boxes are split,
  // neurons are split, too, since it is not known beforehand which of them ends: from the second
  // turn on, or from the first where conditions speak of inputs, which describe no boxes.
  void split_and_search(bool branches) {
    if (is_over()) return;
    splits_neurons_ = can_split_neurons(*made_.plan) || has_maxima_to_split(*made_.plan);
    for (double turn = kFirstTurn; !is_over(); turn *= 2) {
      if (branches) branch(std::min(turn, left_to_split()));
      if (!branches)
        split(std::min(turn, left_to_split()));
      else if (turn > kFirstTurn || speaks_of_inputs(property_))
        split(std::min(turn * kNeuronShare, left_to_split()));
      pair(std::min(turn * kNeuronShare, left_to_split()), true);
      const bool split_more = (branches || splits_neurons_ || other_ != nullptr) &&
                              left_to_split() > 0 && !is_split_up();
      const double left = settings_.search_seconds - searched_;
      // Search at least once; while splits remain, for at most a share of the turn.
      const double share = settings_.jobs > 1 ? kSharedSearchShare : kSearchShare;
      search(split_more ? std::min(left, turn * share) : left);
      if (!split_more) return;
    }
  }

  // Returns whether no box and no neuron is left to be split.
  bool is_split_up() const {
    return (!branches_ || branches_->is_over()) &&
           (neurons_ ? neurons_->is_over() : !splits_neurons_) &&
           (other_ == nullptr || other_->is_over());
  }

  // The verifier whose neurons are split. It is the last method's, or one of its own where that one
  // has maxima, which are split as ReLUs, or split boxes: intervals of neurons are worth optimised
  // slopes, which bounds of boxes are not.
  const DecisionVerifier& verifier_of_neurons() {
    const bool maxima = has_maxima_to_split(*made_.plan);
    const bool of_boxes = branches_.has_value() && !settings_.method;
    if (!maxima && !of_boxes) return made_;
    DecisionMethod method = outcome_.methods.back();
    if (of_boxes) method = {Method::kAlphaCrown, AlphaRows::kAll};
    method.branches = false;
    method.max_as_relu = maxima;
    make_of_neurons(method);
    outcome_.methods.push_back(method);
    return of_neurons_;
  }

  // Makes the verifier whose neurons are split. A network without maxima has more neurons, whose
  // rows take longer to optimise: their slopes stay as they are where that would take much of the
  // time for splits.
  void make_of_neurons(DecisionMethod& method) {
    const bool timed = method.max_as_relu && method.alpha == AlphaRows::kAll && !settings_.method &&
                       !settings_.tree_only;
    const system::Stopwatch making;
    if (timed) method.alpha = AlphaRows::kOutputs;
    of_neurons_ = verifier_of(method);
    if (timed &&
        optimising_seconds(of_neurons_) <=
            kOptimisedShare * std::min(settings_.branch_seconds, settings_.bound_seconds)) {
      method.alpha = AlphaRows::kAll;
      of_neurons_ = verifier_of(method);
    }
    outcome_.make_seconds += making.seconds();
  }

  // Predicts the seconds that optimised slopes of all rows take on one box, by the cost model as
  // has_time_for_all(): each iteration takes about twice what bounds without them take.
  static double optimising_seconds(const DecisionVerifier& outputs_alone) {
    const Plan& plan = *outputs_alone.plan;
    return seconds_of_one_thread(plan) * 2 * plan.config.iterations;
  }

  // Begins to split neurons; false where there are none to split: maxima remain where the pass that
  // writes them as ReLUs is left out.
  bool begin_neurons() {
    const DecisionVerifier& verifier = verifier_of_neurons();
    splits_neurons_ = can_split_neurons(*verifier.plan);
    if (splits_neurons_) begin(neurons_, verifier);
    return splits_neurons_;
  }

  void split(double seconds) {
    if (is_over() || seconds <= 0 || (!neurons_ && !splits_neurons_)) return;
    const system::Stopwatch deciding;
    if (!neurons_ && !begin_neurons()) return;
    outcome_.witness = neurons_->run(cases_, seconds, branch_calls(DecisionPhase::kNeurons));
    outcome_.neurons = neurons_->totals();
    outcome_.decide_seconds += deciding.seconds();
  }

  // A verifier and gradients for one thread that searches. The first one takes made_.host.
  struct Searcher {
    std::unique_ptr<const engine::HostVerifier> host;
    std::unique_ptr<RowGradients> gradients;
  };

  // The first search is one thread's, so that what is easily found is the same on every run.
  void search(double seconds) {
    if (is_over() || (seconds <= 0 && searches_ > 0)) return;
    const system::Stopwatch deciding;
    const std::size_t workers = searches_ == 0 ? 1 : search_workers();
    while (searchers_.size() < workers) add_searcher();
    std::vector<std::optional<Witness>> found(workers);
    std::mutex proving;
    tree::SharedStop stopped(calls_.stop);
    const PointCheck prove = [&](std::size_t property_case, const std::vector<double>& x) {
      const std::scoped_lock lock(proving);
      return check_.prove(property_case, x);
    };
    const auto stop = [&] { return stopped(); };
    const CaseProgress progress = [&](std::size_t done, std::size_t count) {
      if (stopped.is_asking_thread()) case_progress(DecisionPhase::kSearch)(done, count);
    };
    const auto seek = [&](std::size_t i, std::size_t) {
      const double left = seconds - deciding.seconds();
      if (i > 0 && left <= 0) return;
      const SearchStart start{searches_ + 1 + static_cast<unsigned>(i),
                              searchers_[i].gradients.get()};
      const engine::HostVerifier& host = i == 0 ? *made_.host : *searchers_[i].host;
      found[i] = falsify(evaluation(host), property_, cases_, prove, left, stop, progress, start);
      if (found[i]) stopped.set();
    };
    engine::RoundRecorder round(engine::RoundKind::kSearch);
    round.time([&] { engine::share(workers, workers, seek, stop); });
    searches_ += static_cast<unsigned>(workers);
    const auto first =
        std::ranges::find_if(found, [](const auto& each) { return each.has_value(); });
    if (first != found.end()) outcome_.witness = std::move(*first);
    searched_ += deciding.seconds();
    outcome_.decide_seconds += deciding.seconds();
  }

  void add_searcher() {
    Searcher made;
    if (!searchers_.empty()) made.host = made_.host->twin();
    if (elements() <= kMostGradientElements)
      made.gradients = std::make_unique<RowGradients>(*made_.plan);
    searchers_.push_back(std::move(made));
  }

  // The number of threads that search: at most as many as there is memory for their gradients, and
  // one where the verifier itself judges points.
  std::size_t search_workers() const {
    if (made_.plan->config.semantics == Semantics::kFloat32Exact) return 1;
    const std::int64_t most = std::max<std::int64_t>(kMostGradientElements / elements(), 1);
    return std::min(settings_.jobs, static_cast<std::size_t>(most));
  }

  Evaluation evaluation(const engine::HostVerifier& host) const {
    return [this, &host](const std::vector<float>& point) {
      std::vector<float> y = host.evaluate(point);
      if (whole_.derived.empty()) return y;
      const std::vector<double> given(point.begin(), point.end());
      const std::vector<double> all = derived_values(
          whole_.derived, fixed_ ? fixed_->whole(given) : given, {y.begin(), y.end()});
      return std::vector<float>(all.begin(), all.end());
    };
  }

  std::int64_t elements() const {
    std::int64_t elements = 1;
    for (const Layer& layer : made_.plan->layers) elements += layer.out;
    return elements;
  }

  const system::Stopwatch stopwatch_;
  const Sampler& network_;
  const Property& whole_;
  const DecisionSettings& settings_;
  const DecisionCalls& calls_;
  const std::optional<FixedInputs> fixed_;
  const std::optional<Property> reduced_ =
      fixed_ ? std::optional(with_free_inputs(whole_, *fixed_)) : std::nullopt;
  // The property that verifiers are made for.
  const Property& property_ = reduced_ ? *reduced_ : whole_;
  const std::optional<Sampler> ordered_ = ordered_network(network_, whole_, settings_.real);
  WitnessCheck check_{whole_, network_, ordered_ ? &*ordered_ : nullptr};
  Cases cases_{property_, static_cast<std::size_t>(whole_.input_count)};
  Outcome outcome_;
  engine::StoppedCalls stopped_calls_{calls_.stop};
  DecisionVerifier made_;            // by the last method
  std::vector<Searcher> searchers_;  // by thread, on the plan of made_
  DecisionVerifier of_neurons_;  // where neurons are not split by made_; see verifier_of_neurons()
  bool splits_neurons_ = false;  // there are neurons to split, as far as is known
  std::optional<BranchSearch> branches_;  // on made_
  std::optional<NeuronSearch> neurons_;   // on made_, or on of_neurons_
  std::unique_ptr<CaseSearch> other_;     // null: there is none
  bool tried_corners_ = false;
  bool asked_for_other_ = false;
  unsigned searches_ = 0;
  double searched_ = 0;  // seconds
  double bounding_ = 0;  // seconds of the last method's bounds
};

}  // namespace

Outcome decide(const Sampler& network, const Property& property, const DecisionSettings& settings,
               const DecisionCalls& calls) {
  check_interface(property, network.graph());
  return Decision(network, property, settings, calls).run();
}

}  // namespace bf_aot::decide
