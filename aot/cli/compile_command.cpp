#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "aot/cli/commands.h"
#include "aot/cli/report_findings.h"
#include "aot/compile/dispatch.h"
#include "aot/host/files.h"
#include "aot/host/footprint.h"
#include "aot/host/progress.h"
#include "aot/interface/emit_verify.h"
#include "aot/options/options.h"
#include "aot/project/project.h"
#include "aot/project/single_file.h"
#include "frontend/diagnostic.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kCompileFooter[] =
    "Commands:\n"
    "  bf-aot run MODEL --box BOX.json       bounds of a box, computed here\n"
    "  bf-aot verify MODEL PROPERTY.vnnlib   decide a property\n"
    "  bf-aot check MODEL --golden G.json    compare with reference bounds\n"
    "  bf-aot inspect MODEL                  show the network, the passes, the plan\n"
    "  bf-aot ablate MODEL... --out DIR      measure what each choice of the planner brings\n"
    "  bf-aot bench MODEL                    time a verifier here, as a whole and by kernel\n"
    "  bf-aot tune MODEL                     search faster schedules of its kernels here\n"
    "  bf-aot profile                        measure or check the machine's profile\n"
    "  bf-aot supports --onnx-operators      what models and properties may hold\n"
    "  (each has its own --help)\n"
    "\n"
    "Examples:\n"
    "  bf-aot model.onnx -o verifier.cpp\n"
    "      writes verifier.cpp, verifier.h, libverifier.a and verifier.json\n"
    "  bf-aot model.onnx -o out/net.cpp --method ibp --target cortex-m4\n"
    "      for a microcontroller, compiled with arm-none-eabi-g++\n"
    "  bf-aot model.onnx --project demo --spec C.json\n"
    "      a CMake project with an example in C that also bounds the rows of C y\n"
    "\n"
    "Exit code: 0 done, 1 the input cannot be compiled (see the diagnostics), 2 wrong usage.";

struct CompileArguments {
  ModelArguments model;
  std::string output;
  std::string project;
  std::string report;
  bool no_library = false;
  bool dispatch = false;
  bool single_file = false;
};

bool is_plain_stem(const std::string& stem) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+";
  return !stem.empty() && stem[0] != '.' && stem[0] != '-' &&
         stem.find_first_not_of(kAllowed) == std::string::npos;
}

// Names of a project's own files and of its CMake targets.
bool is_taken_in_project(const std::string& stem) {
  constexpr std::string_view kTaken[] = {"bf",  "board",          "example", "example_parallel",
                                         "run", "thread_executor"};
  return std::ranges::find(kTaken, stem) != std::end(kTaken);
}

// What -o must look like; the text that CLI11 prints otherwise.
std::string check_output(const std::string& text) {
  const fs::path path(text);
  if (path.extension() != ".cpp") return "-o: the name of the C++ file must end in .cpp";
  if (!is_plain_stem(path.stem().string()))
    return "-o: use letters, digits, '_', '-', '+' and '.' in the file name";
  return {};
}

void add_options(CLI::App& app, CompileArguments& arguments) {
  app.set_version_flag("--version", std::string("bf-aot ") + BF_VERSION_STRING);
  add_model_options(app, arguments.model, false);
  add_method_option(app, arguments.model);
  add_spec_option(app, arguments.model);
  add_property_option(app, arguments.model);
  add_arithmetic_option(app, arguments.model);
  add_compiler_options(app, arguments.model);
  app.add_option("-o,--output", arguments.output,
                 "C++ file to write; its header, library and manifest lie beside it")
      ->type_name("FILE.cpp")
      ->check(CLI::Validator(check_output, ""));
  app.add_option("--project", arguments.project,
                 "write a CMake project that uses the verifier into this folder")
      ->type_name("DIR");
  add_report_option(app, arguments.report);
  app.add_flag("--no-library", arguments.no_library, "write the source only: run no C++ compiler");
  app.add_flag("--dispatch", arguments.dispatch,
               "code for each x86-64 level up to --target in one library; calls go to the highest "
               "that the processor offers");
  app.add_flag("--single-file", arguments.single_file,
               "one source and one header that hold what they need of the runtime: nothing else to "
               "ship")
      ->excludes("--dispatch")
      ->excludes("--project");
  app.footer(kCompileFooter);
}

struct Output {
  std::string stem;
  std::vector<std::string> flags;  // of the C++ compiler
  const Toolchain* toolchain = nullptr;
};

// The verifier's files in their final form, and its library.
struct Staged {
  std::vector<std::string> names;
  std::optional<Footprint> footprint;  // of the library, where `measured`
};

