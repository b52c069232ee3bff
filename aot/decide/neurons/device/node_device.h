#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "aot/decide/neurons/device/flat_network.h"
#include "aot/decide/neurons/lane_nodes.h"

namespace bf_aot::decide {

// The arrays of nodes in groups of kLanes, as devices read and write them: see
// bf/c/nodes/network.h.
struct NodeArrays {
  std::vector<float> choices, ranges;  // read
  std::vector<float> made, gains;      // written; by kAscend alone gains, and choices that ascended
};

// Proposes choices and splits for thousands of nodes in a call, as LaneProposal does for kLanes of
// them, and claims nothing: what it gives is proven here, whatever it is. For any number of
// threads.
class NodeDevice {
 public:
  enum class Entry : std::uint8_t { kAscend, kLookAhead };

  NodeDevice() = default;
  virtual ~NodeDevice() = default;
  NodeDevice(const NodeDevice&) = delete;
  NodeDevice& operator=(const NodeDevice&) = delete;

  // Returns whether there is room for a network and some nodes.
  virtual bool fits(const FlatShape& network) const = 0;
  // The nodes of a network that fits that should go together.
  virtual std::size_t together(const FlatShape& network) const = 0;
  // Has groups call an entry point. pause: is called while the device is another thread's; what it
  // throws leaves nodes of no use. Throws: BF3344 where the device fails.
  virtual void call(Entry entry, const std::shared_ptr<const FlatNetwork>& network,
                    std::span<const std::byte> clause, std::size_t groups, NodeArrays& nodes,
                    const std::function<void()>& pause) = 0;
};

// Nodes in groups of kLanes that go to a device, and its proposals for them, made fit for use:
// numbers of the ranges that they should have, for any that the device may give. For one thread.
class DeviceNodes {
 public:
  // A neuron by which a node may be split, and the bounds of its halves.
  struct Candidate {
    std::uint32_t open = 0;
    float negative = 0, positive = 0;
  };

  DeviceNodes(NodeDevice& device, std::shared_ptr<const FlatNetwork> network)
      : device_(device), network_(std::move(network)) {}

  std::size_t together() const { return device_.together(*network_); }

  // Makes room for so many groups, of a clause of so many terms.
  void begin(std::size_t groups, std::size_t terms);
  // Puts the lanes into a group.
  void load(std::size_t group, const LaneNodes& lanes);

  // Both make a call of the device with all groups: NodeDevice::call().
  void ascend(std::span<const std::byte> clause, const std::function<void()>& pause);
  void look_ahead(std::span<const std::byte> clause, const std::function<void()>& pause);

  // Gives the lanes, which hold a group's nodes, the choices that were found for them.
  void take_choices(std::size_t group, LaneNodes& lanes) const;
  float bound(std::size_t group, std::size_t lane) const;
  // Returns whether float32 may violate the clause at the node's point.
  bool violated(std::size_t group, std::size_t lane) const;
  // After ascend(): how much a bound may gain by a split of an open neuron.
  float gain(std::size_t group, std::size_t open, std::size_t lane) const;
  std::vector<Candidate> candidates(std::size_t group, std::size_t lane) const;
  // Returns whether an open neuron was split in the node that was loaded.
  bool is_split(std::size_t group, std::size_t open, std::size_t lane) const;

 private:
  float made(std::size_t group, std::size_t number, std::size_t lane) const;

  NodeDevice& device_;
  const std::shared_ptr<const FlatNetwork> network_;
  std::size_t groups_ = 0, terms_ = 0;
  NodeArrays arrays_;
};

}  // namespace bf_aot::decide
