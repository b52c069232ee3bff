#include "aot/sbom/sha1.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bf_aot::cli {
namespace {

constexpr std::size_t kBlock = 64;

using State = std::array<std::uint32_t, 5>;

struct Round {
  std::uint32_t mixed, constant;
};

Round round_of(std::size_t t, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  if (t < 20) return {(b & c) | (~b & d), 0x5a827999};
  if (t < 40) return {b ^ c ^ d, 0x6ed9eba1};
  if (t < 60) return {(b & c) | (b & d) | (c & d), 0x8f1bbcdc};
  return {b ^ c ^ d, 0xca62c1d6};
}

void add_block(std::string_view block, State& state) {
  std::array<std::uint32_t, 80> words = {};
  for (std::size_t i = 0; i < kBlock; ++i)
    words[i / 4] = words[i / 4] << 8 | static_cast<unsigned char>(block[i]);
  for (std::size_t t = 16; t < words.size(); ++t)
    words[t] = std::rotl(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1);
  auto [a, b, c, d, e] = state;
  for (std::size_t t = 0; t < words.size(); ++t) {
    const Round round = round_of(t, b, c, d);
    const std::uint32_t next = std::rotl(a, 5) + round.mixed + e + round.constant + words[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

std::string sha1(std::string_view bytes) {
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) add_block(bytes.substr(at, kBlock), state);
  std::string rest(bytes.substr(whole));
  rest += '\x80';
  while (rest.size() % kBlock != kBlock - 8) rest += '\0';
  for (int shift = 56; shift >= 0; shift -= 8)
    rest += static_cast<char>(std::uint64_t{bytes.size()} * 8 >> shift & 0xff);
  for (std::size_t at = 0; at < rest.size(); at += kBlock)
    add_block(std::string_view(rest).substr(at, kBlock), state);
  std::string text;
  for (const std::uint32_t word : state) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace bf_aot::cli
