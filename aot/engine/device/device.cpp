#include "aot/engine/device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "aot/build/device/device.h"
#include "aot/build/options/language.h"
#include "aot/emit/device/device.h"
#include "bf/core/bounds.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "planner/lowering/weight_tables.h"
#include "planner/plan/plan.h"
#include "runtime/host/cuda_driver.h"
#include "runtime/host/opencl_device.h"

namespace bf_aot::engine {

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

  virtual bf_device_fault fault() const = 0;
  virtual const char* text() const = 0;
  virtual const char* name() const = 0;
  virtual std::size_t most_boxes() const = 0;
};

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
    case BF_DEVICE_INEXACT:
      return {"BF3343", "bounds of this device could be wrong: use another one, or none"};
    case BF_DEVICE_READY:
    case BF_DEVICE_CALL:
      break;
  }
  return {"BF3344", "its memory may be full: fewer boxes in a call, or another device"};
}

template <class Opened>
class OfOpened : public DeviceLibrary {
 public:
  bf_device_fault fault() const final { return opened_.fault; }
  const char* text() const final { return opened_.text; }
  const char* name() const final { return opened_.name; }
  std::size_t most_boxes() const final { return opened_.most_boxes; }

 protected:
  Opened opened_ = {};
};

class OpenCl final : public OfOpened<bf_opencl_device> {
 public:
  ~OpenCl() override { bf_opencl_close(&opened_); }

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
};

class Cuda final : public OfOpened<bf_cu_device> {
 public:
  ~Cuda() override { bf_cu_close(&opened_); }

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
};

bool is_cuda(const build::DeviceName& name) {
  return build::language_of_device(name.library) == Language::kCuda;
}

std::unique_ptr<DeviceLibrary> library_of(const build::DeviceName& name) {
  if (is_cuda(name)) return std::make_unique<Cuda>();
  return std::make_unique<OpenCl>();
}

}  // namespace

int device_items(const build::DeviceName& name) {
  return static_cast<int>(library_of(name)->items(name.index, build::kDeviceItems));
}

build::CompileOptions for_named_device(build::CompileOptions options) {
  const build::DeviceName name = build::device_named(options.device);
  options.planner.batch = 1;  // batches are the host's, of any size
  options.planner.workers = 1;
  const bool decide = std::exchange(options.planner.decide, false);
  build::CompileOptions made = build::for_device(
      std::move(options), build::language_of_device(name.library), device_items(name));
  made.planner.decide = decide;
  return made;
}

void find_device(const build::DeviceName& name) {
  const std::unique_ptr<DeviceLibrary> library = library_of(name);
  if (library->find(name.index)) return;
  const Refusal refusal = refusal_of(library->fault(), is_cuda(name));
  fail(refusal.code, fmt::format("{}:{}", name.library, name.index), printable(library->text()),
       refusal.hint);
}

struct Device::State {
  State(std::shared_ptr<const Lowered> of, const build::DeviceName& device)
      : lowered(std::move(of)), name(device), library(library_of(device)) {}

  // Throws what the device's fault is.
  [[noreturn]] void refuse() const {
    const Refusal refusal = refusal_of(library->fault(), is_cuda(name));
    fail(refusal.code, where, printable(library->text()), refusal.hint);
  }

  // An entry of the plan.
  bf_device_results results_of(bool of_spec, float* lower, float* upper, float* lines) const {
    const std::size_t place = of_spec ? 1 : 0;
    BF_CHECK(place < entries.size());
    const emit::DeviceEntry& entry = entries[place];
    BF_CHECK(lines == nullptr || entry.lines > 0);
    return {entry.name.c_str(),
            static_cast<std::size_t>(entry.outputs),
            static_cast<std::size_t>(entry.lines),
            lower,
            upper,
            lines};
  }

  std::shared_ptr<const Lowered> lowered;
  const build::DeviceName name;
  const std::unique_ptr<DeviceLibrary> library;
  std::string where;  // "opencl:0, GeForce"
  std::string text;
  std::vector<char> weights;
  const char* source = nullptr;
  bf_device_table table = {};
  std::vector<emit::DeviceEntry> entries;
  mutable std::mutex mutex;
};

