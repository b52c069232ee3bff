#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "aot/apps/certify/certify.h"
#include "aot/apps/certify/page.h"
#include "aot/cli/commands/certify_report.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/disturbance_options.h"
#include "aot/cli/options/gate_options.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/library_options.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/values.h"
#include "aot/decide/parts/tree_keeper.h"
#include "aot/input/array.h"
#include "aot/input/json_io.h"
#include "aot/system/files.h"
#include "aot/system/interrupt.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

constexpr char kCertifyExamples[] =
    "bf-aot certify model.onnx --data test.npz --eps 0.01,0.03\n"
    "bf-aot certify model.onnx --data images --scale 255 --clip 0,1 --eps 0.01 \\\n"
    "  --mean 0.1307 --std 0.3081 --html report.html --min-certified 0.9\n"
    "bf-aot certify model.onnx --data x.csv --labels y.csv --eps 0.05 --within 0.1\n"
    "bf-aot certify m.onnx --data x.csv --eps 0.05 --increasing 0,3 --decreasing 2\n"
    "bf-aot certify model.onnx --data test.npz --disturbance rotation=-5..5";

constexpr char kCertifyNotes[] =
    "Data: .npz (arrays x and y), .npy, .csv (a row is a sample), or a folder of .png and .npy "
    "files, or of such a folder for each class.\n\n"
    "Exit code: 0; 3 a certified accuracy is below --min-certified; 1 the input cannot be handled "
    "(see the diagnostics), 2 wrong usage.";

// Certified accuracy below what was asked for.
constexpr int kMissed = 3;

struct CertifyArguments {
  std::string model;
  ModelCut cut;
  input::DataFiles files;
  std::vector<std::string> eps, disturbances, box_columns;
  NormalisationTexts numbers;
  std::string layout = "auto", within, rows, min_slope;
  std::vector<std::size_t> increasing, decreasing;
  std::vector<std::string> thresholds;
  build::OptionValues values;
  int jobs = 0;
  std::size_t first = 0;
  std::optional<std::size_t> count;
  bool decide = false, complete = false;
  double decide_seconds = 5, timeout_seconds = 0;
  std::string checkpoint, part, save_part;
  std::string csv, html, counterexamples, explain;
  GateFiles gate;
  bool json = false;
};

// The options of complete runs.
void add_complete_options(CommandLine& app, CertifyArguments& a) {
  Option* const complete =
      app.add_flag("--complete", a.complete,
                   "attack, ibp, crown-ibp, crown, alpha-crown, then splits: each sample until it "
                   "is decided");
  for (const char* const other :
       {"--decide", "--method", "--within", "--rows", "--increasing", "--decreasing"})
    complete->excludes(other);
  complete->group("Work");
  app.add_option("--timeout", a.timeout_seconds, "most, for all samples (default: no limit)")
      ->transform(number("0.001", "1e9"))
      ->type_name("S")
      ->needs(complete)
      ->group("Work");
  Option* const checkpoint =
      app.add_option("--checkpoint", a.checkpoint,
                     "keep the results in this file, and go on with those that are there")
          ->writes("FILE")
          ->needs(complete)
          ->group("Work");
  Option* const part =
      app.add_option("--part", a.part, "certify every N-th sample alone, from the I-th on")
          ->transform(decide::part_rule())
          ->type_name("I/N")
          ->needs(complete)
          ->group("Work");
  Option* const save =
      app.add_option("--save-part", a.save_part, "the checkpoint of a part, for bf-aot merge")
          ->writes("FILE")
          ->needs(part)
          ->excludes(checkpoint)
          ->group("Work");
  part->needs(save);
}

