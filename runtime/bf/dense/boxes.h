#pragma once

#include "bf.h"
#include "bf/contract/integers.h"
#include "bf/core/bounds.h"
#include "bf/core/lanes.h"
#include "bf/core/relax.h"
#include "bf/sums/backward.h"

// The routines of bounds.h for kBoxes boxes side by side: element i of box b is element
// i kBoxes + b. Each lane goes through the operations of bounds.h on one box, in their order, so
// the proofs there hold lane by lane; what is said here is only why an operation on lanes is the
// scalar one. No lane reads another: bounds of a box do not depend on the boxes beside it
// (docs/proofs/boxes-in-lanes.md).

namespace bf {

// ---- which boxes

// The status of every box; returns the first that is not BF_OK. reach: of semantics float32.
template <typename... Reach>
bf_status check_boxes(std::size_t count, const float* lower, const float* upper, int n,
                      bf_status* statuses, Reach... reach) {
  bf_status first = BF_OK;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * static_cast<std::size_t>(n);
    statuses[i] = check_box(lower + at, upper + at, n, reach...);
    if (first == BF_OK) first = statuses[i];
  }
  return first;
}

// The boxes in the lanes. Starts as zeros.
template <int kBoxes>
struct BoxGroup {
  std::size_t box[kBoxes];
  int used;
  std::size_t from;  // the first box that no group has held
};

// The next boxes with BF_OK, one for each lane; false when there is none. Lanes that are left over
// repeat the last box: all of them compute something defined.
//
// A function with internal linkage, as all here that may not be inlined: see rounding.h.
template <int kBoxes>
static inline bool next_group(BoxGroup<kBoxes>& group, std::size_t count,
                              const bf_status* statuses) {
  group.used = 0;
  for (; group.from < count && group.used < kBoxes; ++group.from)
    if (statuses[group.from] == BF_OK) group.box[group.used++] = group.from;
  for (int b = group.used; group.used > 0 && b < kBoxes; ++b)
    group.box[b] = group.box[group.used - 1];
  return group.used > 0;
}

// Group `index`, counted from 0; false when there is none.
template <int kBoxes>
static inline bool find_group(BoxGroup<kBoxes>& group, int index, std::size_t count,
                              const bf_status* statuses) {
  group = {};
  for (int i = 0; i < index; ++i) next_group(group, count, statuses);
  return next_group(group, count, statuses);
}

template <int kBoxes>
static inline int count_groups(std::size_t count, const bf_status* statuses) {
  BoxGroup<kBoxes> group = {};
  int groups = 0;
  while (next_group(group, count, statuses)) ++groups;
  return groups;
}

// ---- the boxes

constexpr int kBoxStrip = 16;  // inputs that are brought into lanes together

// Inputs first .. first + count - 1 of all boxes, in lanes.
template <int kBoxes>
BF_LANES void gather_inputs(const BoxGroup<kBoxes>& group, const float* from, int n, int first,
                            int count, float* to) {
  for (int b = 0; b < kBoxes; ++b) {
    const float* const x = from + group.box[b] * static_cast<std::size_t>(n) + first;
    for (int i = 0; i < count; ++i) to[i * kBoxes + b] = x[i];
  }
}

// bind_box, interval method.
template <int kBoxes>
BF_ROUTINE bind_boxes(const BoxGroup<kBoxes>& group, const float* lower, const float* upper, int n,
                      float gamma, float* centre, float* radius) {
  constexpr int kLanes = lanes_of<float>(kBoxes);
  using Floats = typename VectorOf<float, kLanes>::type;
  for (int first = 0; first < n; first += kBoxStrip) {
    const int count = n - first < kBoxStrip ? n - first : kBoxStrip;
    alignas(64) float low[kBoxStrip * kBoxes];
    alignas(64) float high[kBoxStrip * kBoxes];
    gather_inputs(group, lower, n, first, count, low);
    gather_inputs(group, upper, n, first, count, high);
    for (int i = 0; i < count * kBoxes; i += kLanes) {
      const Floats l = load_rows<Floats>(low + i);
      const Floats h = load_rows<Floats>(high + i);
      const Floats c = 0.5f * l + 0.5f * h;
      const Floats right = h - c;
      const Floats left = c - l;
      const Floats distance = right > left ? right : left;
      const Floats size = c < 0 ? -c : c;
      store_rows(centre + first * kBoxes + i, c);
      store_rows(radius + first * kBoxes + i, Floats(distance * 0x1.000004p0f + size * gamma));
    }
  }
}

