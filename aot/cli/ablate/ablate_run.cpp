#include "aot/cli/ablate/ablate_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aot/apps/measure/check.h"
#include "aot/build/footprint/footprint.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/sha256.h"
#include "planner/manifest/plan_json.h"
#include "planner/reference/executor.h"

namespace bf_aot::cli {
namespace {

using nlohmann::json;

// Beyond this many operations a box is not executed in double only to count neurons.
constexpr std::int64_t kReferenceFlops = 20'000'000'000;
constexpr double kTotalSeconds = 0.3;  // of measurements per box, when they are chosen

const Entry& timed_entry(const Plan& plan) {
  const Entry* const spec = plan.find_entry(EntryKind::kSpecBounds);
  return spec != nullptr ? *spec : *plan.find_entry(EntryKind::kBounds);
}

void add_plan(const Plan& plan, AblationRow& row) {
  const Entry& timed = timed_entry(plan);
  const Entry* largest = &timed;
  for (const Entry& entry : plan.entries)
    if (entry.storage.planned_bytes > largest->storage.planned_bytes) largest = &entry;
  if (!plan.prediction.profile.empty()) {
    double seconds = 0;
    for (const Task& task : timed.tasks) seconds += task.predicted_seconds;
    row.set(Column::kPredicted, seconds);
  }
  row.set(Column::kArena, plan.arena_bytes());
  row.set(Column::kNaive, largest->storage.naive_bytes);
  row.set(Column::kLowerBound, largest->storage.lower_bound_bytes);
  row.set(Column::kWeights, plan.weights_bytes());
  row.set(Column::kLayers, static_cast<std::int64_t>(plan.layers.size()));
  row.set(Column::kSteps, static_cast<std::int64_t>(timed.steps.size()));
  row.set(Column::kTasks, static_cast<std::int64_t>(timed.tasks.size()));
  row.set(Column::kKernels, static_cast<std::int64_t>(plan.kernels.size()));
}

// A hash of everything in a plan on which the unstable neurons depend.
std::string unstable_key(const Plan& plan) {
  const auto all = to_json(plan);
  std::string text = all["method"].dump() + all["layers"].dump() + all["domains"].dump();
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps) text += step_name(step);
  return sha256(text);
}

std::optional<std::int64_t> count_unstable(const Plan& plan, const Subject& subject) {
  const Entry& entry = *plan.find_entry(EntryKind::kBounds);
  std::int64_t flops = 0;
  for (const Task& task : entry.tasks) flops += task.flops;
  if (flops > kReferenceFlops || subject.questions.empty()) return std::nullopt;
  std::int64_t count = 0;
  for (const Question& question : subject.questions) {
    const std::vector<double> lower(question.box.lower.begin(), question.box.lower.end());
    const std::vector<double> upper(question.box.upper.begin(), question.box.upper.end());
    for (const int layer : reference::execute(plan, entry, lower, upper).unstable) count += layer;
  }
  return count;
}

void add_library(const engine::MadeVerifier& made, const build::Toolchain& toolchain,
                 AblationRow& row) {
  row.set(Column::kLibrary, made.library.parent_path().filename().string().substr(0, 16));
  if (made.compile_seconds > 0) row.set(Column::kCompile, made.compile_seconds);
  if (const auto bytes = build::code_bytes(made.library, toolchain)) row.set(Column::kCode, *bytes);
}

void add_times(const engine::HostVerifier& host, const Subject& subject, int repeat,
               AblationRow& row) {
  std::vector<double> samples;
  for (const Question& question : subject.questions) {
    const auto box = host.sample_times(question.box, {repeat, kTotalSeconds, 3});
    // Every box has the same weight, however often it was measured.
    constexpr std::size_t kPoints = 21;
    for (std::size_t i = 0; i < kPoints; ++i)
      samples.push_back(box[i * (box.size() - 1) / (kPoints - 1)]);
  }
  std::ranges::sort(samples);
  row.set(Column::kTimeP50, samples[samples.size() / 2]);
  row.set(Column::kTimeP95, samples[std::min(samples.size() - 1, samples.size() * 95 / 100)]);
}

void add_margins(const engine::HostVerifier& host, const Subject& subject, AblationRow& row) {
  double least = std::numeric_limits<double>::infinity();
  std::int64_t cases = 0, certified = 0;
  for (const Question& question : subject.questions) {
    if (question.clauses.empty()) continue;
    const double margin = margin_of(question, host.spec_bounds(question.box));
    least = std::min(least, margin);
    ++cases;
    certified += margin > 0 ? 1 : 0;
  }
  if (cases == 0) return;
  row.set(Column::kMargin, least);
  row.set(Column::kCases, cases);
  row.set(Column::kCertified, certified);
}

std::string first_line(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  return printable(line);
}

AblationRow head_row(const std::filesystem::path& model, const AblationConfig& config) {
  AblationRow row;
  row.set(Column::kVersion, std::string(BF_VERSION_STRING));
  row.set(Column::kModel, printable(model.filename().string()));
  row.set(Column::kConfig, config.name);
  row.set(Column::kBase, config.base);
  row.set(Column::kWithout, config.without);
  row.set(Column::kSettings, config.settings.dump());
  return row;
}

}  // namespace

