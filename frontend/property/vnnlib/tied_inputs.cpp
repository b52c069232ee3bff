#include "frontend/property/vnnlib/tied_inputs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace bf_aot::vnnlib {

std::optional<TiedInputs> find_tied_inputs(const std::vector<Condition>& conditions,
                                           std::int64_t input_count) {
  std::set<std::pair<std::int64_t, std::int64_t>> at_most;  // x_first <= x_second
  for (const Condition& condition : conditions) {
    const LinearForm& inputs = condition.inputs;
    if (condition.row >= 0 || condition.strict || condition.limit != 0 || inputs.size() != 2 ||
        inputs[0].second != -inputs[1].second)
      continue;
    const bool rising = inputs[0].second > 0;
    at_most.emplace(inputs[rising ? 0 : 1].first, inputs[rising ? 1 : 0].first);
  }
  std::vector<std::int64_t> root(static_cast<std::size_t>(input_count));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::int64_t i) {
    while (root[static_cast<std::size_t>(i)] != i) {
      std::int64_t& next = root[static_cast<std::size_t>(i)];
      next = root[static_cast<std::size_t>(next)];
      i = next;
    }
    return i;
  };
  bool any = false;
  for (const auto& [a, b] : at_most) {
    if (!at_most.contains({b, a})) continue;
    const std::int64_t first = find(std::min(a, b)), second = find(std::max(a, b));
    root[static_cast<std::size_t>(std::max(first, second))] = std::min(first, second);
    any = true;
  }
  if (!any) return std::nullopt;
  TiedInputs tied;
  std::map<std::int64_t, std::int64_t> numbers;
  for (std::int64_t i = 0; i < input_count; ++i) {
    const auto [number, added] = numbers.try_emplace(find(i), tied.count);
    if (added) ++tied.count;
    tied.source.push_back(number->second);
  }
  return tied;
}

LinearForm renamed_inputs(const LinearForm& form, const std::vector<std::int64_t>& source) {
  std::map<std::int64_t, mpq_class> sums;
  for (const auto& [input, factor] : form) sums[source[static_cast<std::size_t>(input)]] += factor;
  LinearForm made;
  for (auto& [input, factor] : sums)
    if (factor != 0) made.emplace_back(input, std::move(factor));
  return made;
}

}  // namespace bf_aot::vnnlib
