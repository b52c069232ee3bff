#include "aot/reach/search/reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "aot/decide/tree/tree_search.h"
#include "aot/reach/search/cells.h"
#include "aot/reach/search/demands.h"
#include "aot/reach/search/falsify.h"
#include "aot/reach/search/simulate.h"
#include "aot/reach/tube/flow.h"
#include "aot/system/progress.h"
#include "frontend/sha256.h"

namespace bf_aot::reach {
namespace {

namespace tree = decide::tree;

// The shares of the time that simulations have: before cells are split, and behind them.
constexpr double kFirstShare = 0.1, kLastShare = 0.2;
constexpr double kTubeShare = 0.1;      // and the tube that is shown with an answer
constexpr std::size_t kSamples = 40;    // trajectories that are shown
constexpr std::size_t kWorstCells = 8;  // where the last simulations begin
// Simulations before cells are split, and descents of each requirement: where one of those ends
// above 0, the others mostly do.
constexpr std::size_t kFirstRuns = 2000, kFirstDescents = 2;
constexpr std::size_t kLastRuns = 20000, kLastDescents = 100;
constexpr double kKeepSeconds = 10;  // between two writes of a file that keeps the cells
constexpr double kAccuracy = 1e-6;   // of simulations
constexpr std::size_t kCoarsest = 4;

// Passes a tube on while nothing asks for an end, and says how far it is.
class Watched : public SegmentVisitor {
 public:
  Watched(SegmentVisitor& to, system::Stop stop, std::function<void(std::size_t period)> tell)
      : to_(to), stop_(std::move(stop)), tell_(std::move(tell)) {}

  bool visit(const Segment& segment, const std::vector<Form>& initial) override {
    tell_(segment.period);
    if (stop_()) {
      stopped_at_ = segment.period;
      return false;
    }
    return to_.visit(segment, initial);
  }
  std::optional<std::size_t> stopped_at() const { return stopped_at_; }

 private:
  SegmentVisitor& to_;
  const system::Stop stop_;
  const std::function<void(std::size_t)> tell_;
  std::optional<std::size_t> stopped_at_;
};

class ReachSearch {
 public:
  ReachSearch(const Question& question, const ReachSettings& settings, const ReachCalls& calls)
      : question_(question),
        settings_(settings),
        calls_(calls),
        stop_(calls.stop.within(settings.seconds)),
        flow_(question.loop,
              choose_plan(question.loop, question.loop.substeps, settings.order, settings.symbols),
              settings.compile, settings.compiler) {}

  ReachOutcome run() {
    if (question_.requirements.empty())
      bound();
    else
      decide();
    outcome_.order = flow_.plan().order;
    outcome_.substeps = flow_.plan().substeps;
    outcome_.symbols = flow_.plan().symbols;
    add_samples();
    outcome_.cells_bounded += results_.bounded();
    outcome_.cells = results_.cells();
    outcome_.seconds = stopwatch_.seconds();
    return std::move(outcome_);
  }

 private:
  // Computes a tube of the whole box, unless something asks for an end.
  std::optional<FlowEnd> run_whole(SegmentVisitor& visitor, const system::Stop& stop) {
    Watched watched(visitor, stop, [this](std::size_t period) { calls_.progress({1, 0, period}); });
    std::optional<FlowEnd> end = flow_.run(question_.loop.initial, watched);
    results_.count();
    if (const auto period = watched.stopped_at(); period && !end) {
      const mpq_class time = question_.loop.period * mpq_class(*period);
      end = FlowEnd{*period, time, time, "the time is over, or an end was asked for", {}};
    }
    return end;
  }

  // The tube of the whole box, as far as it goes.
  void bound() {
    choose_better_plan();
    if (settings_.least_cells > 1) {
      split();
      if (outcome_.answer == ReachAnswer::kVerified) outcome_.answer = ReachAnswer::kBounded;
      if (outcome_.answer != ReachAnswer::kUnknown) return;
    }
    Pieces pieces;
    const std::optional<FlowEnd> end = run_whole(pieces, stop_);
    outcome_.tube = std::move(pieces.made);
    outcome_.answer = end ? ReachAnswer::kUnknown : ReachAnswer::kBounded;
    if (end)
      outcome_.obstacle = Obstacle{
          end->period, end->from, end->to, {}, end->reason, end->state, question_.loop.initial};
  }

  // Computes that tube beside an answer, in little time more.
  void show_tube() {
    Pieces pieces;
    (void)run_whole(pieces, calls_.stop.within(1 + kTubeShare * settings_.seconds));
    outcome_.tube = std::move(pieces.made);
  }

