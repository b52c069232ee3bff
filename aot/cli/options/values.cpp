#include "aot/cli/options/values.h"

#include <fmt/format.h>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::cli {

Option* takes_bytes(Option* option) {
  return option->transform(build::byte_count())->type_name("BYTES");
}

namespace {

bool is_number(const std::string& word) {
  vnnlib::Number number;
  return vnnlib::parse_quotient(word, number) == vnnlib::NumberError::kNone;
}

}  // namespace

Option* takes_numbers(Option* option) {
  return option->list(is_number);
}

Option* takes_pair(Option* option) {
  const auto is_end = [](const std::string& word) {
    return !word.starts_with('-') || is_number(word);
  };
  return option->list(is_end, 2)->expected(2);
}

Option* takes_names(Option* option, const ValueRule& rule) {
  if (rule.read) option->transform(rule);
  return option->list([read = rule.read](std::string word) { return read && read(word).empty(); });
}

vnnlib::Number exact_number(const std::string& text, const char* option) {
  vnnlib::Number number;
  if (vnnlib::parse_quotient(text, number) != vnnlib::NumberError::kNone)
    fail("BF3013", option, fmt::format("'{}' is no number", printable(text)),
         "write a decimal as 0.03 or 1e-3, or a quotient as 8/255");
  return number;
}

}  // namespace bf_aot::cli
