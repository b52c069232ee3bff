#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "aot/library/bf_aot.h"

namespace bf_aot::api {
namespace {

// The text in lower case, with "-" for "_".
std::string plain(std::string_view text) {
  std::string name;
  for (const char c : text)
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

template <class Value, std::size_t count>
std::optional<Value> named(std::string_view text,
                           const std::pair<std::string_view, Value> (&values)[count]) {
  const std::string name = plain(text);
  for (const auto& [each, value] : values)
    if (each == name) return value;
  return std::nullopt;
}

}  // namespace

std::optional<Method> method_named(std::string_view name) {
  constexpr std::pair<std::string_view, Method> kMethods[] = {
      {"ibp", Method::kIbp},
      {"crown-ibp", Method::kCrownIbp},
      {"crown", Method::kCrown},
      {"alpha-crown", Method::kAlphaCrown},
      {"crown-optimized", Method::kAlphaCrown},
      {"forward", Method::kForward}};
  return named(name, kMethods);
}

std::optional<Norm> norm_named(std::string_view name) {
  constexpr std::pair<std::string_view, Norm> kNorms[] = {
      {"linf", Norm::kLinf}, {"l2", Norm::kL2}, {"l1", Norm::kL1}};
  return named(name, kNorms);
}

std::optional<Semantics> semantics_named(std::string_view name) {
  constexpr std::pair<std::string_view, Semantics> kSemantics[] = {
      {"real", Semantics::kReal},
      {"float32", Semantics::kFloat32},
      {"float32-exact", Semantics::kFloat32Exact}};
  return named(name, kSemantics);
}

}  // namespace bf_aot::api
