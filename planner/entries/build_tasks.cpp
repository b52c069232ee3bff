#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "frontend/diagnostic.h"
#include "planner/entries/build_entries.h"
#include "planner/network/linear_terms.h"

namespace bf_aot {
namespace {

// The purpose of a step, which gives its task a name, a layer and a domain.
struct Purpose {
  std::string verb;
  std::optional<LayerId> layer;  // none: the box
  Domain domain;
};

Purpose purpose(const BindBox&) {
  return {"bind", {}, Domain::kInterval};
}
// A head that other layers read is computed twice, once for the caller: two tasks, two names.
Purpose purpose(const IntervalAffine& step) {
  const bool head = step.centre_out == BufferId::kNone;
  return {head ? "bound" : "forward", step.layer, Domain::kInterval};
}
Purpose purpose(const IntervalSum& step) {
  return {step.head ? "bound" : "forward", step.layer, Domain::kInterval};
}
Purpose purpose(const IntervalMax& step) {
  return {"forward", step.layer, Domain::kInterval};
}
Purpose purpose(const CentreAffine& step) {
  return {"forward", step.layer, Domain::kInterval};
}
Purpose purpose(const CentreSum& step) {
  return {"forward", step.layer, Domain::kInterval};
}
Purpose purpose(const RelaxProduct& step) {
  return {"relax", step.layer, Domain::kInterval};
}
Purpose purpose(const RelaxMax& step) {
  return {"relax", step.layer, Domain::kInterval};
}
Purpose purpose(const RelaxLogSoftmax& step) {
  return {"relax", step.layer, Domain::kInterval};
}
Purpose purpose(const RelaxContraction& step) {
  return {"relax", step.layer, Domain::kInterval};
}
Purpose purpose(const WriteValues& step) {
  return {"write", step.layer, Domain::kInterval};
}
Purpose purpose(const MeetAnchor& step) {
  return {"meet", step.layer, Domain::kInterval};
}
Purpose purpose(const KeepAnchor& step) {
  return {"keep", step.layer, Domain::kInterval};
}
Purpose purpose(const MeetOutputs&) {
  return {"meet outputs,", {}, Domain::kInterval};
}
Purpose purpose(const MeetBall& step) {
  return {"meet", step.layer, Domain::kInterval};
}
Purpose purpose(const Relax& step) {
  return {"relax", step.layer, Domain::kInterval};
}
Purpose purpose(const StartLines& step) {
  return {"lines", step.layer, Domain::kInterval};
}
Purpose purpose(const ForwardLines& step) {
  return {"lines", step.layer, Domain::kForward};
}
Purpose purpose(const TightenLines& step) {
  return {"lines", step.layer, Domain::kForward};
}
Purpose purpose(const RelaxLines& step) {
  return {"relax", step.layer, Domain::kInterval};
}
Purpose purpose(const ListLive& step) {
  return {"relax", step.layer, Domain::kInterval};
}
Purpose purpose(const BackwardRows& step) {
  if (step.iterations > 0) return {"optimise", step.layer, Domain::kOptimised};
  return {"backward", step.layer, Domain::kBackward};
}
Purpose purpose(const WriteBounds& step) {
  return {"write", step.layer, Domain::kInterval};
}
Purpose purpose(const EvaluateAffine& step) {
  const bool head = step.out == BufferId::kNone;
  return {head ? "evaluate" : "forward", step.layer, Domain::kInterval};
}

struct Effort {
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
};

// Products of one pass over a layer's weights.
std::int64_t products(const Layer& layer) {
  if (layer.kind == LayerKind::kDense) return std::int64_t{layer.in} * layer.out;
  std::int64_t total = 0;
  for (const Term& term : layer.terms) total += term_products(layer.out, term);
  return total;
}

Effort one_pass(const Plan& plan, LayerId index, std::int64_t flops_per_weight) {
  return {flops_per_weight * products(plan.layer(index)), plan.layout(index).bytes};
}

Effort cost(const Plan& plan, const BindBox&) {
  return {4LL * plan.input_count, 0};
}
Effort cost(const Plan& plan, const IntervalAffine& step) {
  return one_pass(plan, step.layer, 4);
}
Effort cost(const Plan& plan, const IntervalSum& step) {
  return one_pass(plan, step.layer, 4);
}
Effort cost(const Plan& plan, const IntervalMax& step) {
  return one_pass(plan, step.layer, 4);
}
Effort cost(const Plan& plan, const CentreAffine& step) {
  return one_pass(plan, step.layer, 4);
}
Effort cost(const Plan& plan, const CentreSum& step) {
  return one_pass(plan, step.layer, 4);
}
Effort cost(const Plan& plan, const RelaxProduct& step) {
  return {40LL * plan.layer(step.layer).out, 0};
}
Effort cost(const Plan& plan, const RelaxMax& step) {
  return one_pass(plan, step.layer, 4);
}
// About eleven powers and logarithms of 30 operations for each element.
Effort cost(const Plan& plan, const RelaxLogSoftmax& step) {
  return {330LL * plan.layer(step.layer).out, 0};
}
Effort cost(const Plan& plan, const RelaxContraction& step) {
  return {20 * plan.layer(step.layer).contraction.products(), 0};
}
Effort cost(const Plan&, const WriteValues&) {
  return {};
}
Effort cost(const Plan& plan, const Relax& step) {
  return {40LL * plan.layer(step.layer).out, 0};
}
Effort cost(const Plan& plan, const StartLines& step) {
  return one_pass(plan, step.layer, 1);
}
// A coefficient and the constant for each weight, and the spread with its magnitude.
Effort cost(const Plan& plan, const ForwardLines& step) {
  return one_pass(plan, step.layer, 2LL * line_rows(plan.input_count));
}
Effort cost(const Plan& plan, const TightenLines& step) {
  return {2LL * line_rows(plan.input_count) * plan.layer(step.layer).out, 0};
}
Effort cost(const Plan& plan, const RelaxLines& step) {
  return {(40LL + 4 * line_rows(plan.input_count)) * plan.layer(step.layer).out, 0};
}
Effort cost(const Plan&, const ListLive&) {
  return {};
}
Effort cost(const Plan& plan, const BackwardRows& step) {
  const std::int64_t rows = 2LL * plan.layer(step.layer).out;
  const std::int64_t tiles = (rows + step.tile - 1) / step.tile;
  Effort total{2 * rows * plan.input_count, 0};
  for (const BackwardLink& link : step.links) {
    const Effort pass = one_pass(plan, link.layer, 2);
    total.flops += pass.flops * rows;
    total.bytes += pass.bytes * tiles;
    for (const RepeatedStep& repeated : link.remake) {
      const Effort again = std::visit([&](const auto& s) { return cost(plan, s); }, repeated);
      total.flops += again.flops * tiles;
      total.bytes += again.bytes * tiles;
    }
  }
  if (step.iterations > 0) {  // backward, and forward but for the last time
    total.flops *= 2 * step.iterations - 1;
    total.bytes *= 2 * step.iterations - 1;
  }
  return total;
}
Effort cost(const Plan&, const WriteBounds&) {
  return {};
}
Effort cost(const Plan& plan, const MeetAnchor& step) {
  return {4LL * plan.layer(step.layer).out, 0};
}
Effort cost(const Plan& plan, const MeetBall& step) {
  const Layer& layer = plan.layer(step.layer);
  Effort total{4LL * layer.out, 0};
  for (std::size_t t = 0; t < step.terms.size(); ++t)
    total.flops +=
        2LL * layer.out + 2LL * (layer.kind == LayerKind::kDense ? layer.in : layer.terms[t].in);
  return total;
}
Effort cost(const Plan& plan, const KeepAnchor& step) {
  return {2LL * plan.layer(step.layer).out, 0};
}
Effort cost(const Plan&, const MeetOutputs&) {
  return {};
}
Effort cost(const Plan& plan, const EvaluateAffine& step) {
  return one_pass(plan, step.layer, 2);
}

void insert_unique(std::vector<BufferId>& list, BufferId id) {
  if (id != BufferId::kNone && std::ranges::count(list, id) == 0) list.push_back(id);
}

// Data dependencies: a task runs after those that wrote what it reads or overwrites, and after
// those that read what it overwrites.
void connect(Entry& entry) {
  std::map<BufferId, int> writer;
  std::map<BufferId, std::vector<int>> readers;
  for (int t = 0; t < static_cast<int>(entry.tasks.size()); ++t) {
    Task& task = entry.task(t);
    const auto depend_on = [&](int other) {
      if (other != t && std::ranges::count(task.after, other) == 0) task.after.push_back(other);
    };
    for (const int s : task.steps) {
      const Access access = access_of(entry.step(s));
      for (const BufferId id : access.reads) {
        const auto made = writer.find(id);
        if (made == writer.end()) continue;
        depend_on(made->second);
        if (made->second != t) {
          insert_unique(task.inputs, id);
          insert_unique(entry.task(made->second).outputs, id);
        }
        readers[id].push_back(t);
      }
      for (const BufferId id : access.writes) {
        const auto made = writer.find(id);
        if (made != writer.end()) depend_on(made->second);
        for (const int reader : readers[id]) depend_on(reader);
        writer[id] = t;
        readers[id].clear();
      }
    }
    std::ranges::sort(task.after);
  }
}

// Returns true if a step continues the task of the step before it.
bool continues(Granularity granularity, const Purpose& before, const Purpose& here) {
  switch (granularity) {
    case Granularity::kStep:
      return false;
    case Granularity::kRegion:
      return before.layer == here.layer;
    case Granularity::kEntry:
      return true;
  }
  BF_CHECK(!"a Granularity");
  return false;
}

// A layer whose steps are apart has several tasks: the second is "relax fc1 (2)".
void make_unique(std::vector<Task>& tasks) {
  std::map<std::string, int> seen;
  for (Task& task : tasks)
    if (const int count = ++seen[task.name]; count > 1) task.name += fmt::format(" ({})", count);
}

// "forward + backward + relax fc1"; a task of several layers says how many.
std::string task_name(const Plan& plan, const std::vector<Purpose>& purposes) {
  std::vector<std::string> verbs;
  std::set<std::optional<LayerId>> layers;
  for (const Purpose& one : purposes) {
    if (std::ranges::count(verbs, one.verb) == 0) verbs.push_back(one.verb);
    layers.insert(one.layer);
  }
  if (layers.size() > 1)
    return fmt::format("{} steps of {} layers", purposes.size(), layers.size());
  const std::optional<LayerId> layer = *layers.begin();
  return fmt::format("{} {}", fmt::join(verbs, " + "), layer ? plan.layer(*layer).name : "box");
}

std::vector<Task> group(const Plan& plan, const Entry& entry) {
  std::vector<Task> tasks;
  std::vector<Purpose> purposes;  // of the last task's steps
  for (int s = 0; s < static_cast<int>(entry.steps.size()); ++s) {
    const Step& step = entry.step(s);
    const Purpose what = std::visit([](const auto& x) { return purpose(x); }, step);
    const Effort spent = std::visit([&](const auto& x) { return cost(plan, x); }, step);
    // A task ends with the last step that calls may leave out, as they leave out whole tasks.
    const bool more = !purposes.empty() && s != entry.shared_steps && s != entry.kept_steps &&
                      continues(plan.config.granularity, purposes.back(), what);
    if (!more) {
      tasks.emplace_back();
      tasks.back().layer = what.layer;
      purposes.clear();
    }
    purposes.push_back(what);
    Task& task = tasks.back();
    if (task.layer != what.layer) task.layer = std::nullopt;
    task.domain = std::max(task.domain, what.domain);
    task.steps.push_back(s);
    task.flops += spent.flops;
    task.bytes += spent.bytes;
    task.name = task_name(plan, purposes);
  }
  make_unique(tasks);
  return tasks;
}

}  // namespace

void build_tasks(Plan& plan) {
  for (Entry& entry : plan.entries) {
    entry.tasks = group(plan, entry);
    connect(entry);
  }
}

}  // namespace bf_aot
