#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "aot/apps/vectors/make_vectors.h"
#include "aot/artifacts/project/project.h"
#include "aot/artifacts/project/written.h"
#include "aot/artifacts/provenance/trace.h"
#include "aot/artifacts/sbom/sbom.h"
#include "aot/build/dispatch.h"
#include "aot/build/footprint/footprint.h"
#include "aot/build/frontend_result.h"
#include "aot/build/manifest.h"
#include "aot/build/options/language.h"
#include "aot/build/runtime_files.h"
#include "aot/build/single_file.h"
#include "aot/build/work_json.h"
#include "aot/cli/commands/commands.h"
#include "aot/cli/commands/report_findings.h"
#include "aot/cli/compile/size_limits.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/help.h"
#include "aot/cli/options/options.h"
#include "aot/cli/options/output_files.h"
#include "aot/emit/interface/emit_verify.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/coverage.h"
#include "aot/emit/text/dialect.h"
#include "aot/engine/verifier/report.h"
#include "aot/system/files.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kCompileExamples[] =
    "bf-aot model.onnx -o verifier.cpp\n"
    "    writes verifier.cpp, verifier.h, libverifier.a and verifier.json\n"
    "bf-aot model.onnx -o out/net.cpp --method ibp --target cortex-m4\n"
    "    for a microcontroller, compiled with arm-none-eabi-g++\n"
    "bf-aot model.onnx --project demo --spec C.json\n"
    "    a CMake project with an example in C that also bounds the rows of C y";

constexpr char kCompileNotes[] =
    "Exit code: 0 done, 1 the input cannot be compiled (see the diagnostics), 2 wrong "
    "usage.";

struct CompileArguments {
  ModelArguments model;
  std::string output;
  std::string project;
  std::string report;
  std::string trace;
  std::string sbom;
  SizeLimits limits;
  bool no_library = false;
  bool dispatch = false;
  bool check_constants = false;
  bool single_file = false;
};

bool is_plain_stem(const std::string& stem) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+";
  return !stem.empty() && stem[0] != '.' && stem[0] != '-' &&
         stem.find_first_not_of(kAllowed) == std::string::npos;
}

// Names of a project's own files and of its CMake targets, of targets that CMake has, and of
// libraries that programs are linked with.
bool is_taken_in_project(const std::string& stem) {
  constexpr std::string_view kTaken[] = {
      "bf",      "bf_monitor", "board", "console",    "example",       "example_parallel",
      "library", "run",        "all",   "clean",      "edit_cache",    "help",
      "install", "package",    "test",  "preinstall", "rebuild_cache", "thread_executor",
      "c",       "dl",         "gcc",   "m",          "pthread",       "rt",
      "stdc++"};
  return std::ranges::find(kTaken, stem) != std::end(kTaken);
}

// Files and targets are called as the functions, so that several projects fit into one build.
std::string project_stem(const std::string& name) {
  return is_taken_in_project(name) ? name + "_verifier" : name;
}

// Checks the value of -o; the text is what CLI11 prints otherwise.
std::string check_output(std::string& text) {
  const fs::path path(text);
  if (!build::language_of(path))
    return "-o: the name of the source must end in .cpp, .c for C99, .cl for OpenCL or .cu for "
           "CUDA";
  if (!is_plain_stem(path.stem().string()))
    return "-o: use letters, digits, '_', '-', '+' and '.' in the file name";
  return {};
}