  void decide() {
    // Parts and files are about a tree, which begins with the whole box.
    if (!settings_.kept && settings_.least_cells <= 1 && is_proven_whole()) return;
    if (falsify({}, kFirstShare, kFirstRuns, kFirstDescents)) return;
    choose_better_plan();
    if (!stop_()) split();
    if (outcome_.answer == ReachAnswer::kVerified) return;
    if (falsify(worst_cells(), kLastShare, kLastRuns, kLastDescents)) return;
    outcome_.obstacle = results_.obstacle();
    show_tube();
  }

  // Ends a little after the time that the answer has: what is shown beside it is simulated then.
  const Simulation& simulation() {
    if (!simulation_) simulation_.emplace(question_, kAccuracy, kCoarsest, late_);
    return *simulation_;
  }

  void add_samples() {
    try {
      outcome_.samples = sample(simulation(), kSamples, 1);
    } catch (const Simulation::Stopped&) {
      // The answer is shown without them.
    }
  }

  void choose_better_plan() {
    const bool continuous = question_.loop.kind == PlantKind::kContinuous;
    const FreePlan free{continuous && question_.loop.substeps == 0,
                        continuous && settings_.order == 0};
    flow_ = flow_.twin(best_plan(flow_, free, stop_));
  }

  // One tube often is enough.
  bool is_proven_whole() {
    Demands demands(question_.requirements);
    Pieces pieces;
    Together both(demands, pieces);
    const std::optional<FlowEnd> end = run_whole(both, stop_);
    if (end || demands.failure()) return false;
    results_.add_closed(question_.loop.initial, pieces.made);
    outcome_.answer = ReachAnswer::kVerified;
    outcome_.closed = 1;
    outcome_.tube = std::move(pieces.made);
    return true;
  }

  std::unique_ptr<CellWorker> make_worker() {
    const int depth = std::bit_width(std::max<std::size_t>(settings_.least_cells, 1) - 1);
    return std::make_unique<CellWorker>(question_, flow_.twin(), results_,
                                        static_cast<std::uint32_t>(depth));
  }

  void split() {
    const std::vector<std::byte> root = bytes_of(question_.loop.initial);
    state_ = tree::start_of({root});
    std::optional<KeptCells> kept;
    if (settings_.kept) {
      kept.emplace(*settings_.kept, identity(), root, *make_worker());
      state_ = kept->state();
      kept->save(state_);
    }
    run_tree(kept);
    outcome_.closed = tree::closed_part(state_);
    outcome_.open_cells = state_.open.size();
    if (!tree::is_verified(state_)) return;
    outcome_.answer = ReachAnswer::kVerified;
    // Cells that were closed in an earlier run have no tubes here.
    if (!kept || !kept->goes_on()) outcome_.tube = results_.tube();
  }

  // A tree that is kept is searched for some seconds at a time, and written between.
  void run_tree(std::optional<KeptCells>& kept) {
    tree::TreeSearch search(settings_.jobs, [this](std::size_t) { return make_worker(); });
    tree::TreeCalls calls;
    calls.stop = stop_;
    calls.progress = [this](const tree::TreeProgress& progress) {
      calls_.progress({progress.nodes, progress.closed, 0});
    };
    const double seconds =
        (1 - kLastShare) * std::max(0.0, settings_.seconds - stopwatch_.seconds());
    const system::Stopwatch stopwatch;
    for (;;) {
      tree::TreeLimits limits;
      limits.seconds = std::max(0.0, seconds - stopwatch.seconds());
      if (kept) limits.seconds = std::min(limits.seconds, kKeepSeconds);
      limits.nodes = settings_.most_cells - std::min(settings_.most_cells, results_.bounded());
      const tree::TreeEnd end = search.run(state_, limits, calls);
      if (kept) kept->save(state_);
      if (end != tree::TreeEnd::kTime || calls.stop() || stopwatch.seconds() >= seconds) return;
    }
  }

