#include "planner/network/stride_gathers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace bf_aot {
namespace {

// Elements from which a table takes more memory than the routine that reads by strides.
constexpr std::size_t kLeastElements = 64;

// The longest run from the front whose neighbours differ by one step.
std::size_t run_length(const std::vector<std::int32_t>& list) {
  std::size_t n = 2;
  while (n < list.size() && list[n] - list[n - 1] == list[1] - list[0]) ++n;
  return std::min(n, list.size());
}

// Returns true if every block of `count` elements is a run of this step.
bool is_blocks_of(const std::vector<std::int32_t>& list, std::size_t count, std::int32_t step) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (i % count != 0 && list[i] - list[i - 1] != step) return false;
  return true;
}

std::vector<std::int32_t> every(const std::vector<std::int32_t>& list, std::size_t step) {
  std::vector<std::int32_t> made;
  for (std::size_t i = 0; i < list.size(); i += step) made.push_back(list[i]);
  return made;
}

}  // namespace

// Takes the fastest dimension off the list until one element is left: its first run must be
// repeated by all blocks of its length.
std::optional<StridedView> strided_view(const std::vector<std::int32_t>& source) {
  if (source.empty() || std::ranges::count(source, -1) > 0) return std::nullopt;
  StridedView view;
  view.offset = source.front();
  std::vector<std::int32_t> list = source;
  for (std::size_t dimension = view.count.size(); dimension-- > 0 && list.size() > 1;) {
    const std::size_t count = run_length(list);
    const std::int32_t step = list[1] - list[0];
    if (list.size() % count != 0 || !is_blocks_of(list, count, step)) return std::nullopt;
    view.count[dimension] = static_cast<std::int32_t>(count);
    view.stride[dimension] = step;
    list = every(list, count);
  }
  if (list.size() > 1) return std::nullopt;
  return view;
}

std::vector<std::int32_t> elements_of(const StridedView& view) {
  std::vector<std::int32_t> made;
  for (std::int32_t a = 0; a < view.count[0]; ++a)
    for (std::int32_t b = 0; b < view.count[1]; ++b)
      for (std::int32_t c = 0; c < view.count[2]; ++c)
        for (std::int32_t d = 0; d < view.count[3]; ++d)
          made.push_back(view.offset + a * view.stride[0] + b * view.stride[1] +
                         c * view.stride[2] + d * view.stride[3]);
  return made;
}

void stride_gathers(Plan& plan) {
  // Nodes of neuron splits read tables alone.
  if (plan.config.decide && plan.config.splits == Splits::kNeurons) return;
  for (Layer& layer : plan.layers)
    for (Term& term : layer.terms) {
      auto* const gather = std::get_if<GatherMap>(&term.map);
      if (gather == nullptr || gather->source.size() < kLeastElements) continue;
      gather->view = strided_view(gather->source);
      plan.rejected.push_back(
          gather->view ? Rejected{"layout", fmt::format("{}: a table of sources", layer.name),
                                  fmt::format("four strides say the same as {} indices",
                                              gather->source.size())}
                       : Rejected{"layout", fmt::format("{}: sources by strides", layer.name),
                                  "they follow no four nested loops"});
    }
}

}  // namespace bf_aot
