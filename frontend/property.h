#pragma once

#include <vector>

#include "frontend/graph.h"

namespace bf {

// Linear specification rows over the flattened outputs: the verifier bounds C y - d as well as y.
// C: [rows, outputs] exact doubles; d: [rows].
struct LinearSpec {
  std::vector<std::vector<double>> rows;
  std::vector<double> offset;  // empty: zeros

  bool operator==(const LinearSpec&) const = default;
};

// One input box over the flattened inputs; lower_i <= upper_i, finite.
struct Box {
  std::vector<double> lower;
  std::vector<double> upper;

  bool operator==(const Box&) const = default;
};

}  // namespace bf
