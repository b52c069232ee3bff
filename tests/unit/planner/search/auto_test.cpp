#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "frontend/diagnostic.h"
#include "frontend/import/file/importer.h"
#include "frontend/passes/pipeline.h"
#include "planner/manifest/plan_json.h"
#include "planner/planner.h"
#include "planner/reference/executor.h"

// Method auto and the passes that choose domains on sample boxes.
namespace bf_aot {
namespace {

// A chain of dense layers, all but the last with a ReLU; weights in [-1, 1].
Graph chain(const std::vector<std::int64_t>& widths, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  Graph graph;
  ValueId value = graph.add_value("x", {1, widths[0]});
  graph.inputs = {value};
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const std::string name = "fc" + std::to_string(i);
    Affine affine{{{widths[i], widths[i - 1]}, {}, {}}, {{widths[i]}, {}, {}}};
    for (std::int64_t k = 0; k < widths[i] * widths[i - 1]; ++k)
      affine.weight.data.push_back(static_cast<float>(number(random)));
    for (std::int64_t k = 0; k < widths[i]; ++k)
      affine.bias.data.push_back(static_cast<float>(number(random)));
    const ValueId z = graph.add_value(name, {1, widths[i]});
    graph.nodes.push_back({affine, {value}, z, "Gemm '" + name + "'"});
    value = z;
    if (i + 1 == widths.size()) break;
    value = graph.add_value("relu" + std::to_string(i), {1, widths[i]});
    graph.nodes.push_back({Relu{}, {z}, value, "Relu 'relu" + std::to_string(i) + "'"});
  }
  graph.outputs = {value};
  return graph;
}

const std::vector<std::int64_t> kWidths = {4, 16, 16, 16, 3};

Box box_of(std::size_t count, double radius) {
  return {std::vector<double>(count, -radius), std::vector<double>(count, radius)};
}

PlannerConfig config_of(Method method) {
  PlannerConfig config;
  config.method = method;
  config.target = find_target("x86-64-v3");
  return config;
}

Plan make(const Graph& graph, const PlannerConfig& config, double radius = 0.25) {
  PlanOptions options;
  if (radius > 0) options.samples = {box_of(4, radius)};
  return plan(graph, {}, "net", false, config, options);
}

Plan automatic(const Graph& graph, const SearchConfig& search, std::int64_t memory = 0) {
  PlannerConfig config = config_of(Method::kAuto);
  config.search = search;
  config.memory_budget = memory;
  return make(graph, config);
}

double width(const Plan& plan, double radius = 0.25) {
  const Box box = box_of(4, radius);
  const auto bounds =
      reference::execute(plan, *plan.find_entry(EntryKind::kBounds), box.lower, box.upper);
  double sum = 0;
  for (std::size_t i = 0; i < bounds.lower.size(); ++i) sum += bounds.upper[i] - bounds.lower[i];
  return sum;
}

std::vector<Domain> domains(const Plan& plan) {
  std::vector<Domain> list;
  for (const DomainChoice& choice : plan.domains) list.push_back(choice.domain);
  return list;
}

TEST(Auto, WithoutBudgetsIsAsTightAsAnySingleMethod) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Graph graph = chain(kWidths, seed);
    const Plan found = automatic(graph, {});
    for (const Method method :
         {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown})
      EXPECT_LE(width(found), width(make(graph, config_of(method))) * 1.0011) << seed;
    ASSERT_TRUE(found.search);
    EXPECT_TRUE(found.search->complete);
    EXPECT_EQ(found.search->pass, "auto");
    EXPECT_EQ(found.search->looseness_of, "mean width on the 1 box given");
  }
}

TEST(Auto, KeepsATimeBudgetAndIsTheTighterTheLargerItIs) {
  const Graph graph = chain(kWidths, 7);
  const Plan free = automatic(graph, {});
  double last = 0;
  for (const double share : {1.0, 0.1, 0.02, 0.01, 0.005}) {
    SearchConfig search;
    search.kind = SearchKind::kExhaustive;
    search.time_budget = free.search->seconds * share;
    Plan found;
    try {
      found = automatic(graph, search);
    } catch (const CompileError&) {
      continue;
    }
    EXPECT_LE(found.search->seconds, search.time_budget);
    EXPECT_GE(found.search->looseness, last);
    last = found.search->looseness;
  }
  EXPECT_GT(last, 1.01);  // some budget had an effect
}

