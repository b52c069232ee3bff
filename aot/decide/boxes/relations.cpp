#include "aot/decide/boxes/relations.h"

#include <algorithm>
#include <cmath>

#include "aot/decide/boxes/rational_program.h"

namespace bf_aot::decide {
namespace {

// Shares of the box's widths by which a point may be moved, one after the other. Points that the
// search keeps to its conditions in floats miss them by less than the first allows.
constexpr double kMoves[] = {0x1p-16, 0x1p-8};
// Inputs that are moved, at most: those that the conditions speak of with the most room.
constexpr std::size_t kMostMoved = 24;

mpq_class value_at(const Condition& condition, const PropertyRow& row,
                   const std::vector<mpq_class>& x) {
  mpq_class value = 0;
  for (const auto& [input, factor] : row.inputs)
    value += factor * x[static_cast<std::size_t>(input)];
  return condition.negated ? mpq_class(-value) : value;
}

bool holds_at(const Condition& condition, const PropertyRow& row, const std::vector<mpq_class>& x) {
  const mpq_class value = value_at(condition, row, x);
  return condition.strict ? value < condition.limit : value <= condition.limit;
}

// The linear program that move_into() solves for one share of the widths.
class Move {
 public:
  Move(const Property& property, const PropertyCase& one, std::vector<const Condition*> conditions,
       const std::vector<mpq_class>& x)
      : property_(property), one_(one), conditions_(std::move(conditions)), x_(x) {}

  std::optional<std::vector<mpq_class>> solve(double share) {
    if (!may_reach(share)) return std::nullopt;
    choose_inputs(share);
    RationalProgram program;
    for (const std::size_t i : moved_) {
      const auto [low, high] = reach_of(i, share);
      program.lower.push_back(low);
      program.upper.push_back(high);
    }
    // The last variable is the room that all conditions leave, in units of their factors' sum.
    program.lower.emplace_back(0);
    program.upper.emplace_back(1);
    program.objective.assign(moved_.size(), 0);
    program.objective.emplace_back(1);
    for (const Condition* condition : conditions_) program.rows.push_back(row_of(*condition));
    const std::optional<RationalOptimum> best = maximise(program);
    if (!best) return std::nullopt;
    std::vector<mpq_class> made = x_;
    for (std::size_t k = 0; k < moved_.size(); ++k) made[moved_[k]] = best->x[k];
    for (const Condition* condition : conditions_)
      if (!holds_at(*condition, property_.row_of(*condition), made)) return std::nullopt;
    return made;
  }

 private:
  double width(std::size_t i) const { return one_.box.upper[i] - one_.box.lower[i]; }

  // The interval of input i of so large a share of its width about the point.
  std::pair<mpq_class, mpq_class> reach_of(std::size_t i, double share) const {
    const double low = one_.inner.lower[i], high = one_.inner.upper[i];
    if (!(low < high)) return {x_[i], x_[i]};
    const mpq_class by = share * width(i);
    const mpq_class least = x_[i] - by, most = x_[i] + by;
    return {std::max(least, mpq_class(low)), std::min(most, mpq_class(high))};
  }

  // Returns false where a condition is missed by more than all its inputs can make up for.
  bool may_reach(double share) const {
    return std::ranges::all_of(conditions_, [&](const Condition* condition) {
      const PropertyRow& row = property_.row_of(*condition);
      double reach = 0;
      for (const auto& [input, factor] : row.inputs)
        reach += std::fabs(factor.get_d()) * share * width(static_cast<std::size_t>(input));
      return mpq_class(value_at(*condition, row, x_) - condition->limit).get_d() <= reach;
    });
  }

  void choose_inputs(double share) {
    moved_.clear();
    for (const Condition* condition : conditions_)
      for (const auto& [input, factor] : property_.row_of(*condition).inputs)
        moved_.push_back(static_cast<std::size_t>(input));
    std::ranges::sort(moved_);
    moved_.erase(std::unique(moved_.begin(), moved_.end()), moved_.end());
    const auto room = [&](std::size_t i) {
      const auto [low, high] = reach_of(i, share);
      return mpq_class(high - low).get_d();
    };
    std::erase_if(moved_, [&](std::size_t i) { return !(room(i) > 0); });
    if (moved_.size() <= kMostMoved) return;
    std::ranges::stable_sort(moved_,
                             [&](std::size_t a, std::size_t b) { return room(a) > room(b); });
    moved_.resize(kMostMoved);
    std::ranges::sort(moved_);
  }

  RationalProgram::Row row_of(const Condition& condition) const {
    RationalProgram::Row made{std::vector<mpq_class>(moved_.size() + 1), condition.limit};
    for (const auto& [input, positive] : property_.row_of(condition).inputs) {
      const auto i = static_cast<std::size_t>(input);
      const mpq_class factor = condition.negated ? -positive : positive;
      made.factors.back() += abs(factor);
      const auto at = std::ranges::lower_bound(moved_, i);
      if (at != moved_.end() && *at == i)
        made.factors[static_cast<std::size_t>(at - moved_.begin())] = factor;
      else
        made.limit -= factor * x_[i];
    }
    return made;
  }

  const Property& property_;
  const PropertyCase& one_;
  const std::vector<const Condition*> conditions_;
  const std::vector<mpq_class>& x_;
  std::vector<std::size_t> moved_;
};

}  // namespace

Relations::Relations(const Property& property, const Clause& clause,
                     const std::vector<float>& lower, const std::vector<float>& upper)
    : lower_(lower), upper_(upper) {
  constexpr double kSlack = 0x1p-18;
  for (const Condition& condition : clause) {
    const PropertyRow& row = property.row_of(condition);
    if (!row.outputs.empty()) continue;
    Half half;
    half.limit = condition.limit.get_d();
    for (const auto& [input, positive] : row.inputs) {
      const auto i = static_cast<std::size_t>(input);
      const double factor = condition.negated ? -positive.get_d() : positive.get_d();
      half.factors.emplace_back(i, factor);
      half.square += factor * factor;
      half.slack += kSlack * std::fabs(factor) * static_cast<double>(upper[i] - lower[i]);
    }
    if (std::isfinite(half.square) && half.square > 0) halves_.push_back(std::move(half));
  }
}

std::optional<std::vector<mpq_class>> move_into(const Property& property, const PropertyCase& one,
                                                const Clause& clause,
                                                const std::vector<mpq_class>& x) {
  std::vector<const Condition*> conditions;
  bool all = true;
  for (const Condition& condition : clause) {
    const PropertyRow& row = property.row_of(condition);
    if (!row.outputs.empty()) continue;
    conditions.push_back(&condition);
    all = all && holds_at(condition, row, x);
  }
  if (all) return std::nullopt;
  Move move(property, one, std::move(conditions), x);
  for (const double share : kMoves)
    if (auto made = move.solve(share)) return made;
  return std::nullopt;
}

}  // namespace bf_aot::decide
