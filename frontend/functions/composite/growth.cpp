#include "frontend/functions/composite/growth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "frontend/functions/composite/far.h"
#include "frontend/functions/function_facts.h"

namespace bf_aot {
namespace {

Interval exactly(const Real& x) {
  return {x, x};
}

Interval size_of(const Interval& x) {
  return exactly(magnitude(x));
}

bool is_zero(const Interval& x) {
  return mpfr_zero_p(x.low) != 0 && mpfr_zero_p(x.high) != 0;
}

Interval to_power(const Interval& x, std::size_t k) {
  Interval made(1);
  for (std::size_t i = 0; i < k; ++i) made = made * x;
  return made;
}

// At least the size of p(x) R, which decays at half the rate r of R: with |x| = start + t, t >= 0,
//   |x|^k e^(-r t) <= m^k e^(-r t / 2), m = max(start, 2 k / r):
// the logarithm's derivative k / |x| - r / 2 is negative from |x| = 2 k / r on.
Interval size_of_decaying(const std::vector<Interval>& powers, const Growth& u, const Side& side) {
  Interval size;
  if (is_zero(u.size)) return size;
  for (std::size_t k = 0; k < powers.size(); ++k) {
    const Interval turn = Interval(2 * static_cast<double>(k)) / Interval(u.rate);
    const double most = std::max(side.start, double_above(turn));
    size = size + size_of(powers[k]) * u.size * to_power(Interval(most), k);
  }
  return size;
}

// The rate at which both remainders decay; those of size 0 do at any.
double slower(const Growth& a, const Growth& b) {
  return is_zero(a.size) ? b.rate : is_zero(b.size) ? a.rate : std::min(a.rate, b.rate);
}

// u is c + R: f(u) is within lipschitz |R| of f(c).
Growth of_number(const Function& f, const Growth& u) {
  const Interval width = u.size * Interval(-1.0, 1.0);
  const auto facts = facts_of(f.kind).shape.far;
  const Far near = facts(f, u.powers[0] + width, kFarFrom);
  Growth made = Growth::number(facts(f, u.powers[0], kFarFrom).value);
  if (!is_zero(u.size)) made.size = u.size * Interval(near.lipschitz);
  made.rate = u.rate;
  made.known = std::isfinite(double_below(made.powers[0])) &&
               std::isfinite(double_above(made.powers[0])) &&
               std::isfinite(double_above(made.size));
  return made;
}

// The coefficients of a polynomial in t, where x = sign (start + t), by synthetic division.
std::vector<Interval> from_start(std::vector<Interval> powers, const Side& side) {
  for (std::size_t k = 1; k < powers.size(); k += 2) powers[k] = Interval(side.sign) * powers[k];
  for (std::size_t i = 0; i < powers.size(); ++i)
    for (std::size_t k = powers.size() - 1; k-- > i;)
      powers[k] = powers[k] + Interval(side.start) * powers[k + 1];
  return powers;
}

// |u| >= far + pace t, t = |x| - start, with u of one sign.
struct Pace {
  double direction = 0;  // 0: u may be anything
  double far = 0, pace = 0;
};

Pace pace_of(const Growth& u, const Side& side) {
  std::vector<Interval> powers = from_start(u.powers, side);
  for (const double direction : {1.0, -1.0}) {
    if (direction < 0)
      for (Interval& power : powers) power = -power;
    const bool rises = std::all_of(powers.begin() + 1, powers.end(),
                                   [](const Interval& p) { return double_below(p) >= 0; });
    const double pace = double_below(powers[1]);
    const double far = double_below(powers[0] - u.size);
    if (rises && pace > 0x1p-100 && far >= kFarFrom && std::isfinite(far) && std::isfinite(pace))
      return {direction, std::min(far, 0x1p30), pace};
  }
  return {};
}

}  // namespace

Growth Growth::number(const Interval& value) {
  Growth made;
  made.known = true;
  made.powers = {value};
  return made;
}

Growth Growth::variable() {
  Growth made;
  made.known = true;
  made.powers = {Interval(0), Interval(1)};
  return made;
}

bool Growth::is_polynomial() const {
  return known && bf_aot::is_zero(size);
}

bool Growth::is_zero() const {
  return is_polynomial() && std::all_of(powers.begin(), powers.end(), [](const Interval& power) {
           return bf_aot::is_zero(power);
         });
}

static void trim(Growth& growth) {
  while (growth.powers.size() > 1 && is_zero(growth.powers.back())) growth.powers.pop_back();
}

Growth sum(const Growth& a, const Growth& b) {
  if (!a.known || !b.known) return {};
  Growth made = a.powers.size() < b.powers.size() ? b : a;
  const Growth& shorter = a.powers.size() < b.powers.size() ? a : b;
  for (std::size_t k = 0; k < shorter.powers.size(); ++k)
    made.powers[k] = made.powers[k] + shorter.powers[k];
  made.size = a.size + b.size;
  made.rate = slower(a, b);
  trim(made);
  return made;
}

// (p + R) (q + S) = p q + p S + q R + R S
Growth product(const Growth& a, const Growth& b, const Side& side) {
  if (a.is_zero() || b.is_zero()) return Growth::number(Interval());
  if (!a.known || !b.known) return {};
  Growth made;
  made.known = true;
  made.powers.resize(a.powers.size() + b.powers.size() - 1);
  for (std::size_t i = 0; i < a.powers.size(); ++i)
    for (std::size_t k = 0; k < b.powers.size(); ++k)
      made.powers[i + k] = made.powers[i + k] + a.powers[i] * b.powers[k];
  made.size =
      size_of_decaying(a.powers, b, side) + size_of_decaying(b.powers, a, side) + a.size * b.size;
  made.rate = slower(a, b) / 2;
  trim(made);
  return made;
}

Growth line(const Growth& u, const Interval& factor, const Interval& offset) {
  if (is_zero(factor)) return Growth::number(offset);
  Growth made = u;
  if (!u.known) return made;
  for (Interval& power : made.powers) power = factor * power;
  made.powers[0] = made.powers[0] + offset;
  made.size = size_of(factor) * u.size;
  return made;
}

Growth smooth(const Function& f, const Growth& u, const Side& side) {
  if (!u.known) return {};
  if (u.degree() == 0) return of_number(f, u);
  const Pace pace = pace_of(u, side);
  if (pace.direction == 0) return {};
  const Far facts = facts_of(f.kind).shape.far(f, Interval::entire(), pace.far);
  const FarLine& near = pace.direction > 0 ? facts.right : facts.left;
  if (!near.known) return {};
  Growth rest = Growth::number(Interval());
  rest.size =
      Interval(near.factor) * increasing(mpfr_exp, -(Interval(near.rate) * Interval(pace.far)));
  rest.rate = product_below(near.rate, pace.pace);
  return sum(line(u, Interval(near.slope), Interval(near.intercept)), rest);
}

// On x = sign (start + t), t >= 0, terms c_k t^k with c_k >= 0 are at least 0.
Beyond values_beyond(const Growth& growth, const Side& side) {
  if (!growth.known) return {};
  Beyond made;
  const std::vector<Interval> powers = from_start(growth.powers, side);
  const auto each = [&](const auto& holds) {
    return std::all_of(powers.begin() + 1, powers.end(), holds);
  };
  if (each([](const Interval& p) { return double_below(p) >= 0; }))
    made.low = double_below(powers[0] - growth.size);
  if (each([](const Interval& p) { return double_above(p) <= 0; }))
    made.high = double_above(powers[0] + growth.size);
  return made;
}

Interval interval_of(const Bounded& x) {
  if (x.error == 0) return {x.value};
  return {(Interval(x.value) - Interval(x.error)).low,
          (Interval(x.value) + Interval(x.error)).high};
}

}  // namespace bf_aot