TEST(Auto, MeetsALoosenessTargetWithTheFastestPlan) {
  const Graph graph = chain(kWidths, 7);
  SearchConfig search;
  search.looseness_target = 3;
  const Plan loose = automatic(graph, search);
  search.looseness_target = 1;
  const Plan tight = automatic(graph, search);
  EXPECT_LE(loose.search->looseness, 3);
  EXPECT_LE(tight.search->looseness, 1);
  EXPECT_LT(loose.search->seconds, tight.search->seconds);
  EXPECT_LE(width(loose), 3 * width(make(graph, config_of(Method::kCrown))) * 1.0001);
}

// What a diagnostic names as the smallest value of an option.
std::string option_in(const std::string& text, const std::string& option) {
  const std::size_t at = text.find(option + " ");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + option.size() + 1;
  return text.substr(begin, text.find(',', begin) - begin);
}

std::string hint_of(const Graph& graph, const SearchConfig& search, std::int64_t memory = 0) {
  try {
    automatic(graph, search, memory);
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF2140");
    return error.diagnostics().at(0).hint;
  }
  ADD_FAILURE() << "planned";
  return "";
}

TEST(Auto, AnImpossibleTimeBudgetNamesTheSmallestThatWorks) {
  const Graph graph = chain(kWidths, 9);
  SearchConfig search;
  search.time_budget = 1e-12;
  const std::string least = option_in(hint_of(graph, search), "--time-budget");
  ASSERT_NE(least, "");
  search.time_budget = std::stod(least);
  EXPECT_LE(automatic(graph, search).search->seconds, search.time_budget);
  search.time_budget *= 0.98;
  EXPECT_EQ(option_in(hint_of(graph, search), "--time-budget"), least);
}

TEST(Auto, AnImpossibleLoosenessTargetNamesTheSmallestThatWorks) {
  const Graph graph = chain(kWidths, 9);
  SearchConfig search;
  search.looseness_target = 0.25;
  const std::string least = option_in(hint_of(graph, search), "--looseness-target");
  ASSERT_NE(least, "");
  search.looseness_target = std::stod(least);
  EXPECT_LE(automatic(graph, search).search->looseness, search.looseness_target);
}

TEST(Auto, ConflictingBudgetsNameBothWaysOut) {
  const Graph graph = chain(kWidths, 9);
  SearchConfig search;
  search.looseness_target = 1;
  search.time_budget = 0.6 * automatic(graph, search).search->seconds;
  const std::string hint = hint_of(graph, search);
  const std::string time = option_in(hint, "--time-budget");
  const std::string looseness = option_in(hint, "--looseness-target");
  ASSERT_NE(time, "");
  ASSERT_NE(looseness, "");
  SearchConfig slower = search, looser = search;
  slower.time_budget = std::stod(time);
  looser.looseness_target = std::stod(looseness);
  EXPECT_LE(automatic(graph, slower).search->looseness, 1);
  EXPECT_LE(automatic(graph, looser).search->seconds, search.time_budget);
}

TEST(Auto, AnObjectiveWeighsItsMetrics) {
  const Graph graph = chain(kWidths, 11);
  SearchConfig search;
  search.objective = Objective{1, 0, 0, 0};
  const Plan fast = automatic(graph, search);
  EXPECT_TRUE(fast.intervals_only());
  EXPECT_NE(fast.search->goal.find("1 time"), std::string::npos);
  search.objective = Objective{0, 0, 1, 0};
  const Plan tight = automatic(graph, search);
  EXPECT_LE(tight.search->looseness, 1);
  search.objective = Objective{0, 1, 0, 0};
  EXPECT_LE(automatic(graph, search).search->bytes, fast.search->bytes);
}

TEST(Auto, SearchesAgreeOnASmallNetwork) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Graph graph = chain({4, 12, 12, 12, 3}, seed);
    for (const double target : {1.0, 1.5, 5.0}) {
      std::vector<Plan> plans;
      for (const SearchKind kind :
           {SearchKind::kGreedy, SearchKind::kBeam, SearchKind::kExhaustive}) {
        SearchConfig search;
        search.kind = kind;
        search.looseness_target = target;
        plans.push_back(automatic(graph, search));
      }
      EXPECT_EQ(domains(plans[0]), domains(plans[2])) << seed << " greedy, " << target;
      EXPECT_EQ(domains(plans[1]), domains(plans[2])) << seed << " beam, " << target;
      EXPECT_LE(plans[0].search->measured, plans[2].search->measured);
    }
  }
}

