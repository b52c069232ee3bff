#include <algorithm>
#include <cmath>
#include <thread>

#include "aot/decide/property/decision.h"
#include "aot/engine/verifier/engine_verifier.h"
#include "aot/library/state.h"
#include "aot/system/progress.h"
#include "frontend/numbers/numbers.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::api {
namespace {

constexpr char kDeciding[] = "deciding the property";

Phase to_phase(decide::DecisionPhase phase) {
  return phase == decide::DecisionPhase::kBound    ? Phase::kBound
         : phase == decide::DecisionPhase::kSearch ? Phase::kSearch
                                                   : Phase::kSplit;
}

void check_seconds(const char* option, double seconds) {
  if (!(seconds >= 0) || std::isinf(seconds))
    refuse("BF3501", option, fmt::format("{} is no time in seconds", seconds));
}

void check_jobs(int jobs) {
  if (jobs < 0 || jobs > 256) refuse("BF3501", "jobs", fmt::format("{} is not in 0..256", jobs));
}

std::size_t every_core() {
  return std::max<std::size_t>(1, std::thread::hardware_concurrency());
}

void report(const VerifyOptions& options, const decide::DecisionProgress& progress) {
  tell([&] {
    options.progress(
        {to_phase(progress.phase), progress.done, progress.count, progress.nodes, progress.proven});
  });
}

Counterexample to_counterexample(const decide::Witness& witness) {
  Counterexample example;
  for (const mpq_class& x : witness.x) example.input.push_back(vnnlib::round_to_double(x).value);
  example.exact_input = decide::input_texts(witness);
  example.output = witness.y;
  example.property_case = witness.property_case;
  example.clause = witness.clause;
  example.rational = witness.rational;
  return example;
}

VerifyResult to_result(const decide::Outcome& outcome) {
  VerifyResult result;
  result.verdict = outcome.answer == decide::Answer::kVerified    ? Verdict::kVerified
                   : outcome.answer == decide::Answer::kFalsified ? Verdict::kFalsified
                                                                  : Verdict::kUnknown;
  result.stopped = outcome.stopped;
  if (outcome.witness) result.counterexample = to_counterexample(*outcome.witness);
  result.cases = outcome.cases;
  result.verified_cases = outcome.verified_cases;
  for (const decide::DecisionMethod& each : outcome.methods)
    result.methods.push_back(to_api(each.method));
  result.boxes = outcome.branched.boxes;
  result.points = outcome.branched.points;
  result.nodes = outcome.neurons.nodes;
  result.plan_seconds = outcome.make_seconds;
  return result;
}

}  // namespace

VerifyResult decide(const Model& model, const VerifyOptions& options,
                    const std::function<Property()>& read) {
  const system::Stopwatch stopwatch;
  decide::DecisionSettings settings;
  if (options.method) settings.method = to_internal(*options.method);
  settings.search_seconds = options.search_seconds;
  settings.branch_seconds = options.branch_seconds;
  settings.jobs = options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : every_core();
  if (options.timeout_seconds > 0) settings.bound_seconds = options.timeout_seconds;
  check_jobs(options.jobs);
  check_seconds("search_seconds", options.search_seconds);
  check_seconds("branch_seconds", options.branch_seconds);
  check_seconds("timeout_seconds", options.timeout_seconds);
  const Property property = read();
  const Semantics semantics =
      is_float32(property) && options.semantics != Semantics::kFloat32Flushed ? Semantics::kFloat32
                                                                              : options.semantics;
  check_semantics(model, semantics);
  build::CompileOptions compiling = compile_options(PlanSettings{
      Method::kCrown, options.iterations, options.row_tile, options.memory_budget, semantics});
  compiling.spec = to_spec(property);
  settings.real = compiling.planner.semantics == bf_aot::Semantics::kReal;

  decide::DecisionCalls calls;
  calls.make_verifier = [&](const decide::DecisionMethod& asked, const decide::NetworkForm& form) {
    compiling.planner.method = asked.method;
    compiling.fixed = form.fixed != nullptr ? std::optional(*form.fixed) : std::nullopt;
    compiling.ordered = form.ordered;
    compiling.planner.alpha = asked.alpha;
    compiling.planner.decide = asked.branches;
    compiling.max_as_relu = asked.max_as_relu;
    compiling.planner.batch = asked.branches ? decide::kBranchBatch : 1;
    auto plan = plan_for(model, compiling);
    auto host = std::make_unique<const engine::EngineVerifier>(plan, false);
    return decide::DecisionVerifier{std::move(plan), std::move(host)};
  };
  calls.stop = [&] {
    return options.stop.stop_requested() ||
           (options.timeout_seconds > 0 && stopwatch.seconds() >= options.timeout_seconds);
  };
  if (options.progress)
    calls.progress = [&](const decide::DecisionProgress& progress) { report(options, progress); };
  const Model::State& state = Library::state(model);
  std::optional<decide::Sampler> rounded;
  if (compiling.planner.semantics == bf_aot::Semantics::kFloat32) {
    check_float32(state.info);
    rounded.emplace(state.network.graph(), compiling.float32);
  }
  VerifyResult result =
      to_result(decide::decide(rounded ? *rounded : state.network, property, settings, calls));
  result.seconds = stopwatch.seconds();
  return result;
}

const char* to_string(Method method) noexcept {
  switch (method) {
    case Method::kIbp:
      return "ibp";
    case Method::kCrownIbp:
      return "crown-ibp";
    case Method::kCrown:
      return "crown";
    case Method::kAlphaCrown:
      return "alpha-crown";
    case Method::kForward:
      return "forward";
  }
  return "?";
}

const char* to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kVerified:
      return "verified";
    case Verdict::kFalsified:
      return "falsified";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "?";
}

Result<VerifyResult> verify(const Model& model, const std::filesystem::path& property,
                            const VerifyOptions& options) {
  return guarded<VerifyResult>(
      kDeciding, [&] { return decide(model, options, [&] { return read_property(property); }); },
      Library::state(model).numbers);
}

Result<VerifyResult> verify_text(const Model& model, std::string_view property,
                                 const VerifyOptions& options, std::string_view name) {
  return guarded<VerifyResult>(
      kDeciding,
      [&] { return decide(model, options, [&] { return parse_property(property, name); }); },
      Library::state(model).numbers);
}

}  // namespace bf_aot::api
