#include "planner/search/search_domains.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/search/meter.h"

namespace bf_aot {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Plans that are less looser than this count as equally tight.
constexpr double kTolerance = 1e-3;
constexpr double kMostExhaustive = 4096;

// One search: its space, what it has measured, and where the answer goes.
class Session {
 public:
  Session(PlanState& state, SearchSpace space)
      : plan_(state.plan),
        config_(state.plan.config),
        space_(std::move(space)),
        meter_(state, space_),
        landscape_(
            space_.options(), [this](const Candidate& c) { return meter_.measure(c); },
            [this] { return meter_.may_measure(); }) {}

  const SearchSpace& space() const { return space_; }
  Landscape& landscape() { return landscape_; }
  const Metrics& metrics(const Candidate& c) { return landscape_.measure(c); }

  Candidate find(const Goal& goal) {
    switch (config_.search.kind) {
      case SearchKind::kGreedy:
        return landscape_.climb(goal, 1);
      case SearchKind::kBeam:
        return landscape_.climb(goal, config_.search.beam_width);
      case SearchKind::kExhaustive:
        return landscape_.exhaust(goal);
    }
    BF_CHECK(!"a SearchKind");
    return {};
  }

  // Puts the answer into the plan.
  void take(const Candidate& chosen, std::string_view pass, std::string goal);

 private:
  struct Alternative {
    Domain domain;
    std::string difference;  // to the choice
  };
  // The other options of an axis, as far as they were measured.
  std::vector<Alternative> alternatives(const Candidate& chosen, std::size_t axis);
  void forget_rejected();
  void reject_methods(const Candidate& chosen);

  Plan& plan_;
  const PlannerConfig& config_;
  SearchSpace space_;
  Meter meter_;
  Landscape landscape_;
};

std::string percent(double share) {
  return fmt::format("{:.2g} %", 100 * share);
}

// "takes 3 us more, 2 % tighter" of `other` against `base`.
std::string difference(const Metrics& other, const Metrics& base) {
  const double seconds = other.seconds - base.seconds;
  std::string text =
      fmt::format("{} {}", duration_text(std::fabs(seconds)), seconds < 0 ? "faster" : "slower");
  if (!std::isfinite(other.looseness) || !(base.looseness > 0))
    return text + (other.looseness > base.looseness ? ", infinitely wide" : ", as tight");
  const double looser = other.looseness / base.looseness - 1;
  if (looser == 0) return text + ", as tight";
  return text +
         fmt::format(", {} {}", percent(std::fabs(looser)), looser > 0 ? "looser" : "tighter");
}

std::string kind_text(const SearchConfig& config) {
  if (config.kind != SearchKind::kBeam) return std::string(to_string(config.kind));
  return fmt::format("beam of {}", config.beam_width);
}

std::vector<Session::Alternative> Session::alternatives(const Candidate& chosen, std::size_t axis) {
  const Decision& decision = space_.decisions[axis];
  std::vector<Alternative> list;
  for (int option = 0; option < static_cast<int>(decision.options.size()); ++option) {
    Candidate other = chosen;
    if (std::exchange(other[axis], option) == option) continue;
    const Metrics* const known = landscape_.find(other);
    list.push_back({decision.options[static_cast<std::size_t>(option)].domain,
                    known == nullptr ? "not measured" : difference(*known, metrics(chosen))});
  }
  return list;
}

// Drops what assign-domains rejected in the layers that are decided here.
void Session::forget_rejected() {
  for (const Decision& d : space_.decisions) {
    const std::string start = plan_.layer(d.layer).name + ": ";
    std::erase_if(plan_.rejected, [&](const Rejected& r) {
      return r.slot == "domain" && r.candidate.starts_with(start);
    });
  }
}

void Session::reject_methods(const Candidate& chosen) {
  std::vector<std::pair<std::string_view, Candidate>> methods = {{"crown-ibp", space_.crown_ibp()},
                                                                 {"crown", space_.crown()}};
  if (std::ranges::any_of(space_.decisions, &Decision::head))
    methods.emplace_back("ibp", space_.ibp());
  if (space_.alpha_crown() != space_.crown())
    methods.emplace_back("alpha-crown", space_.alpha_crown());
  for (const auto& [name, candidate] : methods) {
    if (candidate == chosen) continue;
    plan_.rejected.push_back({"domain", fmt::format("all layers as {}", name),
                              difference(metrics(candidate), metrics(chosen))});
  }
}

void Session::take(const Candidate& chosen, std::string_view pass, std::string goal) {
  const Metrics taken = metrics(chosen);
  forget_rejected();
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < space_.decisions.size(); ++i) {
    const Layer& layer = plan_.layer(space_.decisions[i].layer);
    reasons.emplace_back(pass);
    for (const Alternative& other : alternatives(chosen, i)) {
      reasons.back() += fmt::format("; {}: {}", to_string(other.domain), other.difference);
      plan_.rejected.push_back(
          {"domain", fmt::format("{}: {}", layer.name, to_string(other.domain)), other.difference});
    }
  }
  reject_methods(chosen);
  apply(space_, chosen, plan_);
  for (std::size_t i = 0; i < reasons.size(); ++i)
    plan_.domain(space_.decisions[i].layer).reason = reasons[i];
  SearchSummary& summary = plan_.search.emplace();
  summary.pass = pass;
  summary.kind = kind_text(config_.search);
  summary.goal = std::move(goal);
  summary.looseness_of = meter_.method();
  summary.candidates = landscape_.size();
  summary.measured = static_cast<std::int64_t>(landscape_.known().size());
  summary.complete = !landscape_.was_cut();
  summary.seconds = taken.seconds;
  summary.looseness = taken.looseness;
  summary.compile_seconds = taken.compile;
  summary.bytes = static_cast<std::int64_t>(taken.bytes);
}

