#include "planner/verify/verify_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "planner/network/linear_terms.h"
#include "planner/verify/verify_layer.h"

namespace bf_aot {
namespace {

constexpr int kNobody = -1;
constexpr int kEarlierCall = -2;  // wrote a persistent buffer

// Checks an entry in one run over its steps.
class EntryCheck {
 public:
  EntryCheck(const Plan& plan, const Entry& entry, PlanStage stage)
      : plan_(plan), entry_(entry), stage_(stage) {}

  void run() {
    check_buffers();
    if (has(PlanStage::kTasks))
      number_tasks();
    else
      task_of_step_.assign(entry_.steps.size(), kNobody);
    for (int i = 0; i < static_cast<int>(entry_.steps.size()); ++i) check_step(i);
    for (std::size_t i = 0; i < entry_.buffers.size(); ++i)
      require(state_[i].writer != kNobody, "buffer '{}' is never written", entry_.buffers[i].name);
    if (has(PlanStage::kStorage)) {
      check_arena(false, entry_.storage);
      if (entry_.workers > 1) check_arena(true, entry_.worker_storage);
    }
    check_outputs();
    check_own_evaluation();
    check_kept();
    check_kept_ranges();
    if (has(PlanStage::kTasks)) check_tasks();
  }

 private:
  bool has(PlanStage stage) const { return stage_ >= stage; }

  // The contents of a buffer while the steps are followed.
  struct State {
    int writer = kNobody;  // step
    Role role = Role::kScratch;
    std::optional<Role> also;  // it serves this end as well
    LayerId layer = -1;
    std::set<int> readers;  // tasks other than the writer's that read this value
  };

  int task_of(int step) const { return task_of_step_[static_cast<std::size_t>(step)]; }

  void check_buffers() {
    const int align = plan_.config.target.align;
    std::set<std::string> names;
    state_.resize(entry_.buffers.size());
    for (std::size_t i = 0; i < entry_.buffers.size(); ++i) {
      const Buffer& b = entry_.buffers[i];
      require(!b.name.empty() && names.insert(b.name).second, "buffer name '{}' is taken", b.name);
      require(b.count > 0, "buffer '{}' is empty", b.name);
      if (b.scope == CacheScope::kPersistent) state_[i].writer = kEarlierCall;
      if (!has(PlanStage::kStorage)) continue;
      require(b.bytes >= b.count * static_cast<std::int64_t>(size_of(b.element)),
              "buffer '{}': {} bytes do not hold {} elements", b.name, b.bytes, b.count);
      require(b.bytes % align == 0 && b.offset % align == 0 && b.offset >= 0,
              "buffer '{}': {} bytes at {} are not aligned to {}", b.name, b.bytes, b.offset,
              align);
      require(0 <= b.first && b.first <= b.last && b.last < static_cast<int>(entry_.steps.size()),
              "buffer '{}': lifetime {} to {}", b.name, b.first, b.last);
      require(0 <= b.first_op && 0 <= b.last_op && b.values >= 1,
              "buffer '{}': ops {} to {}, {} values", b.name, b.first_op, b.last_op, b.values);
    }
  }

  void number_tasks() {
    task_of_step_.assign(entry_.steps.size(), kNobody);
    for (std::size_t t = 0; t < entry_.tasks.size(); ++t) {
      const std::vector<int>& steps = entry_.tasks[t].steps;
      require(!steps.empty(), "task '{}' has no steps", entry_.tasks[t].name);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const int step = steps[i];
        require(step >= 0 && step < static_cast<int>(entry_.steps.size()) && task_of(step) < 0,
                "task '{}': step {} is no step or belongs to another", entry_.tasks[t].name, step);
        require(i == 0 || step == steps[i - 1] + 1, "task '{}': its steps do not follow each other",
                entry_.tasks[t].name);
        task_of_step_[static_cast<std::size_t>(step)] = static_cast<int>(t);
      }
    }
    for (std::size_t i = 0; i < entry_.steps.size(); ++i)
      require(task_of_step_[i] != kNobody, "step {} belongs to no task", i);
  }

