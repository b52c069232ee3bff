#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aot/cli/options.h"
#include "aot/report/report.h"
#include "frontend/property.h"

namespace bf::cli {

// Adds --report FILE.html.
void add_report_option(CLI::App& app, std::string& path);

// Writes the report of a plan: its layers' bounds on the options' sample boxes, or on those of the
// property, and the options that were given. `library`: of which the size is stated; may be empty.
// Throws: BF3102.
void write_report(const std::filesystem::path& path, const Plan& plan,
                  const CompileOptions& options, const CLI::App& app,
                  const std::filesystem::path& library);

// Per-layer counts and widths on boxes, by executing the plan in double. Boxes beyond the first few
// are left out, and all of them for plans that this would take long for.
void add_samples(const Plan& plan, const std::vector<Box>& boxes, report::Findings& findings);

}  // namespace bf::cli
