#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "aot/check/network.h"
#include "aot/check/property.h"

// Bounds of the elements on a part of a box, and of sums of them. All numbers are integers: values
// in units of 2^-T, weights of 2^-P, coefficients of 2^-F; each is rounded so that what is said of
// it stays true (docs/proofs/certificates.md).

namespace bf_check {

constexpr unsigned kCoefficientSize = 52;  // |coefficient| < 2^52
constexpr unsigned kChordBits = 30, kSlopeBits = 7;
constexpr unsigned char kRuleSlope = 255;  // no choice
constexpr unsigned kRulePlace = 64;        // that of lines and planes without a choice

// A part, and what is known of it. It is the points of its box at which the neurons that are split
// have the sign of their side.
struct Part {
  std::vector<i64> lower, upper;  // by element
  // Bounds, by element, of what the grid's weights leave out of it, and of what float32 loses.
  std::vector<i64> rough_lower, rough_upper;
  std::vector<i64> size;           // in float32, by element of a rounded sum: of all its addends
  std::vector<i64> chord;          // by element that a ReLU reads: upper / (upper - lower) in 2^-30
  std::vector<Line> below, above;  // by function: lines that it lies between
  bool derived = false;            // whether more than the inputs is known
  bool empty = false;              // proven to have no point
};

// Choices of one sum's bound. Any are sound.
struct Choices {
  // Holds, by relaxation, 0 to 128 or kRuleSlope: the slope of a ReLU in 2^-7, the place of a
  // function's line, or that of a product's planes. Or empty.
  std::vector<unsigned char> slope;
  // Multipliers, by relaxation, of ReLUs that are split, in 2^-F, and their side: 1 where its
  // argument is >= 0, -1 where it is <= 0, 0 where it is not split. Or empty.
  std::vector<i64> multiplier;
  std::vector<signed char> side;
};

// Coefficients of elements, and a constant; both exact.
struct Sum {
  std::vector<std::pair<u32, Int>> terms;
  Rat constant = 0;
};

// All bounds spend steps of a Work.
class Bounder {
 public:
  // Throws Refused: a network with too many elements for 128 bits.
  Bounder(const Network& network, unsigned coefficient_bits, Work& work);

  const Network& network() const { return network_; }

  // The part that is a whole box. Throws Refused: beyond the grid's range.
  Part whole(const std::vector<Rat>& lower, const std::vector<Rat>& upper) const;

  // Bounds all elements anew, from the inputs on; what was known stays known.
  // Throws NotProven: a value beyond the grid's range.
  void derive(Part& part);

  // Steps of derive(): the bounds of an element by those of what it reads, and the lines of a
  // function; and what is known of an element, met with other bounds.
  void interval(Part& part, const Layer& layer, u32 row) const;
  void meet(Part& part, u32 element, i128 lower, i128 upper) const;

  // Adds that a ReLU's argument is >= 0 (side 1) or <= 0 (side -1).
  void split(Part& part, u32 relaxation, int side) const;

  // Whether the sum's lower bound is > 0, or >= 0 where `closed`.
  bool is_above(const Part& part, const Sum& sum, bool closed, const Choices& choices);

  // The sum's lower bound in units of 2^-(F+T), with F = bits; none where a number does not fit.
  std::optional<i128> lower_bound(const Part& part, const Sum& sum, const Choices& choices,
                                  unsigned bits);

  // The coefficients that arrived at the inputs in the last lower_bound(), in 2^-F.
  const std::vector<i64>& input_coefficients() const { return at_inputs_; }
  // The numbers of bits that are tried, one after the other.
  const std::vector<unsigned>& bits() const { return bits_; }

 private:
  bool take(const Part& part, u32 element, i128& constant, i64& factor);
  bool affine_layer(const Part& part, const Layer& layer, i128& constant);
  bool relu_row(const Part& part, const Layer& layer, u32 row, const Choices& choices,
                i128& constant);
  bool function_row(const Part& part, const Layer& layer, u32 row, const Choices& choices,
                    i128& constant);
  bool product_row(const Part& part, const Layer& layer, u32 row, const Choices& choices,
                   i128& constant);
  std::optional<i128> backward(const Part& part, std::size_t layers, const Choices& choices,
                               i128 constant);
  void tighten(Part& part, std::size_t layer, u32 row);
  void affine(Part& part, const Layer& layer, u32 row) const;
  i64 lost(Part& part, const Layer& layer, u32 row) const;
  i64 lost(Part& part, const Layer& layer, u32 row, i128 least, i128 most) const;
  void relu(Part& part, const Layer& layer, u32 row) const;
  void function(Part& part, const Layer& layer, u32 row) const;
  void product(Part& part, const Layer& layer, u32 row) const;
  Relaxation relaxation(const Part& part, const Layer& layer, u32 row) const;

  const Network& network_;
  Work& work_;
  std::vector<unsigned> bits_;
  std::vector<i128> sums_;  // by element: its coefficient, in 2^-(F+P)
  std::vector<i64> at_inputs_, factors_;
};

}  // namespace bf_check