// ---- auto

struct Budgets {
  Metrics limits = Goal::no_limits();
  std::string text;  // "within 3 us and 1024 bytes"
};

Budgets budgets_of(const PlannerConfig& config) {
  Budgets made;
  const auto add = [&](double Metrics::*metric, double limit, const std::string& text) {
    if (limit <= 0) return;
    made.limits.*metric = limit;
    made.text += (made.text.empty() ? ", within " : " and ") + text;
  };
  const SearchConfig& search = config.search;
  add(&Metrics::seconds, search.time_budget, duration_text(search.time_budget));
  add(&Metrics::bytes, static_cast<double>(config.memory_budget),
      fmt::format("{} bytes", config.memory_budget));
  add(&Metrics::looseness, search.looseness_target,
      fmt::format("{:.6g} times crown's width", search.looseness_target));
  return made;
}

// A number as an option takes it, not smaller than x, of three digits.
std::string rounded_up(double x) {
  const double unit = std::pow(10, std::floor(std::log10(x)) - 2);
  return fmt::format("{:.3g}", std::ceil(x / unit) * unit);
}

// The least budget for one metric that some plan keeps, with the other budgets as they are, as an
// option of the command; empty if there is none.
std::string least_that_works(Session& session, const Metrics& limits, double Metrics::*metric,
                             const char* option) {
  if ((limits.*metric) == kInf) return {};
  Metrics weights{0, 0, 0, 0}, others = limits;
  weights.*metric = 1;
  others.*metric = kInf;
  const Goal goal(weights, others);
  const Metrics& best = session.metrics(session.find(goal));
  if (goal.excess(best) > 0) return {};
  const double least = best.*metric;
  if (!(std::isfinite(least))) return {};
  const std::string number =
      metric == &Metrics::bytes ? fmt::format("{:.0f}", least) : rounded_up(least);
  return fmt::format("{} {}", option, number);
}

[[noreturn]] void fail_budgets(Session& session, const Budgets& budgets) {
  std::string hint;
  const std::pair<double Metrics::*, const char*> all[] = {
      {&Metrics::seconds, "--time-budget"},
      {&Metrics::bytes, "--memory-budget"},
      {&Metrics::looseness, "--looseness-target"}};
  for (const auto& [metric, option] : all) {
    const std::string works = least_that_works(session, budgets.limits, metric, option);
    if (!works.empty()) hint += (hint.empty() ? "the smallest that works: " : ", or ") + works;
  }
  if (hint.empty())
    hint = "no single budget is to blame: leave one out to see what the others need";
  fail("BF2140", "--method auto", "no plan was found" + budgets.text, hint);
}

struct Answer {
  Candidate candidate;
  std::string goal;
};

