#include "aot/json/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

std::string npy_file(const std::string& header, const std::string& data, char version = 1) {
  std::string text("\x93NUMPY", 6);
  text += version;
  text += '\0';
  text += static_cast<char>(header.size());
  text += std::string(version == 1 ? 1 : 3, '\0');
  return text + header + data;
}

std::string bytes_of(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

constexpr char kNpyHeader[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n";

std::string npy_code_of(const std::string& bytes) {
  try {
    parse_npy(bytes, "a.npy");
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

TEST(Npy, ReadsShapeAndValues) {
  for (const char version : {1, 2, 3}) {
    const NpyArray array = parse_npy(npy_file(kNpyHeader, bytes_of({0.1F, -3}), version), "a.npy");
    EXPECT_EQ(array.shape, (std::vector<std::size_t>{2, 1}));
    EXPECT_EQ(array.values, (std::vector<double>{0.1F, -3}));
  }
}

TEST(Npy, ReadsAScalar) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n";
  EXPECT_EQ(parse_npy(npy_file(header, bytes_of({7})), "a.npy").values, std::vector<double>{7});
}

// Every part of a file is no file, and none makes it read beyond its end.
TEST(Npy, RefusesEveryPrefix) {
  const std::string whole = npy_file(kNpyHeader, bytes_of({1, 2}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(npy_code_of(whole.substr(0, size)), "BF3011") << size;
}

TEST(Npy, RefusesShapesThatItsValuesDoNotFill) {
  for (const char* shape : {"(3,)", "(1,)", "(18446744073709551615, 18446744073709551615)",
                            "(4294967296, 4294967296)", "(-2,)", "(a)", "2"})
    EXPECT_EQ(npy_code_of(npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': " +
                                       std::string(shape) + ", }\n",
                                   bytes_of({1, 2}))),
              "BF3011")
        << shape;
}

TEST(Npy, RefusesOtherTypesAndOrders) {
  for (const char* header : {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }",
                             "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
                             "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }"})
    EXPECT_EQ(npy_code_of(npy_file(header, bytes_of({1, 2}))), "BF3012") << header;
}

}  // namespace
}  // namespace bf_aot::cli
