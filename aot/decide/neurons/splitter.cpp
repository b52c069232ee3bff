#include "aot/decide/neurons/splitter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "aot/decide/neurons/leaf.h"
#include "aot/decide/neurons/programs/term_program.h"

namespace bf_aot::decide {

NodeSplitter::NodeSplitter(const BoxNetwork& network, std::vector<ClauseTerm> terms,
                           const SplitSettings& settings, std::size_t workers, NeuronPlanes* planes,
                           std::unique_ptr<DeviceNodes> device)
    : network_(network),
      terms_(std::move(terms)),
      settings_(settings),
      workers_(workers),
      planes_(planes),
      device_(std::move(device)),
      lanes_(network_, terms_),
      root_(make_root()) {
  find_clauses();
}

// Ranges are propagated in every node where this leaves less of what ReLUs may be at the root, and
// nowhere else: 0.998 to 1 were left of networks whose ReLUs encode no clauses.
void NodeSplitter::find_clauses() {
  constexpr double kMostLeft = 0.95;
  if (!Propagation::covers(network_)) return;
  propagation_.emplace(network_, terms_);
  if (!(propagation_->share_of(root_) <= kMostLeft)) {
    propagation_.reset();
    return;
  }
  conflicts_.emplace(*propagation_);
  conflicts_->pause = [this] { pause(); };
  is_exact_ = propagation_->is_exact();
}

SplitNode NodeSplitter::make_root() {
  SplitNode root;
  const std::vector<bool>& weighed = lanes_.nodes.is_weighed;
  const auto count = static_cast<float>(std::ranges::count(weighed, true));
  for (const bool each : weighed) root.weights.push_back(each ? 1 / count : 0);
  root.slopes.assign(network_.open(), 0);
  root.planes.assign(2 * network_.products(), 128);  // about the middle
  // The default is the lower line that gives the relaxation of least area.
  std::size_t open = 0;
  for (const auto& layer : network_.layers())
    for (const int place : layer.open) {
      const auto j = static_cast<std::size_t>(place);
      root.slopes[open++] = layer.upper[j] > -layer.lower[j] ? 255 : 0;
    }
  for (const SlopeRange& best : lanes_.nodes.slopes_on_box()) {
    root.lines.push_back(best.lower);
    root.lines.push_back(best.upper);
  }
  for (std::size_t p = 0; p < kLanes; ++p) lanes_.nodes.load(p, root);
  lanes_.proposal.bound();
  lanes_.nodes.scales = lanes_.proposal.mean_coefficients();
  choose_weights(root);
  return root;
}

// Gives a node the weights that are best where every other choice is as it is. Overwrites all
// lanes.
void NodeSplitter::choose_weights(SplitNode& node) {
  const TermProgram program(network_, lanes_, node);
  if (!program.is_useful()) return;
  if (auto weights = program.best_weights()) node.weights = *std::move(weights);
}

std::optional<NodeSplitter::Influence> NodeSplitter::most_influential(const SplitNode& node) {
  for (std::size_t p = 0; p < kLanes; ++p) lanes_.nodes.load(p, node);
  lanes_.proposal.bound();
  lanes_.proposal.measure_gaps();
  std::optional<Influence> most;
  for (std::size_t open = 0; open < network_.open(); ++open) {
    const auto loss =
        static_cast<double>(std::max(lanes_.proposal.gain(open, 0), lanes_.proposal.gap(open, 0)));
    if (!lanes_.nodes.point_of(open, 0) || !(loss > (most ? most->loss : 0))) continue;
    const auto [lower, upper] = lanes_.nodes.range_of(open, 0);
    most = {open, lower, upper, loss};
  }
  return most;
}

// Candidates for a split: the open neurons with the largest gains, then those with the largest gaps
// among the others. When all are 0, the first neuron that can be split. Devices choose likewise,
// and look ahead: bf_look_ahead() of runtime/bf/c/nodes/lanes.h.
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
  take(settings_.by_gain, [&](std::size_t i) { return lanes_.proposal.gain(i, lane); });
  take(settings_.by_gap, [&](std::size_t i) { return lanes_.proposal.gap(i, lane); });
  for (std::size_t i = 0; chosen.empty() && i < network_.open(); ++i)
    if (lanes_.nodes.point_of(i, lane)) chosen.push_back(i);
  return chosen;
}

