#include "planner/machine/profile_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/machine/repeated_key.h"

namespace bf_aot {

ProfileReader::ProfileReader(const Json& json, std::string where, std::string_view writer)
    : json_(json), where_(std::move(where)), writer_(writer) {
  if (!json_.is_object()) bad("expected an object");
}

void ProfileReader::allow(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, unused] : json_.items())
    if (std::ranges::count(keys, key) == 0)
      bad(fmt::format("unknown key '{}'; known keys: {}", key, fmt::join(keys, ", ")));
}

const ProfileReader::Json& ProfileReader::at(std::string_view key) const {
  const auto found = json_.find(key);
  if (found == json_.end()) bad(fmt::format("key '{}' is missing", key));
  return *found;
}

std::string ProfileReader::text(std::string_view key) const {
  if (!at(key).is_string()) bad(fmt::format("'{}' is no text", key));
  return at(key).get<std::string>();
}

double ProfileReader::number(std::string_view key, bool positive) const {
  const Json& value = at(key);
  const double x = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(x) || x < 0 || (positive && x == 0))
    bad(fmt::format("'{}' must be a number {} 0", key, positive ? "above" : "of at least"));
  return x;
}

ProfileReader ProfileReader::object(std::string_view key) const {
  return {at(key), fmt::format("{}: {}", where_, key), writer_};
}

std::size_t ProfileReader::count(std::string_view key) const {
  const Json& list = at(key);
  if (!list.is_array() || list.empty()) bad(fmt::format("'{}' must be a list of memories", key));
  return list.size();
}

ProfileReader ProfileReader::item(std::string_view key, std::size_t i) const {
  return {at(key).at(i), fmt::format("{}: {}[{}]", where_, key, i), writer_};
}

double ProfileReader::bytes_or_none(bool last) const {
  if (last != at("bytes").is_null())
    bad("'bytes' is null for the last level, which has no bound, and for no other");
  return last ? std::numeric_limits<double>::infinity() : number("bytes", true);
}

void ProfileReader::bad(const std::string& what) const {
  fail("BF2132", where_, what, fmt::format("`{}` writes such a file", writer_));
}

nlohmann::ordered_json parse_profile_json(const std::string& text, const std::string& where,
                                          std::string_view writer) {
  nlohmann::ordered_json json;
  try {
    json = nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    fail("BF2132", where, fmt::format("this is no JSON: {}", error.what()),
         fmt::format("`{}` writes such a file", writer));
  }
  if (const std::string key = repeated_key(text); !key.empty())
    fail("BF2132", where, fmt::format("key '{}' appears twice", key), "remove one of them");
  return json;
}

}  // namespace bf_aot
