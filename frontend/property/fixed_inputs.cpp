#include "frontend/property/fixed_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bf_aot {
namespace {

// Returns true if the interval of input i is the same in all cases and holds no double inside.
bool is_fixed_by(const Property& property, std::size_t i) {
  const Box& first = property.cases.front().box;
  const double up = std::nextafter(first.lower[i], std::numeric_limits<double>::infinity());
  return std::ranges::all_of(property.cases, [&](const PropertyCase& one) {
    return one.box.lower[i] == first.lower[i] && one.box.upper[i] == first.upper[i] &&
           !(one.inner.lower[i] < one.inner.upper[i]) && first.upper[i] <= up;
  });
}

std::vector<double> chosen(const std::vector<double>& from, const std::vector<std::int64_t>& at) {
  std::vector<double> made;
  for (const std::int64_t i : at) made.push_back(from[static_cast<std::size_t>(i)]);
  return made;
}

Box chosen(const Box& box, const std::vector<std::int64_t>& at) {
  return {chosen(box.lower, at), chosen(box.upper, at)};
}

// The place among the free inputs, if it is one.
std::optional<std::int64_t> place_of(std::int64_t input, const std::vector<std::int64_t>& free) {
  const auto at = std::ranges::lower_bound(free, input);
  return at != free.end() && *at == input ? std::optional(at - free.begin()) : std::nullopt;
}

std::vector<ExactEnd> chosen(const std::vector<ExactEnd>& ends,
                             const std::vector<std::int64_t>& free) {
  std::vector<ExactEnd> made;
  for (const ExactEnd& end : ends)
    if (const auto place = place_of(end.input, free))
      made.push_back({*place, end.value, end.closed});
  return made;
}

}  // namespace

bool FixedInputs::is_fixed(std::int64_t input) const {
  return !std::ranges::binary_search(free, input);
}

std::vector<double> FixedInputs::whole(const std::vector<double>& of_free) const {
  std::vector<double> made = value;
  for (std::size_t k = 0; k < free.size(); ++k)
    made[static_cast<std::size_t>(free[k])] = of_free[k];
  return made;
}

std::optional<FixedInputs> find_fixed_inputs(const Property& property) {
  if (property.cases.empty() || speaks_of_inputs(property)) return std::nullopt;
  const Box& box = property.cases.front().box;
  FixedInputs made;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    made.value.push_back(box.lower[i]);
    made.error.push_back(box.upper[i] - box.lower[i]);  // exact: neighbours, or 0
    if (!is_fixed_by(property, i)) made.free.push_back(static_cast<std::int64_t>(i));
  }
  if (made.free.empty() || 2 * made.free.size() > box.lower.size()) return std::nullopt;
  return made;
}

Property with_free_inputs(const Property& property, const FixedInputs& fixed) {
  Property made = property;
  made.input_count = static_cast<std::int64_t>(fixed.free.size());
  made.inputs = {{"X", "Real", {made.input_count}, ""}};
  made.output_count += static_cast<std::int64_t>(made.derived.size());
  made.derived.clear();
  for (PropertyCase& one : made.cases) {
    one.box = chosen(one.box, fixed.free);
    one.inner = chosen(one.inner, fixed.free);
    LinearForm between;
    for (const auto& [input, x] : one.between)
      if (const auto place = place_of(input, fixed.free)) between.emplace_back(*place, x);
    one.between = std::move(between);
    one.lower_ends = chosen(one.lower_ends, fixed.free);
    one.upper_ends = chosen(one.upper_ends, fixed.free);
  }
  return made;
}

}  // namespace bf_aot
