#include "aot/input/json/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "aot/input/json/read_text.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::input {
namespace {

using nlohmann::json;
constexpr int kMaxDepth = 32;

// Line and column, "3:14", of byte `offset`, which nlohmann counts from 1.
std::string line_and_column(const std::string& text, std::size_t offset) {
  const std::size_t end = std::min(offset > 0 ? offset - 1 : 0, text.size());
  const auto begin = text.begin();
  const auto stop = begin + static_cast<std::ptrdiff_t>(end);
  const auto lines = std::count(begin, stop, '\n');
  const std::size_t newline = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  return fmt::format("{}:{}", lines + 1, newline == std::string::npos ? end + 1 : end - newline);
}

json kept_number(std::string_view text) {
  return json::binary({text.begin(), text.end()});
}

std::string_view text_of_number(const json& value) {
  const json::binary_t& bytes = value.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Builds the value from the events of the parser; refuses what it could not show.
class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(json& root, std::string where, const std::string& text)
      : root_(root), where_(std::move(where)), text_(text) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override {
    return add(kept_number(std::to_string(value)));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add(kept_number(std::to_string(value)));
  }
  bool number_float(number_float_t, const string_t& text) override {
    return add(kept_number(text));
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // no JSON text has any
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back()->contains(name))
      fail("BF3005", where_, fmt::format("key '{}' appears twice", printable(name)),
           "remove one of them");
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    // Error 406 of the parser is a number that is too large for a double.
    const std::string reason = error.what();
    if (error.id == 406)
      fail("BF3007", where_, fmt::format("a number is too large: '{}'", printable(token)),
           "numbers must be finite");
    const std::size_t colon = reason.find("- ");
    fail("BF3003", where_ + ":" + line_and_column(text_, position),
         "this is no JSON: " +
             printable(colon == std::string::npos ? reason : reason.substr(colon + 2)),
         "numbers are written as 0.5 or 5e-1; NaN and Infinity do not exist in JSON");
  }

 private:
  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }

  bool add(json value) {
    place(std::move(value));
    return true;
  }

  bool open(json value) {
    open_.push_back(place(std::move(value)));
    if (open_.size() > kMaxDepth)
      fail("BF3003", where_, fmt::format("nested deeper than {}", kMaxDepth));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  json& root_;
  std::string where_;
  const std::string& text_;
  std::vector<json*>
      open_;  // from the outermost on; what holds one does not change while it is open
  std::string key_;
};

// Returns false if the value is no number, or one with too many digits. Files have millions: what
// is said of one that cannot be read, with its place, is made for that one alone.
bool read_number(const json& value, vnnlib::Number& number) {
  return value.is_binary() &&
         vnnlib::parse_number(text_of_number(value), number) == vnnlib::NumberError::kNone;
}

// The double nearest to a number; none where it is not finite.
std::optional<double> nearest_to(const vnnlib::Number& exact) {
  if (!std::isfinite(exact.below) || !std::isfinite(exact.above)) return std::nullopt;
  double nearest = 0;  // stays 0 where the number is nearer to 0 than to any other double
  std::from_chars(exact.text.data(), exact.text.data() + exact.text.size(), nearest);
  return nearest;
}

std::string_view kind_of(const json& value) {
  return value.is_binary() ? "number" : value.type_name();
}

}  // namespace

json parse_json_file(const std::filesystem::path& path, std::string_view what) {
  return parse_json_text(read_text(path, what), printable(path.string()));
}

json parse_json_text(const std::string& text, const std::string& where) {
  json root;
  Builder builder(root, where, text);
  json::sax_parse(text, &builder);
  return root;
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

bool JsonAt::is_number() const {
  return value->is_binary();
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

std::string JsonAt::text() const {
  if (!value->is_string()) fail("BF3004", where, "expected a string", "put it in quotes");
  return value->get<std::string>();
}

std::vector<std::string> JsonAt::texts() const {
  std::vector<std::string> made;
  const std::size_t count = expect_array();
  for (std::size_t i = 0; i < count; ++i) made.push_back(at(i).text());
  return made;
}

bool JsonAt::flag() const {
  if (!value->is_boolean()) fail("BF3004", where, "expected true or false", "without quotes");
  return value->get<bool>();
}

std::uint64_t JsonAt::whole_number(std::uint64_t most) const {
  const std::string_view text = number_text();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most)
    fail("BF3017", where, fmt::format("{} is no whole number of 0 to {}", printable(text), most));
  return number;
}

void JsonAt::allow_keys(std::initializer_list<std::string_view> names) const {
  expect_object();
  for (const auto& [name, unused] : value->items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail("BF3005", where, fmt::format("unknown key '{}'", printable(name)),
           fmt::format("known keys: {}", fmt::join(names, ", ")));
}

double JsonAt::number() const {
  const std::optional<double> nearest = nearest_to(decimal());
  if (!nearest) fail("BF3007", where, "the number is not finite");
  return *nearest;
}

nlohmann::json JsonAt::plain() const {
  if (is_number()) return json::parse(text_of_number(*value));
  json made = *value;
  if (made.is_structured())
    for (auto& [name, part] : made.items()) part = JsonAt{&part, where}.plain();
  return made;
}

std::string_view JsonAt::number_text() const {
  if (!is_number())
    fail("BF3004", where, fmt::format("expected a number, found {}", kind_of(*value)));
  return text_of_number(*value);
}

vnnlib::Number JsonAt::decimal() const {
  vnnlib::Number number;
  number_text();  // or a complaint
  if (!read_number(*value, number))
    fail("BF3007", where, "the number has too many digits, or too large an exponent",
         fmt::format("decimals may have {} digits and exponents up to {}", vnnlib::kMaxDigits,
                     vnnlib::kMaxExponent));
  return number;
}

std::vector<vnnlib::Number> JsonAt::decimals() const {
  std::vector<vnnlib::Number> result(expect_array());
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!read_number((*value)[i], result[i])) result[i] = at(i).decimal();  // which says why
  return result;
}

std::vector<double> JsonAt::numbers() const {
  std::vector<double> result(expect_array());
  for (std::size_t i = 0; i < result.size(); ++i) {
    vnnlib::Number exact;
    const auto nearest = read_number((*value)[i], exact) ? nearest_to(exact) : std::nullopt;
    result[i] = nearest ? *nearest : at(i).number();  // which says why
  }
  return result;
}

}  // namespace bf_aot::input
