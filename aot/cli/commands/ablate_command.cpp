#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "aot/cli/ablate/ablate_plots.h"
#include "aot/cli/ablate/ablate_run.h"
#include "aot/cli/ablate/ablate_summary.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/values.h"
#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kAblateExamples[] =
    "bf-aot ablate models/*.onnx --golden models/golden --out ablation\n"
    "bf-aot ablate net.onnx --property p.vnnlib --out a --configs mine.json\n"
    "with mine.json: [{\"name\": \"small\", \"method\": \"crown\", \"row-tile\": 8}]";

constexpr char kAblateNotes[] =
    "Plans, compiles and runs every model with every configuration: all methods, each "
    "pass that can be left out, portable code, several row tiles; or those of --configs. "
    "DIR gets results.csv (one row for each run, failures included; "
    "docs/reference/ablation.md), summary.md and plots/ (SVG and PNG when gnuplot is "
    "installed, its script in any case). Rows of an earlier run that would come out the "
    "same are kept. Planner options that are given here hold for all configurations.\n\n"
    "Boxes come from --property, --golden or --box; without them plans alone are "
    "compared.\n\n"
    "Exit code: 0 all were run, whatever came out; 1 an error that concerns them all.";

struct AblateArguments {
  ModelArguments base;
  std::vector<std::string> models;
  std::vector<std::string> goldens;
  std::vector<std::string> boxes;
  std::string configs;
  std::string out;
  std::size_t most_boxes = 16;
  RunOptions run;
  bool fresh = false;
};

void add_options(CommandLine& app, AblateArguments& arguments) {
  arguments.base.values.compile.planner.lowering = kInProcess;
  add_model_options(app, arguments.base, false);
  app.remove_option(app.get_option("MODEL"));
  add_method_option(app, arguments.base);
  add_compiler_options(app, arguments.base);
  app.add_option("MODEL", arguments.models, "ONNX files")->required()->type_name("FILE");
  Option* const property =
      app.add_option("--property", arguments.base.property, "VNN-LIB file: boxes and what to prove")
          ->type_name("FILE");
  Option* const golden =
      app.add_option("--golden", arguments.goldens,
                     "JSON file with boxes and reference bounds, one for each model in order; or a "
                     "folder with NAME.json for NAME.onnx")
          ->type_name("FILE")
          ->excludes(property);
  app.add_option("--box", arguments.boxes, "JSON file with a box; may be repeated")
      ->type_name("FILE")
      ->excludes(property)
      ->excludes(golden);
  app.add_option("--boxes", arguments.most_boxes, "most boxes taken from a file")
      ->transform(whole(1, 100000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--out", arguments.out, "folder for what is found; made when it is missing")
      ->required()
      ->type_name("DIR");
  app.add_option("--configs", arguments.configs,
                 "JSON file with an array of configurations, each as --config takes one, with a "
                 "\"name\"")
      ->type_name("FILE");
  app.add_option("--repeat", arguments.run.repeat,
                 "number of time measurements per box (default: for about 0.3 seconds)")
      ->transform(whole(1, 1 << 24))
      ->type_name("N");
  app.add_option("--timeout", arguments.run.timeout, "most seconds of one run (default: no limit)")
      ->transform(number("0", "1e6"))
      ->type_name("S");
  app.add_flag("--fresh", arguments.fresh, "run all again: keep no row of an earlier run");
  set_help(app, {kAblateExamples, kAblateNotes, "reference/ablation.md"});
}

// The options that were given for all configurations, as text.
std::string base_settings(CommandLine& app) {
  std::string text;
  for (const Option* option : app.get_options())
    if (is_planner_option(*option) && option->count() > 0) {
      text += option->get_name();
      for (const std::string& word : option->results()) text += " " + word;
      text += "\n";
    }
  return text;
}

// The golden file of each model; empty ones without --golden. A model without a file in a folder
// has none.
std::vector<std::string> golden_files(const AblateArguments& arguments) {
  std::vector<std::string> files(arguments.models.size());
  if (arguments.goldens.empty()) return files;
  std::error_code error;
  if (arguments.goldens.size() == 1 && fs::is_directory(arguments.goldens[0], error)) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      std::string stem = fs::path(arguments.models[i]).filename().string();
      stem = stem.substr(0, stem.find(".onnx"));
      const fs::path file = fs::path(arguments.goldens[0]) / (stem + ".json");
      if (fs::exists(file, error)) files[i] = file.string();
    }
    return files;
  }
  if (arguments.goldens.size() != arguments.models.size())
    fail("BF3321", "--golden",
         fmt::format("{} files for {} models", arguments.goldens.size(), arguments.models.size()),
         "give one for each model, in order, or a folder");
  return arguments.goldens;
}

