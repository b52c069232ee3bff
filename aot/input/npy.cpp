#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>

#include "aot/input/array.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/read_bytes.h"

namespace bf_aot::input {
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

struct Header {
  char order = '<', kind = 'f';
  std::size_t bytes = 0;
  std::vector<std::int64_t> shape;
  bool fortran = false;  // the first index varies fastest
};

bool is_element_type(std::string_view type) {
  constexpr std::string_view kTypes[] = {"f2", "f4", "f8", "b1", "i1", "i2",
                                         "i4", "i8", "u1", "u2", "u4", "u8"};
  constexpr std::string_view kOrders = "<>=|";
  return type.size() == 3 && kOrders.find(type[0]) != std::string_view::npos &&
         std::ranges::find(kTypes, type.substr(1)) != std::end(kTypes);
}

// Reads the Python dictionary of a header, {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }: each of these keys once, in any order, and no other.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  Header read() {
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (std::ranges::find(seen_, key) != seen_.end())
        damaged(where_, fmt::format("its header has '{}' twice", printable(key)));
      seen_.push_back(key);
      value(key);
      if (take('}')) break;
      expect(',');
    }
    skip();
    if (!rest_.empty()) damaged(where_, "text follows its header");
    for (const char* const key : {"descr", "fortran_order", "shape"})
      if (std::ranges::find(seen_, key) == seen_.end())
        damaged(where_, fmt::format("its header has no '{}'", key));
    return header_;
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }

  bool take(char c) {
    skip();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c))
      damaged(where_, fmt::format("its header is no dictionary: no '{}' where it is expected", c));
  }

  std::string quoted() {
    skip();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos)
      damaged(where_, "its header has no text in quotes where one is expected");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  void value(const std::string& key) {
    if (key == "descr")
      type();
    else if (key == "fortran_order")
      header_.fortran = truth();
    else if (key == "shape")
      shape();
    else
      damaged(where_, fmt::format("its header has an unknown key '{}'", printable(key)));
  }

  void type() {
    skip();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"'))
      refuse(where_, "it has records, not plain numbers", "save one array of numbers");
    const std::string type = quoted();
    if (!is_element_type(type))
      refuse(where_, fmt::format("elements of type '{}' are not read", printable(type)),
             "save floats of 16, 32 or 64 bits, integers or booleans, without pickling");
    header_.order = type[0];
    header_.kind = type[1];
    header_.bytes = static_cast<std::size_t>(type[2] - '0');
  }

  bool truth() {
    skip();
    for (const std::string_view word : {"True", "False"})
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    damaged(where_, "its header's 'fortran_order' is neither True nor False");
  }

  void shape() {
    expect('(');
    while (!take(')')) {
      std::int64_t extent = 0;
      skip();
      const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0 || header_.shape.size() == 32)
        damaged(where_, "its header has a shape that is no list of up to 32 extents");
      header_.shape.push_back(extent);
      rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
      if (take(')')) break;
      expect(',');
    }
  }

  std::string_view rest_;
  const std::string& where_;
  std::vector<std::string> seen_;
  Header header_;
};

// The elements in row-major order, from an array that is stored with the first index fastest.
std::vector<double> row_major(const std::vector<double>& stored,
                              const std::vector<std::int64_t>& shape) {
  std::vector<double> values;
  values.reserve(stored.size());
  std::vector<std::size_t> index(shape.size());
  for (std::size_t count = 0; count < stored.size(); ++count) {
    std::size_t at = 0, stride = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      at += index[axis] * stride;
      stride *= static_cast<std::size_t>(shape[axis]);
    }
    values.push_back(stored[at]);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < static_cast<std::size_t>(shape[axis])) break;
      index[axis] = 0;
    }
  }
  return values;
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
  const Header header = HeaderReader(bytes.substr(start, length), where).read();
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
  if (header.fortran) array.values = row_major(array.values, array.shape);
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

}  // namespace bf_aot::input