TEST(Auto, IsDeterministic) {
  const Graph graph = chain(kWidths, 13);
  SearchConfig search;
  search.kind = SearchKind::kBeam;
  EXPECT_EQ(to_json(automatic(graph, search)).dump(), to_json(automatic(graph, search)).dump());
}

TEST(Auto, RefusesToExhaustALargeSpace) {
  SearchConfig search;
  search.kind = SearchKind::kExhaustive;
  const std::vector<std::int64_t> deep(16, 4);
  try {
    automatic(chain(deep, 1), search);
    FAIL() << "planned";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().at(0).code, "BF2141");
  }
}

TEST(Auto, RefusesSampleBoxesOfAnotherSize) {
  PlannerConfig config = config_of(Method::kAuto);
  PlanOptions options;
  options.samples = {box_of(5, 1)};
  for (const Method method : {Method::kAuto, Method::kCrown}) {
    config.method = method;
    try {
      plan(chain(kWidths, 1), {}, "net", false, config, options);
      FAIL() << "planned";
    } catch (const CompileError& error) {
      EXPECT_EQ(error.diagnostics().at(0).code, "BF2142");
    }
  }
}

TEST(Auto, SaysOnWhatItComparedPlans) {
  const Plan found = make(chain(kWidths, 3), config_of(Method::kAuto), 0);
  EXPECT_NE(found.search->looseness_of.find("a box around 0 of radius 2^"), std::string::npos);
  EXPECT_NE(found.search->looseness_of.find("no box or property was given"), std::string::npos);
}

TEST(Auto, GivesReasonsForWhatItTookAndRejected) {
  const Plan found = make(chain(kWidths, 3), config_of(Method::kAuto));
  int reasons = 0, rejected = 0;
  for (const DomainChoice& choice : found.domains)
    reasons += choice.reason.starts_with("auto; ") ? 1 : 0;
  for (const Rejected& r : found.rejected) {
    if (r.slot != "domain") continue;
    ++rejected;
    EXPECT_NE(r.reason, "");
    EXPECT_EQ(r.reason.find("not measured"), std::string::npos) << r.candidate;
  }
  EXPECT_EQ(reasons, 3);   // one layer is affine in the box
  EXPECT_GE(rejected, 6);  // an alternative for each layer, and whole methods
}

TEST(Auto, OptimisesSlopesOnlyWhereTimeAllowsIt) {
  const Graph graph = chain(kWidths, 7);
  const auto optimised = [](const Plan& plan) {
    return std::ranges::count(domains(plan), Domain::kOptimised);
  };
  const Plan free = automatic(graph, {});
  EXPECT_GT(optimised(free), 0);
  EXPECT_LT(width(free), width(make(graph, config_of(Method::kCrown))));
  PlannerConfig crown = config_of(Method::kCrown);
  crown.disabled_passes = {"tighten-selectively"};
  double seconds = 0;
  const Plan by_crown = make(graph, crown);
  for (const Task& task : by_crown.find_entry(EntryKind::kBounds)->tasks)
    seconds += task.predicted_seconds;
  SearchConfig search;
  search.time_budget = 1.01 * seconds;
  const Plan fast = automatic(graph, search);
  EXPECT_EQ(optimised(fast), 0);
  EXPECT_LE(fast.search->looseness, 1.0011);
}

// Slopes of a large layer's rows take long to try: those of heads are measured alone, then with
// fewer iterations, then not at all.
TEST(Auto, SaysWhenOptimisedSlopesWereTooDearToMeasure) {
  const auto said = [](std::int64_t width, std::int64_t outputs) {
    return automatic(chain({4, width, width, width, width, outputs}, 3), {}).search->looseness_of;
  };
  EXPECT_EQ(said(16, 10), "mean width on the 1 box given");
  const std::string fewer = said(160, 20), none = said(256, 1000);
  EXPECT_NE(fewer.find("iterations of optimised slopes"), std::string::npos) << fewer;
  EXPECT_NE(none.find("optimised slopes were left out"), std::string::npos) << none;
}

// ---- margins