// Climbs for trade-offs between the metrics that budgets limit and looseness, from the tightest
// on: with a budget the best plan is often near one of these, and far from single methods.
void tour(Session& session, const Metrics& limits) {
  for (const double weight : {0.25, 1.0, 4.0}) {
    if (limits.seconds < kInf || limits.looseness < kInf)
      session.find(Goal::trade_off({weight, 0, 1, 0}));
    if (limits.bytes < kInf) session.find(Goal::trade_off({0, weight, 1, 0}));
  }
}

Answer by_objective(Session& session, const Objective& objective, const Budgets& budgets) {
  const Metrics& crown = session.metrics(session.space().crown());
  const Metrics weights = {objective.time / crown.seconds, objective.memory / crown.bytes,
                           objective.looseness, objective.compile / crown.compile};
  return {session.find(Goal(weights, budgets.limits)),
          fmt::format("{:g} time + {:g} memory + {:g} looseness + {:g} compile time, relative to "
                      "crown's{}",
                      objective.time, objective.memory, objective.looseness, objective.compile,
                      budgets.text)};
}

Answer fastest(Session& session, const Budgets& budgets) {
  return {session.find(Goal({1, 0, 0, 0}, budgets.limits)), "fastest" + budgets.text};
}

Answer tightest_then_fastest(Session& session, const PlannerConfig& config, Budgets budgets) {
  const Candidate tightest = session.find(Goal({0, 0, 1, 0}, budgets.limits));
  const Metrics& best = session.metrics(tightest);
  if (Goal({}, budgets.limits).excess(best) > 0) return {tightest, {}};
  const double tolerance = is_enabled(config, "tighten-selectively") ? kTolerance : 0;
  budgets.limits.looseness = best.looseness * (1 + tolerance);
  return {session.find(Goal({1, 0, 0, 0}, budgets.limits)),
          fmt::format("tightest{}, then fastest of what is at most {} looser", budgets.text,
                      percent(tolerance))};
}

Answer answer(Session& session, const PlannerConfig& config, const Budgets& budgets) {
  if (config.search.objective) return by_objective(session, *config.search.objective, budgets);
  if (config.search.looseness_target > 0) return fastest(session, budgets);
  return tightest_then_fastest(session, config, budgets);
}

void check_size(const SearchConfig& config, const SearchSpace& space) {
  double size = 1;
  for (const int n : space.options()) size *= n;
  if (config.kind == SearchKind::kExhaustive && size > kMostExhaustive)
    fail("BF2141", "--search exhaustive",
         fmt::format("there are {:g} candidates, more than {:g}", size, kMostExhaustive),
         "use --search beam, or give --row-tile so that tiles are not searched");
}

}  // namespace

void search_domains(PlanState& state) {
  const PlannerConfig& config = state.plan.config;
  if (config.method != Method::kAuto) return;
  SearchSpace space = make_space(state.plan);
  if (space.decisions.empty()) return;
  check_size(config.search, space);
  Session session(state, std::move(space));
  for (const Candidate& method : {session.space().ibp(), session.space().crown_ibp(),
                                  session.space().crown(), session.space().alpha_crown()})
    session.landscape().start_from(method);
  const Budgets budgets = budgets_of(config);
  if (config.search.kind != SearchKind::kExhaustive) tour(session, budgets.limits);
  Answer found = answer(session, config, budgets);
  if (Goal({}, budgets.limits).excess(session.metrics(found.candidate)) > 0)
    fail_budgets(session, budgets);
  session.take(found.candidate, "auto", std::move(found.goal));
}

void tighten_selectively(PlanState& state) {
  const PlannerConfig& config = state.plan.config;
  if (config.method != Method::kCrown || state.options.samples.empty()) return;
  SearchSpace space = make_space(state.plan);
  space.tiles.clear();
  std::erase_if(space.decisions, [](const Decision& d) { return d.head; });
  if (space.decisions.empty()) return;
  Session session(state, std::move(space));
  session.landscape().start_from(session.space().crown());
  Metrics limits = Goal::no_limits();
  limits.looseness = session.metrics(session.space().crown()).looseness * (1 + kTolerance);
  const Goal goal({1, 0, 0, 0}, limits);
  session.take(session.landscape().climb(goal, 1), "selective",
               fmt::format("fastest that is at most {} looser than crown", percent(kTolerance)));
}

}  // namespace bf_aot
