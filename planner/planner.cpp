#include "planner/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"
#include "planner/cost/cost_model.h"
#include "planner/entries/build_entries.h"
#include "planner/entries/cache/plan_cache.h"
#include "planner/entries/keep_coefficients.h"
#include "planner/entries/live_pixels.h"
#include "planner/entries/share_rows.h"
#include "planner/entries/split_weights.h"
#include "planner/fit_memory.h"
#include "planner/integer/crown_lines.h"
#include "planner/integer/place_codes.h"
#include "planner/integer/read_network.h"
#include "planner/lowering/lowering.h"
#include "planner/lowering/walk.h"
#include "planner/lowering/weight_tables.h"
#include "planner/network/ball_norms.h"
#include "planner/network/build_layers.h"
#include "planner/network/exact_centre.h"
#include "planner/network/live_neurons.h"
#include "planner/network/own_evaluation.h"
#include "planner/network/stride_gathers.h"
#include "planner/plan_batch.h"
#include "planner/search/search_domains.h"
#include "planner/split_neurons.h"
#include "planner/storage/storage.h"
#include "planner/verify/verify.h"

namespace bf_aot {
namespace {

void run_build_layers(PlanState& state) {
  build_layers(state.graph, state.has_spec, state.plan);
}

void run_choose_splits(PlanState& state) {
  choose_splits(state.plan, state.options.samples);
}

void run_exact_centres(PlanState& state) {
  find_exact_centres(state.plan);
}

void run_count_roundings(PlanState& state) {
  count_own_roundings(state.plan);
}

void run_list_live(PlanState& state) {
  list_live_neurons(state.plan);
}

void run_bound_norms(PlanState& state) {
  bound_norms(state.plan, state.options.norms.get());
}

void run_stride_gathers(PlanState& state) {
  stride_gathers(state.plan);
}

void run_weigh_splits(PlanState& state) {
  weigh_splits(state.plan);
}

void run_assign_domains(PlanState& state) {
  assign_domains(state.plan);
}

void run_build_entries(PlanState& state) {
  Plan& plan = state.plan;
  LoweringPlanner lowering(plan);
  if (plan.config.batch > 1 && plan.batch.reason.empty())
    plan.batch.reason = "the pass batch-lanes is left out";
  if (plan.config.workers > 1) plan.parallel.reason = "the pass share-rows is left out";
  build_entries(lowering, plan);
  for (const WeightTable& table : weight_tables(plan))
    if (table.same_as < 0) plan.layout(table.layer).bytes += table.bytes;
}

void run_live_pixels(PlanState& state) {
  list_live_pixels(state.plan);
}

void run_plan_cache(PlanState& state) {
  plan_cache(state.plan);
}

void run_keep_coefficients(PlanState& state) {
  keep_coefficients(state.plan);
}

void run_split_neurons(PlanState& state) {
  split_neurons(state.plan);
}

void run_reuse_in_place(PlanState& state) {
  for (Entry& entry : state.plan.entries) reuse_in_place(entry);
}

void run_share_rows(PlanState& state) {
  share_rows(state.plan);
}

void run_place_buffers(PlanState& state) {
  for (Entry& entry : state.plan.entries) place_apart(entry, state.plan.config.target.align);
}

void run_share_storage(PlanState& state) {
  for (Entry& entry : state.plan.entries) share_storage(entry, state.plan.rejected);
}

// Improves on what the greedy orders found.
void run_search_offsets(PlanState& state) {
  if (!is_enabled(state.plan.config, "share-storage")) return;
  for (Entry& entry : state.plan.entries) search_offsets(entry, state.plan.rejected);
}

void run_build_tasks(PlanState& state) {
  build_tasks(state.plan);
}

void run_count_work(PlanState& state) {
  count_work(state.plan);
}

std::set<KernelId> called_kernels(const Plan& plan) {
  std::set<KernelId> called;
  for (const calls::Program& program : calls::programs_of(plan, weight_tables(plan)))
    calls::for_each_call(program, [&](const calls::Call& call) {
      if (const auto* const kernel = std::get_if<calls::KernelCall>(&call.callee))
        called.insert(kernel->id);
    });
  return called;
}

void run_list_functions(PlanState& state) {
  // Call programs leave some kernels to routines: rows with a window of the box end in one.
  const std::set<KernelId> called = called_kernels(state.plan);
  for (std::size_t i = 0; i < state.plan.kernels.size(); ++i)
    if (!called.contains(static_cast<KernelId>(i)))
      state.plan.kernels[i].code = KernelCode::kRoutine;
  list_functions(state.plan, state.options.property != nullptr);
  state.plan.weight_storage =
      weight_storage_for(state.plan.weights_bytes(), state.plan.config.language);
}

void run_predict_costs(PlanState& state) {
  predict_costs(state.plan, state.options.samples);
}

// PlannerPass::optional
constexpr bool kRequired = false, kOptional = true;

constexpr PlannerPass kPasses[] = {
    {"build-layers", "layers", "make layers of the graph, with the error bounds of their tables",
     kRequired, PlanStage::kLayers, run_build_layers},
    {"choose-splits", "branching", "choose what is split to decide a property", kRequired,
     PlanStage::kLayers, run_choose_splits},
    {"exact-centres", "layers", "find layers whose centres never round", kOptional,
     PlanStage::kLayers, run_exact_centres},
    {"count-roundings", "layers",
     "count the roundings of the verifier's own evaluation (--semantics float32-exact)", kRequired,
     PlanStage::kLayers, run_count_roundings},
    {"bound-norms", "layers", "bound the norms of linear maps, for balls of inputs", kOptional,
     PlanStage::kLayers, run_bound_norms},
    {"stride-gathers", "layout", "read regular gathers by strides instead of tables", kOptional,
     PlanStage::kLayers, run_stride_gathers},
    {"live-neurons", "lowering", "leave neurons that are 0 on the whole box out of dense products",
     kOptional, PlanStage::kLayers, run_list_live},
    {"weigh-splits", "branching",
     "weigh inputs by what they can do to the rows, for branch and bound", kOptional,
     PlanStage::kLayers, run_weigh_splits},
    {"assign-domains", "domain", "choose what is bounded how", kRequired, PlanStage::kDomains,
     run_assign_domains},
    {"search", "domain", "auto: search domains and tiles within the budgets", kOptional,
     PlanStage::kDomains, search_domains},
    {"tighten-selectively", "domain",
     "keep intervals where backward bounds do not move the result on the sample boxes", kOptional,
     PlanStage::kDomains, tighten_selectively},
    {"fit-memory", "storage",
     "keep the memory budget by smaller tiles of rows and relaxations made anew", kOptional,
     PlanStage::kDomains, fit_memory},
    {"batch-lanes", "batch", "compute the boxes of a batch side by side in the lanes of vectors",
     kOptional, PlanStage::kDomains, plan_batch},
    {"build-entries", "lowering", "make the steps, their error terms, kernels and weight layouts",
     kRequired, PlanStage::kEntries, run_build_entries},
    {"live-pixels", "lowering", "let backward rows pass by dead neurons of convolutions", kOptional,
     PlanStage::kEntries, run_live_pixels},
    {"plan-cache", "cache", "make the entries that keep something between calls, and its layout",
     kOptional, PlanStage::kEntries, run_plan_cache},
    {"keep-coefficients", "branching",
     "give the rows' coefficients over the inputs to branch and bound", kOptional,
     PlanStage::kEntries, run_keep_coefficients},
    {"split-neurons", "branching", "give the intervals of neurons to branch and bound over neurons",
     kRequired, PlanStage::kEntries, run_split_neurons},
    {"reuse-in-place", "storage", "let steps overwrite inputs that nothing reads afterwards",
     kOptional, PlanStage::kEntries, run_reuse_in_place},
    {"share-rows", "parallel",
     "let workers share the tiles of backward rows, with scratch of their own", kOptional,
     PlanStage::kEntries, run_share_rows},
    {"place-buffers", "storage", "give every buffer a range of the workspace", kRequired,
     PlanStage::kStorage, run_place_buffers},
    {"share-storage", "storage", "let buffers that never live together share bytes", kOptional,
     PlanStage::kStorage, run_share_storage},
    {"search-offsets", "storage", "search a smaller workspace where there may be one", kOptional,
     PlanStage::kStorage, run_search_offsets},
    {"build-tasks", "tasks", "group steps into tasks with their dependencies", kRequired,
     PlanStage::kTasks, run_build_tasks},
    {"count-work", "cost", "count what steps ask a limit for, where there are several methods",
     kRequired, PlanStage::kTasks, run_count_work},
    {"list-functions", "functions", "list the exported functions and the memory that each asks for",
     kRequired, PlanStage::kTasks, run_list_functions},
    {"predict-costs", "cost", "predict the seconds of tasks and kernels from a machine profile",
     kOptional, PlanStage::kTasks, run_predict_costs},
};

// ---- Arithmetic integer

void run_read_grids(PlanState& state) {
  read_integer_network(state.graph, state.options.property, state.plan);
}

void run_code_lines(PlanState& state) {
  if (state.plan.config.method == Method::kCrown) make_crown(state.plan);
}

void run_place_codes(PlanState& state) {
  list_code_buffers(state.plan);
  for (Entry& entry : state.plan.entries) {
    place_measured(entry, state.plan.config.target.align);
    share_storage(entry, state.plan.rejected);
    search_offsets(entry, state.plan.rejected);
  }
}

void run_list_integer_functions(PlanState& state) {
  list_functions(state.plan, state.options.property != nullptr);
}

constexpr PlannerPass kIntegerPasses[] = {
    {"read-grids", "layers", "make steps over codes of the graph, with exact integer arithmetic",
     kRequired, PlanStage::kLayers, run_read_grids},
    {"code-lines", "domain", "crown: find lines beside the codes of sums, for rows that go back",
     kRequired, PlanStage::kLayers, run_code_lines},
    {"place-codes", "storage", "give every tensor's bounds a range of the workspace", kRequired,
     PlanStage::kStorage, run_place_codes},
    {"list-functions", "functions", "list the exported functions and the memory that each asks for",
     kRequired, PlanStage::kTasks, run_list_integer_functions},
};

void check_disabled(const PlannerConfig& config) {
  for (const std::string& name : config.disabled_passes) {
    const PlannerPass* const pass = find_planner_pass(name);
    if (pass == nullptr)
      fail("BF2001", fmt::format("pass '{}'", name), "there is no such pass",
           "--list-passes prints their names");
    if (!pass->optional)
      fail("BF2104", fmt::format("pass '{}'", name),
           "no plan comes into being without it: it cannot be left out",
           "--list-passes says which passes can");
  }
}

// Parts of a box have balls of their own, which do not cover the box's; a ball in a box within
// another need not lie in the other's.
void check_norm(const PlannerConfig& config, bool has_property) {
  if (config.norm == Norm::kLargest) return;
  const std::string where = fmt::format("--norm {}", to_string(config.norm));
  if (config.method != Method::kCrownIbp && config.method != Method::kCrown &&
      config.method != Method::kAlphaCrown)
    fail("BF2117", where, fmt::format("method {} bounds boxes alone", to_string(config.method)),
         "--method crown-ibp, crown or alpha-crown ends its rows in the ball");
  if (has_property || config.decide)
    fail("BF2117", where, "a property is about boxes", "leave --norm or the property out");
  if (config.reuse.bounds)
    fail("BF2117", where, "--cache cache-bounds keeps bounds of boxes for boxes inside",
         "leave cache-bounds out");
}

// As check_norm(): rows of one-hot inputs end in a routine of their own.
void check_one_hot(const Graph& graph, const PlannerConfig& config, bool has_property) {
  if (graph.one_hot.size == 0) return;
  const std::string where = "sets of token ids";
  if (config.norm != Norm::kLargest)
    fail("BF2117", where, fmt::format("--norm {} is of boxes", to_string(config.norm)),
         "leave --norm out");
  if (config.arithmetic == Arithmetic::kInteger)
    fail("BF2117", where, "arithmetic integer bounds boxes alone", "--arithmetic float");
  if (config.method != Method::kCrownIbp && config.method != Method::kCrown &&
      config.method != Method::kAlphaCrown)
    fail("BF2117", where, fmt::format("method {} bounds boxes alone", to_string(config.method)),
         "--method crown-ibp, crown or alpha-crown ends its rows in the sets");
  if (has_property || config.decide)
    fail("BF2117", where, "a verifier with a property decides boxes alone",
         "bf-aot verify --tokens decides it for all texts");
  if (config.reuse.bounds)
    fail("BF2117", where, "--cache cache-bounds keeps bounds of boxes for boxes inside",
         "leave cache-bounds out");
}

// Entries of several methods are of one box and one worker, and keep nothing between calls.
void check_methods(const PlannerConfig& config) {
  if (config.cheaper.empty()) return;
  const std::string where = "--method " + methods_text(config);
  constexpr Method kOrder[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown,
                               Method::kAlphaCrown};
  const auto* last = std::begin(kOrder);
  for (const Method method : methods_of(config)) {
    const auto* const found = std::find(last, std::end(kOrder), method);
    if (found == std::end(kOrder))
      fail("BF2122", where,
           "methods that go together are ibp, crown-ibp, crown and alpha-crown, "
           "each once, in this order",
           "name some of them, the cheapest first");
    last = found + 1;
  }
  const std::string with = config.language != Language::kCpp           ? "a language besides C++"
                           : config.workers > 1                        ? "--parallel"
                           : config.reuse.any()                        ? "--cache"
                           : config.decide                             ? "--decide"
                           : config.memory_budget > 0                  ? "--memory-budget"
                           : config.arithmetic == Arithmetic::kInteger ? "--arithmetic integer"
                           : config.norm != Norm::kLargest             ? "--norm"
                           : config.lowering == Lowering::kPrebuilt    ? "code in this process"
                           : config.lowering == Lowering::kReference   ? "--lowering reference"
                                                                       : "";
  if (!with.empty())
    fail(
        "BF2122", where, with + " takes one method",
        "name one method, or leave out what takes one; bf-aot compile writes verifiers of several");
}

// Runs the passes and verifies the plan in the end. Entries take long to verify: unless the plan is
// verified after `each` pass, these are verified in the end alone, and layers and domains before.
void carry_out(PlanState state, bool each) {
  const PlannerConfig& config = state.plan.config;
  const bool integers = config.arithmetic == Arithmetic::kInteger;
  for (const PlannerPass& pass : integers ? integer_passes() : planner_passes()) {
    if (!is_enabled(config, pass.name)) continue;
    const CheckScope scope(fmt::format("pass '{}'", pass.name));
    const auto start = std::chrono::steady_clock::now();
    pass.run(state);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    // Later passes do not change layers; at the end they are looked at once more.
    if (each || pass.stage < PlanStage::kEntries)
      verify(state.plan, pass.stage, pass.stage == PlanStage::kLayers);
    if (state.options.after_pass) state.options.after_pass(pass.name, state.plan, seconds.count());
  }
  verify(state.plan);
}

}  // namespace

std::span<const PlannerPass> planner_passes() {
  return kPasses;
}

std::span<const PlannerPass> integer_passes() {
  return kIntegerPasses;
}

const PlannerPass* find_planner_pass(std::string_view name) {
  for (const std::span<const PlannerPass> passes : {planner_passes(), integer_passes()}) {
    const auto found = std::ranges::find(passes, name, &PlannerPass::name);
    if (found != passes.end()) return &*found;
  }
  return nullptr;
}

bool is_enabled(const PlannerConfig& config, std::string_view pass) {
  return std::ranges::count(config.disabled_passes, pass) == 0;
}

Plan plan(const Graph& graph, const ModelInfo& model, const std::string& name, bool has_spec,
          const PlannerConfig& config, const PlanOptions& options) {
  expect_float_environment();
  check_disabled(config);
  check_methods(config);
  check_norm(config, options.property != nullptr);
  check_one_hot(graph, config, options.property != nullptr);
  BF_CHECK(config.arithmetic != Arithmetic::kAuto);
  Plan made;
  made.name = name;
  made.model = model;
  made.config = config;
  if (!options.after_pass) {
    try {
      const ThrowingChecks throwing;
      Plan plan = made;
      carry_out({graph, has_spec, options, plan}, false);
      return plan;
    } catch (const InternalError&) {
      // Made anew below, so that the complaint names the pass that is wrong.
    }
  }
  carry_out({graph, has_spec, options, made}, true);
  return made;
}

std::shared_ptr<const Lowered> lower(std::shared_ptr<const Plan> plan) {
  expect_float_environment();
  auto lowered = std::make_shared<const Lowered>(std::move(plan));
  verify_programs(lowered->plan(), lowered->programs());
  return lowered;
}

}  // namespace bf_aot