void add_options(CommandLine& app, CompileArguments& arguments) {
  // The first line is what VNN-LIB 2.0, section 5, asks of a solver: the version alone.
  app.set_version_flag("--version", BF_VERSION_STRING "\nbf-aot " + emit::version_text())
      ->group(kGeneralGroup);
  add_model_options(app, arguments.model, false);
  add_name_option(app, arguments.model);
  add_method_option(app, arguments.model);
  add_norm_option(app, arguments.model);
  add_spec_option(app, arguments.model);
  add_property_option(app, arguments.model);
  add_arithmetic_option(app, arguments.model);
  add_language_option(app, arguments.model);
  add_compiler_options(app, arguments.model);
  app.add_option(
         "-o,--output", arguments.output,
         "source to write, C99 where its name ends in .c; its header, library and manifest lie "
         "beside it")
      ->writes("FILE.cpp|FILE.c")
      ->transform(ValueRule{check_output, ""});
  app.add_option(
         "--project", arguments.project,
         "write a CMake project that uses the verifier into this folder; its bounds hold for "
         "evaluation in float32 unless --semantics says otherwise")
      ->type_name("DIR");
  add_report_option(app, arguments.report);
  app.add_option("--trace", arguments.trace,
                 "write what each ONNX node became: passes, layers, steps, kernels, lines of the "
                 "source, places of the workspace, and back")
      ->writes("FILE.json");
  app.add_option("--sbom", arguments.sbom,
                 "write a bill of materials in SPDX, or in CycloneDX (FILE.cdx.json): the files "
                 "with digests and licences, the model, the tools")
      ->writes("FILE.json");
  add_size_limits(app, arguments.limits);
  app.add_flag("--no-library", arguments.no_library, "write the source only: run no C++ compiler");
  app.add_flag("--check-constants", arguments.check_constants,
               "add NAME_constants_crc32, which sums up the constants in memory; --project does");
  app.add_flag("--dispatch", arguments.dispatch,
               "code for each x86-64 level up to --target in one library; calls go to the highest "
               "that the processor offers");
  app.add_flag("--single-file", arguments.single_file,
               "one source and one header that hold what they need of the runtime: nothing else to "
               "ship")
      ->excludes("--dispatch")
      ->excludes("--project");
  app.get_option("--trace")->excludes("--dispatch");
  app.get_option("--check-constants")->excludes("--dispatch");
  app.get_option("--norm")->excludes("--project");  // its monitor is about boxes
  set_help(app, {kCompileExamples, kCompileNotes, "start/monitor.md"});
}

struct Output {
  std::string stem;
  std::vector<std::string> flags;  // of the C++ compiler
  const build::Toolchain* toolchain = nullptr;
  bool limited = false;  // its sizes must be known
};

// The verifier's files in their final form, and its library.
struct Staged {
  std::string stem;
  std::vector<std::string> names;
  std::optional<std::int64_t> code;  // bytes of the library's machine code, where it was built
  std::optional<build::Footprint> footprint;  // of the library, where `measured`
};

Staged stage(const system::Staging& staging, const build::Verifier& verifier, const Output& output,
             bool measured) {
  Staged staged;
  staged.stem = output.stem;
  for (const emit::EmittedFile& file : verifier.files) {
    staged.names.push_back(output.stem + file.suffix);
    staging.write(staged.names.back(), file.bytes);
  }
  if (output.toolchain != nullptr) {
    const system::Progress progress("compile");
    build::build_archive(*output.toolchain, staging.folder(), output.stem, verifier.files);
    staged.names.push_back("lib" + output.stem + ".a");
    staged.code = build::code_bytes(staging.folder() / staged.names.back(), *output.toolchain);
    if (measured)
      staged.footprint = build::measure_footprint(*output.toolchain, staging.folder(), output.stem,
                                                  verifier.files, verifier.plan().config.target);
  }
  for (const emit::EmittedFile& file : verifier.files)
    if (file.suffix.ends_with(".json"))
      staging.write(output.stem + file.suffix,
                    build::manifest_text(verifier, output.stem, file.suffix,
                                         {output.toolchain, staged.code, staged.footprint}));
  return staged;
}

// Says whether a verifier may be written: throws, or does nothing.
using Judge = std::function<void(const fs::path& folder, const Staged& staged)>;

// Every byte counts on a board: the manifest tells there.
Staged write_outputs(const fs::path& folder, const build::Verifier& verifier, const Output& output,
                     const Judge& judge) {
  system::Staging staging(folder);
  const bool board = !verifier.plan().config.target.qemu_board.empty();
  Staged staged = stage(staging, verifier, output, board || output.limited);
  judge(folder, staged);
  staging.publish(staged.names);
  return staged;
}

