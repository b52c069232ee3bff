#include "aot/cli/verify/verify_arguments.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "aot/build/compile.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/question.h"
#include "aot/cli/options/values.h"
#include "aot/decide/query.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::cli {
namespace {

constexpr char kVerifyExamples[] =
    "bf-aot verify model.onnx property.vnnlib\n"
    "bf-aot verify model.onnx property.vnnlib --vnncomp --timeout 116\n"
    "bf-aot verify query.vnnlib --network f=model.onnx      (VNN-LIB 2.0)\n"
    "bf-aot verify query.vnnlib --network f=teacher.onnx --network g=student.onnx\n"
    "bf-aot verify --instances instances.csv --results results.csv --jobs 4\n"
    "bf-aot verify model.onnx property.vnnlib --data x.npy \\\n"
    "  --disturbance rotation=-5..5\n"
    "bf-aot verify model.onnx property.vnnlib --proof answer.bfc   (then bf-check)";

constexpr char kVerifyNotes[] =
    "The first line of the answer is 'verified' (no input violates the property), "
    "'falsified' (an input does, which follows and is proven to), 'unknown', or "
    "'timeout'. What a property file may hold is in docs/reference/properties.md.\n\n"
    "Exit code: 0 verified, 3 falsified, 4 unknown, 5 timeout; with --vnncomp or "
    "--network 0 for all of these. With --instances 0, or 1 when some are errors. 1 the input "
    "cannot be handled (see the diagnostics), 2"
    " wrong usage.";

constexpr char kInstances[] = "Many questions";

void add_instance_options(CommandLine& app, VerifyArguments& arguments) {
  Option* const instances =
      app.add_option("--instances", arguments.instances,
                     "in place of MODEL and PROPERTY: lines onnx,vnnlib,timeout, as in VNN-COMP")
          ->type_name("FILE")
          ->of_many()
          ->group(kInstances);
  Option* const results =
      app.add_option("--results", arguments.results,
                     "answers, a line for each, as VNN-COMP writes them; instances that have a "
                     "line are not decided again")
          ->needs(instances)
          ->writes("FILE")
          ->of_many()
          ->group(kInstances);
  instances->needs(results);
  app.add_option("--index", arguments.index, "the only instance that is decided, from 0")
      ->transform(whole(0))
      ->needs(instances)
      ->type_name("K")
      ->of_many()
      ->group(kInstances);
  app.add_option("--counterexamples", arguments.counterexamples,
                 "folder for the counterexamples, in the competitions' syntax")
      ->needs(instances)
      ->type_name("FOLDER")
      ->of_many()
      ->group(kInstances);
  app.add_flag("--must-hold", arguments.must_hold,
               "a gate: falsified, unknown and timeout give the exit code that they give alone, "
               "and are failures in --junit and --sarif")
      ->needs(instances)
      ->of_many()
      ->group(kInstances);
}

void add_decision_options(CommandLine& app, VerifyArguments& arguments, const char* jobs) {
  const build::ValueRule part = decide::part_rule();
  const build::ValueRule file = {
      [](std::string& text) {
        return text == build::ProofOptions::kKept ? "expected the name of a file" : std::string();
      },
      ""};
  using Set = build::OptionRow::Set;
  for (const build::OptionRow& row : build::option_rows()) {
    if (row.set != Set::kDecide && row.set != Set::kProofs) continue;
    Shown shown;
    if (row.name == std::string_view("jobs")) shown.help = jobs;
    if (row.name == std::string_view("part")) shown.rule = part;
    if (row.name == std::string_view("proof")) shown.rule = file;
    add_row(app, row.name, arguments.model.values, shown);
  }
}

void relate_files(CommandLine& app) {
  Option* const part = app.get_option("--part");
  Option* const saved = app.get_option("--save-part");
  part->excludes("--checkpoint")->needs(saved);
  saved->needs(part);
  app.get_option("--proof")->excludes("--instances");
  app.get_option("--proofs")->needs("--instances");
  app.get_option("--recheck")->excludes("--part")->excludes("--checkpoint");
  for (const char* const of_boxes :
       {"--proof", "--part", "--norm", "--instances", "--network", "--vnncomp", "--counterexample",
        "--serialise-assignments", "--device", "--search"})
    app.get_option("--disturbance")->excludes(of_boxes);
  for (const char* const of_files :
       {"--proof", "--part", "--checkpoint", "--instances", "--network", "--disturbance", "--norm"})
    app.get_option("--weight")->excludes(of_files);
  for (const char* const of_boxes :
       {"--proof", "--proofs", "--recheck", "--part", "--checkpoint", "--instances"})
    app.get_option("--norm")->excludes(of_boxes);
}

}  // namespace

