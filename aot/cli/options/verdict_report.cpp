#include "aot/cli/options/verdict_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "aot/engine/verifier/report.h"
#include "aot/system/terminal.h"

namespace bf_aot::cli {
namespace {

// Prints tensors and their numbers, some at a time.
class TensorPrinter {
 public:
  TensorPrinter(const std::vector<PropertyTensor>& tensors, std::vector<std::string> numbers)
      : tensors_(tensors), numbers_(std::move(numbers)) {}

  std::string next(std::size_t count) {
    std::string text;
    for (const std::size_t end = tensor_ + count; tensor_ < end; ++tensor_) {
      const PropertyTensor& tensor = tensors_[tensor_];
      std::string shape;
      for (const std::int64_t dimension : tensor.shape)
        shape += fmt::format("{}{}", shape.empty() ? "" : ",", dimension);
      text += fmt::format("{} {} [{}]\n", tensor.name, tensor.element_type, shape);
      for (std::int64_t i = 0; i < element_count(tensor.shape); ++i)
        text += numbers_[number_++] + "\n";
    }
    return text;
  }

 private:
  const std::vector<PropertyTensor>& tensors_;
  const std::vector<std::string> numbers_;
  std::size_t tensor_ = 0, number_ = 0;
};

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
  TensorPrinter inputs(property.inputs, decide::input_texts(witness));
  TensorPrinter outputs(property.outputs, output_numbers(witness));
  std::string text;
  for (const PropertyNetwork& network : property.networks)
    text += inputs.next(network.inputs) + outputs.next(network.outputs);
  return text;
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
  add("X", decide::input_texts(witness));
  add("Y", output_numbers(witness));
  return text;
}

nlohmann::ordered_json to_json(const decide::Witness& witness) {
  nlohmann::ordered_json y = nlohmann::ordered_json::array();
  for (const double value : witness.y) y.push_back(engine::number_json(value));
  return {{"case", witness.property_case},
          {"clause", witness.clause},
          {"x", decide::input_texts(witness)},
          {"y", std::move(y)},
          {"proof", witness.emitted    ? "evaluation in the emitted order"
                    : witness.rational ? "rational arithmetic"
                                       : "error bounds"}};
}

}  // namespace bf_aot::cli
