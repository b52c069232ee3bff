#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "planner/plan/buffers.h"
#include "planner/plan/kernels.h"
#include "planner/plan/layers.h"

namespace bf_aot {

// Steps of the interval pass in float32: docs/proofs/interval-pass.md.

// (Centre, radius) of the inputs -> those of the activations, or the output bounds.
struct IntervalAffine {
  static constexpr std::string_view kName = "interval_affine";
  LayerId layer = 0;
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  BufferId live_in = BufferId::kNone;  // the inputs that enter the sums; kNone: all
  BufferId centre_out = BufferId::kNone,
           radius_out = BufferId::kNone;  // kNone for the last: bounds go to the caller
  // The bounds of the last layer of several boxes side by side, before they go to the caller.
  BufferId low = BufferId::kNone, high = BufferId::kNone;
  double inflate = 0;    // factor on the computed radius
  double magnitude = 0;  // times |z|: roundings of the scalar part
  double absolute = 0;   // bias error and underflow
  double gamma = 0;      // folded into radius_out for its reader
  int position = 0;      // of its first element in the caller's arrays, when it is a head
  KernelId kernel = 0;
  bool operator==(const IntervalAffine&) const = default;
};

// A term of a sum layer: what it reads, in float32 or with centres in double.
struct SumPart {
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  KernelId kernel = 0;
  bool operator==(const SumPart&) const = default;
};

// The interval pass through a sum layer: every term adds its sums to centre_out and radius_out,
// which become activations in place, or go to the caller as bounds.
struct IntervalSum {
  static constexpr std::string_view kName = "interval_sum";
  LayerId layer = 0;
  std::vector<SumPart> parts;  // one per term
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  bool head = false;     // bounds go to the caller
  double inflate = 0;    // as IntervalAffine
  double magnitude = 0;  //
  double absolute = 0;   //
  double gamma = 0;      //
  int position = 0;      //
  bool operator==(const IntervalSum&) const = default;
};

// The interval pass through a max layer.
struct IntervalMax {
  static constexpr std::string_view kName = "interval_max";
  LayerId layer = 0;
  std::optional<GroupView> groups;  // the layer's; without them a table says which
  BufferId centre_in = BufferId::kNone, radius_in = BufferId::kNone;
  BufferId centre_out = BufferId::kNone, radius_out = BufferId::kNone;
  double inflate = 0;    // factor on the distance from the new centre
  double magnitude = 0;  // times |centre|: roundings of the ends, and what its readers need
  double absolute = 0;   // underflow
  KernelId kernel = 0;
  bool operator==(const IntervalMax&) const = default;
};

}  // namespace bf_aot
