#include "frontend/gzip.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace bf_aot {
namespace {

// Packs a text in pieces of this many bytes.
std::string packed(const std::string& text, std::size_t piece) {
  GzipPacker packer;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += piece)
    bytes += packer.add(text.substr(at, piece));
  return bytes + packer.end();
}

TEST(GzipTest, ExpandsToWhatWasPacked) {
  std::mt19937 rng(5);
  std::string noise;
  for (std::size_t i = 0; i < 300000; ++i) noise += static_cast<char>(rng());
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(400000, 'b'), noise}) {
    const std::string bytes = packed(text, 1000);
    ASSERT_TRUE(is_gzip(bytes));
    EXPECT_EQ(bytes, packed(text, 1000));
    for (const std::size_t piece : {std::size_t{70000}, std::size_t{1} << 20}) {
      const Unpacked unpacked = unpack_gzip(packed(text, piece), text.size());
      EXPECT_EQ(unpacked.state, Unpacked::State::kWhole);
      EXPECT_EQ(unpacked.bytes, text);
    }
  }
  EXPECT_LT(packed(std::string(400000, 'b'), 1000).size(), 2000u);
}

}  // namespace
}  // namespace bf_aot
