#pragma once

#include "bf/c/core.h"
#include "bf/c/nodes/network.h"

// Bounds nodes of a tree of neuron splits, in plain float32: choices that give good bounds, and
// splits, which its host proves, or does not. Nothing is claimed, and nothing is rounded outward.
// It does what aot/decide/neurons/ does for ReLUs on a box: LaneProposal's bound(), forward() and
// step_weights() in lane_proposal.cpp, and NodeSplitter's ascend(), choose_candidates() and
// look_ahead() in splitter.cpp.
//
// A group has BF_NODE_LANES nodes. One item takes all of them; of more, BF_NODE_LANES items take
// one each, and so many such teams share rows and neurons.

#if defined(BF_DEVICE)

#if BF_ITEMS > 1
#define BF_NODE_OWN 1  // lanes of an item
#define BF_NODE_FIRST (BF_ITEM % BF_NODE_LANES)
#define BF_NODE_TEAMS (BF_ITEMS / BF_NODE_LANES)
#define BF_NODE_TEAM (BF_ITEM / BF_NODE_LANES)
typedef float bf_own_lanes;
#define BF_OWN_ZERO 0.0f
#else
#define BF_NODE_OWN BF_NODE_LANES
#define BF_NODE_FIRST 0
#define BF_NODE_TEAMS 1
#define BF_NODE_TEAM 0
#if defined(__OPENCL_C_VERSION__)
typedef float16 bf_own_lanes;
#define BF_OWN_ZERO ((float16)(0.0f))
#else
typedef float bf_own_lanes __attribute__((vector_size(64), aligned(4), may_alias));
#define BF_OWN_ZERO (bf_own_lanes{})
#endif
#endif

