#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "aot/build/device/device.h"
#include "aot/engine/device/device.h"
#include "aot/engine/run/engine.h"
#include "aot/engine/verifier/call_watch.h"
#include "aot/input/balls.h"
#include "aot/input/directed.h"
#include "aot/library/enums.h"
#include "aot/library/state.h"
#include "aot/system/progress.h"

namespace bf_aot::api {

// This namespace has a name because Verifier::State, which a header declares, holds a pool.
namespace workspaces {

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

// Workspaces that no call uses.
class Pool {
 public:
  Pool(std::size_t bytes, std::size_t align) : bytes_(bytes), align_(align) {}

  std::size_t bytes() const { return bytes_; }

  // A workspace from the pool, or a new one. Throws: Failed BF3504.
  Memory take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!unused_.empty()) {
        Memory memory = std::move(unused_.back());
        unused_.pop_back();
        return memory;
      }
    }
    Memory memory(static_cast<std::byte*>(std::aligned_alloc(align_, bytes_)));
    if (memory == nullptr)
      refuse("BF3504", "workspace", fmt::format("there is no memory for {} bytes", bytes_),
             "a memory budget, a smaller batch or fewer threads need less");
    return memory;
  }

  void give_back(Memory memory) noexcept {
    try {
      const std::scoped_lock lock(mutex_);
      unused_.push_back(std::move(memory));
    } catch (...) {  // when the list cannot grow, the memory is freed
    }
  }

 private:
  const std::size_t bytes_, align_;
  std::mutex mutex_;
  std::vector<Memory> unused_;
};

class Workspace {
 public:
  explicit Workspace(Pool& pool) : pool_(pool), memory_(pool.take()) {}
  ~Workspace() { pool_.give_back(std::move(memory_)); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::byte* get() const { return memory_.get(); }

 private:
  Pool& pool_;
  Memory memory_;
};

}  // namespace workspaces

namespace {

using workspaces::Pool, workspaces::Workspace;

constexpr char kBounding[] = "bounding boxes";
constexpr std::chrono::milliseconds kPause{20};  // at least, between calls of `watch` within a box

struct Boxes {
  std::span<const float> lower, upper;
};

// The least boxes of float32 around others. NaN stays NaN, and an end above the other one so.
struct FloatBoxes {
  FloatBoxes(std::span<const double> of_lower, std::span<const double> of_upper, const Plan& plan)
      : lower(of_lower.size()), upper(of_upper.size()) {
    std::ranges::transform(of_lower, lower.begin(),
                           [](double x) { return input::to_float(x, false); });
    std::ranges::transform(of_upper, upper.begin(),
                           [](double x) { return input::to_float(x, true); });
    for (std::size_t i = 0; i < std::min(lower.size(), upper.size()); ++i)
      if (of_lower[i] > of_upper[i]) {
        lower[i] = input::to_float(of_lower[i], true);
        upper[i] = input::to_float(of_upper[i], false);
      }
    const auto inputs = static_cast<std::size_t>(plan.input_count);
    const bf_aot::Norm norm = plan.config.norm;
    if (norm == bf_aot::Norm::kLargest || lower.size() != upper.size()) return;
    const auto exact = [](std::span<const float> made, std::span<const double> given) {
      return std::ranges::equal(made, given,
                                [](float m, double g) { return static_cast<double>(m) == g; });
    };
    for (std::size_t i = 0; i + inputs <= lower.size(); i += inputs)
      if (!exact(std::span(lower).subspan(i, inputs), of_lower.subspan(i, inputs)) ||
          !exact(std::span(upper).subspan(i, inputs), of_upper.subspan(i, inputs)))
        input::widen_for_ball(std::span(lower).subspan(i, inputs),
                              std::span(upper).subspan(i, inputs), norm == bf_aot::Norm::kSum);
  }

