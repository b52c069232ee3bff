#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "aot/cli/commands/commands.h"
#include "aot/cli/options/box_options.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/values.h"
#include "aot/cli/options/verdict_report.h"
#include "aot/cli/verify/verify_print.h"
#include "aot/decide/compare.h"
#include "aot/engine/verifier/report.h"
#include "aot/input/exact_box.h"
#include "aot/system/interrupt.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/import/file/importer.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::cli {
namespace {

constexpr char kCompareExamples[] =
    "bf-aot compare model.onnx pruned.onnx --box box.json\n"
    "bf-aot compare model.onnx int8.onnx --centre x.npy --eps 0.01 --classes\n"
    "bf-aot compare old.onnx new.onnx --box box.json --within 0.05 --timeout 60";

constexpr char kCompareNotes[] =
    "Prints for each output an interval that holds the other network's less MODEL's for every "
    "input of the box, the largest difference that is proven, and an input at which some output "
    "differs by the largest that was found. Until --timeout, questions between the two narrow the "
    "gap.\n\n"
    "Exit code: with --within or --classes 0 verified, 3 falsified, 4 unknown; else 0. 1 the input "
    "is wrong, 2 wrong options.";

struct CompareArguments {
  ModelArguments model;
  std::string other;
  std::string property;
  BoxArguments box;
  std::string within;
  double timeout = 20;
  int jobs = 0;
  bool classes = false;
  bool json = false;
};

void add_options(CommandLine& app, CompareArguments& arguments) {
  arguments.model.values.compile.planner.lowering = kInProcess;
  arguments.model.values.compile.planner.method = Method::kAuto;
  add_model_options(app, arguments.model, false);
  app.add_option("OTHER", arguments.other, "the other ONNX network")->required()->type_name("FILE");
  add_row(app, "method", arguments.model.values,
          {.names = "-m,--method",
           .help = "method of the first bounds; auto: alpha-crown",
           .rule = one_of({"auto", "ibp", "crown-ibp", "crown", "alpha-crown"})});
  add_compiler_options(app, arguments.model);
  add_jit_option(app, arguments.model);
  add_box_options(app, arguments.box);
  app.add_option("--property", arguments.property,
                 "VNN-LIB file whose input box is taken, in place of --box")
      ->type_name("FILE")
      ->excludes(app.get_option("--box"))
      ->excludes(app.get_option("--centre"));
  app.add_option("--within", arguments.within,
                 "decide whether every output differs by at most so much, an exact decimal")
      ->type_name("D");
  app.add_flag("--classes", arguments.classes,
               "decide whether both networks have the same largest output");
  app.add_option("--timeout", arguments.timeout, "seconds for questions (default: 20)")
      ->transform(number("0", "1e6"))
      ->type_name("S");
  add_jobs_option(app, arguments.jobs, "threads that bound and split");
  app.add_flag("--json", arguments.json, "print one JSON object");
  set_help(app, {kCompareExamples, kCompareNotes, "guide/compare.md"});
}

// Throws: as box_of() and round_outward(); BF3013 a property with several boxes, BF3408 one of
// another network.
input::ExactBox box_of(const CompareArguments& arguments, const decide::NetworkPair& pair) {
  if (arguments.property.empty()) {
    const auto count = static_cast<int>(pair.input_count);
    const input::TypedBox typed = typed_box_of(arguments.box, count);
    (void)input::round_outward(typed.file, count);  // refuses what has no such box
    return typed.exact();
  }
  const Property property = read_property(arguments.property);
  if (property.cases.size() != 1)
    fail("BF3013", "--property",
         fmt::format("the property has {} input boxes", property.cases.size()),
         "write the box that is meant to a file for --box");
  if (property.input_count != pair.input_count)
    fail("BF3408", property.file_name,
         fmt::format("the property declares {} inputs but the networks have {}",
                     property.input_count, pair.input_count));
  const PropertyCase& only = property.cases[0];
  return {only.box, only.inner, only.between};
}

decide::NetworkPair read_pair(const CompareArguments& arguments) {
  const ModelCut& cut = arguments.model.values.compile.cut;
  ImportedModel first = import_model(arguments.model.model, {}, {}, cut);
  ImportedModel second = import_model(arguments.other, {}, {}, cut);
  return decide::pair_of(std::move(first.graph), first.info, std::move(second.graph), second.info);
}

decide::Request request_of(const CompareArguments& arguments) {
  decide::Request request;
  request.compile = compile_options(arguments.model);
  Method& method = request.compile.planner.method;
  if (method != Method::kAuto) request.method = method;
  method = Method::kCrown;  // until each question sets its own
  request.compile.name = build::symbol_prefix(arguments.model.model, request.compile);
  request.compiler = arguments.model.values.compiler;
  request.jobs = static_cast<std::size_t>(arguments.jobs);
  return request;
}

std::string file_name(const std::string& path) {
  return printable(std::filesystem::path(path).filename().string());
}

nlohmann::ordered_json to_json(const std::optional<decide::Outcome>& outcome) {
  if (!outcome) return nullptr;
  nlohmann::ordered_json json;
  json["verdict"] = word(outcome->answer, Wording::kPlain);
  json["counterexample"] = nullptr;
  if (outcome->witness) json["counterexample"] = cli::to_json(*outcome->witness);
  return json;
}

std::vector<std::string> texts(const std::vector<mpq_class>& point) {
  decide::Witness at;
  at.x = point;
  return decide::input_texts(at);
}

nlohmann::ordered_json to_json(const CompareArguments& arguments,
                               const decide::Comparison& comparison) {
  nlohmann::ordered_json json;
  json["models"] = {file_name(arguments.model.model), file_name(arguments.other)};
  json["semantics"] = to_string(arguments.model.values.compile.planner.semantics);
  std::vector<double> lower, upper;
  for (const decide::OutputDifference& output : comparison.outputs) {
    lower.push_back(output.lower);
    upper.push_back(output.upper);
  }
  json["differences"] = engine::bounds_json({std::move(lower), std::move(upper)});
  json["proven"] = engine::number_json(comparison.proven);
  json["attained"] = comparison.attained;
  json["output"] = comparison.output;
  json["x"] = texts(comparison.point);
  json["within"] = to_json(comparison.limit);
  json["classes"] = to_json(comparison.classes);
  json["parts"] = comparison.parts;
  json["questions"] = comparison.questions;
  json["seconds"] = comparison.seconds;
  return json;
}

void print_outcome(const char* name, const std::optional<decide::Outcome>& outcome) {
  if (!outcome) return;
  fmt::print("{:<9}{}\n", name, word(outcome->answer, Wording::kPlain));
  if (outcome->witness) fmt::print("{}\n", plain_text(*outcome->witness, most_lines()));
}

void print(const CompareArguments& arguments, const decide::Comparison& comparison) {
  fmt::print("{:<8} {:>16} {:>16}\n", "output", "lower", "upper");
  for (std::size_t i = 0; i < comparison.outputs.size(); ++i)
    fmt::print("{:<8} {:>16.9g} {:>16.9g}\n", i, comparison.outputs[i].lower,
               comparison.outputs[i].upper);
  fmt::print("\nmodels   {}, {}: the second less the first\n", file_name(arguments.model.model),
             file_name(arguments.other));
  fmt::print("proven   no output differs by more than {:.9g}\n", comparison.proven);
  if (comparison.attained > 0) {
    std::string at;
    for (const std::string& each : texts(comparison.point)) {
      if (at.size() > 200) {
        at += " ...";
        break;
      }
      at += (at.empty() ? "" : " ") + each;
    }
    fmt::print("found    output {} differs by {:.9g} at {}\n", comparison.output,
               comparison.attained, at);
  } else {
    fmt::print("found    no point at which they differ\n");
  }
  print_outcome("within", comparison.limit);
  print_outcome("classes", comparison.classes);
  fmt::print("time     {}; parts of the box: {}, questions: {}\n",
             engine::duration(comparison.seconds), comparison.parts, comparison.questions);
}

int code_of(const decide::Comparison& comparison) {
  int code = 0;
  for (const auto* const outcome : {&comparison.limit, &comparison.classes})
    if (*outcome) {
      const int own = exit_code((*outcome)->answer, Wording::kPlain);
      code = code == 3 || own == 3 ? 3 : std::max(code, own);
    }
  return code;
}

}  // namespace

