#include "frontend/property/clause_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "frontend/numbers/numbers.h"

namespace bf_aot {
namespace {

// Rounds over all conditions of a clause, and factors that are looked at in all, at most. Ends may
// come closer to a limit for ever, as those of x <= y / 2 and y <= x / 2 do.
constexpr int kMostRounds = 16;
constexpr std::size_t kMostFactors = 1'000'000;

// sum of sign factor_i x_i <= limit.
struct InputCondition {
  const LinearForm* form;
  bool negated;
  const mpq_class* limit;
};

std::vector<InputCondition> input_conditions(const std::vector<PropertyRow>& rows,
                                             const Clause& clause) {
  std::vector<InputCondition> made;
  for (const Condition& condition : clause) {
    const PropertyRow& row = rows[static_cast<std::size_t>(condition.row)];
    if (row.outputs.empty()) made.push_back({&row.inputs, condition.negated, &condition.limit});
  }
  return made;
}

// The effect of a condition on a box.
enum class Effect : std::uint8_t { kNone, kShrunk, kEmpty };

// Moves the ends of the box inward to what one condition leaves of each input. With the others at
// the ends where their products are least, room = limit - least is what the product of input i may
// exceed its own least by: |factor_i| times the distance from that end is at most room.
Effect shrink(const InputCondition& condition, Box& box) {
  mpq_class room = *condition.limit;
  for (const auto& [input, factor] : *condition.form) {
    const auto i = static_cast<std::size_t>(input);
    const bool rises = (factor > 0) != condition.negated;
    const mpq_class least = factor * mpq_class(rises ? box.lower[i] : box.upper[i]);
    room -= condition.negated ? mpq_class(-least) : least;
  }
  if (room < 0) return Effect::kEmpty;
  Effect effect = Effect::kNone;
  for (const auto& [input, factor] : *condition.form) {
    const auto i = static_cast<std::size_t>(input);
    const bool rises = (factor > 0) != condition.negated;
    const mpq_class distance = room / abs(factor);
    mpq_class end = rises ? box.lower[i] : box.upper[i];
    if (rises)
      end += distance;
    else
      end -= distance;
    const vnnlib::Number rounded = vnnlib::enclose(end, {});
    double& moved = rises ? box.upper[i] : box.lower[i];
    const double to = rises ? rounded.above : rounded.below;
    if (!(rises ? to < moved : to > moved)) continue;
    moved = to + 0.0;  // no -0
    effect = Effect::kShrunk;
  }
  return effect;
}

}  // namespace

std::optional<Box> box_of_clause(const std::vector<PropertyRow>& rows, const Clause& clause,
                                 const Box& box) {
  const std::vector<InputCondition> conditions = input_conditions(rows, clause);
  Box made = box;
  std::size_t factors = 0;
  for (int round = 0; round < kMostRounds && factors <= kMostFactors; ++round) {
    bool shrunk = false;
    for (const InputCondition& condition : conditions) {
      factors += condition.form->size();
      const Effect effect = shrink(condition, made);
      if (effect == Effect::kEmpty) return std::nullopt;
      shrunk = shrunk || effect == Effect::kShrunk;
    }
    if (!shrunk) break;
  }
  return made;
}

Box box_of_case(const Property& property, const PropertyCase& one) {
  std::optional<Box> made;
  for (const Clause& clause : one.clauses) {
    std::optional<Box> part = box_of_clause(property.rows, clause, one.box);
    if (!part) continue;
    if (!made) {
      made = std::move(part);
      continue;
    }
    for (std::size_t i = 0; i < part->lower.size(); ++i) {
      made->lower[i] = std::min(made->lower[i], part->lower[i]);
      made->upper[i] = std::max(made->upper[i], part->upper[i]);
    }
  }
  return made.value_or(one.box);
}

}  // namespace bf_aot
