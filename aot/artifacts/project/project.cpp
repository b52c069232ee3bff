#include "aot/artifacts/project/project.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "aot/artifacts/project/build_text.h"
#include "aot/artifacts/project/example.h"
#include "aot/artifacts/project/example_text.h"
#include "aot/artifacts/project/packages.h"
#include "aot/artifacts/project/project_text.h"
#include "aot/artifacts/project/resources.h"
#include "aot/artifacts/project/selftest.h"
#include "aot/artifacts/project/work_text.h"
#include "aot/build/footprint/footprint.h"
#include "aot/build/runtime_files.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/coverage.h"
#include "aot/emit/text/fill_in.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "runtime/bf.h"

namespace bf_aot::artifacts {
namespace {

// Returns whether the target's system has threads; a board without an operating system has none.
bool has_threads(const Plan& plan) {
  return plan.config.target.qemu_board.empty();
}

std::string shapes(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values)
    text += fmt::format("{}`{}` {}", text.empty() ? "" : ", ", printable(value.name),
                        to_string(value.shape));
  return text;
}

class SizeTable {
 public:
  std::string text = "| what | bytes |\n|---|---|\n";

  void row(std::string_view what, std::int64_t bytes) {
    text += fmt::format("| {} | {} |\n", what, bytes);
  }

  // Rows for memory that the user's calls give: workspaces, and the context.
  void caller_rows(const Plan& plan) {
    std::map<std::string, std::int64_t> sizes;
    for (const ExportedFunction& function : plan.functions) {
      const Workspace& workspace = function.workspace;
      if (!workspace.macro.empty()) sizes.emplace(workspace.macro, workspace.bytes);
    }
    const std::int64_t align = plan.config.target.align;
    row(fmt::format("RAM: workspace, aligned to {}", align), plan.arena_bytes());
    for (const auto& [macro, bytes] : sizes)
      if (macro != "WORKSPACE_BYTES")
        row(fmt::format("RAM: workspace of calls with `{}_{}`", emit::upper_case(plan.name), macro),
            bytes);
    if (plan.context.bytes > 0) row("RAM: context", plan.context.bytes);
  }
};

std::string size_table(const build::Verifier& verifier,
                       const std::optional<build::Footprint>& footprint) {
  SizeTable table;
  if (!footprint) {
    table.row("flash: weights, without the code (`size` tells all)", verifier.weights_bytes);
    table.caller_rows(verifier.plan());
    return table.text + "| stack of one call | build with GCC's `-fstack-usage` to see it |\n";
  }
  const std::int64_t flash = footprint->text + footprint->data;
  const std::int64_t variables = footprint->data + footprint->zeroed;
  table.row("flash: code and constants of the library", flash);
  table.row("of these: code", footprint->code);
  table.row("of these: constants and tables, with the weights", flash - footprint->code);
  table.row("of these: weights", verifier.weights_bytes);
  if (footprint->library_bytes)
    table.row("flash: functions of the compiler's library that it calls",
              *footprint->library_bytes);
  table.caller_rows(verifier.plan());
  table.row("RAM: variables of the library", variables);
  if (!footprint->stack)
    return table.text + "| stack of one call | the compiler does not bound it |\n";
  table.row(fmt::format("RAM: stack of one call, at most ({})", footprint->stack_by_calls
                                                                    ? "the deepest chain of calls"
                                                                    : "the sum of all frames"),
            *footprint->stack);
  table.row("RAM: all, with the largest workspace",
            resources_of(verifier.plan(), verifier.weights_bytes, footprint).ram);
  return table.text;
}

std::string spec_text(const Plan& plan) {
  if (plan.spec_rows == 0) return {};
  return fmt::format(
      "`{}_spec_bounds` has the same arguments and bounds the {} rows of the compiled-in\n"
      "specification `C y`.\n\n",
      plan.name, plan.spec_rows);
}

std::string parallel_text(const Plan& plan, const emit::Arguments& names) {
  if (plan.parallel.workers <= 1) return {};
  return emit::fill_in(kParallelUse, {{"shown", has_threads(plan) ? kParallelShown : ""}}, names);
}

// A table of the objects that the linker takes from libraries if all functions are called.
std::string library_text(const std::vector<build::LibraryObject>& objects) {
  std::int64_t bytes = 0;
  std::string rows;
  for (const build::LibraryObject& object : objects) {
    bytes += object.bytes;
    rows += fmt::format("| {}({}) | {} | {} |\n", object.archive, object.object, object.bytes,
                        fmt::join(object.functions, ", "));
  }
  if (rows.empty()) return "No library of the compiler has them.\n";
  return fmt::format(
      "At most {} bytes are linked for them:\n\n| object | bytes | functions |\n"
      "|---|---|---|\n{}\n",
      bytes, rows);
}

// A sentence that names the functions that the linker has to find elsewhere.
std::string calls_text(const std::optional<build::Footprint>& footprint) {
  if (!footprint) return {};
  if (footprint->calls.empty()) return "The library calls no function of another library.\n";
  const auto quoted = [](const std::vector<std::string>& functions) {
    std::string names;
    for (const std::string& name : functions)
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
    return names;
  };
  std::string text = fmt::format(
      "The library calls these functions of the compiler's library or of the C library, as far as\n"
      "what you call needs them, and their code comes on top: {}.\n",
      quoted(footprint->calls));
  if (footprint->library) text += library_text(*footprint->library);
  if (!footprint->stack) return text;
  return text + (footprint->uncounted.empty()
                     ? "The stack above holds theirs.\n"
                     : fmt::format("The stack above is without that of {}.\n",
                                   quoted(footprint->uncounted)));
}

std::string readme(const build::Verifier& verifier, const std::string& stem,
                   const std::vector<std::string>& flags, const build::Toolchain* toolchain,
                   const std::optional<build::Footprint>& footprint, const emit::Arguments& names) {
  const Plan& plan = verifier.plan();
  const std::string built =
      toolchain == nullptr
          ? "The library was not built: these are the planner's figures."
          : fmt::format("Compiled with {}, flags `{}`.", toolchain->version, fmt::join(flags, " "));
  const bool keeps = plan.context.bytes > 0;
  emit::Arguments arguments = {
      {"contexts", keeps ? emit::fill_in(kContextUse, {}, names) : ""},
      {"batches", plan.config.batch > 1 ? emit::fill_in(kBatchUse, {}, names) : ""},
      {"parallel", parallel_text(plan, names)},
      {"version", BF_VERSION_STRING},
      {"model", plan.model.file_name},
      {"sha256", plan.model.sha256},
      {"covers", fmt::format("{}", fmt::join(emit::coverage_of(plan), "\n"))},
      {"semantics", std::string(plan.config.semantics == Semantics::kFloat32 ? kFloat32Use : "")},
      {"selftest",
       emit::fill_in(verifier.levels.empty() ? kChecksBoth : kChecksVectors, {}, names)},
      {"method", std::string(to_string(plan.config.method))},
      {"target", plan.config.target.name},
      {"inputs", shapes(plan.inputs)},
      {"outputs", shapes(plan.outputs)},
      {"sizes", size_table(verifier, footprint)},
      {"built", built},
      {"calls", calls_text(footprint)},
      {"packages", has_packages(plan.config.target) ? std::string(kPackages) : ""},
      {"work", work_text(verifier)},
      {"spec", spec_text(plan)}};
  for (emit::Argument& argument : readme_of_build(verifier, stem, flags))
    arguments.push_back(std::move(argument));
  return emit::fill_in(kReadme, arguments, names);
}

}  // namespace

