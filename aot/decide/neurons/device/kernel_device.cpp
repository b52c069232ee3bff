#include "aot/decide/neurons/device/kernel_device.h"

#include <algorithm>
#include <chrono>

#include "aot/system/progress.h"
#include "runtime/bf/c/nodes/network.h"

namespace bf_aot::decide {
namespace {

constexpr std::size_t kItems = 128;  // of a group, on devices that are not processors
constexpr std::size_t kLeastGroups = 4, kMostGroups = 256;
// The network takes one in so many of the bytes of the device's memory at most, and so do the
// nodes' arrays. Arenas of boxes take up to half, see bf_opencl_most_boxes(), and weights and ends
// of boxes what is left.
constexpr std::size_t kShare = 8;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of nodes here, for a thread
constexpr std::chrono::milliseconds kTurn(20);             // waited for, between pauses
constexpr double kShort = 0.05, kLong = 0.2;               // seconds of a call

const char* name_of(NodeDevice::Entry entry) {
  switch (entry) {
    case NodeDevice::Entry::kAscend:
      return "bf_ascend_nodes";
    case NodeDevice::Entry::kLookAhead:
      return "bf_look_ahead";
  }
  return "";
}

}  // namespace

KernelDevice::KernelDevice(const build::DeviceName& name,
                           const engine::DeviceKernels::MakeLibrary& make)
    : kernels_(name, "bf/c/nodes/lanes.h", kItems, kLanes, call_once, make),
      most_bytes_(kernels_.array_bytes(kShare)),
      groups_(kLeastGroups) {}

// The calls are of a network without neurons, and of a clause without terms.
void KernelDevice::call_once(engine::DeviceKernels& kernels) {
  bf_node_network head = {};
  head.layers_at = head.parts_at = head.integers_at = head.numbers_at = sizeof head;
  bf_node_clause clause = {};
  clause.more_steps = 1;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&head, 1));
  FlatNetwork network;
  network.bytes.assign(bytes.begin(), bytes.end());
  NodeArrays nodes;
  nodes.choices.resize(kLanes);  // no array of a device is empty
  nodes.ranges.resize(kLanes);
  nodes.gains.resize(kLanes);
  nodes.made.resize(at_lanes(BF_NODE_MADE));
  Arrays arrays;
  kernels.write(arrays.network, network.bytes);
  for (const Entry entry : {Entry::kAscend, Entry::kLookAhead})
    call(kernels, arrays, entry, network, std::as_bytes(std::span(&clause, 1)), 1, nodes);
}

std::size_t KernelDevice::most_groups(const FlatShape& network) const {
  const std::size_t here = sizeof(float) * (network.choices(1) + network.ranges + network.gains);
  const std::size_t there = here + sizeof(float) * network.arena(kernels_.items());
  return std::min({most_bytes_ / there, kMostBytes / here, kMostGroups});
}

bool KernelDevice::fits(const FlatShape& network) const {
  return network.byte_count <= most_bytes_ && most_groups(network) >= kLeastGroups;
}

std::size_t KernelDevice::together(const FlatShape& network) const {
  return kLanes * std::min<std::size_t>(groups_, most_groups(network));
}

void KernelDevice::call(Entry entry, const std::shared_ptr<const FlatNetwork>& network,
                        std::span<const std::byte> clause, std::size_t groups, NodeArrays& nodes,
                        const std::function<void()>& pause) {
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock_for(kTurn)) pause();
  pause();
  const system::Stopwatch stopwatch;
  if (network_ != network) {
    network_ = nullptr;
    kernels_.write(arrays_.network, network->bytes);
    network_ = network;
  }
  call(kernels_, arrays_, entry, *network, clause, groups, nodes);
  const double seconds = stopwatch.seconds();
  if (seconds < kShort && groups >= groups_) groups_ = std::min(2 * groups, kMostGroups);
  if (seconds > kLong) groups_ = std::max(groups / 2, kLeastGroups);
}

// The arrays hold the network.
void KernelDevice::call(engine::DeviceKernels& kernels, Arrays& arrays, Entry entry,
                        const FlatNetwork& network, std::span<const std::byte> clause,
                        std::size_t groups, NodeArrays& nodes) {
  kernels.write(arrays.clause, clause);
  kernels.write(arrays.choices, std::as_bytes(std::span(nodes.choices)));
  kernels.write(arrays.ranges, std::as_bytes(std::span(nodes.ranges)));
  kernels.reserve(arrays.arenas, groups * sizeof(float) * network.arena(kernels.items()));
  kernels.reserve(arrays.made, nodes.made.size() * sizeof(float));
  kernels.reserve(arrays.gains, nodes.gains.size() * sizeof(float));
  kernels.call(name_of(entry), groups,
               {&arrays.network, &arrays.clause, &arrays.choices, &arrays.ranges, &arrays.arenas,
                &arrays.made, &arrays.gains});
  kernels.read(arrays.made, std::as_writable_bytes(std::span(nodes.made)));
  if (entry == Entry::kLookAhead) return;
  kernels.read(arrays.choices, std::as_writable_bytes(std::span(nodes.choices)));
  kernels.read(arrays.gains, std::as_writable_bytes(std::span(nodes.gains)));
}

}  // namespace bf_aot::decide
