#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/core/rounding.h"

// Verdicts on a compiled-in property, from bounds of the linear forms C y that it speaks of. As in
// bounds.h: internal linkage, no heap, no state. What verdicts claim:
// docs/proofs/properties.md.

namespace bf {

// A box, and one that is written: [inputs] each.
struct BoxView {
  const float* lower;
  const float* upper;
};
struct BoxEnds {
  float* lower;
  float* upper;
};

// Bounds of the rows over a box, and the lines that gave them.
struct RowsView {
  const float* lower;  // [rows]
  const float* upper;
  const float* lines;  // [rows][2][inputs + 1], of keep_coefficients()
};

// The condition c y <= threshold, or c y >= threshold when at_least, on row c of C.
//
// The property's own limit d is a real number. Bounds of c y are floats, and for a float f
//     f > d  if and only if  f > t,   t the greatest float <= d,
// since f > t means that f is at least the float next to t, which is above d. So comparing with t
// is comparing with d. A strict condition c y < d has the greatest float < d for t (f >= d if and
// only if f > t); conditions from below are the mirror image.
struct VerdictTerm {
  std::int32_t row;
  bool at_least;
  float threshold;
};

// False for every y within the bounds. Where nothing is known (NaN included): false.
static inline bool never_holds(const VerdictTerm& term, const float* lower, const float* upper) {
  return term.at_least ? upper[term.row] < term.threshold : lower[term.row] > term.threshold;
}

// True for every y within the bounds.
static inline bool always_holds(const VerdictTerm& term, const float* lower, const float* upper) {
  return term.at_least ? lower[term.row] >= term.threshold : upper[term.row] <= term.threshold;
}

// A property as constant data: case i has box [lower, upper] and the clauses case_clauses[i] up to
// case_clauses[i + 1], clause j the terms clause_terms[j] up to clause_terms[j + 1].
struct PropertyTables {
  std::int32_t inputs;
  std::int32_t rows;
  std::int32_t cases;
  const float* lower;  // [cases][inputs], the least float box around the exact one
  const float* upper;
  const unsigned char* inside;  // [cases][inputs]: 1, 2: the lower, upper float is in the exact box
  const std::uint32_t* case_clauses;
  const std::uint32_t* clause_terms;
  const VerdictTerm* terms;
};

// The case that a clause belongs to: the last that begins at or before it.
static inline std::uint32_t case_of(const PropertyTables& property, std::uint32_t clause) {
  std::uint32_t low = 0, high = static_cast<std::uint32_t>(property.cases);
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (property.case_clauses[middle] <= clause ? low : high) = middle;
  }
  return low;
}

// A clause is excluded on a box when one of its terms never holds there, and certain when all
// always do.
static inline bool is_excluded(const PropertyTables& property, std::uint32_t clause,
                               const float* lower, const float* upper) {
  for (std::uint32_t i = property.clause_terms[clause]; i < property.clause_terms[clause + 1]; ++i)
    if (never_holds(property.terms[i], lower, upper)) return true;
  return false;
}
static inline bool is_certain(const PropertyTables& property, std::uint32_t clause,
                              const float* lower, const float* upper) {
  for (std::uint32_t i = property.clause_terms[clause]; i < property.clause_terms[clause + 1]; ++i)
    if (!always_holds(property.terms[i], lower, upper)) return false;
  return true;
}

// The part of the caller's box in a case's, into box_lower, box_upper; false when there is none.
static inline bool intersect_case(const PropertyTables& property, std::int32_t index,
                                  const float* lower, const float* upper, float* box_lower,
                                  float* box_upper) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(index) * property.inputs;
  for (std::int32_t i = 0; i < property.inputs; ++i) {
    const float low = property.lower[first + i];
    const float high = property.upper[first + i];
    box_lower[i] = lower[i] > low ? lower[i] : low;
    box_upper[i] = upper[i] < high ? upper[i] : high;
    if (box_lower[i] > box_upper[i]) return false;
  }
  return true;
}

// How a case's box covers a box that it meets: at how many of the box's ends that sticks out of it,
// and the last of these.
struct CaseCover {
  bool meets;
  int ends;
  std::int32_t input;
  bool below;
};

static inline CaseCover cover_of(const PropertyTables& property, std::int32_t index,
                                 const float* lower, const float* upper) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(index) * property.inputs;
  CaseCover cover = {true, 0, 0, false};
  for (std::int32_t i = 0; i < property.inputs; ++i) {
    const float low = property.lower[first + i];
    const float high = property.upper[first + i];
    if (lower[i] > high || upper[i] < low) return {false, 0, 0, false};
    if (lower[i] < low) cover = {true, cover.ends + 1, i, true};
    if (upper[i] > high) cover = {true, cover.ends + 1, i, false};
  }
  return cover;
}

