#include "aot/cli/options/verdict_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "aot/engine/verifier/report.h"
#include "aot/system/terminal.h"
#include "frontend/import/file/importer.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::cli {
namespace {

// A tensor of the query, and where its elements are among those of all inputs, or outputs.
struct Declared {
  std::string network;
  const PropertyTensor& tensor;
  bool output = false;
  std::size_t first = 0;
};

// Returns the tensors in the order in which the query declares them.
std::vector<Declared> declared_tensors(const Property& property) {
  std::vector<Declared> all;
  std::size_t tensor[2] = {0, 0}, element[2] = {0, 0};
  const auto add = [&](const std::string& network, bool output, std::size_t count) {
    const std::vector<PropertyTensor>& tensors = output ? property.outputs : property.inputs;
    for (const std::size_t end = tensor[output] + count; tensor[output] < end; ++tensor[output]) {
      const PropertyTensor& one = tensors[tensor[output]];
      all.push_back({network, one, output, element[output]});
      element[output] += static_cast<std::size_t>(element_count(one.shape));
    }
  };
  for (const PropertyNetwork& network : property.networks) {
    add(network.name, false, network.inputs);
    add(network.name, true, network.outputs);
  }
  add("", false, property.inputs.size() - tensor[0]);  // of VNN-LIB 1.0
  add("", true, property.outputs.size() - tensor[1]);
  return all;
}

std::vector<std::string> output_numbers(const decide::Witness& witness) {
  std::vector<std::string> numbers;
  for (const double y : witness.y) numbers.push_back(fmt::format("{}", y));
  return numbers;
}

}  // namespace

const char* word(decide::Answer answer, Wording wording) {
  static constexpr const char* kWords[3][4] = {{"verified", "falsified", "unknown", "timeout"},
                                               {"unsat", "sat", "unknown", "timeout"},
                                               {"unsat", "sat", "unknown", "timed-out"}};
  return kWords[static_cast<int>(wording)][static_cast<int>(answer)];
}

int exit_code(decide::Answer answer, Wording wording) {
  constexpr int kCodes[] = {0, 3, 4, 5};
  return wording == Wording::kPlain ? kCodes[static_cast<int>(answer)] : 0;
}

std::string competition_text(const decide::Witness& witness) {
  std::string text = "(";
  const auto add = [&](char prefix, const std::vector<std::string>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      text += fmt::format("{}({}_{} {})", text.size() > 1 ? "\n" : "", prefix, i, numbers[i]);
  };
  add('X', decide::input_texts(witness));
  add('Y', output_numbers(witness));
  return text + ")\n";
}

std::string standard_text(const Property& property, const decide::Witness& witness) {
  const std::vector<std::string> numbers[] = {decide::input_texts(witness),
                                              output_numbers(witness)};
  std::string text;
  for (const Declared& each : declared_tensors(property)) {
    text += fmt::format("{} {} [{}]\n", each.tensor.name, each.tensor.element_type,
                        fmt::join(each.tensor.shape, ","));
    const auto count = static_cast<std::size_t>(element_count(each.tensor.shape));
    for (std::size_t i = 0; i < count; ++i) text += numbers[each.output][each.first + i] + "\n";
  }
  return text;
}

std::map<std::string, std::string> serialised(const Property& property,
                                              const decide::Witness& witness) {
  std::vector<double> numbers[] = {{}, witness.y};
  for (const mpq_class& x : witness.x) numbers[0].push_back(vnnlib::round_to_double(x).value);
  std::map<std::string, std::string> files;
  const std::vector<Declared> all = declared_tensors(property);
  for (const Declared& each : all) {
    const auto named = [&](const Declared& other) { return other.tensor.name == each.tensor.name; };
    const bool shared = std::ranges::count_if(all, named) > 1;
    const auto first = numbers[each.output].begin() + static_cast<std::ptrdiff_t>(each.first);
    const std::vector<double> elements(first, first + element_count(each.tensor.shape));
    files.emplace((shared ? each.network + "." : "") + each.tensor.name + ".pb",
                  tensor_bytes({each.tensor.name, each.tensor.shape, elements},
                               each.tensor.element_type == "float32"));
  }
  return files;
}

std::size_t most_lines() {
  constexpr std::size_t kMost = 16;
  return system::is_terminal(system::Stream::kOutput) &&
                 system::verbosity() != system::Verbosity::kVerbose
             ? kMost
             : SIZE_MAX;
}

std::string plain_text(const decide::Witness& witness, std::size_t most) {
  std::string text;
  const auto add = [&](const char* what, const std::vector<std::string>& numbers) {
    const std::size_t shown = numbers.size() <= most ? numbers.size() : most - 1;
    for (std::size_t i = 0; i < shown; ++i)
      text += fmt::format("  {}_{:<6} {}\n", what, i, numbers[i]);
    if (shown < numbers.size())
      text += fmt::format("  ... {} more; --counterexample FILE writes all of them\n",
                          numbers.size() - shown);
  };
  for (const auto& [name, value] : witness.parameters)
    text += fmt::format("  {} {}\n", name, value);
  add("X", decide::input_texts(witness));
  add("Y", output_numbers(witness));
  return text;
}

nlohmann::ordered_json to_json(const decide::Witness& witness) {
  nlohmann::ordered_json y = nlohmann::ordered_json::array();
  for (const double value : witness.y) y.push_back(engine::number_json(value));
  nlohmann::ordered_json json = {{"case", witness.property_case}, {"clause", witness.clause}};
  for (const auto& [name, value] : witness.parameters) json["parameters"][name] = value;
  json["x"] = decide::input_texts(witness);
  json["y"] = std::move(y);
  json["proof"] = witness.emitted    ? "evaluation in the emitted order"
                  : witness.rational ? "rational arithmetic"
                                     : "error bounds";
  return json;
}

}  // namespace bf_aot::cli
