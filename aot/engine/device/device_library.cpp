#include "aot/engine/device/device_library.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "runtime/host/cuda_driver.h"
#include "runtime/host/opencl_device.h"

namespace bf_aot::engine {
namespace {

struct Refusal {
  const char* code;
  const char* hint;
};

Refusal refusal_of(bf_device_fault fault, bool cuda) {
  switch (fault) {
    case BF_DEVICE_NO_LIBRARY:
      return {"BF3340", cuda ? "install NVIDIA's driver, and NVRTC of CUDA 11 to 13"
                             : "install a loader of OpenCL (ocl-icd-libopencl1) and the device's "
                               "driver"};
    case BF_DEVICE_NOT_FOUND:
      return {"BF3340",
              cuda ? "'nvidia-smi -L' lists devices"
                   : "'clinfo -l' lists devices; pocl-opencl-icd makes one of this processor"};
    case BF_DEVICE_NO_DOUBLES:
    case BF_DEVICE_NO_SUBNORMALS:
    case BF_DEVICE_NO_ROUNDING:
    case BF_DEVICE_BIG_ENDIAN:
      return {"BF3341", "bounds need arithmetic as IEEE 754 has it: use another device, or none"};
    case BF_DEVICE_NOT_BUILT:
      return {"BF3342",
              "another version of its driver may take it; without --device this processor "
              "bounds"};
    case BF_DEVICE_GROUP:
    case BF_DEVICE_PROCESSOR:
      return {"BF3341", "use another device, or none"};
    case BF_DEVICE_INEXACT:
      return {"BF3343", "bounds of this device could be wrong: use another one, or none"};
    case BF_DEVICE_HOST_MODE:
      return {"BF3306",
              "call with the default rounding mode, and without flushing denormals to zero"};
    case BF_DEVICE_READY:
    case BF_DEVICE_CALL:
      break;
  }
  return {"BF3344", "its memory may be full: fewer boxes in a call, or another device"};
}

// The processes that first used the libraries of OpenCL and CUDA; 0: none did.
std::atomic<pid_t> users[2];

// The process that first used the library: this one, where none did before.
pid_t user_of(bool cuda) {
  pid_t user = 0;
  const pid_t here = getpid();
  return users[cuda ? 1 : 0].compare_exchange_strong(user, here) ? here : user;
}

template <class Opened>
class OfOpened : public DeviceLibrary {
 public:
  bf_device_fault fault() const final { return opened_.fault; }
  const char* text() const final { return opened_.text; }
  const char* name() const final { return opened_.name; }
  std::size_t most_boxes() const final { return opened_.most_boxes; }

 protected:
  // Whether this is the process that opened the device. In a fork of it no call may free anything.
  bool is_here() const { return process_ == getpid(); }

  Opened opened_ = {};

 private:
  const pid_t process_ = getpid();
};

class OpenCl final : public OfOpened<bf_opencl_device> {
 public:
  ~OpenCl() override {
    if (!is_here()) return;
    for (bf_cl_object*& each : measured_) bf_opencl_free(&opened_, &each);
    bf_opencl_close(&opened_);
  }

  bool find(std::size_t index) override {
    const bf_device_program none = {};
    return bf_opencl_find_fit(&opened_, &none, index) != 0;
  }
  bool open(const bf_device_program& program, std::size_t index, const std::string& more) override {
    return bf_opencl_open(&opened_, &program, index, more.c_str()) != 0;
  }
  std::size_t items(std::size_t index, std::size_t many) const override {
    return bf_opencl_items(index, many);
  }
  bool call(const bf_device_results& results, std::size_t count, const float* lower,
            const float* upper, const bf_status* statuses) override {
    return bf_opencl_call_entry(&opened_, &results, count, lower, upper, statuses) != 0;
  }
  bool call_there(const bf_device_results& /*results*/, const BoxesThere& /*boxes*/,
                  float /*reach*/, bf_status* /*statuses*/) override {
    BF_BROKEN("arrays of OpenCL's have no pointers");
  }
  bool read(std::uintptr_t /*from*/, void* /*stream*/, std::span<float> /*to*/) override {
    BF_BROKEN("arrays of OpenCL's have no pointers");
  }

