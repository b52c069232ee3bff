#pragma once

#include "bf/contract/integers.h"

namespace bf {

namespace detail {

template <std::size_t kBytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using Type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using Type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = std::uint64_t;
};

}  // namespace detail

// CRC-32 of Ethernet and zlib over constants: the bytes of each number's bits, the lowest first, on
// machines of either byte order. A single run of up to 32 flipped bits changes it. Numbers are read
// from memory, also where the compiler knows them.
class Crc32 {
 public:
  template <typename Number>
  void add(const Number& number) {
    using Bits = typename detail::BitsOf<sizeof(Number)>::Type;
    const volatile Number& stored = number;
    const Number read = stored;
    Bits bits;
    __builtin_memcpy(&bits, &read, sizeof bits);
    add_bits(bits);
  }

  template <typename Number>
  void add(const Number* numbers, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) add(numbers[i]);
  }

  std::uint32_t value() const { return ~sum_; }

 private:
  template <typename Bits>
  void add_bits(Bits bits) {
    // Entry i is the remainder of i x^28, with the bits of each number in reverse order.
    static constexpr std::uint32_t kRemainders[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    for (std::size_t i = 0; i < 2 * sizeof bits; ++i) {
      sum_ = (sum_ >> 4) ^ kRemainders[(sum_ ^ static_cast<std::uint32_t>(bits)) & 15];
      bits = static_cast<Bits>(bits >> 4);
    }
  }

  std::uint32_t sum_ = 0xffffffff;
};

}  // namespace bf