AblationRow failed_row(const std::filesystem::path& model, const AblationConfig& config,
                       const std::string& message) {
  AblationRow row = head_row(model, config);
  row.set(Column::kStatus, std::string("failed"));
  row.set(Column::kMessage, first_line(message));
  return row;
}

std::string AblationRunner::run_id(const ModelArguments& base, const AblationConfig& config) const {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", BF_VERSION_STRING, subject_.sha256,
                                 subject_.digest, config.settings.dump());
  text += fmt::format("{}\n{}\n{}\n", options_.base_settings, base.values.compiler.cxx,
                      options_.repeat);
  for (const std::string& word : base.values.compiler.flags) text += word + "\n";
  return sha256(text).substr(0, 16);
}

void AblationRunner::measure_widths(const std::vector<engine::Bounds>& bounds,
                                    AblationRow& row) const {
  double sum = 0, widest = 0, ibp = 0, reference = 0;
  int ibp_boxes = 0, reference_boxes = 0;
  for (std::size_t k = 0; k < bounds.size(); ++k) {
    const double mean = engine::mean_width(bounds[k]);
    sum += mean;
    for (std::size_t i = 0; i < bounds[k].lower.size(); ++i)
      widest = std::max(widest, bounds[k].upper[i] - bounds[k].lower[i]);
    if (ibp_widths_ && !ibp_widths_->empty() && ibp_widths_->at(k) > 0) {
      ibp += mean / ibp_widths_->at(k);
      ++ibp_boxes;
    }
    const Question& question = subject_.questions[k];
    if (!question.reference) continue;
    const apps::Widths widths =
        apps::compare_widths(bounds[k], question.reference->lower, question.reference->upper,
                             question.rounding_dominated, {});
    if (widths.entries == 0) continue;
    reference += widths.mean;
    ++reference_boxes;
  }
  row.set(Column::kMeanWidth, sum / static_cast<double>(bounds.size()));
  row.set(Column::kMaxWidth, widest);
  if (ibp_boxes > 0) row.set(Column::kRatioIbp, ibp / ibp_boxes);
  if (reference_boxes > 0) row.set(Column::kRatioReference, reference / reference_boxes);
}

