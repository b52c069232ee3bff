#pragma once

#include "bf.h"
#include "bf/contract/workspace.h"
#include "bf/search/split_box.h"
#include "bf/search/split_proof.h"
#include "bf/search/split_proposals.h"
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
  float *known_lower, *known_upper;        // and the part that intervals and rows are of
  float *exact_lower, *exact_upper;        // and the floats of it that are in the exact box
  bool has_points;                         // there are such floats
  float *box_row_lower, *box_row_upper;    // of the case's part
  float *point, *row_lower, *row_upper;
  std::uint32_t index;   // of the case
  std::uint32_t clause;  // counted over all cases

  // Neurons that may be split in the case's part: ReLUs of either sign, and curves. Choices that
  // nodes have: those of these neurons and of products.
  std::uint32_t *open, *stored;
  std::uint32_t open_count, stored_count;
  // Splits above and at the node, 2 neuron + upper or 2 (neurons + input) + upper, and where.
  std::uint32_t* path;
  float* points;

  // Open nodes, each a depth, its last split and where that is, weights of terms, and choices.
  std::uint32_t* stack;
  std::size_t stack_words, node_words, capacity;

  // Halves of inputs gained more than those of neurons at the last look at both, and nodes until
  // the next.
  bool halves_gain;
  std::uint32_t between_looks, until_look;

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

// Words of a node before its weights of terms.
constexpr std::uint32_t kNodeHead = 3;

// The choices of the bounds into the node at `to`.
static inline void store_choices(const NodeSearch& s, std::uint32_t* to) {
  const SplitBounds& b = s.bounds;
  for (std::uint32_t t = 0; t < b.term_count; ++t) to[kNodeHead + t] = float_bits(b.weights[t]);
  std::uint32_t* const halves = to + kNodeHead + b.term_count;
  for (std::uint32_t i = 0; i < s.stored_count; i += 2) {
    const std::uint32_t low = to_half(b.choice[s.stored[i]]);
    const std::uint32_t high = i + 1 < s.stored_count ? to_half(b.choice[s.stored[i + 1]]) : 0;
    halves[i / 2] = low | high << 16;
  }
}

// The other way round.
static inline void load_choices(NodeSearch& s, const std::uint32_t* node) {
  SplitBounds& b = s.bounds;
  for (std::uint32_t t = 0; t < b.term_count; ++t) b.weights[t] = bits_float(node[kNodeHead + t]);
  const std::uint32_t* const halves = node + kNodeHead + b.term_count;
  for (std::uint32_t i = 0; i < s.stored_count; ++i)
    b.choice[s.stored[i]] = from_half(halves[i / 2] >> (i % 2 == 0 ? 0 : 16) & 0xffffu);
}

// The usual choices: of ReLUs the line below that leaves out the smaller triangle, of others the
// lines of least area.
static inline void set_choices(SplitBounds& b) {
  for (std::int32_t i = 0; i < b.network->count; ++i) {
    const SplitLayer& layer = b.network->layers[i];
    for (std::int32_t j = 0; j < layer.out; ++j) {
      const std::int32_t n = layer.first + j;
      float* const choice = b.choice + choice_of(layer, j);
      if (layer.role == SplitRole::kProduct) {
        choice[0] = choice[1] = 0.5f;
      } else if (is_curved(layer.role)) {
        choice[0] = choice[1] = 0.5f * (kCurveLines - 1);
        choice[2] = choice[3] = 0;
      } else {
        choice[0] = b.high[n] > -b.low[n] ? 1 : 0;
      }
    }
  }
}

static inline bool is_half_of_input(const NodeSearch& s, std::uint32_t split) {
  return split / 2 >= static_cast<std::uint32_t>(s.bounds.network->neurons);
}

// The layer of a neuron.
static inline const SplitLayer& layer_of(const SplitNetwork& network, std::uint32_t neuron) {
  std::int32_t i = network.count - 1;
  while (network.layers[i].first > static_cast<std::int32_t>(neuron)) --i;
  return network.layers[i];
}

// The part of the case's box that the node's splits of inputs leave.
static inline void load_box(NodeSearch& s, std::uint32_t depth) {
  const auto neurons = static_cast<std::uint32_t>(s.bounds.network->neurons);
  for (std::size_t k = 0; k < s.inputs; ++k) {
    s.node_lower[k] = s.case_lower[k];
    s.node_upper[k] = s.case_upper[k];
  }
  for (std::uint32_t d = 0; d < depth; ++d)
    if (is_half_of_input(s, s.path[d]))
      (s.path[d] % 2 != 0 ? s.node_lower : s.node_upper)[s.path[d] / 2 - neurons] = s.points[d];
}

