#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "aot/apps/measure/check.h"
#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/values.h"
#include "aot/decide/property/sample.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "planner/reference/executor.h"

namespace bf_aot::cli {
namespace {

constexpr char kCheckExamples[] =
    "bf-aot check model.onnx --golden golden.json\n"
    "bf-aot check model.onnx --golden golden.json --method crown --samples 1000";

constexpr char kCheckNotes[] =
    "For each box and method: the ratio of our widths to the golden ones (min, mean, "
    "max), for the outputs and for the rows of the file's C; how much wider ours are "
    "where the golden width is within float32 rounding; and values outside our intervals."
    " Sampled values come from the network as imported, with proven error bounds, and "
    "rational arithmetic where these overlap a bound.\n\n"
    "Exit code: 0 all well; 1 a value lies outside, a ratio is above the tolerance, or an"
    " error.";

// A golden file's value may differ from the exact one by this much, relative to the largest output
// (at least 1): float64 rounding of another implementation.
constexpr double kForwardRounding = 1e-9;
constexpr double kReferenceRounding = 1e-12;

struct CheckArguments {
  ModelArguments model;
  std::vector<std::string> methods;
  std::string golden;
  apps::Tolerances tolerances;
  int samples = 100;
  bool json = false;
};

// The rows of all boxes, each once, so that one compiled verifier serves them all.
struct Rows {
  std::vector<std::vector<double>> all;
  std::vector<std::vector<std::size_t>> of_box;  // indices into all
};

Rows collect_rows(const input::Golden& golden) {
  Rows rows;
  std::map<std::vector<double>, std::size_t> known;
  for (const input::GoldenBox& box : golden.boxes) {
    rows.of_box.emplace_back();
    for (const std::vector<double>& row : box.rows) {
      const auto [entry, added] = known.try_emplace(row, rows.all.size());
      if (added) rows.all.push_back(row);
      rows.of_box.back().push_back(entry->second);
    }
  }
  return rows;
}

// One method of the model, compiled with all rows; the reference is executed instead.
class Subject {
 public:
  Subject(const CheckArguments& arguments, const build::CompileOptions& options) {
    if (options.planner.lowering == Lowering::kReference) {
      const build::FrontendResult front = build::run_frontend(arguments.model.model, options);
      plan_ = build::run_planner(front, "reference", options)->shared_plan();
      return;
    }
    const auto lowered = build::plan_model(arguments.model.model, options);
    plan_ = lowered->shared_plan();
    host_ = engine::make_verifier(lowered, options, arguments.model.values.compiler).host;
  }

  engine::Bounds bounds(const input::FloatBox& box) const {
    return host_ ? host_->bounds(box) : execute(EntryKind::kBounds, box);
  }
  engine::Bounds spec_bounds(const input::FloatBox& box) const {
    if (plan_->spec_rows == 0) return {};
    return host_ ? host_->spec_bounds(box) : execute(EntryKind::kSpecBounds, box);
  }

 private:
  engine::Bounds execute(EntryKind kind, const input::FloatBox& box) const {
    const reference::Bounds bounds =
        reference::execute(*plan_, *plan_->find_entry(kind), {box.lower.begin(), box.lower.end()},
                           {box.upper.begin(), box.upper.end()});
    return widened({bounds.lower, bounds.upper});
  }