// Bounds both halves of each candidate, with the choices of its node. Overwrites all lanes.
void NodeSplitter::look_ahead(std::span<const SplitNode> nodes,
                              std::vector<Candidate>& candidates) {
  constexpr std::size_t kTogether = kLanes / 2;
  lanes_.nodes.keep();
  for (std::size_t first = 0; first < candidates.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, candidates.size() - first);
    pause();
    for (std::size_t i = 0; i < count; ++i) {
      NeuronSplit split = candidates[first + i].split;
      for (const bool positive : {false, true}) {
        split.positive = positive;
        const std::size_t from = candidates[first + i].lane;
        lanes_.nodes.load_half(2 * i + (positive ? 1 : 0), nodes[from], from, split);
      }
    }
    lanes_.nodes.in_use = 2 * count;
    const LaneProposal::Lane& bounds = lanes_.proposal.bound();
    for (std::size_t i = 0; i < count; ++i) {
      Candidate& each = candidates[first + i];
      const auto [worse, better] = std::minmax(bounds[2 * i], bounds[2 * i + 1]);
      each.worse = worse;
      each.better = better;
      each.positive_first = bounds[2 * i + 1] <= bounds[2 * i];
    }
  }
}

// Tries to close a leaf: solves its linear program, then proves the bound with the program's
// multipliers. Overwrites all lanes.
void NodeSplitter::decide_leaf(const SplitNode& leaf, SplitResult& result) {
  lanes_.nodes.load(0, leaf);
  std::vector<FunctionPiece> pieces;
  for (std::size_t open = 0; open < network_.open(); ++open) {
    const auto piece = lanes_.nodes.piece_of(open, 0);
    if (!piece) return;
    pieces.push_back(*piece);
  }
  const auto proposed = solve_leaf(network_, terms_, lanes_.nodes.scales, leaf, pieces);
  if (!proposed) return;
  for (std::size_t p = 0; p < kLanes; ++p) lanes_.nodes.load(p, proposed->node);
  result.closed = lanes_.proof.prove().front();
  if (!result.closed && proposed->point) result.point = proposed->point;
}

void NodeSplitter::load_all(std::span<const SplitNode> nodes) {
  lanes_.nodes.in_use = nodes.size();
  for (std::size_t p = 0; p < kLanes; ++p)
    lanes_.nodes.load(p, nodes[std::min(p, nodes.size() - 1)]);
}

// Bounds the nodes that are not done. Each takes as many steps as it needs alone, whatever others
// need. Nodes that are proven are closed; choices and bounds are stored in the nodes. Devices step
// likewise: bf_ascend_nodes() of runtime/bf/c/nodes/lanes.h.
void NodeSplitter::ascend(std::span<SplitNode> nodes, std::vector<bool> done,
                          std::span<SplitResult> results) {
  load_all(nodes);
  std::vector<bool> claimed(nodes.size());
  std::vector<float> reached(nodes.size());  // before the last more_steps
  const auto end = [&](std::size_t p) {
    done[p] = true;
    lanes_.nodes.frozen[p] = true;
  };
  for (std::size_t p = 0; p < nodes.size(); ++p)
    if (done[p]) end(p);
  for (int step = 0;; ++step) {
    pause();
    const LaneProposal::Lane& bounds = lanes_.proposal.bound();
    bool measured = false;
    for (std::size_t p = 0; p < nodes.size(); ++p) {
      if (done[p]) continue;
      nodes[p].bound = bounds[p];
      claimed[p] = bounds[p] >= 0;
      const int steps = nodes[p].depth == 0 ? settings_.root_steps : settings_.node_steps;
      if (claimed[p]) {
        end(p);
        continue;
      }
      if (step < steps || (step - steps) % settings_.more_steps != 0) continue;
      if (!measured) lanes_.proposal.measure_gaps();
      measured = true;
      const auto left = static_cast<float>(settings_.most_steps - step);
      const float expected = step == steps ? -bounds[p]
                                           : (bounds[p] - reached[p]) * left /
                                                 static_cast<float>(settings_.more_steps);
      if (expected < -bounds[p] || left <= 0 || !lacks_choices(nodes[p], p)) end(p);
      reached[p] = bounds[p];
    }
    if (std::ranges::find(done, false) == done.end()) break;
    lanes_.proposal.ascend(step);
  }
  if (std::ranges::find(claimed, true) != claimed.end()) {
    const auto proven = lanes_.proof.prove();
    for (std::size_t p = 0; p < nodes.size(); ++p)
      results[p].closed = results[p].closed || (claimed[p] && proven[p]);
  }
  for (std::size_t p = 0; p < nodes.size(); ++p) lanes_.nodes.store(p, nodes[p]);
}