  void check_step(int index) {
    const Step& step = entry_.step(index);
    const CheckScope scope(describe_step(plan_, entry_, index));
    std::set<BufferId> reads, writes, kept, scratch;
    for (const Use& use : uses_of(plan_, entry_, step)) {
      const auto id = static_cast<std::size_t>(use.id);
      require(id < entry_.buffers.size(), "buffer {} does not exist", id);
      const Buffer& b = entry_.buffers[id];
      const int boxes = use.role == Role::kLiveList ? 1 : entry_.boxes;  // which share a list
      const std::int64_t count = use.count * boxes;
      require(b.element == use.element && b.count >= count, "buffer '{}' holds {} {}, not {} {}",
              b.name, b.count, to_string(b.element), count, to_string(use.element));
      check_lifetime(index, use);
      const bool is_scratch = use.role == Role::kScratch;
      require((!is_scratch && !use.writes) || reads.count(use.id) == 0 || use.id == use.in_place_of,
              "buffer '{}' serves two ends", b.name);
      require((kept.count(use.id) == 0 || use.id == use.in_place_of) &&
                  (is_scratch || scratch.count(use.id) == 0),
              "buffer '{}' serves two ends", b.name);
      if (use.writes) (is_scratch ? scratch : kept).insert(use.id);
      if (use.reads) {
        reads.insert(use.id);
        check_read(index, use);
      }
      if (use.writes) {
        writes.insert(use.id);
        follow_write(index, use);
      }
    }
    const Access access = access_of(step);
    require(reads == std::set<BufferId>(access.reads.begin(), access.reads.end()) &&
                writes == std::set<BufferId>(access.writes.begin(), access.writes.end()),
            "access_of differs from what the step means");
  }

  // Ops of this step from the first to the last that uses it: those that the rows' own order gives,
  // or all.
  void check_lifetime(int index, const Use& use) {
    if (!has(PlanStage::kStorage)) return;
    const Step& step = entry_.step(index);
    const auto* rows = std::get_if<BackwardRows>(&step);
    const bool rounds = rows != nullptr && rows->iterations == 0;  // else one op: see op_count
    const int ops = rounds ? static_cast<int>(rows->links.size()) + 2 : 1;
    const std::pair first(index, use.op < 0 ? 0 : use.op);
    const std::pair last(index, use.op < 0 ? ops - 1 : use.op);
    const Buffer& b = entry_.buffer(use.id);
    require(std::pair(b.first, b.first_op) <= first && last <= std::pair(b.last, b.last_op),
            "touches buffer '{}' outside its lifetime {} to {}, ops {} to {}", b.name, b.first,
            b.last, b.first_op, b.last_op);
  }

  void check_read(int index, const Use& use) {
    State& state = state_[static_cast<std::size_t>(use.id)];
    const std::string& name = entry_.buffer(use.id).name;
    if (state.writer == kEarlierCall) {
      if (state.role == Role::kScratch)
        state = {kEarlierCall, use.role, std::nullopt, use.layer, {}};
      require(state.role == use.role && state.layer == use.layer, "reads buffer '{}' as two things",
              name);
      state.readers.insert(task_of(index));
      return;
    }
    require(state.writer != kNobody && state.writer < index,
            "reads buffer '{}' before it is written", name);
    require((state.role == use.role || state.also == use.role) && state.layer == use.layer,
            "reads buffer '{}', which holds something else", name);
    const int reader = task_of(index);
    const int writer = task_of(state.writer);
    if (reader == writer) return;
    state.readers.insert(reader);
    needed_.insert({writer, reader});
    inputs_.insert({reader, use.id});
    outputs_.insert({writer, use.id});
  }