// bind_box, backward methods.
template <int kBoxes>
BF_ROUTINE bind_boxes(const BoxGroup<kBoxes>& group, const float* lower, const float* upper, int n,
                      double* centre, float* radius) {
  using L = Lanes<kBoxes>;
  for (int first = 0; first < n; first += kBoxStrip) {
    const int count = n - first < kBoxStrip ? n - first : kBoxStrip;
    alignas(64) float low[kBoxStrip * kBoxes];
    alignas(64) float high[kBoxStrip * kBoxes];
    gather_inputs(group, lower, n, first, count, low);
    gather_inputs(group, upper, n, first, count, high);
    for (int i = 0; i < count * kBoxes; i += L::kLanes)
      bind_lanes<kBoxes>(low + i, high + i, centre + first * kBoxes + i,
                         radius + first * kBoxes + i);
  }
}

// ---- the interval around a double centre

// centre_slack; slack: [kSlack][kBoxes]. Without a radius there is no sum of radii.
template <int kBoxes>
BF_ROUTINE slack_of_boxes(const double* centre, const float* radius, int n, double relative,
                          double row_norm, double bias_norm, double absolute, double* slack) {
  using L = Lanes<kBoxes>;
  using Doubles = typename L::Doubles;
  for (int v = 0; v < kBoxes; v += L::kLanes) {
    Doubles largest[kPartialSums] = {};
    Doubles sums[kPartialSums] = {};
    for (int k = 0; k < n; ++k) {
      const std::ptrdiff_t at = std::ptrdiff_t{k} * kBoxes + v;
      Doubles& most = largest[k % kPartialSums];
      most = L::larger(L::size(load_rows<Doubles>(centre + at)), most);
      if (radius != nullptr) sums[k % kPartialSums] += L::wide(radius + at);
    }
    for (int s = 1; s < kPartialSums; ++s) {
      largest[0] = L::larger(largest[s], largest[0]);
      sums[0] += sums[s];
    }
    store_rows(slack + v,
               Doubles((relative * (row_norm * largest[0] + bias_norm) + absolute) * kDoubleSlack));
    store_rows(slack + kBoxes + v, Doubles(sums[0] * (1 + 0x1p-20)));
  }
}

// interval_around.
template <int kBoxes>
BF_ROUTINE interval_around_boxes(const float* radius, int n, double inflate, const double* row,
                                 float* below, float* above) {
  using L = Lanes<kBoxes>;
  for (int v = 0; v < kBoxes; v += L::kLanes) {
    for (int j = 0; j < n; ++j) {
      const std::ptrdiff_t at = std::ptrdiff_t{j} * kBoxes + v;
      const auto own = load_rows<typename L::Doubles>(row + at);
      const auto reach = L::float_up(L::wide(radius + at) * inflate + own);
      store_rows(below + at, reach);
      store_rows(above + at, reach);
    }
  }
}

// ---- linear relaxation

// relax(); table: [6][n][kBoxes], or null.
template <int kBoxes>
BF_ROUTINE relax_boxes(int n, bool relu, const double* centre, const float* below,
                       const float* above, const float* radius, const RelaxErrors& errors,
                       double* slack, const double* row, float* table, double* centre_out,
                       float* radius_out) {
  using L = Lanes<kBoxes>;
  using Doubles = typename L::Doubles;
  const NeuronsView z = {centre, below, above, radius};
  const RelaxedView out = {table, std::ptrdiff_t{n} * kBoxes, centre_out, radius_out};
  for (int v = 0; v < kBoxes; v += L::kLanes) {
    Doubles reach[kPartialSums] = {};
    for (int j = 0; j < n; ++j) {
      const std::ptrdiff_t at = std::ptrdiff_t{j} * kBoxes + v;
      const Doubles own = table == nullptr ? Doubles{} : load_rows<Doubles>(row + at);
      reach[j % kPartialSums] += relax_lanes<kBoxes>(relu, z.from(at), errors, own, out.from(at));
    }
    if (table == nullptr) continue;
    for (int s = 1; s < kPartialSums; ++s) reach[0] += reach[s];
    const Doubles radii = load_rows<Doubles>(slack + kBoxes + v);
    store_rows(slack + 2 * kBoxes + v,
               Doubles((static_cast<double>(n) * (1 + radii) + reach[0]) * (1 + 0x1p-20)));
  }
}

