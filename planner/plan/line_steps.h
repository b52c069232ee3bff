#pragma once

#include <string_view>

#include "planner/plan/buffers.h"
#include "planner/plan/kernels.h"
#include "planner/plan/layer_id.h"

namespace bf_aot {

// Steps of forward lines: docs/proofs/forward-lines.md. An input is x_j = centre_j + radius_j
// t_j with t_j in [-1, 1]. A tensor's lines are rows of one float for each neuron, the coefficients
// m_1 .. m_K of the K inputs, a constant m_0 and a spread d, with
//   |v - centre - m_0 - sum_j m_j t_j| <= d.
constexpr int line_rows(int inputs) {
  return inputs + 2;
}

// Lines of z = W x + b, over the box itself. Their spread is of the form that ForwardLines makes:
// what LineBounds turns into one.
struct StartLines {
  static constexpr std::string_view kName = "start_lines";
  LayerId layer = 0;
  BufferId input_radius = BufferId::kNone;  // of the box
  BufferId radius = BufferId::kNone;        // CentreAffine's of z
  BufferId lines_out = BufferId::kNone;     // of z
  double product = 0;                       // spread: product radius
  KernelId kernel = 0;
  bool operator==(const StartLines&) const = default;
};

// Lines of z = W a + b from those of a: the products alone.
struct ForwardLines {
  static constexpr std::string_view kName = "forward_lines";
  LayerId layer = 0;
  BufferId lines_in = BufferId::kNone;
  BufferId lines_out = BufferId::kNone;  // of z
  KernelId kernel = 0;
  bool operator==(const ForwardLines&) const = default;
};

// Constants that make proven bounds of products: of the interval around the centre, and of lines.
struct LineBounds {
  double around = 0;      // factor on the computed radius
  double inflate = 0;     // factor on the computed spread
  double concretize = 0;  // factor on the computed sum of |m_j|
  double absolute = 0;    // added to radius and spread, with the slack
  bool operator==(const LineBounds&) const = default;
};

// Bounds of z: the interval around its centre, or its lines' where these are tighter.
struct TightenLines {
  static constexpr std::string_view kName = "tighten_lines";
  LayerId layer = 0;
  BufferId centre = BufferId::kNone, radius = BufferId::kNone, slack = BufferId::kNone,
           row_slack = BufferId::kNone;  // of z
  BufferId lines = BufferId::kNone;      // of z
  BufferId below = BufferId::kNone, above = BufferId::kNone;
  LineBounds bounds;
  bool operator==(const TightenLines&) const = default;
};

// a = relu(z) or z: two parallel lines around it on those bounds, and its box. The spread of the
// result holds what the products of its readers round.
struct RelaxLines {
  static constexpr std::string_view kName = "relax_lines";
  LayerId layer = 0;
  BufferId centre = BufferId::kNone, radius = BufferId::kNone, slack = BufferId::kNone,
           row_slack = BufferId::kNone;                                 // of z
  BufferId lines = BufferId::kNone;                                     // of z
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;  // of a
  BufferId lines_out = BufferId::kNone;                                 // of a
  LineBounds bounds;
  double gamma = 0;      // times |m_0| of a, added to its spread
  double gamma_sum = 0;  // times the computed sum of |m_j|, alike
  double least = 0;      // added where numbers may be subnormal
  KernelId kernel = 0;
  bool operator==(const RelaxLines&) const = default;
};

}  // namespace bf_aot
