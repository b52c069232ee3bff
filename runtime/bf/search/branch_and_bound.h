#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/contract/workspace.h"
#include "bf/search/combine.h"
#include "bf/search/splits.h"
#include "bf/search/verdict.h"

// Decides a property on a box by branch and bound: a box that bounds do not decide is split in two,
// and points between boxes are tried. Proof: docs/proofs/branch-and-bound.md. As in bounds.h:
// internal linkage, no heap, no state. Nothing depends on time: every run takes the same way.

namespace bf {

// Points are tried in runs, which close in on one: so many in a row that are no better halve the
// step, and the least step ends the run. A call of the bounds takes as many.
constexpr std::size_t kPointsTogether = 16;
constexpr float kLeastStep = 0x1p-10f;

// Points that are tried before boxes are split, all with the whole step; and the number of boxes
// for each of which one more point is tried later.
constexpr std::uint64_t kFirstPoints = 64;
constexpr std::uint64_t kBoxesPerPoint = 8;

// The search for a violating point. All points of a run lie in the exact box of one case, and in
// the caller's.
struct PointSearch {
  float* point;  // the best of the run
  float* lower;  // where they lie
  float* upper;
  std::uint32_t index;  // of the case
  float step;           // of the boxes' width; 0: no run
  float margin;         // what the best point lacks of violating
  unsigned failed;      // points since the last that was better
  std::uint64_t spent;  // points, and those that could not be
  bool urgent;          // the run's first point is all but known to violate
  std::uint32_t random;
};

struct Branches {
  const PropertyTables* property;
  const float* split_weights;  // [inputs]; null: all 1
  const float* whole_lower;    // [inputs], the caller's box
  const float* whole_upper;
  std::size_t inputs, rows, batch;
  bool kept;  // the bounds give coefficients

  // The open boxes, a stack.
  std::size_t capacity;
  float* lower;  // [capacity][inputs]
  float* upper;
  float* shares;           // [capacity]
  std::uint32_t* clauses;  // [capacity], the first that was not excluded before the split

  // The round: boxes, or points, that are bounded together.
  float* round_lower;  // [batch][inputs]
  float* round_upper;
  float* row_lower;  // [batch][rows]
  float* row_upper;
  float* coefficients;         // [batch][rows][2][inputs + 1], the rows' lines, or null
  float* round_shares;         // [batch]
  std::uint32_t* round_cases;  // [batch]
  bf_status* statuses;         // [batch]

  // Memory for the box that is judged, each [inputs] but for one; null without lines.
  BoxEnds clipped;
  float* line_weights;
  BoxEnds memory;
  float* combined;  // [2 inputs]

