#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bf_aot::emit {

// The value that takes the place of @key@ in a template.
struct Argument {
  Argument(std::string_view name, std::string text) : key(name), value(std::move(text)) {}
  Argument(std::string_view name, std::string_view text) : key(name), value(text) {}
  Argument(std::string_view name, const char* text) : key(name), value(text) {}
  Argument(std::string_view name, bool truth) : key(name), value(truth ? "true" : "false") {}
  Argument(std::string_view name, std::integral auto number)
      : key(name), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
};

using Arguments = std::vector<Argument>;

// The template with each @key@ replaced; keys are not ${key}, which templates of CMake files hold.
// A key that is in neither list is an internal error, and so is one of `arguments` that the
// template lacks. `names` are for several templates: each may lack some.
std::string fill_in(std::string_view text, const Arguments& arguments, const Arguments& names = {});

}  // namespace bf_aot::emit