void add_options(CommandLine& app, CertifyArguments& a) {
  app.add_option("MODEL", a.model, "ONNX file")->required()->type_name("FILE");
  add_cut_options(app, a.cut);
  app.add_option("--data", a.files.data, "samples: .npz, .npy, .csv, or a folder")
      ->required()
      ->type_name("PATH")
      ->group("Data");
  app.add_option("--labels", a.files.labels,
                 "labels: .csv or .npy (default: those within the data)")
      ->type_name("FILE")
      ->group("Data");
  app.add_option("--label-name", a.files.label_name,
                 "array or column with the labels (default: y, label)")
      ->type_name("NAME")
      ->group("Data");
  app.add_option(
         "--sample-name", a.files.sample_name,
         "array of an .npz with the samples (default: x, images, data, inputs, else x_test, "
         "else x_train, with the labels of the same kind)")
      ->type_name("NAME")
      ->group("Data");
  takes_pair(app.add_option("--box-columns", a.box_columns,
                            "boxes from the data in place of --eps: arrays, or prefixes of "
                            "columns, with their lower and upper ends"))
      ->type_name("LOWER,UPPER")
      ->group("Data");
  app.add_option("--first", a.first, "index of the first sample that is taken")
      ->transform(whole(0))
      ->capture_default_str()
      ->type_name("N")
      ->group("Data");
  app.add_option("--count", a.count, "how many are taken (default: all)")
      ->transform(whole(1))
      ->type_name("N")
      ->group("Data");
  app.add_option("--layout", a.layout,
                 "of samples in arrays: chw, hwc (channels last), or auto: as the model's input")
      ->transform(one_of({"auto", "chw", "hwc"}))
      ->capture_default_str()
      ->group("Data");
  add_normalisation_options(app, a.numbers, "Data");

  takes_numbers(
      app.add_option("--eps", a.eps,
                     "radii of the boxes, in units of scaled numbers before --mean and --std"))
      ->type_name("LIST")
      ->group("Question");
  Option* const disturbance = takes_disturbances(
      app.add_option("--disturbance", a.disturbances,
                     std::string("of pictures, in place of --eps: ") + kDisturbanceHelp));
  disturbance->group("Question");
  add_row(
      app, "norm", a.values,
      {.help = "of the balls around samples: linf, boxes; l2; l1 (crown-ibp, crown, alpha-crown)",
       .group = "Question"});
  app.add_option("--within", a.within,
                 "regression: outputs must stay within this distance of the label")
      ->type_name("X")
      ->group("Question");
  app.add_option("--rows", a.rows,
                 "JSON file {\"C\": [[..], ..], \"d\": [..]}: rows C y - d must be positive")
      ->type_name("FILE")
      ->excludes("--within")
      ->group("Question");
  takes_numbers(app.add_option(
                    "--increasing", a.increasing,
                    "inputs, counted from 0, with which no output (or row C y of --rows) may fall"))
      ->transform(whole(0))
      ->type_name("LIST")
      ->excludes("--within")
      ->group("Question");
  takes_numbers(app.add_option("--decreasing", a.decreasing, "inputs with which none may rise"))
      ->transform(whole(0))
      ->type_name("LIST")
      ->excludes("--within")
      ->group("Question");
  app.add_option("--min-slope", a.min_slope,
                 "of --increasing and --decreasing: least rise or fall for a unit of the model's "
                 "input (default: 0)")
      ->type_name("X")
      ->group("Question");
  takes_numbers(app.add_option("--min-certified", a.thresholds,
                               "least certified accuracy, 0 to 1: of all radii, or of each"))
      ->type_name("LIST")
      ->group("Question");

  add_row(app, "method", a.values,
          {.names = "-m,--method",
           .help = "ibp, crown-ibp, crown, alpha-crown, forward",
           .group = "Work",
           .rule = one_of({"ibp", "crown-ibp", "crown", "alpha-crown", "forward"})});
  add_row(app, "iterations", a.values, {.help = "of alpha-crown", .group = "Work"});
  add_row(app, "semantics", a.values,
          {.help = "what bounds hold for: real; float32, every evaluation in float32; "
                   "float32-exact, the evaluation of this program; or quantised-any, codes that "
                   "are one more or less",
           .group = "Work"});
  add_row(
      app, "flush-to-zero", a.values,
      {.help = "float32: also where operations take subnormal numbers for zero", .group = "Work"});
  add_row(app, "device", a.values, {.group = "Work"});
  app.add_flag("--decide", a.decide,
               "search and split where bounds leave a sample open, as verify does")
      ->excludes("--increasing")
      ->excludes("--decreasing")
      ->group("Work");
  add_complete_options(app, a);
  app.add_option("--decide-seconds", a.decide_seconds,
                 "most, of --decide, --complete and --disturbance, for each sample and radius")
      ->transform(number("0.001", "1e6"))
      ->capture_default_str()
      ->type_name("S")
      ->group("Work");
  add_jobs_option(app, a.jobs, "threads")->group("Work");

  app.add_option("--csv", a.csv,
                 "a row for each sample and radius; the same command continues a file that it "
                 "did not finish")
      ->writes("FILE")
      ->group("Results");
  add_gate_options(app, a.gate, "a test for each radius", "Results");
  app.add_option("--html", a.html, "a page with the curve, classes and worst cases")
      ->writes("FILE")
      ->group("Results");
  app.add_option("--counterexamples", a.counterexamples,
                 ".npz: arrays x, sample, label and eps of what --decide falsified")
      ->writes("FILE")
      ->group("Results");
  app.add_option("--explain", a.explain,
                 "JSON: for each sample inputs that, while they have its values, keep the answer "
                 "in the box; give --decide, too")
      ->writes("FILE")
      ->excludes("--within")
      ->excludes("--rows")
      ->excludes("--increasing")
      ->excludes("--decreasing")
      ->excludes("--complete")
      ->group("Results");
  add_rows(app, build::OptionRow::Set::kProofs, a.values, "Results");
  app.add_flag("--json", a.json, "print one JSON object")->group("Results");
  for (const char* const other : {"--within", "--rows", "--increasing", "--decreasing", "--decide",
                                  "--complete", "--explain", "--proofs"})
    disturbance->excludes(other);
  set_help(app, {kCertifyExamples, kCertifyNotes, "guide/certify.md"});
}