  std::int32_t next_case;  // the first whose box has not been looked at
  bool unsplittable;       // there was an open box with no float inside
  PointSearch points;
  bf_search search;
  bf_result found;
};

static inline void copy_numbers(const float* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}

// Puts the two halves of box i of the round on the stack. A real point of the box lies in one of
// them: both are closed, and share the middle.
static inline void push_halves(Branches& b, std::size_t i, std::uint32_t clause, std::size_t input,
                               float middle) {
  for (int half = 0; half < 2; ++half) {
    const std::size_t to = b.search.open++;
    copy_numbers(b.round_lower + i * b.inputs, b.inputs, b.lower + to * b.inputs);
    copy_numbers(b.round_upper + i * b.inputs, b.inputs, b.upper + to * b.inputs);
    (half == 0 ? b.upper : b.lower)[to * b.inputs + input] = middle;
    b.shares[to] = 0.5f * b.round_shares[i];
    b.clauses[to] = clause;
  }
  if (b.search.open > b.search.most_open) b.search.most_open = b.search.open;
}

// Begins a run at the centre of a box of a case. False when the case's exact box has no float.
static inline bool begin_run(Branches& b, std::uint32_t index, const float* lower,
                             const float* upper) {
  PointSearch& points = b.points;
  const auto number = static_cast<std::int32_t>(index);
  if (!intersect_case(*b.property, number, b.whole_lower, b.whole_upper, points.lower,
                      points.upper) ||
      !shrink_to_exact(*b.property, number, points.lower, points.upper))
    return false;
  for (std::size_t i = 0; i < b.inputs; ++i) {
    const float x = 0.5f * lower[i] + 0.5f * upper[i];
    points.point[i] = x < points.lower[i]   ? points.lower[i]
                      : x > points.upper[i] ? points.upper[i]
                                            : x;
  }
  points.index = index;
  points.step = 1;
  points.margin = __builtin_inff();
  points.failed = 0;
  return true;
}

// The part of a box, which rows do not exclude, that stays open: see clip_and_choose().
enum class Leaves : unsigned char { kNothing, kHalves, kAll };

// Shrinks box i of the round to what its rows' lines leave of the clauses, and says where that is
// to be split. kNothing: they leave nothing. kAll: no float lies inside of what they leave, and the
// box is as it was.
static inline Leaves clip_and_choose(Branches& b, std::size_t i, std::uint32_t clause,
                                     std::uint32_t end, std::size_t* input, float* middle) {
  float* const lower = b.round_lower + i * b.inputs;
  float* const upper = b.round_upper + i * b.inputs;
  const RowsView rows = {b.row_lower + i * b.rows, b.row_upper + i * b.rows,
                         b.coefficients + i * b.rows * lines_of_row(b.inputs)};
  if (!clip_box(*b.property, clause, end, rows, b.inputs, {lower, upper}, b.memory, b.combined,
                b.clipped))
    return Leaves::kNothing;
  const BoxView clipped = {b.clipped.lower, b.clipped.upper};
  weigh_lines(*b.property, clause, end, rows, b.inputs, clipped, b.memory.lower, b.line_weights);
  if (!choose_split(b.inputs, b.line_weights, b.split_weights, clipped.lower, clipped.upper, input,
                    middle))
    return Leaves::kAll;
  copy_numbers(clipped.lower, b.inputs, lower);
  copy_numbers(clipped.upper, b.inputs, upper);
  return Leaves::kHalves;
}

// Drops box i of the round when its rows exclude all clauses of its case, else splits what lines
// leave of it.
static inline void judge_box(Branches& b, std::size_t i) {
  const PropertyTables& property = *b.property;
  const std::uint32_t index = b.round_cases[i];
  const std::uint32_t begin = property.case_clauses[index];
  const std::uint32_t end = property.case_clauses[index + 1];
  const float* const row_lower = b.row_lower + i * b.rows;
  const float* const row_upper = b.row_upper + i * b.rows;
  std::uint32_t clause = begin;
  while (clause < end && is_excluded(property, clause, row_lower, row_upper)) ++clause;
  if (clause == end) {
    b.search.proven += b.round_shares[i];
    return;
  }
  const float* const lower = b.round_lower + i * b.inputs;
  const float* const upper = b.round_upper + i * b.inputs;
  for (std::uint32_t j = clause; j < end; ++j)
    if (is_certain(property, j, row_lower, row_upper))
      b.points.urgent = begin_run(b, index, lower, upper);
  std::size_t input = 0;
  float middle = 0;
  const Leaves left = b.kept ? clip_and_choose(b, i, clause, end, &input, &middle) : Leaves::kAll;
  if (left == Leaves::kNothing) {
    b.search.proven += b.round_shares[i];
    return;
  }
  const bool split = left == Leaves::kHalves || choose_split(b.inputs, nullptr, b.split_weights,
                                                             lower, upper, &input, &middle);
  if (split) {
    push_halves(b, i, clause, input, middle);
  } else if (!b.unsplittable) {
    b.unsplittable = true;
    b.found.property_case = index;
    b.found.clause = clause - begin;
  }
}

// Fills the round: with the boxes of cases while their halves leave half of the stack free, then
// from the top of the stack, fewer the less room there is: the fewer, the deeper a room reaches.
// There is always room for both halves of each. 0: nothing is left, or no room.
static inline std::size_t take_boxes(Branches& b, std::size_t most) {
  std::size_t count = 0;
  while (count < most && b.next_case < b.property->cases) {
    const std::size_t after = b.search.open + 2 * (count + 1);
    if (after > b.capacity / 2 && (b.search.open + count > 0 || after > b.capacity)) break;
    const std::int32_t index = b.next_case++;
    const float share = 1 / static_cast<float>(b.property->cases);
    if (!intersect_case(*b.property, index, b.whole_lower, b.whole_upper,
                        b.round_lower + count * b.inputs, b.round_upper + count * b.inputs)) {
      b.search.proven += share;
      continue;
    }
    b.round_shares[count] = share;
    b.round_cases[count++] = static_cast<std::uint32_t>(index);
  }
  const std::size_t room = b.capacity - b.search.open;
  if (most > room / 4) most = room / 4 > 0 ? room / 4 : 1;
  while (count < most && b.search.open > 0 && b.search.open + 2 * count < b.capacity) {
    const std::size_t from = --b.search.open;
    copy_numbers(b.lower + from * b.inputs, b.inputs, b.round_lower + count * b.inputs);
    copy_numbers(b.upper + from * b.inputs, b.inputs, b.round_upper + count * b.inputs);
    b.round_shares[count] = b.shares[from];
    b.round_cases[count++] = case_of(*b.property, b.clauses[from]);
  }
  return count;
}

static inline std::uint32_t next_random(PointSearch& points) {
  points.random ^= points.random << 13;
  points.random ^= points.random >> 17;
  points.random ^= points.random << 5;
  return points.random;
}

// Bounds what a point whose rows have these bounds lacks of violating the case: at most 0 only when
// its every y satisfies a clause. Infinite where nothing is known.
static inline float margin_of(const PropertyTables& property, std::uint32_t index,
                              const float* row_lower, const float* row_upper) {
  float least = __builtin_inff();
  for (std::uint32_t j = property.case_clauses[index]; j < property.case_clauses[index + 1]; ++j) {
    float worst = -__builtin_inff();
    for (std::uint32_t i = property.clause_terms[j]; i < property.clause_terms[j + 1]; ++i) {
      const VerdictTerm& term = property.terms[i];
      const float lack = term.at_least ? term.threshold - row_lower[term.row]
                                       : row_upper[term.row] - term.threshold;
      if (!(lack <= worst)) worst = lack;  // NaN too
    }
    if (worst < least) least = worst;
  }
  return least;
}

// Writes so many points around the best one to the round; the first of a run is that one itself.
static inline void propose_points(Branches& b, std::size_t count) {
  PointSearch& points = b.points;
  for (std::size_t k = 0; k < count; ++k) {
    float* const x = b.round_lower + k * b.inputs;
    const bool first = k == 0 && points.margin == __builtin_inff();
    for (std::size_t i = 0; i < b.inputs; ++i) {
      const std::uint32_t bits = next_random(points);
      const float width = points.upper[i] - points.lower[i];
      const float u = static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
      float value = points.point[i];
      if (!first && (bits & 1u) != 0) value += points.step * u * width;
      x[i] = value > points.lower[i] ? value < points.upper[i] ? value : points.upper[i]
                                     : points.lower[i];
    }
  }
}

// Judges the points of the round by their bounds. True when one of them violates the property.
static inline bool judge_points(Branches& b, std::size_t count) {
  PointSearch& points = b.points;
  const PropertyTables& property = *b.property;
  for (std::size_t k = 0; k < count; ++k) {
    const float* const x = b.round_lower + k * b.inputs;
    const float* const row_lower = b.row_lower + k * b.rows;
    const float* const row_upper = b.row_upper + k * b.rows;
    const std::uint32_t begin = property.case_clauses[points.index];
    for (std::uint32_t j = begin; j < property.case_clauses[points.index + 1]; ++j) {
      if (!is_certain(property, j, row_lower, row_upper)) continue;
      b.found.property_case = points.index;
      b.found.clause = j - begin;
      if (b.found.counterexample != nullptr) copy_numbers(x, b.inputs, b.found.counterexample);
      return true;
    }
    const float margin = margin_of(property, points.index, row_lower, row_upper);
    ++points.failed;
    if (!(margin < points.margin)) continue;
    points.margin = margin;
    points.failed = 0;
    copy_numbers(x, b.inputs, points.point);
  }
  if (points.failed >= kPointsTogether && points.spent > kFirstPoints) {
    points.failed = 0;
    points.step *= 0.5f;
    if (points.step < kLeastStep) points.step = 0;
  }
  return false;
}

// The memory behind `bytes` numbers of 4 bytes each in `memory`, shared out. False when it has no
// room for two open boxes.
static inline bool share_out(Branches& b, void* memory, std::size_t bytes) {
  static_assert(sizeof(bf_status) <= sizeof(float) && sizeof(std::uint32_t) == sizeof(float),
                "bf: numbers of 4 bytes, but for enumerations of ABIs that have short ones");
  const std::size_t fixed = round_bytes(b.inputs, b.rows, b.batch, b.kept);
  if (bytes < fixed) return false;
  b.capacity = (bytes - fixed) / open_box_bytes(b.inputs);
  float* next = static_cast<float*>(memory);
  const auto take = [&next](std::size_t count) {
    float* const first = next;
    next += count;
    return first;
  };
  b.round_lower = take(b.batch * b.inputs);
  b.round_upper = take(b.batch * b.inputs);
  b.row_lower = take(b.batch * b.rows);
  b.row_upper = take(b.batch * b.rows);
  b.coefficients = b.kept ? take(b.batch * b.rows * lines_of_row(b.inputs)) : nullptr;
  if (b.kept) {
    b.clipped = {take(b.inputs), take(b.inputs)};
    b.line_weights = take(b.inputs);
    b.memory = {take(b.inputs), take(b.inputs)};
    b.combined = take(2 * b.inputs);
  }
  b.round_shares = take(b.batch);
  b.round_cases = reinterpret_cast<std::uint32_t*>(take(b.batch));
  b.statuses = reinterpret_cast<bf_status*>(take(b.batch));
  b.points.point = take(b.inputs);
  b.points.lower = take(b.inputs);
  b.points.upper = take(b.inputs);
  b.lower = take(b.capacity * b.inputs);
  b.upper = take(b.capacity * b.inputs);
  b.shares = take(b.capacity);
  b.clauses = reinterpret_cast<std::uint32_t*>(take(b.capacity));
  return b.capacity >= 2;
}

// Begins a run at one of the open boxes: by turns the one that is next, and any.
static inline bool begin_somewhere(Branches& b) {
  const std::uint32_t bits = next_random(b.points);
  const std::size_t at = (bits & 1u) != 0 ? b.search.open - 1 : (bits >> 1) % b.search.open;
  return begin_run(b, case_of(*b.property, b.clauses[at]), b.lower + at * b.inputs,
                   b.upper + at * b.inputs);
}

// Tries the next points, of the run or of a new one, into b.found.verdict.
template <class Together>
static inline bf_status try_points(Branches& b, const Together& together) {
  PointSearch& points = b.points;
  const std::size_t count = b.batch < kPointsTogether ? b.batch : kPointsTogether;
  points.spent += count;
  points.urgent = false;
  if (points.step == 0 && !begin_somewhere(b)) return BF_OK;
  propose_points(b, count);
  if (const bf_status status = together(count, b.round_lower, b.round_lower, b.row_lower,
                                        b.row_upper, nullptr, b.statuses))
    return status;
  b.search.points += count;
  if (judge_points(b, count)) b.found.verdict = BF_FALSIFIED;
  return BF_OK;
}

// Names an open box in b.found: one that cannot be split, which is there already, else the next on
// the stack, else the first case that has not been looked at.
static inline void name_open_box(Branches& b) {
  if (b.unsplittable) return;
  if (b.search.open == 0) {
    b.found.property_case = static_cast<std::uint32_t>(b.next_case);
    return;
  }
  const std::uint32_t clause = b.clauses[b.search.open - 1];
  b.found.property_case = case_of(*b.property, clause);
  b.found.clause = clause - b.property->case_clauses[b.found.property_case];
}

// Decides the property on a box that check_box accepts: as verify_property, but for its verdicts
// BF_UNKNOWN (a box with no float inside was left undecided) and BF_BUDGET (no more boxes allowed,
// or no room for more). together(count, lower, upper, row_lower, row_upper, coefficients, statuses)
// bounds C y on at most `batch` boxes and, where not null, writes coefficients
// [count][rows][2][inputs + 1], see keep_coefficients(); never null for boxes when `kept`. memory:
// at least round_bytes + 2 open_box_bytes, aligned for float; the rest is for more open boxes.
//
// Verified is a proof: the boxes of all cases have been replaced by halves that cover them, over
// and over, until each was excluded. Falsified is one as in verify_property.
template <class Together>
static inline bf_status decide_property(const PropertyTables& property, const float* split_weights,
                                        bool kept, const float* lower, const float* upper,
                                        std::size_t batch, const bf_budget* budget,
                                        bf_result* result, bf_search* search, void* memory,
                                        std::size_t bytes, const Together& together) {
  Branches b = {};
  b.property = &property;
  b.split_weights = split_weights;
  b.whole_lower = lower;
  b.whole_upper = upper;
  b.inputs = static_cast<std::size_t>(property.inputs);
  b.rows = static_cast<std::size_t>(property.rows);
  b.batch = batch;
  b.kept = kept;
  b.points.random = 0x9e3779b9u;
  b.found = {BF_BUDGET, 0, 0, result->counterexample};
  if (!share_out(b, memory, bytes)) return BF_WORKSPACE_TOO_SMALL;
  for (;;) {
    if (b.search.open == 0 && b.next_case == property.cases && !b.points.urgent) {
      b.found.verdict =
          b.unsplittable ? BF_UNKNOWN
                         : verdict_within(property, lower, upper, b.points.lower, b.points.upper);
      break;
    }
    if (budget != nullptr && budget->stop != nullptr && budget->stop(budget->data, &b.search) != 0)
      break;
    const bool due = b.points.spent < kFirstPoints + b.search.boxes / kBoxesPerPoint;
    if (b.points.urgent || (b.search.open > 0 && due)) {
      if (const bf_status status = try_points(b, together)) return status;
      if (b.found.verdict == BF_FALSIFIED) break;
      continue;
    }
    std::size_t most = batch;
    if (budget != nullptr && budget->boxes > 0 && budget->boxes - b.search.boxes < most)
      most = static_cast<std::size_t>(budget->boxes - b.search.boxes);
    const std::size_t count = take_boxes(b, most);
    if (count == 0) {
      if (b.search.open > 0 || b.next_case < property.cases) break;
      continue;
    }
    if (const bf_status status = together(count, b.round_lower, b.round_upper, b.row_lower,
                                          b.row_upper, b.coefficients, b.statuses))
      return status;
    b.search.boxes += count;
    for (std::size_t i = 0; i < count; ++i) judge_box(b, i);
  }
  if (b.found.verdict == BF_BUDGET) name_open_box(b);
  *result = b.found;
  if (search != nullptr) *search = b.search;
  return BF_OK;
}

}  // namespace bf
