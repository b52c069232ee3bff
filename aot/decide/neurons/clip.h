#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "aot/decide/neurons/lanes.h"

namespace bf_aot::decide {

// coefficients x + constant, in floats and a double: proven to be at most what it is a plane of.
struct ProvenPlane {
  std::vector<float> coefficients;  // by input
  double constant = 0;
};

// Planes over the inputs below and above each open neuron on the whole box, of ReLUs alone. They
// are made when they are first asked for, and belong to all clauses. For any number of threads.
class NeuronPlanes {
 public:
  explicit NeuronPlanes(const BoxNetwork& network);
  NeuronPlanes(const NeuronPlanes&) = delete;
  NeuronPlanes& operator=(const NeuronPlanes&) = delete;

  // Returns whether the network has ReLUs alone, and all planes together take little memory.
  static bool covers(const BoxNetwork& network);

  // The planes below z and -z of a neuron. `lanes` and `root` are of any clause, and `root` is
  // without splits; all lanes may be overwritten.
  std::span<const ProvenPlane, 2> of(std::uint32_t open, NodeLanes& lanes, const SplitNode& root);

 private:
  static constexpr std::size_t kTogether = kLanes / 2;

  struct Group {
    std::once_flag once;
    std::vector<ProvenPlane> planes;  // of kTogether neurons, two each
  };
  void make(std::size_t group, NodeLanes& lanes, const SplitNode& root);

  const BoxNetwork& network_;
  std::vector<Group> groups_;
};

// The plane below the clause's sum in a lane, by its own choices, splits and ranges. Requires
// LaneProof::plane_constants(), whose number `constant` is.
ProvenPlane proven_plane(const BoxNetwork& network, const LaneProof& proof, std::size_t lane,
                         double constant);

// A proven number that `row` is never below where clause < 0 on the box; NaN or -inf where there is
// none.
double least_where(const BoxNetwork& network, const ProvenPlane& row, const ProvenPlane& clause);

// Narrows the ranges of these neurons in a node by the plane of its clause. False where the node
// holds no violation. Overwrites all lanes.
bool clip_neurons(const BoxNetwork& network, NeuronPlanes& planes, NodeLanes& lanes,
                  const SplitNode& root, const ProvenPlane& clause,
                  std::span<const std::uint32_t> neurons, SplitNode& node);

}  // namespace bf_aot::decide