// Writes the project. Keeps files that the user has changed, or refuses: see plan_rewrite().
Staged write_project(const fs::path& folder, const build::Verifier& verifier, const Output& output,
                     const artifacts::Vectors& vectors, const Judge& judge) {
  const system::NewFolder kept(folder);
  system::Staging staging(folder);
  Staged staged = stage(staging, verifier, output, true);
  judge(folder, staged);
  for (const emit::EmittedFile& file : artifacts::project_files(
           verifier, output.stem, output.flags, output.toolchain, staged.footprint, vectors)) {
    staging.write(file.suffix, file.bytes);
    staged.names.push_back(file.suffix);
  }
  artifacts::Rewrite rewrite = artifacts::plan_rewrite(folder, staging.folder(), staged.names);
  staging.write(artifacts::kWrittenList, rewrite.list);
  rewrite.written.emplace_back(artifacts::kWrittenList);
  staging.publish(rewrite.written);
  artifacts::remove_files(folder, rewrite.removed);
  staged.names.emplace_back(artifacts::kWrittenList);
  for (const std::string& name : rewrite.kept)
    fmt::print(stderr, "note: {} was changed and is kept\n", printable((folder / name).string()));
  for (const std::string& name : rewrite.behind)
    fmt::print(stderr,
               "note: {} was changed and is kept, as made for other options than now, another "
               "target or version; move it away to get the new one\n",
               printable((folder / name).string()));
  for (const std::string& name : rewrite.left)
    fmt::print(stderr, "note: {} is no longer part of the project; it was changed and is left\n",
               printable((folder / name).string()));
  return staged;
}

// Prints the predicted cycles of the bounds of each method, where a profile states the clock.
void print_cycles(const Plan& plan) {
  const double clock = profile_of(plan.config).clock;
  if (clock == 0 || plan.prediction.profile.empty()) return;
  for (const Entry& entry : plan.entries) {
    if (entry.kind != EntryKind::kBounds) continue;
    double seconds = 0;
    for (const Task& task : entry.tasks) seconds += task.predicted_seconds;
    fmt::print("{:<10}about {:.3g} million cycles of {}_{}, {} at {:g} MHz ({})\n", "time",
               1e-6 * clock * seconds, plan.name, name_of(entry), engine::duration(seconds),
               1e-6 * clock, plan.prediction.activity);
  }
}

// Prints where the files that were asked for lie, and what the verifier takes.
void print_summary(const fs::path& folder, const build::Verifier& verifier, const Staged& staged,
                   const build::CompileOptions& options, const SizeLimits& limits) {
  const auto row = [](std::string_view what, const std::string& text) {
    fmt::print("{:<10}{}\n", what, text);
  };
  const auto bytes = [](std::int64_t count) { return fmt::format("{} bytes", count); };
  std::vector<std::string> names;
  for (const emit::EmittedFile& file : verifier.files)
    names.push_back((folder / (staged.stem + file.suffix)).string());
  if (staged.code) names.push_back((folder / ("lib" + staged.stem + ".a")).string());
  std::string_view key = "covers";
  for (const std::string& line : emit::coverage_of(verifier.plan()))
    row(std::exchange(key, ""), line);
  if (options.float32_by_default && is_in_float32(verifier.plan().config.semantics))
    row("", "--project takes that by default; for fewer instructions --semantics real covers less");
  for (const Rejected& other : verifier.plan().rejected)
    if (other.slot == kArithmeticSlot && !verifier.plan().config.target.hardware_float())
      row("numbers",
          fmt::format("{}: {}", to_string(verifier.plan().config.arithmetic), other.reason));
  row("written", fmt::format("{}", fmt::join(names, ", ")));
  const bool by_nvcc = verifier.plan().config.language == Language::kCuda;
  row("code", staged.code ? bytes(*staged.code)
              : by_nvcc   ? "not compiled: nvcc does that"
                          : "not compiled (--no-library)");
  row("weights", bytes(verifier.weights_bytes));
  if (const auto& footprint = staged.footprint) {
    row("flash", bytes(footprint->text + footprint->data + footprint->library_bytes.value_or(0)));
    row("variables", bytes(footprint->data + footprint->zeroed));
    row("stack", footprint->stack ? "at most " + bytes(*footprint->stack)
                                  : "the compiler does not bound it");
  }
  row("workspace", bytes(verifier.plan().arena_bytes()));
  if (verifier.plan().context.bytes > 0) row("context", bytes(verifier.plan().context.bytes));
  const artifacts::Resources resources =
      artifacts::resources_of(verifier.plan(), verifier.weights_bytes, staged.footprint);
  for (const std::string& line : sizes_within(limits, resources)) fmt::print("{}\n", line);
  const bool integer = verifier.plan().integer.has_value();
  for (const auto& [function, operations] :
       build::work_of_calls(*verifier.lowered, verifier.verify_work))
    row("work",
        fmt::format("{} {} operations of {}", integer ? "at most" : "about", operations, function));
  print_cycles(verifier.plan());
}

