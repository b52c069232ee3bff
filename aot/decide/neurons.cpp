#include "aot/decide/neurons.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "aot/host/progress.h"
#include "aot/neurons/splitter.h"

namespace bf_aot::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{2} << 30;

// What a clause's violation needs; see VerdictTerm: a real row above the threshold t of a condition
// from above violates it only below the next float.
std::vector<SplitTerm> terms_of(const VerdictTables& tables, std::uint32_t clause) {
  constexpr float kAll = std::numeric_limits<float>::infinity();
  std::vector<SplitTerm> terms;
  for (std::uint32_t i = tables.clause_terms[clause]; i < tables.clause_terms[clause + 1]; ++i) {
    const VerdictCondition& term = tables.terms[i];
    const float threshold = std::nextafter(term.threshold, term.at_least ? -kAll : kAll);
    // A condition that always holds excludes nothing.
    if (!std::isfinite(threshold)) continue;
    terms.push_back({term.row, term.at_least ? -1.0F : 1.0F, static_cast<double>(threshold)});
  }
  return terms;
}

}  // namespace

bool has_neuron_splits(const Plan& plan) {
  return SplitNetwork::covers(plan);
}

std::optional<Witness> split_neurons(const HostVerifier& verifier, const Plan& plan,
                                     const WitnessCheck& check, Cases& cases, double seconds,
                                     const StopAsked& stop, const NeuronProgress& progress,
                                     NeuronTotals& totals) {
  const Stopwatch stopwatch;
  const VerdictTables& tables = cases.tables();
  const std::vector<std::size_t> open = cases.open();
  for (std::size_t k = 0; k < open.size() && !stop(); ++k) {
    const std::size_t index = open[k];
    const FloatBox box = cases.box(index);
    const auto ranges = verifier.spec_ranges(box);
    if (ranges.empty()) break;
    const auto network = SplitNetwork::make(plan, box.lower, box.upper, ranges, kMostBytes);
    if (network == nullptr) break;
    bool all = true;
    const std::uint32_t end = tables.case_clauses[index + 1];
    for (std::uint32_t clause = tables.case_clauses[index]; clause < end && all; ++clause) {
      NodeSplitter splitter(*network, terms_of(tables, clause));
      std::vector<SplitNode> stack = {splitter.root()};
      std::vector<SplitNode> round;
      std::vector<SplitResult> results;
      std::vector<std::vector<float>> points;
      double proven = 0;
      bool stuck = false;
      while (!stack.empty()) {
        if (stop() || stopwatch.seconds() >= seconds) break;
        const std::size_t count = std::min(stack.size(), kLanes);
        round.assign(std::make_move_iterator(stack.end() - static_cast<std::ptrdiff_t>(count)),
                     std::make_move_iterator(stack.end()));
        stack.resize(stack.size() - count);
        points.clear();
        splitter.expand(round, results, points);
        totals.nodes += count;
        for (std::size_t i = 0; i < count; ++i) {
          if (results[i].closed) {
            proven += std::ldexp(1.0, -static_cast<int>(round[i].depth));
          } else if (results[i].halves) {
            totals.deepest = std::max(totals.deepest, results[i].halves->first.splits.size());
            stack.push_back(std::move(results[i].halves->second));
            stack.push_back(std::move(results[i].halves->first));
          } else {
            ++totals.leaves;
            stuck = true;
          }
        }
        for (const auto& point : points)
          if (auto witness = check.prove(index, {point.begin(), point.end()})) {
            totals.seconds += stopwatch.seconds();
            return witness;
          }
        progress(totals.nodes, proven);
      }
      all = stack.empty() && !stuck;
    }
    if (all) cases.mark_verified(index);
  }
  totals.seconds += stopwatch.seconds();
  return std::nullopt;
}

}  // namespace bf_aot::cli
