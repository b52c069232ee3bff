#pragma once

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/numbers/numbers.h"

namespace bf_aot::input {

// A value in a JSON file and its place in it, for messages.
struct JsonAt {
  const nlohmann::json* value;
  std::string where;  // "box.json: boxes[2].lower"

  JsonAt key(std::string_view name) const;  // Throws: BF3004 when it is missing
  JsonAt at(std::size_t i) const;
  bool has(std::string_view name) const;

  // Both throw BF3004 when the value is of another kind.
  void expect_object() const;
  std::size_t expect_array() const;  // its length

  // Throws: BF3005 for a key that is not in the list.
  void allow_keys(std::initializer_list<std::string_view> names) const;

  std::string text() const;                // Throws: BF3004 no string
  std::vector<std::string> texts() const;  // those of an array
  bool flag() const;                       // Throws: BF3004 neither true nor false
  // Throws: BF3004 no number, BF3017 no whole number of 0 to `most`.
  std::uint64_t whole_number(std::uint64_t most) const;

  bool is_number() const;
  nlohmann::json plain() const;          // with numbers as JSON has them
  std::string_view number_text() const;  // as it is written. Throws: BF3004
  double number() const;                 // the nearest double. Throws: BF3007 unless it is finite
  std::vector<double> numbers() const;   // those of an array

  // The exact number that the file says, not the double next to it. Throws: BF3007 for more digits,
  // or a larger exponent, than decimals may have. Its text lives as long as the value.
  vnnlib::Number decimal() const;
  std::vector<vnnlib::Number> decimals() const;  // those of an array
};

// Parses a file. Numbers are kept as they are written (as binary values, which no JSON text
// has), so that nothing that bounds rest on is rounded here. Duplicate keys are errors, as a reader
// would silently take one of them. Throws: BF3001 cannot be read, BF3002 too large, BF3003 no JSON,
// BF3005.
nlohmann::json parse_json_file(const std::filesystem::path& path, std::string_view what);

// Parses a text as parse_json_file() does that of a file; `where`: the file, for messages.
nlohmann::json parse_json_text(const std::string& text, const std::string& where);

}  // namespace bf_aot::input