  std::vector<float> lower, upper;
};

// The largest of the functions that the library calls.
std::size_t bytes_needed(const Plan& plan, std::size_t align) {
  std::int64_t needed = 1;
  for (const ExportedFunction& each : plan.functions)
    if (each.signature.purpose == Purpose::kBounds || each.signature.purpose == Purpose::kEvaluate)
      needed = std::max(needed, each.workspace.bytes);
  return (static_cast<std::size_t>(needed) + align - 1) / align * align;
}

std::size_t alignment(const Plan& plan) {
  return std::max(static_cast<std::size_t>(plan.config.target.align), alignof(std::max_align_t));
}

void check_status(bf_status status) {
  if (status == BF_FLOAT_ENVIRONMENT)
    refuse("BF3306", "floating point", bf_status_text(status),
           "call with the default rounding mode, and without flushing denormals to zero");
  if (status == BF_FLOAT32_RANGE)
    refuse("BF3503", "the point", bf_status_text(status));  // evaluate
  if (status != BF_OK)
    BF_BROKEN(std::string("the engine refused a call: ") + bf_status_text(status));
}

// `box`: "box 3, ", or nothing where there is one point.
void check_finite(const std::string& box, std::size_t input, float value) {
  if (!std::isfinite(value))
    refuse("BF3503", fmt::format("{}input {}", box, input), fmt::format("{} is not finite", value));
}

void check_boxes(std::span<const float> lower, std::span<const float> upper, const Plan& plan) {
  const auto inputs = static_cast<std::size_t>(plan.input_count);
  if (lower.size() != upper.size() || lower.empty() || lower.size() % inputs != 0)
    refuse("BF3502", "boxes",
           fmt::format("{} lower and {} upper ends are given, a box has {} of each", lower.size(),
                       upper.size(), inputs),
           "give [boxes, inputs] numbers, row-major, for at least one box");
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (lower[i] <= upper[i] && std::isfinite(lower[i]) && std::isfinite(upper[i])) continue;
    const std::string box = fmt::format("box {}, ", i / inputs);
    check_finite(box, i % inputs, lower[i]);
    check_finite(box, i % inputs, upper[i]);
    refuse("BF3503", fmt::format("{}input {}", box, i % inputs),
           fmt::format("the lower end {} is above the upper end {}", lower[i], upper[i]));
  }
  if (!is_in_float32(plan.config.semantics)) return;
  const auto reach = static_cast<float>(plan.float32_reach);
  for (std::size_t i = 0; i < lower.size(); ++i)
    if (lower[i] < -reach || upper[i] > reach)
      refuse("BF3503", fmt::format("box {}, input {}", i / inputs, i % inputs),
             fmt::format("{} is beyond {}, where evaluation in float32 might overflow",
                         lower[i] < -reach ? lower[i] : upper[i], reach));
}

}  // namespace

struct Verifier::State {
  State(const Model& of, const Options& options, const Specification& specification)
      : model(of),
        asked(settled(options)),
        spec(specification),
        engine(plan_for(of, compile_options(of, asked, specification))),
        pool(bytes_needed(engine.plan(), alignment(engine.plan())), alignment(engine.plan())) {
    const build::CompileOptions options_here = compile_options(of, asked, specification);
    if (options_here.device.empty()) return;
    device =
        std::make_unique<const engine::Device>(plan_for(of, engine::for_named_device(options_here)),
                                               build::device_named(options_here.device));
  }

  std::size_t rows(bool of_spec) const {
    const Plan& plan = engine.plan();
    return static_cast<std::size_t>(of_spec ? plan.spec_rows : plan.output_count);
  }

  std::size_t inputs() const { return static_cast<std::size_t>(engine.plan().input_count); }

  // Room for the bounds of so many boxes.
  Bounds bounds_of(bool of_spec, std::size_t boxes) const {
    Bounds bounds;
    bounds.boxes = boxes;
    bounds.rows = rows(of_spec);
    bounds.lower.resize(boxes * bounds.rows);
    bounds.upper.resize(boxes * bounds.rows);
    bounds.methods.resize(boxes);
    return bounds;
  }

