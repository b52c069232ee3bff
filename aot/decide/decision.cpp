#include "aot/decide/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "aot/decide/differences.h"
#include "aot/decide/search/bounds_and_points.h"
#include "aot/decide/search/box_search.h"
#include "aot/decide/search/held_out.h"
#include "aot/decide/search/neuron_search.h"
#include "aot/decide/search/point_search.h"
#include "aot/decide/search/token_search.h"
#include "aot/decide/search/turn.h"
#include "aot/decide/verifiers.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/engine/verifier/stopped_calls.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "planner/network/split_network.h"
#include "planner/plan/plan.h"
#include "planner/split_neurons.h"

namespace bf_aot::decide {
namespace {

// A short search for points comes before tighter bounds, once bounds have taken kFirstSearch
// seconds. It lasts as long, or this share of all seconds before it; half of that where threads
// wait meanwhile, since one of them searches.
constexpr double kFirstSearch = 0.2;
constexpr double kFirstShare = 0.25;
constexpr double kFirstByOneOfMany = 0.5;
constexpr double kCheapBounds = 0.05;
// Seconds of the first round of turns, each round being twice as long as the one before; and the
// search for points that follows a round as a share of it, by one thread and by several.
constexpr double kFirstRound = 1;
constexpr double kPointShare = 0.5, kSharedPointShare = 0.25;
// Seconds that neurons are split in a round, as a share of those that boxes are split; and seconds
// of the search by what is known of the network besides.
constexpr double kNeuronShare = 0.5, kOtherShare = 0.5;
// Share of the time for splits in which that search bounds the cases' own boxes first.
constexpr double kOtherFirstShare = 0.1;
// The open cases from which on their bounds are worth a call of a device.
constexpr std::size_t kManyOfDevice = 32;
// Why boxes are split, and why neurons are.
static_assert(kMostBranchedInputs == 16);
constexpr const char* kOfFewInputs = "at most 16 inputs vary";
constexpr const char* kOfManyInputs = "more than 16 inputs vary";

class Decision {
 public:
  Decision(const Sampler& network, const Property& property, const DecisionSettings& settings,
           const DecisionCalls& calls, const OneHotProperty* tokens)
      : network_(network),
        whole_(property),
        settings_(settings),
        calls_(calls),
        tokens_(tokens),
        fixed_(tokens != nullptr ? std::nullopt : inputs_to_fix(property, settings)) {
    if (fixed_) check_.place_by(&*fixed_);
    check_.keep_in_balls(settings.norm);
    check_.keep_in_range(calls.range);
  }

  Outcome run() {
    outcome_.cases = cases_.count();
    stopped_calls_.run([this] {
      if (tokens_ != nullptr || settings_.tree_only)
        decide_by_tree();
      else
        decide_by_all();
    });
    check_devices();
    outcome_.verified_cases = cases_.verified_count();
    if (outcome_.verified_cases == outcome_.cases) outcome_.answer = Answer::kVerified;
    if (outcome_.witness) {
      if (tokens_ == nullptr) outcome_.witness = check_.shortened(*outcome_.witness);
      outcome_.answer = Answer::kFalsified;
    }
    outcome_.stopped = !is_decided() && calls_.stop();
    if (settings_.says_why && !is_decided()) outcome_.why = why();
    outcome_.methods = verifiers_.methods();
    outcome_.make_seconds += verifiers_.seconds();
    outcome_.seconds = stopwatch_.seconds();
    return std::move(outcome_);
  }

 private:
  // Throws what keeps a device from being ready, unless there is nothing left for it: the question
  // is decided, or a part of a tree searched. Of processes that decide together the first has the
  // answer.
  void check_devices() {
    try {
      verifiers_.check_devices();
      if (asked_node_device_) (void)calls_.ask_node_device();
    } catch (const CompileError& error) {
      const bool answers = calls_.company == nullptr || calls_.company->is_first();
      const bool searched = settings_.tree_only && std::ranges::all_of(turns_, &Turn::is_over);
      if (answers && !is_decided() && !searched) throw;
      outcome_.refused = error.diagnostics();
    }
  }

