#pragma once

#include "bf/contract/integers.h"
#include "bf/contract/workspace.h"
#include "bf/search/clip.h"
#include "bf/search/verdict.h"

// Excludes a clause by a combination of its terms where none of them alone does: their lines, each
// times a multiplier >= 0, are one line that is above 0 on all of the box. Proof:
// docs/proofs/branch-and-bound.md.

namespace bf {

// Lines that are combined with others in turn, times that others are added, and points at which a
// multiplier is tried, at most.
constexpr int kMostFirst = 8;
constexpr int kSweeps = 3;
constexpr int kTries = 12;
// Multipliers beyond these, or below their inverse, are not used, so that no product leaves the
// normal range of double: those of three floats and one of them are within 2^±750.
constexpr double kMostMultiplier = 0x1p+300;

// StoredDoubles in memory that is aligned for float.
struct StoredDoubles {
  float* memory;

  double at(std::size_t i) const {
    double x;
    __builtin_memcpy(&x, memory + 2 * i, sizeof x);
    return x;
  }
  void set(std::size_t i, double x) const { __builtin_memcpy(memory + 2 * i, &x, sizeof x); }
};

// constant + sum of factor_k s_k, with s_k = x_k - lower_k from 0 to the box's width: at most the
// sum of multiplier (q - limit) over the lines that were added.
struct CombinedLine {
  StoredDoubles factor;  // [inputs]
  double constant;
  double size;      // at least the magnitudes of all numbers that were added up
  double products;  // lines that were added
};

static inline double width_of(BoxView box, std::size_t k) {
  return static_cast<double>(box.upper[k]) - static_cast<double>(box.lower[k]);
}

// A term's line as a function of s: its constant, without the limit, and the magnitudes in it.
struct TermSums {
  double constant;  // least - limit + the products at the lower ends
  double size;
};

static inline TermSums sums_of(const VerdictTerm& term, const float* line, std::size_t inputs,
                               BoxView box) {
  const double least = static_cast<double>(line[inputs]);
  const double limit = limit_of(term);
  TermSums sums = {least - limit, __builtin_fabs(least) + __builtin_fabs(limit)};
  for (std::size_t k = 0; k < inputs; ++k) {
    const double product = static_cast<double>(line[k]) * width_of(box, k);
    if (product < 0) sums.constant -= product;
    sums.size += __builtin_fabs(product);
  }
  return sums;
}

// The least value over the box of line + t * other, and its slope there along t. With t = 0 that of
// the line alone.
struct AlongLine {
  double value, slope;
};

static inline AlongLine value_along(const CombinedLine& line, const float* other, double constant,
                                    double t, std::size_t inputs, BoxView box) {
  AlongLine made = {line.constant + t * constant, constant};
  for (std::size_t k = 0; k < inputs; ++k) {
    const double factor = line.factor.at(k) + t * static_cast<double>(other[k]);
    if (!(factor < 0)) continue;
    const double width = width_of(box, k);
    made.value += factor * width;
    made.slope += static_cast<double>(other[k]) * width;
  }
  return made;
}

// The multiplier of `other` at which the least value is greatest, of several the largest: a concave
// function made of lines, of which the two around its top meet near there.
static inline double best_multiplier(const CombinedLine& line, const float* other, double constant,
                                     std::size_t inputs, BoxView box) {
  double low = 0, high = 0;
  for (std::size_t k = 0; k < inputs; ++k) {
    const double at = -line.factor.at(k) / static_cast<double>(other[k]);
    if (at > high && at < kMostMultiplier) high = at;
  }
  if (high == 0) high = 1;
  AlongLine at_low = value_along(line, other, constant, low, inputs, box);
  AlongLine at_high = value_along(line, other, constant, high, inputs, box);
  if (!(at_low.slope >= 0)) return 0;
  if (at_high.slope > 0) {  // it rises for ever: no point of the box has both
    const double more = high + (__builtin_fabs(at_high.value) + 1) / at_high.slope;
    return more < kMostMultiplier ? more : 0;
  }
  for (int i = 0; i < kTries && at_low.slope > at_high.slope; ++i) {
    const double t = (at_high.value - at_low.value + low * at_low.slope - high * at_high.slope) /
                     (at_low.slope - at_high.slope);
    if (!(low < t && t < high)) break;
    const AlongLine at = value_along(line, other, constant, t, inputs, box);
    if (at.slope >= 0) {
      low = t;
      at_low = at;
    } else {
      high = t;
      at_high = at;
    }
  }
  return at_high.value >= at_low.value ? high : low;
}

static inline void add_times(CombinedLine& line, const float* other, const TermSums& sums, double t,
                             std::size_t inputs) {
  line.constant += t * sums.constant;
  line.size += t * sums.size;
  line.products += 1;
  for (std::size_t k = 0; k < inputs; ++k)
    line.factor.set(k, line.factor.at(k) + t * static_cast<double>(other[k]));
}

// Moves the ends of the box `to` inward to where the combination is below 0, as it is at every
// violation. True when that is nowhere.
static inline bool clip_by_combination(const CombinedLine& line, std::size_t inputs, BoxView box,
                                       BoxEnds to) {
  double least = line.constant;
  for (std::size_t k = 0; k < inputs; ++k)
    if (line.factor.at(k) < 0) least += line.factor.at(k) * width_of(box, k);
  const double roundings = 2 * static_cast<double>(inputs) + 2 * line.products + 32;
  const double room = line.size * (roundings * 0x1p-52) - least;
  if (room <= 0) return true;
  for (std::size_t k = 0; k < inputs; ++k) clip_input(line.factor.at(k), room, k, box, to);
  return false;
}

// The part of a clause's terms that are combined, and the memory for it.
struct Combination {
  const PropertyTables& property;
  std::uint32_t begin, end;  // of the terms
  const RowsView& rows;
  std::size_t inputs;
  BoxView box;
  float* memory;  // [2 inputs]
};

// Combines the line of term `first` with those of the others, one after the other, each times the
// multiplier that is best where those before it are as they are. True when that excludes the
// clause; else the ends of `to` move inward.
static inline bool combine_from(const Combination& c, std::uint32_t first, BoxEnds to) {
  CombinedLine line = {{c.memory}, 0, 0, 0};
  for (std::size_t k = 0; k < c.inputs; ++k) line.factor.set(k, 0);
  const auto add = [&](std::uint32_t i, double t) {
    const VerdictTerm& term = c.property.terms[i];
    const float* const other = line_of(term, c.rows.lines, c.inputs);
    const TermSums sums = sums_of(term, other, c.inputs, c.box);
    if (!(sums.size < __builtin_inf())) return false;
    if (t == 0) t = best_multiplier(line, other, sums.constant, c.inputs, c.box);
    if (!(t > 1 / kMostMultiplier)) return false;
    add_times(line, other, sums, t, c.inputs);
    return true;
  };
  if (!add(first, 1)) return false;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool added = false;
    for (std::uint32_t i = c.begin; i < c.end; ++i)
      if (i != first && add(i, 0)) added = true;
    if (!added) return false;
    if (clip_by_combination(line, c.inputs, c.box, to)) return true;
  }
  return false;
}

