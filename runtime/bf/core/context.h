#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/contract/workspace.h"
#include "bf/core/rounding.h"

// Contexts hold what verifiers with a cache keep between calls, in memory of the caller's. As in
// bounds.h: internal linkage, no heap, no state of its own.
//
// A context begins with a Context; the plan says what lies behind it. Two boxes matter:
//   the last: of the call before. What was made for it (EPOCH) serves calls on the same box, equal
//   bit for bit; no hash stands for it.
//   the anchor: of an earlier call. Bounds on it (PERSISTENT) hold on every box inside:
//       [lower, upper] within [anchor_lower, anchor_upper]  ⟹  low <= z(x) <= high for all its x.
// A call that ends half-way (longjmp, a task that is killed) leaves parts that are not marked as
// valid: a mark goes before the first byte is overwritten, and comes back after the last.

namespace bf {

// Marks are bits: 1 for what all entry points share, 2 << e for what entry point e keeps.
struct Context {
  std::uint64_t magic;
  std::uint64_t fingerprint;  // of the plan that the context is laid out by
  std::uint32_t last;         // valid parts of what is kept for the last box
  std::uint32_t anchor;  // valid parts of what is kept of the anchor: 1 its layers, 2 << e outputs
  std::uint32_t starts;  // valid starts of optimisations
  std::uint32_t reserved;
  bf_cache_counters counters;
};

static_assert(sizeof(Context) <= kContextHeaderBytes, "bf: a context's header has its room");

constexpr std::uint64_t kContextMagic = 0x7478746e6f634662;  // "bFcontxt"

// Keeps the compiler from moving stores over a change of marks.
static inline void settle_stores() {
  __asm__ volatile("" ::: "memory");
}

static inline void mark(std::uint32_t& marks, std::uint32_t bits) {
  settle_stores();
  marks |= bits;
  settle_stores();
}

static inline void unmark(std::uint32_t& marks) {
  marks = 0;
  settle_stores();
}

// BF_OK when `context` is memory that a context of `needed` bytes fits in.
static inline bf_status check_room(const void* context, std::size_t bytes, std::size_t needed,
                                   std::size_t align) {
  if (context == nullptr) return BF_NULL_ARGUMENT;
  if (bytes < needed) return BF_CONTEXT_TOO_SMALL;
  if (reinterpret_cast<std::uintptr_t>(context) % align != 0) return BF_CONTEXT_MISALIGNED;
  return BF_OK;
}

// BF_OK when check_room() says so, and `context` holds a context of this verifier's.
static inline bf_status check_context(const void* context, std::size_t bytes, std::size_t needed,
                                      std::size_t align, std::uint64_t fingerprint) {
  if (const bf_status status = check_room(context, bytes, needed, align)) return status;
  const Context& state = *static_cast<const Context*>(context);
  return state.magic == kContextMagic && state.fingerprint == fingerprint ? BF_OK
                                                                          : BF_CONTEXT_FOREIGN;
}

// An empty context. The persistent part is cleared too: a blob never holds what lay there before.
static inline void init_context(void* context, std::uint64_t fingerprint, std::size_t begin,
                                std::size_t bytes) {
  Context& state = *static_cast<Context*>(context);
  state = Context{};
  state.fingerprint = fingerprint;
  unsigned char* const persistent = static_cast<unsigned char*>(context) + begin;
  for (std::size_t i = 0; i < bytes; ++i) persistent[i] = 0;
  settle_stores();
  state.magic = kContextMagic;
}

// ---- boxes

static inline bool same_bits(const float* a, const float* b, int n) {
  std::uint32_t different = 0;
  for (int i = 0; i < n; ++i) {
    std::uint32_t x, y;
    __builtin_memcpy(&x, a + i, sizeof x);
    __builtin_memcpy(&y, b + i, sizeof y);
    different |= x ^ y;
  }
  return different == 0;
}

// Returns true if a box lies inside another; check_box() has accepted both, so that none has a NaN.
static inline bool is_inside(const float* lower, const float* upper, const float* around_lower,
                             const float* around_upper, int n) {
  bool inside = true;
  for (int i = 0; i < n; ++i)
    inside = inside && lower[i] >= around_lower[i] && upper[i] <= around_upper[i];
  return inside;
}

static inline void copy_floats(const float* from, int n, float* to) {
  for (int i = 0; i < n; ++i) to[i] = from[i];
}

// ---- calls

// The places of the boxes in the context; null for those that the verifier does not keep.
struct KeptBoxes {
  float* last_lower;
  float* last_upper;
  float* anchor_lower;
  float* anchor_upper;
};

// The facts about a call that say which steps it may leave out.
struct CachedCall {
  std::uint32_t own;  // this entry point's mark
  bool shared;        // the shared steps were run on this box
  bool kept;          // and those that this entry point keeps
  bool inside;        // the box lies in the anchor, whose bounds hold; else it becomes the anchor
  bool is_anchor;     // it is the anchor's, or becomes it
};

// A box outside of the anchor starts anew, so that what is kept for the last box was always made
// with the anchor that is there.
static inline CachedCall begin_call(Context& state, const KeptBoxes& boxes, const float* lower,
                                    const float* upper, int n, unsigned entry) {
  CachedCall call = {2u << entry, false, false, false, false};
  bool replaces = false;
  if (boxes.anchor_lower != nullptr) {
    call.inside = (state.anchor & 1u) != 0 &&
                  is_inside(lower, upper, boxes.anchor_lower, boxes.anchor_upper, n);
    replaces = !call.inside;
    if (replaces) unmark(state.anchor);
  }
  if (boxes.last_lower != nullptr) {
    const bool same = !replaces && (state.last & 1u) != 0 &&
                      same_bits(lower, boxes.last_lower, n) &&
                      same_bits(upper, boxes.last_upper, n);
    call.shared = same;
    call.kept = same && (state.last & call.own) != 0;
    if (!same) {
      unmark(state.last);
      copy_floats(lower, n, boxes.last_lower);
      copy_floats(upper, n, boxes.last_upper);
    }
    ++(same ? state.counters.hits : state.counters.misses);
    if (call.kept) ++state.counters.full_hits;
  }
  if (boxes.anchor_lower != nullptr) {
    if (replaces) {
      copy_floats(lower, n, boxes.anchor_lower);
      copy_floats(upper, n, boxes.anchor_upper);
    }
    call.is_anchor =
        same_bits(lower, boxes.anchor_lower, n) && same_bits(upper, boxes.anchor_upper, n);
    ++(call.inside ? state.counters.anchor_hits : state.counters.anchor_misses);
  }
  ++state.counters.calls;
  return call;
}

// All that the call left out or made is there. `improves`: its slopes can be where another begins.
// They need no mark while they change: each is a float in [0, 1] at any time, and any serve.
static inline void end_call(Context& state, const KeptBoxes& boxes, const CachedCall& call,
                            bool improves = false) {
  if (improves && !call.kept) {
    if ((state.starts & call.own) != 0) ++state.counters.warm_starts;
    mark(state.starts, call.own);
  }
  if (boxes.last_lower != nullptr) mark(state.last, 1u | call.own);
  if (boxes.anchor_lower != nullptr) mark(state.anchor, 1);
}

// ---- the anchor's bounds

// Tightens below and above by low <= z <= high.
//
// Proof. Both hold for the same z, so the intersection does: centre - z <= centre - low, rounded up
// twice, and z - centre <= high - centre alike. A NaN or infinity of low or high becomes +inf in
// float_up and tightens nothing.
static inline void meet_anchor(int n, const float* low, const float* high, const double* centre,
                               float* below, float* above, Context& state) {
  std::uint32_t tightened = 0;
  for (int j = 0; j < n; ++j) {
    const float down = float_up(sub_up(centre[j], static_cast<double>(low[j])));
    const float up = float_up(sub_up(static_cast<double>(high[j]), centre[j]));
    if (down < below[j]) {
      below[j] = down;
      ++tightened;
    }
    if (up < above[j]) {
      above[j] = up;
      ++tightened;
    }
  }
  state.counters.intersections += tightened;
}

// z within [low, high]: floats around centre - below and centre + above.
static inline void keep_anchor(int n, const double* centre, const float* below, const float* above,
                               float* low, float* high) {
  for (int j = 0; j < n; ++j) {
    low[j] = float_down(sub_down(centre[j], static_cast<double>(below[j])));
    high[j] = float_up(add_up(centre[j], static_cast<double>(above[j])));
  }
}

// The caller's n bounds: within the anchor's when these are known, or kept as the anchor's.
static inline void meet_outputs(Context& state, const CachedCall& call, int n, float* low,
                                float* high, float* out_lower, float* out_upper) {
  if (call.inside && (state.anchor & call.own) != 0) {
    for (int j = 0; j < n; ++j) {
      if (low[j] > out_lower[j]) out_lower[j] = low[j];
      if (high[j] < out_upper[j]) out_upper[j] = high[j];
    }
  } else if (call.is_anchor) {
    copy_floats(out_lower, n, low);
    copy_floats(out_upper, n, high);
    mark(state.anchor, call.own);
  }
}

}  // namespace bf
