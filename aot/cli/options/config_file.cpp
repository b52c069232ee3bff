#include "aot/cli/options/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "aot/cli/options/command_line.h"
#include "aot/input/json/json_reader.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

constexpr char kConfig[] = "--config";

// Options of plans and decisions. A file that one command writes is none of another's.
bool is_in_config(const Option& option) {
  const std::string group = option.get_group();
  const bool of_decisions =
      group == build::kDecisionGroup || (group == build::kProofGroup && !option.is_written());
  return is_planner_option(option) || of_decisions;
}

std::vector<std::string> names_in_config(CommandLine& app) {
  std::vector<std::string> names;
  for (const Option* option : app.get_options())
    if (is_in_config(*option)) names.push_back(option->get_lnames().front());
  return names;
}

// The words that would be typed for a value; a flag's is "true" or "false".
std::vector<std::string> words(const input::JsonAt& at) {
  const nlohmann::json& value = *at.value;
  if (value.is_string()) return {value.get<std::string>()};
  if (value.is_boolean()) return {value.get<bool>() ? "true" : "false"};
  if (value.is_number()) return {value.dump()};  // made here, not read
  if (at.is_number()) return {std::string(at.number_text())};
  if (!value.is_array())
    fail("BF3307", at.where, "the value is no string, number, truth value or array of them");
  std::vector<std::string> all;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const input::JsonAt element = at.at(i);
    if (element.value->is_array()) fail("BF3307", element.where, "an array within an array");
    for (std::string& word : words(element)) all.push_back(std::move(word));
  }
  return all;
}

void set(Option& option, const input::JsonAt& at) {
  try {
    option.set(words(at));
  } catch (const UsageError& error) {
    fail("BF3307", at.where, error.text,
         "the option of the same name says in --help what it takes");
  }
}

}  // namespace

bool is_planner_option(const Option& option) {
  const std::string group = option.get_group();
  return (group == kMethodGroup || group == kPlannerGroup) && !option.get_lnames().empty();
}

void add_config_option(CommandLine& app, std::string& path) {
  app.add_option(
         kConfig, path,
         "JSON file of options of plans and decisions, {\"row-tile\": 16}; what the command "
         "line gives wins")
      ->type_name("FILE")
      ->group(kGeneralGroup);
}

void apply_config(CommandLine& app) {
  const Option* const config = app.get_option_no_throw(kConfig);
  if (config == nullptr || config->count() == 0) return;
  const std::string path = config->results().back();
  const nlohmann::json json = input::parse_json_file(path, "configuration");
  const input::JsonAt file{&json, path};
  apply_settings(app, file);
}

void apply_settings(CommandLine& app, const input::JsonAt& settings) {
  settings.expect_object();
  for (const auto& [key, unused] : settings.value->items()) {
    Option* const option = app.get_option_no_throw("--" + key);
    if (option == nullptr || !is_in_config(*option))
      fail("BF3005", settings.where, fmt::format("unknown key '{}'", key),
           fmt::format("known keys: {}", fmt::join(names_in_config(app), ", ")));
    if (option->count() == 0) set(*option, settings.key(key));
  }
}

}  // namespace bf_aot::cli
