#pragma once

#include "bf/contract/integers.h"

namespace bf {

// An array among the arguments of a call.
struct Span {
  const void* begin;
  std::size_t bytes;
};

static inline bool share_bytes(const Span& a, const Span& b) {
  const auto x = reinterpret_cast<std::uintptr_t>(a.begin);
  const auto y = reinterpret_cast<std::uintptr_t>(b.begin);
  return (x - y < b.bytes) | (y - x < a.bytes);  // differences are modulo the size of the memory
}

// True when one of the first `written` arrays, which the call writes, shares bytes with another.
static inline bool overlap(const Span* spans, int count, int written) {
  bool found = false;
  for (int i = 0; i < written; ++i)
    for (int k = i + 1; k < count; ++k) found |= share_bytes(spans[i], spans[k]);
  return found;
}

// True when `written`, if there is such an array, shares bytes with one of these.
static inline bool overlap(const Span* spans, int count, const Span& written) {
  bool found = false;
  for (int i = 0; i < count; ++i) found |= share_bytes(spans[i], written);
  return found && written.begin != nullptr;
}

}  // namespace bf
