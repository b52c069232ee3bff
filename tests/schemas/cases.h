#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bf_aot::test {

// A model of one node, a point, and what is right there. tests/schemas/walk.py writes such cases.
struct SchemaCase {
  std::string name;
  std::string model;  // bytes of an ONNX file
  // "value": bounds at the point hold `values` tightly; "inside": they hold them, where a function
  // jumps; "BF1012", ...: the first diagnostic; empty: not said.
  std::string expected;
  std::vector<double> point;   // elements of all inputs
  std::vector<double> values;  // of all outputs; a NaN says nothing
};

// Reads little-endian records: for each field its length in bytes, 4 bytes, then the bytes.
class CaseReader {
 public:
  explicit CaseReader(std::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }

  SchemaCase next() {
    SchemaCase result;
    result.name = field();
    result.model = field();
    result.expected = field();
    result.point = numbers(field());
    result.values = numbers(field());
    return result;
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) throw std::runtime_error("the file of cases is cut off");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint64_t integer(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  std::string field() { return std::string(take(integer(take(4)))); }
  std::vector<double> numbers(std::string_view bytes) {
    std::vector<double> result;
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8)
      result.push_back(std::bit_cast<double>(integer(bytes.substr(i, 8))));
    return result;
  }

  std::string_view rest_;
};

}  // namespace bf_aot::test