  DeviceParts parts() const override {
    const auto number = [&](bf_cl_uint what, std::size_t bytes) {
      return static_cast<std::size_t>(bf_opencl_number(&opened_, what, bytes));
    };
    return {number(BF_CL_DEVICE_MAX_COMPUTE_UNITS, 4), number(BF_CL_DEVICE_NATIVE_FLOATS, 4),
            number(BF_CL_DEVICE_LOCAL_MEM_SIZE, 8), number(BF_CL_DEVICE_CACHE_SIZE, 8),
            number(BF_CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8)};
  }
  bool make_room(std::size_t memory_bytes, std::size_t made_bytes) override {
    const std::size_t bytes[] = {64, memory_bytes, made_bytes};
    for (std::size_t i = 0; i < 3; ++i) {
      measured_[i] = bf_opencl_memory(&opened_, BF_CL_MEM_READ_WRITE, bytes[i]);
      if (measured_[i] == nullptr) return false;
    }
    return true;
  }
  bool measure(const char* entry, std::size_t items, std::size_t groups,
               std::span<const std::int32_t> counts) override {
    return bf_opencl_write(&opened_, measured_[0], 0, counts.data(), counts.size_bytes()) != 0 &&
           bf_opencl_call(&opened_, entry, items, 0, groups, measured_, 3) != 0;
  }

  std::uintptr_t make_array(std::size_t bytes) override {
    return reinterpret_cast<std::uintptr_t>(
        bf_opencl_memory(&opened_, BF_CL_MEM_READ_WRITE, bytes));
  }
  void free_array(std::uintptr_t array) override {
    if (!is_here()) return;
    bf_cl_object* memory = object_of(array);
    bf_opencl_free(&opened_, &memory);
  }
  bool write_array(std::uintptr_t array, std::span<const std::byte> from) override {
    return bf_opencl_write(&opened_, object_of(array), 0, from.data(), from.size()) != 0;
  }
  bool read_array(std::uintptr_t array, std::span<std::byte> to) override {
    return bf_opencl_read(&opened_, object_of(array), to.data(), to.size()) != 0;
  }
  bool run(const char* entry, std::size_t items, std::size_t groups,
           std::span<const std::uintptr_t> arrays) override {
    std::vector<bf_cl_object*> objects;
    for (const std::uintptr_t array : arrays) objects.push_back(object_of(array));
    return bf_opencl_call(&opened_, entry, items, 0, groups, objects.data(),
                          static_cast<bf_cl_uint>(objects.size())) != 0;
  }
  std::size_t array_bytes(std::size_t share) override {
    const bf_cl_bits part = bf_opencl_number(&opened_, BF_CL_DEVICE_GLOBAL_MEM_SIZE, 8) / share;
    const bf_cl_bits piece = bf_opencl_number(&opened_, BF_CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8);
    return static_cast<std::size_t>(std::min(part, piece));
  }

 private:
  static bf_cl_object* object_of(std::uintptr_t array) {
    return reinterpret_cast<bf_cl_object*>(array);  // it is that one's number
  }

  bf_cl_object* measured_[3] = {};  // counts, memory, what is made
};

class Cuda final : public OfOpened<bf_cu_device> {
 public:
  ~Cuda() override {
    if (!is_here()) return;
    if (opened_.context != nullptr && bf_cu_enter(&opened_) != 0) {
      for (bf_cu_pointer& each : measured_) bf_cu_free(&opened_, &each);
      bf_cu_leave(&opened_);
    }
    bf_cu_close(&opened_);
  }

  bool find(std::size_t index) override {
    const bf_device_program none = {};
    return bf_cu_find_fit(&opened_, &none, index) != 0;
  }
  bool open(const bf_device_program& program, std::size_t index,
            const std::string& /*more*/) override {
    return bf_cu_open(&opened_, &program, index) != 0;
  }
  std::size_t items(std::size_t index, std::size_t many) const override {
    return bf_cu_items(index, many);
  }
  bool call(const bf_device_results& results, std::size_t count, const float* lower,
            const float* upper, const bf_status* statuses) override {
    return bf_cu_call_entry(&opened_, &results, count, lower, upper, statuses) != 0;
  }
  bool call_there(const bf_device_results& results, const BoxesThere& boxes, float reach,
                  bf_status* statuses) override {
    return bf_cu_call_entry_there(&opened_, &results, boxes.count, boxes.lower, boxes.upper, reach,
                                  statuses, static_cast<bf_cu_object*>(boxes.stream)) != 0;
  }
  bool read(std::uintptr_t from, void* stream, std::span<float> to) override {
    return bf_cu_read_numbers(&opened_, from, to.data(), to.size(),
                              static_cast<bf_cu_object*>(stream)) != 0;
  }

