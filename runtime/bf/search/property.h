#pragma once

#include "bf.h"
#include "bf/contract/integers.h"

// Verdicts on a compiled-in property, from bounds of the linear forms C y that it speaks of. As in
// bounds.h: internal linkage, no heap, no state. What verdicts claim: docs/proofs/properties.md.
//
// Templates over what a box's ends and bounds of rows are: floats (verdict.h), or floats that are
// compared as integers and sums of integers (integer/verdict.h).

namespace bf {

// The numbers next to an end of a box, and one between two of them:
//   static Number after(Number x), before(Number x), middle(Number low, Number high)
template <class Number>
struct Ends;

// The condition c y <= threshold, or c y >= threshold when at_least, on row c of C.
//
// The property's own limit d is a real number. Bounds of c y are floats, and for a float f
//     f > d  if and only if  f > t,   t the greatest float <= d,
// since f > t means that f is at least the float next to t, which is above d. So comparing with t
// is comparing with d. A strict condition c y < d has the greatest float < d for t (f >= d if and
// only if f > t); conditions from below are the mirror image. Where bounds are sums of integers, t
// is a whole number: docs/proofs/integer-grid.md.
template <class Row>
struct VerdictTermOf {
  std::int32_t row;
  bool at_least;
  Row threshold;
};

// False for every y within the bounds. Where nothing is known (NaN included): false.
template <class Row>
static inline bool never_holds(const VerdictTermOf<Row>& term, const Row* lower, const Row* upper) {
  return term.at_least ? upper[term.row] < term.threshold : lower[term.row] > term.threshold;
}

// True for every y within the bounds.
template <class Row>
static inline bool always_holds(const VerdictTermOf<Row>& term, const Row* lower,
                                const Row* upper) {
  return term.at_least ? lower[term.row] >= term.threshold : upper[term.row] <= term.threshold;
}

// A property as constant data: case i has box [lower, upper] and the clauses case_clauses[i] up to
// case_clauses[i + 1], clause j the terms clause_terms[j] up to clause_terms[j + 1].
template <class EndOfBox, class RowOfSpec>
struct PropertyTablesOf {
  using Number = EndOfBox;
  using Row = RowOfSpec;

  std::int32_t inputs;
  std::int32_t rows;
  std::int32_t cases;
  const Number* lower;  // [cases][inputs], the least float box around the exact one
  const Number* upper;
  const unsigned char* inside;  // [cases][inputs]: 1, 2: the lower, upper float is in the exact box
  const std::uint32_t* case_clauses;
  const std::uint32_t* clause_terms;
  const VerdictTermOf<Row>* terms;
};

template <class Tables>
using NumberOf = typename Tables::Number;
template <class Tables>
using RowOf = typename Tables::Row;

// The case that a clause belongs to: the last that begins at or before it.
template <class Tables>
static inline std::uint32_t case_of(const Tables& property, std::uint32_t clause) {
  std::uint32_t low = 0, high = static_cast<std::uint32_t>(property.cases);
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (property.case_clauses[middle] <= clause ? low : high) = middle;
  }
  return low;
}

// A clause is excluded on a box when one of its terms never holds there, and certain when all
// always do.
template <class Tables>
static inline bool is_excluded(const Tables& property, std::uint32_t clause,
                               const RowOf<Tables>* lower, const RowOf<Tables>* upper) {
  for (std::uint32_t i = property.clause_terms[clause]; i < property.clause_terms[clause + 1]; ++i)
    if (never_holds(property.terms[i], lower, upper)) return true;
  return false;
}
template <class Tables>
static inline bool is_certain(const Tables& property, std::uint32_t clause,
                              const RowOf<Tables>* lower, const RowOf<Tables>* upper) {
  for (std::uint32_t i = property.clause_terms[clause]; i < property.clause_terms[clause + 1]; ++i)
    if (!always_holds(property.terms[i], lower, upper)) return false;
  return true;
}

