#include "aot/decide/neurons/clip.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "aot/decide/neurons/lanes/plane_sums.h"

// Proof: docs/proofs/neuron-splits.md, "Planes of neurons".

namespace bf_aot::decide {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// A line of the multiplier t that is above the concave function t -> least value of row + t clause.
struct Line {
  float at_zero = 0, slope = 0;
};

PlanePair pair_of(const BoxNetwork& network, const ProvenPlane& row, const ProvenPlane& clause) {
  return {network.inputs(), row.coefficients.data(), clause.coefficients.data(),
          network.lower().data(), network.upper().data()};
}

// The line that is that function at t; of_row: 1, or 0 for t -> infinity.
Line line_at(const BoxNetwork& network, const ProvenPlane& row, const ProvenPlane& clause,
             float of_row, float t) {
  const LineSums sums = sum_lines(pair_of(network, row, clause), of_row, t);
  return {static_cast<float>(row.constant) + sums.row,
          static_cast<float>(clause.constant) + sums.clause};
}

// A multiplier t >= 0 for which the least value of row + t clause is about as great as it can be:
// the top of two lines above that function, one that rises and one that falls, again and again.
float best_multiplier(const BoxNetwork& network, const ProvenPlane& row,
                      const ProvenPlane& clause) {
  constexpr int kMostLines = 8;
  Line rises = line_at(network, row, clause, 1, 0);
  if (!(rises.slope > 0)) return 0;
  Line falls = line_at(network, row, clause, 0, 1);
  float t = 0;
  for (int k = 0; k < kMostLines && falls.slope < 0; ++k) {
    const float top = (falls.at_zero - rises.at_zero) / (rises.slope - falls.slope);
    if (!(top > 0)) break;
    t = top;
    const Line here = line_at(network, row, clause, 1, t);
    const float above = rises.at_zero + t * rises.slope;
    const float value = here.at_zero + t * here.slope;
    if (!(above - value > 1e-3F * std::fabs(value))) break;
    (here.slope > 0 ? rises : falls) = here;
  }
  return t;
}

// The least value of row + t clause on the box, less what its roundings lose.
double proven_least(const BoxNetwork& network, const ProvenPlane& row, const ProvenPlane& clause,
                    float t) {
  const double of_clause = static_cast<double>(t) * clause.constant;
  const LeastSum inputs = sum_least(pair_of(network, row, clause), static_cast<double>(t));
  const double sum = inputs.sum + row.constant + of_clause;
  const double size = inputs.size + std::fabs(row.constant) + std::fabs(of_clause);
  const double roundings = static_cast<double>(network.inputs() + 8) * 0x1p-52;
  return std::nextafter(sum - (roundings * size * (1 + 0x1p-20) + 0x1p-1000), -kUnbounded);
}

// Returns the range of an open ReLU without a split in a node.
std::pair<double, double> range_in(const BoxNetwork& network, const SplitNode& node,
                                   std::uint32_t open) {
  const auto j = static_cast<std::size_t>(network.place_of(open).second);
  const double low = network.layer_of(open).lower[j], high = network.layer_of(open).upper[j];
  const auto at = std::ranges::lower_bound(node.ranges, open, {}, &NeuronRange::open);
  if (at == node.ranges.end() || at->open != open) return {low, high};
  return {std::max(low, static_cast<double>(at->lower)),
          std::min(high, static_cast<double>(at->upper))};
}

}  // namespace

double least_where(const BoxNetwork& network, const ProvenPlane& row, const ProvenPlane& clause) {
  return proven_least(network, row, clause, best_multiplier(network, row, clause));
}

// Returns the plane with coefficients in floats; the constant pays what they lose, at the largest
// inputs.
ProvenPlane proven_plane(const BoxNetwork& network, const LaneProof& proof, std::size_t lane,
                         double constant) {
  ProvenPlane made;
  double lost = 0;
  for (std::size_t k = 0; k < network.inputs(); ++k) {
    const double exact = proof.plane_coefficient(k, lane);
    const auto rounded = static_cast<float>(exact);
    const double most = std::max(std::fabs(static_cast<double>(network.lower()[k])),
                                 std::fabs(static_cast<double>(network.upper()[k])));
    made.coefficients.push_back(rounded);
    lost += std::fabs(exact - static_cast<double>(rounded)) * most;
  }
  made.constant = std::nextafter(constant - (lost * (1 + 0x1p-20) + 0x1p-1000), -kUnbounded);
  return made;
}

NeuronPlanes::NeuronPlanes(const BoxNetwork& network)
    : network_(network), groups_((network.open() + kTogether - 1) / kTogether) {}

bool NeuronPlanes::covers(const BoxNetwork& network) {
  constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  const std::size_t bytes = 2 * sizeof(float) * network.inputs();
  return network.functions() == 0 && network.products() == 0 &&
         network.inputs() <= (std::size_t{1} << 20) && network.open() <= kMostBytes / bytes;
}

void NeuronPlanes::make(std::size_t group, NodeLanes& lanes, const SplitNode& root) {
  const std::size_t first = group * kTogether;
  const std::size_t count = std::min(kTogether, network_.open() - first);
  for (std::size_t p = 0; p < kLanes; ++p) {
    const auto [layer, place] = network_.place_of(first + std::min(p / 2, count - 1));
    lanes.nodes.load_row(p, root,
                         {static_cast<std::size_t>(layer), static_cast<std::size_t>(place),
                          p % 2 == 0 ? 1.0F : -1.0F});
  }
  const auto constants = lanes.proof.plane_constants();
  std::vector<ProvenPlane> made;  // all of them, or none where memory ends
  for (std::size_t p = 0; p < 2 * count; ++p)
    made.push_back(proven_plane(network_, lanes.proof, p, constants[p]));
  groups_[group].planes = std::move(made);
}

std::span<const ProvenPlane, 2> NeuronPlanes::of(std::uint32_t open, NodeLanes& lanes,
                                                 const SplitNode& root) {
  Group& group = groups_[open / kTogether];
  std::call_once(group.once, [&] { make(open / kTogether, lanes, root); });
  return std::span<const ProvenPlane, 2>(group.planes.data() + 2 * (open % kTogether), 2);
}

bool clip_neurons(const BoxNetwork& network, NeuronPlanes& planes, NodeLanes& lanes,
                  const SplitNode& root, const ProvenPlane& clause,
                  std::span<const std::uint32_t> neurons, SplitNode& node) {
  // Less is not worth the place that a range takes in all nodes below.
  constexpr double kLeastShare = 1.0 / 32;
  for (const std::uint32_t open : neurons) {
    const auto [below, above] = range_in(network, node, open);
    const auto of = planes.of(open, lanes, root);
    const double lower = least_where(network, of[0], clause);
    const double upper = -least_where(network, of[1], clause);
    // The comparisons are false for NaN.
    if (lower > above || upper < below || lower > upper) return false;
    const double least = kLeastShare * (above - below);
    if (lower > below + least || lower >= 0 || upper < above - least || upper <= 0)
      narrow_relu(node, open, std::fmax(lower, below), std::fmin(upper, above));
  }
  return true;
}

}  // namespace bf_aot::decide
