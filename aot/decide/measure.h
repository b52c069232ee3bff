#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aot/decide/request.h"
#include "aot/input/json_io.h"

// The proven share of a property's boxes, by volume. Proof: docs/proofs/branch-and-bound.md.

namespace bf_aot::decide {

// A part of a case's box: nothing in it violates the property; everything in it does; or neither
// is proven.
enum class CellFate : std::uint8_t { kProven, kRefuted, kOpen };

struct Cell {
  input::FloatBox box;
  CellFate fate = CellFate::kOpen;
};

// The shares at some time, rounded.
struct MeasuredMoment {
  double seconds = 0;
  std::uint64_t bounded = 0;  // cells
  double proven = 0, refuted = 0;
};

// The box of a case in parts. The shares are of the exact box's volume over the inputs that vary
// in it, and their sum is 1. The cells cover the box; their ends are float32 numbers, which exceed
// it by rounding alone.
struct MeasuredCase {
  mpq_class proven, refuted, open = 1;
  std::uint64_t bounded = 0;
  bool is_reached = false;  // the open share is at most what was asked for
  std::vector<Cell> cells;  // in the order of their ends, input by input
  std::vector<MeasuredMoment> moments;

  // Every violation lies in a cell that is not proven.
  bool is_verified() const { return proven == 1; }
};

struct MeasureLimits {
  mpq_class width;  // of each case, the open share at which it ends
  std::size_t most_cells = std::size_t{1} << 20;
};

// Splits the box of each case at the middle of its relatively widest input, the largest cells
// first, until the limits or the calls' stop. The cells depend on neither time nor threads as long
// as no stop ends it. Throws: BF3020 more than kMostBranchedInputs inputs vary in a box, or its
// exact ends are not known; BF2117 sets of token ids; else as decide().
std::vector<MeasuredCase> measure(const Sampler& network, const ModelInfo& info,
                                  const Property& property, const Request& request,
                                  const MeasureLimits& limits, const RequestCalls& calls);

}  // namespace bf_aot::decide
