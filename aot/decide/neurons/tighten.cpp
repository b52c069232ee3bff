#include "aot/decide/neurons/tighten.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aot/decide/neurons/programs/term_program.h"
#include "aot/engine/run/pool.h"

namespace bf_aot::decide {
namespace {

// The open neurons, without those whose sign is known, with the largest gains, by rising numbers:
// so each layer's follow those of the layers that it reads.
std::vector<std::uint32_t> neurons_of(const BoxNetwork& network, const NodeLanes& lanes,
                                      std::size_t most) {
  std::vector<std::uint32_t> chosen;
  for (std::size_t open = 0; open < network.open(); ++open)
    if (lanes.proposal.gain(open, 0) > 0 || lanes.proposal.gap(open, 0) > 0)
      chosen.push_back(static_cast<std::uint32_t>(open));
  if (chosen.size() > most) {
    std::ranges::stable_sort(chosen, [&](std::uint32_t a, std::uint32_t b) {
      return lanes.proposal.gain(a, 0) > lanes.proposal.gain(b, 0);
    });
    chosen.resize(most);
    std::ranges::sort(chosen);
  }
  return chosen;
}

// A power of two near x; 1 where x is not a normal number > 0.
float power_near(float x) {
  return std::isnormal(x) && x > 0 ? std::ldexp(1.0F, std::clamp(std::ilogb(x), -60, 60)) : 1.0F;
}

// The multiplier t >= 0 of `clause` for which the least value of row + t clause on the box is
// greatest. That least value is a concave, piecewise linear function of t.
float best_multiplier(const BoxNetwork& network, const InputPlane& row, const InputPlane& clause) {
  // slope: that function's derivative, first at 0, then behind each t where an input's coefficient
  // changes its sign.
  double slope = static_cast<double>(clause.constant);
  std::vector<std::pair<double, double>> turns;  // t, and by how much the slope falls there
  for (std::size_t k = 0; k < network.inputs(); ++k) {
    const double a = static_cast<double>(row.coefficients[k]);
    const double b = static_cast<double>(clause.coefficients[k]);
    const double low = static_cast<double>(network.lower()[k]);
    const double high = static_cast<double>(network.upper()[k]);
    if (b == 0) continue;
    slope += b * (a > 0 || (a == 0 && b > 0) ? low : high);
    if (const double at = -a / b; at > 0) turns.emplace_back(at, std::fabs(b) * (high - low));
  }
  if (!(slope > 0)) return 0;
  std::ranges::sort(turns);
  for (const auto& [at, fall] : turns) {
    slope -= fall;
    if (!(slope > 0)) return static_cast<float>(at);
  }
  // The function never falls: no point of the box satisfies the clause.
  return turns.empty() ? 1.0F : static_cast<float>(2 * turns.back().first);
}

}  // namespace

double divided_down(double bound, float factor) {
  return std::nextafter(bound / static_cast<double>(factor),
                        -std::numeric_limits<double>::infinity());
}

namespace {

// A neuron's range in a node as it was, and as it is proven now.
struct NewRange {
  double low = 0, high = 0;
  double lower = 0, upper = 0;
};

constexpr std::size_t kTogether = kLanes / 2;  // neurons, each from below and from above

// Proves ranges of at most kTogether neurons, by the ranges that the node has.
void prove_ranges(const BoxNetwork& network, NodeLanes& lanes, const SplitNode& node,
                  const InputPlane& clause, const TermProgram& program,
                  std::span<const std::uint32_t> neurons, int steps,
                  const std::function<void()>& pause, std::span<NewRange> made) {
  const std::size_t count = neurons.size();
  const auto neuron = [&](std::size_t p) { return neurons[std::min(p / 2, count - 1)]; };
  std::array<float, kLanes> factors;
  for (std::size_t p = 0; p < kLanes; ++p) {
    const auto [layer, place] = network.place_of(neuron(p));
    const auto at = static_cast<std::size_t>(layer);
    // The factor is about as large as the neuron is in the clause's sum, so that multipliers have
    // the clause's units.
    factors[p] = (p % 2 == 0 ? 1.0F : -1.0F) * power_near(lanes.nodes.scales[at]);
    lanes.nodes.load_row(p, node, {at, static_cast<std::size_t>(place), factors[p]});
  }
  lanes.nodes.in_use = 2 * count;
  lanes.proposal.bound();
  std::vector<InputPlane> rows;
  for (std::size_t p = 0; p < 2 * count; ++p) rows.push_back(lanes.proposal.plane(p));
  std::array<double, kLanes> bounds;
  bounds.fill(-std::numeric_limits<double>::infinity());
  const auto prove = [&] {
    pause();
    const auto proven = lanes.proof.proven_bounds();
    for (std::size_t p = 0; p < kLanes; ++p) bounds[p] = std::fmax(bounds[p], proven[p]);
  };
  if (program.is_useful()) {
    for (std::size_t p = 0; p < 2 * count; ++p)
      if (const auto best = program.best_multipliers(rows[p]))
        lanes.nodes.add_terms(p, node, best->clause, best->terms);
    prove();
  }
  for (std::size_t p = 0; p < 2 * count; ++p)
    lanes.nodes.add_clause(p, node, best_multiplier(network, rows[p], clause));
  for (int step = 0; step < steps; ++step) {
    pause();
    lanes.proposal.bound();
    lanes.proposal.ascend(step);
  }
  prove();
  for (std::size_t i = 0; i < count; ++i) {
    const auto [low, high] = lanes.nodes.range_of(neurons[i], 2 * i);
    made[i] = {low, high, divided_down(bounds[2 * i], factors[2 * i]),
               -divided_down(bounds[2 * i + 1], -factors[2 * i + 1])};
  }
}

// Writes a range that became tighter to the node. False where it is empty.
bool narrow(const BoxNetwork& network, SplitNode& node, std::uint32_t open, const NewRange& range) {
  const auto [low, high, lower, upper] = range;
  // The comparisons are false for NaN.
  if (lower > high || upper < low || lower > upper) return false;
  if (!(lower > low || upper < high)) return true;
  if (network.layer_of(open).function == nullptr) {
    narrow_relu(node, open, std::max(lower, low), std::min(upper, high));
    return true;
  }
  if (lower > low) add_split(node, {open, true, 0, lower});
  if (upper < high) add_split(node, {open, false, 0, upper});
  return true;
}

// The end of the neurons from `first` on that are tightened by the same ranges.
std::size_t end_of_round(const BoxNetwork& network, std::span<const std::uint32_t> neurons,
                         std::size_t first, bool by_layer) {
  if (!by_layer) return std::min(first + kTogether, neurons.size());
  const auto layer_of = [&](std::uint32_t neuron) { return network.place_of(neuron).first; };
  std::size_t end = first;
  while (end < neurons.size() && layer_of(neurons[end]) == layer_of(neurons[first])) ++end;
  return end;
}

}  // namespace

bool tighten_ranges(const BoxNetwork& network, std::span<NodeLanes* const> lanes, SplitNode& node,
                    const TightenSettings& settings, const std::function<void()>& pause) {
  NodeLanes& own = *lanes.front();
  own.nodes.in_use = 1;
  for (std::size_t p = 0; p < kLanes; ++p) own.nodes.load(p, node);
  own.proposal.bound();
  own.proposal.measure_gaps();
  const InputPlane clause = own.proposal.plane(0);
  const std::vector<std::uint32_t> chosen = neurons_of(network, own, settings.neurons);
  const TermProgram program(network, own, node);
  const std::span<const std::uint32_t> neurons(chosen);
  std::vector<NewRange> made(neurons.size());
  for (std::size_t first = 0; first < neurons.size();) {
    const std::size_t end = end_of_round(network, neurons, first, settings.by_layer);
    const auto prove = [&](std::size_t group, std::size_t worker) {
      const std::size_t at = first + group * kTogether;
      const std::size_t count = std::min(kTogether, end - at);
      prove_ranges(network, *lanes[worker], node, clause, program, neurons.subspan(at, count),
                   settings.steps, pause, std::span(made).subspan(at, count));
    };
    engine::share(lanes.size(), (end - first + kTogether - 1) / kTogether, prove, pause);
    for (; first < end; ++first)
      if (!narrow(network, node, neurons[first], made[first])) return false;
  }
  return true;
}

}  // namespace bf_aot::decide
