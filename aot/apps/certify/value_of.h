#pragma once

#include <utility>
#include <vector>

#include "aot/library/bf_aot.h"
#include "frontend/diagnostic.h"

namespace bf_aot::apps {

// The value of a call of the library. Throws: CompileError with the call's errors.
template <class T>
T value_of(api::Result<T> result) {
  if (result) return std::move(result.value());
  std::vector<Diagnostic> diagnostics;
  const auto add = [&](const api::Error& error) {
    diagnostics.push_back({error.code, error.where, error.message, error.hint});
  };
  add(result.error());
  for (const api::Error& other : result.error().others) add(other);
  throw CompileError(std::move(diagnostics));
}

}  // namespace bf_aot::apps