// Runs in the child. Returns {"row": csv, "key": unstable_key(), "unstable": the number of unstable
// neurons}.
std::string AblationRunner::run_here(const ModelArguments& base,
                                     const AblationConfig& config) const {
  AblationRow row = head_row(subject_.model, config);
  row.set(Column::kSha256, subject_.sha256);
  row.set(Column::kRun, run_id(base, config));
  json answer;
  try {
    const ModelArguments arguments = configured(base, config);
    build::CompileOptions options = compile_options(arguments);
    options.spec = subject_.spec;
    options.property = subject_.property;
    double planning = 0;
    options.planning.after_pass = [&](std::string_view, const Plan&, double seconds) {
      planning += seconds;
    };
    for (const Question& question : subject_.questions)
      options.planning.samples.push_back(question.exact);
    const auto lowered = build::plan_model(subject_.model, options);
    row.set(Column::kPlanning, planning);
    add_plan(lowered->plan(), row);
    const bool in_process = options.planner.lowering == Lowering::kPrebuilt;
    const build::CompilerOptions compiler =
        in_process ? build::CompilerOptions{} : arguments.values.compiler;
    const engine::MadeVerifier made = engine::make_verifier(lowered, options, compiler);
    if (!in_process)
      add_library(made, build::find_toolchain(compiler, options.planner.target), row);
    const engine::HostVerifier& host = *made.host;
    row.set(Column::kBoxes, static_cast<std::int64_t>(subject_.questions.size()));
    if (!subject_.questions.empty()) {
      std::vector<engine::Bounds> bounds;
      for (const Question& question : subject_.questions)
        bounds.push_back(host.bounds(question.box));
      measure_widths(bounds, row);
      add_margins(host, subject_, row);
      add_times(host, subject_, options_.repeat, row);
      for (const engine::Bounds& one : bounds) answer["widths"].push_back(engine::mean_width(one));
    }
    const std::string key = unstable_key(lowered->plan());
    const auto known = unstable_.find(key);
    const auto count =
        known != unstable_.end() ? known->second : count_unstable(lowered->plan(), subject_);
    if (count) {
      row.set(Column::kUnstable, *count);
      answer["key"] = key;
      answer["unstable"] = *count;
    }
    row.set(Column::kStatus, std::string("ok"));
  } catch (const CompileError& error) {
    row.set(Column::kStatus, std::string("failed"));
    row.set(Column::kMessage, first_line(error.what()));
  }
  answer["row"] = csv_line(row);
  return answer.dump();
}

void AblationRunner::find_baseline(const ModelArguments& base) {
  if (ibp_widths_) return;
  ibp_widths_.emplace();
  const AblationConfig ibp{"ibp", {{"method", "ibp"}}, "", ""};
  const system::ProcessResult result =
      system::run_apart([&] { return run_here(base, ibp); }, options_.timeout);
  if (result.exit_code != 0) return;
  const json answer = json::parse(result.output);
  for (const json& width : answer.value("widths", json::array()))
    ibp_widths_->push_back(width.is_number() ? width.get<double>() : HUGE_VAL);
}

AblationRow AblationRunner::run(const ModelArguments& base, const AblationConfig& config) {
  find_baseline(base);
  const system::Stopwatch stopwatch;
  const system::ProcessResult result =
      system::run_apart([&] { return run_here(base, config); }, options_.timeout);
  if (result.exit_code == 0) {
    const json answer = json::parse(result.output);
    if (answer.contains("key"))
      unstable_[answer["key"].get<std::string>()] = answer["unstable"].get<std::int64_t>();
    const auto row = parse_csv_line(answer["row"].get<std::string>());
    BF_CHECK(row.has_value());
    return *row;
  }
  const bool late = options_.timeout > 0 && stopwatch.seconds() >= options_.timeout;
  AblationRow row = failed_row(
      subject_.model, config,
      late ? fmt::format("no result within {} s", options_.timeout)
           : fmt::format("ended with code {}: {}", result.exit_code,
                         first_line(result.errors.empty() ? "no message" : result.errors)));
  row.set(Column::kSha256, subject_.sha256);
  row.set(Column::kRun, run_id(base, config));
  return row;
}

}  // namespace bf_aot::cli
