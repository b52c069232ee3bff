#pragma once

// Balls around the centres of layers, and what rows gain in them: docs/proofs/balls.md, "Balls of
// layers" and "Gains of rows". Distances are those of Euclid's norm.

#include <cstddef>
#include <cstdint>

#include "bf/contract/tables.h"
#include "bf/core/bounds.h"
#include "bf/core/rounding.h"
#include "bf/core/vectors.h"
#include "bf/sums/balls.h"

namespace bf {

// At least the root of a sum of at most 2^29 squares that was computed in double.
static inline double root_of_squares(double sum) {
  return root_above(float_up(sum * (1 + 0x1p-20))) * (1 + 0x1p-50);
}

// A term of a layer reads `in` activations within their radii and, all together, within reach_in of
// their centres; reach_in null: the network's inputs, of finite radii, which are within `inflate`
// of the largest radius. norm, rows: BallNorms. reach and half_j become, or gain, how far the term
// and its output j are from their centres at most.
static inline void ball_term(int in, const float* radius, const double* reach_in, double inflate,
                             double norm, int out, const float* rows, bool add, double* reach,
                             float* half) {
  double within = 0;
  if (reach_in == nullptr) {
    for (int k = 0; k < in; ++k) {
      const double r = static_cast<double>(ball_radius(radius[k]));
      within = r > within ? r : within;
    }
    within *= inflate;
  } else {
    double squares = 0;
    for (int k = 0; k < in; ++k) {
      const double r = static_cast<double>(radius[k]);
      squares += r * r;
    }
    const double side = root_of_squares(squares);
    within = *reach_in < side ? *reach_in : side;
  }
  *reach = ((add ? *reach : 0) + norm * within) * kDoubleSlack;
  for (int j = 0; j < out; ++j) {
    const double reached = static_cast<double>(rows[j]) * within;
    half[j] = float_up(((add ? static_cast<double>(half[j]) : 0) + reached) * kDoubleSlack);
  }
}

// Adds what the centres themselves may miss, and tightens n neurons' bounds by what is known of
// each.
static inline void meet_ball(int n, const float* half, const double* row, float* below,
                             float* above, double* reach) {
  double squares = 0;
  for (int j = 0; j < n; ++j) {
    squares += row[j] * row[j];
    const float reached = float_up((static_cast<double>(half[j]) + row[j]) * kDoubleSlack);
    if (reached < below[j]) below[j] = reached;
    if (reached < above[j]) above[j] = reached;
  }
  *reach = (*reach + root_of_squares(squares)) * kDoubleSlack;
}

// ---- gains of rows

constexpr int kCoarseTries = 4;  // multipliers, each four times the one before
constexpr int kFineTries = 8;    // about the best of them
constexpr int kGainBlock = 32;   // neurons whose gains are added up in float
constexpr float kGainLess = 1 - 0x1p-21f;

// Slopes and distances of the lines of one neuron of unknown sign: the gap between a line and the
// ReLU is at least slope max(distance - |z - centre|, 0), on the side that it names.
struct LineGaps {
  float lower_slope, lower;  // the lower line
  float left_slope, left;    // the upper line, below the centre
  float right_slope, right;  // and above it
};

// Distances that products would lose count as 0.
static inline float gap_distance(float distance) {
  return distance >= 0x1p-100f && distance <= kMaxFloat ? distance : 0.0f;
}

static inline LineGaps line_gaps(double centre, float below, float above, float slope_upper,
                                 float slope_lower) {
  LineGaps made;
  made.lower_slope = (centre > 0 ? 1 - slope_lower : slope_lower) * kGainLess;
  made.lower = gap_distance(float_down(__builtin_fabs(centre)));
  made.left_slope = slope_upper * kGainLess;
  made.left = gap_distance(below);
  made.right_slope = (1 - slope_upper) * kGainLess;
  made.right = gap_distance(above);
  return made;
}

// The least value of slope max(distance - d, 0) + d^2 / (4 curve) over all d, or less:
// w (distance - curve w) for a w in [0, slope], which is where its derivative is 0 or at the end.
template <typename Floats>
__attribute__((always_inline)) static inline Floats least_gap(Floats slope, float distance,
                                                              Floats curve, Floats half) {
  const Floats free = distance * half;
  const Floats w = slope < free ? slope : free;
  return w * (distance - curve * w);
}

// Sums of the least values of all gaps for several curves of each row, in double.
template <int kRows, int kTries>
BF_ROUTINE sum_gaps(int n, const double* centre, const float* below, const float* above,
                    const float* table, const float* from, const float (&curve)[kTries][kRows],
                    double (&sums)[kTries][kRows]) {
  constexpr int kLanes = lanes_of<float>(kRows);
  using Floats = typename VectorOf<float, kLanes>::type;
  float half[kTries][kRows], part[kTries][kRows] = {};
  for (int t = 0; t < kTries; ++t)
    for (int r = 0; r < kRows; ++r) {
      half[t][r] = 0.5f / curve[t][r];
      sums[t][r] = 0;
    }
  const auto flush = [&] {
    for (int t = 0; t < kTries; ++t)
      for (int r = 0; r < kRows; ++r) {
        sums[t][r] += static_cast<double>(part[t][r]);
        part[t][r] = 0;
      }
  };
  int held = 0;
  for (int j = 0; j < n; ++j) {
    if (!is_unstable(centre, below, above, j)) continue;
    const LineGaps gaps = line_gaps(centre[j], below[j], above[j], table[kSlopeUpper * n + j],
                                    table[kSlopeLower * n + j]);
    const float* const rows = from + std::ptrdiff_t{j} * kRows;
    for (int v = 0; v < kRows; v += kLanes) {
      const Floats a = load_rows<Floats>(rows + v);
      const Floats size = a < Floats{} ? -a : a;
      const auto counted = [&](float slope) {
        const Floats steep = size * slope;
        return Floats(steep >= 0x1p-126f - Floats{} ? steep : Floats{});
      };
      const Floats lower = counted(gaps.lower_slope), left = counted(gaps.left_slope),
                   right = counted(gaps.right_slope);
      for (int t = 0; t < kTries; ++t) {
        const Floats c = load_rows<Floats>(curve[t] + v), h = load_rows<Floats>(half[t] + v);
        const Floats under = least_gap(lower, gaps.lower, c, h);
        const Floats down = least_gap(left, gaps.left, c, h);
        const Floats up = least_gap(right, gaps.right, c, h);
        const Floats over = down < up ? down : up;
        const Floats least = a < Floats{} ? over : under;
        store_rows(part[t] + v, Floats(load_rows<Floats>(part[t] + v) + least));
      }
    }
    if (++held == kGainBlock) {
      flush();
      held = 0;
    }
  }
  flush();
}

// Keeps the best gain of each row and the curve that it came from.
template <int kRows, int kTries>
static inline void keep_best_gain(const float (&curve)[kTries][kRows],
                                  const double (&sums)[kTries][kRows], double reach,
                                  double (&best)[kRows], float (&at)[kRows]) {
  for (int t = 0; t < kTries; ++t)
    for (int r = 0; r < kRows; ++r) {
      const double price = reach * reach / (4 * static_cast<double>(curve[t][r])) * kDoubleSlack;
      const double gain = sums[t][r] * (1 - 0x1p-18) - price - 0x1p-100;
      if (!(gain > best[r] && gain <= __DBL_MAX__)) continue;
      best[r] = gain;
      at[r] = curve[t][r];
    }
}

// Adds what rows gain at a ReLU layer of n neurons whose z is within *reach of its centre: of all
// points of the ball none is where all the lines that a row takes touch the ReLU. from: [n][rows],
// the rows' coefficients over the activations; table: the slopes of the lines that they take.
template <int kRows>
BF_ROUTINE ball_gain(int n, const double* centre, const float* below, const float* above,
                     const float* table, const double* reach, const float* from, float* gain) {
  if (!(*reach > 0 && *reach <= static_cast<double>(kMaxFloat))) return;
  // Where no slope is at its end, the best curve is reach / (2 |slopes|); else it is larger.
  double squares[kRows] = {};
  for (int j = 0; j < n; ++j) {
    if (!is_unstable(centre, below, above, j)) continue;
    for (int r = 0; r < kRows; ++r) {
      const double a = static_cast<double>(from[std::ptrdiff_t{j} * kRows + r]);
      squares[r] += a * a;
    }
  }
  float coarse[kCoarseTries][kRows], fine[kFineTries][kRows], at[kRows];
  for (int r = 0; r < kRows; ++r) {
    float first = nearest_float(*reach / (2 * root_of_squares(squares[r])));
    if (!(first >= 0x1p-60f && first <= 0x1p60f)) first = 1;
    at[r] = first;
    for (int t = 0; t < kCoarseTries; ++t, first *= 4) coarse[t][r] = first;
  }
  double coarse_sums[kCoarseTries][kRows], fine_sums[kFineTries][kRows], best[kRows] = {};
  sum_gaps<kRows, kCoarseTries>(n, centre, below, above, table, from, coarse, coarse_sums);
  keep_best_gain<kRows, kCoarseTries>(coarse, coarse_sums, *reach, best, at);
  bool any = false, gains[kRows];
  for (int r = 0; r < kRows; ++r) {
    gains[r] = best[r] > 0;
    any = any || gains[r];
  }
  if (!any) return;
  constexpr float kFiner[kFineTries] = {0.35f, 0.5f, 0.7f, 0.85f, 1.2f, 1.45f, 2, 2.9f};
  for (int t = 0; t < kFineTries; ++t)
    for (int r = 0; r < kRows; ++r) fine[t][r] = at[r] * kFiner[t];
  sum_gaps<kRows, kFineTries>(n, centre, below, above, table, from, fine, fine_sums);
  keep_best_gain<kRows, kFineTries>(fine, fine_sums, *reach, best, at);
  for (int r = 0; r < kRows; ++r)
    if (gains[r]) gain[r] = float_down(add_down(static_cast<double>(gain[r]), best[r]));
}

// Adds the gains of all layers to the rows' sums.
template <int kRows>
BF_ROUTINE take_ball_gain(const float* gain, float* sums) {
  for (int r = 0; r < kRows; ++r)
    if (gain[r] > 0)
      sums[r] = float_down(add_down(static_cast<double>(sums[r]), static_cast<double>(gain[r])));
}

}  // namespace bf
