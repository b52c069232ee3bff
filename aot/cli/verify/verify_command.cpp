#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "aot/cli/commands/commands.h"
#include "aot/cli/options/question.h"
#include "aot/cli/verify/verify_measure.h"
#include "aot/cli/verify/verify_run.h"
#include "aot/prove/proof_file.h"
#include "aot/system/files.h"
#include "aot/system/interrupt.h"
#include "aot/system/progress.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::cli {

decide::Outcome decide_with(const VerifyArguments& arguments, const Property& property,
                            decide::TreeKeeper* keeper, TimeLimit* limit, const system::Stop& stop,
                            decide::TreeCompany* company) {
  const system::Stopwatch stopwatch;
  const Network network =
      read_network(arguments.model, network_files(arguments, property), property);
  PhaseCounter counter;
  decide::RequestCalls calls;
  calls.before_plan = [&](const decide::DecisionMethod&) { counter.end(); };
  calls.after_plan = [&](const decide::DecisionMethod& asked, double seconds) {
    if (system::tells_steps()) system::tell_step("plan " + asked.name(), seconds);
    if (limit != nullptr) limit->add(asked);
  };
  calls.progress = [&](const decide::DecisionProgress& progress) {
    counter.show(progress);
    if (limit != nullptr) limit->show(progress);
  };
  calls.stop = stop;
  calls.keeper = keeper;
  calls.company = company;
  decide::Outcome outcome;
  if (arguments.disturbance.given()) {
    const DisturbedPicture picture(arguments.disturbance, network.sampler.graph());
    outcome = decide::decide_disturbed(network.sampler, network.info, property, picture.input(),
                                       request_of(arguments), calls);
  } else {
    outcome =
        decide::decide_query(network.sampler, network.info, property, request_of(arguments), calls);
  }
  outcome.seconds = stopwatch.seconds();
  if (outcome.stopped && outcome.answer == decide::Answer::kUnknown)
    outcome.answer = decide::Answer::kTimeout;
  counter.end();
  if (system::verbosity() != system::Verbosity::kQuiet)
    for (const Diagnostic& why : outcome.refused)
      fmt::print(stderr, "note: decided without a device that is refused: {} {}: {}\n", why.code,
                 why.where, why.message);
  return outcome;
}

artifacts::Gate gate_of(const VerifyArguments& arguments, decide::Answer answer, double seconds) {
  static constexpr const char* kSays[] = {
      "no input violates the property", "an input violates the property",
      "neither proven nor refuted", "not decided within the time"};
  const auto name_of = [](const std::string& path) {
    return printable(std::filesystem::path(path).filename().string());
  };
  std::string model = name_of(arguments.model.model);
  if (model.empty()) model = "networks";
  artifacts::Gate gate{"verify " + model, {}, seconds};
  gate.cases.push_back({model, name_of(arguments.property), arguments.property,
                        answer == decide::Answer::kVerified ? artifacts::GateOutcome::kPassed
                                                            : artifacts::GateOutcome::kFailed,
                        word(answer, Wording::kPlain), kSays[static_cast<std::size_t>(answer)], "",
                        seconds});
  return gate;
}

std::optional<prove::ProofFile> proof_of(const VerifyArguments& arguments,
                                         const Property& property) {
  prove::ProofSubject subject;
  for (std::string& file : network_files(arguments, property))
    subject.models.push_back({std::move(file), nullptr});
  subject.property = arguments.property;
  subject.is_real = semantics_of(arguments.model, property) == Semantics::kReal;
  subject.libm_ulps = decide::ulps_of(build::resolved(arguments.model.values), property);
  subject.is_whole = arguments.model.values.compile.cut == ModelCut{} &&
                     std::ranges::none_of(property.outputs, &PropertyTensor::hidden);
  subject.option = "--proof";
  return prove::proof_of(arguments.decision(), subject);
}

prove::ProofReport proven(const VerifyArguments& arguments, const char* answer,
                          const std::function<prove::ProofReport()>& make) {
  prove::ProofReport report;
  try {
    report = make();
  } catch (const system::Interrupted&) {
    fmt::print(stderr, "the answer is '{}'; a signal ended the making of its certificate\n",
               answer);
    throw;
  }
  if (!report.missing.empty())
    fail("BF3023", arguments.decision().proof.file,
         fmt::format("the answer is '{}', but there is no certificate: {}", answer, report.missing),
         "decide without --proof, or give --proof-seconds more");
  return report;
}

