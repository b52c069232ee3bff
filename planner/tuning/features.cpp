#include "planner/tuning/features.h"

#include <algorithm>
#include <cmath>

#include "planner/tuning/schedule_space.h"

namespace bf_aot {
namespace {

// A kernel's loops with a schedule: a register tile of `wide` columns (outputs) and `deep` vectors,
// over `sum` terms in chunks, `tiles` times and once more for a remainder.
struct Loops {
  bool backward = false;
  double columns = 1, vectors = 1;  // of the register tile
  double products = 1;              // multiply-adds of a trip of the innermost sum
  double loads = 1;                 // of vectors and broadcasts, per trip
  double sum = 1, chunks = 1;       // terms; chunks of them
  double tiles = 1, rest = 0;       // full register tiles; the share of one that is left over
  double groups = 1;                // of vectors along the lane axis
  double padding = 0;               // share of the lane axis that is padding
};

Loops loops_of(const Kernel& kernel, const Schedule& schedule) {
  Loops made;
  if (kernel.kind == KernelKind::kTermBackward) {  // weights of `columns` serve all pixels' rows
    made.backward = true;
    made.columns = schedule.columns;
    made.vectors = schedule.vectors * schedule.pixels;
    made.products = made.columns * made.vectors;
    made.loads = made.columns + made.vectors;
    made.sum = kernel.out;
    made.tiles = kernel.in / (made.columns * schedule.pixels);
    return made;
  }
  made.backward = kernel.kind == KernelKind::kBackwardAffine;
  made.columns = std::max(1, schedule.columns);
  if (made.backward) {
    made.vectors = schedule.vectors;
    made.products = made.columns * made.vectors;
    made.loads = made.columns + made.vectors;
    made.sum = kernel.out;
    made.tiles = std::floor(kernel.in / made.columns);
    made.rest = kernel.in / made.columns - made.tiles;
    made.groups = std::ceil(1.0 * kernel.rows / schedule.lanes / schedule.vectors);
  } else {
    const double sums = kernel.kind == KernelKind::kEvaluateAffine ? 1 : 2;
    made.vectors = schedule.vectors;
    if (kernel.boxes > 1) made.vectors = std::max(1, kernel.boxes / schedule.lanes);
    made.products = sums * made.columns * made.vectors;
    made.loads = kernel.boxes > 1 ? made.columns + 2 * made.vectors : made.vectors + sums;
    made.sum = kernel.in;
    const double padded = std::ceil(1.0 * kernel.out / kernel.panel) * kernel.panel;
    if (kernel.boxes > 1) {
      made.tiles = std::floor(kernel.out / made.columns);
      made.rest = kernel.out / made.columns - made.tiles;
    } else {
      made.tiles = padded / (schedule.lanes * made.vectors);
      made.padding = 1 - kernel.out / padded;
    }
    made.groups = kernel.panel / (schedule.lanes * made.vectors);
  }
  made.chunks = std::ceil(made.sum / std::max(1, schedule.chunk));
  return made;
}

constexpr double kChains = 8;  // independent multiply-adds that hide their latency

// Steps of one trip of the innermost sum of a register tile.
double trip(double products, double loads) {
  constexpr double kLoad = 0.65;  // two ports; the share of a broadcast that is not folded
  return std::max({products, kChains, kLoad * loads}) + 0.1 * loads;
}

}  // namespace

const std::array<std::string_view, kFeatures> kFeatureNames = {"products",      "loads_per_product",
                                                               "vector_reuse",  "broadcast_reuse",
                                                               "lanes",         "unroll",
                                                               "accumulators",  "pressure",
                                                               "column_rest",   "padding",
                                                               "chunk",         "chunks",
                                                               "last_chunk",    "tile_bytes",
                                                               "code_size",     "groups_first",
                                                               "groups",        "summed_terms",
                                                               "latency_bound", "analytic"};

Features features_of(const Kernel& kernel, const Schedule& schedule, const Target& target) {
  const Loops loops = loops_of(kernel, schedule);
  const double held = accumulators(kernel, schedule);
  const double chunk = std::max(1, schedule.chunk);
  const double last = loops.sum - (loops.chunks - 1) * chunk;
  const double rows = std::max(1, kernel.rows);
  return {std::log2(1.0 + static_cast<double>(kernel.in) * kernel.out * rows),
          loops.loads / loops.products,
          loops.columns,
          loops.vectors,
          static_cast<double>(schedule.lanes),
          static_cast<double>(schedule.unroll),
          held,
          (held + loops.vectors + 1) / target.vector_registers,
          loops.rest,
          loops.padding,
          std::log2(chunk),
          loops.chunks,
          last / chunk,
          std::log2(1 + 4.0 * std::min(chunk, loops.sum) * (loops.backward ? rows : 2)),
          held * schedule.unroll,
          schedule.groups_first ? 1.0 : 0.0,
          loops.groups,
          std::log2(loops.sum),
          std::max(0.0, 1 - loops.products / kChains),
          std::log2(analytic_cost(kernel, schedule, target))};
}

double analytic_cost(const Kernel& kernel, const Schedule& schedule, const Target& target) {
  const Loops loops = loops_of(kernel, schedule);
  const double full = trip(loops.products, loops.loads);
  const double rest =
      loops.rest > 0 ? trip(loops.products * loops.rest, loops.loads * loops.rest + loops.vectors)
                     : 0;
  double tile = loops.tiles * full + rest;
  const double spilled =
      std::max(0.0, loops.products + loops.vectors + 1 - target.vector_registers);
  tile += loops.tiles * 2 * spilled;
  // Accumulators are added up between chunks, or go to memory and back.
  const double between = loops.products * (loops.backward ? 3 : 1);
  const double trips = (loops.tiles + (loops.rest > 0 ? 1 : 0)) * loops.chunks;
  const double groups = loops.backward ? loops.groups : 1;
  return groups * (loops.sum * tile + trips * between);
}

}  // namespace bf_aot
