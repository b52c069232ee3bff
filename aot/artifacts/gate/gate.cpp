#include "aot/artifacts/gate/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "aot/artifacts/report/html.h"
#include "runtime/bf.h"

namespace bf_aot::artifacts {
namespace {

using Json = nlohmann::ordered_json;

// The text within XML 1.0, which has no place for most control characters.
std::string xml(std::string text) {
  std::erase_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t'; });
  return escape(text);
}

std::size_t count(const Gate& gate, GateOutcome outcome) {
  return static_cast<std::size_t>(std::ranges::count(gate.cases, outcome, &GateCase::outcome));
}

// The element of a test that did not pass; empty of one that did.
std::string element_of(const GateCase& each) {
  const char* name = nullptr;
  switch (each.outcome) {
    case GateOutcome::kPassed:
      return {};
    case GateOutcome::kFailed:
      name = "failure";
      break;
    case GateOutcome::kOpen:
      name = "skipped";
      break;
    case GateOutcome::kError:
      name = "error";
      break;
  }
  return fmt::format("    <{} message=\"{}\"/>\n", name, xml(each.message));
}

// A path as a URI reference.
std::string uri(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string text = path.starts_with('/') ? "file://" : "";
  for (const char c : path)
    text += kPlain.find(c) != std::string_view::npos
                ? std::string(1, c)
                : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return text;
}

struct Rule {
  const char* answer;
  const char* says;
};

constexpr Rule kRules[] = {
    {"falsified", "An input violates the property; it is proven to."},
    {"unknown", "The property is neither proven nor refuted."},
    {"timeout", "The time ended before the property was decided."},
    {"missed", "The certified accuracy is below the one that is asked for."},
    {"error", "A model, a property or data cannot be handled."},
};

std::string rule_id(std::string_view answer) {
  return fmt::format("bf-aot/{}", answer);
}

Json rules() {
  Json rules = Json::array();
  for (const Rule& rule : kRules)
    rules.push_back({{"id", rule_id(rule.answer)}, {"shortDescription", {{"text", rule.says}}}});
  return rules;
}

Json result_of(const GateCase& each) {
  const auto* const rule = std::ranges::find(
      kRules, each.answer, [](const Rule& one) { return std::string(one.answer); });
  Json result;
  result["ruleId"] = rule_id(each.answer);
  if (rule != std::end(kRules)) result["ruleIndex"] = rule - std::begin(kRules);
  result["level"] = each.outcome == GateOutcome::kOpen ? "warning" : "error";
  result["message"]["text"] = fmt::format("{}, {}: {}", each.subject, each.name, each.message);
  Json place;
  place["artifactLocation"]["uri"] = uri(each.file);
  place["region"]["startLine"] = 1;
  result["locations"] = Json::array({{{"physicalLocation", place}}});
  return result;
}

}  // namespace

std::string junit_text(const Gate& gate) {
  std::string cases;
  for (const GateCase& each : gate.cases) {
    cases += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n{}",
                         xml(each.subject), xml(each.name), each.seconds, element_of(each));
    cases += fmt::format("    <system-out>{}: {}\n{}</system-out>\n  </testcase>\n",
                         xml(each.answer), xml(each.message), xml(each.details));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"bf-aot {}\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n{}</testsuite>\n",
      xml(gate.name), gate.cases.size(), count(gate, GateOutcome::kFailed),
      count(gate, GateOutcome::kError), count(gate, GateOutcome::kOpen), gate.seconds, cases);
}

std::string sarif_text(const Gate& gate) {
  Json run;
  run["tool"]["driver"] = {{"name", "bf-aot"}, {"version", BF_VERSION_STRING}, {"rules", rules()}};
  run["results"] = Json::array();
  for (const GateCase& each : gate.cases)
    if (each.outcome != GateOutcome::kPassed) run["results"].push_back(result_of(each));
  const Json file = {
      {"$schema",
       "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({run})}};
  return file.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace bf_aot::artifacts
