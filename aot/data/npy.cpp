#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>

#include "aot/data/array.h"
#include "frontend/diagnostic.h"
#include "frontend/model.h"
#include "frontend/read_bytes.h"

namespace bf_aot::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr double kMostInteger = 0x1p53;

[[noreturn]] void damaged(const std::string& where, const std::string& message) {
  fail("BF3011", where, message, "write it again by numpy.save");
}

[[noreturn]] void refuse(const std::string& where, const std::string& message,
                         const std::string& hint) {
  fail("BF3012", where, message, hint);
}

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
struct Header {
  char order = '<', kind = 'f';
  std::size_t bytes = 0;
  std::vector<std::int64_t> shape;
};

std::string_view after_key(std::string_view header, const std::string& key,
                           const std::string& where) {
  const std::string quoted = "'" + key + "'";
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) damaged(where, "its header has no " + quoted);
  std::string_view rest = header.substr(at + quoted.size());
  const std::size_t value = rest.find_first_not_of(": ");
  if (value == std::string_view::npos) damaged(where, "its header ends after " + quoted);
  return rest.substr(value);
}

std::vector<std::int64_t> parse_shape(std::string_view text, const std::string& where) {
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos)
    damaged(where, "its header has no shape in parentheses");
  text = text.substr(1, end - 1);
  std::vector<std::int64_t> shape;
  while (true) {
    const std::size_t start = text.find_first_not_of(", ");
    if (start == std::string_view::npos) return shape;
    text.remove_prefix(start);
    std::int64_t extent = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0 || shape.size() == 32)
      damaged(where, "its header has a shape that is no list of up to 32 extents");
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
}

Header parse_header(std::string_view text, const std::string& where) {
  Header header;
  const std::string_view descr = after_key(text, "descr", where);
  const std::size_t end = descr.size() > 1 ? descr.find('\'', 1) : std::string_view::npos;
  if (descr[0] != '\'' || end == std::string_view::npos)
    refuse(where, "it has records, not plain numbers", "save one array of numbers");
  const std::string type(descr.substr(1, end - 1));
  int bytes = 0;
  if (type.size() >= 3) (void)std::from_chars(type.data() + 2, type.data() + type.size(), bytes);
  const std::string known = type.size() == 3 ? type.substr(1) : std::string();
  if (known != "f2" && known != "f4" && known != "f8" && known != "b1" && known != "i1" &&
      known != "i2" && known != "i4" && known != "i8" && known != "u1" && known != "u2" &&
      known != "u4" && known != "u8")
    refuse(where, fmt::format("elements of type '{}' are not read", printable(type)),
           "save floats of 16, 32 or 64 bits, integers or booleans, without pickling");
  header.order = type[0];
  header.kind = type[1];
  header.bytes = static_cast<std::size_t>(bytes);
  if (after_key(text, "fortran_order", where).starts_with("True"))
    refuse(where, "it is in Fortran's order", "save numpy.ascontiguousarray(x)");
  header.shape = parse_shape(after_key(text, "shape", where), where);
  return header;
}

template <class Bits>
Bits load(const char* from, bool swap) {
  std::array<char, sizeof(Bits)> bytes;
  std::copy_n(from, bytes.size(), bytes.begin());
  if (swap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Bits>(bytes);
}

double element(const Header& header, const char* from, bool swap) {
  if (header.kind == 'f') {
    if (header.bytes == 8) return std::bit_cast<double>(load<std::uint64_t>(from, swap));
    if (header.bytes == 4)
      return static_cast<double>(std::bit_cast<float>(load<std::uint32_t>(from, swap)));
    return static_cast<double>(
        static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(load<std::uint16_t>(from, swap))));
  }
  if (header.kind == 'i') {
    if (header.bytes == 1) return load<std::int8_t>(from, false);
    if (header.bytes == 2) return load<std::int16_t>(from, swap);
    if (header.bytes == 4) return load<std::int32_t>(from, swap);
    return static_cast<double>(load<std::int64_t>(from, swap));
  }
  if (header.bytes == 1) return load<std::uint8_t>(from, false);
  if (header.bytes == 2) return load<std::uint16_t>(from, swap);
  if (header.bytes == 4) return load<std::uint32_t>(from, swap);
  return static_cast<double>(load<std::uint64_t>(from, swap));
}

// Bytes of the array's elements. Throws: BF3011 for more than may be read.
std::uint64_t data_bytes(const Header& header, const std::string& where) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : header.shape) {
    const auto e = static_cast<std::uint64_t>(extent);
    if (e != 0 && count > kMostDataBytes / sizeof(double) / e)
      fail("BF3014", where,
           fmt::format("it has more than {} numbers", kMostDataBytes / sizeof(double)),
           "split the data");
    count *= e;
  }
  return count * header.bytes;
}

}  // namespace

std::string read_data_file(const std::filesystem::path& path, Sources sources) {
  const std::string name = printable(path.string());
  ReadBytes read = read_bytes(path, kMostDataBytes, sources);
  if (read.too_large)
    fail("BF3014", name, fmt::format("it has more than {} bytes", kMostDataBytes),
         "split the data");
  if (!read.problem.empty()) fail("BF3001", name, "the file cannot be read: " + read.problem);
  return std::move(read.bytes);
}

bool is_npy(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

void expect_finite(const Array& array) {
  for (const double value : array.values)
    if (!std::isfinite(value))
      fail("BF3007", array.where, fmt::format("the array holds {}", value),
           "boxes must be bounded");
}

Array parse_npy(std::string_view bytes, const std::string& where) {
  if (!is_npy(bytes) || bytes.size() < 10) damaged(where, "it is no .npy file");
  const bool is_long = bytes[6] != 1;
  const std::size_t start = is_long ? 12 : 10;
  if (bytes[6] < 1 || bytes[6] > 3 || bytes.size() < start)
    refuse(where, "it is in a version of the format that is not known", "save it by numpy.save");
  std::size_t length = 0;
  for (std::size_t i = start; i-- > 8;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > bytes.size() - start) damaged(where, "it ends within its header");
  const Header header = parse_header(bytes.substr(start, length), where);
  const std::string_view data = bytes.substr(start + length);
  const std::uint64_t expected = data_bytes(header, where);
  if (data.size() != expected)
    damaged(where,
            fmt::format("its shape says {} bytes of numbers, {} follow", expected, data.size()));

  const bool swap = (header.order == '>') != (std::endian::native == std::endian::big) &&
                    header.order != '|' && header.order != '=';
  Array array;
  array.where = where;
  array.shape = header.shape;
  array.integers = header.kind != 'f';
  array.values.reserve(data.size() / header.bytes);
  for (std::size_t at = 0; at < data.size(); at += header.bytes) {
    const double value = element(header, data.data() + at, swap);
    if (array.integers && std::fabs(value) > kMostInteger)
      refuse(where, fmt::format("{} is beyond 2^53", value), "save floats");
    array.values.push_back(value);
  }
  return array;
}

Array read_npy(const std::filesystem::path& path) {
  return parse_npy(read_data_file(path), printable(path.string()));
}

std::string npy_bytes(const Array& array) {
  std::string shape;
  for (const std::int64_t extent : array.shape) shape += fmt::format("{}, ", extent);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   array.integers ? "<i8" : "<f8", shape);
  // The numbers begin at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\0', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  for (const double value : array.values) {
    const auto bits = array.integers ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                                     : std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(bits >> 8 * i & 0xff);
  }
  return bytes;
}

}  // namespace bf_aot::cli
