#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "aot/apps/instances/instances.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/library_options.h"
#include "aot/cli/options/output_files.h"
#include "aot/cli/verify/verify_run.h"
#include "aot/engine/verifier/report.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

// Options of the table say whether they are about many questions, or about each. Others would be
// left out of what is answered.
bool goes_with_instances(const Option& option) {
  if (const build::OptionRow* const row = row_of(option)) return row->goes_with_many();
  return option.is_of_many() || option.get_group() == kGeneralGroup;
}

// Returns an option that was given and does not go with --instances; an empty text if there is
// none.
std::string option_of_one(const CommandLine& app) {
  for (const Option* const option : app.get_options()) {
    if (option->count() == 0 || option->get_positional()) continue;
    if (!goes_with_instances(*option)) return option->get_name();
  }
  return {};
}

void print(const apps::InstanceTotals& totals, int jobs, bool proofs) {
  fmt::print("unsat    {}\nsat      {}\nunknown  {}\ntimeout  {}\nerror    {}\n", totals.unsat,
             totals.sat, totals.unknown, totals.timeout, totals.error);
  if (totals.earlier > 0) fmt::print("earlier  {} of these\n", totals.earlier);
  if (proofs) fmt::print("proofs   {}\n", totals.proofs);
  if (totals.rechecked > 0) fmt::print("checked  {} of these\n", totals.rechecked);
  fmt::print("time     {}, {} jobs\n", engine::duration(totals.seconds), jobs);
}

void print_json(const apps::InstanceTotals& totals, bool proofs) {
  nlohmann::ordered_json json;
  json["unsat"] = totals.unsat;
  json["sat"] = totals.sat;
  json["unknown"] = totals.unknown;
  json["timeout"] = totals.timeout;
  json["error"] = totals.error;
  json["earlier"] = totals.earlier;
  if (proofs) json["proofs"] = totals.proofs;
  if (totals.rechecked > 0) json["rechecked"] = totals.rechecked;
  json["seconds"] = totals.seconds;
  fmt::print("{}\n", json.dump());
}

}  // namespace

int verify_many(const CommandLine& app, const VerifyArguments& arguments) {
  if (!arguments.model.model.empty() || !arguments.networks.empty())
    return usage_error(app, "--instances names the models and properties itself");
  if (const std::string other = option_of_one(app); !other.empty())
    return usage_error(app, other + " does not go with --instances");
  const build::ProofOptions& proof = arguments.decision().proof;
  if (proof.recheck && (proof.folder.empty() || proof.folder.ends_with(".zip")))
    return usage_error(app, "--recheck needs --proofs with a folder");
  const apps::InstanceFile file = apps::read_instances(arguments.instances);
  if (arguments.index && *arguments.index >= file.instances.size())
    fail("BF3009", "--index",
         fmt::format("{} is beyond the {} instances", *arguments.index, file.instances.size()),
         "they are counted from 0");
  std::set<std::filesystem::path> inputs;
  for (const apps::Instance& instance : file.instances)
    inputs.insert({file.existing(instance.onnx), file.existing(instance.vnnlib)});
  expect_apart(app, "--instances", inputs);
  apps::InstanceSettings settings;
  // Without --jit, calls of the engine stay as they are, since several instances at once leave no
  // processor free.
  expect_float32(arguments.model.values);
  settings.decision = arguments.decision();
  settings.options.more = given_rows(app);
  for (const apps::Instance& instance : file.instances)
    if (arguments.decision().timeout_seconds <= 0 && instance.timeout_seconds <= 0)
      fail("BF3013", "--timeout", "the instances have no timeouts", "give --timeout S");
  settings.index = arguments.index;
  settings.counterexamples = arguments.counterexamples;
  settings.must_hold = arguments.must_hold;
  const apps::InstancesRun run = apps::run_instances(file, arguments.results, settings);
  write_gate(arguments.gate, run.gate);
  const apps::InstanceTotals& totals = run.totals;
  const bool proofs = !arguments.decision().proof.folder.empty();
  if (arguments.json)
    print_json(totals, proofs);
  else
    print(totals, settings.jobs(), proofs);
  if (totals.error > 0) return 1;
  if (!arguments.must_hold) return 0;
  return exit_code(totals.sat > 0       ? decide::Answer::kFalsified
                   : totals.unknown > 0 ? decide::Answer::kUnknown
                   : totals.timeout > 0 ? decide::Answer::kTimeout
                                        : decide::Answer::kVerified,
                   Wording::kPlain);
}

}  // namespace bf_aot::cli