void add_options(CommandLine& app, VerifyArguments& arguments, const char* jobs) {
  arguments.model.values.compile.planner.lowering = kInProcess;
  add_model_options(app, arguments.model, false);
  app.get_option("MODEL")->required(false);
  app.add_option("PROPERTY", arguments.property, "VNN-LIB file, plain or compressed by gzip")
      ->type_name("FILE");
  arguments.model.values.compile.planner.method = Method::kAuto;
  add_row(app, "method", arguments.model.values,
          {.names = "-m,--method",
           .help = "ibp, crown-ibp, crown, alpha-crown, forward; auto: crown, after ibp for many "
                   "cases or large networks",
           .rule = one_of({"auto", "ibp", "crown-ibp", "crown", "alpha-crown", "forward"})});
  add_norm_option(app, arguments.model);
  add_row(app, "device", arguments.model.values,
          {.help = "device that bounds many boxes, as they are split: opencl or cuda, or with "
                   "a number: opencl:N"});
  add_compiler_options(app, arguments.model);
  add_jit_option(app, arguments.model);
  app.add_option("--network", arguments.networks,
                 "VNN-LIB 2.0: the model of a declared network, once for each; MODEL is the query "
                 "then")
      ->type_name("NAME=FILE");
  add_decision_options(app, arguments, jobs);
  app.add_option("--counterexample", arguments.counterexample,
                 "write a counterexample to this file, in the competitions' syntax")
      ->writes("FILE");
  app.add_option("--serialise-assignments", arguments.assignments,
                 "write a counterexample to this folder, a serialized TensorProto NAME.pb for each "
                 "tensor; with --network the answer is its word alone then")
      ->type_name("FOLDER");
  app.add_flag("--vnncomp", arguments.competition,
               "answer in the words of VNN-COMP: sat, unsat, unknown, timeout");
  app.add_flag("--json", arguments.json, "print one JSON object")->of_many();
  add_weight_option(app, arguments.weights);
  add_disturbance_options(app, arguments.disturbance);
  add_instance_options(app, arguments);
  relate_files(app);
  add_gate_options(app, arguments.gate, "a test for the property, or for each instance", "Reports");
  for (const char* const report : {"--junit", "--sarif"})
    app.get_option(report)->of_many()->excludes("--part");
  set_help(app, {kVerifyExamples, kVerifyNotes, "reference/properties.md"});
}

bool assign_files(VerifyArguments& arguments) {
  if (arguments.networks.empty()) {
    if (arguments.model.model.empty() || arguments.property.empty()) return false;
    begin_at_weights(arguments.weights, arguments.model.model, arguments.model.values.compile.cut);
    return true;
  }
  if (!arguments.property.empty()) return false;
  arguments.property = arguments.model.model;
  for (const std::string& network : arguments.networks) {
    const std::size_t equals = network.find('=');
    if (equals == std::string::npos || equals == 0) return false;
  }
  const std::string& first = arguments.networks[0];
  arguments.model.model = first.substr(first.find('=') + 1);
  return true;
}

Property property_of(const VerifyArguments& arguments) {
  Property property = read_property(arguments.property);
  if (arguments.weights.given()) append_weights(arguments.weights.weights, property);
  return property;
}

std::vector<std::string> network_files(const VerifyArguments& arguments, const Property& property) {
  if (arguments.networks.empty()) return {arguments.model.model};
  std::vector<std::string> names, given;
  for (const std::string& network : arguments.networks) {
    const std::size_t equals = network.find('=');
    names.push_back(network.substr(0, equals));
    given.push_back(network.substr(equals + 1));
  }
  std::vector<std::string> files;
  for (const std::size_t model :
       decide::models_of(property, names, {"--network", [](const std::string& name) {
                                             return fmt::format("use --network {}=FILE", name);
                                           }}))
    files.push_back(given[model]);
  return files;
}

decide::Request request_of(const VerifyArguments& arguments) {
  decide::Request request;
  static_cast<build::DecisionOptions&>(request) = arguments.decision();
  request.compile = compile_options(arguments.model);
  Method& method = request.compile.planner.method;
  if (method != Method::kAuto) request.method = method;
  method = Method::kCrown;  // until a decision sets each
  request.compile.name = build::symbol_prefix(arguments.model.model, request.compile);
  request.compiler = arguments.model.values.compiler;
  request.says_why = (arguments.json || system::verbosity() == system::Verbosity::kVerbose) &&
                     arguments.instances.empty();
  return request;
}

void expect_splits(const VerifyArguments& arguments) {
  if (arguments.decision().branch_seconds.value_or(1) <= 0)
    fail("BF3020", "--branch", "with 0 nothing is split, so there is no tree to search");
}

std::unique_ptr<decide::TreeKeeper> make_keeper(const VerifyArguments& arguments,
                                                const Property& property) {
  const build::DecisionOptions& files = arguments.decision();
  if (!files.keeps_tree()) return nullptr;
  const bool is_part = !files.part.empty();
  expect_splits(arguments);
  if (is_part && semantics_of(arguments.model, property) == Semantics::kFloat32Exact)
    fail("BF3020", "--part", "a counterexample of float32-exact cannot be checked when parts meet",
         "use --semantics float32");
  return std::make_unique<decide::TreeKeeper>(
      is_part ? files.save_part : files.checkpoint,
      is_part ? *decide::parse_part(files.part) : decide::TreePart{},
      question_of(arguments.model, network_files(arguments, property), arguments.property,
                  property));
}

}  // namespace bf_aot::cli