Device::Device(std::shared_ptr<const Lowered> lowered, const build::DeviceName& name,
               const std::string& more)
    : state_(std::make_unique<State>(std::move(lowered), name)) {
  State& state = *state_;
  build::check_language(*state.lowered);
  const Plan& plan = state.lowered->plan();
  const std::vector<WeightTable>& tables = state.lowered->tables();
  state.where = fmt::format("{}:{}", name.library, name.index);
  state.text = build::device_text(*state.lowered);
  state.source = state.text.c_str();
  state.entries = emit::device_entries(plan);
  state.weights.resize(static_cast<std::size_t>(blob_bytes(tables, plan.config.target.align)));
  for (const WeightTable& table : tables)
    if (table.same_as < 0) pack_table(plan, table, state.weights.data() + table.offset);
  state.table = {state.weights.data(), state.weights.size(), 0};
  bf_device_program program = {};
  program.source = &state.source;
  program.texts = 1;
  program.tables = &state.table;
  program.table_count = 1;
  program.weights_bytes = state.weights.size();
  program.arena_bytes = static_cast<std::size_t>(emit::device_arena_bytes(plan));
  program.items = static_cast<std::size_t>(plan.config.items);
  program.inputs = static_cast<std::size_t>(plan.input_count);
  if (state.library->open(program, name.index, more)) return;
  if (state.library->name()[0] != '\0') state.where += fmt::format(", {}", state.library->name());
  state.refuse();
}

Device::~Device() = default;

const Plan& Device::plan() const {
  return state_->lowered->plan();
}

std::shared_ptr<const Plan> Device::shared_plan() const {
  return state_->lowered->shared_plan();
}

std::string Device::name() const {
  return state_->library->name();
}

std::size_t Device::boxes_at_once() const {
  return state_->library->most_boxes();
}

std::size_t Device::lines() const {
  const std::vector<emit::DeviceEntry>& entries = state_->entries;
  return entries.size() < 2 ? 0 : static_cast<std::size_t>(entries[1].lines);
}

bf_status Device::bound(bool of_spec, std::size_t count, const float* lower, const float* upper,
                        float* out_lower, float* out_upper, bf_status* statuses,
                        float* lines) const {
  const std::scoped_lock lock(state_->mutex);
  const bf_device_results results = state_->results_of(of_spec, out_lower, out_upper, lines);
  const int inputs = plan().input_count;
  const bool in_float = is_in_float32(plan().config.semantics);
  bf_status first = BF_OK;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * static_cast<std::size_t>(inputs);
    statuses[i] = in_float ? bf::check_box(lower + at, upper + at, inputs,
                                           static_cast<float>(plan().float32_reach))
                           : bf::check_box(lower + at, upper + at, inputs);
    if (first == BF_OK) first = statuses[i];
  }
  if (!state_->library->call(results, count, lower, upper, statuses)) state_->refuse();
  return first;
}

bool Device::takes_pointers() const {
  return is_cuda(state_->name);
}

bool Device::bound_there(bool of_spec, const BoxesThere& boxes, float* out_lower,
                         float* out_upper) const {
  const std::scoped_lock lock(state_->mutex);
  const bf_device_results results = state_->results_of(of_spec, out_lower, out_upper, nullptr);
  const float reach = is_in_float32(plan().config.semantics)
                          ? static_cast<float>(plan().float32_reach)
                          : std::numeric_limits<float>::max();
  std::vector<bf_status> statuses(boxes.count);
  if (!state_->library->call_there(results, boxes, reach, statuses.data())) state_->refuse();
  return std::ranges::all_of(statuses, [](bf_status status) { return status == BF_OK; });
}

std::vector<float> Device::read(std::uintptr_t from, void* stream, std::size_t count) const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<float> made(count);
  if (!state_->library->read(from, stream, made)) state_->refuse();
  return made;
}

}  // namespace bf_aot::engine