  // A value that went from task to task must have been read by all before it is overwritten.
  void follow_write(int index, const Use& use) {
    State& state = state_[static_cast<std::size_t>(use.id)];
    for (int reader : state.readers)
      if (reader != task_of(index)) needed_.insert({reader, task_of(index)});
    const bool repeats = use.repeats && use.id == use.in_place_of;
    state = {index, use.role, repeats ? std::optional(state.role) : std::nullopt, use.layer, {}};
  }

  // Checks the arena that workers share, or the part of one.
  void check_arena(bool per_worker, const StorageTotals& said) const {
    StorageTotals totals;
    std::vector<const Buffer*> buffers;
    std::map<std::pair<int, int>, std::int64_t> change;  // of the bytes alive, before an op
    for (const Buffer& b : entry_.buffers) {
      if (b.scope != CacheScope::kRun || b.per_worker != per_worker) continue;
      buffers.push_back(&b);
      totals.naive_bytes += b.bytes * b.values;
      totals.planned_bytes = std::max(totals.planned_bytes, b.offset + b.bytes);
      change[{b.first, b.first_op}] += b.bytes;
      change[{b.last, b.last_op + 1}] -= b.bytes;
    }
    std::int64_t live = 0;
    for (const auto& [op, bytes] : change) {
      live += bytes;
      totals.lower_bound_bytes = std::max(totals.lower_bound_bytes, live);
    }
    totals.proof = said.proof;
    require(totals == said, "the storage totals are not those of the buffers");
    require((totals.proof == StorageProof::kLowerBound) ==
                    (totals.planned_bytes == totals.lower_bound_bytes) ||
                buffers.empty(),
            "the arena of {} bytes is said to be: {}", totals.planned_bytes,
            to_string(totals.proof));
    check_overlaps(buffers);
  }

  // Each with those that live when its own life begins.
  void check_overlaps(std::vector<const Buffer*> buffers) const {
    std::ranges::stable_sort(buffers, {}, [](const Buffer* buffer) {
      return std::pair(buffer->first, buffer->first_op);
    });
    std::vector<const Buffer*> alive;
    for (const Buffer* const b : buffers) {
      std::erase_if(alive, [&](const Buffer* a) {
        return std::pair(a->last, a->last_op) < std::pair(b->first, b->first_op);
      });
      for (const Buffer* const a : alive)
        require(a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset,
                "live buffers '{}' and '{}' overlap", a->name, b->name);
      alive.push_back(b);
    }
  }

  // The head at a position of the caller's array that has the layer's values: the layer, or a copy.
  LayerId head_of(LayerId layer, int position) const {
    for (const LayerId head : plan_.output_heads) {
      if (position == 0 && copied_layer(plan_.layer(head)) == layer) return head;
      position -= plan_.layer(head).out;
    }
    return layer;
  }

  // The position in the caller's arrays, and the layer, of what a step gives to the caller; if any.
  std::optional<std::pair<int, LayerId>> given(const Step& step) const {
    if (const auto* interval = std::get_if<IntervalAffine>(&step))
      if (interval->centre_out == BufferId::kNone)
        return std::pair(interval->position, interval->layer);
    if (const auto* sum = std::get_if<IntervalSum>(&step))
      if (sum->head) return std::pair(sum->position, sum->layer);
    if (const auto* write = std::get_if<WriteBounds>(&step))
      return std::pair(write->position, write->layer);
    if (const auto* affine = std::get_if<EvaluateAffine>(&step))
      if (affine->out == BufferId::kNone)
        return std::pair(affine->position, head_of(affine->layer, affine->position));
    if (const auto* values = std::get_if<WriteValues>(&step))
      return std::pair(values->position, values->layer);
    return std::nullopt;
  }

