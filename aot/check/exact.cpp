#include "aot/check/exact.h"

#include <cstdlib>
#include <new>

namespace bf_check {

std::string shown(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

namespace {

void* allocated(std::size_t size) {
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* allocated_anew(void* memory, std::size_t, std::size_t size) {
  if (void* const moved = std::realloc(memory, size)) return moved;
  throw std::bad_alloc();
}

bool all_digits(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

u32 rotated(u32 x, int by) {
  return x >> by | x << (32 - by);
}

// The first 32 bits of the fractional part of a root of a prime, by integers alone:
// floor(2^32 p^(1/n)) mod 2^32.
u32 root_bits(unsigned prime, unsigned degree) {
  Int scaled = prime;
  scaled <<= 32 * degree;
  mpz_root(scaled.get_mpz_t(), scaled.get_mpz_t(), degree);
  Int low = scaled & Int("4294967295");
  return static_cast<u32>(low.get_ui());
}

}  // namespace

void throw_without_memory() {
  mp_set_memory_functions(allocated, allocated_anew, nullptr);
}

std::string sha256(const std::string& bytes) {
  u32 state[8], constants[64];
  int found = 0;
  for (unsigned n = 2; found < 64; ++n) {
    bool prime = true;
    for (unsigned d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (!prime) continue;
    if (found < 8) state[found] = root_bits(n, 2);
    constants[found++] = root_bits(n, 3);
  }
  std::string tail(1, '\x80');
  while ((bytes.size() + tail.size()) % 64 != 56) tail += '\0';
  for (int shift = 56; shift >= 0; shift -= 8)
    tail += static_cast<char>(static_cast<u64>(bytes.size()) * 8 >> shift & 255);
  const auto byte = [&](std::size_t i) {
    return static_cast<u32>(
        static_cast<unsigned char>(i < bytes.size() ? bytes[i] : tail[i - bytes.size()]));
  };
  for (std::size_t at = 0; at < bytes.size() + tail.size(); at += 64) {
    u32 w[64];
    for (std::size_t i = 0; i < 16; ++i)
      w[i] = byte(at + 4 * i) << 24 | byte(at + 4 * i + 1) << 16 | byte(at + 4 * i + 2) << 8 |
             byte(at + 4 * i + 3);
    for (int i = 16; i < 64; ++i)
      w[i] = w[i - 16] + w[i - 7] +
             (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) +
             (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
    u32 v[8];
    for (int i = 0; i < 8; ++i) v[i] = state[i];
    for (int i = 0; i < 64; ++i) {
      const u32 e = v[4], a = v[0];
      const u32 t1 = v[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                     ((e & v[5]) ^ (~e & v[6])) + constants[i] + w[i];
      const u32 t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
                     ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
      for (int k = 7; k > 0; --k) v[k] = v[k - 1];
      v[4] += t1;
      v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) state[i] += v[i];
  }
  std::string digest;
  for (const u32 word : state)
    for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(word >> shift & 255);
  return digest;
}

Rat from_ieee(u64 bits, int exponent_bits, int fraction_bits) {
  const u64 fraction = bits & ((u64{1} << fraction_bits) - 1);
  const int most = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & most;
  if (exponent == most) refuse("a number of the model is infinite, or none");
  Rat value(
      static_cast<unsigned long>(exponent == 0 ? fraction : fraction | u64{1} << fraction_bits));
  const int power = (exponent == 0 ? 1 : exponent) - most / 2 - fraction_bits;
  (power < 0 ? mpq_div_2exp : mpq_mul_2exp)(value.get_mpq_t(), value.get_mpq_t(),
                                            static_cast<unsigned long>(power < 0 ? -power : power));
  return (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? Rat(-value) : value;
}

bool is_ieee(const Rat& x, int exponent_bits, int fraction_bits) {
  if (x == 0) return true;
  const int most = (1 << (exponent_bits - 1)) - 1;  // exponent of the largest numbers
  const mpz_srcptr number = x.get_num_mpz_t(), divisor = x.get_den_mpz_t();
  const int size = static_cast<int>(mpz_sizeinbase(number, 2));
  const int zeros = static_cast<int>(mpz_scan1(number, 0));
  const int power = static_cast<int>(mpz_sizeinbase(divisor, 2)) - 1;
  return mpz_popcount(divisor) == 1 && size - zeros <= fraction_bits + 1 &&
         power <= most + fraction_bits - 1 && size - 1 - power <= most;
}

Rat from_decimal(const std::string& text) {
  const std::string bad = "'" + shown(text) + "' is not a number";
  if (text.size() > 2000) refuse(bad);
  std::size_t i = 0;
  const bool negative = i < text.size() && text[i] == '-';
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  std::string digits;
  long exponent = 0;
  bool point = false;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else {
      digits += text[i];
      if (point) --exponent;
    }
  }
  if (digits.empty() || !all_digits(digits)) refuse(bad);
  if (i < text.size()) {
    ++i;
    const bool down = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    const std::string power = text.substr(i);
    if (power.empty() || power.size() > 4 || !all_digits(power)) refuse(bad);
    exponent += down ? -std::stol(power) : std::stol(power);
  }
  Rat value(Int(digits, 10));
  Int ten;
  mpz_ui_pow_ui(ten.get_mpz_t(), 10,
                static_cast<unsigned long>(exponent < 0 ? -exponent : exponent));
  value = exponent < 0 ? Rat(value / ten) : Rat(value * ten);
  return negative ? Rat(-value) : value;
}

Rat from_fraction(const std::string& text) {
  const std::size_t start = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t slash = text.find('/');
  const std::string above = text.substr(start, slash == std::string::npos ? slash : slash - start);
  const std::string below = slash == std::string::npos ? "1" : text.substr(slash + 1);
  if (above.empty() || below.empty() || !all_digits(above) || !all_digits(below))
    refuse("'" + shown(text) + "' is not a fraction");
  const Int divisor(below, 10);
  if (divisor == 0) refuse("a fraction's denominator is 0");
  Rat value(Int(above, 10), divisor);
  value.canonicalize();
  return start == 1 ? Rat(-value) : value;
}

Int floor_shifted(const Rat& x, unsigned bits, bool* rough) {
  Int result = x.get_num() << bits, rest;
  mpz_fdiv_qr(result.get_mpz_t(), rest.get_mpz_t(), result.get_mpz_t(), x.get_den_mpz_t());
  if (rough != nullptr) *rough = rest != 0;
  return result;
}

i128 to_i128(const Int& x, unsigned bits, const char* what) {
  if (mpz_sizeinbase(x.get_mpz_t(), 2) > bits) refuse(std::string(what) + " is too large");
  const Int size = abs(x);
  const Int high = size >> 64;
  const Int low = size - (high << 64);
  const i128 value = static_cast<i128>(high.get_ui()) << 64 | static_cast<i128>(low.get_ui());
  return x < 0 ? -value : value;
}

}  // namespace bf_check
