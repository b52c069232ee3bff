#pragma once

#include <tuple>
#include <vector>

#include "aot/check/fixed.h"

// Functions of one number as programs, and what is known of them on an interval. The rule, and why
// it holds, is in docs/proofs/certificates.md.

namespace bf_check {

enum class Op : unsigned char {
  kArgument,
  kConstant,
  kAdd,
  kMul,
  kMax,
  kMin,
  kFloor,
  kRound,  // half to even
  kSign,
  kReciprocal,  // this and those behind it are smooth, and those behind it irrational
  kExp,
  kLog,
  kSqrt,
  kSin,
  kCos,
  kAtan,
  kErf,
  kSigmoid,
};

// A step of a program, which reads earlier ones.
struct Step {
  Op op = Op::kArgument;
  u32 a = 0, b = 0;
  Rat number = 0;      // of kConstant
  bool fixed = false;  // does not depend on the argument
  Range value;         // where it is fixed

  bool operator<(const Step& o) const {
    return std::tie(op, a, b, number) < std::tie(o.op, o.a, o.b, o.number);
  }
  bool operator==(const Step& o) const { return !(*this < o) && !(o < *this); }
};

constexpr std::size_t kMostSteps = 256;  // of a program

// A program's first step is its argument. No step is there twice.
class Program {
 public:
  Program() : steps_(1) {}

  const std::vector<Step>& steps() const { return steps_; }
  u32 result() const { return result_; }
  // Checking steps that its bounds on a piece take.
  u64 cost() const;

  // Each adds a step unless it is there, and returns its number. Throws Refused: too many.
  u32 constant(const Rat& number);
  u32 add(Op op, u32 a, u32 b = 0);
  // Adds the steps of another program whose argument is step `at`. Returns its result.
  u32 add(const Program& other, u32 at);

  // Makes a step the result.
  Program& ends_with(u32 step);
  // The program's result times a number, plus another one.
  Program scaled(const Rat& weight, const Rat& bias) const;

  // Whether it has rational values at all rationals.
  bool is_rational() const;
  // The value at a rational, of such a program. Throws Refused: a division by 0.
  Rat exact(const Rat& x) const;

  bool operator<(const Program& o) const {
    return std::tie(result_, steps_) < std::tie(o.result_, o.steps_);
  }
  bool operator==(const Program& o) const { return result_ == o.result_ && steps_ == o.steps_; }

 private:
  u32 add(Step step);

  std::vector<Step> steps_;
  u32 result_ = 0;
};

// f = g + n on an interval: f in value, n in jump; g is locally Lipschitz, with its derivative in
// slope almost everywhere where that is known.
struct Enclosure {
  Range value, slope, jump;
  bool has_slope = true;
};

// slope 2^-P z + offset 2^-T.
struct Line {
  i64 slope = 0, offset = 0;

  bool operator==(const Line& o) const { return slope == o.slope && offset == o.offset; }
};

// Holds what is known of a program on an interval, whose ends are in 2^-T.
class Relaxation {
 public:
  static constexpr i64 kPieces = 32;

  // Throws NotProven: the program has no value somewhere, or one beyond the range.
  Relaxation(const Program& program, i64 low, i64 high, const Grid& grid);

  // Whether the program surely has a value at all numbers of the interval: roots, which bounds are
  // of where there are some, may have none.
  bool is_defined() const { return defined_; }

  // Bounds of the values, in 2^-T.
  i128 least() const { return -ceiling(offset(0, -1)); }
  i128 most() const { return ceiling(offset(0, 1)); }

  // A line that is nowhere below the program (sign 1), or above it (sign -1). Its slope is that of
  // the envelope of the ends of pieces at place/128 of the interval.
  Line line(int sign, unsigned place) const;

 private:
  // [low, high] and the program on it; at_low, at_high: its values at the ends.
  struct Piece {
    i64 low, high;
    Range at_low, at_high;
    Enclosure inside;
  };

  i128 ceiling(i128 x) const { return -(-x >> (kPlaces - grid_.value_bits)); }
  i128 times(i64 slope, i64 place) const;
  i128 offset(i64 slope, int sign) const;
  i128 offset(const Piece& piece, i64 slope, int sign) const;
  i64 edge(int sign, i64 at) const;

  Grid grid_;
  bool defined_ = true;
  std::vector<Piece> pieces_;
};

}  // namespace bf_check
