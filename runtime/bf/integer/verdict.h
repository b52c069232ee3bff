#pragma once

#include "bf/contract/integers.h"
#include "bf/integer/box.h"
#include "bf/integer/codes.h"
#include "bf/search/property.h"

// Verdicts on a compiled-in property without floating point: docs/proofs/integer-grid.md.

namespace bf::integer {

// A float in memory, not NaN, which is compared without floating point.
struct __attribute__((may_alias)) FloatBits {
  std::uint32_t bits;
};

static inline bool operator<(FloatBits a, FloatBits b) {
  return key_of(a.bits) < key_of(b.bits);
}
static inline bool operator>(FloatBits a, FloatBits b) {
  return b < a;
}
static inline bool operator==(FloatBits a, FloatBits b) {
  return key_of(a.bits) == key_of(b.bits);
}
static inline bool operator!=(FloatBits a, FloatBits b) {
  return !(a == b);
}

// The float of a key: its bits. Keys that follow each other are of floats that do.
static inline FloatBits float_of(std::int32_t key) {
  return {key < 0 ? 0x80000000u | static_cast<std::uint32_t>(-key)
                  : static_cast<std::uint32_t>(key)};
}

// A float as `units` times 2^(exponent - 150). exponent: at least its own, and 1.
static inline std::int32_t units_of(FloatBits x, int exponent) {
  const std::uint32_t magnitude = x.bits & 0x7fffffffu;
  const int own = static_cast<int>(magnitude >> 23);
  const std::uint32_t digits = (magnitude & 0x7fffffu) | (own > 0 ? 0x800000u : 0u);
  const int dropped = exponent - (own > 0 ? own : 1);
  const auto units = static_cast<std::int32_t>(dropped < 32 ? digits >> dropped : 0u);
  return (x.bits >> 31) != 0 ? -units : units;
}

static inline int exponent_of(FloatBits x) {
  const int exponent = static_cast<int>((x.bits >> 23) & 0xffu);
  return exponent > 0 ? exponent : 1;
}

// About the mean of two floats, which is where a violation is looked for.
static inline FloatBits mean_of(FloatBits low, FloatBits high) {
  int exponent = exponent_of(low) > exponent_of(high) ? exponent_of(low) : exponent_of(high);
  const std::int32_t units = (units_of(low, exponent) + units_of(high, exponent)) / 2;
  std::uint32_t digits = static_cast<std::uint32_t>(units < 0 ? -units : units);
  for (; digits < 0x800000u && exponent > 1; --exponent) digits <<= 1;
  const std::uint32_t bits =
      digits < 0x800000u ? digits
                         : (static_cast<std::uint32_t>(exponent) << 23) + (digits & 0x7fffffu);
  return {units < 0 ? 0x80000000u | bits : bits};
}

}  // namespace bf::integer

namespace bf {

template <>
struct Ends<integer::FloatBits> {
  using Number = integer::FloatBits;
  static Number after(Number x) { return integer::float_of(integer::key_of(x.bits) + 1); }
  static Number before(Number x) { return integer::float_of(integer::key_of(x.bits) - 1); }
  static Number middle(Number low, Number high) { return integer::mean_of(low, high); }
};

}  // namespace bf

namespace bf::integer {

// Sums of a tensor's codes, added to the rows' bounds. weights: [rows][columns].
template <typename Weight>
static inline void add_rows(const Weight* weights, int rows, int columns, const Code* lower,
                            const Code* upper, std::int64_t* row_lower, std::int64_t* row_upper) {
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < columns; ++k) {
      const std::int64_t weight = *weights++;
      row_lower[i] += weight * (weight >= 0 ? lower[k] : upper[k]);
      row_upper[i] += weight * (weight >= 0 ? upper[k] : lower[k]);
    }
}

using VerdictTerm = VerdictTermOf<std::int64_t>;
using PropertyTables = PropertyTablesOf<FloatBits, std::int64_t>;

static inline const FloatBits* bits_at(const float* x) {
  return reinterpret_cast<const FloatBits*>(x);
}

// bf::verify_property() of a box that check_box accepts. bounds(lower, upper, row_lower, row_upper)
// reads floats. room: of integer_verify_bytes(), aligned for 8 bytes.
template <class Bounds>
static inline bf_status verify_property(const PropertyTables& property, const float* lower,
                                        const float* upper, bf_result* result, void* room,
                                        const Bounds& bounds) {
  auto* const rows = static_cast<std::int64_t*>(room);
  auto* const numbers = static_cast<FloatBits*>(static_cast<void*>(rows + 2 * property.rows));
  const auto of_rows = [&bounds](const FloatBits* low, const FloatBits* high,
                                 std::int64_t* row_lower, std::int64_t* row_upper) {
    bounds(reinterpret_cast<const float*>(low), reinterpret_cast<const float*>(high), row_lower,
           row_upper);
    return BF_OK;
  };
  return bf::verify_property(property, bits_at(lower), bits_at(upper), result, numbers, rows,
                             of_rows);
}

// The box of a case, as floats.
static inline void copy_case(const PropertyTables& property, std::size_t index, float* lower,
                             float* upper) {
  const std::size_t first = index * static_cast<std::size_t>(property.inputs);
  for (std::int32_t i = 0; i < property.inputs; ++i) {
    reinterpret_cast<FloatBits*>(lower)[i] = property.lower[first + static_cast<std::size_t>(i)];
    reinterpret_cast<FloatBits*>(upper)[i] = property.upper[first + static_cast<std::size_t>(i)];
  }
}

}  // namespace bf::integer