namespace {

// Writes the certificate of an answer, or of a part that is closed; nothing of others. Throws as
// proven(); BF3101 to BF3103.
std::optional<prove::ProofReport> write_proof(const VerifyArguments& arguments,
                                              const prove::ProofFile& proof,
                                              const decide::Outcome& outcome,
                                              const decide::TreeKeeper* part) {
  const bool decided = outcome.witness || outcome.answer == decide::Answer::kVerified;
  if (part != nullptr ? !part->is_closed() : !decided) return std::nullopt;
  const char* const answer = part != nullptr ? "closed" : word(outcome.answer, Wording::kPlain);
  return proven(arguments, answer, [&] {
    return part != nullptr
               ? prove::write_proof_part(proof, part->file().part.index, part->file().part.count)
               : prove::write_proof_file(proof, outcome.witness ? &outcome.witness->x : nullptr);
  });
}

std::optional<prove::ProofReport> rechecked(const std::optional<prove::ProofFile>& proof,
                                            const system::Stop& stop) {
  if (!proof) return std::nullopt;
  prove::ProofFile limited = *proof;
  limited.stop = stop;
  return prove::rechecked(limited);
}

int run(const VerifyArguments& arguments, TimeLimit& limit) {
  const system::Stopwatch reading;
  const Property property = property_of(arguments);
  if (system::tells_steps()) system::tell_step("read the property", reading.seconds());
  limit.set_property(property);
  check_networks(arguments, property);
  const std::optional<prove::ProofFile> proof = proof_of(arguments, property);
  const std::unique_ptr<decide::TreeKeeper> keeper = make_keeper(arguments, property);
  std::optional<prove::ProofReport> made = rechecked(proof, limit.stop());
  const decide::Outcome outcome =
      made ? decide::Outcome::rechecked(property, made->seconds)
           : decide_with(arguments, property, keeper.get(), &limit, limit.stop());
  limit.end();
  if (system::tells_steps())
    system::tell_step(fmt::format("decide: {}", word(outcome.answer, Wording::kPlain)),
                      outcome.seconds);
  if (outcome.witness) write_counterexample(arguments, property, *outcome.witness);
  const bool is_part = keeper != nullptr && keeper->is_part() && !outcome.witness;
  if (proof && !made)
    made = write_proof(arguments, *proof, outcome, is_part ? keeper.get() : nullptr);
  if (is_part) return print_part(arguments, *keeper, property, outcome, made ? &*made : nullptr);
  write_gate(arguments.gate, gate_of(arguments, outcome.answer, outcome.seconds));
  print(arguments, property, outcome, made ? &*made : nullptr);
  return exit_code(outcome.answer, arguments.wording());
}

}  // namespace

int verify_command(const Call& call) {
  VerifyArguments arguments;
  CommandLine app("Decides a property of a network, as far as bounds and a search can.",
                  "bf-aot verify");
  add_options(app, arguments);
  add_measure_options(app, arguments.measure);
  app.get_option("--measure")->excludes("--disturbance")->excludes("--weight");
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.instances.empty()) return verify_many(app, arguments);
  // A part's frontier is the same in all processes, whatever is compiled meanwhile.
  if (!arguments.decision().part.empty())
    arguments.model.values.compiler.jit = build::JitMode::kOff;
  if (!assign_files(arguments)) {
    return usage_error(app, "MODEL and PROPERTY are required, or a query and --network NAME=MODEL");
  }
  if (!arguments.measure.width.empty()) return verify_measure(arguments);
  const int late = exit_code(decide::Answer::kTimeout, arguments.wording());
  // The watchdog ends the program at once: until there is an answer the files have a timeout's.
  const double seconds = arguments.decision().timeout_seconds;
  const artifacts::Gate late_gate = gate_of(arguments, decide::Answer::kTimeout, seconds);
  if (seconds > 0) write_provisional_gate(arguments.gate, late_gate);
  TimeLimit limit(arguments, late);
  try {
    return with_gate(arguments.gate, late_gate, [&] { return run(arguments, limit); });
  } catch (const system::Interrupted& interrupted) {
    if (interrupted.signal != SIGALRM) throw;
    std::fputs(limit.text().c_str(), stdout);
    return late;
  }
}

}  // namespace bf_aot::cli