// Returns whether splits would hardly prove the node with its choices, so that better choices are
// worth more steps: all lines together lose little more than its bound lacks. For ReLUs alone,
// since lines on halves of functions lose again. Requires measure_gaps().
bool NodeSplitter::lacks_choices(const SplitNode& node, std::size_t lane) const {
  if (network_.functions() > 0) return false;
  float lost = 0;
  for (std::size_t open = 0; open < network_.open(); ++open)
    lost += lanes_.proposal.gain(open, lane);
  return lost < -settings_.little_more * node.bound;
}

// Returns whether tighter ranges are expected to save more than they cost. A split is expected to
// raise the bound by split_gain, and new ranges by tighten_gain, which leaves 2^(tighten_gain /
// split_gain) times fewer nodes below. The deeper a node, the less a split gains, so that twice as
// many levels are expected; and the more ranges gain, so that they are made now and then whatever
// they gained before.
bool NodeSplitter::pays_to_tighten(const SplitNode& node) const {
  if (node.depth == 0 && network_.functions() > 0) return true;
  // Many neurons, as in networks of images, make the few that are tightened gain less than as many
  // nodes do.
  constexpr std::size_t kMostShares = 8;
  if (network_.open() > kMostShares * settings_.tighten.neurons) return false;
  if (node.depth == 0 || node.depth >= node.tightened + settings_.tighten_levels) return true;
  const float unit = std::max(node.split_gain, 1e-3F * std::fabs(node.bound));
  const float levels = std::clamp(-2 * node.bound / unit, 0.0F, 60.0F);
  const float saved = std::exp2(levels) - std::exp2(levels - node.tighten_gain / unit);
  // The cost is that of the lanes that rows of neurons take, times passes of both kinds.
  const auto neurons = static_cast<float>(std::min(settings_.tighten.neurons, network_.open()));
  const float rows = 2 * neurons * static_cast<float>(2 * settings_.tighten.steps + 4);
  return saved * static_cast<float>(2 * settings_.node_steps + 3) > rows;
}

// The settings for a node. At the root of a network with functions they make up for the ranges of
// the box, which were made without optimised slopes, for as many neurons as take no more than
// seconds.
TightenSettings NodeSplitter::tighten_settings(const SplitNode& node) const {
  if (node.depth > 0 || network_.functions() == 0) return settings_.tighten;
  constexpr std::size_t kMostLines = 600'000;  // of functions, times neurons
  TightenSettings made = settings_.first_tighten;
  made.neurons = std::clamp(kMostLines / network_.functions(), std::size_t{16}, made.neurons);
  return made;
}

// Tightens ranges of neurons in a node. False when it proves that there is no violation in it.
bool NodeSplitter::tighten(SplitNode& node) {
  const TightenSettings settings = tighten_settings(node);
  std::vector<std::unique_ptr<NodeLanes>> others;
  std::vector<NodeLanes*> lanes = {&lanes_};
  for (std::size_t k = 1; settings.by_layer && k < workers_; ++k) {
    others.push_back(std::make_unique<NodeLanes>(network_, terms_));
    lanes.push_back(others.back().get());
    lanes.back()->nodes.scales = lanes_.nodes.scales;
  }
  return tighten_ranges(network_, lanes, node, settings, pause);
}

// Tightens ranges of neurons in the nodes for which that is expected to pay, and bounds these
// again.
void NodeSplitter::tighten(std::span<SplitNode> nodes, std::span<SplitResult> results) {
  std::vector<bool> done(nodes.size(), true);
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    if (results[p].closed || !pays_to_tighten(nodes[p])) continue;
    results[p].closed = !tighten(nodes[p]);
    nodes[p].tightened = nodes[p].depth;
    if (!results[p].closed && nodes[p].depth == 0) choose_weights(nodes[p]);
    done[p] = results[p].closed;
  }
  if (std::ranges::find(done, false) == done.end()) return;
  std::vector<float> before;
  for (const SplitNode& node : nodes) before.push_back(node.bound);
  ascend(nodes, done, results);
  for (std::size_t p = 0; p < nodes.size(); ++p)
    if (!done[p]) nodes[p].tighten_gain = std::max(0.0F, nodes[p].bound - before[p]);
}