  // Names all that a cell's fate depends on besides the models: times, boxes, the demands as they
  // were typed, and the plan.
  std::string identity() const {
    const FlowPlan& plan = flow_.plan();
    std::string text = fmt::format("cells of {} states, order {}, substeps {}, symbols {}, {}",
                                   question_.loop.states(), plan.order, plan.substeps, plan.symbols,
                                   static_cast<int>(plan.reduction));
    text += fmt::format("; libm {:a}", settings_.compile.float32.libm_ulps);
    for (const std::string& name : question_.loop.state_names) text += "; " + name;
    const Loop& loop = question_.loop;
    text += fmt::format("; {} periods of {}, kind {}, delayed {}", loop.steps,
                        loop.period.get_str(), static_cast<int>(loop.kind), loop.delayed);
    for (std::size_t i = 0; i < loop.states(); ++i)
      text += fmt::format("; {:a} {:a}", loop.initial.lower[i], loop.initial.upper[i]);
    for (const Disturbance& each : loop.disturbances) {
      text += "; " + each.name + fmt::format(" changes {}", static_cast<int>(each.changes));
      for (std::size_t i = 0; i < each.box.lower.size(); ++i)
        text += fmt::format(" {:a} {:a}", each.box.lower[i], each.box.upper[i]);
    }
    for (const Bounded& each : loop.first_control)
      text += fmt::format("; {:a} {:a}", each.value, each.error);
    for (const Requirement& each : question_.requirements)
      text += "; " + each.text + " from " + each.from.get_str() + " to " + each.to.get_str();
    return sha256(text);
  }

  std::vector<Box> worst_cells() const {
    std::vector<Box> cells;
    for (const tree::Node& node : state_.open)
      if (cells.size() < kWorstCells) cells.push_back(cell_of(node.state));
    if (results_.obstacle()) cells.push_back(results_.obstacle()->cell);
    return cells;
  }

  // Searches a start that breaks a requirement, and proves that it does by the tube of that start.
  bool falsify(std::vector<Box> cells, double share, std::size_t runs, std::size_t descents) {
    FalsifySettings settings;
    settings.cells = std::move(cells);
    settings.most_runs = runs;
    settings.most_descents = descents;
    settings.stop = stop_.within(share * settings_.seconds);
    std::optional<Violation> violation;
    try {
      const auto proves = [this](const Candidate& candidate) { return prove(candidate); };
      violation = reach::falsify(simulation(), settings, proves).violation;
    } catch (const Simulation::Stopped&) {
      return false;
    }
    if (!violation) return false;
    outcome_.answer = ReachAnswer::kFalsified;
    outcome_.violation = std::move(violation);
    show_tube();
    return true;
  }

  Box typed_start(const Scenario& scenario) const {
    const Loop& loop = question_.loop;
    Box made;
    for (std::size_t i = 0; i < scenario.start.size(); ++i) {
      const Range value = typed_value(loop.initial, loop.inner, i, scenario.start[i]);
      made.lower.push_back(value.low);
      made.upper.push_back(value.high);
    }
    return made;
  }

  std::vector<std::vector<double>> typed_disturbances(const Scenario& scenario) const {
    std::vector<std::vector<double>> made = scenario.disturbances;
    for (std::vector<double>& period : made) {
      std::size_t place = 0;
      for (const Disturbance& each : question_.loop.disturbances)
        for (std::size_t i = 0; i < each.box.lower.size(); ++i, ++place)
          period[place] = typed_value(each.box, each.inner, i, period[place]).low;
    }
    return made;
  }

  std::optional<Violation> prove(const Candidate& candidate) {
    const Scenario& scenario = candidate.scenario;
    Breaches breaches(question_.requirements);
    Pieces pieces;
    Together both(breaches, pieces);
    Watched watched(both, late_, [](std::size_t) {});
    (void)flow_.run(typed_start(scenario), watched, &scenario.disturbances);
    ++outcome_.cells_bounded;
    if (!breaches.breach()) return std::nullopt;
    Violation made;
    made.requirement = breaches.breach()->requirement;
    made.from = breaches.breach()->from;
    made.to = breaches.breach()->to;
    made.start = typed_start(scenario).lower;
    made.disturbances = typed_disturbances(scenario);
    made.trajectory = std::move(pieces.made);
    return made;
  }

  const system::Stopwatch stopwatch_;
  const Question& question_;
  const ReachSettings& settings_;
  const ReachCalls& calls_;
  const system::Stop stop_;
  Flow flow_;
  const system::Stop late_ = calls_.stop.within(1 + (1 + kTubeShare) * settings_.seconds);
  std::optional<Simulation> simulation_;
  CellResults results_;
  tree::TreeState state_;
  ReachOutcome outcome_;
};

}  // namespace

ReachOutcome reach(const Question& question, const ReachSettings& settings,
                   const ReachCalls& calls) {
  return ReachSearch(question, settings, calls).run();
}

}  // namespace bf_aot::reach
