#pragma once

#include "bf.h"
#include "bf/contract/workspace.h"
#include "bf/search/split_bounds.h"
#include "bf/search/verdict.h"

// Nodes of a tree of neuron splits, and the points that their bounds propose.
// docs/proofs/neuron-splits.md.

namespace bf {

// Steps of the ascent at the root of a clause, at other nodes, and where every neuron is split.
constexpr int kRootSteps = 50, kNodeSteps = 3, kLeafSteps = 30;

// Neurons whose halves are bounded before one is split: the largest gains, and the largest gaps.
constexpr int kByGain = 3, kByGap = 1;

// One of kNodesPerWalk nodes moves its point by kWalkSteps along the network's own gradient.
constexpr std::uint64_t kNodesPerWalk = 8;
constexpr int kWalkSteps = 4;

struct NodeSearch {
  const PropertyTables* property;
  SplitBounds bounds;
  std::size_t inputs, rows;
  const float *whole_lower, *whole_upper;  // the caller's box
  float *case_lower, *case_upper;          // the part of the caller's box in the case's
  float *node_lower, *node_upper;          // and what the node has of it
  float *exact_lower, *exact_upper;        // and the floats of it that are in the exact box
  bool has_points;                         // there are such floats
  float *box_row_lower, *box_row_upper;
  float *point, *row_lower, *row_upper;
  std::uint32_t index;   // of the case
  std::uint32_t clause;  // counted over all cases

  std::uint32_t* open;  // neurons, of the box
  std::uint32_t open_count;
  // Splits above and at the node: 2 neuron + positive, or where all neurons are split
  // 2 (neurons + input) + upper, of halves of its box.
  std::uint32_t* path;

  // Open nodes, each a depth, its last split, weights of terms, and choices of open neurons.
  std::uint32_t* stack;
  std::size_t stack_words, node_words, capacity;

