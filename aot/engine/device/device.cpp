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
#include "aot/engine/device/device_library.h"
#include "aot/engine/device/group_size.h"
#include "aot/system/progress.h"
#include "bf/core/bounds.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"
#include "frontend/graph/model.h"
#include "planner/lowering/weight_tables.h"
#include "planner/plan/plan.h"

namespace bf_aot::engine {

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
  refuse(*library, name, fmt::format("{}:{}", name.library, name.index));
}

struct Device::State {
  // A lock of calls, in the process that opened the device: in a fork it may be held by a thread
  // that is not there.
  class Turn {
   public:
    explicit Turn(const build::DeviceName& of) : name_(of) {}

    // Throws: BF3344 in a fork.
    void lock() {
      check_process(name_);
      mutex_.lock();
    }
    void unlock() { mutex_.unlock(); }

   private:
    const build::DeviceName& name_;
    std::mutex mutex_;
  };

  State(std::shared_ptr<const Lowered> of, const build::DeviceName& device)
      : lowered(std::move(of)), name(device), library(library_of(device)) {}

  // Throws what the device's fault is.
  [[noreturn]] void refuse() const { engine::refuse(*library, name, where); }

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
  mutable Turn mutex{name};
  mutable GroupSize groups[2];  // of outputs, and of rows
};

Device::Device(std::shared_ptr<const Lowered> lowered, const build::DeviceName& name,
               const std::string& more)
    : state_(std::make_unique<State>(std::move(lowered), name)) {
  expect_float_environment();
  State& state = *state_;
  build::check_language(*state.lowered, true);
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
  program.team_bytes = static_cast<std::size_t>(emit::device_team_bytes(plan));
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
  expect_float_environment();  // boxes are checked, and float32's reach is rounded, here
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
  return build::language_of_device(state_->name.library) == Language::kCuda;
}

bool Device::bound_there(bool of_spec, const BoxesThere& boxes, float* out_lower,
                         float* out_upper) const {
  expect_float_environment();
  const std::scoped_lock lock(state_->mutex);
  const bf_device_results results = state_->results_of(of_spec, out_lower, out_upper, nullptr);
  const float reach = is_in_float32(plan().config.semantics)
                          ? static_cast<float>(plan().float32_reach)
                          : std::numeric_limits<float>::max();
  std::vector<bf_status> statuses(boxes.count);
  if (!state_->library->call_there(results, boxes, reach, statuses.data())) state_->refuse();
  return std::ranges::all_of(statuses, [](bf_status status) { return status == BF_OK; });
}

std::size_t Device::boxes_side_by_side() const {
  // A processor of an H100 has registers for six groups of 64 items, with 168 for an item.
  constexpr std::size_t kGroupsOfProcessor = 4;
  const std::size_t groups = plan().config.items > 1 ? kGroupsOfProcessor : 1;
  return groups * std::max<std::size_t>(state_->library->parts().processors, 1);
}

std::size_t Device::in_groups(
    bool of_spec, std::size_t count, const std::function<bool(std::size_t done)>& goes_on,
    const std::function<void(std::size_t first, std::size_t boxes)>& bound) const {
  GroupSize& size = state_->groups[of_spec ? 1 : 0];
  const std::size_t least = boxes_side_by_side(), most = boxes_at_once();
  std::size_t done = 0;
  while (done < count && goes_on(done)) {
    const std::size_t boxes = std::min(size.boxes(least, most), count - done);
    const system::Stopwatch stopwatch;
    bound(done, boxes);
    size.took(boxes, stopwatch.seconds());
    done += boxes;
  }
  return done;
}

std::vector<float> Device::read(std::uintptr_t from, void* stream, std::size_t count) const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<float> made(count);
  if (!state_->library->read(from, stream, made)) state_->refuse();
  return made;
}

}  // namespace bf_aot::engine