// The open neurons by which a bound loses most, of those by which it loses.
std::vector<std::uint32_t> NodeSplitter::clipped_neurons(
    const std::function<float(std::size_t open)>& gain_of) const {
  std::vector<std::uint32_t> chosen;
  std::vector<float> gains;
  for (std::size_t open = 0; open < network_.open(); ++open) {
    gains.push_back(gain_of(open));
    if (gains.back() > 0) chosen.push_back(static_cast<std::uint32_t>(open));
  }
  std::ranges::stable_sort(chosen,
                           [&](std::uint32_t a, std::uint32_t b) { return gains[a] > gains[b]; });
  chosen.resize(std::min(chosen.size(), settings_.clipped));
  return chosen;
}

// Narrows ranges of neurons by the planes of the nodes' clauses, and closes those that are proven
// with them. A node whose bound is near 0 has violations in a small part of the box alone.
void NodeSplitter::clip(std::span<SplitNode> nodes, std::span<SplitResult> results) {
  const auto is_closed = [](const SplitResult& each) { return each.closed; };
  if (planes_ == nullptr || std::ranges::all_of(results, is_closed)) return;
  load_all(nodes);
  lanes_.proposal.bound();
  lanes_.proposal.measure_gaps();
  const auto constants = lanes_.proof.plane_constants();
  std::vector<std::vector<std::uint32_t>> neurons(nodes.size());
  std::vector<ProvenPlane> planes(nodes.size());
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    if (results[p].closed) continue;
    neurons[p] = clipped_neurons([&](std::size_t open) { return lanes_.proposal.gain(open, p); });
    planes[p] = proven_plane(network_, lanes_.proof, p, constants[p]);
  }
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    pause();
    if (!clip_neurons(network_, *planes_, lanes_, root_, planes[p], neurons[p], nodes[p]))
      results[p].closed = true;
  }
  load_all(nodes);
  const auto bounds = lanes_.proposal.bound();
  if (std::ranges::none_of(bounds, [](float each) { return each >= 0; })) return;
  const auto proven = lanes_.proof.prove();
  for (std::size_t p = 0; p < nodes.size(); ++p) results[p].closed = results[p].closed || proven[p];
}

// Learns from contradictions in a node that propagation_ began with.
void NodeSplitter::learn(const SplitNode& node, SplitResult& result) {
  if (!is_exact_ && node.depth > 0) return;
  const std::size_t most = is_exact_ ? settings_.most_conflicts : settings_.first_conflicts;
  if (conflicts_->run(most) == ConflictSearch::End::kPoint) result.point = conflicts_->point();
}

// Expands nodes whose ranges are propagated. Each is split by the neuron that Propagation chooses.
void NodeSplitter::expand_clauses(std::span<SplitNode> nodes, std::span<SplitResult> results) {
  std::vector<std::optional<Propagation::Choice>> choices(nodes.size());
  std::vector<bool> closed(nodes.size());
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    pause();
    if (propagation_->begin(nodes[p])) {
      learn(nodes[p], results[p]);
      if (!propagation_->is_empty()) choices[p] = propagation_->choose();
    }
    closed[p] = results[p].closed = propagation_->is_empty();
    if (!closed[p]) propagation_->store(nodes[p]);
  }
  if (std::ranges::find(closed, false) == closed.end()) return;
  ascend(nodes, closed, results);
  load_all(nodes);
  lanes_.proposal.bound();
  const auto violated = lanes_.proposal.violated();
  for (std::size_t p = 0; p < nodes.size(); ++p)
    if (!results[p].closed && violated[p]) results[p].point = lanes_.proposal.point(p);
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    if (results[p].closed) continue;
    if (!choices[p]) {
      decide_leaf(nodes[p], results[p]);
      continue;
    }
    const Candidate chosen = {p, {static_cast<std::uint32_t>(choices[p]->open), false, 0, 0}};
    const bool positive = choices[p]->positive_first;
    results[p].halves.emplace(half_of(nodes[p], chosen, positive),
                              half_of(nodes[p], chosen, !positive));
  }
}

std::size_t NodeSplitter::together() const {
  return device_ != nullptr && !propagation_ ? device_->together() : kLanes;
}

void NodeSplitter::expand(std::span<SplitNode> nodes, std::vector<SplitResult>& results) {
  results.assign(nodes.size(), {});
  const std::span all(results);
  for (std::size_t first = 0, count = 0; first < nodes.size(); first += count) {
    const std::size_t left = nodes.size() - first;
    const bool there = goes_to_device(left);
    count = std::min(left, there ? together() : kLanes);
    const auto part = nodes.subspan(first, count);
    const auto part_results = all.subspan(first, count);
    if (there)
      expand_on_device(part, part_results);
    else if (propagation_)
      expand_clauses(part, part_results);
    else
      expand_lanes(part, part_results);
  }
}

