#include "aot/artifacts/project/selftest.h"

#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <string>

#include "aot/artifacts/project/selftest_text.h"
#include "aot/emit/text/literals.h"
#include "frontend/graph/model.h"
#include "runtime/bf.h"

namespace bf_aot::artifacts {
namespace {

constexpr std::size_t kMostChecked = 16;  // outputs: windows are flash

// The elements of an initialiser, so many in a line.
template <class Values, class Print>
std::string list(const Values& values, std::size_t per_line, const Print& print) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.size() > per_line && i % per_line == 0)
      text += i == 0 ? "\n    " : ",\n    ";
    else if (i > 0)
      text += ", ";
    text += print(values[i]);
  }
  return text;
}

template <class Values>
std::string whole_numbers(const Values& values) {
  return list(values, 12, [](auto value) { return fmt::format("{}", value); });
}

std::vector<std::size_t> checked_outputs(std::size_t outputs) {
  std::vector<std::size_t> checked;
  const std::size_t count = std::min(outputs, kMostChecked);
  for (std::size_t i = 0; i < count; ++i) checked.push_back(i * outputs / count);
  return checked;
}

std::string bits_of(const Window& window) {
  return fmt::format("{:#010x}u, {:#010x}u", std::bit_cast<std::uint32_t>(window.least),
                     std::bit_cast<std::uint32_t>(window.most));
}

std::string windows_text(const Vectors& vectors, const std::vector<std::size_t>& checked) {
  std::string text;
  for (const Vector& vector : vectors.list) {
    text += text.empty() ? "\n    {" : ",\n    {";
    for (const std::size_t i : checked)
      text += fmt::format("{}{{{}, {}}}", i == checked.front() ? "" : ",\n     ",
                          bits_of(vector.out_lower[i]), bits_of(vector.out_upper[i]));
    text += "}";
  }
  return text;
}

std::string source_text(const build::Verifier& verifier, const Vectors& vectors,
                        const emit::Arguments& names) {
  const auto outputs = static_cast<std::size_t>(verifier.plan().output_count);
  const std::vector<std::size_t> checked = checked_outputs(outputs);
  const bool all = checked.size() == outputs;
  std::vector<std::int32_t> widths;
  for (const Vector& vector : vectors.list) widths.push_back(vector.width);
  return emit::fill_in(
      kSelftestSource,
      {{"ranges", vectors.grid.first.size()},
       {"checked", checked.size()},
       {"first", whole_numbers(vectors.grid.first)},
       {"steps", whole_numbers(vectors.grid.steps)},
       {"unit", list(vectors.grid.unit, 8, emit::float_literal)},
       {"widths", whole_numbers(widths)},
       {"outputs",
        all ? "" : emit::fill_in(kSelftestOutputs, {{"checked", whole_numbers(checked)}})},
       {"output", all ? "i" : "checked[i]"},
       {"windows", windows_text(vectors, checked)},
       {"constants", verifier.levels.empty() ? emit::fill_in(kSelftestConstants, {}, names) : ""}},
      names);
}

std::string header_text(const build::Verifier& verifier, const Vectors& vectors,
                        const emit::Arguments& names) {
  return emit::fill_in(kSelftestHeader,
                       {{"version", BF_VERSION_STRING},
                        {"target", verifier.plan().config.target.name},
                        {"vectors", vectors.list.size()},
                        {"what", vectors.exact ? kSelftestExact : kSelftestWindows}},
                       names);
}

nlohmann::ordered_json hexadecimal(const std::vector<float>& numbers) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const float number : numbers) json.push_back(fmt::format("{:a}", number));
  return json;
}

nlohmann::ordered_json windows_json(const std::vector<Window>& windows) {
  std::vector<float> least, most;
  for (const Window& window : windows) {
    least.push_back(window.least);
    most.push_back(window.most);
  }
  return {{"least", hexadecimal(least)}, {"most", hexadecimal(most)}};
}

std::string golden_text(const Plan& plan, const Vectors& vectors) {
  nlohmann::ordered_json json = {{"format", 1},
                                 {"name", plan.name},
                                 {"model", printable(plan.model.file_name)},
                                 {"model_sha256", plan.model.sha256},
                                 {"method", to_string(plan.config.method)},
                                 {"semantics", to_string(plan.config.semantics)},
                                 {"target", plan.config.target.name},
                                 {"tool_version", BF_VERSION_STRING},
                                 {"exact", vectors.exact}};
  nlohmann::ordered_json& list = json["vectors"] = nlohmann::ordered_json::array();
  for (const Vector& vector : vectors.list)
    list.push_back({{"lower", hexadecimal(vector.lower)},
                    {"upper", hexadecimal(vector.upper)},
                    {"out_lower", windows_json(vector.out_lower)},
                    {"out_upper", windows_json(vector.out_upper)}});
  return json.dump(1) + "\n";
}

}  // namespace

void make_box(const InputGrid& grid, std::size_t index, std::size_t inputs, Vector& vector) {
  auto state = (static_cast<std::uint32_t>(index) + 1) * 2654435769u;
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::size_t range = grid.first.size() == 1 ? 0 : i;
    const std::int32_t wide = grid.steps[range] * vector.width >> 8;
    state = state * 1664525u + 1013904223u;
    const auto byte = static_cast<std::int32_t>(state >> 24);
    const std::int32_t begin = grid.first[range] + ((grid.steps[range] - wide) * byte >> 8);
    vector.lower.push_back(static_cast<float>(begin) * grid.unit[range]);
    vector.upper.push_back(static_cast<float>(begin + wide) * grid.unit[range]);
  }
}

std::vector<emit::EmittedFile> selftest_files(const build::Verifier& verifier,
                                              const Vectors& vectors,
                                              const emit::Arguments& names) {
  const std::string file = emit::fill_in("@stem@_selftest", {}, names);
  return {{file + ".h", header_text(verifier, vectors, names)},
          {file + ".c", source_text(verifier, vectors, names)},
          {"golden.json", golden_text(verifier.plan(), vectors)}};
}

}  // namespace bf_aot::artifacts