  // Searches one tree, which does not depend on time. Throws: BF3020.
  void decide_by_tree() {
    Turn& turn = turns_.emplace_back();
    if (!begin_tree(turn)) return;
    double seconds = settings_.branch_seconds;
    if (tokens_ != nullptr)
      seconds += settings_.search_seconds;
    else if (settings_.search_seconds > 0)
      search_points(std::min(settings_.search_seconds, kFirstRound));
    if (calls_.company != nullptr)
      run(*turn.search, {seconds});
    else
      run(turn, {seconds});
  }

  // Makes the search. Returns false where the time was over before: of processes that decide
  // together, for any of them.
  bool begin_tree(Turn& turn) {
    bool ready = true;
    try {
      turn = tokens_ != nullptr ? turn_of_tokens() : turn_of_tree();
      if (turn.make) turn.search = std::exchange(turn.make, nullptr)();
    } catch (const engine::Stopped&) {
      if (calls_.company == nullptr) throw;
      ready = false;
    }
    return calls_.company == nullptr || calls_.company->is_so_for_all(ready);
  }

  Turn turn_of_tokens() {
    for (std::size_t i = 0; i < cases_.count(); ++i)
      if (tokens_->is_empty[i]) cases_.mark_verified(i);
    const auto tokens = [this] {
      make(token_method(settings_));
      return begun(std::make_unique<TokenSearch>(
          verifiers_.last(), *tokens_, cases_,
          [this](std::size_t i, const std::vector<double>& ids) { return refutes_text(i, ids); },
          settings_.jobs));
    };
    return Turn(tokens, "the network reads token ids");
  }

  // The tree of differences, of boxes, or of neurons.
  Turn turn_of_tree() {
    const bool branches = is_branchable(property_);
    DecisionMethod method = {Method::kCrown, AlphaRows::kOutputs, branches};
    if (settings_.method)
      method.method = *settings_.method;
    else if (!branches)
      method = {Method::kAlphaCrown, AlphaRows::kAll};
    make(method);  // which evaluates points, too
    Turn made;
    made.why = "a network of their difference is known";
    made.search = begun(calls_.make_other_search(cases_));
    if (made.search != nullptr) return made;
    made.why = branches ? kOfFewInputs : kOfManyInputs;
    made.search = branches ? boxes() : neurons(false);
    if (made.search == nullptr)
      fail("BF3020", property_.file_name,
           fmt::format("nothing is split: more than {} inputs vary, and the network is not made of "
                       "affine layers, products, ReLUs, functions and, in real arithmetic, maxima",
                       kMostBranchedInputs));
    return made;
  }

  void decide_by_all() {
    const bool branches = may_split_boxes(property_, settings_) && settings_.branch_seconds > 0;
    const auto methods = methods_of(settings_, network_.graph(), cases_.count(), branches);
    for (const DecisionMethod& method : methods) {
      const bool timed = !settings_.method && method.alpha == AlphaRows::kAll;
      // Bounds of both networks are faster, and optimised ones are not.
      if (method.method == Method::kAlphaCrown) begin_other();
      if (is_over() || (timed && !verifiers_.has_time_for_all(cases_.open().size()))) break;
      if (!settings_.method && method.method == Method::kAlphaCrown &&
          !verifiers_.can_choose_lines())
        continue;
      bound(method);
      // A violation that is easily found needs no bounds that take longer. Where boxes are split,
      // points of them are tried, too, and most properties need no more, unless each takes long.
      const bool cheap = outcome_.decide_seconds < kCheapBounds;
      const bool due = branches ? bounding_ > kFirstSearch : !cheap || &method == &methods.back();
      if (!points_.has_run() && due) search_points(first_seconds());
    }
    begin_other();
    take_turns(branches);
  }