Plan with_margin(const Graph& graph, Method method, double radius, const MarginClauses& clauses) {
  PlanOptions options;
  options.samples = {box_of(4, radius)};
  options.margins = {clauses};
  return plan(graph, {}, "net", false, config_of(method), options);
}

// Backward rows that tighten bounds which the property does not ask for are left out.
TEST(Margins, OnlyBoundsThatArePartOfTheMarginCount) {
  // Two networks side by side: outputs 0 and 1 of layers of their own.
  const auto split = [](int part) {
    Graph graph = chain({4, 16, 16, 2}, 7);
    // The other output does not depend on the hidden layers: its row is 0.
    auto& last = std::get<Affine>(graph.nodes.back().op);
    for (int k = 0; k < 16; ++k) last.weight.data[static_cast<std::size_t>(part * 16 + k)] = 0;
    return graph;
  };
  for (const int part : {0, 1}) {
    const Graph graph = split(part);
    const auto hidden = [&](std::size_t row) {
      const Plan found = with_margin(graph, Method::kCrown, 0.25, {{{row, false, 0}}});
      EXPECT_NE(found.search->looseness_of.find("the property's margin"), std::string::npos);
      return std::ranges::count(domains(found), Domain::kBackward);
    };
    const auto constant = static_cast<std::size_t>(part),
               other = static_cast<std::size_t>(1 - part);
    EXPECT_EQ(hidden(constant), 1) << "only the head, of which selective tightening keeps rows";
    EXPECT_EQ(hidden(other), 2);
  }
}

TEST(Margins, AreThoseOfTheWorstClauseByItsBestBound) {
  const Graph graph = chain(kWidths, 7);
  const auto looseness = [&](const MarginClauses& clauses) {
    PlannerConfig config = config_of(Method::kAuto);
    config.search.objective = Objective{1, 0, 0, 0};  // intervals
    PlanOptions options;
    options.samples = {box_of(4, 0.25)};
    options.margins = {clauses};
    return plan(graph, {}, "net", false, config, options).search->looseness;
  };
  const double first = looseness({{{0, false, 0}}}), second = looseness({{{1, true, 0}}});
  EXPECT_GT(first, 1);
  EXPECT_GT(second, 1);
  // A limit that is hard to pass makes its clause the worst, and its bound no help in a clause.
  EXPECT_EQ(looseness({{{0, false, 1e9}}, {{1, true, 0}}}), looseness({{{0, false, 1e9}}}));
  EXPECT_EQ(looseness({{{0, false, 0}, {1, true, 1e9}}}), first);
  EXPECT_EQ(looseness({}), 1) << "nothing is to be shown";
}

TEST(Auto, WithoutTheSearchIsCrown) {
  const Graph graph = chain(kWidths, 5);
  PlannerConfig config = config_of(Method::kAuto);
  config.disabled_passes = {"search"};
  const Plan found = make(graph, config);
  EXPECT_FALSE(found.search);
  EXPECT_EQ(domains(found), domains(make(graph, config_of(Method::kCrown), 0)));
}

TEST(TightenSelectively, KeepsIntervalsWhereBackwardBoundsDoNotMatter) {
  // On a tiny box every neuron of the later layers is stable but for a few: tightening moves
  // nothing.
  const Graph graph = chain(kWidths, 4);
  const Plan all = make(graph, config_of(Method::kCrown), 0);
  const Plan some = make(graph, config_of(Method::kCrown), 0x1p-12);
  EXPECT_FALSE(all.search);
  ASSERT_TRUE(some.search);
  EXPECT_EQ(some.search->pass, "selective");
  EXPECT_NE(domains(some), domains(all));
  EXPECT_LE(width(some, 0x1p-12), width(all, 0x1p-12) * 1.0011);
  EXPECT_EQ(some.domains.back().domain, Domain::kBackward);
  PlannerConfig config = config_of(Method::kCrown);
  config.disabled_passes = {"tighten-selectively"};
  EXPECT_EQ(domains(make(graph, config, 0x1p-12)), domains(all));
}

TEST(TightenSelectively, LeavesOtherMethodsAlone) {
  const Graph graph = chain(kWidths, 4);
  for (const Method method : {Method::kIbp, Method::kCrownIbp})
    EXPECT_EQ(make(graph, config_of(method), 0x1p-12).domains,  // predicted times may differ
              make(graph, config_of(method), 0).domains);
}

}  // namespace
}  // namespace bf_aot