// Splits a neuron: a ReLU by its sign, unless the box has only one, or a curve at a point.
static inline void split_neuron(SplitBounds& b, std::uint32_t n, bool upper, float point) {
  const SplitLayer& layer = layer_of(*b.network, n);
  if (b.phase[n] == SplitPhase::kOpen)
    b.phase[n] = upper ? SplitPhase::kPositive : SplitPhase::kNegative;
  if (b.phase[n] != SplitPhase::kCurve) return;
  const std::int32_t j = static_cast<std::int32_t>(n) - layer.first;
  float* const part = b.part + 2 * (layer.first_curve + j);
  float& end = part[upper ? 0 : 1];
  if (upper ? point > end : point < end) end = point;
  // Beyond the interval of the box there is nothing to bound.
  if (part[0] > part[1]) end = part[upper ? 1 : 0];
}

// Lines of all curves, on the parts that splits leave.
static inline void bend_curves(SplitBounds& b) {
  for (std::int32_t i = 0; i < b.network->count; ++i) {
    const SplitLayer& layer = b.network->layers[i];
    if (!is_curved(layer.role)) continue;
    for (std::int32_t j = 0; j < layer.out; ++j) {
      const float* const part = b.part + 2 * (layer.first_curve + j);
      bend_curve(b, layer, j, part[0], part[1]);
    }
  }
}

// The phases of the node, on a box whose intervals are known.
static inline void load_phases(NodeSearch& s, std::uint32_t depth) {
  SplitBounds& b = s.bounds;
  for (std::int32_t i = 0; i < b.network->count; ++i) {
    const SplitLayer& layer = b.network->layers[i];
    for (std::int32_t n = layer.first; n < layer.first + layer.out; ++n) {
      b.phase[n] = phase_on_box(b, layer, n);
      if (!is_curved(layer.role)) continue;
      float* const part = b.part + 2 * (layer.first_curve + n - layer.first);
      part[0] = b.low[n];
      part[1] = b.high[n];
    }
  }
  for (std::uint32_t d = 0; d < depth; ++d)
    if (!is_half_of_input(s, s.path[d]))
      split_neuron(b, s.path[d] / 2, s.path[d] % 2 != 0, s.points[d]);
  bend_curves(b);
}

// Asked before each call of the bounds.
static inline bool is_stopped(NodeSearch& s) {
  if (!s.stopped && s.budget != nullptr && s.budget->stop != nullptr)
    s.stopped = s.budget->stop(s.budget->data, &s.search) != 0;
  return s.stopped;
}

// Intervals of the neurons and rows on the node's part of the box, and what follows from them.
template <class Bounds>
static inline bf_status know_box(NodeSearch& s, const Bounds& bounds, float* row_lower,
                                 float* row_upper) {
  SplitBounds& b = s.bounds;
  for (std::int32_t n = 0; n < b.network->neurons; ++n) {
    b.low[n] = -__builtin_inff();
    b.high[n] = __builtin_inff();
  }
  if (const bf_status status = bounds(s.node_lower, s.node_upper, row_lower, row_upper, b.low))
    return status;
  for (std::size_t k = 0; k < s.inputs; ++k) {
    s.known_lower[k] = s.node_lower[k];
    s.known_upper[k] = s.node_upper[k];
  }
  prepare_box(b);
  set_choices(b);
  return BF_OK;
}

// Bounds the node's part of the box, unless that is what is known. excluded: the bounds of its rows
// exclude the clause.
template <class Bounds>
static inline bf_status know_part(NodeSearch& s, const Bounds& bounds, bool* excluded) {
  bool known = true;
  for (std::size_t k = 0; k < s.inputs; ++k)
    known = known && s.node_lower[k] == s.known_lower[k] && s.node_upper[k] == s.known_upper[k];
  *excluded = false;
  if (known || is_stopped(s)) return BF_OK;
  if (const bf_status status = know_box(s, bounds, s.row_lower, s.row_upper)) return status;
  *excluded = is_excluded(*s.property, s.clause, s.row_lower, s.row_upper);
  return BF_OK;
}

// Loads a node whose splits are in the path.
template <class Bounds>
static inline bf_status load_node(NodeSearch& s, const std::uint32_t* node, const Bounds& bounds,
                                  bool* excluded) {
  load_box(s, node[0]);
  if (const bf_status status = know_part(s, bounds, excluded)) return status;
  load_choices(s, node);
  load_phases(s, node[0]);
  return BF_OK;
}

