#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "aot/artifacts/report/report.h"
#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/options.h"
#include "frontend/property/property.h"

namespace bf_aot::cli {

// Adds the option --report FILE.html.
void add_report_option(CommandLine& app, std::string& path);

// Adds the option --peaks NAME|FILE, for commands that have --device.
void add_peaks_option(CommandLine& app, std::string& name_or_file);

// Refuses the first of these options that is given beside --device, where it does nothing. "bounds
// of a device" do not have it. Throws: BF3345.
void refuse_on_device(CommandLine& app, std::initializer_list<const char*> options,
                      std::string_view what);

// The options' sample boxes, or those of the property.
std::vector<Box> sample_boxes(const build::CompileOptions& options);

// Writes the report of a plan: its layers' bounds on the options' sample boxes, or on those of the
// property, and the options that were given. Throws: BF3102.
void write_report(const std::filesystem::path& path, const Plan& plan,
                  const build::CompileOptions& options, const CommandLine& app,
                  artifacts::Findings findings);

// The findings about a verifier: its library's size, if `toolchain` made one, and the times of its
// tasks' parts, when the engine has code for its target that runs here and there is a sample box.
// Throws: CompileError.
artifacts::Findings findings_of(const build::FrontendResult& front, const build::Verifier& verifier,
                                const build::CompileOptions& options,
                                const build::Toolchain* toolchain,
                                const std::filesystem::path& library);

}  // namespace bf_aot::cli
