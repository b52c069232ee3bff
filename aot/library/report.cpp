#include "aot/artifacts/report/report.h"

#include <cmath>

#include "aot/artifacts/report/samples.h"
#include "aot/library/state.h"
#include "runtime/bf.h"

namespace bf_aot::api {
namespace {

std::vector<Box> boxes_of(std::span<const double> lower, std::span<const double> upper,
                          std::size_t inputs) {
  if (lower.size() != upper.size() || lower.size() % inputs != 0)
    refuse("BF3502", "boxes",
           fmt::format("{} lower and {} upper ends are given, a box has {} of each", lower.size(),
                       upper.size(), inputs));
  std::vector<Box> boxes(lower.size() / inputs);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (!(lower[i] <= upper[i]) || std::isinf(lower[i]) || std::isinf(upper[i]))
      refuse("BF3503", fmt::format("box {}, input {}", i / inputs, i % inputs),
             fmt::format("{} to {} is no finite interval", lower[i], upper[i]));
    boxes[i / inputs].lower.push_back(lower[i]);
    boxes[i / inputs].upper.push_back(upper[i]);
  }
  return boxes;
}

std::vector<std::pair<std::string, std::string>> option_list(const Options& options) {
  std::vector<std::pair<std::string, std::string>> list = {{"method", to_string(options.method)}};
  const auto add = [&list](const char* name, std::int64_t value, std::int64_t usual) {
    if (value != usual) list.emplace_back(name, std::to_string(value));
  };
  const Options usual;
  if (options.semantics == Semantics::kFloat32) list.emplace_back("semantics", "float32");
  if (options.semantics == Semantics::kFloat32Flushed)
    list.emplace_back("semantics", "float32, subnormals flushed");
  if (options.semantics == Semantics::kFloat32Exact)
    list.emplace_back("semantics", "float32-exact");
  if (options.semantics == Semantics::kQuantisedAny)
    list.emplace_back("semantics", "quantised-any");
  if (options.alpha == AlphaRows::kAll) list.emplace_back("alpha", "all");
  add("iterations", options.iterations, usual.iterations);
  add("row-tile", options.row_tile, usual.row_tile);
  add("memory-budget", options.memory_budget, usual.memory_budget);
  add("batch", options.batch, usual.batch);
  for (const auto& each : options.more) list.push_back(each);
  return list;
}

}  // namespace

Result<std::string> report(const Model& model, const Options& options,
                           const Specification& specification, std::span<const double> lower,
                           std::span<const double> upper) {
  return guarded<std::string>(
      "writing a report",
      [&] {
        const std::vector<Box> boxes = boxes_of(lower, upper, model.input_count());
        const auto lowered = plan_for(model, compile_options(model, options, specification));
        artifacts::Findings findings;
        findings.version = BF_VERSION_STRING;
        findings.options = option_list(settled(options));
        artifacts::add_samples(lowered->plan(), boxes, findings);
        return artifacts::page(lowered->plan(), findings);
      },
      Library::state(model).numbers);
}

}  // namespace bf_aot::api