// Moves the ends of the box `to` inward, to what of the box that the lines are of a clause leaves
// where its terms are combined. True when that is nothing: the clause is excluded. memory: [2
// inputs].
static inline bool clip_by_combinations(const PropertyTables& property, std::uint32_t clause,
                                        const RowsView& rows, std::size_t inputs, BoxView box,
                                        float* memory, BoxEnds to) {
  const Combination c = {
      property, property.clause_terms[clause], property.clause_terms[clause + 1], rows, inputs, box,
      memory};
  if (c.end - c.begin < 2) return false;
  const std::uint32_t last = c.end - c.begin > kMostFirst ? c.begin + kMostFirst : c.end;
  for (std::uint32_t first = c.begin; first < last; ++first)
    if (combine_from(c, first, to)) return true;
  return false;
}

// Writes the least box that has all of `box` where one of the clauses begin .. end may hold, as far
// as their rows' bounds, single lines and combinations of these say. False when none may hold
// anywhere. combined: memory, [2 inputs].
static inline bool clip_box(const PropertyTables& property, std::uint32_t begin, std::uint32_t end,
                            const RowsView& rows, std::size_t inputs, BoxView box, BoxEnds memory,
                            float* combined, BoxEnds to) {
  bool any = false;
  for (std::uint32_t j = begin; j < end; ++j) {
    if (is_excluded(property, j, rows.lower, rows.upper)) continue;
    const BoxEnds one = any ? memory : to;
    for (std::size_t k = 0; k < inputs; ++k) {
      one.lower[k] = box.lower[k];
      one.upper[k] = box.upper[k];
    }
    for (std::uint32_t i = property.clause_terms[j]; i < property.clause_terms[j + 1]; ++i)
      clip_by_term(property.terms[i], rows.lines, inputs, box, one);
    bool empty = clip_by_combinations(property, j, rows, inputs, box, combined, one);
    // Each end has terms that nothing beyond it satisfies.
    for (std::size_t k = 0; k < inputs; ++k) empty = empty || one.lower[k] > one.upper[k];
    if (empty) continue;
    for (std::size_t k = 0; k < inputs && any; ++k) {
      if (one.lower[k] < to.lower[k]) to.lower[k] = one.lower[k];
      if (one.upper[k] > to.upper[k]) to.upper[k] = one.upper[k];
    }
    any = true;
  }
  return any;
}

}  // namespace bf