  // Predicted seconds for one box.
  double seconds(bool of_spec) const {
    const bool together = engine.plan().batch.side_by_side > 1;
    const EntryKind batch = of_spec ? EntryKind::kSpecBoundsBatch : EntryKind::kBoundsBatch;
    const EntryKind one = of_spec ? EntryKind::kSpecBounds : EntryKind::kBounds;
    return together ? engine::predicted_seconds(engine.plan(), batch) /
                          static_cast<double>(engine.plan().batch.side_by_side)
                    : engine::predicted_seconds(engine.plan(), one);
  }

  // This verifier's model, options and specification, bounded by another method; made once. Throws:
  // CompileError, Failed.
  const State& by(bf_aot::Method method) const {
    const std::scoped_lock lock(cheaper_mutex);
    std::unique_ptr<const State>& made = cheaper[method];
    if (made == nullptr) {
      Options options = asked;
      options.method = *public_of<Method>(method);
      options.more.erase("device");  // whose compiler takes longer than these bounds
      made = std::make_unique<const State>(model, options, spec);
    }
    return *made;
  }

  // Boxes from `first` on, at most a group; writes what ended.
  void bound_group(bool of_spec, const Boxes& boxes, std::size_t first, std::size_t count,
                   Bounds& bounds, const Workspace& workspace, engine::Watch* watch) const {
    Signature signature;
    signature.spec = of_spec;
    signature.batch = engine.plan().config.batch > 1;
    std::vector<bf_status> statuses(count);
    std::vector<float> lower(count * bounds.rows), upper(count * bounds.rows);
    engine::Arguments arguments;
    arguments.boxes.count = count;
    arguments.boxes.lower = boxes.lower.data() + first * inputs();
    arguments.boxes.upper = boxes.upper.data() + first * inputs();
    arguments.bounds.lower = lower.data();
    arguments.bounds.upper = upper.data();
    arguments.boxes.statuses = statuses.data();
    arguments.workspace = workspace.get();
    arguments.workspace_bytes = pool.bytes();
    arguments.notes.watch = watch;
    check_status(engine.call(signature, arguments));
    const auto at = static_cast<std::ptrdiff_t>(first * bounds.rows);
    std::ranges::copy(lower, bounds.lower.begin() + at);
    std::ranges::copy(upper, bounds.upper.begin() + at);
    std::fill_n(bounds.methods.begin() + static_cast<std::ptrdiff_t>(first), count, asked.method);
  }

  // A batch, or one box where a batch bounds its boxes one after the other, and each takes long:
  // what a stop leaves of a group is lost.
  std::size_t boxes_of_group(bool of_spec) const {
    constexpr double kLong = 0.01;  // seconds, beside which a group of its own costs nothing
    const bool alone = engine.plan().batch.side_by_side <= 1 && seconds(of_spec) > kLong;
    return alone ? 1 : static_cast<std::size_t>(engine.plan().config.batch);
  }

  // Has the device bound groups of `count` boxes until `stop`, and tells before each and at the
  // end.
  template <class BoundGroup>
  void in_groups(bool of_spec, std::size_t count, const Call& call, const system::Stop& stop,
                 const BoundGroup& bound_group) const {
    const auto goes_on = [&](std::size_t done) {
      if (done > 0)
        tell_done(call, done, count);
      else if (call.watch)
        tell([&] { call.watch({0, 0, asked.method}); });
      if (stop.is_late()) return false;
      if (call.stop.stop_requested()) refuse_stopped(done, count);
      return !stop();
    };
    if (device->in_groups(of_spec, count, goes_on, bound_group) == count)
      tell_done(call, count, count);
  }

  // bound_all() by the device.
  void bound_on_device(bool of_spec, const Boxes& boxes, const Call& call, const system::Stop& stop,
                       Bounds& bounds) const {
    std::vector<bf_status> statuses(bounds.boxes);
    in_groups(of_spec, bounds.boxes, call, stop, [&](std::size_t first, std::size_t count) {
      check_status(device->bound(
          of_spec, count, boxes.lower.data() + first * inputs(),
          boxes.upper.data() + first * inputs(), bounds.lower.data() + first * bounds.rows,
          bounds.upper.data() + first * bounds.rows, statuses.data() + first));
      std::fill_n(bounds.methods.begin() + static_cast<std::ptrdiff_t>(first), count, asked.method);
    });
  }

