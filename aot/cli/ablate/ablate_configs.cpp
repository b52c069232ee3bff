#include "aot/cli/ablate/ablate_configs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "aot/cli/options/command_line.h"
#include "aot/cli/options/config_file.h"
#include "aot/input/json/json_reader.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/passes/pipeline.h"
#include "planner/plan/pipeline.h"

namespace bf_aot::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kRowTiles[] = {8, 64, 256};

// The graph passes that can be left out, each once: without these there is no plan of any network.
std::vector<std::string> graph_passes() {
  std::vector<std::string> names;
  std::set<std::string_view> known = {"check-supported"};
  for (const Pass& pass : normalisation_passes())
    if (pass.traits.optional && known.insert(pass.name).second) names.emplace_back(pass.name);
  return names;
}

std::string method_of(const ModelArguments& base) {
  return std::string(to_string(base.values.compile.planner.method));
}

ordered_json without_pass(const ModelArguments& base, const std::string& pass) {
  ordered_json disabled = base.values.disabled_passes;
  disabled.push_back(pass);
  return disabled;
}

void add_passes(std::vector<AblationConfig>& configs, const ModelArguments& arguments,
                const std::string& method, const std::vector<std::string>& passes) {
  for (const std::string& pass : passes)
    configs.push_back({fmt::format("{}, no {}", method, pass),
                       {{"method", method}, {"disable-pass", without_pass(arguments, pass)}},
                       method,
                       pass});
}

// Returns whether this program offers the configuration: every option is known and takes its value.
bool is_offered(const ModelArguments& base, const AblationConfig& config) {
  try {
    configured(base, config);
    return true;
  } catch (const CompileError&) {
    return false;
  }
}

// The planner's own choice, how it searches, and the passes that only it needs.
void add_automatic(std::vector<AblationConfig>& configs, const ModelArguments& base,
                   const std::vector<std::string>& passes) {
  const std::string name = "auto";
  if (method_of(base) == name) return;  // its passes are there already
  configs.push_back({name, {{"method", name}}, "", ""});
  for (const char* kind : {"greedy", "beam", "exhaustive"})
    configs.push_back(
        {fmt::format("auto, {} search", kind), {{"method", name}, {"search", kind}}, name, ""});
  add_passes(configs, base, name, passes);
}

// Adds a configuration in which calls keep things for each other, and one without the pass that
// plans it.
void add_cache(std::vector<AblationConfig>& configs, const ModelArguments& base) {
  const std::string method = method_of(base), name = method + ", reuse-ibp", pass = "plan-cache";
  ordered_json settings = {{"method", method}, {"cache", "reuse-ibp"}};
  configs.push_back({name, settings, method, ""});
  settings["disable-pass"] = without_pass(base, pass);
  configs.push_back({name + ", no " + pass, settings, name, pass});
}

// Adds configurations that change `method` by one option each.
void add_settings(std::vector<AblationConfig>& configs, const std::string& method) {
  const auto add = [&](const std::string& what, const char* option, const ordered_json& value) {
    configs.push_back({method + ", " + what, {{"method", method}, {option, value}}, method, ""});
  };
  add("generic", "lowering", "generic");
  for (const int tile : kRowTiles) add(fmt::format("tiles of {}", tile), "row-tile", tile);
  for (const char* granularity : {"step", "entry"})
    add(fmt::format("granularity {}", granularity), "granularity", granularity);
}

}  // namespace

std::vector<AblationConfig> builtin_configs(const ModelArguments& base) {
  std::vector<AblationConfig> configs;
  for (const Method method : kAllMethods) {
    const std::string name(to_string(method));
    configs.push_back({name, {{"method", name}}, "", ""});
  }
  const std::string given = method_of(base);
  if (given == "auto") configs.push_back({"auto", {{"method", "auto"}}, "", ""});
  std::vector<std::string> planner;
  for (const PlannerPass& pass : planner_passes())
    if (pass.optional && (base.values.compile.planner.batch > 1 || pass.name != "batch-lanes"))
      planner.emplace_back(pass.name);
  add_passes(configs, base, given, planner);
  add_passes(configs, base, given, graph_passes());
  add_settings(configs, given);
  add_cache(configs, base);
  add_automatic(configs, base, planner);
  std::erase_if(configs, [&](const AblationConfig& config) { return !is_offered(base, config); });
  return configs;
}

std::vector<AblationConfig> read_configs(const std::filesystem::path& path) {
  const nlohmann::json json = input::parse_json_file(path, "list of configurations");
  const input::JsonAt root{&json, printable(path.string())};
  std::vector<AblationConfig> configs;
  std::set<std::string> names;
  for (std::size_t i = 0; i < root.expect_array(); ++i) {
    const input::JsonAt at = root.at(i);
    at.expect_object();
    AblationConfig config;
    config.settings = at.plain();
    if (at.has("name")) {
      if (!at.key("name").value->is_string())
        fail("BF3004", at.key("name").where, "the name is no string");
      config.name = printable(at.key("name").value->get<std::string>());
      config.settings.erase("name");
    }
    if (config.name.empty()) config.name = config.settings.dump();
    if (!names.insert(config.name).second)
      fail("BF3005", at.where, fmt::format("a second configuration '{}'", config.name),
           "names tell them apart in the table");
    configs.push_back(std::move(config));
  }
  if (configs.empty()) fail("BF3006", root.where, "there are no configurations");
  return configs;
}

ModelArguments configured(const ModelArguments& base, const AblationConfig& config) {
  ModelArguments arguments = base;
  CommandLine app;
  add_model_options(app, arguments, false);
  add_method_option(app, arguments);
  const nlohmann::json settings = config.settings;
  apply_settings(app, {&settings, fmt::format("configuration '{}'", config.name)});
  return arguments;
}

}  // namespace bf_aot::cli
