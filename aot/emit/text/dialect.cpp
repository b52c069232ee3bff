#include "aot/emit/text/dialect.h"

#include <fmt/format.h>

#include "aot/emit/text/wrap.h"

namespace bf_aot::emit {

std::string_view Dialect::suffix() const {
  switch (language_) {
    case Language::kCpp:
      return ".cpp";
    case Language::kC:
      return ".c";
    case Language::kOpenCl:
      return ".cl";
    case Language::kCuda:
      return ".cu";
  }
  return {};
}

std::string_view Dialect::constant() const {
  if (is_of_device()) return "BF_TABLE";
  return is_c() ? "static const" : "constexpr";
}

std::string Dialect::runtime(std::string_view name) const {
  return fmt::format("{}{}", is_c() ? "bf_" : "bf::", name);
}

std::string Dialect::integer(std::string_view name) const {
  return fmt::format("{}{}_t", is_c() ? "" : "std::", name);
}

std::string Dialect::aligned_constant(int align) const {
  return is_c() ? std::string(constant()) : fmt::format("alignas({}) constexpr", align);
}

std::string Dialect::cast(std::string_view type, std::string_view value) const {
  return is_c() ? fmt::format("({})({})", type, value)
                : fmt::format("static_cast<{}>({})", type, value);
}

std::string Dialect::structure(std::string_view cpp_name, std::string_view c_name,
                               std::string_view members) const {
  if (is_of_device()) return "&made";
  return is_c() ? fmt::format("&(const bf_{}){{{}}}", c_name, members)
                : fmt::format("bf::{}{{{}}}", cpp_name, members);
}

std::string Dialect::made_structure(std::string_view c_name, std::string_view members) const {
  return fmt::format("const bf_{} made = {{{}}};", c_name, members);
}

std::string Dialect::checked(std::string_view what, std::string_view call) const {
  if (is_c())
    return fmt::format("  const bf_status {0} = {1};\n  if ({0} != BF_OK) return {0};\n", what,
                       call);
  const std::string condition = fmt::format("  if (const bf_status status = {})", call);
  const std::string_view returned = " return status;\n";
  const bool fits = condition.size() + returned.size() <= kColumns;
  return condition + (fits ? "" : "\n   ") + std::string(returned);
}

Dialect dialect_of_host(Language language) {
  return Dialect(is_of_device(language) ? Language::kC : language);
}

}  // namespace bf_aot::emit