// Certified accuracies as they are written. Throws: BF3013.
std::vector<apps::Threshold> thresholds_of(const std::vector<std::string>& texts) {
  std::vector<apps::Threshold> thresholds;
  for (const std::string& text : texts) {
    const mpq_class least = vnnlib::exact(exact_number(text, "--min-certified"));
    if (least < 0 || least > 1)
      fail("BF3013", "--min-certified", fmt::format("{} is not from 0 to 1", printable(text)),
           "write 90 % as 0.9");
    thresholds.push_back({text, least});
  }
  return thresholds;
}

// The texts of `a` must stay as long as what is returned.
apps::CertifyQuestion question_of(const CertifyArguments& a) {
  apps::CertifyQuestion question;
  question.cut = {a.cut.outputs, a.cut.inputs, a.cut.shapes, {}, {}};
  for (const auto& [name, input] : a.cut.tokens) {
    if (!input.fixed) {
      question.cut.tokens[name] = input.sets;
      continue;
    }
    for (const std::vector<std::int64_t>& set : input.sets)
      question.cut.fixed[name].push_back(set.front());
  }
  question.files = a.files;
  if (!a.box_columns.empty()) {
    question.files.lower_name = a.box_columns[0];
    question.files.upper_name = a.box_columns[1];
  }
  const int kinds = static_cast<int>(!a.eps.empty()) + static_cast<int>(!a.box_columns.empty()) +
                    static_cast<int>(!a.disturbances.empty());
  if (kinds != 1)
    fail("BF3013", "--eps", kinds == 0 ? "no boxes are asked for" : "there are boxes already",
         "give --eps LIST, --box-columns LOWER,UPPER or --disturbance KIND=LO..HI");
  question.disturbances = a.disturbances;
  question.eps = decimals(a.eps, "--eps", false);
  for (const vnnlib::Number& eps : question.eps)
    if (eps.below < 0) fail("BF3013", "--eps", fmt::format("{} is negative", eps.text));
  question.normalisation = normalisation_of(a.numbers);
  question.channels_last = a.layout == "hwc";
  question.channels_first = a.layout == "chw";
  if (!a.within.empty()) question.within = decimal(a.within, "--within", true);
  if (!a.rows.empty()) question.rows = input::read_spec(a.rows);
  static const std::string kZero = "0";
  if (!a.increasing.empty() || !a.decreasing.empty())
    question.slopes = {a.increasing, a.decreasing,
                       decimal(a.min_slope.empty() ? kZero : a.min_slope, "--min-slope", false)};
  else if (!a.min_slope.empty())
    fail("BF3013", "--min-slope", "there are no inputs whose slopes are asked for",
         "give --increasing LIST or --decreasing LIST");
  if (a.thresholds.size() > 1 && a.thresholds.size() != a.eps.size())
    fail("BF3013", "--min-certified",
         fmt::format("{} accuracies for {} radii", a.thresholds.size(), a.eps.size()));
  question.thresholds = thresholds_of(a.thresholds);
  question.first = a.first;
  question.count = a.count.value_or(0);
  if (a.values.compile.planner.norm != Norm::kLargest && a.eps.empty())
    fail("BF3013", "--norm",
         a.disturbances.empty() ? "boxes of the data are no balls"
                                : "ranges of disturbances are no balls",
         "give --eps LIST");
  question.options.bounds = library_options(a.values);
  question.options.bounds.batch = 8;
  question.options.bounds.threads =
      a.jobs > 0 ? a.jobs : static_cast<int>(std::min<std::size_t>(system::core_count(), 256));
  question.options.decide = a.decide;
  question.options.decide_seconds = a.decide_seconds;
  question.complete = a.complete;
  question.timeout_seconds = a.timeout_seconds;
  if (!a.part.empty()) {
    const decide::TreePart part = *decide::parse_part(a.part);
    question.part = {part.index, part.count};
  }
  return question;
}