  // Returns what the search that has proven most says after its last turn; without a search, what
  // the last method's bounds of the first open case say. It takes a share of the time that remains
  // until a caller that gave a limit loses patience.
  Undecided why() {
    constexpr double kSeconds = 0.25;
    Undecided made;
    Search* best = nullptr;
    double most = -1;
    for (Turn& turn : turns_) {
      if (turn.search == nullptr) continue;
      SearchChoice& choice = made.searches.emplace_back();
      choice.phase = turn.search->phase();
      choice.why = turn.why;
      choice.share = turn.share;
      choice.rule = turn.search->rule();
      choice.totals = turn.search->totals();
      const auto* const split = dynamic_cast<const SplitSearch*>(turn.search.get());
      if (split == nullptr) continue;
      choice.open = split->state.open.size();
      choice.proven = tree::closed_part(split->state);
      if (choice.open == 0 || choice.proven <= most) continue;
      most = choice.proven;
      best = turn.search.get();
    }
    const DecisionVerifier& last = verifiers_.last();
    if (tokens_ != nullptr || last.host == nullptr) return made;
    if (best != nullptr) made.part = best->held_out(kSeconds);
    if (!made.part && bounding_ <= kSeconds && !cases_.open().empty()) {
      const std::size_t index = cases_.open().front();
      const OpenBox whole[] = {{index, 0, cases_.box(index)}};
      made.part =
          most_lacking(*last.plan, *last.host, cases_, whole, DecisionPhase::kBound, kSeconds);
    }
    if (made.part && fixed_ && !made.part->box.lower.empty()) place_fixed(*made.part);
    return made;
  }

  // Adds the inputs that were folded into the network.
  void place_fixed(HeldOut& part) const {
    input::FloatBox whole = float_box(whole_.cases[part.property_case].box);
    for (std::size_t k = 0; k < fixed_->free.size(); ++k) {
      const auto i = static_cast<std::size_t>(fixed_->free[k]);
      whole.lower[i] = part.box.lower[k];
      whole.upper[i] = part.box.upper[k];
    }
    part.box = std::move(whole);
  }

  double first_seconds() const {
    const double alone = std::max(kFirstSearch, kFirstShare * stopwatch_.seconds());
    return std::min(settings_.search_seconds,
                    settings_.jobs > 1 ? kFirstByOneOfMany * alone : alone);
  }

  bool is_decided() const {
    return outcome_.witness.has_value() || cases_.verified_count() == cases_.count();
  }
  bool is_over() const { return is_decided() || calls_.stop(); }

  NetworkForm form() const {
    NetworkForm made;
    if (fixed_) made.fixed = &*fixed_;
    made.ordered = ordered_.has_value();
    return made;
  }

  std::unique_ptr<AwaitedDevice> device_of(const DecisionMethod& method) {
    return std::make_unique<AwaitedDevice>([this, ask = calls_.make_device(method, form())] {
      std::optional<BoxDevice> made = ask();
      if (!made) return made;
      BF_CHECK(made->plan->input_count == property_.input_count);
      if (calls_.company == nullptr) stopped_calls_.include(*made->host);
      return made;
    });
  }

  // Makes a verifier. Inputs that the property fixes are folded into it.
  DecisionVerifier verifier_of(const DecisionMethod& method) {
    DecisionVerifier made = calls_.make_verifier(method, form());
    BF_CHECK(made.plan->input_count == property_.input_count);
    // In a company a process that leaves its work would keep the others waiting.
    if (calls_.company == nullptr) stopped_calls_.include(*made.host);
    return made;
  }

  // Makes the verifier of this method the one that is called from now on.
  void make(const DecisionMethod& method) {
    points_.use(nullptr);
    check_.use_evaluation(nullptr);
    verifiers_.make(method);
    const DecisionVerifier& made = verifiers_.last();
    points_.use(&made);
    if (made.plan->config.semantics == Semantics::kFloat32Exact)
      check_.use_evaluation(made.host.get());
  }

  // Bounds the open cases by a method.
  void bound(const DecisionMethod& method) {
    make(method);
    const DecisionVerifier& made = verifiers_.last();
    const system::Stopwatch deciding;
    const auto exact = ExactBoxes::make(property_, *made.plan);
    const CaseProgress progress = [this](std::size_t done, std::size_t count) {
      calls_.progress({DecisionPhase::kBound, done, count});
    };
    const ExactBoxes* const near = exact ? &*exact : nullptr;
    const bool many = cases_.open().size() >= kManyOfDevice;
    verifiers_.leave(verify_cases(*made.host, near, cases_, calls_.stop, progress,
                                  many ? verifiers_.device_of(method) : nullptr));
    bounding_ = deciding.seconds();
    if (made.plan->config.semantics == Semantics::kReal)
      outcome_.witness = decide_points(whole_, check_, cases_, calls_.stop);
    if (exact && !std::exchange(tried_corners_, true) && !outcome_.witness)
      outcome_.witness = violation_at_corners(whole_, check_, cases_, calls_.stop);
    outcome_.decide_seconds += deciding.seconds();
  }