// list_live of neurons that are live in any box.
template <int kBoxes, typename T>
static inline void list_live_boxes(const T* centre, const float* radius, int n,
                                   std::int32_t* live) {
  const auto is_live = [&](int j) {
    bool zero = true;
    for (int b = 0; b < kBoxes; ++b) {
      const std::ptrdiff_t at = std::ptrdiff_t{j} * kBoxes + b;
      zero = zero & (centre[at] == 0) & (radius[at] == 0);
    }
    return !zero;
  };
  list_if(n, is_live, live);
}

// ---- backward rows: each box has a list of its own, and in each round a neuron of it in its lane.
// Rows of +z are in the first kBoxes lanes, of -z in the others.

// The number of neurons that each box lists. A list is [rounds][kBoxes].
template <int kBoxes>
struct BoxRows {
  int count[kBoxes];
  int rounds;
};

// Gives every list as many rounds as the longest has, by repeating its last neuron.
template <int kBoxes>
static inline void fill_lists(BoxRows<kBoxes>& rows, std::int32_t* neurons) {
  for (int b = 0; b < kBoxes; ++b)
    rows.rounds = rows.count[b] > rows.rounds ? rows.count[b] : rows.rounds;
  for (int b = 0; b < kBoxes; ++b)
    for (int r = rows.count[b]; r < rows.rounds; ++r)
      neurons[r * kBoxes + b] = r > 0 ? neurons[(r - 1) * kBoxes + b] : 0;
}

// list_unstable of each box.
template <int kBoxes>
static inline BoxRows<kBoxes> list_unstable_boxes(const double* centre, const float* below,
                                                  const float* above, int n,
                                                  std::int32_t* neurons) {
  using L = Lanes<kBoxes>;
  BoxRows<kBoxes> rows = {};
  for (int j = 0; j < n; ++j)
    for (int v = 0; v < kBoxes; v += L::kLanes) {
      const std::ptrdiff_t at = std::ptrdiff_t{j} * kBoxes + v;
      const auto middle = load_rows<typename L::Doubles>(centre + at);
      const auto low = L::sub_down(middle, L::wide(below + at));
      const auto high = L::add_up(middle, L::wide(above + at));
      const typename L::Longs open = (low < 0) & (high > 0);
      for (int b = 0; b < L::kLanes; ++b) {  // a place that stays free is written over, or filled
        neurons[rows.count[v + b] * kBoxes + v + b] = j;
        rows.count[v + b] += open[b] != 0 ? 1 : 0;
      }
    }
  fill_lists(rows, neurons);
  return rows;
}

// list_all of each box.
template <int kBoxes>
static inline BoxRows<kBoxes> list_all_boxes(int n, std::int32_t* neurons) {
  BoxRows<kBoxes> rows = {};
  rows.rounds = n;
  for (int b = 0; b < kBoxes; ++b) rows.count[b] = n;
  for (int i = 0; i < n * kBoxes; ++i) neurons[i] = i / kBoxes;
  return rows;
}

