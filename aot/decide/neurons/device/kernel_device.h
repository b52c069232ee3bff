#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "aot/decide/neurons/device/node_device.h"
#include "aot/engine/device/kernels.h"

namespace bf_aot::decide {

// A device of this machine. One thread calls it at a time, and others wait.
class KernelDevice final : public NodeDevice {
 public:
  // Calls the entries, too: compilers of devices may leave the most of their work to the first call
  // of one. make: of DeviceKernels. Throws: as engine::Device.
  explicit KernelDevice(const build::DeviceName& name,
                        const engine::DeviceKernels::MakeLibrary& make = nullptr);

  bool fits(const FlatShape& network) const override;
  // Returns as many as take about a tenth of a second, by the time of those before, so that a
  // search ends when it is told to.
  std::size_t together(const FlatShape& network) const override;
  // The network is kept there until another one is asked for.
  void call(Entry entry, const std::shared_ptr<const FlatNetwork>& network,
            std::span<const std::byte> clause, std::size_t groups, NodeArrays& nodes,
            const std::function<void()>& pause) override;

 private:
  struct Arrays {
    engine::DeviceKernels::Array network, clause, choices, ranges, arenas, made, gains;
  };

  static void call_once(engine::DeviceKernels& kernels);
  static void call(engine::DeviceKernels& kernels, Arrays& arrays, Entry entry,
                   const FlatNetwork& network, std::span<const std::byte> clause,
                   std::size_t groups, NodeArrays& nodes);
  std::size_t most_groups(const FlatShape& network) const;

  std::timed_mutex mutex_;
  engine::DeviceKernels kernels_;
  Arrays arrays_;  // destroyed before the device
  std::shared_ptr<const FlatNetwork> network_;
  const std::size_t most_bytes_;     // of the network there, and of all nodes
  std::atomic<std::size_t> groups_;  // of kLanes nodes that go together
};

}  // namespace bf_aot::decide
