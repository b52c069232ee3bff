#include <algorithm>

#include "aot/decide/neurons/splitter.h"
#include "runtime/bf/c/nodes/network.h"

// Nodes whose choices and splits a device proposes. What it gives counts for nothing that is
// claimed: bounds are proven, points are found and leaves are decided here, by lanes.

namespace bf_aot::decide {
namespace {

// The device looks at as many candidates as lanes do.
static_assert(SplitSettings().by_gain == BF_NODE_BY_GAIN);
static_assert(SplitSettings().by_gain + SplitSettings().by_gap == BF_NODE_CANDIDATES);

// A device takes about as long for one group as for as many as it has processors.
constexpr std::size_t kLeastNodes = 4 * kLanes;

std::size_t groups_of(std::size_t nodes) {
  return (nodes + kLanes - 1) / kLanes;
}

// The elements of a group.
template <class Element>
std::span<Element> group_in(std::span<Element> all, std::size_t group) {
  return all.subspan(group * kLanes, std::min(kLanes, all.size() - group * kLanes));
}

}  // namespace

bool NodeSplitter::goes_to_device(std::size_t nodes) const {
  return device_ != nullptr && !propagation_ && nodes >= kLeastNodes;
}

void NodeSplitter::expand_on_device(std::span<SplitNode> nodes, std::span<SplitResult> results) {
  const std::vector<std::byte> clause = flat_clause(
      lanes_.nodes,
      {settings_.node_steps, settings_.more_steps, settings_.most_steps, settings_.little_more});
  const std::size_t groups = groups_of(nodes.size());
  device_->begin(groups, terms_.size());
  for (std::size_t group = 0; group < groups; ++group) {
    load_all(group_in(nodes, group));
    device_->load(group, lanes_.nodes);
  }
  pause();
  device_->ascend(clause, pause);
  for (std::size_t group = 0; group < groups; ++group) {
    pause();
    prove_group(group, group_in(nodes, group), group_in(results, group));
  }
  split_on_device(nodes, clause, results);
  device_nodes_ += nodes.size();
}

// Proves the bounds of nodes that ascended; of those that stay open narrows ranges.
void NodeSplitter::prove_group(std::size_t group, std::span<SplitNode> nodes,
                               std::span<SplitResult> results) {
  load_all(nodes);
  device_->take_choices(group, lanes_.nodes);
  const LaneProof::Proven proven = lanes_.proof.prove_planes();
  std::vector<ProvenPlane> planes(nodes.size());
  for (std::size_t p = 0; p < nodes.size(); ++p) {
    const float before = nodes[p].bound;
    nodes[p].bound = device_->bound(group, p);
    nodes[p].split_gain = (nodes[p].split_gain + std::max(0.0F, nodes[p].bound - before)) / 2;
    results[p].closed = proven.nodes[p];
    if (planes_ != nullptr && !results[p].closed)
      planes[p] = proven_plane(network_, lanes_.proof, p, proven.constants[p]);
    lanes_.nodes.store(p, nodes[p]);
  }
  tighten(nodes, results);
  for (std::size_t p = 0; planes_ != nullptr && p < nodes.size(); ++p) {
    if (results[p].closed) continue;
    pause();
    // The device may give gains of neurons that are split, and does not know what was tightened.
    const auto neurons = clipped_neurons([&](std::size_t open) {
      return device_->is_split(group, open, p) ? 0.0F : device_->gain(group, open, p);
    });
    results[p].closed =
        !clip_neurons(network_, *planes_, lanes_, root_, planes[p], neurons, nodes[p]);
  }
}

// Splits the nodes that are left.
void NodeSplitter::split_on_device(std::span<const SplitNode> nodes,
                                   std::span<const std::byte> clause,
                                   std::span<SplitResult> results) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!results[i].closed) left.push_back(i);
  if (left.empty()) return;
  const std::span<const std::size_t> members(left);
  const std::size_t groups = groups_of(left.size());
  device_->begin(groups, terms_.size());
  for (std::size_t group = 0; group < groups; ++group) {
    load_members(nodes, group_in(members, group));
    device_->load(group, lanes_.nodes);
  }
  pause();
  device_->look_ahead(clause, pause);
  std::size_t points = kLanes;
  for (std::size_t group = 0; group < groups; ++group) {
    pause();
    split_group(group, nodes, group_in(members, group), results, points);
  }
}

void NodeSplitter::load_members(std::span<const SplitNode> nodes,
                                std::span<const std::size_t> members) {
  lanes_.nodes.in_use = members.size();
  for (std::size_t p = 0; p < kLanes; ++p)
    lanes_.nodes.load(p, nodes[members[std::min(p, members.size() - 1)]]);
}

// Closes the members whose bounds are proven with their narrower ranges, and splits the others.
// points: that halves of all groups may still have.
void NodeSplitter::split_group(std::size_t group, std::span<const SplitNode> nodes,
                               std::span<const std::size_t> members, std::span<SplitResult> results,
                               std::size_t& points) {
  bool claimed = false, violated = false;
  for (std::size_t p = 0; p < members.size(); ++p) {
    claimed = claimed || device_->bound(group, p) >= 0;
    violated = violated || device_->violated(group, p);
  }
  if (claimed || violated) load_members(nodes, members);
  if (claimed) {
    const auto proven = lanes_.proof.prove();
    for (std::size_t p = 0; p < members.size(); ++p) results[members[p]].closed = proven[p];
  }
  if (violated) {
    lanes_.proposal.bound();
    const auto here = lanes_.proposal.violated();
    for (std::size_t p = 0; p < members.size(); ++p)
      if (here[p] && !results[members[p]].closed)
        results[members[p]].point = lanes_.proposal.point(p);
  }
  for (std::size_t p = 0; p < members.size(); ++p)
    if (SplitResult& result = results[members[p]]; !result.closed)
      split(nodes[members[p]], device_candidates(group, p), 0, result);
  // Each point takes exact evaluations, and as many as lanes may find are enough. A leaf keeps its
  // own: nobody asks for it again, as for halves.
  for (const std::size_t member : members) {
    SplitResult& result = results[member];
    if (!result.point || !result.halves) continue;
    if (points > 0)
      --points;
    else
      result.point.reset();
  }
}

// The device's candidates for a node, as those of lane 0; where it has none, the first neuron that
// is open.
std::vector<NodeSplitter::Candidate> NodeSplitter::device_candidates(std::size_t group,
                                                                     std::size_t lane) const {
  std::vector<Candidate> made;
  for (const DeviceNodes::Candidate& each : device_->candidates(group, lane)) {
    Candidate& one = made.emplace_back();
    one.split.open = each.open;
    one.worse = std::min(each.negative, each.positive);
    one.better = std::max(each.negative, each.positive);
    one.positive_first = each.positive <= each.negative;
  }
  for (std::size_t open = 0; made.empty() && open < network_.open(); ++open)
    if (!device_->is_split(group, open, lane)) {
      Candidate& one = made.emplace_back();
      one.split.open = static_cast<std::uint32_t>(open);
      one.worse = one.better = device_->bound(group, lane);
    }
  return made;
}

}  // namespace bf_aot::decide