std::vector<emit::EmittedFile> project_files(const build::Verifier& verifier,
                                             const std::string& stem,
                                             const std::vector<std::string>& flags,
                                             const build::Toolchain* toolchain,
                                             const std::optional<build::Footprint>& footprint,
                                             const Vectors& vectors) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
  const emit::Arguments names = {{"name", verifier.plan().name},
                                 {"NAME", emit::upper_case(verifier.plan().name)},
                                 {"stem", stem}};
  std::vector<emit::EmittedFile> files = {
      {"example.c", example_text(verifier.plan(), names)},
      {stem + "_readings.h", emit::fill_in(kReadings, {}, names)},
      {"CMakeLists.txt", cmake_lists(verifier.plan(), stem)},
      {"verifier.cmake", verifier_cmake(verifier, stem, flags)},
      {"README.md", readme(verifier, stem, flags, toolchain, footprint, names)}};
  for (const char* const name : {"bf_monitor.h", "bf_monitor.c"})
    files.push_back(
        {name, read_file(build::runtime_folder() / "monitor" / name, kMaxBytes, "runtime source")});
  for (emit::EmittedFile& file : selftest_files(verifier, vectors, names))
    files.push_back(std::move(file));
  for (emit::EmittedFile& file : machine_files(verifier.plan().config.target))
    files.push_back(std::move(file));
  for (emit::EmittedFile& file : package_files(verifier, stem, flags))
    files.push_back(std::move(file));
  if (verifier.plan().parallel.workers > 1 && has_threads(verifier.plan())) {
    files.push_back({"example_parallel.cpp", emit::fill_in(kParallelExample, {}, names)});
    files.push_back(
        {"thread_executor.h", read_file(build::runtime_folder() / "host/thread_executor.h",
                                        kMaxBytes, "runtime source")});
  }
  std::vector<build::RuntimeFile> runtime = build::runtime_files_of(verifier.files);
  runtime.push_back(build::runtime_source());
  for (build::RuntimeFile& file : runtime)
    files.push_back({std::move(file.path), std::move(file.text)});
  return files;
}

}  // namespace bf_aot::artifacts
