#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "frontend/functions/function.h"

namespace bf_aot {

// Elementwise operations that follow each other, in exact arithmetic: what lies between the integer
// sums of a layer and the codes of its result.

// A real number of which bounds are known.
struct Range {
  mpq_class low, high;

  Range() = default;
  Range(const mpq_class& exact) : low(exact), high(exact) {}  // NOLINT: a number is a range
  Range(mpq_class from, mpq_class to) : low(std::move(from)), high(std::move(to)) {}
  bool is_exact() const { return low == high; }
};

Range operator+(const Range& a, const Range& b);
Range operator*(const Range& a, const Range& b);

// factor x + offset
struct AffineLink {
  Range factor, offset;
};

struct ReluLink {};

using ChainLink = std::variant<AffineLink, ReluLink, Function>;
using Chain = std::vector<ChainLink>;

// The inputs x at which an output reaches a number: all from `at` on, or all beyond it.
struct Cut {
  enum class Where : std::uint8_t { kAlways, kNever, kAt } where = Where::kAt;
  Range at;
  bool inclusive = true;
};

// The cut of chain(x) >= goal. None where a link is not known to rise, or its inverse is none of
// rational numbers.
std::optional<Cut> cut_of(const Chain& chain, const mpq_class& goal);

// Bounds of chain(x). None where x leaves a domain, or lies in a range over which a function
// neither rises nor falls.
std::optional<Range> image_of(const Chain& chain, Range x);

// Returns true if every link is known never to fall.
bool rises(const Chain& chain);

// Adds factor x + offset in front of a chain, into its first links where those are affine.
void put_before(Chain& chain, const AffineLink& first);

// The form of a chain that rounds: wherever no link cuts off, its codes are round(factor x +
// offset) + after. None for other chains.
struct RoundForm {
  mpq_class factor, offset;
  mpz_class after;
};
std::optional<RoundForm> round_form(const Chain& chain);

// x / a to an integer, ties to even, with limits or without.
bool rounds(const Function& function);

// The largest number of which all are multiples; 1 where all are 0.
mpq_class common_unit(const std::vector<mpq_class>& numbers);

mpz_class floor_of(const mpq_class& x);
mpz_class ceil_of(const mpq_class& x);

}  // namespace bf_aot