// The part of the caller's box in a case's, into box_lower, box_upper; false when there is none.
template <class Tables>
static inline bool intersect_case(const Tables& property, std::int32_t index,
                                  const NumberOf<Tables>* lower, const NumberOf<Tables>* upper,
                                  NumberOf<Tables>* box_lower, NumberOf<Tables>* box_upper) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(index) * property.inputs;
  for (std::int32_t i = 0; i < property.inputs; ++i) {
    const NumberOf<Tables> low = property.lower[first + i];
    const NumberOf<Tables> high = property.upper[first + i];
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

template <class Tables>
static inline CaseCover cover_of(const Tables& property, std::int32_t index,
                                 const NumberOf<Tables>* lower, const NumberOf<Tables>* upper) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(index) * property.inputs;
  CaseCover cover = {true, 0, 0, false};
  for (std::int32_t i = 0; i < property.inputs; ++i) {
    const NumberOf<Tables> low = property.lower[first + i];
    const NumberOf<Tables> high = property.upper[first + i];
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
template <class Tables>
static inline bf_verdict verdict_within(const Tables& property, const NumberOf<Tables>* lower,
                                        const NumberOf<Tables>* upper, NumberOf<Tables>* rest_lower,
                                        NumberOf<Tables>* rest_upper) {
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
      const NumberOf<Tables> end = cover.below ? property.lower[at] : property.upper[at];
      NumberOf<Tables>* const old = (cover.below ? rest_upper : rest_lower) + cover.input;
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
template <class Tables>
static inline bool shrink_to_exact(const Tables& property, std::int32_t index,
                                   NumberOf<Tables>* box_lower, NumberOf<Tables>* box_upper) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(index) * property.inputs;
  for (std::int32_t i = 0; i < property.inputs; ++i) {
    const unsigned inside = property.inside[first + i];
    if ((inside & 1u) == 0 && box_lower[i] == property.lower[first + i])
      box_lower[i] = Ends<NumberOf<Tables>>::after(box_lower[i]);
    if ((inside & 2u) == 0 && box_upper[i] == property.upper[first + i])
      box_upper[i] = Ends<NumberOf<Tables>>::before(box_upper[i]);
    if (box_lower[i] > box_upper[i]) return false;
  }
  return true;
}

// Point `number` of a box: 0 its centre, then its corners: all of them when at most kAllCorners
// inputs are free, else the lowest and the highest. False beyond the last one.
constexpr int kAllCorners = 4;

template <class Number>
static inline bool choose_point(const Number* lower, const Number* upper, std::int32_t inputs,
                                unsigned number, Number* point) {
  unsigned free = 0;
  for (std::int32_t i = 0; i < inputs; ++i) free += lower[i] < upper[i] ? 1u : 0u;
  const unsigned corners = free == 0 ? 0 : free <= kAllCorners ? 1u << free : 2u;
  if (number > corners) return false;
  unsigned seen = 0;
  for (std::int32_t i = 0; i < inputs; ++i) {
    Number x = Ends<Number>::middle(lower[i], upper[i]);
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
template <class Tables, class Bounds>
static inline bf_status find_violation(const Tables& property, std::int32_t index,
                                       const NumberOf<Tables>* lower, const NumberOf<Tables>* upper,
                                       RowOf<Tables>* row_lower, RowOf<Tables>* row_upper,
                                       NumberOf<Tables>* point, bf_result* result,
                                       const Bounds& bounds) {
  for (unsigned number = 0; choose_point(lower, upper, property.inputs, number, point); ++number) {
    if (const bf_status status = bounds(point, point, row_lower, row_upper)) return status;
    const std::uint32_t begin = property.case_clauses[index];
    for (std::uint32_t j = begin; j < property.case_clauses[index + 1]; ++j) {
      if (!is_certain(property, j, row_lower, row_upper)) continue;
      result->verdict = BF_FALSIFIED;
      result->property_case = static_cast<std::uint32_t>(index);
      result->clause = j - begin;
      auto* const violating = reinterpret_cast<NumberOf<Tables>*>(result->counterexample);
      if (violating != nullptr)
        for (std::int32_t i = 0; i < property.inputs; ++i) violating[i] = point[i];
      return BF_OK;
    }
  }
  return BF_OK;
}

// Adds to `found`, the verdict on the cases before, what bounds of C y on a part of a case's box
// say. The part, its bounds and `point` (of as many numbers as inputs) are used up.
template <class Tables, class Bounds>
static inline bf_status decide_case(const Tables& property, std::int32_t index,
                                    NumberOf<Tables>* box_lower, NumberOf<Tables>* box_upper,
                                    RowOf<Tables>* row_lower, RowOf<Tables>* row_upper,
                                    NumberOf<Tables>* point, bf_result* found,
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
// y. numbers: room for three of a box's ends for each input; rows: for two of each row.
//
// Verified is a proof: a point of the box that is in the exact box of a case is in the intersection
// of the float boxes, where each clause has a condition that never holds. It is said of boxes in
// the property's region alone: see verdict_within(). Falsified is one: the
// point is in the exact box, and all conditions of the clause hold for every y within the bounds at
// that point, hence for its own.
template <class Tables, class Bounds>
static inline bf_status verify_property(const Tables& property, const NumberOf<Tables>* lower,
                                        const NumberOf<Tables>* upper, bf_result* result,
                                        NumberOf<Tables>* numbers, RowOf<Tables>* rows,
                                        const Bounds& bounds) {
  NumberOf<Tables>* const box_lower = numbers;
  NumberOf<Tables>* const box_upper = box_lower + property.inputs;
  NumberOf<Tables>* const point = box_upper + property.inputs;
  RowOf<Tables>* const row_lower = rows;
  RowOf<Tables>* const row_upper = row_lower + property.rows;
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

}  // namespace bf
