#include "frontend/property/vnnlib/tied_inputs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace bf_aot::vnnlib {
namespace {

// Classes of inputs that are equal, each named by its first one.
class InputClasses {
 public:
  explicit InputClasses(std::size_t count) : first_(count) {
    std::iota(first_.begin(), first_.end(), 0);
  }

  std::int64_t find(std::int64_t i) {
    while (at(i) != i) {
      at(i) = at(at(i));
      i = at(i);
    }
    return i;
  }

  void join(std::int64_t a, std::int64_t b) {
    const std::int64_t first = find(a), second = find(b);
    at(std::max(first, second)) = std::min(first, second);
  }

 private:
  std::int64_t& at(std::int64_t i) { return first_[static_cast<std::size_t>(i)]; }

  std::vector<std::int64_t> first_;
};

// Pairs (a, b) say that a <= b. Outputs have the numbers -1, -2, ..
using Pairs = std::set<std::pair<std::int64_t, std::int64_t>>;

Pairs inequalities(const std::vector<Condition>& conditions, const std::vector<PropertyRow>& rows) {
  Pairs at_most;
  for (const Condition& condition : conditions) {
    if (condition.strict || condition.limit != 0) continue;
    const PropertyRow& row = rows[static_cast<std::size_t>(condition.row)];
    const int sign = condition.negated ? -1 : 1;
    LinearForm terms;
    for (const auto& [input, factor] : row.inputs) terms.emplace_back(input, sign * factor);
    for (const auto& [output, factor] : row.outputs) terms.emplace_back(-1 - output, sign * factor);
    if (terms.size() != 2 || terms[0].second != -terms[1].second) continue;
    const std::size_t less = terms[0].second > 0 ? 0 : 1;
    at_most.emplace(terms[less].first, terms[1 - less].first);
  }
  return at_most;
}

}  // namespace

std::optional<TiedInputs> find_tied_inputs(const std::vector<Condition>& conditions,
                                           const std::vector<PropertyRow>& rows,
                                           const NetworkNumbers& networks) {
  const Pairs at_most = inequalities(conditions, rows);
  const auto count = static_cast<std::int64_t>(networks.inputs.size());
  InputClasses classes(networks.inputs.size());
  bool any = false;
  for (const auto& [a, b] : at_most)
    if (a >= 0 && b >= 0 && at_most.contains({b, a})) {
      classes.join(a, b);
      any = true;
    }
  // Only networks behind that of an output may read it. A class is named by its first input, which
  // is of its first network.
  std::map<std::int64_t, std::int64_t> outputs;  // of classes
  for (const auto& [a, b] : at_most) {
    if (a >= 0 || b < 0 || !at_most.contains({b, a})) continue;
    const auto output = static_cast<std::size_t>(-1 - a);
    const std::int64_t input = classes.find(b);
    const bool derived = output >= networks.outputs.size();
    if (derived || networks.outputs[output] >= networks.inputs[static_cast<std::size_t>(input)])
      continue;
    outputs.try_emplace(input, -1 - a);
    any = true;
  }
  if (!any) return std::nullopt;
  TiedInputs tied;
  std::map<std::int64_t, std::int64_t> numbers;
  for (std::int64_t i = 0; i < count; ++i)
    if (classes.find(i) == i && !outputs.contains(i)) numbers.emplace(i, tied.count++);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = classes.find(i);
    const auto output = outputs.find(first);
    tied.source.push_back(output == outputs.end() ? numbers.at(first)
                                                  : tied.count + output->second);
  }
  return tied;
}

}  // namespace bf_aot::vnnlib