// A loop over 0 .. n - 1 that the teams of a group deal out in as many turns, as BF_EACH_OF, and
// one over an item's lanes.
#if BF_ITEMS > 1
#define BF_EACH_OF_TEAM(i, n)                              \
  for (int i##_turn = 0, i = BF_NODE_TEAM; i##_turn < (n); \
       i##_turn += BF_NODE_TEAMS, i += BF_NODE_TEAMS)      \
    if (i < (n))
#else
#define BF_EACH_OF_TEAM(i, n) for (int i = 0; i < (n); ++i)
#endif
#define BF_EACH_OWN(q) for (int q = 0; q < BF_NODE_OWN; ++q)

#define BF_LANES_AT(element) ((size_t)(element)*BF_NODE_LANES)
#define BF_OWN_AT(p) (*(BF_GLOBAL bf_own_lanes*)(p))
#define BF_CONST_OWN_AT(p) (*(BF_GLOBAL const bf_own_lanes*)(p))

// Holds what an item sees of its group. Arrays of lanes begin at its first lane.
typedef struct bf_nodes {
  BF_GLOBAL const bf_node_network* network;
  BF_GLOBAL const bf_node_layer* layers;
  BF_GLOBAL const bf_node_part* parts;
  BF_GLOBAL const int32_t* integers;
  BF_GLOBAL const float* numbers;
  BF_GLOBAL const bf_node_clause* clause;
  BF_GLOBAL const bf_node_term* terms;
  BF_GLOBAL const float* scales;  // by layer
  BF_GLOBAL float* choices;       // of open neurons: the slope, or the multiplier of a split one
  BF_GLOBAL float* weights;       // of terms
  BF_GLOBAL float* phase;         // of open neurons, 1: z >= 0, -1: z <= 0, 0: not split
  BF_GLOBAL const float* lower;   // of open neurons, l of [l, u], and u / (u - l)
  BF_GLOBAL const float* ratio;
  BF_GLOBAL float* over_input;
  BF_GLOBAL float* input;
  BF_GLOBAL float* over_a;
  BF_GLOBAL float* a;  // z, before the layer's neurons are
  BF_GLOBAL float* over_z;
  BF_GLOBAL float* mean;
  BF_GLOBAL float* largest;
  BF_GLOBAL float* gaps;
  BF_GLOBAL float* gains;
  BF_GLOBAL float* told;  // by the items of a group to each other: two numbers each
} bf_nodes;

BF_FUNCTION bf_nodes bf_nodes_of(BF_GLOBAL const unsigned char* network,
                                 BF_GLOBAL const unsigned char* clause, BF_GLOBAL float* choices,
                                 BF_GLOBAL float* ranges, BF_GLOBAL float* arenas,
                                 BF_GLOBAL float* gains) {
  bf_nodes n;
  const size_t group = BF_BOX;
  BF_GLOBAL float* arena;
  n.network = (BF_GLOBAL const bf_node_network*)(BF_GLOBAL const void*)network;
  n.layers =
      (BF_GLOBAL const bf_node_layer*)(BF_GLOBAL const void*)(network + n.network->layers_at);
  n.parts = (BF_GLOBAL const bf_node_part*)(BF_GLOBAL const void*)(network + n.network->parts_at);
  n.integers = (BF_GLOBAL const int32_t*)(BF_GLOBAL const void*)(network + n.network->integers_at);
  n.numbers = (BF_GLOBAL const float*)(BF_GLOBAL const void*)(network + n.network->numbers_at);
  n.clause = (BF_GLOBAL const bf_node_clause*)(BF_GLOBAL const void*)clause;
  n.terms = (BF_GLOBAL const bf_node_term*)(BF_GLOBAL const void*)(clause + sizeof(bf_node_clause));
  n.scales = (BF_GLOBAL const float*)(BF_GLOBAL const void*)(n.terms + n.clause->terms);
  n.choices = choices + group * BF_NODE_CHOICES(n.network->open, n.clause->terms) + BF_NODE_FIRST;
  n.weights = n.choices + BF_LANES_AT(n.network->open);
  n.phase = ranges + group * BF_NODE_RANGES(n.network->open) + BF_NODE_FIRST;
  n.lower = n.phase + BF_LANES_AT(n.network->open);
  n.ratio = n.lower + BF_LANES_AT(n.network->open);
  n.gains = gains + group * BF_LANES_AT(n.network->open) + BF_NODE_FIRST;
  arena = arenas + group * BF_NODE_ARENA(n.network->inputs, n.network->neurons, n.network->widest,
                                         n.network->open, BF_ITEMS);
  n.over_input = arena + BF_NODE_FIRST;
  n.input = n.over_input + BF_LANES_AT(n.network->inputs);
  n.over_a = n.input + BF_LANES_AT(n.network->inputs);
  n.a = n.over_a + BF_LANES_AT(n.network->neurons);
  n.over_z = n.a + BF_LANES_AT(n.network->neurons);
  n.mean = n.over_z + BF_LANES_AT(n.network->widest);
  n.largest = n.mean + BF_LANES_AT(n.network->open);
  n.gaps = n.largest + BF_LANES_AT(n.network->open);
  n.told = n.gaps + BF_LANES_AT(n.network->open) - BF_NODE_FIRST;
  return n;
}

// Sums numbers of each lane over the teams. All items call it.
BF_FUNCTION void bf_node_total(const bf_nodes* n, float* own) {
#if BF_ITEMS > 1
  float sum = 0.0f;
  n->told[BF_ITEM] = own[0];
  BF_BARRIER;
  for (int team = 0; team < BF_NODE_TEAMS; ++team)
    sum += n->told[team * BF_NODE_LANES + BF_NODE_FIRST];
  BF_BARRIER;
  own[0] = sum;
#else
  (void)n;
  (void)own;
#endif
}

// Whether it is so in any lane, for all items. All of them call it.
BF_FUNCTION bool bf_node_any(const bf_nodes* n, bool own) {
#if BF_ITEMS > 1
  bool any = false;
  n->told[BF_ITEM] = own ? 1.0f : 0.0f;
  BF_BARRIER;
  for (int item = 0; item < BF_NODE_LANES; ++item) any = any || n->told[item] > 0.0f;
  BF_BARRIER;
  return any;
#else
  (void)n;
  return own;
#endif
}

// y += M x, by all items. x and y are of an item's lanes.
BF_FUNCTION void bf_node_multiply(const bf_nodes* n, const bf_node_matrix m,
                                  BF_GLOBAL const float* x, BF_GLOBAL float* y) {
  if (m.start < 0) {
    BF_EACH_OF_TEAM(panel, (m.rows + BF_NODE_PANEL - 1) / BF_NODE_PANEL) {
      BF_GLOBAL const float* const weight =
          n->numbers + m.weight + (size_t)panel * BF_NODE_PANEL * (size_t)m.columns;
      const int rows = bf_smaller(BF_NODE_PANEL, m.rows - panel * BF_NODE_PANEL);
      bf_own_lanes sum[BF_NODE_PANEL];
      BF_UNROLL(BF_NODE_PANEL)
      for (int i = 0; i < BF_NODE_PANEL; ++i) sum[i] = BF_OWN_ZERO;
      for (int k = 0; k < m.columns; ++k) {
        const bf_own_lanes from = BF_CONST_OWN_AT(x + BF_LANES_AT(k));
        BF_UNROLL(BF_NODE_PANEL)
        for (int i = 0; i < BF_NODE_PANEL; ++i) sum[i] += weight[k * BF_NODE_PANEL + i] * from;
      }
      for (int i = 0; i < rows; ++i)
        BF_OWN_AT(y + BF_LANES_AT(panel * BF_NODE_PANEL + i)) += sum[i];
    }
    return;
  }
  BF_EACH_OF_TEAM(r, m.rows) {
    const int end = n->integers[m.start + r + 1];
    int k = n->integers[m.start + r];
    bf_own_lanes first = BF_CONST_OWN_AT(y + BF_LANES_AT(r));
    bf_own_lanes second = BF_OWN_ZERO;
    for (; k + 1 < end; k += 2) {
      first +=
          n->numbers[m.weight + k] * BF_CONST_OWN_AT(x + BF_LANES_AT(n->integers[m.column + k]));
      second += n->numbers[m.weight + k + 1] *
                BF_CONST_OWN_AT(x + BF_LANES_AT(n->integers[m.column + k + 1]));
    }
    if (k < end)
      first +=
          n->numbers[m.weight + k] * BF_CONST_OWN_AT(x + BF_LANES_AT(n->integers[m.column + k]));
    BF_OWN_AT(y + BF_LANES_AT(r)) = first + second;
  }
}

// Goes from coefficients over a of a layer to those over z.
BF_FUNCTION void bf_node_pass(const bf_nodes* n, int i, float* bounds) {
  const bf_node_layer layer = n->layers[i];
  const float scale = n->scales[i];
  BF_EACH_OF_TEAM(j, layer.size) {
    const float bias = n->numbers[layer.bias + j];
    const int number = n->integers[layer.number + j];
    BF_GLOBAL const float* const over_a = n->over_a + BF_LANES_AT(layer.at + j);
    BF_GLOBAL float* const over_z = n->over_z + BF_LANES_AT(j);
    if (number < 0) {
      BF_EACH_OWN(q) {
        over_z[q] = over_a[q];
        bounds[q] += over_a[q] * bias;
      }
    } else {
      const size_t own = BF_LANES_AT(number);
      BF_EACH_OWN(q) {
        const float over = over_a[q];
        const float choice = n->choices[own + q];
        const float phase = n->phase[own + q];
        const float ratio = n->ratio[own + q];
        const float lower = n->lower[own + q];
        const float slope = over >= 0.0f ? choice : ratio;
        const float multiplier = choice * scale;
        const float kept = phase > 0.0f ? over - multiplier : multiplier;
        const float z = phase == 0.0f ? over * slope : kept;
        const float offset = phase == 0.0f && over < 0.0f ? over * (-ratio * lower) : 0.0f;
        over_z[q] = z;
        bounds[q] += z * bias + offset;
      }
    }
  }
}

// Bounds of all lanes. All items call it, and know the bounds of their lanes then.
BF_FUNCTION void bf_node_bound(const bf_nodes* n, float* bounds) {
  const bf_node_network net = *n->network;
  BF_EACH_OWN(q) bounds[q] = 0.0f;
  BF_EACH_OF_TEAM(j, net.neurons) BF_EACH_OWN(q) n->over_a[BF_LANES_AT(j) + q] = 0.0f;
  BF_EACH_OF_TEAM(k, net.inputs) BF_EACH_OWN(q) n->over_input[BF_LANES_AT(k) + q] = 0.0f;
  BF_BARRIER;
  if (BF_NODE_TEAM == 0)
    for (int t = 0; t < n->clause->terms; ++t) {
      const bf_node_term term = n->terms[t];
      BF_EACH_OWN(q) {
        const float weight = term.sign * n->weights[BF_LANES_AT(t) + q];
        n->over_a[BF_LANES_AT(term.at) + q] += weight;
        bounds[q] -= weight * term.threshold;
      }
    }
  BF_BARRIER;
  for (int i = net.layers - 1; i >= 0; --i) {
    const bf_node_layer layer = n->layers[i];
    bf_node_pass(n, i, bounds);
    BF_BARRIER;
    for (int k = 0; k < layer.parts; ++k) {
      const bf_node_part part = n->parts[layer.first_part + k];
      bf_node_multiply(
          n, part.backward, n->over_z,
          part.source < 0 ? n->over_input : n->over_a + BF_LANES_AT(n->layers[part.source].at));
      BF_BARRIER;
    }
  }
  BF_EACH_OF_TEAM(k, net.inputs) {
    const float lower = n->numbers[net.lower + k];
    const float upper = n->numbers[net.upper + k];
    BF_EACH_OWN(q) {
      const float over = n->over_input[BF_LANES_AT(k) + q];
      const float x = over >= 0.0f ? lower : upper;
      n->input[BF_LANES_AT(k) + q] = x;
      bounds[q] += over * x;
    }
  }
  bf_node_total(n, bounds);
}

// A pass forward makes one of these of an open neuron in a lane: its value by the line that is
// used, and a step of its choice; or that value, and what its relaxation loses; or the ReLU.
#define BF_NODE_STEP 0
#define BF_NODE_MEASURE 1
#define BF_NODE_TRUE 2

// A step along the gradient, see Ascent in aot/decide/neurons/lanes/function_lanes.h.
BF_FUNCTION void bf_node_step(const bf_nodes* n, size_t own, float scale, float rate, float over,
                              float z, float phase) {
  const float scaled = z * scale;
  const float gradient =
      phase == 0.0f ? (over > 0.0f ? over * z : 0.0f) : (phase > 0.0f ? -scaled : scaled);
  const float mean = n->clause->mean * n->mean[own] + (1.0f - n->clause->mean) * gradient;
  const float faded = n->clause->fade * n->largest[own];
  const float size = gradient < 0.0f ? -gradient : gradient;
  const float most = size > faded ? size : faded;
  float choice = n->choices[own];
  n->mean[own] = mean;
  n->largest[own] = most;
  choice += most > 0.0f ? rate * mean / most : 0.0f;
  choice = choice > 0.0f ? choice : 0.0f;  // NaN becomes 0, too
  n->choices[own] = phase == 0.0f && choice > 1.0f ? 1.0f : choice;
}

BF_FUNCTION float bf_node_neuron(const bf_nodes* n, int pass, size_t own, float scale, float rate,
                                 float over, float z) {
  const float phase = n->phase[own];
  const float ratio = n->ratio[own];
  const float lower = n->lower[own];
  const float free = over >= 0.0f ? z * n->choices[own] : (z - lower) * ratio;
  const float value = phase == 0.0f ? free : (phase > 0.0f ? z : 0.0f);
  const float relu = z > 0.0f ? z : 0.0f;
  if (pass == BF_NODE_TRUE) return relu;
  if (pass == BF_NODE_STEP) {
    bf_node_step(n, own, scale, rate, over, z, phase);
  } else {
    const float loss = over * (relu - value);
    n->gains[own] = phase == 0.0f && over < 0.0f ? over * (ratio * lower) : 0.0f;
    n->gaps[own] = phase == 0.0f && loss > 0.0f ? loss : 0.0f;
  }
  return value;
}

// Goes forward from the point of the last bound. All items call it.
BF_FUNCTION void bf_node_forward(const bf_nodes* n, int pass, const float* rates) {
  const int layers = n->network->layers;
  for (int i = 0; i < layers; ++i) {
    const bf_node_layer layer = n->layers[i];
    BF_GLOBAL float* const a = n->a + BF_LANES_AT(layer.at);
    BF_EACH_OF_TEAM(j, layer.size) {
      const float bias = n->numbers[layer.bias + j];
      BF_EACH_OWN(q) a[BF_LANES_AT(j) + q] = bias;
    }
    BF_BARRIER;
    for (int k = 0; k < layer.parts; ++k) {
      const bf_node_part part = n->parts[layer.first_part + k];
      bf_node_multiply(n, part.forward,
                       part.source < 0 ? n->input : n->a + BF_LANES_AT(n->layers[part.source].at),
                       a);
      BF_BARRIER;
    }
    BF_EACH_OF_TEAM(j, layer.size) {
      const int number = n->integers[layer.number + j];
      const size_t at = BF_LANES_AT(j);
      if (number >= 0) BF_EACH_OWN(q)
      a[at + q] = bf_node_neuron(n, pass, BF_LANES_AT(number) + q, n->scales[i], rates[q],
                                 n->over_a[BF_LANES_AT(layer.at + j) + q], a[at + q]);
    }
    BF_BARRIER;
  }
}

// A term's sign (row - threshold), by the last pass forward.
BF_FUNCTION float bf_node_lack(const bf_nodes* n, int t, int q) {
  const bf_node_term term = n->terms[t];
  return term.sign * (n->a[BF_LANES_AT(term.at) + q] - term.threshold);
}

// Weights of terms that hold by less grow, as LaneProposal::step_weights().
BF_FUNCTION void bf_node_step_weights(const bf_nodes* n, int q, float rate) {
  const int terms = n->clause->terms;
  float most = 0.0f;
  float sum = 0.0f;
  int weighed = 0;
  for (int t = 0; t < terms; ++t) {
    const float lack = bf_node_lack(n, t, q);
    const float size = lack < 0.0f ? -lack : lack;
    most = size > most ? size : most;
  }
  if (!(most > 0.0f)) return;
  for (int t = 0; t < terms; ++t) {
    const bool is_weighed = n->terms[t].weighed != 0;
    const float before = n->weights[BF_LANES_AT(t) + q];
    const float unit = is_weighed ? 1.0f : 1.0f + before;
    const float weight = before + rate * unit * bf_node_lack(n, t, q) / most;
    const float kept = weight > 0.0f ? weight : 0.0f;
    n->weights[BF_LANES_AT(t) + q] = kept;
    sum += is_weighed ? kept : 0.0f;
    weighed += is_weighed ? 1 : 0;
  }
  for (int t = 0; t < terms; ++t)
    if (n->terms[t].weighed != 0) {
      BF_GLOBAL float* const weight = n->weights + BF_LANES_AT(t) + q;
      *weight = sum > 0.0f ? *weight / sum : 1.0f / (float)weighed;
    }
}

// Ascends the nodes' choices, and writes their bounds, choices, and what splits may gain.
BF_ENTRY bf_ascend_nodes(BF_GLOBAL const unsigned char* network,
                         BF_GLOBAL const unsigned char* clause, BF_GLOBAL float* choices,
                         BF_GLOBAL float* ranges, BF_GLOBAL float* arenas, BF_GLOBAL float* made,
                         BF_GLOBAL float* gains) {
  const bf_nodes n = bf_nodes_of(network, clause, choices, ranges, arenas, gains);
  const bf_node_clause how = *n.clause;
  const int open = n.network->open;
  const bool writes = BF_NODE_TEAM == 0;
  BF_GLOBAL float* const to = made + BF_BOX * BF_LANES_AT(BF_NODE_MADE) + BF_NODE_FIRST;
  float bounds[BF_NODE_OWN];
  float best[BF_NODE_OWN];
  float reached[BF_NODE_OWN];
  float rates[BF_NODE_OWN];
  bool done[BF_NODE_OWN];
  bool measured = false;
  float rate = how.rate;
  float forgotten = how.mean;
  BF_EACH_OWN(q) {
    best[q] = reached[q] = rates[q] = 0.0f;
    done[q] = false;
  }
  BF_EACH_OF_TEAM(i, open)
  BF_EACH_OWN(q) n.mean[BF_LANES_AT(i) + q] = n.largest[BF_LANES_AT(i) + q] = 0.0f;
  for (int step = 0;; ++step) {
    bool going = false;
    bf_node_bound(&n, bounds);
    measured = false;
    BF_EACH_OWN(q) {
      if (!done[q]) best[q] = bounds[q];
      done[q] = done[q] || bounds[q] >= 0.0f;
      going = going || !done[q];
    }
    if (step >= how.steps && (step - how.steps) % how.more_steps == 0 && bf_node_any(&n, going)) {
      float lost[BF_NODE_OWN];
      const float left = (float)(how.most_steps - step);
      bf_node_forward(&n, BF_NODE_MEASURE, rates);
      measured = true;
      BF_EACH_OWN(q) lost[q] = 0.0f;
      BF_EACH_OF_TEAM(i, open) BF_EACH_OWN(q) lost[q] += n.gains[BF_LANES_AT(i) + q];
      bf_node_total(&n, lost);
      going = false;
      BF_EACH_OWN(q) {
        const float lacks = -best[q];
        const float expected =
            step == how.steps ? lacks : (best[q] - reached[q]) * left / (float)how.more_steps;
        const bool goes_on = expected >= lacks && left > 0.0f && lost[q] < how.little_more * lacks;
        done[q] = done[q] || !goes_on;
        reached[q] = best[q];
        going = going || !done[q];
      }
    }
    if (!bf_node_any(&n, going)) break;
    BF_EACH_OWN(q) rates[q] = done[q] ? 0.0f : rate / (1.0f - forgotten);
    bf_node_forward(&n, BF_NODE_STEP, rates);
    if (writes) BF_EACH_OWN(q)
    if (how.terms >= 2 && !done[q]) bf_node_step_weights(&n, q, rate);
    rate *= how.decay;
    forgotten *= how.mean;
    BF_BARRIER;
  }
  if (!measured) bf_node_forward(&n, BF_NODE_MEASURE, rates);
  if (writes) BF_EACH_OWN(q) to[q] = best[q];
}

// The open neuron with the largest score in each lane, the first of several, and none that was
// chosen before; -1 where no score is above 0. All items call it.
BF_FUNCTION void bf_node_choose(const bf_nodes* n, BF_GLOBAL const float* scores, const int* before,
                                int count, int* chosen) {
  const int open = n->network->open;
  float most[BF_NODE_OWN];
  BF_EACH_OWN(q) {
    most[q] = 0.0f;
    chosen[q] = -1;
  }
  BF_EACH_OF_TEAM(i, open) {
    BF_EACH_OWN(q) {
      const float score = scores[BF_LANES_AT(i) + q];
      bool taken = false;
      if (!(score > most[q])) continue;
      for (int c = 0; c < count; ++c) taken = taken || before[c * BF_NODE_OWN + q] == i;
      if (taken) continue;
      most[q] = score;
      chosen[q] = i;
    }
  }
#if BF_ITEMS > 1
  BF_GLOBAL float* const numbers = n->told + BF_ITEMS;
  n->told[BF_ITEM] = most[0];
  numbers[BF_ITEM] = (float)chosen[0];
  BF_BARRIER;
  most[0] = 0.0f;
  chosen[0] = -1;
  for (int team = 0; team < BF_NODE_TEAMS; ++team) {
    const int item = team * BF_NODE_LANES + BF_NODE_FIRST;
    const int number = (int)numbers[item];
    if (n->told[item] > most[0] ||
        (n->told[item] == most[0] && number >= 0 && number < chosen[0])) {
      most[0] = n->told[item];
      chosen[0] = number;
    }
  }
  BF_BARRIER;
#endif
}

// Writes the nodes' bounds, whether float32 violates the clause at their points, and the bounds of
// both halves of candidates for a split.
BF_ENTRY bf_look_ahead(BF_GLOBAL const unsigned char* network,
                       BF_GLOBAL const unsigned char* clause, BF_GLOBAL float* choices,
                       BF_GLOBAL float* ranges, BF_GLOBAL float* arenas, BF_GLOBAL float* made,
                       BF_GLOBAL float* gains) {
  const bf_nodes n = bf_nodes_of(network, clause, choices, ranges, arenas, gains);
  const int terms = n.clause->terms;
  BF_GLOBAL float* const to = made + BF_BOX * BF_LANES_AT(BF_NODE_MADE) + BF_NODE_FIRST;
  const bool writes = BF_NODE_TEAM == 0;
  int chosen[BF_NODE_CANDIDATES * BF_NODE_OWN];
  float bounds[BF_NODE_OWN];
  float kept[BF_NODE_OWN];
  BF_EACH_OWN(q) kept[q] = 0.0f;
  bf_node_bound(&n, bounds);
  if (writes) BF_EACH_OWN(q) to[q] = bounds[q];
  bf_node_forward(&n, BF_NODE_MEASURE, kept);
  bf_node_forward(&n, BF_NODE_TRUE, kept);
  if (writes) BF_EACH_OWN(q) {
      bool violated = true;
      for (int t = 0; t < terms; ++t) violated = violated && bf_node_lack(&n, t, q) < 0.0f;
      to[BF_LANES_AT(BF_NODE_VIOLATED) + q] = violated ? 1.0f : 0.0f;
    }
  for (int c = 0; c < BF_NODE_CANDIDATES; ++c) {
    int* const own = chosen + c * BF_NODE_OWN;
    bf_node_choose(&n, c < BF_NODE_BY_GAIN ? (BF_GLOBAL const float*)n.gains : n.gaps, chosen, c,
                   own);
    if (writes) BF_EACH_OWN(q) to[BF_LANES_AT(BF_NODE_CHOSEN + c) + q] = (float)own[q];
  }
  for (int half = 0; half < 2 * BF_NODE_CANDIDATES; ++half) {
    const int* const own = chosen + half / 2 * BF_NODE_OWN;
    if (writes) BF_EACH_OWN(q)
    if (own[q] >= 0) {
      const size_t at = BF_LANES_AT(own[q]) + q;
      kept[q] = n.choices[at];
      n.choices[at] = 0.0f;
      n.phase[at] = half % 2 == 0 ? -1.0f : 1.0f;
    }
    bf_node_bound(&n, bounds);
    if (writes) BF_EACH_OWN(q) {
        to[BF_LANES_AT(BF_NODE_HALVES + half) + q] = bounds[q];
        if (own[q] < 0) continue;
        n.choices[BF_LANES_AT(own[q]) + q] = kept[q];
        n.phase[BF_LANES_AT(own[q]) + q] = 0.0f;
      }
  }
}

#endif
