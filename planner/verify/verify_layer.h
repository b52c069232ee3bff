#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// Aborts with the message unless `ok`.
template <typename... Args>
void require(bool ok, fmt::format_string<Args...> format, const Args&... args) {
  if (ok) return;
  const std::string message = fmt::vformat(format, fmt::make_format_args(args...));
  internal::check_failed(message.c_str(), __FILE__, __LINE__);
}

template <typename Number>
bool all_finite(const std::vector<Number>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](Number x) { return std::isfinite(x); });
}

// "layer fc3 (Gemm 'fc3')"
std::string describe(const Layer& layer);

bool is_identifier(std::string_view text);

// The part of verify() that looks at one layer: what it reads is made before it, its tables have
// the extents that its maps say, and its kind has what plan.h promises of it.
void verify_layer(const Plan& plan, LayerId index);

}  // namespace bf_aot
