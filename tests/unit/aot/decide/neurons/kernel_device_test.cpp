// A device whose compiler or calls refuse groups of many items is tried with groups of fewer. Only
// networks for which its memory has room beside other arrays go there.

#include "aot/decide/neurons/device/kernel_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aot/engine/device/device_library.h"
#include "frontend/diagnostic.h"

namespace bf_aot::decide {
namespace {

// A device of OpenCL that computes nothing.
struct Made {
  std::size_t builds = 1024, runs = 1024;  // groups of so many items at most
  std::size_t most = 1024;                 // that it tells
  bf_device_fault fault = BF_DEVICE_NOT_BUILT;
  std::size_t memory = std::size_t{1} << 30;
  std::vector<std::size_t> opened, ran;  // by groups of so many items
  std::size_t libraries = 0;
};

class FalseLibrary final : public engine::DeviceLibrary {
 public:
  explicit FalseLibrary(Made& made) : made_(made) { ++made_.libraries; }
  ~FalseLibrary() override { EXPECT_TRUE(arrays_.empty()) << "they do not outlive the device"; }

  bool find(std::size_t /*index*/) override { return true; }
  bool open(const bf_device_program& program, std::size_t /*index*/,
            const std::string& /*more*/) override {
    made_.opened.push_back(program.items);
    return program.items <= made_.builds || refuse(made_.fault);
  }
  std::size_t items(std::size_t /*index*/, std::size_t many) const override {
    return std::min(many, made_.most);
  }
  bool call(const bf_device_results& /*results*/, std::size_t /*count*/, const float* /*lower*/,
            const float* /*upper*/, const bf_status* /*statuses*/) override {
    return false;
  }
  bool call_there(const bf_device_results& /*results*/, const engine::BoxesThere& /*boxes*/,
                  float /*reach*/, bf_status* /*statuses*/) override {
    return false;
  }
  bool read(std::uintptr_t /*from*/, void* /*stream*/, std::span<float> /*to*/) override {
    return false;
  }

  std::uintptr_t make_array(std::size_t bytes) override {
    arrays_[++last_].resize(bytes);
    return last_;
  }
  void free_array(std::uintptr_t array) override { arrays_.erase(array); }
  bool write_array(std::uintptr_t array, std::span<const std::byte> from) override {
    std::ranges::copy(from, arrays_.at(array).begin());
    return true;
  }
  bool read_array(std::uintptr_t array, std::span<std::byte> to) override {
    std::copy_n(arrays_.at(array).begin(), to.size(), to.begin());
    return true;
  }
  bool run(const char* /*entry*/, std::size_t items, std::size_t /*groups*/,
           std::span<const std::uintptr_t> arrays) override {
    EXPECT_EQ(arrays.size(), 7u);
    made_.ran.push_back(items);
    return items <= made_.runs || refuse(BF_DEVICE_GROUP);
  }
  std::size_t array_bytes(std::size_t share) override { return made_.memory / share; }

  engine::DeviceParts parts() const override { return {}; }
  bool make_room(std::size_t /*memory_bytes*/, std::size_t /*made_bytes*/) override {
    return false;
  }
  bool measure(const char* /*entry*/, std::size_t /*items*/, std::size_t /*groups*/,
               std::span<const std::int32_t> /*counts*/) override {
    return false;
  }

  bf_device_fault fault() const override { return fault_; }
  const char* text() const override { return "refused"; }
  const char* name() const override { return "false device"; }
  std::size_t most_boxes() const override { return 0; }

 private:
  bool refuse(bf_device_fault fault) {
    if (fault_ == BF_DEVICE_READY) fault_ = fault;  // the first counts
    return false;
  }

  Made& made_;
  bf_device_fault fault_ = BF_DEVICE_READY;
  std::map<std::uintptr_t, std::vector<std::byte>> arrays_;
  std::uintptr_t last_ = 0;
};

std::unique_ptr<KernelDevice> device_of(Made& made) {
  return std::make_unique<KernelDevice>(
      build::DeviceName{"opencl", 0},
      [&made](const build::DeviceName&) { return std::make_unique<FalseLibrary>(made); });
}

std::string fault_of(Made& made) {
  try {
    (void)device_of(made);
  } catch (const CompileError& error) {
    return error.diagnostics().front().code;
  }
  return {};
}

using Sizes = std::vector<std::size_t>;

TEST(KernelDevice, HasGroupsOfManyItems) {
  Made made;
  EXPECT_EQ(fault_of(made), "");
  EXPECT_EQ(made.opened, Sizes({128}));
  EXPECT_EQ(made.ran, Sizes({128, 128})) << "each entry point once";
}

TEST(KernelDevice, TriesFewerItemsWhereManyAreNotBuiltOrDoNotRun) {
  Made made;
  made.builds = 64;
  made.runs = 32;
  EXPECT_EQ(fault_of(made), "");
  EXPECT_EQ(made.opened, Sizes({128, 64, 32}));
  EXPECT_EQ(made.ran, Sizes({64, 32, 32}));
  EXPECT_EQ(made.libraries, 3u);
}

TEST(KernelDevice, BeginsWithWhatTheDeviceTells) {
  Made made;
  made.most = 40;  // a multiple of the lanes is taken
  EXPECT_EQ(fault_of(made), "");
  EXPECT_EQ(made.opened, Sizes({32}));
  for (const std::size_t most : {15, 1}) {
    Made one;
    one.most = most;
    EXPECT_EQ(fault_of(one), "");
    EXPECT_EQ(one.opened, Sizes({1}));
  }
}

TEST(KernelDevice, IsRefusedWhereNoSizeHelps) {
  Made unbuilt;
  unbuilt.builds = 0;
  EXPECT_EQ(fault_of(unbuilt), "BF3342");
  EXPECT_EQ(unbuilt.opened, Sizes({128, 64, 32, 16}));
  Made small;
  small.runs = 8;
  EXPECT_EQ(fault_of(small), "BF3341");
  EXPECT_EQ(small.ran, Sizes({128, 64, 32, 16}));
  Made inexact;
  inexact.builds = 0;
  inexact.fault = BF_DEVICE_INEXACT;
  EXPECT_EQ(fault_of(inexact), "BF3343");
  EXPECT_EQ(inexact.opened, Sizes({128})) << "its arithmetic is the same";
}

TEST(KernelDevice, TakesNetworksThatThereIsRoomFor) {
  Made made;
  const std::unique_ptr<KernelDevice> device = device_of(made);
  FlatShape shape;
  shape.inputs = 100;
  shape.neurons = shape.open = 1000;
  shape.widest = 100;
  shape.ranges = at_lanes(3 * shape.open);
  shape.gains = at_lanes(shape.open);
  shape.byte_count = made.memory / 8;
  EXPECT_TRUE(device->fits(shape));
  EXPECT_EQ(device->together(shape), 4 * kLanes);
  ++shape.byte_count;
  EXPECT_FALSE(device->fits(shape)) << "boxes have half, and nodes one eighth";

  shape.byte_count = 1000;
  const std::size_t group =
      sizeof(float) * (shape.arena(128) + shape.choices(1) + shape.ranges + shape.gains);
  made.memory = 8 * 4 * group;  // four groups at least
  EXPECT_TRUE(device_of(made)->fits(shape));
  made.memory -= 8;
  EXPECT_FALSE(device_of(made)->fits(shape));
}

}  // namespace
}  // namespace bf_aot::decide
