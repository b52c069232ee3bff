#pragma once

#include "bf.h"
#include "bf/c/core.h"

// Verdicts on a compiled-in property, from bounds of the linear forms C y that it speaks of:
// verify_property() and what it rests on in bf/search/verdict.h, in C99. What verdicts claim:
// docs/proofs/properties.md.

// The condition c y <= threshold, or c y >= threshold when at_least, on row c of C.
typedef struct bf_verdict_term {
  int32_t row;
  bool at_least;
  float threshold;
} bf_verdict_term;

// A property as constant data, in the order of PropertyTables.
typedef struct bf_property_tables {
  int32_t inputs;
  int32_t rows;
  int32_t cases;
  const float* lower;
  const float* upper;
  const unsigned char* inside;
  const uint32_t* case_clauses;
  const uint32_t* clause_terms;
  const bf_verdict_term* terms;
} bf_property_tables;

// NAME_spec_bounds.
typedef bf_status (*bf_bounds_of_rows)(const float* lower, const float* upper, float* out_lower,
                                       float* out_upper, void* workspace, size_t workspace_bytes);

// False for every y within the bounds. Where nothing is known (NaN included): false.
static inline bool bf_never_holds(const bf_verdict_term* term, const float* lower,
                                  const float* upper) {
  return term->at_least ? upper[term->row] < term->threshold : lower[term->row] > term->threshold;
}

// True for every y within the bounds.
static inline bool bf_always_holds(const bf_verdict_term* term, const float* lower,
                                   const float* upper) {
  return term->at_least ? lower[term->row] >= term->threshold : upper[term->row] <= term->threshold;
}

// A clause is excluded on a box when one of its terms never holds there, and certain when all
// always do.
static inline bool bf_is_excluded(const bf_property_tables* property, uint32_t clause,
                                  const float* lower, const float* upper) {
  for (uint32_t i = property->clause_terms[clause]; i < property->clause_terms[clause + 1u]; ++i)
    if (bf_never_holds(&property->terms[i], lower, upper)) return true;
  return false;
}

static inline bool bf_is_certain(const bf_property_tables* property, uint32_t clause,
                                 const float* lower, const float* upper) {
  for (uint32_t i = property->clause_terms[clause]; i < property->clause_terms[clause + 1u]; ++i)
    if (!bf_always_holds(&property->terms[i], lower, upper)) return false;
  return true;
}

// The part of the caller's box in a case's; false when there is none.
static inline bool bf_intersect_case(const bf_property_tables* property, int32_t index,
                                     const float* lower, const float* upper, float* box_lower,
                                     float* box_upper) {
  const ptrdiff_t first = (ptrdiff_t)index * property->inputs;
  for (int32_t i = 0; i < property->inputs; ++i) {
    const float low = property->lower[first + i];
    const float high = property->upper[first + i];
    box_lower[i] = lower[i] > low ? lower[i] : low;
    box_upper[i] = upper[i] < high ? upper[i] : high;
    if (box_lower[i] > box_upper[i]) return false;
  }
  return true;
}

// How a case's box covers a box that it meets: at how many of the box's ends that sticks out of it,
// and the last of these.
typedef struct bf_case_cover {
  bool meets;
  int ends;
  int32_t input;
  bool below;
} bf_case_cover;

static inline bf_case_cover bf_cover_of(const bf_property_tables* property, int32_t index,
                                        const float* lower, const float* upper) {
  const ptrdiff_t first = (ptrdiff_t)index * property->inputs;
  bf_case_cover cover = {true, 0, 0, false};
  for (int32_t i = 0; i < property->inputs; ++i) {
    const float low = property->lower[first + i];
    const float high = property->upper[first + i];
    if (lower[i] > high || upper[i] < low) cover.meets = false;
    if (lower[i] < low || upper[i] > high) {
      cover.ends += lower[i] < low && upper[i] > high ? 2 : 1;
      cover.input = i;
      cover.below = !(upper[i] > high);
    }
  }
  return cover;
}