int compare_command(const Call& call) {
  CompareArguments arguments;
  CommandLine app("Bounds how far apart two networks are on a box.", "bf-aot compare");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (!arguments.box.given() && arguments.property.empty())
    return usage_error(app, "--box is required, or --centre and --eps, or --property");
  decide::CompareSettings settings;
  settings.seconds = arguments.timeout;
  settings.classes = arguments.classes;
  if (!arguments.within.empty()) {
    settings.within = vnnlib::exact(exact_number(arguments.within, "--within"));
    if (*settings.within < 0) fail("BF3013", "--within", "a difference is not negative");
  }
  const decide::NetworkPair pair = read_pair(arguments);
  const input::ExactBox box = box_of(arguments, pair);
  PhaseCounter counter;
  decide::RequestCalls calls;
  calls.before_plan = [&](const decide::DecisionMethod&) { counter.end(); };
  calls.progress = [&](const decide::DecisionProgress& progress) { counter.show(progress); };
  calls.stop = system::Stop().or_interrupt();
  const decide::Comparison comparison =
      decide::compare(pair, box, request_of(arguments), settings, calls);
  counter.end();
  system::throw_if_interrupted();
  if (arguments.json)
    fmt::print("{}\n", to_json(arguments, comparison).dump());
  else
    print(arguments, comparison);
  return code_of(comparison);
}

}  // namespace bf_aot::cli
