// CRC-32 against its check value, against division of polynomials, and on flipped bits.
#include "runtime/bf/contract/crc32.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace {

template <class Number>
std::uint32_t sum_of(const std::vector<Number>& numbers) {
  bf::Crc32 sum;
  sum.add(numbers.data(), numbers.size());
  return sum.value();
}

// Divides bit by bit, as the definition does.
std::uint32_t divided(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t rest = 0xffffffff;
  for (const std::uint8_t byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      const bool carry = (((rest >> 0) ^ (byte >> bit)) & 1) != 0;
      rest = (rest >> 1) ^ (carry ? 0xedb88320 : 0);
    }
  return ~rest;
}

TEST(Crc32, HasItsCheckValue) {
  EXPECT_EQ(sum_of(std::vector<char>{'1', '2', '3', '4', '5', '6', '7', '8', '9'}), 0xcbf43926u);
  EXPECT_EQ(sum_of(std::vector<char>{}), 0u);
}

TEST(Crc32, TakesNumbersByTheirBytesFromTheLowest) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 200; ++run) {
    std::vector<double> doubles(static_cast<std::size_t>(random() % 9));
    std::vector<std::uint8_t> bytes;
    for (double& number : doubles) {
      const std::uint64_t bits = random();
      std::memcpy(&number, &bits, sizeof bits);
      for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::uint8_t>(bits >> 8 * i));
    }
    EXPECT_EQ(sum_of(doubles), divided(bytes));
    EXPECT_EQ(sum_of(bytes), divided(bytes));
  }
}

TEST(Crc32, ChangesWithEachBit) {
  std::vector<std::uint32_t> words(64, 0x3f800000);
  const std::uint32_t sum = sum_of(words);
  for (std::uint32_t& word : words)
    for (int bit = 0; bit < 32; ++bit) {
      word ^= 1u << bit;
      EXPECT_NE(sum_of(words), sum);
      word ^= 1u << bit;
    }
}

}  // namespace