  // Writes the bounds of all boxes, or until `stop` of those that were bounded. A stop that the
  // caller asks for refuses.
  void bound_all(bool of_spec, const Boxes& boxes, const Call& call, const system::Stop& stop,
                 Bounds& bounds) const {
    if (device != nullptr) return bound_on_device(of_spec, boxes, call, stop, bounds);
    // To ask costs some 50 ns for each task and tile, in calls that take microseconds.
    const bool watched = call.watch || stop.is_possible();
    // Each thread takes the next group of boxes until none is left, or one has failed.
    const std::size_t size = boxes_of_group(of_spec);
    const std::size_t groups = (bounds.boxes + size - 1) / size;
    std::atomic<std::size_t> next = 0, done = 0;
    std::mutex mutex;
    std::optional<Error> error;
    std::size_t told = 0;  // of `done`
    const auto work = [&](bool watching) noexcept {
      const ThrowingChecks checks;
      try {
        const Workspace workspace(pool);
        std::size_t here = 0;  // boxes of the group at work
        engine::CallWatch watch(stop, kPause, [&](const engine::Place& /*place*/, double share) {
          if (watching && call.watch) {
            const std::size_t before = done;
            const auto boxes_done = static_cast<double>(before) + share * static_cast<double>(here);
            tell([&] {
              call.watch({before, boxes_done / static_cast<double>(bounds.boxes), asked.method});
            });
          }
        });
        try {
          for (std::size_t group = next++; group < groups; group = next++) {
            const std::size_t first = group * size;
            here = std::min(size, bounds.boxes - first);
            if (stop.is_late()) break;
            bound_group(of_spec, boxes, first, here, bounds, workspace, watched ? &watch : nullptr);
            done += here;
            if (watching) tell_done(call, told = done, bounds.boxes);
            if (call.stop.stop_requested() && next < groups) throw engine::Stopped();
          }
        } catch (const engine::Stopped&) {
          watch.rethrow();
          if (!watch.is_late() && call.stop.stop_requested()) refuse_stopped(done, bounds.boxes);
        }
      } catch (...) {
        next = groups;
        const std::scoped_lock lock(mutex);
        if (!error) error = current_error(kBounding);
      }
    };
    {
      std::vector<std::jthread> helpers;
      try {
        while (helpers.size() + 1 < std::min(static_cast<std::size_t>(asked.threads), groups))
          helpers.emplace_back(work, false);
      } catch (const std::system_error&) {  // the helpers that were started do the work
      }
      work(true);
    }
    if (error) throw Failed{std::move(*error)};
    if (told < done) tell_done(call, done, bounds.boxes);
  }

  [[noreturn]] static void refuse_stopped(std::size_t done, std::size_t boxes) {
    refuse("BF3506", "boxes", fmt::format("stopped after {} of {}", done, boxes));
  }

  void tell_done(const Call& call, std::size_t done, std::size_t boxes) const {
    if (call.progress) tell([&] { call.progress(done); });
    const double share = static_cast<double>(done) / static_cast<double>(boxes);
    if (call.watch) tell([&] { call.watch({done, share, asked.method}); });
  }

  // Bounds by cheaper methods before this one, as far as there is time.
  void bound_within(bool of_spec, const Boxes& boxes, const Call& call, Bounds& bounds) const {
    const system::Stopwatch stopwatch;
    const system::Stop patient(call.stop), stop = patient.within(call.timeout_seconds);
    const auto left = [&] { return call.timeout_seconds - stopwatch.seconds(); };
    const double all = seconds(of_spec) * static_cast<double>(bounds.boxes) / asked.threads;
    bool bounded = false;
    for (const bf_aot::Method method : engine::cheaper_methods(engine.plan())) {
      const State& other = by(method);
      const double between =
          other.seconds(of_spec) * static_cast<double>(bounds.boxes) / asked.threads;
      if (bounded && !engine::is_worth_trying(between, all, left())) continue;
      other.bound_all(of_spec, boxes, call, bounded ? stop : patient, bounds);
      bounded = true;
    }
    if (!bounded)
      bound_all(of_spec, boxes, call, patient, bounds);
    else if (seconds(of_spec) < left())
      bound_all(of_spec, boxes, call, stop, bounds);
  }

