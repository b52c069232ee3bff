#include "aot/json/npy.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "aot/json/read_text.h"
#include "frontend/diagnostic.h"
#include "frontend/model.h"

namespace bf_aot::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostDimensions = 32;

[[noreturn]] void damaged(const std::string& where, const std::string& why) {
  fail("BF3011", where, "the NumPy file is damaged: " + why, "write it again with numpy.save()");
}

// The literal after 'name': in the header, a Python dictionary whose strings hold no quotes.
std::string_view entry(std::string_view header, std::string_view name, const std::string& where) {
  std::size_t at = header.find(fmt::format("'{}'", name));
  if (at != std::string_view::npos) at = header.find_first_not_of(" :", at + name.size() + 2);
  if (at == std::string_view::npos) damaged(where, fmt::format("its header has no '{}'", name));
  const std::string_view rest = header.substr(at);
  const std::size_t end = rest.front() == '(' ? rest.find(')') : rest.find_first_of(",}");
  if (end == std::string_view::npos) damaged(where, "its header does not end");
  return rest.substr(0, end + (rest.front() == '(' ? 1 : 0));
}

std::vector<std::size_t> shape_of(std::string_view tuple, const std::string& where) {
  std::vector<std::size_t> shape;
  if (!tuple.starts_with('(')) damaged(where, "its shape is no tuple");
  for (std::size_t at = 1;
       (at = tuple.find_first_not_of(", ", at)) != std::string_view::npos && tuple[at] != ')';) {
    std::size_t extent = 0;
    const auto [end, error] = std::from_chars(&tuple[at], tuple.data() + tuple.size(), extent);
    if (error != std::errc() || shape.size() == kMostDimensions)
      damaged(where, fmt::format("its shape is {}", printable(tuple)));
    shape.push_back(extent);
    at = static_cast<std::size_t>(end - tuple.data());
  }
  return shape;
}

std::size_t product(const std::vector<std::size_t>& shape, std::size_t most,
                    const std::string& where) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    if (extent > 0 && count > most / extent) damaged(where, "it has fewer values than its shape");
    count *= extent;
  }
  return count;
}

// An unsigned integer of little-endian bytes.
template <typename Bits>
Bits read_bits(std::string_view bytes, bool big_endian) {
  Bits bits = 0;
  for (std::size_t i = 0; i < sizeof(Bits); ++i) {
    const std::size_t from = big_endian ? i : sizeof(Bits) - 1 - i;
    bits = static_cast<Bits>(bits << 8 | static_cast<unsigned char>(bytes[from]));
  }
  return bits;
}

struct Header {
  std::string_view text;
  std::string_view data;
};

Header split(std::string_view bytes, const std::string& where) {
  constexpr std::size_t kVersion = kMagic.size(), kLength = kVersion + 2;
  if (!is_npy(bytes) || bytes.size() < kLength + 4) damaged(where, "its head is incomplete");
  const bool first = bytes[kVersion] == 1;
  const std::size_t length = first ? read_bits<std::uint16_t>(bytes.substr(kLength), false)
                                   : read_bits<std::uint32_t>(bytes.substr(kLength), false);
  const std::string_view rest = bytes.substr(kLength + (first ? 2 : 4));
  if (bytes[kVersion] < 1 || bytes[kVersion] > 3)
    damaged(where, fmt::format("its version is {}", static_cast<int>(bytes[kVersion])));
  if (rest.size() < length) damaged(where, "its header is incomplete");
  return {rest.substr(0, length), rest.substr(length)};
}

}  // namespace

bool is_npy(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

NpyArray parse_npy(std::string_view bytes, const std::string& where) {
  const Header header = split(bytes, where);
  const std::string_view type = entry(header.text, "descr", where);
  const bool single = type == "'<f4'" || type == "'>f4'";
  if (!single && type != "'<f8'" && type != "'>f8'")
    fail("BF3012", where, fmt::format("the array's type is {}", printable(type)),
         "float32 and float64 are read: numpy.save(FILE, numpy.float32(array))");
  if (entry(header.text, "fortran_order", where) != "False")
    fail("BF3012", where, "the array is in Fortran order",
         "numpy.save(FILE, numpy.ascontiguousarray(array))");
  NpyArray array;
  array.shape = shape_of(entry(header.text, "shape", where), where);
  const std::size_t width = single ? sizeof(float) : sizeof(double);
  const std::size_t count = product(array.shape, header.data.size() / width, where);
  if (header.data.size() != count * width)
    damaged(where, fmt::format("{} bytes of values where its shape needs {}", header.data.size(),
                               count * width));
  const bool big = type[1] == '>';
  array.values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view value = header.data.substr(i * width, width);
    array.values.push_back(
        single ? static_cast<double>(std::bit_cast<float>(read_bits<std::uint32_t>(value, big)))
               : std::bit_cast<double>(read_bits<std::uint64_t>(value, big)));
    if (!std::isfinite(array.values.back()))
      fail("BF3007", where, fmt::format("value {} is not finite", i));
  }
  return array;
}

NpyArray read_npy(const std::filesystem::path& path) {
  return parse_npy(read_text(path, "NumPy file"), printable(path.string()));
}

}  // namespace bf_aot::cli
