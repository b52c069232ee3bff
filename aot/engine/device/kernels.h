#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "aot/build/device/device.h"

namespace bf_aot::engine {

class DeviceLibrary;

// A device of this machine with entry points of a header of the runtime, whose arguments are arrays
// in its memory alone. Its compiler has taken them, and its arithmetic was probed. For one thread
// at a time.
class DeviceKernels {
 public:
  // An array in the device's memory. It must not outlive the device.
  class Array {
   public:
    Array() = default;
    ~Array();
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

   private:
    friend DeviceKernels;
    DeviceLibrary* library_ = nullptr;
    std::uintptr_t number_ = 0;
    std::size_t bytes_ = 0;
  };

  using MakeLibrary = std::function<std::unique_ptr<DeviceLibrary>(const build::DeviceName&)>;

  // items: of a group, unless the device is a processor, whose groups have one; fewer where a group
  // has no room for so many, one where there is none for `least`, and always a multiple of it.
  // try_out: calls the entry points. Where their compiler or such a call fails, groups of half the
  // items are tried, down to `least`, since registers or memory of a processor may be too few.
  // make: null: library_of(). Throws: as Device.
  DeviceKernels(const build::DeviceName& name, std::string_view header, std::size_t items,
                std::size_t least, const std::function<void(DeviceKernels&)>& try_out,
                const MakeLibrary& make = nullptr);
  ~DeviceKernels();
  DeviceKernels(const DeviceKernels&) = delete;
  DeviceKernels& operator=(const DeviceKernels&) = delete;

  std::size_t items() const { return items_; }
  // The bytes of an array that takes one in `share` of the device's memory.
  std::size_t array_bytes(std::size_t share) const;

  // Each throws BF3344 where the device fails.
  // Makes room for so many bytes, unless the array has it. What it held is lost otherwise.
  void reserve(Array& array, std::size_t bytes);
  // Writes to the array's begin, for which there is room then.
  void write(Array& array, std::span<const std::byte> from);
  void read(const Array& array, std::span<std::byte> to);
  // Has so many groups call an entry point. read() waits for them.
  void call(const char* entry, std::size_t groups, std::initializer_list<const Array*> arrays);

 private:
  void open(std::string_view header);
  void check(bool good) const;

  const build::DeviceName device_;
  std::unique_ptr<DeviceLibrary> library_;
  std::string where_, text_;  // "opencl:0, GeForce", and the source
  std::size_t items_ = 1;
};

}  // namespace bf_aot::engine
