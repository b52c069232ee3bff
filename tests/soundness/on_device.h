#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/build/compile.h"
#include "aot/build/device/device.h"
#include "aot/build/options/language.h"
#include "aot/engine/device/device.h"
#include "frontend/diagnostic.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

// Verifiers on an OpenCL device, for tests.

namespace bf_aot::soundness {

// An option of the device's compiler: products are not fused into sums.
constexpr char kExact[] = "-D BF_NO_CONTRACTION";

// The graph's plan for devices; null where devices lack what it needs. without: error terms that
// are dropped.
inline std::shared_ptr<const Lowered> planned(const Graph& graph, Method method, int items,
                                              std::vector<std::string> without = {},
                                              Norm norm = Norm::kLargest) {
  build::CompileOptions options;
  options.planner = planner_config(method, Lowering::kGeneric, "generic");
  options.planner.dropped_error_terms = std::move(without);
  options.planner.norm = norm;
  options = build::for_device(options, Language::kOpenCl, items);
  ModelInfo info;
  info.sha256 = std::string(64, '0');
  try {
    auto lowered =
        lower(std::make_shared<const Plan>(plan(graph, info, "net", false, options.planner)));
    build::check_language(*lowered);
    return lowered;
  } catch (const CompileError&) {
    return nullptr;
  }
}

// Why there is no device to test with; nothing where there is one.
inline std::optional<std::string> missing_device() {
  const Graph graph = to_graph(Net{"one", {dense_layer(1, 1, {1})}});
  try {
    const engine::Device device(planned(graph, Method::kIbp, 1), {"opencl", 0});
    return std::nullopt;
  } catch (const CompileError& error) {
    const std::string text = error.what();
    if (text.find("BF3340") == std::string::npos) throw;
    return text;
  }
}

// The device's outcome for each box, in one call.
inline std::vector<Outcome> on_device(const engine::Device& device,
                                      const std::vector<FloatBox>& boxes) {
  std::vector<float> lower, upper;
  for (const FloatBox& box : boxes) {
    lower.insert(lower.end(), box.lower.begin(), box.lower.end());
    upper.insert(upper.end(), box.upper.begin(), box.upper.end());
  }
  const auto outputs = static_cast<std::ptrdiff_t>(device.plan().output_count);
  std::vector<bf_status> statuses(boxes.size());
  std::vector<float> low(boxes.size() * static_cast<std::size_t>(outputs), 1), high(low.size(), 2);
  device.bound(false, boxes.size(), lower.data(), upper.data(), low.data(), high.data(),
               statuses.data());
  std::vector<Outcome> made;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i) * outputs;
    made.push_back({statuses[i],
                    {low.begin() + at, low.begin() + at + outputs},
                    {high.begin() + at, high.begin() + at + outputs}});
  }
  return made;
}

}  // namespace bf_aot::soundness