  // The reference rounds to nearest: its bounds may miss a value by that much.
  static engine::Bounds widened(engine::Bounds bounds) {
    double magnitude = 0;
    for (std::size_t i = 0; i < bounds.lower.size(); ++i)
      magnitude = std::max({magnitude, std::fabs(bounds.lower[i]), std::fabs(bounds.upper[i])});
    for (double& x : bounds.lower) x -= kReferenceRounding * magnitude;
    for (double& x : bounds.upper) x += kReferenceRounding * magnitude;
    return bounds;
  }

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<const engine::HostVerifier> host_;
};

// Everything about one box that does not depend on the method.
struct SampledBox {
  input::FloatBox box;
  std::vector<decide::SampledPoint> points;  // the centre first
};

SampledBox sample(const decide::Sampler& sampler, const input::GoldenBox& golden,
                  const input::FloatBox& box, int count, std::uint64_t seed) {
  SampledBox result;
  result.box = box;
  std::vector<double> centre;
  for (std::size_t i = 0; i < golden.file.box.lower.size(); ++i)
    centre.push_back(golden.file.box.lower[i] / 2 + golden.file.box.upper[i] / 2);
  result.points.push_back(sampler.evaluate(centre, golden.rows));
  for (const std::vector<double>& point : decide::Sampler::points(box, count, seed))
    result.points.push_back(sampler.evaluate(point, golden.rows));
  return result;
}

// True when the golden value is the network's, up to its own rounding.
bool agrees(double golden, const decide::SampledPoint& centre, std::size_t i, std::size_t outputs) {
  double magnitude = 1;
  for (std::size_t k = 0; k < outputs; ++k)
    magnitude = std::max(magnitude, std::fabs(centre.values[k].value));
  return std::fabs(golden - centre.values[i].value) <=
         kForwardRounding * magnitude + centre.values[i].error;
}

engine::Bounds select(const engine::Bounds& bounds, const std::vector<std::size_t>& rows) {
  engine::Bounds result;
  for (std::size_t row : rows) {
    result.lower.push_back(bounds.lower[row]);
    result.upper.push_back(bounds.upper[row]);
  }
  return result;
}

void append(engine::Bounds& bounds, const engine::Bounds& more) {
  bounds.lower.insert(bounds.lower.end(), more.lower.begin(), more.lower.end());
  bounds.upper.insert(bounds.upper.end(), more.upper.begin(), more.upper.end());
}

void find_violations(const decide::Sampler& sampler, const input::GoldenBox& golden,
                     const SampledBox& sampled, const engine::Bounds& outputs,
                     const engine::Bounds& rows, apps::BoxCheck& check) {
  engine::Bounds all = outputs;
  append(all, rows);
  const std::size_t count = outputs.lower.size();
  const auto add = [&](std::size_t i, std::string source, double value) {
    const std::string what =
        i < count ? fmt::format("output {}", i) : fmt::format("row {}", i - count);
    check.violations.push_back({what, std::move(source), value, all.lower[i], all.upper[i]});
  };
  for (std::size_t i = 0; i < golden.forward.size(); ++i)
    if (!agrees(golden.forward[i], sampled.points[0], i, count))
      add(i, "golden forward (another network's)", golden.forward[i]);
  for (std::size_t k = 0; k < sampled.points.size(); ++k)
    for (std::size_t i = 0; i < all.lower.size(); ++i)
      if (!sampler.inside(sampled.points[k], golden.rows, i, all.lower[i], all.upper[i]))
        add(i, k == 0 ? "the centre" : fmt::format("sample {}", k),
            sampled.points[k].values[i].value);
  check.samples = static_cast<int>(sampled.points.size());
}

apps::BoxCheck check_box(const decide::Sampler& sampler, const input::GoldenBox& golden,
                         const SampledBox& sampled, const Subject& subject,
                         const std::vector<std::size_t>& rows, Method method,
                         const apps::Tolerances& tolerances) {
  apps::BoxCheck check;
  check.description = golden.description;
  check.method = method;
  const engine::Bounds outputs = subject.bounds(sampled.box);
  const engine::Bounds spec = select(subject.spec_bounds(sampled.box), rows);
  const auto& bounds = golden.methods[static_cast<std::size_t>(method)];
  check.has_golden = bounds.has_value();
  if (bounds) {
    check.outputs = apps::compare_widths(outputs, bounds->lower, bounds->upper,
                                         golden.rounding_dominated, tolerances);
    if (!bounds->spec_lower.empty())
      check.rows = apps::compare_widths(spec, bounds->spec_lower, bounds->spec_upper,
                                        golden.rounding_dominated, tolerances);
  }
  find_violations(sampler, golden, sampled, outputs, spec, check);
  return check;
}

void add_options(CommandLine& app, CheckArguments& arguments) {
  arguments.model.values.compile.planner.lowering = kInProcess;
  add_model_options(app, arguments.model, true);
  add_compiler_options(app, arguments.model);
  add_jit_option(app, arguments.model);
  app.add_option("--golden", arguments.golden, "JSON file with boxes and reference bounds")
      ->required()
      ->type_name("FILE");
  app.add_option("-m,--method", arguments.methods,
                 "ibp, crown-ibp, crown or alpha-crown; may be repeated (default: the first three)")
      ->transform(one_of({"ibp", "crown-ibp", "crown", "alpha-crown"}))
      ->allow_extra_args(false)
      ->group(kMethodGroup);
  app.add_option("--tolerance", arguments.tolerances.max_ratio, "largest ratio of widths")
      ->transform(positive_number("1e9"))
      ->capture_default_str();
  app.add_option("--mean-tolerance", arguments.tolerances.mean_ratio,
                 "largest mean ratio over a box")
      ->transform(positive_number("1e9"))
      ->capture_default_str();
  app.add_option("--point-tolerance", arguments.tolerances.point,
                 "largest excess width where the golden width is within float32 rounding, relative "
                 "to the largest golden bound of the box")
      ->transform(number("0", "1e9"))
      ->capture_default_str();
  app.add_option("--samples", arguments.samples, "sampled points per box, besides the centre")
      ->transform(whole(0, 1 << 24))
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "print one JSON object");
  set_help(app, {kCheckExamples, kCheckNotes, "reference/cli.md"});
}

std::vector<apps::BoxCheck> check_all(const CheckArguments& arguments,
                                      build::CompileOptions options) {
  // The counts that the golden file must have, from the model before any choice.
  const build::FrontendResult front = build::run_frontend(arguments.model.model, options);
  const auto count = [&](const std::vector<ValueId>& ids) {
    std::int64_t sum = 0;
    for (ValueId id : ids) sum += element_count(front.graph.value(id).shape);
    return static_cast<int>(sum);
  };
  if (front.graph.one_hot.size > 0)
    fail("BF2117", "sets of token ids", "points of boxes are sampled",
         "bf-aot verify --tokens decides a property of texts");
  const int input_count = count(front.graph.inputs);
  const input::Golden golden =
      input::read_golden(arguments.golden, input_count, count(front.graph.outputs));
  const Rows rows = collect_rows(golden);
  if (!rows.all.empty()) options.spec = LinearSpec{rows.all, {}, {}};

  const decide::Sampler sampler(arguments.model.model, arguments.model.values.compile.cut);
  std::vector<SampledBox> sampled;
  {
    const system::Progress progress("sample");
    for (std::size_t i = 0; i < golden.boxes.size(); ++i)
      sampled.push_back(sample(sampler, golden.boxes[i],
                               input::round_outward(golden.boxes[i].file, input_count),
                               arguments.samples, i));
  }
  std::vector<apps::BoxCheck> checks;
  for (Method method : kAllMethods) {
    const auto& chosen = arguments.methods;
    if (chosen.empty() ? method == Method::kAlphaCrown
                       : std::find(chosen.begin(), chosen.end(), to_string(method)) == chosen.end())
      continue;
    options.planner.method = method;
    const Subject subject(arguments, options);
    for (std::size_t i = 0; i < golden.boxes.size(); ++i) {
      checks.push_back(check_box(sampler, golden.boxes[i], sampled[i], subject, rows.of_box[i],
                                 method, arguments.tolerances));
      checks.back().index = i;
    }
  }
  return checks;
}

void print_json(const CheckArguments& arguments, const std::vector<apps::BoxCheck>& checks,
                bool ok) {
  nlohmann::ordered_json json;
  json["model"] = std::filesystem::path(arguments.model.model).filename().string();
  json["golden"] = std::filesystem::path(arguments.golden).filename().string();
  json["tolerance"] = {{"max", arguments.tolerances.max_ratio},
                       {"mean", arguments.tolerances.mean_ratio},
                       {"point", arguments.tolerances.point}};
  json["checks"] = nlohmann::ordered_json::array();
  for (const apps::BoxCheck& check : checks) json["checks"].push_back(to_json(check));
  json["ok"] = ok;
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

int check_command(const Call& call) {
  CheckArguments arguments;
  CommandLine app("Compares a model's verifiers with reference bounds and sampled values.",
                  "bf-aot check");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;

  const std::vector<apps::BoxCheck> checks = check_all(arguments, compile_options(arguments.model));
  const bool ok = std::all_of(checks.begin(), checks.end(),
                              [](const apps::BoxCheck& check) { return check.ok(); });
  if (arguments.json) {
    print_json(arguments, checks, ok);
  } else {
    fmt::print("{}", apps::table_header());
    for (const apps::BoxCheck& check : checks) fmt::print("{}", apps::table_row(check));
  }
  return ok ? 0 : 1;
}

}  // namespace bf_aot::cli