  double share;  // of a clause
  // A node was left open that cannot be split, first of this clause.
  bool undecided;
  std::uint32_t undecided_case, undecided_clause;
  const bf_budget* budget;  // may be null
  bool stopped;             // by its caller
  bf_search search;
  bf_result found;
};

// ---- numbers in two bytes: the upper half of a float, rounded

static inline std::uint32_t to_half(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return x <= 0x1p+100f ? (bits + 0x7fffu) >> 16 : 0;
}
static inline float from_half(std::uint32_t half) {
  const std::uint32_t bits = half << 16;
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
static inline std::uint32_t float_bits(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float bits_float(std::uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

static inline std::uint32_t* node_at(const NodeSearch& s, std::size_t i) {
  return s.stack + i * s.node_words;
}

// The choices of the bounds into the node at `to`.
static inline void store_choices(const NodeSearch& s, std::uint32_t* to) {
  const SplitBounds& b = s.bounds;
  for (std::uint32_t t = 0; t < b.term_count; ++t) to[2 + t] = float_bits(b.weights[t]);
  std::uint32_t* const halves = to + 2 + b.term_count;
  for (std::uint32_t i = 0; i < s.open_count; i += 2) {
    const std::uint32_t low = to_half(b.choice[s.open[i]]);
    const std::uint32_t high = i + 1 < s.open_count ? to_half(b.choice[s.open[i + 1]]) : 0;
    halves[i / 2] = low | high << 16;
  }
}

// The other way round, and the phases of the node, whose splits are in the path.
static inline void load_node(NodeSearch& s, const std::uint32_t* node) {
  SplitBounds& b = s.bounds;
  for (std::uint32_t t = 0; t < b.term_count; ++t) b.weights[t] = bits_float(node[2 + t]);
  const std::uint32_t* const halves = node + 2 + b.term_count;
  for (std::uint32_t i = 0; i < s.open_count; ++i) {
    b.phase[s.open[i]] = SplitPhase::kOpen;
    b.choice[s.open[i]] = from_half(halves[i / 2] >> (i % 2 == 0 ? 0 : 16) & 0xffffu);
  }
  for (std::size_t k = 0; k < s.inputs; ++k) {
    s.node_lower[k] = s.case_lower[k];
    s.node_upper[k] = s.case_upper[k];
  }
  const auto neurons = static_cast<std::uint32_t>(b.network->neurons);
  for (std::uint32_t d = 0; d < node[0]; ++d) {
    const std::uint32_t of = s.path[d] / 2;
    const bool upper = s.path[d] % 2 != 0;
    if (of < neurons) {
      b.phase[of] = upper ? SplitPhase::kPositive : SplitPhase::kNegative;
      continue;
    }
    const std::uint32_t k = of - neurons;
    const float middle = 0.5f * s.node_lower[k] + 0.5f * s.node_upper[k];
    (upper ? s.node_lower : s.node_upper)[k] = middle;
  }
}

// The root is in the bounds; scales are those of its choices.
static inline void load_root(NodeSearch& s) {
  load_node(s, node_at(s, 0));
  for (std::int32_t i = 0; i < s.bounds.network->count; ++i) s.bounds.scale[i] = 1;
  bound_node(s.bounds);
  set_scales(s.bounds);
}

static inline double share_of(double share, std::uint32_t depth) {
  for (; depth > 0 && share > 0; --depth) share *= 0.5;
  return share;
}

// Asked before each call of the bounds.
static inline bool is_stopped(NodeSearch& s) {
  if (!s.stopped && s.budget != nullptr && s.budget->stop != nullptr)
    s.stopped = s.budget->stop(s.budget->data, &s.search) != 0;
  return s.stopped;
}

// ---- points

// Tests whether the floats of the exact box nearest to x violate the property, by bounds there.
template <class Bounds>
static inline bf_status try_x(NodeSearch& s, const Bounds& bounds) {
  if (!s.has_points || is_stopped(s)) return BF_OK;
  for (std::size_t k = 0; k < s.inputs; ++k) {
    const float x = s.bounds.x[k];
    s.point[k] = x < s.exact_lower[k]   ? s.exact_lower[k]
                 : x > s.exact_upper[k] ? s.exact_upper[k]
                                        : x;
  }
  ++s.search.points;
  if (const bf_status status = bounds(s.point, s.point, s.row_lower, s.row_upper, nullptr))
    return status;
  const std::uint32_t begin = s.property->case_clauses[s.index];
  for (std::uint32_t j = begin; j < s.property->case_clauses[s.index + 1]; ++j) {
    if (!is_certain(*s.property, j, s.row_lower, s.row_upper)) continue;
    s.found.verdict = BF_FALSIFIED;
    s.found.property_case = s.index;
    s.found.clause = j - begin;
    if (s.found.counterexample != nullptr)
      for (std::size_t k = 0; k < s.inputs; ++k) s.found.counterexample[k] = s.point[k];
    return BF_OK;
  }
  return BF_OK;
}

// Tries x, and points that follow from it: where the network is affine around x, the corner of the
// box where the sum is least. Uses up the choices and phases of the node.
template <class Bounds>
static inline bf_status walk_from_x(NodeSearch& s, int steps, const Bounds& bounds) {
  SplitBounds& b = s.bounds;
  for (int step = 0;; ++step) {
    if (violates_at_x(b)) {
      if (const bf_status status = try_x(s, bounds)) return status;
      if (s.found.verdict == BF_FALSIFIED) return BF_OK;
    }
    if (step == steps) return BF_OK;
    for (std::uint32_t i = 0; i < s.open_count; ++i) {
      const std::uint32_t n = s.open[i];
      b.phase[n] = b.z[n] > 0 ? SplitPhase::kPositive : SplitPhase::kNegative;
      b.choice[n] = 0;
    }
    bound_node(b);
  }
}

// ---- nodes

struct Candidates {
  std::uint32_t neuron[kByGain + kByGap];
  int count;
};

static inline bool is_candidate(const Candidates& chosen, std::uint32_t neuron) {
  for (int i = 0; i < chosen.count; ++i)
    if (chosen.neuron[i] == neuron) return true;
  return false;
}

static inline void add_largest(const NodeSearch& s, const float* score, int count,
                               Candidates& chosen) {
  for (; count > 0; --count) {
    float best = 0;
    std::uint32_t of = 0;
    for (std::uint32_t i = 0; i < s.open_count; ++i) {
      const std::uint32_t n = s.open[i];
      if (!(score[n] > best) || is_candidate(chosen, n)) continue;
      best = score[n];
      of = n;
    }
    if (!(best > 0)) return;
    chosen.neuron[chosen.count++] = of;
  }
}

// Neurons that are worth a look; when none gains, the first that is not split.
static inline Candidates choose_candidates(NodeSearch& s) {
  Candidates chosen = {{}, 0};
  forward_node<SplitPass::kMeasure>(s.bounds);
  add_largest(s, s.bounds.gain, kByGain, chosen);
  add_largest(s, s.bounds.gap, kByGap, chosen);
  for (std::uint32_t i = 0; i < s.open_count && chosen.count == 0; ++i)
    if (s.bounds.phase[s.open[i]] == SplitPhase::kOpen) chosen.neuron[chosen.count++] = s.open[i];
  return chosen;
}

// The half that is to be bounded first, with the smaller bound, of the candidate whose halves gain
// most together: 2 neuron + positive.
static inline std::uint32_t look_ahead(NodeSearch& s, const Candidates& candidates) {
  SplitBounds& b = s.bounds;
  std::uint32_t best = 2 * candidates.neuron[0];
  float most = -__builtin_inff();
  for (int i = 0; i < candidates.count; ++i) {
    const std::uint32_t n = candidates.neuron[i];
    const float choice = b.choice[n];
    float half[2];
    b.choice[n] = 0;
    for (int positive = 0; positive < 2; ++positive) {
      b.phase[n] = positive != 0 ? SplitPhase::kPositive : SplitPhase::kNegative;
      half[positive] = bound_node(b);
    }
    b.phase[n] = SplitPhase::kOpen;
    b.choice[n] = choice;
    const float score = (half[0] < 0 ? half[0] : 0) + (half[1] < 0 ? half[1] : 0);
    if (!(score > most)) continue;
    most = score;
    best = 2 * n + (half[1] <= half[0] ? 1 : 0);
  }
  return best;
}

// halve_box() splits nodes on which the network is affine. It returns the half of the node's box to
// be bounded first, at the input that the sum depends on most there. kNoSplit: no input has a float
// between its ends, or the path is too long.
constexpr std::uint32_t kNoSplit = 0xffffffffu;

static inline std::uint32_t halve_box(const NodeSearch& s, std::uint32_t depth) {
  const SplitBounds& b = s.bounds;
  const auto neurons = static_cast<std::uint32_t>(b.network->neurons);
  if (depth == neurons + kMostHalvings) return kNoSplit;
  std::uint32_t best = kNoSplit;
  float most = -1;
  for (std::size_t k = 0; k < s.inputs; ++k) {
    const float middle = 0.5f * s.node_lower[k] + 0.5f * s.node_upper[k];
    if (!(s.node_lower[k] < middle && middle < s.node_upper[k])) continue;
    const float width = s.node_upper[k] - s.node_lower[k];
    const float effect = __builtin_fabsf(b.over_x[k]) * width;
    if (!(effect > most)) continue;
    most = effect;
    best = 2 * (neurons + static_cast<std::uint32_t>(k)) + (b.over_x[k] >= 0 ? 0 : 1);
  }
  return best;
}

// Ascends until the node is proven; false after so many steps, with x of its last bound.
static inline bool close_node(NodeSearch& s, int steps) {
  begin_ascent(s.bounds);
  for (int step = 0;; ++step) {
    if (bound_node(s.bounds) >= 0 && prove_node(s.bounds)) return true;
    if (step == steps) return false;
    ascend(s.bounds, step);
  }
}

// Puts both halves of the node at the end of the stack in its place, the one that is next last.
static inline void push_halves(NodeSearch& s, std::uint32_t first) {
  std::uint32_t* const node = node_at(s, s.search.open);
  std::uint32_t* const other = node + s.node_words;
  ++node[0];
  node[1] = first ^ 1u;
  for (std::size_t i = 0; i < s.node_words; ++i) other[i] = node[i];
  other[1] = first;
  s.search.open += 2;
  if (s.search.open > s.search.most_open) s.search.most_open = s.search.open;
}

static inline void note_undecided(NodeSearch& s) {
  if (s.undecided) return;
  s.undecided = true;
  s.undecided_case = s.index;
  s.undecided_clause = s.clause - s.property->case_clauses[s.index];
}

// Bounds the last node of the stack, and takes it off or splits it. room: false, with the node
// where it was, when there is none for its halves.
template <class Bounds>
static inline bf_status expand_node(NodeSearch& s, const Bounds& bounds, bool* room) {
  std::uint32_t* const node = node_at(s, --s.search.open);
  const std::uint32_t depth = node[0];
  const bool affine = depth >= s.open_count;  // every neuron is split
  if (depth > 0) s.path[depth - 1] = node[1];
  if (depth == 0)
    load_root(s);
  else
    load_node(s, node);
  const std::uint64_t number = s.search.boxes++;
  if (close_node(s, affine ? kLeafSteps : depth == 0 ? kRootSteps : kNodeSteps)) {
    s.search.proven += share_of(s.share, depth);
    return BF_OK;
  }
  store_choices(s, node);
  const std::uint32_t half = affine ? halve_box(s, depth) : 0;
  const Candidates candidates = choose_candidates(s);
  const bool walks = affine || depth == 0 || number % kNodesPerWalk == 0;
  if (const bf_status status = walk_from_x(s, walks ? kWalkSteps : 0, bounds)) return status;
  if (s.found.verdict == BF_FALSIFIED) return BF_OK;
  if (half == kNoSplit) {
    note_undecided(s);
    return BF_OK;
  }
  *room = s.search.open + 2 <= s.capacity;
  if (!*room) {
    ++s.search.open;
    return BF_OK;
  }
  load_node(s, node);
  push_halves(s, affine ? half : look_ahead(s, candidates));
  return BF_OK;
}

}  // namespace bf