struct Made {
  build::FrontendResult front;
  build::Verifier verifier;
};

Made compile_model(const fs::path& model, const std::string& stem,
                   const build::CompileOptions& options) {
  const system::Progress progress("generate");
  if (options.property) emit::check_emittable(*options.property);
  Made made{build::run_frontend(model, options), {}};
  made.verifier = build::compile(made.front, build::symbol_prefix(model, options), stem, options);
  return made;
}

// A project brings its runtime among its files.
artifacts::Bill bill_of(const CompileArguments& arguments, const Output& output,
                        std::vector<build::RuntimeFile> runtime, std::vector<std::string> files) {
  const bool project = arguments.output.empty();
  artifacts::Bill bill;
  bill.folder = project ? fs::path(arguments.project) : fs::path(arguments.output).parent_path();
  bill.files = std::move(files);
  if (!project) bill.runtime = std::move(runtime);
  if (!project && (output.toolchain != nullptr || arguments.single_file))
    bill.runtime.push_back(build::runtime_source());
  bill.holds_runtime = !bill.runtime.empty() && bill.runtime.back().path == "bf.cpp";
  if (output.toolchain != nullptr) bill.compiler = output.toolchain->version;
  return bill;
}

void log_passes(artifacts::PassLog& log, build::CompileOptions& options) {
  options.marks = true;
  options.after_pass = [&log](std::string_view pass, const Graph& graph, double) {
    log.after(pass, graph);
  };
}

Judge judge_of(const CompileArguments& arguments, const build::CompileOptions& options,
               const Made& made, const Output& output) {
  return [&](const fs::path& folder, const Staged& staged) {
    if (!arguments.limits.any()) return;
    const auto resources = [](const build::Verifier& verifier, const Staged& of) {
      return artifacts::resources_of(verifier.plan(), verifier.weights_bytes, of.footprint);
    };
    expect_within(arguments.limits, options, resources(made.verifier, staged),
                  [&](const build::CompileOptions& others) {
                    const build::Verifier other =
                        build::compile(made.front, made.verifier.plan().name, output.stem, others);
                    const system::Staging staging(folder);
                    return resources(other, stage(staging, other, output, true));
                  });
  };
}

// The language that the name of the source says; of a project, the option's.
Language asked_language(const CompileArguments& arguments) {
  return arguments.output.empty() ? arguments.model.values.compile.planner.language
                                  : *build::language_of(arguments.output);
}

// The files of a verifier that -o names.
std::vector<fs::path> files_of(const fs::path& folder, const std::string& stem,
                               const std::vector<emit::EmittedFile>& files, bool has_library) {
  std::vector<fs::path> all;
  for (const emit::EmittedFile& file : files) all.push_back(folder / (stem + file.suffix));
  if (has_library) all.push_back(folder / ("lib" + stem + ".a"));
  return all;
}

// Why --language and the name of the source do not go together.
std::optional<std::string> contradicts_language(CommandLine& app,
                                                const CompileArguments& arguments) {
  const Language language = arguments.model.values.compile.planner.language;
  if (app.get_option("--language")->count() == 0 || language == asked_language(arguments))
    return std::nullopt;
  return fmt::format("--language {}: the name of the source must end in {}", to_string(language),
                     emit::Dialect(language).suffix());
}

}  // namespace

