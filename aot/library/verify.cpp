#include <algorithm>
#include <cmath>

#include "aot/decide/request.h"
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

build::JitMode to_internal(Jit jit) {
  return jit == Jit::kOff    ? build::JitMode::kOff
         : jit == Jit::kWait ? build::JitMode::kWait
                             : build::JitMode::kAuto;
}

// Checks the options, but for the method. Throws: Failed BF3501.
decide::Request request_of(const VerifyOptions& options) {
  check_jobs(options.jobs);
  check_seconds("search_seconds", options.search_seconds.value_or(0));
  check_seconds("branch_seconds", options.branch_seconds.value_or(0));
  check_seconds("timeout_seconds", options.timeout_seconds);
  decide::Request request;
  if (options.method) request.method = to_internal(*options.method);
  request.compile =
      compile_options(PlanSettings{Method::kCrown, options.iterations, options.row_tile,
                                   options.memory_budget, options.semantics, options.alpha});
  request.compiler.jit = to_internal(options.jit);
  request.search_seconds = options.search_seconds;
  request.branch_seconds = options.branch_seconds;
  request.timeout_seconds = options.timeout_seconds;
  request.jobs = static_cast<std::size_t>(options.jobs);
  return request;
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
  const decide::Request request = request_of(options);
  const Property property = read();
  check_semantics(model, is_float32(property) ? Semantics::kFloat32 : options.semantics);
  decide::RequestCalls calls;
  calls.stop = [&] {
    return options.stop.stop_requested() ||
           (options.timeout_seconds > 0 && stopwatch.seconds() >= options.timeout_seconds);
  };
  if (options.progress)
    calls.progress = [&](const decide::DecisionProgress& progress) { report(options, progress); };
  const Model::State& state = Library::state(model);
  VerifyResult result =
      to_result(decide::decide(state.network, state.info, property, request, calls));
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
