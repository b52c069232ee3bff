#pragma once

#include <stdint.h>

// The form in which hosts hand networks, clauses and nodes of trees of neuron splits to devices,
// see bf/c/nodes/lanes.h. Places are numbers of elements, of the array that is named.

// The nodes of a group, side by side: element i of lane p is number i BF_NODE_LANES + p.
#define BF_NODE_LANES 16
// Rows of full matrices that lie together.
#define BF_NODE_PANEL 8
// The neurons that a node is split by to choose one of them: by gain, then by gap.
#define BF_NODE_BY_GAIN 5
#define BF_NODE_CANDIDATES 6
// Numbers that are made of each lane: its bound, whether float32 violates the clause at its point,
// the numbers of candidates, or -1, and the bounds of both halves of each.
#define BF_NODE_VIOLATED 1
#define BF_NODE_CHOSEN 2
#define BF_NODE_HALVES (BF_NODE_CHOSEN + BF_NODE_CANDIDATES)
#define BF_NODE_MADE (BF_NODE_HALVES + 2 * BF_NODE_CANDIDATES)

// y += M x. start: of rows + 1 integers, where the rows' columns and weights begin; -1: the matrix
// is full, [rows / BF_NODE_PANEL][columns][BF_NODE_PANEL].
typedef struct bf_node_matrix {
  int32_t rows;
  int32_t columns;
  int32_t start;
  int32_t column;
  int32_t weight;
} bf_node_matrix;

// A layer reads this of another one, or of the inputs (-1): forward z += M a, backward coefficients
// over a += M^T coefficients over z.
typedef struct bf_node_part {
  int32_t source;
  bf_node_matrix forward;
  bf_node_matrix backward;
} bf_node_part;

// number: integers, of each neuron its number among open ReLUs; -1 where a = z.
typedef struct bf_node_layer {
  int32_t size;
  int32_t at;  // its first neuron among those of all layers
  int32_t first_part;
  int32_t parts;
  int32_t bias;
  int32_t number;
} bf_node_layer;

// The head of a network; the arrays lie behind it, at bytes.
typedef struct bf_node_network {
  int32_t layers;
  int32_t inputs;
  int32_t open;
  int32_t neurons;
  int32_t widest;  // neurons of a layer, at most
  int32_t lower;   // of the box
  int32_t upper;
  int32_t layers_at;
  int32_t parts_at;
  int32_t integers_at;
  int32_t numbers_at;
} bf_node_network;

// A condition sign (row - threshold) < 0. at: the row among all neurons.
typedef struct bf_node_term {
  int32_t at;
  int32_t weighed;  // its weight is one of those whose sum is 1
  float sign;
  float threshold;
} bf_node_term;

// The head of a clause, before its terms and the layers' units of multipliers, and of how nodes
// ascend: by `steps`, and by as many as most_steps where better choices may prove a node, whose
// progress is judged every more_steps.
typedef struct bf_node_clause {
  int32_t terms;
  int32_t steps;
  int32_t more_steps;
  int32_t most_steps;
  float little_more;  // times what a bound lacks: lines that lose less lack choices
  float rate;
  float decay;  // of the rate
  float mean;   // of gradients
  float fade;   // of the largest gradient
} bf_node_clause;

// Numbers of a group: choices of open neurons and weights of terms, which are moved; signs of
// splits, l and u / (u - l) of open neurons; and its arena. All are multiples of BF_NODE_LANES, as
// vectors of lanes need.
#define BF_NODE_CHOICES(open, terms) (BF_NODE_LANES * ((size_t)(open) + (size_t)(terms)))
#define BF_NODE_RANGES(open) (BF_NODE_LANES * 3 * (size_t)(open))
#define BF_NODE_ARENA(inputs, neurons, widest, open, items)                                \
  (BF_NODE_LANES *                                                                         \
   (2 * (size_t)(inputs) + 2 * (size_t)(neurons) + (size_t)(widest) + 3 * (size_t)(open) + \
    2 * (((size_t)(items) + BF_NODE_LANES - 1) / BF_NODE_LANES)))