// The root is on the stack; scales are those of its choices.
template <class Bounds>
static inline bf_status load_root(NodeSearch& s, const Bounds& bounds) {
  bool excluded = false;
  if (const bf_status status = load_node(s, node_at(s, 0), bounds, &excluded)) return status;
  for (std::int32_t i = 0; i < s.bounds.network->count; ++i) s.bounds.scale[i] = 1;
  bound_node(s.bounds);
  set_scales(s.bounds);
  return BF_OK;
}

static inline double share_of(double share, std::uint32_t depth) {
  for (; depth > 0 && share > 0; --depth) share *= 0.5;
  return share;
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

// Puts the line that touches a neuron at z in place of its lines: a proposal.
static inline void touch_neuron(SplitBounds& b, std::uint32_t n) {
  const SplitLayer& layer = layer_of(*b.network, n);
  const std::int32_t j = static_cast<std::int32_t>(n) - layer.first;
  if (layer.role == SplitRole::kFunction) {
    b.network->functions->tangent(*layer.function, b.z[n], curve_of(b, layer, j));
  } else if (layer.role == SplitRole::kRelu) {
    b.phase[n] = b.z[n] > 0 ? SplitPhase::kPositive : SplitPhase::kNegative;
    b.choice[choice_of(layer, j)] = 0;
  }
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
    for (std::uint32_t i = 0; i < s.open_count; ++i) touch_neuron(b, s.open[i]);
    bound_node(b);
  }
}

// ---- nodes

// A split of a neuron or an input: 2 neuron + upper or 2 (neurons + input) + upper, of the half
// that is to be bounded first, and where. score: the sum of both halves' bounds, those above 0 as
// 0.
struct NodeSplit {
  std::uint32_t half;
  float point;
  float score;
};
constexpr std::uint32_t kNoSplit = 0xffffffffu;

struct Candidates {
  std::uint32_t neuron[kByGain + kByGap];
  int count;
};

static inline bool is_candidate(const Candidates& chosen, std::uint32_t neuron) {
  for (int i = 0; i < chosen.count; ++i)
    if (chosen.neuron[i] == neuron) return true;
  return false;
}

static inline bool may_split(const SplitBounds& b, std::uint32_t n) {
  if (b.phase[n] != SplitPhase::kCurve) return b.phase[n] == SplitPhase::kOpen;
  const SplitLayer& layer = layer_of(*b.network, n);
  const SplitCurve& curve = curve_of(b, layer, static_cast<std::int32_t>(n) - layer.first);
  const float point = split_point(b, layer, curve.low, curve.high);
  return point == point;
}

static inline void add_largest(const NodeSearch& s, const float* score, int count,
                               Candidates& chosen) {
  for (; count > 0; --count) {
    float best = 0;
    std::uint32_t of = 0;
    for (std::uint32_t i = 0; i < s.open_count; ++i) {
      const std::uint32_t n = s.open[i];
      if (!(score[n] > best) || is_candidate(chosen, n) || !may_split(s.bounds, n)) continue;
      best = score[n];
      of = n;
    }
    if (!(best > 0)) return;
    chosen.neuron[chosen.count++] = of;
  }
}

// Neurons that are worth a look; when none gains, the first that may be split.
static inline Candidates choose_candidates(NodeSearch& s) {
  Candidates chosen = {{}, 0};
  forward_node<SplitPass::kMeasure>(s.bounds);
  add_largest(s, s.bounds.gain, kByGain, chosen);
  add_largest(s, s.bounds.gap, kByGap, chosen);
  for (std::uint32_t i = 0; i < s.open_count && chosen.count == 0; ++i)
    if (may_split(s.bounds, s.open[i])) chosen.neuron[chosen.count++] = s.open[i];
  return chosen;
}

// The bound of a half is that of the node with this split besides, by the same choices.
static inline float bound_half(SplitBounds& b, std::uint32_t n, bool upper, float point) {
  const SplitLayer& layer = layer_of(*b.network, n);
  const std::int32_t j = static_cast<std::int32_t>(n) - layer.first;
  if (is_curved(layer.role)) {
    const SplitCurve& curve = curve_of(b, layer, j);
    const float low = curve.low, high = curve.high;
    bend_curve(b, layer, j, upper ? point : low, upper ? high : point);
    const float bound = bound_node(b);
    bend_curve(b, layer, j, low, high);
    return bound;
  }
  float& choice = b.choice[choice_of(layer, j)];
  const float kept = choice;
  choice = 0;
  b.phase[n] = upper ? SplitPhase::kPositive : SplitPhase::kNegative;
  const float bound = bound_node(b);
  b.phase[n] = SplitPhase::kOpen;
  choice = kept;
  return bound;
}