  Bounds bound(bool of_spec, const Boxes& boxes, const Call& call) const {
    if (of_spec && engine.plan().spec_rows == 0)
      refuse("BF3502", "specification", "the verifier was made without one");
    if (!(call.timeout_seconds >= 0))
      refuse("BF3501", "timeout_seconds", fmt::format("{} is negative", call.timeout_seconds));
    check_boxes(boxes.lower, boxes.upper, engine.plan());
    Bounds bounds = bounds_of(of_spec, boxes.lower.size() / inputs());
    if (call.timeout_seconds > 0)
      bound_within(of_spec, boxes, call, bounds);
    else
      bound_all(of_spec, boxes, call, system::Stop(call.stop), bounds);
    return bounds;
  }

  // The bounds of the rows on boxes until `stop`; those of boxes that it left out are NaN.
  Bounds bound_until(const Boxes& boxes, const system::Stop& stop) const {
    Bounds bounds = bounds_of(true, boxes.lower.size() / inputs());
    std::ranges::fill(bounds.lower, std::numeric_limits<float>::quiet_NaN());
    std::ranges::fill(bounds.upper, std::numeric_limits<float>::quiet_NaN());
    check_boxes(boxes.lower, boxes.upper, engine.plan());
    bound_all(true, boxes, {}, stop, bounds);
    return bounds;
  }

  // Ends of boxes of the device's memory.
  std::vector<float> read(const DeviceBoxes& boxes, const float* from) const {
    return device->read(reinterpret_cast<std::uintptr_t>(from), boxes.stream,
                        boxes.boxes * inputs());
  }

  // Throws what is wrong with boxes of the device's memory.
  [[noreturn]] void refuse_there(const DeviceBoxes& boxes) const {
    check_boxes(read(boxes, boxes.lower), read(boxes, boxes.upper), engine.plan());
    refuse("BF3503", "boxes", "they have changed while they were bounded");
  }

  Bounds bound_there(bool of_spec, const DeviceBoxes& boxes, const Call& call) const {
    if (device == nullptr || !device->takes_pointers())
      refuse("BF3502", "boxes", "they lie in the memory of a device of CUDA",
             "make the verifier for it: the option device, \"cuda\"");
    if (of_spec && engine.plan().spec_rows == 0)
      refuse("BF3502", "specification", "the verifier was made without one");
    if (boxes.boxes == 0 || boxes.lower == nullptr || boxes.upper == nullptr)
      refuse("BF3502", "boxes", "there are none", "give pointers to at least one box");
    if (call.timeout_seconds != 0)  // this processor bounds them, too
      return bound(of_spec, {read(boxes, boxes.lower), read(boxes, boxes.upper)}, call);
    Bounds bounds = bounds_of(of_spec, boxes.boxes);
    std::ranges::fill(bounds.methods, asked.method);
    const engine::BoxesThere there = {boxes.boxes, reinterpret_cast<std::uintptr_t>(boxes.lower),
                                      reinterpret_cast<std::uintptr_t>(boxes.upper), boxes.stream};
    const std::size_t box_bytes = inputs() * sizeof(float);
    in_groups(of_spec, bounds.boxes, call, {}, [&](std::size_t first, std::size_t count) {
      const engine::BoxesThere group = {count, there.lower + first * box_bytes,
                                        there.upper + first * box_bytes, there.stream};
      if (!device->bound_there(of_spec, group, bounds.lower.data() + first * bounds.rows,
                               bounds.upper.data() + first * bounds.rows))
        refuse_there(boxes);
    });
    return bounds;
  }

  const Model model;
  const Options asked;
  const Specification spec;
  engine::Engine engine;
  std::unique_ptr<const engine::Device> device;  // that bounds boxes; null: the engine does
  mutable Pool pool;
  mutable std::mutex cheaper_mutex;
  mutable std::map<bf_aot::Method, std::unique_ptr<const State>> cheaper;  // as they are needed
};

