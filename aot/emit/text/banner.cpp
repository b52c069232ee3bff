#include "aot/emit/text/banner.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "aot/emit/text/coverage.h"
#include "frontend/source_state.h"
#include "planner/plan/plan.h"
#include "runtime/bf.h"

namespace bf_aot::emit {
namespace {

std::string shapes(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values) {
    if (!text.empty()) text += ", ";
    text += value.name + " " + to_string(value.shape);
  }
  return text;
}

}  // namespace

std::string upper_case(const std::string& name) {
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::string version_text() {
  return with_source_state(BF_VERSION_STRING);
}

std::string emit_banner(const Plan& plan, const std::string& title, const std::string& comment) {
  const Entry& bounds = *plan.find_entry(EntryKind::kBounds);
  std::string text = fmt::format("{}: {}. Do not edit.\n\n", plan.name, title);
  text += fmt::format("  made by    bf-aot {} from {}\n", BF_VERSION_STRING, plan.model.file_name);
  if (const std::string_view state = source_state(); !state.empty())
    text += fmt::format("  sources    {}\n", state);
  text += fmt::format("  sha256     {}\n", plan.model.sha256);
  text += fmt::format("  opset      {}\n", plan.model.opset);
  text += fmt::format(
      "  method     {}, semantics {}, {} code for {}\n", methods_text(plan.config),
      plan.config.flush_to_zero ? "float32 flushed to zero" : to_string(plan.config.semantics),
      plan.integer ? to_string(plan.config.arithmetic) : to_string(plan.config.lowering),
      plan.config.target.name);
  std::string_view key = "covers";
  for (const std::string& line : coverage_of(plan)) {
    text += fmt::format("  {:<9}  {}\n", key, line);
    key = "";
  }
  if (plan.config.norm != Norm::kLargest)
    text += fmt::format("  norm       {}, of the balls in boxes\n", to_string(plan.config.norm));
  text += fmt::format("  inputs     {}\n", shapes(plan.inputs));
  if (plan.one_hot.size > 0)
    text += fmt::format("  one-hot    one of each {} inputs\n", plan.one_hot.size);
  text += fmt::format("  outputs    {}\n", shapes(plan.outputs));
  if (plan.spec_rows > 0) text += fmt::format("  spec       {} rows\n", plan.spec_rows);
  text += fmt::format("  workspace  {} bytes\n", plan.arena_bytes());
  text += fmt::format("  weights    {} bytes\n", plan.weights_bytes());
  text += plan.integer ? fmt::format("  steps      {}\n\n", plan.integer->steps.size())
                       : fmt::format("  tasks      {}\n\n", bounds.tasks.size());
  text +=
      "This file and the headers that it includes may be used, changed and shipped by anyone,\n"
      "for any purpose, without attribution and without warranty (0BSD).\n";
  std::string lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    lines += line.empty() ? comment : comment + " " + line;
    lines += "\n";
    at = end + 1;
  }
  // The verifier's lines are broken by wrap_lines(), and rows of its tables are meant as they are.
  if (comment == "//") lines += "// clang-format off\n";
  return lines;
}

}  // namespace bf_aot::emit