  DeviceParts parts() const override {
    const auto number = [&](int what) {
      return static_cast<std::size_t>(std::max(0, bf_cu_attribute(&opened_, what)));
    };
    return {number(BF_CU_PROCESSORS), 1, number(BF_CU_NEAR_BYTES), number(BF_CU_CACHE_BYTES),
            opened_.most_boxes * opened_.what.arena_bytes};
  }
  bool make_room(std::size_t memory_bytes, std::size_t made_bytes) override {
    return entered([&] {
      const std::size_t bytes[] = {64, memory_bytes, made_bytes};
      for (std::size_t i = 0; i < 3; ++i)
        if (bf_cu_memory(&opened_, &measured_[i], bytes[i]) == 0) return false;
      return true;
    });
  }
  bool measure(const char* entry, std::size_t items, std::size_t groups,
               std::span<const std::int32_t> counts) override {
    return entered([&] {
      void* arguments[] = {&measured_[0], &measured_[1], &measured_[2]};
      return bf_cu_write(&opened_, measured_[0], counts.data(), counts.size_bytes(), nullptr) !=
                 0 &&
             bf_cu_call(&opened_, entry, items, groups, arguments, nullptr) != 0 &&
             bf_cu_did(&opened_, opened_.cu.cuStreamSynchronize(nullptr), entry) != 0;
    });
  }

  std::uintptr_t make_array(std::size_t bytes) override {
    bf_cu_pointer made = 0;
    const bool good = entered([&] { return bf_cu_memory(&opened_, &made, bytes) != 0; });
    return good ? static_cast<std::uintptr_t>(made) : 0;
  }
  void free_array(std::uintptr_t array) override {
    if (!is_here()) return;
    bf_cu_pointer memory = array;
    (void)entered([&] {
      bf_cu_free(&opened_, &memory);
      return true;
    });
  }
  bool write_array(std::uintptr_t array, std::span<const std::byte> from) override {
    return entered(
        [&] { return bf_cu_write(&opened_, array, from.data(), from.size(), nullptr) != 0; });
  }
  bool read_array(std::uintptr_t array, std::span<std::byte> to) override {
    return entered([&] { return bf_cu_read(&opened_, array, to.data(), to.size(), nullptr) != 0; });
  }
  bool run(const char* entry, std::size_t items, std::size_t groups,
           std::span<const std::uintptr_t> arrays) override {
    std::vector<bf_cu_pointer> pointers(arrays.begin(), arrays.end());
    std::vector<void*> arguments;
    for (bf_cu_pointer& pointer : pointers) arguments.push_back(&pointer);
    return entered(
        [&] { return bf_cu_call(&opened_, entry, items, groups, arguments.data(), nullptr) != 0; });
  }
  std::size_t array_bytes(std::size_t share) override {
    std::size_t left = 0, all = 0;
    (void)entered([&] { return opened_.cu.cuMemGetInfo(&left, &all) == 0; });
    return left / share;
  }

 private:
  template <class Work>
  bool entered(const Work& work) {
    if (bf_cu_enter(&opened_) == 0) return false;
    const bool good = work();
    bf_cu_leave(&opened_);
    return good;
  }

  bf_cu_pointer measured_[3] = {};  // counts, memory, what is made
};

bool is_cuda(const build::DeviceName& name) {
  return build::language_of_device(name.library) == Language::kCuda;
}

}  // namespace

void check_process(const build::DeviceName& name) {
  const pid_t user = user_of(is_cuda(name));
  if (user == getpid()) return;
  fail("BF3344", fmt::format("{}:{}", name.library, name.index),
       fmt::format("process {} has used devices before it was forked into this one, {}", user,
                   getpid()),
       "start processes by \"spawn\" or \"forkserver\", or use devices in the forked ones alone");
}

std::unique_ptr<DeviceLibrary> library_of(const build::DeviceName& name) {
  check_process(name);
  if (is_cuda(name)) return std::make_unique<Cuda>();
  return std::make_unique<OpenCl>();
}

void refuse(const DeviceLibrary& library, const build::DeviceName& name, const std::string& where) {
  const Refusal refusal = refusal_of(library.fault(), is_cuda(name));
  fail(refusal.code, where, printable(library.text()), refusal.hint);
}

}  // namespace bf_aot::engine
