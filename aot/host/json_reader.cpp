#include "aot/host/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <system_error>

#include "frontend/diagnostic.h"
#include "frontend/model.h"

namespace bf_aot::cli {
namespace {

using nlohmann::json;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{256} << 20;
constexpr int kMaxDepth = 32;

std::string read_text(const std::filesystem::path& path, std::string_view what) {
  const std::string where = printable(path.string());
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    fail("BF3001", where, fmt::format("cannot read the {}: no such file", what));
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kMaxFileBytes)
    fail("BF3002", where,
         fmt::format("the {} has {} bytes, the limit is {}", what, size, kMaxFileBytes));
  std::ifstream stream(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (error || !stream.read(text.data(), static_cast<std::streamsize>(size)))
    fail("BF3001", where, fmt::format("cannot read the {}", what), "check its permissions");
  return text;
}

// "3:14" of byte `offset`, which nlohmann counts from 1.
std::string line_and_column(const std::string& text, std::size_t offset) {
  const std::size_t end = std::min(offset > 0 ? offset - 1 : 0, text.size());
  const auto begin = text.begin();
  const auto stop = begin + static_cast<std::ptrdiff_t>(end);
  const auto lines = std::count(begin, stop, '\n');
  const std::size_t newline = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  return fmt::format("{}:{}", lines + 1, newline == std::string::npos ? end + 1 : end - newline);
}

// Sees every event of the parser; refuses what the resulting value could not show.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(std::string where) : where_(std::move(where)) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kMaxDepth) fail("BF3003", where_, fmt::format("nested deeper than {}", kMaxDepth));
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second)
      fail("BF3005", where_,
           fmt::format("key '{}' appears twice", printable(parsed.get<std::string>())),
           "remove one of them");
    return true;
  }

 private:
  std::string where_;
  std::vector<std::set<std::string>> keys_;
};

std::string_view kind_of(const json& value) {
  return value.type_name();
}

}  // namespace

json parse_json_file(const std::filesystem::path& path, std::string_view what) {
  const std::string text = read_text(path, what);
  const std::string where = printable(path.string());
  try {
    DuplicateKeys check(where);
    return json::parse(text, [&check](int depth, json::parse_event_t event, json& parsed) {
      return check(depth, event, parsed);
    });
  } catch (const json::parse_error& error) {
    const std::string reason = error.what();
    const std::size_t colon = reason.find("- ");
    fail("BF3003", where + ":" + line_and_column(text, error.byte),
         "this is no JSON: " +
             printable(colon == std::string::npos ? reason : reason.substr(colon + 2)),
         "numbers are written as 0.5 or 5e-1; NaN and Infinity do not exist in JSON");
  } catch (const json::out_of_range& error) {
    const std::string reason = error.what();
    const std::size_t number = reason.find('\'');
    fail("BF3007", where,
         "a number is too large: " +
             printable(number == std::string::npos ? reason : reason.substr(number)),
         "numbers must be finite");
  }
}

JsonAt JsonAt::key(std::string_view name) const {
  expect_object();
  const auto found = value->find(name);
  if (found == value->end())
    fail("BF3004", where, fmt::format("key '{}' is missing", name), "add it");
  const std::string separator = where.find(": ") == std::string::npos ? ": " : ".";
  return {&*found, where + separator + std::string(name)};
}

JsonAt JsonAt::at(std::size_t i) const {
  return {&value->at(i), fmt::format("{}[{}]", where, i)};
}

bool JsonAt::has(std::string_view name) const {
  return value->is_object() && value->find(name) != value->end();
}

void JsonAt::expect_object() const {
  if (!value->is_object())
    fail("BF3004", where, fmt::format("expected an object, found {}", kind_of(*value)));
}

std::size_t JsonAt::expect_array() const {
  if (!value->is_array())
    fail("BF3004", where, fmt::format("expected an array, found {}", kind_of(*value)));
  return value->size();
}

void JsonAt::allow_keys(std::initializer_list<std::string_view> names) const {
  expect_object();
  for (const auto& [name, unused] : value->items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("BF3005", where, fmt::format("unknown key '{}'", printable(name)),
           fmt::format("known keys: {}", fmt::join(names, ", ")));
}

double JsonAt::number() const {
  if (!value->is_number())
    fail("BF3004", where, fmt::format("expected a number, found {}", kind_of(*value)));
  const double x = value->get<double>();
  if (!std::isfinite(x)) fail("BF3007", where, "the number is not finite");
  return x;
}

std::vector<double> JsonAt::numbers() const {
  std::vector<double> result(expect_array());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = at(i).number();
  return result;
}

}  // namespace bf_aot::cli