// tighten_rows of a round: its `neurons`, one per box. errors.absolute is left out, `absolute` is
// that of each box. Boxes whose list has ended keep what they have.
template <int kBoxes>
BF_ROUTINE tighten_boxes(const BoxRows<kBoxes>& rows, int round, const std::int32_t* neurons,
                         const float* sums, const RowErrors& errors, const double* absolute,
                         const float* radius, float* below, float* above) {
  using L = Lanes<kBoxes>;
  using Doubles = typename L::Doubles;
  constexpr int kRows = 2 * kBoxes;
  float own_radius[kBoxes], down[kBoxes], up[kBoxes];
  double missed[kBoxes];
  for (int b = 0; b < kBoxes; ++b) {
    own_radius[b] = radius[neurons[b] * kBoxes + b];
    missed[b] = errors.row[neurons[b] * kBoxes + b];
  }
  for (int v = 0; v < kBoxes; v += L::kLanes) {
    Doubles own = load_rows<Doubles>(missed + v) + load_rows<Doubles>(absolute + v);
    if (errors.weight_relative != 0)
      own = errors.weight_relative * L::wide(own_radius + v) * errors.inflate + own;
    const auto reach = [&](int row) {
      const Doubles loss =
          (L::wide(sums + kRows + row) * errors.concretize_inflate + own) * kDoubleSlack;
      return L::float_up(L::sub_up(loss, L::wide(sums + row)));
    };
    store_rows(down + v, reach(v));
    store_rows(up + v, reach(kBoxes + v));
  }
  for (int b = 0; b < kBoxes; ++b) {
    if (round >= rows.count[b]) continue;
    const int at = neurons[b] * kBoxes + b;
    if (down[b] < below[at]) below[at] = down[b];
    if (up[b] < above[at]) above[at] = up[b];
  }
}

// keep_coefficients of a round: its `neurons`, one per box; errors and absolute as of
// tighten_boxes. kept: null, or of each box `stride` neurons.
template <int kBoxes>
static inline void keep_coefficients_of_boxes(const BoxGroup<kBoxes>& group,
                                              const std::int32_t* neurons, int inputs,
                                              const float* over_inputs, const float* sums,
                                              const RowErrors& errors, const double* absolute,
                                              const float* radius, const double* centre,
                                              int position, std::size_t stride, float* kept) {
  if (kept == nullptr) return;
  constexpr int kRows = 2 * kBoxes;
  const std::ptrdiff_t line = inputs + 1;
  for (int b = 0; b < group.used; ++b) {
    const std::ptrdiff_t at = std::ptrdiff_t{neurons[b]} * kBoxes + b;
    float* const to =
        kept +
        (static_cast<std::ptrdiff_t>(group.box[b] * stride) + position + neurons[b]) * 2 * line;
    const double own = own_loss(errors, radius[at], errors.row[at] + absolute[b]);
    const auto reach = [&](int row) {
      return reach_of_row(sums[row], sums[kRows + row], own, errors);
    };
    keep_line(over_inputs + b, kRows, inputs, centre[at], reach(b), to);
    keep_line(over_inputs + kBoxes + b, kRows, inputs, -centre[at], reach(kBoxes + b), to + line);
  }
}

// ---- to the caller: arrays of `stride` numbers per box, from the position of the head in them

// write_bounds.
template <int kBoxes>
BF_ROUTINE write_boxes(const BoxGroup<kBoxes>& group, int n, bool relu, const double* centre,
                       const float* below, const float* above, std::size_t stride, float* lower,
                       float* upper) {
  for (int j = 0; j < n; ++j)
    for (int b = 0; b < group.used; ++b) {
      const std::size_t to = group.box[b] * stride + static_cast<std::size_t>(j);
      const std::ptrdiff_t at = std::ptrdiff_t{j} * kBoxes + b;
      write_bounds(1, relu, centre + at, below + at, above + at, lower + to, upper + to);
    }
}

template <int kBoxes>
BF_ROUTINE write_boxes(const BoxGroup<kBoxes>& group, int n, const float* low, const float* high,
                       std::size_t stride, float* lower, float* upper) {
  for (int b = 0; b < group.used; ++b)
    for (int j = 0; j < n; ++j) {
      const std::size_t to = group.box[b] * stride + static_cast<std::size_t>(j);
      lower[to] = low[std::ptrdiff_t{j} * kBoxes + b];
      upper[to] = high[std::ptrdiff_t{j} * kBoxes + b];
    }
}

}  // namespace bf
