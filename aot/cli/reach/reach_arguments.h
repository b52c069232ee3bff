#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aot/build/options/option_rows.h"
#include "aot/cli/options/command_line.h"
#include "aot/reach/monitor/monitor_plan.h"
#include "aot/reach/question/question_text.h"
#include "aot/reach/search/reach.h"

namespace bf_aot::cli {

// The command line of bf-aot reach, as it was typed.
struct ReachArguments {
  std::string question;  // a file, or empty
  std::optional<std::string> controller, observer, plant, kind, period, box;
  std::optional<std::uint64_t> index, steps, substeps;
  bool delayed = false;
  std::vector<std::string> first_control, state_names;
  std::vector<std::string> disturbances, constants, changing;  // NAME:FILE
  std::vector<std::string> always, never, at, within;
  std::vector<std::string> plots;  // .svg or .html
  std::string checkpoint, part, save_part;
  std::uint64_t order = 0, symbols = 0, least_cells = 1, most_cells = 1U << 20, jobs = 0;
  double timeout = 60;
  std::string monitor;  // a C++ file to write instead of an answer
  bool json = false;
  build::OptionValues values;
};

void add_options(CommandLine& app, ReachArguments& arguments);

// The question of the file, or of the options; options about times take the place of the file's,
// and those about requirements are added. Throws: BF30xx, BF3602, BF3605.
reach::QuestionText question_of(const ReachArguments& arguments);

// Throws: BF1001 a network's file that cannot be read again, to be known by its bytes.
reach::ReachSettings settings_of(const ReachArguments& arguments, const reach::Question& question);
reach::MonitorSettings monitor_settings_of(const ReachArguments& arguments);

}  // namespace bf_aot::cli
