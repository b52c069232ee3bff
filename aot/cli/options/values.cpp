#include "aot/cli/options/values.h"

#include <fmt/format.h>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::cli {

Option* takes_bytes(Option* option) {
  return option->transform(build::byte_count())->type_name("BYTES");
}

Option* takes_pair(Option* option) {
  return option->delimiter(',')->expected(2);
}

vnnlib::Number exact_number(const std::string& text, const char* option) {
  vnnlib::Number number;
  if (vnnlib::parse_quotient(text, number) != vnnlib::NumberError::kNone)
    fail("BF3013", option, fmt::format("'{}' is no number", printable(text)),
         "write a decimal as 0.03 or 1e-3, or a quotient as 8/255");
  return number;
}

}  // namespace bf_aot::cli
