#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "aot/decide/parts/tree_keeper.h"
#include "aot/decide/query.h"
#include "aot/input/json/read_text.h"
#include "aot/library/enums.h"
#include "aot/library/state.h"
#include "aot/prove/proof_file.h"
#include "aot/system/progress.h"
#include "frontend/numbers/numbers.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "frontend/sha256.h"

namespace bf_aot::api {
namespace {

constexpr char kDeciding[] = "deciding the property";

Phase to_phase(decide::DecisionPhase phase) {
  return phase == decide::DecisionPhase::kBound    ? Phase::kBound
         : phase == decide::DecisionPhase::kPoints ? Phase::kSearch
                                                   : Phase::kSplit;
}

void check_seconds(const char* option, double seconds) {
  if (!(seconds >= 0) || std::isinf(seconds))
    refuse("BF3501", option, fmt::format("{} is no time in seconds", seconds));
}

// The fields of the library's struct. Throws: Failed BF3501.
build::DecisionOptions decision_of(const VerifyOptions& options) {
  if (options.jobs < 0 || options.jobs > 256)
    refuse("BF3501", "jobs", fmt::format("{} is not in 0..256", options.jobs));
  check_seconds("search_seconds", options.search_seconds.value_or(0));
  check_seconds("branch_seconds", options.branch_seconds.value_or(0));
  check_seconds("timeout_seconds", options.timeout_seconds);
  check_seconds("proof_seconds", options.proof_seconds);
  build::DecisionOptions made;
  made.timeout_seconds = options.timeout_seconds;
  made.search_seconds = options.search_seconds;
  made.branch_seconds = options.branch_seconds;
  made.jobs = static_cast<std::size_t>(options.jobs);
  made.checkpoint = options.checkpoint;
  made.proof = {options.proof, "", options.proof_seconds};
  return made;
}

// Returns the keeper of a tree's file; null where no file is asked for. Throws: Failed BF3020,
// CompileError of the file.
std::unique_ptr<decide::TreeKeeper> make_keeper(const std::vector<const Model*>& models,
                                                const decide::Request& request,
                                                const PropertySource& source,
                                                const Property& property) {
  if (request.checkpoint.empty()) return nullptr;
  decide::TreeQuestion question;
  for (const Model* const model : models) {
    const Model::State& state = Library::state(*model);
    if (state.derivative)
      refuse("BF3501", "checkpoint", "a file of a tree does not say that it is of derivatives");
    ModelCut cut = state.cut;
    cut.hidden.clear();  // the property declares them
    if (!question.models.empty() && !(cut == question.cut))
      refuse("BF3501", "checkpoint", "a file of a tree is about models that are cut alike");
    question.models.push_back({state.path, state.info.sha256});
    question.cut = std::move(cut);
  }
  if (request.branch_seconds && *request.branch_seconds <= 0)
    refuse("BF3020", "branch_seconds", "with 0 nothing is split, so there is no tree to search");
  question.property = source.path;
  question.property_sha256 = sha256(source.bytes());
  question.semantics = to_string(decide::semantics_of(request.compile, property));
  question.flush_to_zero = request.compile.planner.flush_to_zero;
  return std::make_unique<decide::TreeKeeper>(request.checkpoint, decide::TreePart{},
                                              std::move(question), decide::Signals::kOthers);
}

// Reads what a certificate is made from; nothing where none is asked for. Throws:
// Failed, CompileError BF3024, BF3022, BF3111.
std::optional<prove::ProofFile> proof_of(const std::vector<const Model*>& models,
                                         const decide::Request& request,
                                         const PropertySource& source, const Property& property) {
  prove::ProofSubject subject;
  for (const Model* const model : models) {
    const Model::State& state = Library::state(*model);
    subject.models.push_back({state.path, state.bytes});
    subject.is_whole = subject.is_whole && !state.derivative && state.cut == ModelCut{};
  }
  subject.property = source.path;
  if (source.path.empty() && !request.proof.file.empty()) subject.text = source.bytes();
  subject.is_real = decide::semantics_of(request.compile, property) == bf_aot::Semantics::kReal;
  subject.libm_ulps = decide::ulps_of(request.compile, property);
  subject.option = "proof";
  if (!request.proof.file.empty())
    for (const Model* const model : models) expect_unchanged(*model, "proof");
  return prove::proof_of(request, subject);
}

void report(const VerifyOptions& options, const decide::DecisionProgress& progress) {
  tell([&] {
    options.progress(
        {to_phase(progress.phase), progress.done, progress.count, progress.nodes, progress.proven});
  });
}

std::size_t elements_of(const std::vector<PropertyTensor>& tensors, std::size_t& first,
                        std::size_t count) {
  std::size_t elements = 0;
  for (const std::size_t end = first + count; first < end; ++first)
    elements += static_cast<std::size_t>(element_count(tensors[first].shape));
  return elements;
}

// The numbers of elements of each network that the property declares.
std::vector<NetworkShare> shares_of(const Property& property) {
  std::vector<NetworkShare> shares;
  std::size_t input = 0, output = 0;
  for (const PropertyNetwork& network : property.networks)
    shares.push_back({network.name, elements_of(property.inputs, input, network.inputs),
                      elements_of(property.outputs, output, network.outputs)});
  return shares;
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

}  // namespace

decide::Request request_of(const Model& model, const VerifyOptions& options) {
  const build::OptionValues values = values_of(options, decision_of(options));
  decide::Request request;
  static_cast<build::DecisionOptions&>(request) = values.decision;
  if (!values.compile.method_is_default && values.compile.planner.method != bf_aot::Method::kAuto)
    request.method = values.compile.planner.method;
  request.compile = compile_options(model, values);
  request.compiler = values.compiler;
  return request;
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
    if (!each.on_device) result.methods.push_back(*public_of<Method>(each.method));
  using decide::DecisionPhase;
  const decide::SearchTotals& boxes = outcome.totals(DecisionPhase::kBoxes);
  const decide::SearchTotals& tokens = outcome.totals(DecisionPhase::kTokens);
  result.boxes = boxes.nodes + tokens.nodes;
  result.points = boxes.points + tokens.points;
  result.nodes = outcome.totals(DecisionPhase::kNeurons).nodes;
  result.difference_boxes = outcome.totals(DecisionPhase::kDifferences).nodes;
  result.plan_seconds = outcome.make_seconds;
  return result;
}

namespace {

// A question, and what it is about: `network` is the model's, or that of all models that were
// given.
struct Question {
  std::vector<const Model*> models;  // of each network, in their order
  const decide::Sampler& network;
  const ModelInfo& info;
  const PropertySource& source;
  const Property& property;
};

// A call that has begun, when it ends, and what it shares with other calls.
struct Start {
  const system::Stop stop;
  decide::RowPlans* const plans = nullptr;
  const Box* const range = nullptr;
  const system::Stopwatch stopwatch = {};
};

Proof public_proof(prove::ProofReport made) {
  return {made.bytes,
          made.leaves,
          made.seconds,
          std::move(made.missing),
          std::move(made.certificate),
          made.rechecked};
}

VerifyResult answer(const Question& question, const VerifyOptions& options,
                    const decide::Request& request, const Start& start) {
  const Property& property = question.property;
  auto proof = proof_of(question.models, request, question.source, property);
  if (proof) {
    proof->stop = start.stop;
    if (const auto kept = prove::rechecked(*proof)) {
      VerifyResult result = to_result(decide::Outcome::rechecked(property, kept->seconds));
      result.proof = public_proof(*kept);
      result.seconds = start.stopwatch.seconds();
      return result;
    }
  }
  const auto keeper = make_keeper(question.models, request, question.source, property);
  decide::RequestCalls calls;
  calls.keeper = keeper.get();
  calls.stop = start.stop;
  calls.plans = start.plans;
  calls.range = start.range;
  if (options.progress)
    calls.progress = [&](const decide::DecisionProgress& progress) { report(options, progress); };
  const decide::Outcome outcome =
      decide::decide_query(question.network, question.info, property, request, calls);
  VerifyResult result = to_result(outcome);
  if (result.counterexample && property.networks.size() > 1)
    result.counterexample->networks = shares_of(property);
  if (proof && result.verdict != Verdict::kUnknown) {
    proof->stop = system::Stop(options.stop);
    result.proof = public_proof(
        prove::write_proof_file(*proof, outcome.witness ? &outcome.witness->x : nullptr));
  }
  result.seconds = start.stopwatch.seconds();
  return result;
}

std::string to_give(const std::string& name) {
  return fmt::format("give networks a model for the name {}", name);
}

}  // namespace

VerifyResult decide(const Model& model, const VerifyOptions& options, const PropertySource& source,
                    decide::RowPlans* plans, const Box* range) {
  const decide::Request request = request_of(model, options);
  const Start start{system::Stop(options.stop, request.timeout_seconds), plans, range};
  const Property property = source.read();
  if (is_float32(property)) check_semantics(model, bf_aot::Semantics::kFloat32);
  const Model subject = with_hidden(model, property);
  const Model::State& state = Library::state(subject);
  return answer({{&subject}, state.network, state.info, source, property}, options, request, start);
}

namespace {

VerifyResult decide_networks(const Networks& networks, const VerifyOptions& options,
                             const PropertySource& source) {
  if (networks.empty()) refuse("BF3413", "networks", "no network is given", to_give("f"));
  std::vector<std::string> names;
  std::vector<const Model*> models;
  for (const auto& [name, model] : networks) {
    names.push_back(name);
    models.push_back(&model);
  }
  const decide::Request request = request_of(*models[0], options);
  const Start start{system::Stop(options.stop, request.timeout_seconds)};
  const Property property = source.read();
  for (const Model* const model : models)
    check_semantics(*model, decide::semantics_of(request.compile, property));
  const std::vector<std::size_t> chosen = decide::models_of(property, names, {"networks", to_give});
  std::vector<Model> subjects;
  for (const std::size_t model : chosen)
    subjects.push_back(with_hidden(*models[model], property, subjects.size()));
  std::vector<const Model*> of_networks;
  for (const Model& subject : subjects) of_networks.push_back(&subject);
  const Model::State& state = Library::state(*of_networks[0]);
  if (chosen.size() == 1)
    return answer({of_networks, state.network, state.info, source, property}, options, request,
                  start);
  const decide::SubjectNetwork merged = decide::merge_networks(property, [&](std::size_t network) {
    const Model::State& one = Library::state(subjects[network]);
    return decide::ReadModel{one.network.graph(), one.info};
  });
  return answer({of_networks, merged.sampler, merged.info, source, property}, options, request,
                start);
}

PropertySource source_of(const std::filesystem::path& property) {
  return {[property] { return read_property(property); },
          [property] { return input::read_text(property, "property"); },
          std::filesystem::absolute(property).string()};
}

PropertySource source_of(std::string_view property, std::string_view name) {
  return {[=] { return parse_property(property, name); }, [=] { return std::string(property); }};
}

std::size_t numbers_of(const Networks& networks) {
  std::size_t numbers = 0;
  for (const auto& [name, model] : networks) numbers += Library::state(model).numbers;
  return numbers;
}

}  // namespace

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
      kDeciding, [&] { return decide(model, options, source_of(property)); },
      Library::state(model).numbers);
}

Result<VerifyResult> verify_text(const Model& model, std::string_view property,
                                 const VerifyOptions& options, std::string_view name) {
  return guarded<VerifyResult>(
      kDeciding, [&] { return decide(model, options, source_of(property, name)); },
      Library::state(model).numbers);
}

Result<VerifyResult> verify(const Networks& networks, const std::filesystem::path& query,
                            const VerifyOptions& options) {
  return guarded<VerifyResult>(
      kDeciding, [&] { return decide_networks(networks, options, source_of(query)); },
      numbers_of(networks));
}

Result<VerifyResult> verify_text(const Networks& networks, std::string_view query,
                                 const VerifyOptions& options, std::string_view name) {
  return guarded<VerifyResult>(
      kDeciding, [&] { return decide_networks(networks, options, source_of(query, name)); },
      numbers_of(networks));
}

}  // namespace bf_aot::api