static inline NodeSplit split_of(std::uint32_t what, float point, const float (&bounds)[2]) {
  float score = 0;
  for (const float bound : bounds)
    if (!(bound >= 0)) score += bound < 0 ? bound : -__builtin_inff();  // NaN says nothing
  return {2 * what + (bounds[1] <= bounds[0] ? 1u : 0u), point, score};
}

// The candidate whose halves gain most together.
static inline NodeSplit look_ahead(NodeSearch& s, const Candidates& candidates) {
  SplitBounds& b = s.bounds;
  NodeSplit best = {kNoSplit, 0, -__builtin_inff()};
  for (int i = 0; i < candidates.count; ++i) {
    const std::uint32_t n = candidates.neuron[i];
    float point = 0;
    if (b.phase[n] == SplitPhase::kCurve) {
      const SplitLayer& layer = layer_of(*b.network, n);
      const SplitCurve& curve = curve_of(b, layer, static_cast<std::int32_t>(n) - layer.first);
      point = split_point(b, layer, curve.low, curve.high);
    }
    const float halves[2] = {bound_half(b, n, false, point), bound_half(b, n, true, point)};
    const NodeSplit made = split_of(n, point, halves);
    if (made.score > best.score || best.half == kNoSplit) best = made;
  }
  return best;
}

// The input that the sum depends on most over the node's box, in the middle, whose half with the
// lower bound comes first. kNoSplit: no input has a float between its ends.
static inline NodeSplit halve_box(const NodeSearch& s) {
  const SplitBounds& b = s.bounds;
  const auto neurons = static_cast<std::uint32_t>(b.network->neurons);
  NodeSplit best = {kNoSplit, 0, -__builtin_inff()};
  float most = -1;
  for (std::size_t k = 0; k < s.inputs; ++k) {
    const float middle = 0.5f * s.node_lower[k] + 0.5f * s.node_upper[k];
    if (!(s.node_lower[k] < middle && middle < s.node_upper[k])) continue;
    const float width = s.node_upper[k] - s.node_lower[k];
    const float effect = __builtin_fabsf(b.over_x[k]) * width;
    if (!(effect > most)) continue;
    most = effect;
    best.half = 2 * (neurons + static_cast<std::uint32_t>(k)) + (b.over_x[k] >= 0 ? 0 : 1);
    best.point = middle;
  }
  return best;
}

// Bounds both halves of the node's box, with intervals of their own.
template <class Bounds>
static inline bf_status try_halves(NodeSearch& s, const std::uint32_t* node, const Bounds& bounds,
                                   NodeSplit& split) {
  float halves[2] = {0, 0};
  const std::uint32_t depth = node[0];
  for (std::uint32_t upper = 0; upper < 2; ++upper) {
    s.path[depth] = split.half - split.half % 2 + upper;
    s.points[depth] = split.point;
    load_box(s, depth + 1);
    bool excluded = false;
    if (const bf_status status = know_part(s, bounds, &excluded)) return status;
    if (s.stopped) return BF_OK;
    ++s.search.boxes;
    load_choices(s, node);
    load_phases(s, depth);
    halves[upper] = excluded ? 0 : bound_node(s.bounds);
  }
  split = split_of(split.half / 2, split.point, halves);
  return BF_OK;
}

