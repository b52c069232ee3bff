#include "aot/decide/search/held_out.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aot/decide/boxes/row_bounds.h"
#include "aot/decide/neurons/splitter.h"
#include "aot/decide/search/neuron_search.h"
#include "aot/system/progress.h"
#include "planner/network/split_network.h"
#include "planner/plan/plan.h"
#include "planner/split_neurons.h"

namespace bf_aot::decide {
namespace {

// Returns by how much rows' bounds miss the threshold of a clause's nearest condition: a clause is
// excluded where one of its conditions is.
double lack_of(const VerdictTables& tables, std::uint32_t clause, const RowBounds& rows) {
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = tables.clause_terms[clause]; i < tables.clause_terms[clause + 1]; ++i) {
    const VerdictCondition& term = tables.terms[i];
    const auto row = static_cast<std::size_t>(term.row);
    const auto threshold = static_cast<double>(term.threshold);
    least = std::min(least, term.at_least ? static_cast<double>(rows.upper[row]) - threshold
                                          : threshold - static_cast<double>(rows.lower[row]));
  }
  return least;
}

// Gives what held out its neuron: by lines of the whole part, with the ranges that the verifier has
// of it.
void add_neuron(const Plan& plan, const engine::HostVerifier& verifier, const Cases& cases,
                HeldOut& part) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  if (!can_split_neurons(plan)) return;
  const std::vector<engine::Ranges> ranges = verifier.spec_ranges(part.box).ranges;
  if (ranges.empty()) return;
  const auto network = BoxNetwork::make(plan, split_network_of(plan), part.box.lower,
                                        part.box.upper, ranges, kMostBytes);
  if (network == nullptr) return;
  const VerdictTables& tables = cases.tables();
  NodeSplitter splitter(*network, terms_of(tables, tables.case_clauses[part.property_case] +
                                                       static_cast<std::uint32_t>(part.clause)));
  part.neuron = most_influential(plan, *network, splitter, splitter.root());
}

}  // namespace

NeuronName name_of(const Plan& plan, const BoxNetwork& network, std::size_t open) {
  const auto [layer, place] = network.place_of(open);
  const auto& neurons = network.layers()[static_cast<std::size_t>(layer)].neurons;
  return {plan.layers[static_cast<std::size_t>(layer)].name,
          neurons[static_cast<std::size_t>(place)]};
}

std::optional<HeldNeuron> most_influential(const Plan& plan, const BoxNetwork& network,
                                           NodeSplitter& splitter, const SplitNode& node) {
  const auto found = splitter.most_influential(node);
  if (!found) return std::nullopt;
  return HeldNeuron{name_of(plan, network, found->open), found->lower, found->upper, found->loss};
}

std::optional<HeldOut> most_lacking(const Plan& plan, const engine::HostVerifier& verifier,
                                    const Cases& cases, std::span<const OpenBox> boxes,
                                    DecisionPhase by, double seconds) {
  verifier.ask(nullptr);  // the time of the decision is over, and this has its own
  const system::Stopwatch stopwatch;
  const VerdictTables& tables = cases.tables();
  std::optional<HeldOut> worst;
  double most = 0;
  for (const OpenBox& each : boxes) {
    if (&each != boxes.data() && stopwatch.seconds() >= seconds) break;
    const engine::Bounds bounds = verifier.spec_bounds(each.box);
    const std::vector<float> lower(bounds.lower.begin(), bounds.lower.end());
    const std::vector<float> upper(bounds.upper.begin(), bounds.upper.end());
    const RowBounds rows = {lower, upper};
    const std::uint32_t first = tables.case_clauses[each.property_case];
    for (std::uint32_t j = first; j < tables.case_clauses[each.property_case + 1]; ++j) {
      if (is_excluded(tables, j, rows)) continue;
      const double lack = lack_of(tables, j, rows);
      if (worst && !(lack > most)) continue;
      most = lack;
      worst.emplace();
      worst->by = by;
      worst->property_case = each.property_case;
      worst->clause = j - first;
      worst->splits = each.splits;
      worst->box = each.box;
      if (std::isfinite(lack)) worst->lacks = std::max(lack, 0.0);
    }
  }
  if (worst && stopwatch.seconds() < seconds) add_neuron(plan, verifier, cases, *worst);
  return worst;
}

}  // namespace bf_aot::decide