int compile_command(const Call& call) {
  CompileArguments arguments;
  CommandLine app("Compiles a neural network into a verifier: C++ code with sound output bounds.",
                  "bf-aot");
  add_options(app, arguments);
  if (const auto code = parse(app, call)) return *code;
  if (arguments.output.empty() && arguments.project.empty()) {
    return usage_error(app, "-o or --project is required");
  }

  build::CompileOptions options = compile_options(arguments.model);
  if (const auto why = contradicts_language(app, arguments)) return usage_error(app, *why);
  options.float32_by_default =
      !arguments.project.empty() && arguments.model.values.semantics_is_default;
  options.check_constants = arguments.check_constants;
  if (arguments.dispatch) {
    options.levels = build::dispatch_levels(options.planner.target);
    if (options.levels.empty())
      fail("BF3104", "--dispatch",
           fmt::format("'{}' is no level of x86-64", options.planner.target.name),
           "choose --target x86-64-v4 or x86-64-v3, or leave --dispatch out");
  }
  const fs::path output(arguments.output);
  const std::string stem = arguments.output.empty()
                               ? project_stem(build::symbol_prefix(arguments.model.model, options))
                               : output.stem().string();
  if (!arguments.project.empty() && is_taken_in_project(stem)) {
    return usage_error(
        app,
        fmt::format("-o: a project has something of its own called '{}': use another name", stem));
  }
  const Target& target = arguments.dispatch ? options.levels.back()  // the others' flags follow
                                            : options.planner.target;
  const Language language = asked_language(arguments);
  options = build::for_source(std::move(options), language, arguments.model.values.target,
                              arguments.model.values.items);
  if (is_of_device(language) && arguments.limits.any())
    fail("BF3112", "--max-flash, --max-ram", "verifiers for a device do not have them",
         "leave them out: NAME.h says what a box and the weights take of the device's memory");
  if (language != Language::kCpp && !arguments.project.empty())
    fail("BF3112", "--project", "projects are in C++",
         fmt::format("write the source alone: -o FILE{}", emit::Dialect(language).suffix()));
  if (!arguments.project.empty() && !arguments.dispatch) options.check_constants = true;
  const build::CompilerOptions& compiler = arguments.model.values.compiler;
  std::optional<build::Toolchain> toolchain;
  if (!arguments.no_library && language != Language::kCuda)
    toolchain =
        build::find_toolchain(compiler, target, is_of_device(language) ? Language::kC : language);

  artifacts::PassLog log;
  if (!arguments.trace.empty()) log_passes(log, options);
  Made made = compile_model(arguments.model.model, stem, options);
  std::vector<build::RuntimeFile> runtime;
  if (!arguments.sbom.empty()) runtime = build::runtime_files_of(made.verifier.files);
  if (arguments.single_file) made.verifier.files = single_file(made.verifier, stem);
  if (!arguments.output.empty())
    expect_apart(app, app.get_option("--output")->get_name(),
                 files_of(output.parent_path(), stem, made.verifier.files, toolchain.has_value()));
  const std::vector<artifacts::FileLines> lines = artifacts::take_lines(made.verifier.files, stem);
  const build::Verifier& verifier = made.verifier;
  const build::Toolchain* const found = toolchain ? &*toolchain : nullptr;
  const Output made_as{
      stem, build::code_flags(compiler, target, is_of_device(language) ? Language::kC : language),
      found, arguments.limits.any()};
  const Judge judge = judge_of(arguments, options, made, made_as);
  Staged staged;
  if (!arguments.project.empty()) {
    staged =
        write_project(arguments.project, verifier, made_as,
                      apps::make_vectors(arguments.model.model, options, *verifier.lowered), judge);
    print_summary(arguments.project, verifier, staged, options, arguments.limits);
  }
  if (!arguments.output.empty()) {
    staged = write_outputs(output.parent_path(), verifier, made_as, judge);
    print_summary(output.parent_path(), verifier, staged, options, arguments.limits);
  }
  if (!arguments.sbom.empty())
    system::publish_file(
        arguments.sbom,
        artifacts::sbom_text(arguments.sbom, verifier.plan(),
                             bill_of(arguments, made_as, std::move(runtime), staged.names)));
  if (!arguments.trace.empty())
    system::publish_file(arguments.trace,
                         artifacts::trace_text(made.front, log, *verifier.lowered, lines));
  if (!arguments.report.empty()) {
    const fs::path folder =
        arguments.output.empty() ? fs::path(arguments.project) : output.parent_path();
    const system::Progress progress("measure");
    write_report(arguments.report, verifier.plan(), options, app,
                 findings_of(made.front, verifier, options, found, folder / ("lib" + stem + ".a")));
  }
  return 0;
}

}  // namespace bf_aot::cli