// Returns true if no neuron may be split.
static inline bool is_affine(const NodeSearch& s) {
  for (std::uint32_t i = 0; i < s.open_count; ++i)
    if (may_split(s.bounds, s.open[i])) return false;
  return true;
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
static inline void push_halves(NodeSearch& s, const NodeSplit& split) {
  std::uint32_t* const node = node_at(s, s.search.open);
  std::uint32_t* const other = node + s.node_words;
  ++node[0];
  node[1] = split.half ^ 1u;
  node[2] = float_bits(split.point);
  for (std::size_t i = 0; i < s.node_words; ++i) other[i] = node[i];
  other[1] = split.half;
  s.search.open += 2;
  if (s.search.open > s.search.most_open) s.search.most_open = s.search.open;
}

static inline void note_undecided(NodeSearch& s) {
  if (s.undecided) return;
  s.undecided = true;
  s.undecided_case = s.index;
  s.undecided_clause = s.clause - s.property->case_clauses[s.index];
}

// Nodes between two looks at what halves of inputs gain, at most.
constexpr std::uint32_t kMostBetweenLooks = 64;

// Where so few inputs vary, halves of an input may lack so many times what those of a neuron lack,
// since intervals that are made anew gain below, too.
constexpr int kFewInputs = 16;
constexpr float kWorthIntervals = 1.3f;

static inline bool varies_in_few(const NodeSearch& s) {
  int count = 0;
  for (std::size_t k = 0; k < s.inputs; ++k) count += s.case_lower[k] < s.case_upper[k] ? 1 : 0;
  return count <= kFewInputs;
}

// Chooses between the split of a neuron and that of an input: by the bounds of their halves at some
// nodes, and as at the last of these at the others.
template <class Bounds>
static inline bf_status choose_split(NodeSearch& s, const std::uint32_t* node,
                                     const Candidates& candidates, NodeSplit half,
                                     const Bounds& bounds, NodeSplit* chosen) {
  *chosen = half;
  if (candidates.count == 0) return BF_OK;
  const bool looks = half.half != kNoSplit && s.until_look == 0;
  if (s.until_look > 0) --s.until_look;
  if (!looks && s.halves_gain && half.half != kNoSplit) return BF_OK;
  *chosen = look_ahead(s, candidates);
  if (!looks) return BF_OK;
  if (const bf_status status = try_halves(s, node, bounds, half)) return status;
  if (s.stopped) return BF_OK;
  const float worth = varies_in_few(s) ? kWorthIntervals : 1;
  const bool gain = half.score >= worth * chosen->score;
  const std::uint32_t twice = 2 * s.between_looks;
  s.between_looks = gain != s.halves_gain       ? 1
                    : twice < kMostBetweenLooks ? twice
                                                : kMostBetweenLooks;
  s.until_look = s.between_looks;
  s.halves_gain = gain;
  if (gain) *chosen = half;
  return BF_OK;
}

// Splits a node that is not proven, and tries points of it. room: false, with the node where it
// was, when there is none for its halves, or the caller has had enough.
template <class Bounds>
static inline bf_status split_node(NodeSearch& s, std::uint32_t* node, bool walks,
                                   const Bounds& bounds, bool* room) {
  const NodeSplit half = halve_box(s);
  const Candidates candidates = choose_candidates(s);
  if (const bf_status status =
          walk_from_x(s, walks || candidates.count == 0 ? kWalkSteps : 0, bounds))
    return status;
  if (s.found.verdict == BF_FALSIFIED) return BF_OK;
  const bool deepest = node[0] == static_cast<std::uint32_t>(s.bounds.network->neurons) +
                                      static_cast<std::uint32_t>(kMostHalvings);
  NodeSplit split = {kNoSplit, 0, 0};
  *room = s.search.open + 2 <= s.capacity;
  if (*room && !deepest) {
    load_choices(s, node);
    load_phases(s, node[0]);
    if (const bf_status status = choose_split(s, node, candidates, half, bounds, &split))
      return status;
    *room = !s.stopped;
  }
  if (!*room) {
    ++s.search.open;
    return BF_OK;
  }
  if (split.half == kNoSplit)
    note_undecided(s);
  else
    push_halves(s, split);
  return BF_OK;
}

// Bounds the last node of the stack, and takes it off or splits it. room: as of split_node().
template <class Bounds>
static inline bf_status expand_node(NodeSearch& s, const Bounds& bounds, bool* room) {
  std::uint32_t* const node = node_at(s, --s.search.open);
  const std::uint32_t depth = node[0];
  bool excluded = false;
  if (depth > 0) {
    s.path[depth - 1] = node[1];
    s.points[depth - 1] = bits_float(node[2]);
  }
  if (const bf_status status =
          depth == 0 ? load_root(s, bounds) : load_node(s, node, bounds, &excluded))
    return status;
  *room = !s.stopped;
  if (!*room) {
    ++s.search.open;
    return BF_OK;
  }
  const std::uint64_t number = s.search.boxes++;
  const int steps = depth == 0 ? kRootSteps : is_affine(s) ? kLeafSteps : kNodeSteps;
  if (excluded || close_node(s, steps)) {
    s.search.proven += share_of(s.share, depth);
    return BF_OK;
  }
  store_choices(s, node);
  return split_node(s, node, depth == 0 || number % kNodesPerWalk == 0, bounds, room);
}

}  // namespace bf
