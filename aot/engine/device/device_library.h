#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "aot/build/device/device.h"
#include "aot/engine/device/device.h"
#include "runtime/host/device.h"

namespace bf_aot::engine {

// The numbers that a library tells of a device's processors and memories; 0: nothing.
struct DeviceParts {
  std::size_t processors = 0;
  std::size_t lanes = 1;         // floats in a vector of one item
  std::size_t near_bytes = 0;    // of the nearest memory of a processor
  std::size_t cache_bytes = 0;   // that all share
  std::size_t memory_bytes = 0;  // that a program may have
};

// A library of devices, with a device of it that is opened.
class DeviceLibrary {
 public:
  DeviceLibrary() = default;
  DeviceLibrary(const DeviceLibrary&) = delete;
  DeviceLibrary& operator=(const DeviceLibrary&) = delete;
  virtual ~DeviceLibrary() = default;

  // Both return false where the device is refused.
  virtual bool find(std::size_t index) = 0;
  virtual bool open(const bf_device_program& program, std::size_t index,
                    const std::string& more) = 0;
  // The items that a group should have.
  virtual std::size_t items(std::size_t index, std::size_t many) const = 0;
  // Returns false where the device fails.
  virtual bool call(const bf_device_results& results, std::size_t count, const float* lower,
                    const float* upper, const bf_status* statuses) = 0;
  // Those of boxes that lie in its memory.
  virtual bool call_there(const bf_device_results& results, const BoxesThere& boxes, float reach,
                          bf_status* statuses) = 0;
  virtual bool read(std::uintptr_t from, void* stream, std::span<float> to) = 0;

  // Arrays in the device's memory, in bytes, and calls of entry points by groups of items with such
  // arrays alone; see DeviceKernels. 0 and false where the device fails.
  virtual std::uintptr_t make_array(std::size_t bytes) = 0;
  virtual void free_array(std::uintptr_t array) = 0;
  virtual bool write_array(std::uintptr_t array, std::span<const std::byte> from) = 0;
  virtual bool read_array(std::uintptr_t array, std::span<std::byte> to) = 0;
  virtual bool run(const char* entry, std::size_t items, std::size_t groups,
                   std::span<const std::uintptr_t> arrays) = 0;
  // The bytes of an array that takes one in `share` of the device's memory: of what is free there,
  // where the library tells that, else of all, and no more than an array may have.
  virtual std::size_t array_bytes(std::size_t share) = 0;

  // Work that measures the device, of an entry point whose arguments are `counts`, memory of
  // make_room()'s bytes, and what the device makes of them. Both return false where it fails.
  virtual DeviceParts parts() const = 0;
  virtual bool make_room(std::size_t memory_bytes, std::size_t made_bytes) = 0;
  virtual bool measure(const char* entry, std::size_t items, std::size_t groups,
                       std::span<const std::int32_t> counts) = 0;

  virtual bf_device_fault fault() const = 0;
  virtual const char* text() const = 0;
  virtual const char* name() const = 0;
  virtual std::size_t most_boxes() const = 0;
};

// A library of devices works in the process that first used it. In a fork of that its calls may
// never return. Throws: BF3344 this process is such a fork.
void check_process(const build::DeviceName& name);

// Throws: BF3344, as check_process().
std::unique_ptr<DeviceLibrary> library_of(const build::DeviceName& name);

// Throws what the device's fault is. where: "opencl:0, GeForce".
[[noreturn]] void refuse(const DeviceLibrary& library, const build::DeviceName& name,
                         const std::string& where);

}  // namespace bf_aot::engine
