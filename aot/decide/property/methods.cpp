#include "aot/decide/property/methods.h"

#include <algorithm>
#include <cstdint>

#include "planner/plan/plan.h"
#include "planner/split_neurons.h"

namespace bf_aot::decide {
namespace {

// A property with at least this many cases, or a network with this many elements of tensors, is
// worth a verifier by intervals before the backward method's.
constexpr std::size_t kManyCases = 32;
constexpr std::int64_t kManyElements = 20'000;

// The elements of all tensors, by which the time of the backward method is judged.
std::int64_t tensor_elements(const Graph& graph) {
  std::int64_t count = 0;
  for (const Value& value : graph.values) count += element_count(value.shape);
  return count;
}

}  // namespace

std::string DecisionMethod::name() const {
  std::string text(to_string(method));
  if (method == Method::kAlphaCrown && alpha == AlphaRows::kAll) text += " all";
  if (max_as_relu) text += " without maxima";
  if (of_boxes) text += " of boxes";
  if (on_device) text += " on the device";
  if (unused) text += " (not used)";
  return text;
}

bool is_of_devices(Method method) {
  switch (method) {
    case Method::kIbp:
    case Method::kCrownIbp:
    case Method::kCrown:
    case Method::kAlphaCrown:
      return true;
    case Method::kForward:
    case Method::kAuto:
      return false;
  }
  return false;
}

bool is_branchable(const Property& property) {
  return std::ranges::all_of(property.cases, [](const PropertyCase& one) {
    std::size_t varying = 0;
    for (std::size_t i = 0; i < one.box.lower.size(); ++i)
      varying += one.inner.lower[i] < one.inner.upper[i] ? 1 : 0;
    return varying <= kMostBranchedInputs;
  });
}

bool may_split_boxes(const Property& property, const DecisionSettings& settings) {
  return settings.norm == Norm::kLargest && is_branchable(property);
}

std::optional<FixedInputs> inputs_to_fix(const Property& property,
                                         const DecisionSettings& settings) {
  if (!settings.real || !may_split_boxes(property, settings)) return std::nullopt;
  return find_fixed_inputs(property);
}

std::vector<DecisionMethod> methods_of(const DecisionSettings& settings, const Graph& graph,
                                       std::size_t cases, bool branches) {
  if (settings.method) return {{*settings.method, settings.alpha, branches}};
  std::vector<DecisionMethod> methods;
  const bool boxes = settings.norm == Norm::kLargest;
  if (cases >= kManyCases || tensor_elements(graph) >= kManyElements)
    methods.push_back({boxes ? Method::kIbp : Method::kCrownIbp});
  methods.push_back({Method::kCrown, AlphaRows::kOutputs, branches});
  if (!branches) {
    methods.push_back({Method::kAlphaCrown});
    methods.push_back({Method::kAlphaCrown, AlphaRows::kAll});
  }
  return methods;
}

}  // namespace bf_aot::decide
