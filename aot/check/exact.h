#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The numbers of the checker. It has no floating point: files hold floats as bits, and these become
// rationals; bounds are integers, multiples of a power of two that the certificate names.

namespace bf_check {

using Int = mpz_class;
using Rat = mpq_class;
using i64 = std::int64_t;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
__extension__ typedef __int128 i128;

// Weights are multiples of 2^-weight_bits and values of 2^-value_bits. Any grid gives a sound
// checker; which one is a choice of the certificate. float32: the certificate is about every
// evaluation in float32, in which functions of the library are off by at most `ulps` units in the
// last place (docs/proofs/float32.md); else about exact arithmetic.
struct Grid {
  unsigned weight_bits = 44, value_bits = 36;
  bool float32 = false;
  unsigned ulps = 0;
};
constexpr unsigned kWeightSize = 56;  // |weight| < 2^56, in units of the grid
constexpr unsigned kValueSize = 54;   // |value| < 2^54

// The input cannot be handled: a file that is damaged, or holds what the checker has no rule for.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The certificate is read, and does not prove its statement.
struct NotProven : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Counts steps: products of a weight and an integer, and what takes as long as so many. The count
// is the same on all machines.
class Work {
 public:
  // pause: called each 2^20 steps; what it throws ends the work.
  explicit Work(u64 most = ~u64{0}, std::function<void()> pause = nullptr)
      : most_(most), left_(most), pause_(std::move(pause)) {}

  // Throws NotProven: these are more steps than are left.
  void spend(u64 steps) {
    if (steps > left_)
      throw NotProven("checking takes more than " + std::to_string(most_) + " steps");
    left_ -= steps;
    if ((since_pause_ += steps) >> 20 == 0 || !pause_) return;
    since_pause_ = 0;
    pause_();
  }

  u64 left() const { return left_; }
  void set_pause(std::function<void()> pause) { pause_ = std::move(pause); }

 private:
  u64 most_, left_, since_pause_ = 0;
  std::function<void()> pause_;
};
constexpr u64 kRationalSteps = 64;  // of an operation on small rationals

[[noreturn]] inline void refuse(const std::string& why) {
  throw Refused(why);
}

// Text of a file in messages: what is not printable becomes '?', and the rest is cut.
std::string shown(const std::string& text);

// Lets GMP throw std::bad_alloc where it would end the program for lack of memory.
void throw_without_memory();

// The bytes of a file; of one that is compressed by gzip what they expand to, of at most 2^32
// bytes.
std::string read_file(const std::string& path);
std::string sha256(const std::string& bytes);  // 32 bytes

// The value of an IEEE number with so many bits of exponent and fraction. Throws Refused: an
// infinity, or NaN.
Rat from_ieee(u64 bits, int exponent_bits, int fraction_bits);

// Whether a number is the value of an IEEE number with so many bits.
bool is_ieee(const Rat& x, int exponent_bits, int fraction_bits);

// A decimal such as -1, .5 or 1e-05. Throws Refused: any other text.
Rat from_decimal(const std::string& text);
// [-]DIGITS or [-]DIGITS/DIGITS.
Rat from_fraction(const std::string& text);

// The greatest integer <= x 2^bits. rough: whether that is not all of it; or null.
Int floor_shifted(const Rat& x, unsigned bits, bool* rough = nullptr);

// Throws Refused where |x| >= 2^bits (bits <= 126).
i128 to_i128(const Int& x, unsigned bits, const char* what);
inline i64 to_i64(const Int& x, unsigned bits, const char* what) {
  return static_cast<i64>(to_i128(x, bits, what));
}

}  // namespace bf_check
