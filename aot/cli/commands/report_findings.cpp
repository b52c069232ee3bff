#include "aot/cli/commands/report_findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "aot/artifacts/report/samples.h"
#include "aot/build/footprint/footprint.h"
#include "aot/build/frontend_result.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/engine/run/find_prebuilt.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/system/files.h"
#include "planner/machine/device_peaks.h"
#include "runtime/bf.h"

namespace bf_aot::cli {
namespace {

std::vector<std::pair<std::string, std::string>> option_list(const CommandLine& app) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const Option* option : app.get_options())
    if (is_planner_option(*option) && option->count() > 0)
      list.emplace_back(option->get_lnames().front(),
                        fmt::format("{}", fmt::join(option->results(), " ")));
  return list;
}

// The tasks of the entry that HostVerifier::time_parts() calls, and their parts.
void measure_findings(const build::FrontendResult& front, const build::Verifier& verifier,
                      const build::CompileOptions& options, const Box& box,
                      artifacts::Findings& findings) {
  constexpr int kRepeats = 15;
  const Plan& plan = verifier.plan();
  build::CompileOptions timed = options;
  timed.time_parts = true;
  timed.levels.clear();  // of several levels, the one that the plan is for
  timed.planner.target = plan.config.target;
  timed.planner.lowering = Lowering::kPrebuilt;
  const engine::MadeVerifier made = engine::make_verifier(
      build::run_planner(front, plan.name, timed), timed, build::CompilerOptions{});
  const EntryKind kind = plan.spec_rows > 0 ? EntryKind::kSpecBounds : EntryKind::kBounds;
  findings.measured_entry = static_cast<std::size_t>(plan.find_entry(kind) - plan.entries.data());
  findings.task_seconds.resize(plan.entries.size());
  std::vector<double>& seconds = findings.task_seconds[findings.measured_entry];
  seconds.resize(plan.entries[findings.measured_entry].tasks.size());
  const input::FloatBox rounded =
      input::round_outward({box, "the first sample box"}, plan.input_count);
  for (engine::TimedPart& part : made.host->time_parts(rounded, kRepeats)) {
    if (part.task < 0) continue;
    seconds.at(static_cast<std::size_t>(part.task)) += part.seconds;
    findings.parts.push_back({part.task, std::move(part.part), part.seconds});
  }
}

}  // namespace

std::vector<Box> sample_boxes(const build::CompileOptions& options) {
  std::vector<Box> boxes = options.planning.samples;
  if (boxes.empty() && options.property)
    for (const PropertyCase& one : options.property->cases) boxes.push_back(one.box);
  return boxes;
}

void add_peaks_option(CommandLine& app, std::string& name_or_file) {
  app.add_option("--peaks", name_or_file,
                 fmt::format("what the device does at most: {}, or a file of profile --device "
                             "(default: measured on the device)",
                             fmt::join(peaks_names(), ", ")))
      ->type_name("NAME|FILE")
      ->needs("--device");
}

void refuse_on_device(CommandLine& app, std::initializer_list<const char*> options,
                      std::string_view what) {
  for (const char* const option : options)
    if (app.get_option(option)->count() > 0)
      fail("BF3345", option, fmt::format("{} do not have it", what), "leave it or --device out");
}

artifacts::Findings findings_of(const build::FrontendResult& front, const build::Verifier& verifier,
                                const build::CompileOptions& options,
                                const build::Toolchain* toolchain,
                                const std::filesystem::path& library) {
  artifacts::Findings findings;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(library, error);
  if (toolchain != nullptr && !error) {
    findings.library_bytes = static_cast<std::int64_t>(bytes);
    findings.code_bytes = build::code_bytes(library, *toolchain);
  }
  const std::vector<Box> boxes = sample_boxes(options);
  const Target& target = verifier.plan().config.target;
  if (!boxes.empty() && engine::find_prebuilt(target.name) != nullptr && build::runs_here(target))
    measure_findings(front, verifier, options, boxes.front(), findings);
  return findings;
}

void add_report_option(CommandLine& app, std::string& path) {
  app.add_option("--report", path,
                 "write a page about the plan: network, tasks, memory, kernels, and bounds of the "
                 "layers on sample boxes or those of the property")
      ->writes("FILE.html");
}

void write_report(const std::filesystem::path& path, const Plan& plan,
                  const build::CompileOptions& options, const CommandLine& app,
                  artifacts::Findings findings) {
  findings.version = BF_VERSION_STRING;
  findings.options = option_list(app);
  artifacts::add_samples(plan, sample_boxes(options), findings);
  system::publish_file(path, artifacts::page(plan, findings));
}

}  // namespace bf_aot::cli