  // A search of a tree begins where the caller says.
  std::unique_ptr<Search> begun(std::unique_ptr<Search> search) {
    if (auto* const tree = dynamic_cast<SplitSearch*>(search.get())) calls_.begin_tree(*tree);
    return search;
  }
  // The search asks the last verifier; where the question is about balls, one that bounds boxes.
  std::unique_ptr<Search> boxes() {
    const bool balls = settings_.norm != Norm::kLargest;
    const DecisionVerifier& made = balls ? verifiers_.of_boxes() : verifiers_.last();
    AwaitedDevice* const device =
        verifiers_.device_of(balls ? verifiers_.method_of_boxes() : verifiers_.last_method());
    return begun(
        std::make_unique<BoxSearch>(*made.host, *made.plan, cases_, settings_.jobs, device));
  }
  // Null where there are none to split. of_boxes: the last verifier splits boxes.
  std::unique_ptr<Search> neurons(bool of_boxes) {
    const DecisionVerifier& made = verifiers_.of_neurons(of_boxes);
    if (!can_split_neurons(*made.plan)) return nullptr;
    return begun(std::make_unique<NeuronSearch>(made, cases_, settings_.jobs, node_device()));
  }

  AskNodeDevice node_device() {
    if (!calls_.ask_node_device) return nullptr;
    return [this] {
      asked_node_device_ = true;
      return calls_.ask_node_device();
    };
  }

  SearchCalls search_calls() {
    SearchCalls calls;
    calls.prove = [this](std::size_t property_case, const std::vector<double>& x) {
      return tokens_ != nullptr ? prove_text(property_case, x) : check_.prove(property_case, x);
    };
    calls.stop = calls_.stop;
    calls.progress = calls_.progress;
    calls.save = calls_.save_tree;
    calls.company = calls_.company;
    return calls;
  }

  std::optional<Witness> prove_text(std::size_t property_case, const std::vector<double>& ids) {
    const std::scoped_lock lock(checking_);
    return violation_of_text(*tokens_, check_, property_case, ids);
  }
  bool refutes_text(std::size_t property_case, const std::vector<double>& ids) {
    const std::scoped_lock lock(checking_);
    const auto x = tokens_->inputs_of(ids);
    return x && check_.refutes(property_case, *x);
  }

  // A turn of a search. The check of a point may leave open what bounds prove, if functions have no
  // rational values.
  void run(Search& search, const SearchBudget& budget) {
    const system::Stopwatch deciding;
    outcome_.witness = search.run(cases_, budget, search_calls());
    outcome_.searches[static_cast<std::size_t>(search.phase())] = search.totals();
    outcome_.decide_seconds += deciding.seconds();
  }
  void run(Turn& turn, const SearchBudget& budget) {
    if (is_over() || budget.seconds <= 0) return;
    if (turn.make) turn.search = std::exchange(turn.make, nullptr)();
    if (turn.search != nullptr) run(*turn.search, budget);
  }

  void search_points(double seconds) {
    if (is_over() || (seconds <= 0 && points_.has_run())) return;
    run(points_, {seconds});
  }

  // The cases' own boxes come first: bounds of a difference prove much or little.
  void begin_other() {
    if (other_ || is_over() || settings_.branch_seconds <= 0) return;
    const system::Stopwatch making;
    other_.emplace();
    other_->share = kOtherShare;
    other_->why = "it is asked of two tensors that are alike";
    other_->search = calls_.make_other_search(cases_);
    outcome_.make_seconds += making.seconds();
    run(*other_,
        {kOtherFirstShare * std::min(settings_.branch_seconds, settings_.bound_seconds), true});
  }

