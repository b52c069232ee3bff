#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// bf/contract/spans.h in C99.

// An array among the arguments of a call.
typedef struct bf_span {
  const void* begin;
  size_t bytes;
} bf_span;

static inline bool bf_share_bytes(const bf_span* a, const bf_span* b) {
  const uintptr_t x = (uintptr_t)a->begin;
  const uintptr_t y = (uintptr_t)b->begin;
  return x - y < b->bytes || y - x < a->bytes;
}

// True when one of the first `written` arrays, which the call writes, shares bytes with another.
static inline bool bf_overlap(const bf_span* spans, int count, int written) {
  bool found = false;
  for (int i = 0; i < written; ++i)
    for (int k = i + 1; k < count; ++k) found = found || bf_share_bytes(&spans[i], &spans[k]);
  return found;
}

// True when `written`, if there is such an array, shares bytes with one of these.
static inline bool bf_overlap_with(const bf_span* spans, int count, const bf_span* written) {
  bool found = false;
  for (int i = 0; i < count; ++i) found = found || bf_share_bytes(&spans[i], written);
  return found && written->begin != NULL;
}
