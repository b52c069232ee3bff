#include "planner/integer/expression.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace bf_aot {
namespace {

bool all_equal(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [&](double x) { return x == numbers.front(); });
}

ChainLink link_at(const ElementScale& scale, std::size_t element) {
  return AffineLink{scale.factor.at(element), scale.offset.at(element)};
}
ChainLink link_at(const ReluLink& relu, std::size_t) {
  return relu;
}
ChainLink link_at(const Function& function, std::size_t) {
  return function;
}

const Function* function_of(const ElementLink& link, FunctionKind kind) {
  const auto* const function = std::get_if<Function>(&link);
  return function != nullptr && function->kind == kind ? function : nullptr;
}

// x + an integer, the same or another for each element.
bool shifts_by_integers(const ElementLink& link, std::size_t count) {
  const auto* const scale = std::get_if<ElementScale>(&link);
  if (scale == nullptr || !scale->factor.uniform()) return false;
  const Range factor = scale->factor.at(0);
  if (!factor.is_exact() || factor.low != 1) return false;
  for (std::size_t i = 0; i < (scale->offset.uniform() ? 1 : count); ++i) {
    const Range offset = scale->offset.at(i);
    if (!offset.is_exact() || offset.low.get_den() != 1) return false;
  }
  return true;
}

// None where the ends are no integers, or no interval.
std::optional<CodeLimits> limits_of(double low, double high) {
  const bool integers = std::isfinite(low) && std::isfinite(high) && std::floor(low) == low &&
                        std::floor(high) == high;
  if (!integers || high < low) return std::nullopt;
  return CodeLimits{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

}  // namespace

Numbers::Numbers(const Constant& constant) : values_(constant.data), errors_(constant.error) {
  errors_.resize(values_.size(), 0.0);
  if (!values_.empty() && all_equal(values_) && all_equal(errors_)) {
    values_.resize(1);
    errors_.resize(1);
  }
}

Range Numbers::at(std::size_t element) const {
  const mpq_class value(values_[index(element)]);
  const mpq_class error(errors_[index(element)]);
  return {value - error, value + error};
}

std::pair<double, double> Numbers::key(std::size_t element) const {
  return {values_[index(element)], errors_[index(element)]};
}

void Numbers::gather(const std::vector<std::int64_t>& source) {
  if (uniform()) return;
  const Numbers old = *this;
  values_.clear();
  errors_.clear();
  for (const std::int64_t from : source) {
    values_.push_back(old.values_[static_cast<std::size_t>(from)]);
    errors_.push_back(old.errors_[static_cast<std::size_t>(from)]);
  }
}

Chain chain_at(const std::vector<ElementLink>& links, std::size_t element) {
  Chain chain;
  for (const ElementLink& link : links)
    chain.push_back(std::visit([&](const auto& each) { return link_at(each, element); }, link));
  return chain;
}

LinkClasses classes_of(const std::vector<ElementLink>& links, std::size_t count) {
  std::vector<const Numbers*> varying;
  for (const ElementLink& link : links)
    if (const auto* scale = std::get_if<ElementScale>(&link))
      for (const Numbers* numbers : {&scale->factor, &scale->offset})
        if (!numbers->uniform()) varying.push_back(numbers);
  LinkClasses classes;
  std::map<std::vector<std::pair<double, double>>, int> known;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::pair<double, double>> key;
    for (const Numbers* numbers : varying) key.push_back(numbers->key(i));
    const auto [found, added] = known.emplace(std::move(key), static_cast<int>(known.size()));
    if (added) classes.leader.push_back(i);
    classes.of.push_back(found->second);
  }
  return classes;
}

std::optional<CodeView> view_of(const GridExpression& expression) {
  const auto* const codes = std::get_if<CodeSource>(&expression.source);
  if (codes == nullptr) return std::nullopt;
  CodeView view{*codes, 1, 0};
  for (const ElementLink& link : expression.links) {
    const auto* const scale = std::get_if<ElementScale>(&link);
    if (scale == nullptr || !scale->factor.uniform() || !scale->offset.uniform())
      return std::nullopt;
    const Range factor = scale->factor.at(0);
    const Range offset = scale->offset.at(0);
    if (!factor.is_exact() || !offset.is_exact() || factor.low == 0) return std::nullopt;
    view.scale *= factor.low;
    view.offset = factor.low * view.offset + offset.low;
  }
  return view;
}

std::optional<CodeLimits> code_limits(const std::vector<ElementLink>& links, std::size_t count) {
  if (links.empty()) return std::nullopt;
  if (const Function* const codes = function_of(links.back(), FunctionKind::kQuantise))
    return limits_of(codes->b, codes->c);
  const Function* const clip = function_of(links.back(), FunctionKind::kClip);
  if (clip == nullptr) return std::nullopt;
  auto link = links.rbegin() + 1;
  while (link != links.rend() && shifts_by_integers(*link, count)) ++link;
  if (link == links.rend() || function_of(*link, FunctionKind::kRound) == nullptr)
    return std::nullopt;
  return limits_of(clip->a, clip->b);
}

}  // namespace bf_aot
