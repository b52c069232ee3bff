#include "aot/engine/device/device.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>
#include <vector>

#include "aot/build/device/device.h"
#include "aot/build/options/language.h"
#include "aot/emit/device/device.h"
#include "bf/core/bounds.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "planner/lowering/weight_tables.h"
#include "planner/plan/plan.h"
#include "runtime/host/opencl_device.h"

namespace bf_aot::engine {
namespace {

struct Refusal {
  const char* code;
  const char* hint;
};

Refusal refusal_of(bf_device_fault fault) {
  switch (fault) {
    case BF_DEVICE_NO_LIBRARY:
      return {"BF3340", "install a loader of OpenCL (ocl-icd-libopencl1) and the device's driver"};
    case BF_DEVICE_NOT_FOUND:
      return {"BF3340", "'clinfo -l' lists devices; pocl-opencl-icd makes one of this processor"};
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

}  // namespace

int device_items(const build::DeviceName& name) {
  return static_cast<int>(bf_opencl_items(name.index, build::kDeviceItems));
}

build::CompileOptions for_named_device(build::CompileOptions options) {
  const build::DeviceName name = build::device_named(options.device);
  options.planner.batch = 1;  // batches are the host's, of any size
  options.planner.workers = 1;
  return build::for_device(std::move(options), build::language_of_device(name.library),
                           device_items(name));
}

struct Device::State {
  explicit State(std::shared_ptr<const Lowered> of) : lowered(std::move(of)) {}

  // Throws what the device's fault is.
  [[noreturn]] void refuse() const {
    const Refusal refusal = refusal_of(opened.fault);
    fail(refusal.code, where, printable(opened.text), refusal.hint);
  }

  std::shared_ptr<const Lowered> lowered;
  std::string where;  // "opencl:0, GeForce"
  std::string text;
  std::vector<char> weights;
  const char* source = nullptr;
  bf_device_table table = {};
  std::vector<emit::DeviceEntry> entries;
  mutable bf_opencl_device opened = {};
  mutable std::mutex mutex;
};

Device::Device(std::shared_ptr<const Lowered> lowered, const build::DeviceName& name,
               const std::string& more)
    : state_(std::make_unique<State>(std::move(lowered))) {
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
  if (bf_opencl_open(&state.opened, &program, name.index, more.c_str()) != 0) return;
  bf_opencl_close(&state.opened);
  if (state.opened.name[0] != '\0') state.where += fmt::format(", {}", state.opened.name);
  state.refuse();
}

Device::~Device() {
  bf_opencl_close(&state_->opened);
}

const Plan& Device::plan() const {
  return state_->lowered->plan();
}

std::string Device::name() const {
  return state_->opened.name;
}

std::size_t Device::boxes_at_once() const {
  return state_->opened.most_boxes;
}

bf_status Device::bound(bool of_spec, std::size_t count, const float* lower, const float* upper,
                        float* out_lower, float* out_upper, bf_status* statuses) const {
  const std::scoped_lock lock(state_->mutex);
  const std::size_t place = of_spec ? 1 : 0;
  BF_CHECK(place < state_->entries.size());
  const emit::DeviceEntry& entry = state_->entries[place];
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
  if (bf_opencl_bound(&state_->opened, entry.name.c_str(), count, lower, upper,
                      static_cast<std::size_t>(entry.outputs), out_lower, out_upper, statuses) == 0)
    state_->refuse();
  return first;
}

}  // namespace bf_aot::engine
