#pragma once

#include "bf/search/split_nodes.h"

// Decides a property on a box by splits of neurons and inputs: a node that bounds do not exclude is
// split at a neuron, or its box at an input, depth first. As in bounds.h: internal linkage, no
// heap, no state. Nothing depends on time: every run takes the same way. Proof:
// docs/proofs/neuron-splits.md.

namespace bf {

// ---- clauses

// The clause's terms, as far as there is room for weights: fewer exclude less. A condition that
// always holds excludes nothing.
static inline void take_terms(NodeSearch& s) {
  SplitBounds& b = s.bounds;
  b.term_count = 0;
  const PropertyTables& property = *s.property;
  for (std::uint32_t i = property.clause_terms[s.clause]; i < property.clause_terms[s.clause + 1];
       ++i) {
    const VerdictTerm& term = property.terms[i];
    const float threshold = term.at_least ? next_down(term.threshold) : next_up(term.threshold);
    if (!(__builtin_fabsf(threshold) < __builtin_inff())) continue;
    if (b.term_count == static_cast<std::uint32_t>(b.network->terms)) return;
    b.terms[b.term_count++] = {static_cast<std::uint32_t>(neuron_of_row(*b.network, term.row)),
                               term.at_least ? -1.0f : 1.0f, threshold};
  }
}

// The root of the clause's tree on the stack, with the usual choices for the case's box.
template <class Bounds>
static inline bf_status push_root(NodeSearch& s, const Bounds& bounds, bool* room) {
  SplitBounds& b = s.bounds;
  s.node_words = kNodeHead + b.term_count + (s.stored_count + 1) / 2;
  s.capacity = s.stack_words / s.node_words;
  *room = s.capacity > 0;
  if (!*room) return BF_OK;
  bool excluded = false;
  load_box(s, 0);
  if (const bf_status status = know_part(s, bounds, &excluded)) return status;
  for (std::uint32_t t = 0; t < b.term_count; ++t)
    b.weights[t] = 1 / static_cast<float>(b.term_count);
  set_choices(b);
  std::uint32_t* const root = node_at(s, 0);
  root[0] = root[1] = root[2] = 0;
  store_choices(s, root);
  s.search.open = 1;
  if (s.search.most_open == 0) s.search.most_open = 1;
  return BF_OK;
}

// The clause that is searched is left open.
static inline void end_search(NodeSearch& s) {
  s.found.verdict = BF_BUDGET;
  s.found.property_case = s.index;
  s.found.clause = s.clause - s.property->case_clauses[s.index];
}

static inline bool is_spent(NodeSearch& s) {
  const bool over = s.budget != nullptr && s.budget->boxes > 0 && s.search.boxes >= s.budget->boxes;
  return over || is_stopped(s);
}

// Searches a clause; writes BF_VERIFIED, BF_FALSIFIED or BF_BUDGET to found.verdict. A clause with
// a leaf that is not proven is undecided.
template <class Bounds>
static inline bf_status search_clause(NodeSearch& s, const Bounds& bounds) {
  take_terms(s);
  if (s.bounds.term_count == 0) {
    note_undecided(s);
    return BF_OK;
  }
  bool room = true;
  s.halves_gain = false;
  s.between_looks = 1;
  s.until_look = 0;
  if (const bf_status status = push_root(s, bounds, &room)) return status;
  while (room && s.search.open > 0) {
    if (is_spent(s)) break;
    if (const bf_status status = expand_node(s, bounds, &room)) return status;
    if (s.found.verdict == BF_FALSIFIED) return BF_OK;
  }
  if (!room || s.search.open > 0) end_search(s);
  return BF_OK;
}

// ---- cases

// The neurons that may be split in the case's part of the box, and the choices that nodes have.
static inline void list_open(NodeSearch& s) {
  const SplitBounds& b = s.bounds;
  s.open_count = s.stored_count = 0;
  for (std::int32_t i = 0; i < b.network->count; ++i) {
    const SplitLayer& layer = b.network->layers[i];
    for (std::int32_t j = 0; j < layer.out; ++j) {
      const std::int32_t n = layer.first + j;
      const bool splits = b.phase[n] == SplitPhase::kOpen || b.phase[n] == SplitPhase::kCurve;
      if (splits) s.open[s.open_count++] = static_cast<std::uint32_t>(n);
      if (!splits && layer.role != SplitRole::kProduct) continue;
      for (int c = 0; c < choices_of(layer.role); ++c)
        s.stored[s.stored_count++] = static_cast<std::uint32_t>(choice_of(layer, j) + c);
    }
  }
}

// Intervals of all neurons and rows on the case's part of the box, and what follows from them.
template <class Bounds>
static inline bf_status begin_case(NodeSearch& s, const Bounds& bounds) {
  ++s.search.boxes;
  for (std::size_t k = 0; k < s.inputs; ++k) {
    s.exact_lower[k] = s.case_lower[k];
    s.exact_upper[k] = s.case_upper[k];
  }
  load_box(s, 0);
  if (const bf_status status = know_box(s, bounds, s.box_row_lower, s.box_row_upper)) return status;
  list_open(s);
  s.has_points = shrink_to_exact(*s.property, static_cast<std::int32_t>(s.index), s.exact_lower,
                                 s.exact_upper);
  return BF_OK;
}

// Points where the clause's bound on the whole box leads to.
template <class Bounds>
static inline bf_status walk_for_clause(NodeSearch& s, const Bounds& bounds) {
  take_terms(s);
  bool room = s.bounds.term_count > 0;
  if (room)
    if (const bf_status status = push_root(s, bounds, &room)) return status;
  if (!room) return BF_OK;
  if (const bf_status status = load_root(s, bounds)) return status;
  s.search.open = 0;
  begin_ascent(s.bounds);
  bound_node(s.bounds);
  for (int step = 0; step < kRootSteps; ++step) {
    ascend(s.bounds, step);
    bound_node(s.bounds);
  }
  return walk_from_x(s, kWalkSteps, bounds);
}

// The centre of the exact box and its corners, as NAME_verify does, and points of every clause that
// is open, before any tree.
template <class Bounds>
static inline bf_status try_first_points(NodeSearch& s, const Bounds& bounds) {
  if (!s.has_points) return BF_OK;
  const auto at = [&s, &bounds](const float* low, const float* high, float* row_low,
                                float* row_high) {
    is_stopped(s);  // after these few
    ++s.search.points;
    return bounds(low, high, row_low, row_high, nullptr);
  };
  if (const bf_status status =
          find_violation(*s.property, static_cast<std::int32_t>(s.index), s.exact_lower,
                         s.exact_upper, s.row_lower, s.row_upper, s.point, &s.found, at))
    return status;
  const std::uint32_t first = s.clause, end = s.property->case_clauses[s.index + 1];
  for (; s.clause < end && s.found.verdict == BF_VERIFIED && !s.stopped; ++s.clause)
    if (!is_excluded(*s.property, s.clause, s.box_row_lower, s.box_row_upper))
      if (const bf_status status = walk_for_clause(s, bounds)) return status;
  s.clause = first;
  return BF_OK;
}

// The clauses of a case that the bounds on its part of the box leave open, one after the other.
template <class Bounds>
static inline bf_status search_case(NodeSearch& s, const Bounds& bounds) {
  const PropertyTables& property = *s.property;
  const std::uint32_t begin = property.case_clauses[s.index];
  const std::uint32_t end = property.case_clauses[s.index + 1];
  const double share = 1 / static_cast<double>(property.cases);
  s.clause = begin;
  if (begin == end || !intersect_case(property, static_cast<std::int32_t>(s.index), s.whole_lower,
                                      s.whole_upper, s.case_lower, s.case_upper)) {
    s.search.proven += share;
    return BF_OK;
  }
  if (is_spent(s)) {
    end_search(s);
    return BF_OK;
  }
  if (const bf_status status = begin_case(s, bounds)) return status;
  s.share = share / static_cast<double>(end - begin);
  bool tried = false;
  for (; s.clause < end; ++s.clause) {
    if (is_excluded(property, s.clause, s.box_row_lower, s.box_row_upper)) {
      s.search.proven += s.share;
      continue;
    }
    if (!tried)
      if (const bf_status status = try_first_points(s, bounds)) return status;
    tried = true;
    if (s.found.verdict == BF_FALSIFIED) return BF_OK;
    if (const bf_status status = search_clause(s, bounds)) return status;
    if (s.found.verdict != BF_VERIFIED) return BF_OK;
  }
  return BF_OK;
}

// The memory, shared out: numbers of 8 bytes first. False when it has no room for two open nodes.
static inline bool share_out(NodeSearch& s, void* memory, std::size_t bytes) {
  SplitBounds& b = s.bounds;
  const SplitNetwork& network = *b.network;
  const auto neurons = static_cast<std::size_t>(network.neurons);
  const auto widest = static_cast<std::size_t>(network.widest);
  const auto layers = static_cast<std::size_t>(network.count);
  const auto terms = static_cast<std::size_t>(network.terms);
  const auto choices = static_cast<std::size_t>(network.choices);
  const auto curves = static_cast<std::size_t>(network.curves);
  const std::size_t activations = network.multiplies ? neurons : 0;
  const std::size_t fixed =
      split_bytes({s.inputs, s.rows, neurons, widest, layers, terms, choices, curves, activations});
  if (bytes < fixed + 2 * open_node_bytes(choices, terms)) return false;
  double* wide = static_cast<double*>(memory);
  const auto take_wide = [&wide](std::size_t count) {
    double* const first = wide;
    wide += count;
    return first;
  };
  b.price = take_wide(neurons);
  b.proven_over_a = take_wide(neurons);
  b.proven_over_z = take_wide(widest);
  b.proven_over_x = take_wide(s.inputs);
  b.curves = reinterpret_cast<SplitCurve*>(take_wide(curves * (kCurveBytes / sizeof(double))));
  float* next = reinterpret_cast<float*>(wide);
  const auto take = [&next](std::size_t count) {
    float* const first = next;
    next += count;
    return first;
  };
  b.low = take(neurons);
  b.high = take(neurons);  // behind low, as keep_ranges() writes
  b.least = take(activations);
  b.most = take(activations);
  b.part = take(2 * curves);
  float** const by_choice[] = {&b.choice, &b.mean, &b.largest};
  for (float** const each : by_choice) *each = take(choices);
  float** const by_neuron[] = {&b.over_a, &b.over_z, &b.z, &b.a};
  for (float** const each : by_neuron) *each = take(neurons);
  b.gain = b.mean;  // of an ascent that has ended
  b.gap = b.largest;
  float** const by_input[] = {&b.over_x,     &b.x,           &s.case_lower,  &s.case_upper,
                              &s.node_lower, &s.node_upper,  &s.exact_lower, &s.exact_upper,
                              &s.point,      &s.known_lower, &s.known_upper};
  for (float** const each : by_input) *each = take(s.inputs);
  float** const by_row[] = {&s.box_row_lower, &s.box_row_upper, &s.row_lower, &s.row_upper};
  for (float** const each : by_row) *each = take(s.rows);
  b.scale = take(layers);
  b.weights = take(terms);
  b.terms = reinterpret_cast<SplitTerm*>(take(terms * sizeof(SplitTerm) / sizeof(float)));
  s.open = reinterpret_cast<std::uint32_t*>(take(neurons));
  s.stored = reinterpret_cast<std::uint32_t*>(take(choices));
  s.path = reinterpret_cast<std::uint32_t*>(take(neurons + kMostHalvings));
  s.points = take(neurons + kMostHalvings);
  b.phase = reinterpret_cast<SplitPhase*>(take((neurons + 3) / 4));
  s.stack = reinterpret_cast<std::uint32_t*>(next);
  s.stack_words = (bytes - fixed) / sizeof(std::uint32_t);
  b.lower = s.node_lower;
  b.upper = s.node_upper;
  return true;
}

// Decides the property on a box that check_box accepts. bounds(lower, upper, row_lower, row_upper,
// ranges) bounds C y on a box and, where ranges is not null, the neurons of layers before their
// ReLUs as keep_ranges() does. memory: at least split_bytes() and two nodes, aligned for double;
// the rest is for more open nodes. Verdicts as of decide_property: BF_UNKNOWN when a node with
// every neuron split was left open, BF_BUDGET when no more nodes are allowed or there is no room.
//
// Verified is a proof: on each case's part of the box, the halves of nodes cover them, and each
// clause was excluded on all nodes that were left. Falsified is one as in verify_property.
template <class Bounds>
static inline bf_status decide_by_neurons(const PropertyTables& property,
                                          const SplitNetwork& network, const float* lower,
                                          const float* upper, const bf_budget* budget,
                                          bf_result* result, bf_search* search, void* memory,
                                          std::size_t bytes, const Bounds& bounds) {
  NodeSearch s = {};
  s.property = &property;
  s.bounds.network = &network;
  s.inputs = static_cast<std::size_t>(property.inputs);
  s.rows = static_cast<std::size_t>(property.rows);
  s.whole_lower = lower;
  s.whole_upper = upper;
  s.budget = budget;
  s.found = {BF_VERIFIED, 0, 0, result->counterexample};
  if (!share_out(s, memory, bytes)) return BF_WORKSPACE_TOO_SMALL;
  const auto cases = static_cast<std::uint32_t>(property.cases);
  for (s.index = 0; s.index < cases && s.found.verdict == BF_VERIFIED; ++s.index)
    if (const bf_status status = search_case(s, bounds)) return status;
  if (s.undecided && s.found.verdict != BF_FALSIFIED) {
    if (s.found.verdict == BF_VERIFIED) s.found.verdict = BF_UNKNOWN;
    s.found.property_case = s.undecided_case;
    s.found.clause = s.undecided_clause;
  }
  if (s.found.verdict == BF_VERIFIED)
    s.found.verdict = verdict_within(property, lower, upper, s.node_lower, s.node_upper);
  *result = s.found;
  if (search != nullptr) *search = s.search;
  return BF_OK;
}

}  // namespace bf
