#include "aot/build/options/language.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "aot/build/device/device.h"
#include "aot/emit/calls/c_routines.h"
#include "aot/emit/text/dialect.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/routines.h"
#include "planner/lowering/walk.h"
#include "planner/plan/plan.h"

namespace bf_aot::build {
namespace {

// An option that C does not have; none: it has all.
std::optional<std::string> missing_option(const CompileOptions& options) {
  const PlannerConfig& config = options.planner;
  if (config.lowering != Lowering::kVector && config.lowering != Lowering::kGeneric)
    return fmt::format("--lowering {}", to_string(config.lowering));
  if (options.check_constants) return "--check-constants";
  if (config.decide) return "--decide";
  if (config.reuse.any()) return "--cache";
  if (config.batch > 1) return "--batch";
  if (config.workers > 1) return "--parallel";
  if (is_of_device(config.language)) {
    if (config.method == Method::kForward) return "--method forward";
    if (options.property) return "--property";
    if (config.memory_budget > 0) return "--memory-budget";
    if (config.arithmetic == Arithmetic::kInteger) return "--arithmetic integer";
    if (config.semantics == Semantics::kFloat32Exact) return "--semantics float32-exact";
    if (options.time_parts || options.marks) return "--trace";
  }
  if (!options.levels.empty()) return "--dispatch";
  return std::nullopt;
}

std::string_view place_of(Language language) {
  return is_of_device(language) ? "for a device" : "in C";
}

// The place of a call in a report: the nodes of its layer.
std::string place_of(const Plan& plan, const Task& task) {
  return task.layer ? plan.layer(*task.layer).origin.text : task.name;
}

// Devices are languages and targets at once. Throws: BF3112.
void check_target(const std::string& target, Language language) {
  const Language own = language_for(target);
  if (is_of_device(own) ? own == language : !is_of_device(language) || target == "host") return;
  const Language device = is_of_device(own) ? own : language;
  fail("BF3112", fmt::format("--target {}", target),
       fmt::format("the source is in {}", to_string(language)),
       fmt::format("name both alike: --target {} -o FILE{}", to_string(device),
                   emit::Dialect(device).suffix()));
}

using Missing = std::vector<std::pair<std::string, std::vector<std::string_view>>>;

// The routines that are missing at a place, to be added to.
std::vector<std::string_view>& missing_at(Missing& missing, const std::string& place) {
  for (auto& [other, routines] : missing)
    if (other == place) return routines;
  return missing.emplace_back(place, std::vector<std::string_view>()).second;
}

void add_missing(const Plan& plan, const Task& task, const calls::Body& body, Missing& missing) {
  calls::for_each_call(body, [&](const calls::Call& call) {
    const auto* const routine = std::get_if<calls::Routine>(&call.callee);
    if (routine == nullptr || calls::find_c_routine(*routine) != nullptr) return;
    std::vector<std::string_view>& routines = missing_at(missing, place_of(plan, task));
    const std::string_view name = calls::signature_of(*routine).name;
    if (std::ranges::find(routines, name) == routines.end()) routines.push_back(name);
  });
}

// Integers have neither lines nor verdicts in C.
void check_integers(const Plan& plan) {
  if (plan.integer->crown)
    fail("BF3112", "--method crown", "verifiers in C do not have it over codes",
         "--method ibp; or write C++: -o with a name that ends in .cpp");
  for (const ExportedFunction& function : plan.functions)
    if (function.signature.purpose == Purpose::kVerify)
      fail("BF3112", "--property", "verifiers in C that compute with integers do not have it",
           "write C++: -o with a name that ends in .cpp; or --arithmetic float");
}

}  // namespace

std::optional<Language> language_of(const std::filesystem::path& source) {
  if (source.extension() == ".c") return Language::kC;
  if (source.extension() == ".cpp") return Language::kCpp;
  if (source.extension() == ".cl") return Language::kOpenCl;
  if (source.extension() == ".cu") return Language::kCuda;
  return std::nullopt;
}

void set_language(CompileOptions& options, Language language) {
  options.planner.language = language;
  if (language == Language::kCpp) return;
  if (const auto missing = missing_option(options))
    fail("BF3112", *missing, fmt::format("verifiers {} do not have it", place_of(language)),
         options.device.empty() ? "leave it out, or write C++: -o with a name that ends in .cpp"
                                : "leave it or --device out");
  options.planner.lowering = Lowering::kGeneric;
}

Language language_for(const std::string& target) {
  for (const Language device : {Language::kOpenCl, Language::kCuda})
    if (target == to_string(device)) return device;
  return Language::kCpp;
}

CompileOptions for_source(CompileOptions options, Language language, const std::string& target,
                          std::optional<int> items) {
  check_target(target, language);
  if (is_of_device(language))
    return for_device(std::move(options), language, items.value_or(kDeviceItems));
  if (items)
    fail("BF3112", fmt::format("--items {}", *items), "devices alone have groups of items",
         "leave it out, or write code for a device: --target opencl or cuda");
  set_language(options, language);
  return options;
}

void check_language(const Lowered& lowered, bool in_process) {
  const Plan& plan = lowered.plan();
  if (plan.config.language == Language::kCpp) return;
  if (plan.integer && is_of_device(plan.config.language))
    fail("BF3112", plan.name, "verifiers for a device compute in floating point",
         in_process ? "leave --device out" : "--arithmetic float");
  if (plan.integer) return check_integers(plan);
  Missing missing;
  for (const Entry& entry : plan.entries) {
    if (is_of_device(plan.config.language) && entry.kind == EntryKind::kEvaluate) continue;
    for (const calls::Section& section : lowered.program(entry).sections)
      for (const calls::TaskCalls& task : section.tasks)
        for (const calls::StepCalls& step : task.steps)
          add_missing(plan, entry.task(task.task), step.body, missing);
  }
  if (missing.empty()) return;
  std::vector<Diagnostic> problems;
  for (const auto& [place, routines] : missing)
    problems.push_back(
        {"BF3112", place,
         fmt::format("{} no {}", is_of_device(plan.config.language) ? "devices have" : "C has",
                     fmt::join(routines, ", ")),
         in_process ? "leave --device out, or take another --method"
                    : "write C++: -o with a name that ends in .cpp; or another --method"});
  throw CompileError(std::move(problems));
}

}  // namespace bf_aot::build