// The verdict on a box without a violation. Verified: it lies in the property's region, the union
// of the cases' boxes. rest_lower, rest_upper: memory for as many numbers as inputs.
//
// A case's box that the rest sticks out of at one end alone covers all of it but what is beyond
// that end, which is the rest from then on. Both are closed: what covers the rest without its face
// covers its closure. A box that cases cover without such an order is said to be partly outside.
static inline bf_verdict verdict_within(const PropertyTables& property, const float* lower,
                                        const float* upper, float* rest_lower, float* rest_upper) {
  for (std::int32_t i = 0; i < property.inputs; ++i) {
    rest_lower[i] = lower[i];
    rest_upper[i] = upper[i];
  }
  bool meets = false;
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (std::int32_t index = 0; index < property.cases; ++index) {
      const CaseCover cover = cover_of(property, index, rest_lower, rest_upper);
      meets = meets || cover.meets;
      if (!cover.meets || cover.ends > 1) continue;
      if (cover.ends == 0) return BF_VERIFIED;
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(index) * property.inputs + cover.input;
      const float end = cover.below ? property.lower[at] : property.upper[at];
      float* const old = (cover.below ? rest_upper : rest_lower) + cover.input;
      shrunk = shrunk || *old != end;
      *old = end;
    }
  }
  return meets ? BF_PARTLY_OUTSIDE : BF_OUTSIDE;
}

// Shrinks the part of a case's box to the floats that are in the exact box; false when none is.
//
// A float end of the outer box that is not in the exact one is the nearest float outside of it: the
// next one inward is the first inside.
static inline bool shrink_to_exact(const PropertyTables& property, std::int32_t index,
                                   float* box_lower, float* box_upper) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(index) * property.inputs;
  for (std::int32_t i = 0; i < property.inputs; ++i) {
    const unsigned inside = property.inside[first + i];
    if ((inside & 1u) == 0 && box_lower[i] == property.lower[first + i])
      box_lower[i] = next_up(box_lower[i]);
    if ((inside & 2u) == 0 && box_upper[i] == property.upper[first + i])
      box_upper[i] = next_down(box_upper[i]);
    if (box_lower[i] > box_upper[i]) return false;
  }
  return true;
}

// Point `number` of a box: 0 its centre, then its corners: all of them when at most kAllCorners
// inputs are free, else the lowest and the highest. False beyond the last one.
constexpr int kAllCorners = 4;

static inline bool choose_point(const float* lower, const float* upper, std::int32_t inputs,
                                unsigned number, float* point) {
  unsigned free = 0;
  for (std::int32_t i = 0; i < inputs; ++i) free += lower[i] < upper[i] ? 1u : 0u;
  const unsigned corners = free == 0 ? 0 : free <= kAllCorners ? 1u << free : 2u;
  if (number > corners) return false;
  unsigned seen = 0;
  for (std::int32_t i = 0; i < inputs; ++i) {
    float x = 0.5f * lower[i] + 0.5f * upper[i];
    if (number > 0) {
      const unsigned bit = free <= kAllCorners ? (number - 1) >> (seen & 31u) : number - 1;
      x = (bit & 1u) != 0 ? upper[i] : lower[i];
    }
    if (lower[i] < upper[i]) ++seen;
    point[i] = x < lower[i] ? lower[i] : x > upper[i] ? upper[i] : x;
  }
  return true;
}

// Looks for a point of [lower, upper], floats of the exact box of a case, that violates the
// property. `bounds` is as in verify_property. Writes the clause and the point when found.
template <class Bounds>
static inline bf_status find_violation(const PropertyTables& property, std::int32_t index,
                                       const float* lower, const float* upper, float* row_lower,
                                       float* row_upper, float* point, bf_result* result,
                                       const Bounds& bounds) {
  for (unsigned number = 0; choose_point(lower, upper, property.inputs, number, point); ++number) {
    if (const bf_status status = bounds(point, point, row_lower, row_upper)) return status;
    const std::uint32_t begin = property.case_clauses[index];
    for (std::uint32_t j = begin; j < property.case_clauses[index + 1]; ++j) {
      if (!is_certain(property, j, row_lower, row_upper)) continue;
      result->verdict = BF_FALSIFIED;
      result->property_case = static_cast<std::uint32_t>(index);
      result->clause = j - begin;
      if (result->counterexample != nullptr)
        for (std::int32_t i = 0; i < property.inputs; ++i) result->counterexample[i] = point[i];
      return BF_OK;
    }
  }
  return BF_OK;
}

// Adds to `found`, the verdict on the cases before, what bounds of C y on a part of a case's box
// say. The part, its bounds and `point` (of as many numbers as inputs) are used up.
template <class Bounds>
static inline bf_status decide_case(const PropertyTables& property, std::int32_t index,
                                    float* box_lower, float* box_upper, float* row_lower,
                                    float* row_upper, float* point, bf_result* found,
                                    const Bounds& bounds) {
  const std::uint32_t begin = property.case_clauses[index];
  const std::uint32_t end = property.case_clauses[index + 1];
  std::uint32_t open = begin;
  while (open < end && is_excluded(property, open, row_lower, row_upper)) ++open;
  if (open == end) return BF_OK;
  if (found->verdict == BF_VERIFIED)
    *found = {BF_UNKNOWN, static_cast<std::uint32_t>(index), open - begin, found->counterexample};
  if (!shrink_to_exact(property, index, box_lower, box_upper)) return BF_OK;
  return find_violation(property, index, box_lower, box_upper, row_lower, row_upper, point, found,
                        bounds);
}