  // Intervals are kept of the layers that rows depend on, each in a place of its own.
  void check_kept_ranges() const {
    std::vector<bool> taken(static_cast<std::size_t>(plan_.decide.neurons), false);
    for (const Step& step : entry_.steps) {
      const auto* const relax = std::get_if<Relax>(&step);
      if (relax == nullptr || relax->kept_position < 0) continue;
      const int out = plan_.layer(relax->layer).out;
      require(entry_.kind == EntryKind::kSpecBounds && entry_.workers == 1 &&
                  relax->kept_position + out <= plan_.decide.neurons,
              "intervals of {} neurons are kept at {} of {}", out, relax->kept_position,
              plan_.decide.neurons);
      for (int j = 0; j < out; ++j) {
        const auto at = static_cast<std::size_t>(relax->kept_position + j);
        require(!taken[at], "the intervals of two neurons are kept at {}", at);
        taken[at] = true;
      }
    }
  }

  // Kept coefficients lie where the bounds of their rows do.
  void check_kept() const {
    for (const Step& step : entry_.steps) {
      const auto* const rows = std::get_if<BackwardRows>(&step);
      if (rows == nullptr || rows->kept_position < 0) continue;
      require(is_spec(entry_.kind) && plan_.config.decide && !rows->unstable_only &&
                  rows->iterations == 0 && entry_.workers == 1,
              "rows keep coefficients that nothing asks for, or not those of each");
      const auto written = std::ranges::find_if(entry_.steps, [&](const Step& other) {
        return given(other) == std::pair(rows->kept_position, rows->layer);
      });
      require(written != entry_.steps.end(), "coefficients are kept at {}, the bounds elsewhere",
              rows->kept_position);
    }
  }

  // Bounds of semantics float32-exact hold for this evaluation: its chains are as short as the
  // layers' errors say, and nothing is made of its radii.
  void check_own_evaluation() const {
    if (plan_.config.semantics != Semantics::kFloat32Exact || entry_.kind != EntryKind::kEvaluate)
      return;
    for (const Step& step : entry_.steps) {
      if (const auto* const affine = std::get_if<EvaluateAffine>(&step)) {
        const Layer& layer = plan_.layer(affine->layer);
        require(std::min(plan_.kernel(affine->kernel).depth, layer.in + 1) <= layer.evaluated_depth,
                "layer {}: it is evaluated in chains of {} roundings, and errors count {}",
                layer.name, plan_.kernel(affine->kernel).depth, layer.evaluated_depth);
      }
      if (const auto* const centre = std::get_if<CentreAffine>(&step))
        check_forgotten(centre->layer, *centre);
      if (const auto* const centre = std::get_if<CentreSum>(&step))
        check_forgotten(centre->layer, *centre);
    }
  }

  template <typename CentreStep>
  void check_forgotten(LayerId layer, const CentreStep& step) const {
    require(step.inflate == 0 && step.centre_relative == 0 && step.absolute == 0 &&
                !step.magnitudes && step.rows.bias == 0 && plan_.layer(layer).evaluated_depth == 0,
            "layer {}: an evaluation that counts errors", plan_.layer(layer).name);
  }

  // Every head is written, in order: the caller's arrays have neither gaps nor overlaps.
  void check_outputs() const {
    const bool spec = is_spec(entry_.kind);
    std::vector<std::pair<int, LayerId>> all;
    for (const Step& step : entry_.steps)
      if (const auto position = given(step)) all.push_back(*position);
    std::sort(all.begin(), all.end());
    std::vector<std::pair<int, LayerId>> expected;
    int position = 0;
    for (LayerId head : spec ? plan_.spec_heads : plan_.output_heads) {
      expected.emplace_back(position, head);
      position += plan_.layer(head).out;
    }
    require(all == expected, "the heads are not each written once, at their positions");
  }

  // Returns true if edges lead from one task to a later one. For most pairs a single edge does.
  bool reaches(int before, int task) const {
    const auto first_step = [&](int t) {
      return entry_.tasks[static_cast<std::size_t>(t)].steps.front();
    };
    std::set<int> seen = {task};
    std::vector<int> pending = {task};
    while (!pending.empty()) {
      const std::vector<int>& after = entry_.tasks[static_cast<std::size_t>(pending.back())].after;
      pending.pop_back();
      if (std::ranges::count(after, before) > 0) return true;
      for (const int edge : after)  // edges go forward by first step
        if (first_step(edge) > first_step(before) && seen.insert(edge).second)
          pending.push_back(edge);
    }
    return false;
  }

