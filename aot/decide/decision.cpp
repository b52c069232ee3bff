#include "aot/decide/decision.h"

#include <algorithm>
#include <utility>

#include "aot/decide/cases.h"
#include "aot/decide/decide.h"
#include "aot/host/progress.h"
#include "frontend/vnnlib/vnnlib.h"

namespace bf_aot::cli {
namespace {

// From where on the interval method pays for its own verifier: cases, elements of tensors.
constexpr std::size_t kManyCases = 32;
constexpr std::int64_t kManyElements = 20'000;

// Seconds that boxes are split before the search for a counterexample.
constexpr double kFirstBranching = 1;

// Elements of all tensors: what decides whether the backward method is a matter of seconds.
std::int64_t tensor_elements(const Graph& graph) {
  std::int64_t count = 0;
  for (const Value& value : graph.values) count += element_count(value.shape);
  return count;
}

std::vector<Method> methods_of(const DecisionSettings& settings, const Graph& graph,
                               std::size_t cases) {
  if (settings.method) return {*settings.method};
  if (cases >= kManyCases || tensor_elements(graph) >= kManyElements)
    return {Method::kIbp, Method::kCrown};
  return {Method::kCrown};
}

class Decision {
 public:
  Decision(const Sampler& network, const Property& property, const DecisionSettings& settings,
           const DecisionCalls& calls)
      : network_(network),
        property_(property),
        settings_(settings),
        calls_(calls),
        cases_(property) {}

  Outcome run() {
    outcome_.cases = cases_.count();
    const auto methods = methods_of(settings_, network_.graph(), cases_.count());
    const double branching = is_branchable(property_) ? settings_.branch_seconds : 0;
    for (const Method method : methods) {
      if (is_over()) break;
      apply(method, method == methods.back() ? branching : 0);
    }
    outcome_.verified_cases = cases_.verified_count();
    if (outcome_.verified_cases == outcome_.cases) outcome_.answer = Answer::kVerified;
    if (outcome_.witness) outcome_.answer = Answer::kFalsified;
    outcome_.stopped = !is_decided() && calls_.stop();
    outcome_.seconds = stopwatch_.seconds();
    return std::move(outcome_);
  }

 private:
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

  void apply(Method method, double branching) {
    const Stopwatch making;
    network_.release();
    const DecisionVerifier made = calls_.make_verifier(method, branching > 0);
    const HostVerifier& verifier = *made.host;
    outcome_.make_seconds += making.seconds();
    outcome_.methods.emplace_back(to_string(method));
    if (made.plan->config.semantics == Semantics::kFloat32Exact) check_.use_evaluation(&verifier);
    const Stopwatch deciding;
    verify_cases(verifier, cases_, calls_.stop, case_progress(DecisionPhase::kBound));
    const double first =
        settings_.search_seconds > 0 ? std::min(branching, kFirstBranching) : branching;
    branch(verifier, *made.plan, first);
    if (outcome_.methods.size() == 1) search(verifier);
    if (branching > first) branch(verifier, *made.plan, branching);
    outcome_.decide_seconds += deciding.seconds();
    check_.use_evaluation(nullptr);
  }

  void branch(const HostVerifier& verifier, const Plan& plan, double seconds) {
    if (is_over() || seconds <= 0) return;
    const auto progress = [this](std::uint64_t boxes, double proven) {
      DecisionProgress of;
      of.phase = DecisionPhase::kSplit;
      of.boxes = boxes;
      of.proven = proven;
      calls_.progress(of);
    };
    const auto found = branch_and_bound(verifier, plan, property_, cases_, seconds, calls_.stop,
                                        progress, outcome_.branched);
    // Of functions without rational values the check may leave open what bounds prove.
    if (found) outcome_.witness = check_.prove(found->property_case, found->x);
  }

  void search(const HostVerifier& verifier) {
    if (is_over()) return;
    outcome_.witness = falsify(verifier, property_, cases_, check_, settings_.search_seconds,
                               calls_.stop, case_progress(DecisionPhase::kSearch));
  }

  const Stopwatch stopwatch_;
  const Sampler& network_;
  const Property& property_;
  const DecisionSettings& settings_;
  const DecisionCalls& calls_;
  WitnessCheck check_{property_, network_};
  Cases cases_;
  Outcome outcome_;
};

}  // namespace

Outcome decide(const Sampler& network, const Property& property, const DecisionSettings& settings,
               const DecisionCalls& calls) {
  check_interface(property, network.graph());
  return Decision(network, property, settings, calls).run();
}

}  // namespace bf_aot::cli