// The verdict on a box that check_box accepts. bounds(lower, upper, row_lower, row_upper) bounds C
// y. scratch: verify_bytes().
//
// Verified is a proof: a point of the box that is in the exact box of a case is in the intersection
// of the float boxes, where each clause has a condition that never holds. It is said of boxes in
// the property's region alone: see verdict_within(). Falsified is one: the
// point is in the exact box, and all conditions of the clause hold for every y within the bounds at
// that point, hence for its own.
template <class Bounds>
static inline bf_status verify_property(const PropertyTables& property, const float* lower,
                                        const float* upper, bf_result* result, float* scratch,
                                        const Bounds& bounds) {
  float* const box_lower = scratch;
  float* const box_upper = box_lower + property.inputs;
  float* const point = box_upper + property.inputs;
  float* const row_lower = point + property.inputs;
  float* const row_upper = row_lower + property.rows;
  bf_result found = {BF_VERIFIED, 0, 0, result->counterexample};
  for (std::int32_t index = 0; index < property.cases; ++index) {
    if (!intersect_case(property, index, lower, upper, box_lower, box_upper)) continue;
    if (const bf_status status = bounds(box_lower, box_upper, row_lower, row_upper)) return status;
    if (const bf_status status = decide_case(property, index, box_lower, box_upper, row_lower,
                                             row_upper, point, &found, bounds))
      return status;
    if (found.verdict == BF_FALSIFIED) break;
  }
  if (found.verdict == BF_VERIFIED)
    found.verdict = verdict_within(property, lower, upper, box_lower, box_upper);
  *result = found;
  return BF_OK;
}

// verify_boxes, but that a failure leaves verdicts on boxes whose cases have not all been looked
// at.
template <class Together, class Bounds>
static inline bf_status decide_boxes(const PropertyTables& property, std::size_t count,
                                     const float* lower, const float* upper, bf_result* results,
                                     const bf_status* statuses, float* scratch,
                                     const Together& together, const Bounds& bounds) {
  static_assert(sizeof(bf_status) <= sizeof(float), "bf: a status has the room of a float");
  const auto inputs = static_cast<std::size_t>(property.inputs);
  const auto rows = static_cast<std::size_t>(property.rows);
  float* const box_lower = scratch;
  float* const box_upper = box_lower + count * inputs;
  float* const row_lower = box_upper + count * inputs;
  float* const row_upper = row_lower + count * rows;
  float* const point = row_upper + count * rows;
  auto* const box = reinterpret_cast<std::uint32_t*>(point + inputs);  // of each part
  auto* const part_statuses = reinterpret_cast<bf_status*>(box + count);
  for (std::size_t i = 0; i < count; ++i)
    if (statuses[i] == BF_OK) results[i] = {BF_VERIFIED, 0, 0, results[i].counterexample};
  for (std::int32_t index = 0; index < property.cases; ++index) {
    std::size_t parts = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (statuses[i] == BF_OK && results[i].verdict != BF_FALSIFIED &&
          intersect_case(property, index, lower + i * inputs, upper + i * inputs,
                         box_lower + parts * inputs, box_upper + parts * inputs))
        box[parts++] = static_cast<std::uint32_t>(i);
    if (parts == 0) continue;
    if (const bf_status status =
            together(parts, box_lower, box_upper, row_lower, row_upper, part_statuses))
      return status;
    for (std::size_t k = 0; k < parts; ++k)
      if (const bf_status status = decide_case(
              property, index, box_lower + k * inputs, box_upper + k * inputs, row_lower + k * rows,
              row_upper + k * rows, point, &results[box[k]], bounds))
        return status;
  }
  for (std::size_t i = 0; i < count; ++i)
    if (statuses[i] == BF_OK && results[i].verdict == BF_VERIFIED)
      results[i].verdict =
          verdict_within(property, lower + i * inputs, upper + i * inputs, box_lower, box_upper);
  return BF_OK;
}

// verify_property of each box with BF_OK, the same results: case after case, whose parts of the
// boxes together(count, lower, upper, row_lower, row_upper, statuses) bounds in one call. scratch:
// verify_boxes_bytes(). A failure is that of each of these boxes.
template <class Together, class Bounds>
static inline bf_status verify_boxes(const PropertyTables& property, std::size_t count,
                                     const float* lower, const float* upper, bf_result* results,
                                     bf_status* statuses, float* scratch, const Together& together,
                                     const Bounds& bounds) {
  const bf_status failure =
      decide_boxes(property, count, lower, upper, results, statuses, scratch, together, bounds);
  if (failure == BF_OK) return BF_OK;
  for (std::size_t i = 0; i < count; ++i)
    if (statuses[i] == BF_OK) {
      statuses[i] = failure;
      results[i].verdict = BF_UNKNOWN;
    }
  return failure;
}

}  // namespace bf