  static std::set<BufferId> handed(const std::set<std::pair<int, BufferId>>& list, int task) {
    std::set<BufferId> ids;
    for (auto each = list.lower_bound({task, BufferId::kNone});
         each != list.end() && each->first == task; ++each)
      ids.insert(each->second);
    return ids;
  }

  // Predictions, if there are any: of the task's own steps and of kernels that exist.
  void check_parts(const Task& task) const {
    double seconds = 0;
    for (const TaskPart& part : task.parts) {
      require(std::ranges::count(task.steps, part.step) == 1 && part.kernel >= -1 &&
                  part.kernel < static_cast<int>(plan_.kernels.size()),
              "task '{}': part '{}' is of another", task.name, part.name);
      require(part.calls > 0 && part.flops >= 0 && part.bytes >= 0 && part.seconds >= 0,
              "task '{}': part '{}' costs less than nothing", task.name, part.name);
      seconds += part.seconds;
    }
    require(seconds == task.predicted_seconds, "task '{}': its parts take other {} s than {}",
            task.name, seconds, task.predicted_seconds);
  }

  void check_task(int index) const {
    const Task& task = entry_.task(index);
    require(!task.layer || plan_.layers.has(*task.layer), "task '{}': no layer {}", task.name,
            task.layer.value_or(kNetworkInput).number());
    require(task.flops >= 0 && task.bytes >= 0, "task '{}': negative cost", task.name);
    check_parts(task);
    std::set<int> edges;
    for (int before : task.after) {
      require(before >= 0 && before < static_cast<int>(entry_.tasks.size()) &&
                  edges.insert(before).second,
              "task '{}': edge from task {}", task.name, before);
      require(entry_.task(before).steps.back() < task.steps.front(),
              "task '{}' comes before '{}', which it must follow", task.name,
              entry_.task(before).name);
    }
    const auto same = [](const std::vector<BufferId>& list, const std::set<BufferId>& ids) {
      return list.size() == ids.size() && std::set<BufferId>(list.begin(), list.end()) == ids;
    };
    require(same(task.inputs, handed(inputs_, index)),
            "task '{}': its inputs are not what it reads of other tasks", task.name);
    require(same(task.outputs, handed(outputs_, index)),
            "task '{}': its outputs are not what other tasks read of it", task.name);
  }

  void check_tasks() const {
    std::set<std::string> names;
    for (int i = 0; i < static_cast<int>(entry_.tasks.size()); ++i) {
      const std::string& name = entry_.task(i).name;
      require(!name.empty() && names.insert(name).second, "task name '{}' is taken", name);
      check_task(i);
    }
    for (const auto& [before, task] : needed_)
      require(reaches(before, task),
              "no edge leads from task '{}' to '{}', which uses what it made",
              entry_.task(before).name, entry_.task(task).name);
  }

  const Plan& plan_;
  const Entry& entry_;
  const PlanStage stage_;
  std::vector<State> state_;  // by buffer
  std::vector<int> task_of_step_;
  std::set<std::pair<int, int>> needed_;  // (task, later task)
  std::set<std::pair<int, BufferId>> inputs_, outputs_;
};

}  // namespace

std::string describe_step(const Plan& plan, const Entry& entry, int index) {
  const Step& step = entry.step(index);
  std::string text = fmt::format("step {} ({})", index, step_name(step));
  const std::optional<LayerId> layer = layer_of(step);
  if (layer && plan.layers.has(*layer)) text += ", " + describe(plan.layer(*layer));
  return text;
}

void verify_entry(const Plan& plan, const Entry& entry, PlanStage stage) {
  EntryCheck(plan, entry, stage).run();
}

}  // namespace bf_aot
