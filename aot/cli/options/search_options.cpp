#include "aot/cli/options/search_options.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <utility>

#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/cli/options/values.h"
#include "aot/input/json_io.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::cli {
namespace {

// A whole text as a finite number: the nearest double.
bool read_number(const std::string& text, double& number) {
  vnnlib::Number read;
  if (vnnlib::parse_quotient(text, read) != vnnlib::NumberError::kNone) return false;
  number = nearest(read);
  return std::isfinite(number);
}

Objective parse_objective(const std::string& text) {
  Objective objective;
  const std::pair<std::string_view, double Objective::*> names[] = {
      {"time", &Objective::time},
      {"memory", &Objective::memory},
      {"looseness", &Objective::looseness},
      {"compile", &Objective::compile}};
  std::istringstream parts(text);
  bool any = false;
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const auto found = std::ranges::find(names, std::string_view(part).substr(0, equals),
                                         &std::pair<std::string_view, double Objective::*>::first);
    double weight = 0;
    if (equals == std::string::npos || found == std::end(names) ||
        !read_number(part.substr(equals + 1), weight) || weight < 0)
      fail("BF3309", "--objective", fmt::format("'{}' is no weight of a metric", printable(part)),
           "write time=1,memory=0.1,looseness=2,compile=0, of which any may be left out");
    objective.*(found->second) = weight;
    any = any || weight > 0;
  }
  if (!any) fail("BF3309", "--objective", "all weights are 0", "give at least one metric a weight");
  return objective;
}

}  // namespace

double parse_seconds(const std::string& text, const std::string& option) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"", 1}};
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    double number = 0;
    if (read_number(text.substr(0, text.size() - unit.size()), number) && number > 0)
      return number * seconds;
  }
  fail("BF3308", option, fmt::format("'{}' is no time", printable(text)),
       "write seconds, or a number with a unit: 0.5, 50us, 2ms, 1s");
}

Option* takes_bytes(Option* option) {
  return option->transform(byte_count())->type_name("BYTES");
}

void add_search_options(CommandLine& app, SearchArguments& arguments) {
  app.add_option("--sample-box", arguments.sample_boxes,
                 "JSON file of boxes like those that the verifier will get: layers whose backward "
                 "bounds do not matter on them keep intervals, and auto compares plans on them; "
                 "may be repeated (default: those of the property)")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(kPlannerGroup);
  app.add_option("--time-budget", arguments.time_budget,
                 "auto: most predicted time of a call, as 0.001, 50us or 2ms")
      ->type_name("TIME")
      ->group(kPlannerGroup);
  takes_bytes(app.add_option(
                  "--memory-budget", arguments.memory_budget,
                  "most bytes of workspace, as 65536, 64K or 2M: rows go through in smaller tiles "
                  "where they must, and compute again what is stored otherwise; auto looks for "
                  "plans within it"))
      ->group(kPlannerGroup);
  app.add_option("--looseness-target", arguments.looseness_target,
                 "auto: the fastest plan whose mean width is at most so many times crown's")
      ->transform(number("0", "1e9"))
      ->type_name("X")
      ->group(kPlannerGroup);
  app.add_option("--objective", arguments.objective,
                 "auto: weights of what is minimised, each relative to crown: "
                 "time=1,memory=0,looseness=1,compile=0 (default: the tightest within the budgets, "
                 "then the fastest)")
      ->type_name("WEIGHTS")
      ->group(kPlannerGroup);
  app.add_option("--search", arguments.kind, "auto: how plans are searched")
      ->transform(one_of({"greedy", "beam", "exhaustive"}))
      ->capture_default_str()
      ->group(kPlannerGroup);
  app.add_option("--beam-width", arguments.beam_width, "auto: candidates kept by --search beam")
      ->transform(whole(1, 1000))
      ->capture_default_str()
      ->type_name("N")
      ->group(kPlannerGroup);
}

void resolve(const SearchArguments& arguments, build::CompileOptions& options) {
  SearchConfig& search = options.planner.search;
  for (const SearchKind kind : {SearchKind::kGreedy, SearchKind::kBeam, SearchKind::kExhaustive})
    if (arguments.kind == to_string(kind)) search.kind = kind;
  search.beam_width = arguments.beam_width;
  options.planner.memory_budget = static_cast<std::int64_t>(arguments.memory_budget);
  search.looseness_target = arguments.looseness_target;
  if (!arguments.time_budget.empty())
    search.time_budget = parse_seconds(arguments.time_budget, "--time-budget");
  if (!arguments.objective.empty()) search.objective = parse_objective(arguments.objective);
  for (const std::string& file : arguments.sample_boxes)
    for (const input::BoxFile& box : input::read_boxes(file))
      options.planning.samples.push_back(box.box);
}

}  // namespace bf_aot::cli
