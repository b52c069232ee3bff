#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "aot/cli/commands/commands.h"
#include "aot/cli/verify/verify_run.h"
#include "aot/system/files.h"
#include "aot/system/interrupt.h"
#include "aot/system/progress.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::cli {
namespace {

// Returns what a process says of its part of a certificate: a sign, and the part, or why there is
// none.
std::string said_of(const prove::ProofReport& part) {
  return part.missing.empty() ? "+" + part.certificate : "-" + part.missing;
}

// Each process makes a part of the certificate, and the first one joins them; its report is the
// whole's.
prove::ProofReport prove_together(const prove::ProofFile& proof, decide::TreeCompany& company) {
  prove::ProofFile part = proof;
  part.path.clear();
  const auto [index, count] = company.place();
  std::vector<std::string> parts =
      company.collect(said_of(prove::write_proof_part(part, index, count)));
  for (std::string& each : parts) {
    if (each[0] == '-') return {0, 0, 0, each.substr(1), {}};
    each.erase(0, 1);
  }
  return company.is_first() ? prove::join_proofs(parts, proof.path) : prove::ProofReport();
}

// Writes the certificate of an answer; nothing of others. Throws as proven(); BF3101 to BF3103.
std::optional<prove::ProofReport> write_proof(const VerifyArguments& arguments,
                                              const prove::ProofFile& proof,
                                              const decide::Outcome& outcome,
                                              decide::TreeCompany& company) {
  const bool first = company.is_first();
  const bool holds = company.is_so_for_all(!first || outcome.answer == decide::Answer::kVerified);
  if (!holds && !(first && outcome.witness)) return std::nullopt;
  const char* const answer = holds ? "verified" : "falsified";
  const system::Stopwatch stopwatch;
  const system::CleanupPending pending;  // a signal ends the making, and is told
  try {
    prove::ProofReport report = proven(arguments, answer, [&] {
      return holds ? prove_together(proof, company)
                   : prove::write_proof_file(proof, &outcome.witness->x);
    });
    report.seconds = stopwatch.seconds();
    return report;
  } catch (const system::Interrupted& interrupted) {
    company.abandon(128 + interrupted.signal);  // the others do not know of it
    throw;
  }
}

int run_together(VerifyArguments& arguments, decide::TreeCompany& company) {
  const system::Stop stop({}, arguments.decision().timeout_seconds);
  const Property property = property_of(arguments);
  check_networks(arguments, property);
  expect_splits(arguments);
  const std::optional<prove::ProofFile> proof = proof_of(arguments, property);
  const auto keeper = company.is_first() ? make_keeper(arguments, property) : nullptr;
  // Signals are for the first process, which ends the search of all.
  const decide::Outcome outcome =
      decide_with(arguments, property, keeper.get(), nullptr,
                  company.is_first() ? stop.or_interrupt() : stop, &company);
  std::optional<prove::ProofReport> made;
  if (proof) made = write_proof(arguments, *proof, outcome, company);
  if (!company.is_first()) return 0;
  if (outcome.witness) write_counterexample(arguments, property, *outcome.witness);
  write_gate(arguments.gate, gate_of(arguments, outcome.answer, outcome.seconds));
  print(arguments, property, outcome, made ? &*made : nullptr);
  return 0;
}

std::vector<std::string> options_of_one_process(const CommandLine& app) {
  std::vector<std::string> names;
  for (const Option* const option : app.get_options()) {
    const build::OptionRow* const row = option->count() > 0 ? row_of(*option) : nullptr;
    if (row != nullptr && !row->of_company) names.push_back(option->get_name());
  }
  return names;
}

}  // namespace

int verify_together(const Call& call, decide::TreeCompany& company) {
  VerifyArguments arguments;
  CommandLine app("Decides a property by several processes, which search one tree together.",
                  "bf-aot-mpi");
  arguments.decision().jobs = 1;
  add_options(app, arguments, "threads that split, of each process (default: 1)");
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.instances.empty())
    return usage_error(app, "the processes search one tree: no --instances");
  if (const std::vector<std::string> alone = options_of_one_process(app); !alone.empty())
    return usage_error(
        app, fmt::format("the processes search one tree: no {}", fmt::join(alone, ", no ")));
  if (arguments.decision().search_seconds.value_or(0) > 0)
    return usage_error(app,
                       "the processes search one tree, and try points of its nodes: no --search");
  if (!assign_files(arguments)) return usage_error(app, "MODEL and PROPERTY are required");
  return run_together(arguments, company);
}

}  // namespace bf_aot::cli