// Writes results.csv as it grows: first the rows that stay from earlier runs, then a line for each
// run.
class Table {
 public:
  Table(fs::path path, std::vector<AblationRow> rows)
      : path_(std::move(path)), rows_(std::move(rows)) {
    rewrite();
    file_ = std::fopen(path_.c_str(), "ab");
    if (file_ == nullptr) fail("BF3102", printable(path_.string()), "cannot be written");
  }
  ~Table() {
    if (file_ != nullptr) std::fclose(file_);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const std::vector<AblationRow>& rows() const { return rows_; }

  // The row is in the file when this returns.
  void add(AblationRow row) {
    const std::string line = csv_line(row);
    const bool written = std::fwrite(line.data(), 1, line.size(), file_) == line.size();
    if (!written || std::fflush(file_) != 0)
      fail("BF3102", printable(path_.string()), "cannot be written", "check the free space");
    rows_.push_back(std::move(row));
  }

  // All rows in the order of models and configurations in which they were asked for.
  void sort(const std::vector<std::string>& runs) {
    const auto place = [&](const AblationRow& row) {
      return std::ranges::find(runs, row.text(Column::kRun)) - runs.begin();
    };
    std::ranges::stable_sort(rows_, {}, place);
    rewrite();
  }

 private:
  void rewrite() const {
    std::string text = csv_head();
    for (const AblationRow& row : rows_) text += csv_line(row);
    system::Staging staging(path_.parent_path());
    staging.write(path_.filename().string(), text);
    staging.publish({path_.filename().string()});
  }

  fs::path path_;
  std::vector<AblationRow> rows_;
  std::FILE* file_ = nullptr;
};

struct PlannedRun {
  std::size_t model = 0;
  AblationConfig config;
  std::string id;       // empty: the model cannot be read
  std::string problem;  // then, why
};

std::vector<PlannedRun> plan_runs(const AblateArguments& arguments,
                                  const std::vector<AblationConfig>& configs,
                                  std::vector<Subject>& subjects) {
  std::vector<PlannedRun> runs;
  const std::vector<std::string> goldens = golden_files(arguments);
  for (std::size_t i = 0; i < arguments.models.size(); ++i) {
    std::string problem;
    subjects.emplace_back();
    try {
      subjects[i] = read_subject({arguments.models[i], arguments.base.property, goldens[i],
                                  arguments.boxes, arguments.most_boxes});
    } catch (const CompileError& error) {
      problem = error.what();
    }
    const AblationRunner runner(subjects[i], arguments.run);
    for (const AblationConfig& config : configs)
      runs.push_back(
          {i, config, problem.empty() ? runner.run_id(arguments.base, config) : "", problem});
  }
  return runs;
}

// The rows of an earlier run that stay: those that would come out the same, and those of other
// models and configurations.
std::vector<AblationRow> kept_rows(std::vector<AblationRow> rows,
                                   const std::vector<PlannedRun>& runs,
                                   const AblateArguments& arguments) {
  const auto is_stale = [&](const AblationRow& row) {
    if (row.text(Column::kVersion) != BF_VERSION_STRING) return true;
    return std::ranges::any_of(runs, [&](const PlannedRun& run) {
      const std::string name = printable(fs::path(arguments.models[run.model]).filename().string());
      if (row.text(Column::kModel) != name || row.text(Column::kConfig) != run.config.name)
        return false;
      return !row.ok() || row.text(Column::kRun) != run.id;
    });
  };
  std::erase_if(rows, is_stale);
  return rows;
}

void run_all(const AblateArguments& arguments, const std::vector<PlannedRun>& runs,
             const std::vector<Subject>& subjects, Table& table) {
  std::set<std::string> known;
  for (const AblationRow& row : table.rows())
    if (!row.text(Column::kRun).empty()) known.insert(row.text(Column::kRun));
  system::ProgressBar bar(static_cast<int>(runs.size()));
  std::optional<AblationRunner> runner;
  std::size_t at = subjects.size();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlannedRun& run = runs[i];
    const fs::path model = arguments.models[run.model];
    if (known.contains(run.id)) continue;
    bar.show(static_cast<int>(i),
             fmt::format("{}: {}", printable(model.filename().string()), run.config.name));
    if (!run.problem.empty()) {
      table.add(failed_row(model, run.config, run.problem));
      continue;
    }
    if (at != run.model) runner.emplace(subjects[run.model], arguments.run);
    at = run.model;
    table.add(runner->run(arguments.base, run.config));
  }
  bar.show(static_cast<int>(runs.size()), "");
}

int ablate(const AblateArguments& arguments) {
  const std::vector<AblationConfig> configs =
      arguments.configs.empty() ? builtin_configs(arguments.base) : read_configs(arguments.configs);
  for (const AblationConfig& config : configs) configured(arguments.base, config);
  std::vector<Subject> subjects;
  const std::vector<PlannedRun> runs = plan_runs(arguments, configs, subjects);

  const fs::path folder = arguments.out;
  system::make_folder(folder);
  std::vector<AblationRow> earlier;
  if (!arguments.fresh) earlier = read_csv(folder / "results.csv");
  const std::size_t found = earlier.size();
  Table table(folder / "results.csv", kept_rows(std::move(earlier), runs, arguments));
  if (found > 0)
    fmt::print("{} of {} rows of an earlier run are kept\n", table.rows().size(), found);
  run_all(arguments, runs, subjects, table);
  std::vector<std::string> order;
  for (const PlannedRun& run : runs) order.push_back(run.id);
  table.sort(order);

  const bool drawn = write_plots(folder, table.rows());
  system::Staging staging(folder);
  staging.write("summary.md", ablation_summary(table.rows(), drawn));
  staging.publish({"summary.md"});
  const auto failed =
      std::ranges::count_if(table.rows(), [](const auto& row) { return !row.ok(); });
  fmt::print("{} runs, {} failed; see {}\n", table.rows().size(), failed,
             (folder / "summary.md").string());
  if (!drawn)
    fmt::print("gnuplot is not installed: plots/plots.gp and its data are there, no figures\n");
  return 0;
}

}  // namespace

int ablate_command(const Call& call) {
  AblateArguments arguments;
  CommandLine app("Measures what each choice of the planner brings.", "bf-aot ablate");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  arguments.run.base_settings = base_settings(app);
  return ablate(arguments);
}

}  // namespace bf_aot::cli
