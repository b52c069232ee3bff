#include "aot/neurons/splitter.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "aot/neurons/leaf.h"

namespace bf_aot::cli {

NodeSplitter::NodeSplitter(const SplitNetwork& network, std::vector<SplitTerm> terms,
                           const SplitSettings& settings)
    : network_(network),
      terms_(std::move(terms)),
      settings_(settings),
      lanes_(network_, terms_),
      root_(make_root()) {}

SplitNode NodeSplitter::make_root() {
  SplitNode root;
  root.weights.assign(terms_.size(), 1.0F / static_cast<float>(terms_.size()));
  root.slopes.assign(network_.open(), 0);
  // The usual choice: the lower line that leaves out the smaller triangle.
  std::size_t open = 0;
  for (const auto& layer : network_.layers())
    for (const int place : layer.open) {
      const auto j = static_cast<std::size_t>(place);
      root.slopes[open++] = layer.upper[j] > -layer.lower[j] ? 255 : 0;
    }
  for (std::size_t p = 0; p < kLanes; ++p) lanes_.load(p, root);
  lanes_.bound();
  lanes_.set_scales(lanes_.mean_coefficients());
  return root;
}

// Unsplit open neurons with the largest gains, and those with the largest gaps that are not among
// them. When all are 0, the first.
std::vector<std::size_t> NodeSplitter::choose_candidates(std::size_t lane) const {
  std::vector<std::size_t> chosen;
  const auto take = [&](int count, const auto& score) {
    for (int k = 0; k < count; ++k) {
      float best = 0;
      std::size_t of = network_.open();
      for (std::size_t i = 0; i < network_.open(); ++i)
        if (const float each = score(i);
            each > best && std::ranges::find(chosen, i) == chosen.end()) {
          best = each;
          of = i;
        }
      if (of == network_.open()) return;
      chosen.push_back(of);
    }
  };
  take(settings_.by_gain, [&](std::size_t i) { return lanes_.gain(i, lane); });
  take(settings_.by_gap, [&](std::size_t i) { return lanes_.gap(i, lane); });
  for (std::size_t i = 0; chosen.empty() && i < network_.open(); ++i)
    if (!lanes_.is_split(i, lane)) chosen.push_back(i);
  return chosen;
}

// Bounds both halves of each candidate, with the choices of its node.
void NodeSplitter::look_ahead(std::span<const SplitNode> nodes,
                              std::vector<Candidate>& candidates) {
  constexpr std::size_t kTogether = kLanes / 2;
  for (std::size_t first = 0; first < candidates.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, candidates.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      NeuronSplit split = candidates[first + i].split;
      for (const bool positive : {false, true}) {
        split.positive = positive;
        lanes_.load(2 * i + (positive ? 1 : 0), nodes[candidates[first + i].lane], &split);
      }
    }
    const NodeLanes::Lane& bounds = lanes_.bound();
    for (std::size_t i = 0; i < count; ++i) {
      Candidate& each = candidates[first + i];
      const auto [worse, better] = std::minmax(bounds[2 * i], bounds[2 * i + 1]);
      each.worse = worse;
      each.better = better;
      each.positive_first = bounds[2 * i + 1] <= bounds[2 * i];
    }
  }
}

// By what its linear program proposes. Takes all lanes.
void NodeSplitter::decide_leaf(const SplitNode& leaf, SplitResult& result) {
  const auto proposed = solve_leaf(network_, terms_, lanes_.scales(), leaf);
  if (!proposed) return;
  for (std::size_t p = 0; p < kLanes; ++p) lanes_.load(p, proposed->node);
  result.closed = lanes_.prove().front();
  if (!result.closed && proposed->point) result.point = proposed->point;
}

void NodeSplitter::expand(std::span<SplitNode> nodes, std::vector<SplitResult>& results) {
  results.assign(nodes.size(), {});
  for (std::size_t p = 0; p < kLanes; ++p) lanes_.load(p, nodes[std::min(p, nodes.size() - 1)]);
  const auto steps_of = [&](const SplitNode& node) {
    return node.depth == 0 ? settings_.root_steps : settings_.node_steps;
  };
  NodeLanes::Lane bounds = {};
  std::vector<bool> claimed(nodes.size()), done(nodes.size());
  for (int step = 0;; ++step) {
    bounds = lanes_.bound();
    for (std::size_t p = 0; p < nodes.size(); ++p) {
      if (done[p] || claimed[p]) continue;
      // A node ends after its own steps, whatever the others need.
      claimed[p] = bounds[p] >= 0;
      done[p] = !claimed[p] && step == steps_of(nodes[p]);
      if (done[p]) lanes_.store(p, nodes[p]);
      if (claimed[p] || done[p]) lanes_.freeze(p);
    }
    bool all = true;
    for (std::size_t p = 0; p < nodes.size(); ++p) all = all && (done[p] || claimed[p]);
    if (all) break;
    lanes_.ascend(step);
  }
  if (std::ranges::find(claimed, true) != claimed.end()) {
    const auto proven = lanes_.prove();
    for (std::size_t p = 0; p < nodes.size(); ++p) {
      results[p].closed = claimed[p] && proven[p];
      if (claimed[p] && !proven[p]) lanes_.store(p, nodes[p]);
    }
  }
  // Lanes still hold the last bounds: their choices were frozen.
  std::vector<std::size_t> left;
  for (std::size_t p = 0; p < nodes.size(); ++p)
    if (!results[p].closed) left.push_back(p);
  if (left.empty()) return;
  lanes_.measure_gaps();
  std::vector<Candidate> candidates;
  for (const std::size_t p : left)
    for (const std::size_t open : choose_candidates(p))
      candidates.push_back({p, {static_cast<std::uint32_t>(open), false, 0}});
  const auto violated = lanes_.violated();
  for (const std::size_t p : left)
    if (violated[p]) results[p].point = lanes_.point(p);
  look_ahead(nodes, candidates);
  for (const std::size_t p : left) {
    const Candidate* best = nullptr;
    float most = -std::numeric_limits<float>::infinity();
    for (const Candidate& each : candidates) {
      if (each.lane != p) continue;
      // What both halves gain; beyond 0 nothing is gained.
      const float score = std::min(each.worse, 0.0F) + std::min(each.better, 0.0F);
      if (best == nullptr || score > most) {
        best = &each;
        most = score;
      }
    }
    if (best == nullptr) {  // every neuron is split
      decide_leaf(nodes[p], results[p]);
      continue;
    }
    SplitNode first = nodes[p];
    ++first.depth;
    first.splits.push_back(best->split);
    SplitNode second = first;
    first.splits.back().positive = best->positive_first;
    second.splits.back().positive = !best->positive_first;
    results[p].halves.emplace(std::move(first), std::move(second));
  }
}

}  // namespace bf_aot::cli