// Expands at most kLanes nodes.
void NodeSplitter::expand_lanes(std::span<SplitNode> nodes, std::span<SplitResult> results) {
  std::vector<float> before;
  for (const SplitNode& node : nodes) before.push_back(node.bound);
  ascend(nodes, std::vector<bool>(nodes.size()), results);
  for (std::size_t p = 0; p < nodes.size(); ++p)
    if (nodes[p].depth > 0)
      nodes[p].split_gain = (nodes[p].split_gain + std::max(0.0F, nodes[p].bound - before[p])) / 2;
  tighten(nodes, results);
  clip(nodes, results);
  std::vector<std::size_t> left;
  for (std::size_t p = 0; p < nodes.size(); ++p)
    if (!results[p].closed) left.push_back(p);
  if (left.empty()) return;
  // The lanes now hold other nodes; results below are for the choices as they are stored.
  load_all(nodes);
  lanes_.proposal.bound();
  lanes_.proposal.measure_gaps();
  std::vector<Candidate> candidates = candidates_of(left);
  const auto violated = lanes_.proposal.violated();
  for (const std::size_t p : left)
    if (violated[p]) results[p].point = lanes_.proposal.point(p);
  std::vector<bool> affine(nodes.size());
  for (const std::size_t p : left) affine[p] = is_nearly_affine(nodes[p], p);
  look_ahead(nodes, candidates);
  for (const std::size_t p : left) {
    if (affine[p]) decide_leaf(nodes[p], results[p]);
    if (!results[p].closed) split(nodes[p], candidates, p, results[p]);
  }
}

// Returns whether the bound lacks more by its multipliers than by the gaps of functions' lines. A
// linear program finds such multipliers; since functions never are lines, no number of splits would
// make the node a leaf.
bool NodeSplitter::is_nearly_affine(const SplitNode& node, std::size_t lane) const {
  if (network_.functions() == 0) return false;
  float lost = 0;
  for (std::size_t open = 0; open < network_.open(); ++open)
    lost += lanes_.proposal.gap(open, lane);
  return lost < -node.bound / 4;
}

std::vector<NodeSplitter::Candidate> NodeSplitter::candidates_of(
    const std::vector<std::size_t>& lanes) const {
  std::vector<Candidate> candidates;
  for (const std::size_t p : lanes)
    for (const std::size_t open : choose_candidates(p))
      if (const auto point = lanes_.nodes.point_of(open, p)) {
        const auto [low, high] = lanes_.nodes.range_of(open, p);
        candidates.push_back({p, {static_cast<std::uint32_t>(open), false, 0, *point}, low, high});
      }
  return candidates;
}

// Splits a node by the candidate whose halves gain most together; where there is none, decides it
// as a leaf.
void NodeSplitter::split(const SplitNode& node, const std::vector<Candidate>& candidates,
                         std::size_t lane, SplitResult& result) {
  const Candidate* best = nullptr;
  float most = -std::numeric_limits<float>::infinity();
  for (const Candidate& each : candidates) {
    if (each.lane != lane) continue;
    // A bound above 0 gains nothing more.
    const float score = std::min(each.worse, 0.0F) + std::min(each.better, 0.0F);
    if (best == nullptr || score > most) {
      best = &each;
      most = score;
    }
  }
  if (best == nullptr) {  // every neuron is split
    decide_leaf(node, result);
    return;
  }
  result.halves.emplace(half_of(node, *best, best->positive_first),
                        half_of(node, *best, !best->positive_first));
  if (node.depth > 0) return;
  const float gain = std::max(0.0F, most / 2 - node.bound);
  result.halves->first.split_gain = result.halves->second.split_gain = gain;
}

SplitNode NodeSplitter::half_of(const SplitNode& node, const Candidate& candidate,
                                bool positive) const {
  SplitNode half = node;
  ++half.depth;
  NeuronSplit split = candidate.split;
  split.positive = positive;
  add_split(half, split);
  const auto& layer = network_.layer_of(split.open);
  if (layer.function == nullptr) return half;
  const SlopeRange best = slopes_on(*layer.function, positive ? split.point : candidate.low,
                                    positive ? candidate.high : split.point);
  const std::size_t number = network_.function_of(split.open);
  half.lines[2 * number] = best.lower;
  half.lines[2 * number + 1] = best.upper;
  return half;
}

}  // namespace bf_aot::decide