Result<Bounds> Library::bounds_until(const Verifier& verifier, std::span<const float> lower,
                                     std::span<const float> upper, const system::Stop& stop) {
  return guarded<Bounds>(kBounding, [&] {
    return verifier.state_->bound_until({lower, upper}, stop);
  });
}

Result<Verifier> Verifier::make(const Model& model, const Options& options,
                                const Specification& specification) {
  return guarded<Verifier>(
      "planning the verifier",
      [&] {
        return Library::verifier(std::make_shared<const State>(model, options, specification));
      },
      Library::state(model).numbers);
}

std::size_t Verifier::input_count() const noexcept {
  return static_cast<std::size_t>(state_->engine.plan().input_count);
}

std::size_t Verifier::output_count() const noexcept {
  return state_->rows(false);
}

std::size_t Verifier::spec_rows() const noexcept {
  return state_->rows(true);
}

std::size_t Verifier::workspace_bytes() const noexcept {
  return state_->pool.bytes();
}

double Verifier::predicted_seconds() const noexcept {
  return state_->seconds(spec_rows() > 0);
}

Result<Bounds> Verifier::bounds(std::span<const float> lower, std::span<const float> upper,
                                const Call& call) const {
  return guarded<Bounds>(kBounding, [&] { return state_->bound(false, {lower, upper}, call); });
}

Result<Bounds> Verifier::spec_bounds(std::span<const float> lower, std::span<const float> upper,
                                     const Call& call) const {
  return guarded<Bounds>(kBounding, [&] { return state_->bound(true, {lower, upper}, call); });
}

Result<Bounds> Verifier::bounds(const DeviceBoxes& boxes, const Call& call) const {
  return guarded<Bounds>(kBounding, [&] { return state_->bound_there(false, boxes, call); });
}

Result<Bounds> Verifier::spec_bounds(const DeviceBoxes& boxes, const Call& call) const {
  return guarded<Bounds>(kBounding, [&] { return state_->bound_there(true, boxes, call); });
}

Result<Bounds> Verifier::bounds(std::span<const double> lower, std::span<const double> upper,
                                const Call& call) const {
  return guarded<Bounds>(kBounding, [&] {
    const FloatBoxes boxes(lower, upper, state_->engine.plan());
    return state_->bound(false, {boxes.lower, boxes.upper}, call);
  });
}

Result<Bounds> Verifier::spec_bounds(std::span<const double> lower, std::span<const double> upper,
                                     const Call& call) const {
  return guarded<Bounds>(kBounding, [&] {
    const FloatBoxes boxes(lower, upper, state_->engine.plan());
    return state_->bound(true, {boxes.lower, boxes.upper}, call);
  });
}

Result<std::vector<float>> Verifier::evaluate(std::span<const float> x) const {
  return guarded<std::vector<float>>("evaluating the network", [&] {
    const std::size_t inputs = input_count(), outputs = output_count();
    if (x.empty() || x.size() % inputs != 0)
      refuse("BF3502", "x",
             fmt::format("{} numbers are given, the network has {} inputs", x.size(), inputs));
    for (std::size_t i = 0; i < x.size(); ++i)
      check_finite(x.size() > inputs ? fmt::format("point {}, ", i / inputs) : "", i % inputs,
                   x[i]);
    std::vector<float> y(x.size() / inputs * outputs);
    const Workspace workspace(state_->pool);
    Signature signature;
    signature.purpose = Purpose::kEvaluate;
    engine::Arguments arguments;
    arguments.workspace = workspace.get();
    arguments.workspace_bytes = state_->pool.bytes();
    for (std::size_t point = 0; point < x.size() / inputs; ++point) {
      arguments.point.x = x.data() + point * inputs;
      arguments.point.y = y.data() + point * outputs;
      check_status(state_->engine.call(signature, arguments));
    }
    return y;
  });
}

}  // namespace bf_aot::api
