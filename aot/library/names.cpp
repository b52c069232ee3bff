#include "aot/library/bf_aot.h"
#include "aot/library/enums.h"

namespace bf_aot::api {

const char* to_string(Method method) noexcept {
  return name_of(method).data();
}

std::optional<Method> method_named(std::string_view name) {
  return named<Method>(name);
}

std::optional<Norm> norm_named(std::string_view name) {
  return named<Norm>(name);
}

std::optional<Arithmetic> arithmetic_named(std::string_view name) {
  return named<Arithmetic>(name);
}

std::optional<Semantics> semantics_named(std::string_view name) {
  return named<Semantics>(name);
}

}  // namespace bf_aot::api