// Leaves of the rest what is beyond a case's box that it sticks out of at one end alone; false
// where the rest was that before.
static inline bool bf_shrink_rest(const bf_property_tables* property, int32_t index,
                                  const bf_case_cover* cover, float* rest_lower,
                                  float* rest_upper) {
  const ptrdiff_t at = (ptrdiff_t)index * property->inputs + cover->input;
  const float end = cover->below ? property->lower[at] : property->upper[at];
  float* const old = (cover->below ? rest_upper : rest_lower) + cover->input;
  const bool shrunk = !bf_is_equal_float(*old, end);
  *old = end;
  return shrunk;
}

// The verdict on a box without a violation. rest_lower, rest_upper: memory for as many numbers as
// inputs.
static inline bf_verdict bf_verdict_within(const bf_property_tables* property, const float* lower,
                                           const float* upper, float* rest_lower,
                                           float* rest_upper) {
  bool meets = false;
  bool shrunk = true;
  for (int32_t i = 0; i < property->inputs; ++i) {
    rest_lower[i] = lower[i];
    rest_upper[i] = upper[i];
  }
  while (shrunk) {
    shrunk = false;
    for (int32_t index = 0; index < property->cases; ++index) {
      const bf_case_cover cover = bf_cover_of(property, index, rest_lower, rest_upper);
      if (!cover.meets) continue;
      meets = true;
      if (cover.ends == 0) return BF_VERIFIED;
      if (cover.ends == 1 && bf_shrink_rest(property, index, &cover, rest_lower, rest_upper))
        shrunk = true;
    }
  }
  return meets ? BF_PARTLY_OUTSIDE : BF_OUTSIDE;
}

// Shrinks the part of a case's box to the floats that are in the exact box; false when none is.
static inline bool bf_shrink_to_exact(const bf_property_tables* property, int32_t index,
                                      float* box_lower, float* box_upper) {
  const ptrdiff_t first = (ptrdiff_t)index * property->inputs;
  for (int32_t i = 0; i < property->inputs; ++i) {
    const unsigned inside = property->inside[first + i];
    if ((inside & 1u) == 0u && bf_is_equal_float(box_lower[i], property->lower[first + i]))
      box_lower[i] = bf_next_up_float(box_lower[i]);
    if ((inside & 2u) == 0u && bf_is_equal_float(box_upper[i], property->upper[first + i]))
      box_upper[i] = bf_next_down_float(box_upper[i]);
    if (box_lower[i] > box_upper[i]) return false;
  }
  return true;
}

// All corners are tried when at most so many inputs are free.
#define BF_ALL_CORNERS 4u

// Point `number` of a box: 0 its centre, then its corners, or the lowest and the highest alone.
// False beyond the last one.
static inline bool bf_choose_point(const float* lower, const float* upper, int32_t inputs,
                                   unsigned number, float* point) {
  unsigned free = 0u;
  unsigned seen = 0u;
  for (int32_t i = 0; i < inputs; ++i) free += lower[i] < upper[i] ? 1u : 0u;
  const unsigned corners = free == 0u ? 0u : free <= BF_ALL_CORNERS ? 1u << free : 2u;
  if (number > corners) return false;
  for (int32_t i = 0; i < inputs; ++i) {
    float x = 0.5f * lower[i] + 0.5f * upper[i];
    if (number > 0u) {
      const unsigned bit = free <= BF_ALL_CORNERS ? (number - 1u) >> (seen & 31u) : number - 1u;
      x = (bit & 1u) != 0u ? upper[i] : lower[i];
    }
    if (lower[i] < upper[i]) ++seen;
    if (x < lower[i]) x = lower[i];
    point[i] = x > upper[i] ? upper[i] : x;
  }
  return true;
}