void write_explanations(const std::string& path, const apps::CertifyAnswer& answer) {
  nlohmann::ordered_json json = {{"explanations", nlohmann::ordered_json::array()}};
  for (const apps::SampleExplanation& each : answer.explanations) {
    nlohmann::ordered_json one = {{"sample", answer.run.first + each.sample},
                                  {"label", answer.run.labels[each.sample]}};
    const std::string& eps = answer.run.radii[each.radius];
    if (!eps.empty()) one["eps"] = eps;
    one["fixed"] = nullptr;
    if (each.found.exists) one["fixed"] = each.found.fixed;
    one["minimal"] = each.found.minimal;
    one["smallest"] = each.found.smallest;
    one["questions"] = each.found.questions;
    json["explanations"].push_back(std::move(one));
  }
  system::publish_file(path, json.dump(1) + "\n");
}

void write_counterexamples(const std::string& path, const apps::CertifyRun& run,
                           const std::vector<std::int64_t>& input_shape) {
  input::Array x, sample, label, eps;
  x.name = "x";
  sample.name = "sample";
  label.name = "label";
  eps.name = "eps";
  sample.integers = label.integers = true;
  for (const apps::SampleResult& result : run.results) {
    if (result.counterexample.empty()) continue;
    x.values.insert(x.values.end(), result.counterexample.begin(), result.counterexample.end());
    sample.values.push_back(static_cast<double>(run.first + result.sample));
    label.values.push_back(run.labels[result.sample]);
    eps.values.push_back(apps::radius_value(run, result.radius));
  }
  const auto count = static_cast<std::int64_t>(sample.values.size());
  x.shape = input_shape;
  if (!x.shape.empty() && x.shape[0] == 1) x.shape.erase(x.shape.begin());
  x.shape.insert(x.shape.begin(), count);
  sample.shape = label.shape = eps.shape = {count};
  if (run.disturbance.empty()) {
    input::write_npz(path, {x, sample, label, eps});
    return;
  }
  input::Array parameters;
  parameters.name = "parameters";
  for (const apps::SampleResult& result : run.results)
    parameters.values.insert(parameters.values.end(), result.parameters.begin(),
                             result.parameters.end());
  parameters.shape = {count,
                      count == 0 ? 0 : static_cast<std::int64_t>(parameters.values.size()) / count};
  input::write_npz(path, {x, sample, label, parameters});
}

int certify(const CertifyArguments& arguments) {
  const apps::CertifyQuestion question = question_of(arguments);
  apps::CertifyOutputs outputs;
  outputs.journal = arguments.csv;
  outputs.explain = !arguments.explain.empty();
  outputs.campaign = arguments.part.empty() ? arguments.checkpoint : arguments.save_part;
  outputs.counterexamples = !arguments.counterexamples.empty();
  outputs.proof = arguments.values.decision.proof;
  const build::CompileOptions compile = build::resolved(arguments.values);
  if (compile.planner.semantics == Semantics::kFloat32 && !compile.planner.flush_to_zero)
    outputs.libm_ulps = compile.float32.libm_ulps;
  const apps::CertifyAnswer answer = apps::certify(arguments.model, question, outputs);
  const apps::CertifyRun& run = answer.run;
  const bool proofs = !outputs.proof.folder.empty();
  write_gate(arguments.gate, apps::gate_of(run, arguments.model));
  if (!arguments.html.empty())
    system::publish_file(arguments.html, apps::certify_page(run, answer.data, answer.input_shape,
                                                            BF_VERSION_STRING));
  if (!arguments.explain.empty()) write_explanations(arguments.explain, answer);
  if (!arguments.counterexamples.empty())
    write_counterexamples(arguments.counterexamples, run, answer.input_shape);
  if (system::verbosity() != system::Verbosity::kQuiet)
    for (const std::string& remark : answer.remarks) fmt::print(stderr, "note: {}\n", remark);
  const auto written = proofs ? std::optional(answer.proofs) : std::nullopt;
  if (arguments.json)
    fmt::print("{}\n", certify_json(run, written).dump());
  else
    print_certified(run, written);
  const std::vector<apps::Tally> all = apps::tallies(run);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!apps::passes(run, i, all[i])) return kMissed;
  return 0;
}

}  // namespace

int certify_command(const Call& call) {
  CertifyArguments arguments;
  CommandLine app("Certifies the answers of a network around the samples of a data set.",
                  "bf-aot certify");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  const std::string name = printable(std::filesystem::path(arguments.model).filename().string());
  artifacts::Gate gate{"certify " + name, {}, 0};
  gate.cases.push_back({name, "certified accuracy", arguments.model, {}, "", "", "", 0});
  return with_gate(arguments.gate, gate, [&] { return certify(arguments); });
}

}  // namespace bf_aot::cli
