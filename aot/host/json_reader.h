#pragma once

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bf_aot::cli {

// A value in a JSON file and its place in it, for messages.
struct JsonAt {
  const nlohmann::json* value;
  std::string where;  // "box.json: boxes[2].lower"

  JsonAt key(std::string_view name) const;  // Throws: BF3004 when it is missing
  JsonAt at(std::size_t i) const;
  bool has(std::string_view name) const;

  // Throw BF3004 when the value is of another kind.
  void expect_object() const;
  std::size_t expect_array() const;  // its length

  // Throws: BF3005 for a key that is not in the list.
  void allow_keys(std::initializer_list<std::string_view> names) const;

  double number() const;                // Throws: BF3007 unless it is finite
  std::vector<double> numbers() const;  // of an array
};

// Parses a file. Duplicate keys are errors, as a reader would silently take one of them.
// Throws: BF3001 cannot be read, BF3002 too large, BF3003 no JSON, BF3005.
nlohmann::json parse_json_file(const std::filesystem::path& path, std::string_view what);

}  // namespace bf_aot::cli