// A verdict is made with the property, bounds of its rows, and memory for them.
typedef struct bf_verdict_call {
  const bf_property_tables* property;
  bf_bounds_of_rows bounds;
  void* workspace;
  size_t workspace_bytes;
  float* box_lower;
  float* box_upper;
  float* point;
  float* row_lower;
  float* row_upper;
} bf_verdict_call;

// Writes the clause that a point violates, if it does.
static inline void bf_find_certain(const bf_verdict_call* call, int32_t index, bf_result* found) {
  const bf_property_tables* const property = call->property;
  const uint32_t begin = property->case_clauses[index];
  for (uint32_t j = begin; j < property->case_clauses[index + 1]; ++j) {
    if (!bf_is_certain(property, j, call->row_lower, call->row_upper)) continue;
    found->verdict = BF_FALSIFIED;
    found->property_case = (uint32_t)index;
    found->clause = j - begin;
    for (int32_t i = 0; found->counterexample != NULL && i < property->inputs; ++i)
      found->counterexample[i] = call->point[i];
    return;
  }
}

// Looks for a point of the part of a case's box that violates the property.
static inline bf_status bf_find_violation(const bf_verdict_call* call, int32_t index,
                                          bf_result* found) {
  for (unsigned number = 0u; bf_choose_point(call->box_lower, call->box_upper,
                                             call->property->inputs, number, call->point);
       ++number) {
    const bf_status status = call->bounds(call->point, call->point, call->row_lower,
                                          call->row_upper, call->workspace, call->workspace_bytes);
    if (status != BF_OK) return status;
    bf_find_certain(call, index, found);
    if (found->verdict == BF_FALSIFIED) return BF_OK;
  }
  return BF_OK;
}

// Adds to `found` what bounds of C y on a part of a case's box say.
static inline bf_status bf_decide_case(const bf_verdict_call* call, int32_t index,
                                       bf_result* found) {
  const bf_property_tables* const property = call->property;
  const uint32_t begin = property->case_clauses[index];
  const uint32_t end = property->case_clauses[index + 1];
  uint32_t open = begin;
  while (open < end && bf_is_excluded(property, open, call->row_lower, call->row_upper)) ++open;
  if (open == end) return BF_OK;
  if (found->verdict == BF_VERIFIED) {
    found->verdict = BF_UNKNOWN;
    found->property_case = (uint32_t)index;
    found->clause = open - begin;
  }
  if (!bf_shrink_to_exact(property, index, call->box_lower, call->box_upper)) return BF_OK;
  return bf_find_violation(call, index, found);
}

// The verdict on a box that bf_check_box() accepts. scratch: verify_bytes() of
// bf/contract/workspace.h.
static inline bf_status bf_verify_property(const bf_property_tables* property, const float* lower,
                                           const float* upper, bf_result* result, float* scratch,
                                           bf_bounds_of_rows bounds, void* workspace,
                                           size_t workspace_bytes) {
  const ptrdiff_t inputs = property->inputs;
  const bf_verdict_call call = {property,
                                bounds,
                                workspace,
                                workspace_bytes,
                                scratch,
                                scratch + inputs,
                                scratch + 2 * inputs,
                                scratch + 3 * inputs,
                                scratch + 3 * inputs + property->rows};
  bf_result found = {BF_VERIFIED, 0u, 0u, result->counterexample};
  for (int32_t index = 0; index < property->cases && found.verdict != BF_FALSIFIED; ++index) {
    if (!bf_intersect_case(property, index, lower, upper, call.box_lower, call.box_upper)) continue;
    bf_status status = bounds(call.box_lower, call.box_upper, call.row_lower, call.row_upper,
                              workspace, workspace_bytes);
    if (status == BF_OK) status = bf_decide_case(&call, index, &found);
    if (status != BF_OK) return status;
  }
  if (found.verdict == BF_VERIFIED)
    found.verdict = bf_verdict_within(property, lower, upper, call.box_lower, call.box_upper);
  *result = found;
  return BF_OK;
}