Staged stage(const Staging& staging, const Verifier& verifier, const Output& output,
             bool measured) {
  Staged staged;
  for (const EmittedFile& file : verifier.files) {
    staged.names.push_back(output.stem + file.suffix);
    staging.write(staged.names.back(), file.bytes);
  }
  std::optional<std::int64_t> code;
  if (output.toolchain != nullptr) {
    const Progress progress("compile");
    build_archive(*output.toolchain, staging.folder(), output.stem, verifier.files);
    staged.names.push_back("lib" + output.stem + ".a");
    code = code_bytes(staging.folder() / staged.names.back(), *output.toolchain);
    if (measured)
      staged.footprint = measure_footprint(*output.toolchain, staging.folder(), output.stem,
                                           verifier.files, verifier.plan.config.target);
  }
  for (const EmittedFile& file : verifier.files)
    if (file.suffix.ends_with(".json"))
      staging.write(output.stem + file.suffix,
                    add_build_record(file.bytes, output.toolchain, code, staged.footprint));
  return staged;
}

// Every byte counts on a board: the manifest tells there.
void write_outputs(const fs::path& folder, const Verifier& verifier, const Output& output) {
  Staging staging(folder);
  const bool board = !verifier.plan.config.target.qemu_board.empty();
  staging.publish(stage(staging, verifier, output, board).names);
}

void write_project(const fs::path& folder, const Verifier& verifier, const Output& output) {
  make_folder(folder);
  Staging staging(folder);
  Staged staged = stage(staging, verifier, output, true);
  for (const EmittedFile& file :
       project_files(verifier, output.stem, output.flags, output.toolchain, staged.footprint)) {
    staging.write(file.suffix, file.bytes);
    staged.names.push_back(file.suffix);
  }
  staging.publish(staged.names);
}

struct Made {
  FrontendResult front;
  Verifier verifier;
};

Made make_verifier(const fs::path& model, const std::string& stem, const CompileOptions& options) {
  const Progress progress("generate");
  if (options.property) check_emittable(*options.property);
  Made made{run_frontend(model, options), {}};
  made.verifier = compile(made.front, symbol_prefix(model, options), stem, options);
  return made;
}

}  // namespace

int compile_command(int argc, const char* const* argv) {
  CompileArguments arguments;
  CLI::App app("Compiles a neural network into a verifier: C++ code with sound output bounds.",
               "bf-aot");
  add_options(app, arguments);
  if (argc <= 1) {
    fmt::print("{}", app.help());
    return 2;
  }
  if (const auto code = parse(app, argc, argv)) return *code;
  if (arguments.output.empty() && arguments.project.empty()) {
    fmt::print(stderr, "-o or --project is required\nRun with --help for more information.\n");
    return 2;
  }

  CompileOptions options = compile_options(arguments.model);
  if (arguments.dispatch) {
    options.levels = dispatch_levels(options.planner.target);
    if (options.levels.empty())
      fail("BF3104", "--dispatch",
           fmt::format("'{}' is no level of x86-64", options.planner.target.name),
           "choose --target x86-64-v4 or x86-64-v3, or leave --dispatch out");
  }
  const fs::path output(arguments.output);
  const std::string stem = arguments.output.empty() ? "verifier" : output.stem().string();
  if (!arguments.project.empty() && is_taken_in_project(stem)) {
    fmt::print(stderr, "-o: a project has something of its own called '{}': use another name\n",
               stem);
    return 2;
  }
  const Target& target = arguments.dispatch ? options.levels.back()  // the others' flags follow
                                            : options.planner.target;
  const CompilerOptions compiler = compiler_options(arguments.model);
  std::optional<Toolchain> toolchain;
  if (!arguments.no_library) toolchain = find_toolchain(compiler, target);

  Made made = make_verifier(arguments.model.model, stem, options);
  if (arguments.single_file) made.verifier.files = single_file(made.verifier, stem);
  const Verifier& verifier = made.verifier;
  const Toolchain* const found = toolchain ? &*toolchain : nullptr;
  const Output made_as{stem, code_flags(compiler, target), found};
  if (!arguments.output.empty()) write_outputs(output.parent_path(), verifier, made_as);
  if (!arguments.project.empty()) write_project(arguments.project, verifier, made_as);
  if (!arguments.report.empty()) {
    const fs::path folder =
        arguments.output.empty() ? fs::path(arguments.project) : output.parent_path();
    const Progress progress("measure");
    write_report(arguments.report, verifier.plan, options, app,
                 findings_of(made.front, verifier, options, found, folder / ("lib" + stem + ".a")));
  }
  return 0;
}

}  // namespace bf_aot::cli