  // The searches that have turns, in their order. What holds is proven by splits, of boxes or of
  // neurons; what does not is found by either. Where boxes are split, neurons are split, too, since
  // it is not known beforehand which of them ends: from the second round on, or from the first
  // where conditions speak of inputs, which describe no boxes.
  std::vector<Turn> turns(bool splits_last) {
    std::vector<Turn> made;
    const bool branches = splits_last || splits_balls();
    if (branches) made.emplace_back([this] { return boxes(); }, kOfFewInputs);
    const bool second = branches && !speaks_of_inputs(property_);
    const char* const why = !branches ? kOfManyInputs
                            : second  ? "beside boxes, from the second round on"
                                      : "beside boxes, as conditions speak of inputs";
    if (verifiers_.may_split_neurons())
      made.emplace_back([this, splits_last] { return neurons(splits_last); }, why,
                        branches ? kNeuronShare : 1, second);
    if (other_) made.push_back(std::move(*other_));
    return made;
  }

  bool splits_balls() const {
    return settings_.norm != Norm::kLargest && is_branchable(property_) &&
           settings_.branch_seconds > 0;
  }

  double left_to_split() const {
    double seconds = settings_.branch_seconds;
    for (std::size_t i = 0; i < kDecisionPhases; ++i)
      if (i != static_cast<std::size_t>(DecisionPhase::kPoints))
        seconds -= outcome_.searches[i].seconds;
    return seconds;
  }

  void take_turns(bool branches) {
    if (is_over()) return;
    turns_ = turns(branches);
    std::vector<Turn>& turns = turns_;
    for (double round = kFirstRound; !is_over(); round *= 2) {
      for (Turn& turn : turns)
        if (round > kFirstRound || !turn.from_second)
          run(turn, {std::min(round * turn.share, left_to_split())});
      const bool goes_on = left_to_split() > 0 && !std::ranges::all_of(turns, &Turn::is_over);
      const double left = settings_.search_seconds - points_.totals().seconds;
      // Search at least once; while splits remain, for at most a share of the round.
      const double share = settings_.jobs > 1 ? kSharedPointShare : kPointShare;
      search_points(goes_on ? std::min(left, round * share) : left);
      if (!goes_on) return;
    }
  }

  const system::Stopwatch stopwatch_;
  const Sampler& network_;
  const Property& whole_;
  const DecisionSettings& settings_;
  const DecisionCalls& calls_;
  std::atomic<bool> asked_node_device_ = false;
  const OneHotProperty* const tokens_;  // null: the network reads no token ids
  const std::optional<FixedInputs> fixed_;
  const std::optional<Property> reduced_ =
      fixed_ ? std::optional(with_free_inputs(whole_, *fixed_)) : std::nullopt;
  // The property that verifiers are made for.
  const Property& property_ = reduced_ ? *reduced_ : whole_;
  const std::optional<Sampler> ordered_ =
      tokens_ != nullptr ? std::nullopt : ordered_network(network_, whole_, settings_.real);
  WitnessCheck check_{whole_, network_, ordered_ ? &*ordered_ : nullptr};
  std::mutex checking_;  // of texts, by threads that search
  // Points may have the inputs of the whole network, or a token id a position.
  Cases cases_{property_,
               tokens_ != nullptr ? tokens_->one_hot.ids.size()
                                  : static_cast<std::size_t>(whole_.input_count),
               settings_.norm};
  Outcome outcome_;
  engine::StoppedCalls stopped_calls_{calls_.stop};
  DecisionVerifiers verifiers_{
      settings_, [this](const DecisionMethod& each) { return verifier_of(each); },
      calls_.make_device ? [this](const DecisionMethod& each) { return device_of(each); }
                         : DecisionVerifiers::MakeDevice()};
  PointSearch points_{whole_, fixed_ ? &*fixed_ : nullptr, settings_.jobs};
  std::vector<Turn> turns_;
  std::optional<Turn> other_;  // by what is known of the network besides; none: not asked for yet
  bool tried_corners_ = false;
  double bounding_ = 0;  // seconds of the last method's bounds
};

}  // namespace

Outcome run_decision(const Sampler& network, const Property& property,
                     const DecisionSettings& settings, const DecisionCalls& calls) {
  if (network.graph().one_hot.size > 0) {
    const OneHotProperty tokens = property_of_one_hot(property, network.graph());
    return Decision(network, tokens.property, settings, calls, &tokens).run();
  }
  check_interface(property, network.graph());
  return Decision(network, property, settings, calls, nullptr).run();
}

}  // namespace bf_aot::decide
