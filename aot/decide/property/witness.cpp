#include "aot/decide/property/witness.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "aot/decide/boxes/nearest_inside.h"
#include "aot/decide/boxes/relations.h"
#include "aot/decide/property/case_ball.h"
#include "aot/decide/property/sample.h"
#include "frontend/diagnostic.h"
#include "frontend/numbers/numbers.h"
#include "frontend/passes/passes.h"
#include "frontend/property/derived_values.h"

namespace bf_aot::decide {
namespace {

// The float32 point next to `point`; none when the box has none there.
std::optional<std::vector<mpq_class>> nearest_float32(const PropertyCase& one,
                                                      const std::vector<double>& point) {
  if (!one.between.empty()) return std::nullopt;  // not even a double
  std::vector<mpq_class> made(point.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double low = one.inner.lower[i], high = one.inner.upper[i];
    auto x = static_cast<float>(std::clamp(point[i], low, high));
    if (static_cast<double>(x) < low) x = std::nextafter(x, INFINITY);
    if (static_cast<double>(x) > high) x = std::nextafter(x, -INFINITY);
    if (static_cast<double>(x) < low || static_cast<double>(x) > high) return std::nullopt;
    made[i] = static_cast<double>(x);
  }
  return made;
}

double rounded_to_bits(double x, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

// The number of the fewest bits, at least `bits`, that lies between the ends next to x.
double short_inside(double x, int bits, double lower, double upper) {
  for (; bits < DBL_MANT_DIG; bits += 4) {
    const double made = rounded_to_bits(x, bits);
    if (lower <= made && made <= upper) return made;
  }
  return x;
}

// The limit for the outputs' part of a condition: its limit minus its inputs' part at x.
mpq_class remaining_limit(const Condition& condition, const PropertyRow& row,
                          const std::vector<mpq_class>& x) {
  mpq_class part = 0;
  for (const auto& [input, factor] : row.inputs)
    part += factor * x[static_cast<std::size_t>(input)];
  return condition.negated ? mpq_class(condition.limit + part) : mpq_class(condition.limit - part);
}

bool holds(const mpq_class& value, const mpq_class& limit, bool strict) {
  return strict ? value < limit : value <= limit;
}

std::vector<Bounded> all_enclosed(const std::vector<mpq_class>& x) {
  std::vector<Bounded> made;
  for (const mpq_class& each : x) made.push_back(enclosed(each));
  return made;
}

enum class Proof : std::uint8_t { kNo, kOpen, kYes };

// Judges a condition, given |exact - value| <= error for the outputs and derived values y.
Proof judge(const Condition& condition, const Property& property, const std::vector<mpq_class>& x,
            const std::vector<Bounded>& y) {
  const PropertyRow& row = property.row_of(condition);
  Sum sum;
  for (const auto& [output, factor] : row.outputs)
    sum.add_product(enclosed(factor), y[static_cast<std::size_t>(output)]);
  const Bounded part = sum.result();
  if (!std::isfinite(part.value) || !std::isfinite(part.error)) return Proof::kOpen;
  const mpq_class limit = remaining_limit(condition, row, x);
  const mpq_class value = condition.negated ? -part.value : part.value;
  const mpq_class error = part.error;
  if (holds(value + error, limit, condition.strict)) return Proof::kYes;
  return holds(value - error, limit, condition.strict) ? Proof::kOpen : Proof::kNo;
}

bool judge_exactly(const Condition& condition, const Property& property,
                   const std::vector<mpq_class>& x, const std::vector<mpq_class>& y) {
  const PropertyRow& row = property.row_of(condition);
  mpq_class value = 0;
  for (const auto& [output, factor] : row.outputs)
    value += factor * y[static_cast<std::size_t>(output)];
  if (condition.negated) value = -value;
  return holds(value, remaining_limit(condition, row, x), condition.strict);
}

// The first clause whose conditions hold at inputs x, outputs and derived values y.
std::optional<std::size_t> holding_clause(const PropertyCase& one, const Property& property,
                                          const std::vector<mpq_class>& x,
                                          const std::vector<mpq_class>& y) {
  for (std::size_t j = 0; j < one.clauses.size(); ++j)
    if (std::ranges::all_of(one.clauses[j], [&](const Condition& condition) {
          return judge_exactly(condition, property, x, y);
        }))
      return j;
  return std::nullopt;
}

}  // namespace

std::optional<Sampler> ordered_network(const Sampler& network, const Property& property,
                                       bool real) {
  if (!real || !compares_outputs(property) || !has_ordered_outputs(network.graph()))
    return std::nullopt;
  return network.ordered();
}

std::optional<Witness> WitnessCheck::prove_by_evaluation(std::size_t index,
                                                         std::vector<mpq_class> x) const {
  const PropertyCase& one = property_.cases[index];
  std::vector<float> given;
  for (const mpq_class& number : x) given.push_back(static_cast<float>(number.get_d()));
  Witness witness;
  std::vector<mpq_class> y;
  for (const float value : own_->evaluate(given)) {
    if (!std::isfinite(value)) return std::nullopt;
    witness.y.push_back(static_cast<double>(value));
    y.emplace_back(static_cast<double>(value));
  }
  y = derived_values(property_.derived, x, std::move(y));
  const auto clause = holding_clause(one, property_, x, y);
  if (!clause) return std::nullopt;
  witness.property_case = index;
  witness.clause = *clause;
  witness.x = std::move(x);
  witness.emitted = true;
  return witness;
}

std::optional<Witness> WitnessCheck::prove(std::size_t index,
                                           const std::vector<double>& point) const {
  const bool of_free = fixed_ != nullptr && point.size() == fixed_->free.size();
  const std::vector<double> whole = of_free ? fixed_->whole(point) : point;
  return prove_whole(index, whole, true);
}

bool WitnessCheck::is_in_range(const std::vector<mpq_class>& x) const {
  for (std::size_t i = 0; range_ != nullptr && i < x.size(); ++i)
    if (x[i] < range_->lower[i] || x[i] > range_->upper[i]) return false;
  return true;
}

// rationally: use rational arithmetic where error bounds leave the point open.
std::optional<Witness> WitnessCheck::prove_whole(std::size_t index,
                                                 const std::vector<double>& point,
                                                 bool rationally) const {
  const PropertyCase& one = property_.cases[index];
  std::vector<double> near = point;
  move_into_ball(norm_, one.box.lower, one.box.upper,
                 [&near](std::size_t i) -> double& { return near[i]; });
  // That moves no element away from the centre, so that a point of the ball stays in it.
  for (std::size_t i = 0; range_ != nullptr && i < near.size(); ++i)
    near[i] = std::clamp(near[i], range_->lower[i], range_->upper[i]);
  const std::vector<mpq_class> x = nearest_inside(one, near);
  std::optional<Witness> witness = prove_near(index, x, rationally);
  // Where conditions on inputs miss the point by little, a point next to it may satisfy them.
  constexpr int kMostMoved = 8;
  int moved = 0;
  for (const Clause& clause : one.clauses) {
    if (witness || moved == kMostMoved) break;
    auto inside = move_into(property_, one, clause, x);
    if (!inside) continue;
    ++moved;
    witness = prove_near(index, std::move(*inside), rationally);
  }
  if (!witness) return witness;
  BF_CHECK(lies_in_box(one, witness->x));
  if (!lies_in_ball(one, norm_, witness->x) || !is_in_range(witness->x)) return std::nullopt;
  witness->point = point;
  return witness;
}

// x: in the exact box. The point that is proven is x, or the float32 point next to it.
std::optional<Witness> WitnessCheck::prove_near(std::size_t index, std::vector<mpq_class> x,
                                                bool rationally) const {
  if (own_ == nullptr && !network_.float32()) return prove_at(index, std::move(x), rationally);
  std::vector<double> point;
  for (const mpq_class& number : x) point.push_back(number.get_d());
  auto given = nearest_float32(property_.cases[index], point);
  if (!given) return std::nullopt;
  return own_ != nullptr ? prove_by_evaluation(index, std::move(*given))
                         : prove_at(index, std::move(*given), rationally);
}

std::optional<Witness> WitnessCheck::prove_at(std::size_t index, std::vector<mpq_class> point,
                                              bool rationally) const {
  const PropertyCase& one = property_.cases[index];
  Witness witness;
  witness.property_case = index;
  witness.x = std::move(point);
  const std::vector<Bounded> input = all_enclosed(witness.x);
  const std::vector<Bounded> outputs = judged_.outputs(input);
  const std::vector<Bounded> y = derived_values(property_.derived, input, outputs);

  // exact: the outputs judged, where they are known exactly.
  const auto found = [&](std::size_t clause, const std::vector<mpq_class>* exact) {
    witness.clause = clause;
    if (exact != nullptr && &judged_ == &network_) {
      for (std::size_t k = 0; k < outputs.size(); ++k)
        witness.y.push_back(vnnlib::nearest_double((*exact)[k]));
      return std::move(witness);
    }
    // NaN says that the value is outside of the range of doubles.
    for (const Bounded& value : &judged_ == &network_ ? outputs : network_.outputs(input))
      witness.y.push_back(std::isfinite(value.error) ? value.value : std::nan(""));
    return std::move(witness);
  };

  std::vector<std::size_t> open;
  for (std::size_t j = 0; j < one.clauses.size(); ++j) {
    Proof proof = Proof::kYes;
    for (const Condition& condition : one.clauses[j])
      proof = std::min(proof, judge(condition, property_, witness.x, y));
    if (proof == Proof::kYes) return found(j, nullptr);
    if (proof == Proof::kOpen) open.push_back(j);
  }
  if (open.empty() || !rationally) return std::nullopt;
  auto exact = judged_.float32() ? unrounded_outputs(witness.x) : judged_.exact_outputs(witness.x);
  if (!exact) return std::nullopt;
  *exact = derived_values(property_.derived, witness.x, std::move(*exact));
  for (const std::size_t j : open) {
    const Clause& clause = one.clauses[j];
    if (!std::all_of(clause.begin(), clause.end(), [&](const Condition& condition) {
          return judge_exactly(condition, property_, witness.x, *exact);
        }))
      continue;
    witness.rational = !judged_.float32();
    return found(j, witness.rational ? &*exact : nullptr);
  }
  return std::nullopt;
}

std::optional<std::vector<mpq_class>> WitnessCheck::unrounded_outputs(
    const std::vector<mpq_class>& x) const {
  std::vector<double> point;
  for (const mpq_class& each : x) point.push_back(each.get_d());
  const auto y = judged_.unrounded_outputs(point);
  if (!y) return std::nullopt;
  return std::vector<mpq_class>(y->begin(), y->end());
}

bool WitnessCheck::refutes(std::size_t index, const std::vector<double>& point) const {
  BF_CHECK(own_ == nullptr);
  const PropertyCase& one = property_.cases[index];
  const std::vector<mpq_class> x = nearest_inside(one, point);
  const std::vector<Bounded> input = all_enclosed(x);
  const std::vector<Bounded> y = derived_values(property_.derived, input, judged_.outputs(input));
  const auto is_open = [&](const Clause& clause) {
    return std::ranges::all_of(clause, [&](const Condition& condition) {
      return judge(condition, property_, x, y) != Proof::kNo;
    });
  };
  if (std::ranges::none_of(one.clauses, is_open)) return true;
  auto exact = judged_.float32() ? std::nullopt : judged_.exact_outputs(x);
  if (!exact) return false;
  *exact = derived_values(property_.derived, x, std::move(*exact));
  return !holding_clause(one, property_, x, *exact);
}

Witness WitnessCheck::shortened(const Witness& witness) const {
  if (witness.emitted && own_ == nullptr) return witness;
  const PropertyCase& one = property_.cases[witness.property_case];
  for (const int bits : {8, 16}) {
    std::vector<double> point;
    for (std::size_t i = 0; i < witness.x.size(); ++i)
      point.push_back(
          short_inside(witness.x[i].get_d(), bits, one.inner.lower[i], one.inner.upper[i]));
    if (auto made = prove_whole(witness.property_case, point, false)) return std::move(*made);
  }
  return witness;
}

std::vector<std::string> input_texts(const Witness& witness) {
  std::vector<std::string> texts;
  for (const mpq_class& x : witness.x) {
    texts.push_back(vnnlib::exact_text(x));
    BF_CHECK(vnnlib::read_exact_text(texts.back()) == x);
  }
  return texts;
}

}  // namespace bf_aot::decide
