#include "aot/emit/constants/constants_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/bf/contract/crc32.h"

namespace bf_aot::emit {
namespace {

constexpr char kSource[] = R"(#include "bf/contract/integers.h"
namespace {
// A comment, {1, 2}.
alignas(4) constexpr float weight[3] = {
    0x1.8p+1f, -0x0p+0f,  // a comment, 7
    __builtin_inff(),
};
constexpr double scale = 0x1p-3;
constexpr bf::integer::Requantizer<std::int32_t> codes[2] = {
    {-5, 1 , 7, 0, 0, 255},
    {6, -2, 8, 1, 3, 4},
};
constexpr std::uint32_t bits[2] = {
    0xbf800000, 4294967295,
};
namespace property {

#include "net_property.inc"
}  // namespace property
constexpr bf::integer::StepRow rows[1] = {{codes_sums + 0, 0, 3}};
}  // namespace

extern "C" {
}  // extern "C"
)";

std::vector<EmittedFile> files() {
  return {{".cpp", kSource},
          {".h", "int a;\n#ifdef __cplusplus\n}\n#endif\n"},
          {"_property.inc", "constexpr bf::VerdictTerm terms[1] = {{2, true, 0x1p-1f}};\n"}};
}

bf::Crc32 sum_of_arrays() {
  bf::Crc32 sum;
  const float weight[] = {3, -0.0f, __builtin_inff()};
  sum.add(weight, 3);
  const std::int64_t addend[] = {-5, 6};
  const std::int32_t multiplier[] = {1, -2};
  const std::uint8_t rest[2][4] = {{7, 0, 0, 255}, {8, 1, 3, 4}};
  for (int i = 0; i < 2; ++i) {
    sum.add(addend[i]);
    sum.add(multiplier[i]);
    sum.add(rest[i], 4);
  }
  sum.add(std::uint32_t{0xbf800000});
  sum.add(std::uint32_t{0xffffffff});
  sum.add(std::int32_t{2});
  sum.add(true);
  sum.add(0.5f);
  return sum;
}

TEST(ConstantsCheck, SumsUpTheArraysThatArePrinted) {
  std::vector<EmittedFile> made = files();
  add_constants_check(made, "net");
  char value[16];
  snprintf(value, sizeof value, "0x%08xu", sum_of_arrays().value());
  EXPECT_NE(made[1].bytes.find(std::string("#define NET_CONSTANTS_CRC32 ") + value),
            std::string::npos)
      << made[1].bytes;
  const std::string expected = R"(bf_uint32 net_constants_crc32(void) {
  bf::Crc32 crc;
  crc.add(weight, 3);
  for (const auto& row : codes) {
    crc.add(row.addend);
    crc.add(row.multiplier);
    crc.add(row.shift);
    crc.add(row.odd);
    crc.add(row.low);
    crc.add(row.high);
  }
  crc.add(bits, 2);
  for (const auto& row : property::terms) {
    crc.add(row.row);
    crc.add(row.at_least);
    crc.add(row.threshold);
  }
  return crc.value();
}
)";
  EXPECT_NE(made[0].bytes.find(expected), std::string::npos) << made[0].bytes;
}

TEST(ConstantsCheck, SumsUpTheBytesOfAnObject) {
  std::vector<EmittedFile> made = files();
  made[0].bytes = "#include \"bf/contract/integers.h\"\n}  // extern \"C\"\n";
  made.push_back({"_weights.bin", "123456789"});
  add_constants_check(made, "net");
  EXPECT_NE(made[1].bytes.find("#define NET_CONSTANTS_CRC32 0xcbf43926u"), std::string::npos);
  EXPECT_NE(made[0].bytes.find("  crc.add(net_weights, 9);\n"), std::string::npos);
}

}  // namespace
}  // namespace bf_aot::emit
