#include "tests/unit/planner/toy.h"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/storage/storage.h"

namespace bf_aot::testing {
namespace {

constexpr int kTile = 4;

class ToyBuilder {
 public:
  ToyBuilder(Method method, const std::vector<ToyLayer>& chain) {
    plan_.name = "toy";
    plan_.model = {"toy.onnx", std::string(64, 'a'), "hand", 8, 13};
    plan_.config.method = method;
    plan_.config.target.name = "generic";
    plan_.input_count = static_cast<int>(chain.at(0).weight.at(0).size());
    plan_.output_count = static_cast<int>(chain.back().bias.size());
    plan_.inputs = {{"x", {1, plan_.input_count}}};
    plan_.outputs = {{"y", {1, plan_.output_count}}};
    for (std::size_t i = 0; i < chain.size(); ++i)
      add_layer(chain[i], static_cast<int>(i), i + 1 < chain.size());
    plan_.output_heads = {static_cast<int>(chain.size()) - 1};
  }

  Plan build() {
    plan_.entries.push_back(plan_.config.method == Method::kIbp ? interval_entry()
                                                                : backward_entry());
    plan_.entries.push_back(evaluate_entry());
    for (Entry& entry : plan_.entries) {
      plan_storage(entry, plan_.config.target.align, plan_.rejected);
      make_tasks(entry);
    }
    return plan_;
  }

 private:
  void add_layer(const ToyLayer& from, int index, bool relu) {
    Layer layer;
    layer.name = "fc" + std::to_string(index);
    layer.origin = "Gemm '" + layer.name + "'";
    layer.input = index - 1;
    layer.out = static_cast<int>(from.weight.size());
    layer.in = static_cast<int>(from.weight.at(0).size());
    layer.relu = relu;
    for (const auto& row : from.weight)
      layer.weight.insert(layer.weight.end(), row.begin(), row.end());
    layer.bias = from.bias;
    plan_.domains.push_back({index, Domain::kInterval, true, "a toy"});
    plan_.layouts.push_back({index, 1, 4 * std::int64_t{layer.in} * layer.out + 8 * layer.out});
    plan_.layers.push_back(std::move(layer));
  }

  KernelId kernel(KernelKind kind, int in, int out, bool relu = false, int rows = 0,
                  bool head = false) {
    Kernel made;
    made.kind = kind;
    made.in = in;
    made.out = out;
    made.rows = rows;
    made.relu = relu;
    made.head = head;
    return toy_kernel(plan_, made);
  }

  static BufferId buffer(Entry& entry, std::string name, Element element, std::int64_t count) {
    return toy_buffer(entry, std::move(name), element, count);
  }

  Entry interval_entry() {
    Entry entry;
    BufferId centre = buffer(entry, "x_centre", Element::kFloat32, plan_.input_count);
    BufferId radius = buffer(entry, "x_radius", Element::kFloat32, plan_.input_count);
    entry.steps.push_back(
        BindBox{centre, radius, 0, kernel(KernelKind::kBindFloat, plan_.input_count, 0)});
    for (int i = 0; i < static_cast<int>(plan_.layers.size()); ++i) {
      const Layer& layer = plan_.layers[static_cast<std::size_t>(i)];
      IntervalAffine step;
      step.layer = i;
      step.centre_in = centre;
      step.radius_in = radius;
      step.kernel =
          kernel(KernelKind::kIntervalAffine, layer.in, layer.out, layer.relu, 0, !layer.relu);
      if (i + 1 < static_cast<int>(plan_.layers.size())) {
        step.centre_out = centre =
            buffer(entry, layer.name + "_centre", Element::kFloat32, layer.out);
        step.radius_out = radius =
            buffer(entry, layer.name + "_radius", Element::kFloat32, layer.out);
      }
      entry.steps.push_back(step);
    }
    return entry;
  }

  struct State {
    BufferId centre, radius, below, above, slack, row_slack, table;
  };

  State centre_affine(Entry& entry, int index, BufferId centre, BufferId radius) {
    const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
    State state{};
    state.centre = buffer(entry, layer.name + "_z", Element::kFloat64, layer.out);
    state.radius = buffer(entry, layer.name + "_spread", Element::kFloat32, layer.out);
    state.below = buffer(entry, layer.name + "_below", Element::kFloat32, layer.out);
    state.above = buffer(entry, layer.name + "_above", Element::kFloat32, layer.out);
    state.slack = buffer(entry, layer.name + "_slack", Element::kFloat64, bf::kSlack);
    state.row_slack = buffer(entry, layer.name + "_row_slack", Element::kFloat64, layer.out);
    CentreAffine step;
    step.layer = index;
    step.centre_in = centre;
    step.radius_in = radius;
    step.centre_out = state.centre;
    step.radius_out = state.radius;
    step.below = state.below;
    step.above = state.above;
    step.slack = state.slack;
    step.row_slack = state.row_slack;
    step.kernel = kernel(KernelKind::kCentreAffine, layer.in, layer.out);
    entry.steps.push_back(step);
    return state;
  }

  // Coefficients go back and forth between two buffers.
  void tighten(Entry& entry, int index, const std::vector<State>& states, BufferId input_radius) {
    const Layer& layer = plan_.layers[static_cast<std::size_t>(index)];
    const State& state = states[static_cast<std::size_t>(index)];
    int widest = 0;
    for (const Layer& other : plan_.layers) widest = std::max(widest, other.in);
    const std::int64_t count = std::int64_t{kTile} * widest;
    BackwardRows step;
    step.layer = index;
    step.unstable_only = layer.relu;
    step.tile = kTile;
    step.centre = state.centre;
    step.below = state.below;
    step.above = state.above;
    step.row_slack = state.row_slack;
    step.radius = state.radius;
    step.neurons = buffer(entry, layer.name + "_neurons", Element::kInt32,
                          (layer.out + kTile / 2 - 1) / (kTile / 2) * (kTile / 2));
    step.sums = buffer(entry, layer.name + "_sums", Element::kFloat32, 2 * kTile);
    step.input_radius = input_radius;
    BufferId from = buffer(entry, layer.name + "_rows", Element::kFloat32, count);
    BufferId to = buffer(entry, layer.name + "_back", Element::kFloat32, count);
    step.coefficients = from;
    for (int i = index - 1; i >= 0; --i) {
      const Layer& below = plan_.layers[static_cast<std::size_t>(i)];
      const State& through = states[static_cast<std::size_t>(i)];
      BackwardLink link;
      link.layer = i;
      link.table = through.table;
      link.slack = through.slack;
      link.coefficients_in = from;
      link.coefficients_out = to;
      link.kernel = kernel(KernelKind::kBackwardAffine, below.in, below.out, false, kTile);
      step.links.push_back(link);
      std::swap(from, to);
    }
    step.input_coefficients = from;
    step.start = kernel(KernelKind::kStartRows, layer.in, layer.out, false, kTile);
    step.concretize = kernel(KernelKind::kConcretize, plan_.input_count, 0, false, kTile);
    entry.steps.push_back(step);
  }

  Entry backward_entry() {
    Entry entry;
    BufferId centre = buffer(entry, "x_centre", Element::kFloat64, plan_.input_count);
    BufferId radius = buffer(entry, "x_radius", Element::kFloat32, plan_.input_count);
    const BufferId input_radius = radius;
    entry.steps.push_back(
        BindBox{centre, radius, 0, kernel(KernelKind::kBindDouble, plan_.input_count, 0)});
    std::vector<State> states;
    for (int i = 0; i < static_cast<int>(plan_.layers.size()); ++i) {
      const Layer& layer = plan_.layers[static_cast<std::size_t>(i)];
      const bool head = !layer.relu;
      states.push_back(centre_affine(entry, i, centre, radius));
      State& state = states.back();
      if (i > 0 && (head || plan_.config.method == Method::kCrown)) {
        tighten(entry, i, states, input_radius);
        plan_.domains[static_cast<std::size_t>(i)] = {i, Domain::kBackward, !head, "a toy"};
      }
      if (head) {
        entry.steps.push_back(WriteBounds{i, 0, state.centre, state.below, state.above});
        continue;
      }
      state.table =
          buffer(entry, layer.name + "_table", Element::kFloat32, bf::kRelaxRows * layer.out);
      centre = buffer(entry, layer.name + "_centre", Element::kFloat64, layer.out);
      radius = buffer(entry, layer.name + "_radius", Element::kFloat32, layer.out);
      Relax step;
      step.layer = i;
      step.centre = state.centre;
      step.below = state.below;
      step.above = state.above;
      step.radius = state.radius;
      step.slack = state.slack;
      step.row_slack = state.row_slack;
      step.table = state.table;
      step.centre_out = centre;
      step.radius_out = radius;
      step.kernel = kernel(KernelKind::kRelax, layer.out, 0);
      entry.steps.push_back(step);
    }
    return entry;
  }

  Entry evaluate_entry() {
    Entry entry;
    entry.kind = EntryKind::kEvaluate;
    BufferId value = BufferId::kNone;
    for (int i = 0; i < static_cast<int>(plan_.layers.size()); ++i) {
      const Layer& layer = plan_.layers[static_cast<std::size_t>(i)];
      EvaluateAffine step;
      step.layer = i;
      step.in = value;
      if (layer.relu)
        step.out = value = buffer(entry, layer.name + "_value", Element::kFloat32, layer.out);
      step.kernel =
          kernel(KernelKind::kEvaluateAffine, layer.in, layer.out, layer.relu, 0, !layer.relu);
      entry.steps.push_back(step);
    }
    return entry;
  }

  Plan plan_;
};

bool contains(const std::vector<BufferId>& list, BufferId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

}  // namespace

KernelId toy_kernel(Plan& plan, Kernel made) {
  made.key = made.function = std::string(to_string(made.kind)) + "_" + std::to_string(made.in) +
                             "x" + std::to_string(made.out) + "_" + std::to_string(made.rows) +
                             (made.relu ? "_relu" : "") + (made.head ? "_head" : "");
  made.reason = "a toy";
  for (std::size_t i = 0; i < plan.kernels.size(); ++i)
    if (plan.kernels[i].key == made.key) return static_cast<KernelId>(i);
  plan.kernels.push_back(made);
  return static_cast<KernelId>(plan.kernels.size()) - 1;
}

BufferId toy_buffer(Entry& entry, std::string name, Element element, std::int64_t count) {
  Buffer made;
  made.name = std::move(name);
  made.element = element;
  made.count = count;
  entry.buffers.push_back(made);
  return static_cast<BufferId>(entry.buffers.size() - 1);
}

void make_tasks(Entry& entry) {
  entry.tasks.clear();
  std::vector<int> writer(entry.buffers.size(), -1);
  for (int i = 0; i < static_cast<int>(entry.steps.size()); ++i) {
    const Step& step = entry.steps[static_cast<std::size_t>(i)];
    Task task;
    task.name = std::string(step_name(step)) + " " + std::to_string(i);
    task.steps = {i};
    const Access access = access_of(step);
    for (BufferId id : access.reads) {
      const int from = writer[static_cast<std::size_t>(id)];
      Task& maker = entry.tasks.at(static_cast<std::size_t>(from));
      task.inputs.push_back(id);
      if (!contains(maker.outputs, id)) maker.outputs.push_back(id);
      if (std::find(task.after.begin(), task.after.end(), from) == task.after.end())
        task.after.push_back(from);
    }
    for (BufferId id : access.writes) writer[static_cast<std::size_t>(id)] = i;
    entry.tasks.push_back(std::move(task));
  }
}

Plan toy_plan(Method method, const std::vector<ToyLayer>& chain) {
  return ToyBuilder(method, chain).build();
}

Plan toy_plan(Method method) {
  return toy_plan(method, {{{{1, 2}, {-1, 0.5F}, {0.25F, -1}}, {0.5, -0.25, 0}},
                           {{{1, -1, 0.5F}, {0.5F, 1, -2}, {-1, 0.25F, 1}}, {-0.5, 0.25, 0.125}},
                           {{{1, -2, 0.5F}, {-0.5F, 1, 1}}, {0.25, -1}}});
}

std::vector<ToyLayer> random_chain(const std::vector<int>& widths, std::mt19937& random) {
  const auto number = [&] { return static_cast<float>(static_cast<int>(random() % 65) - 32) / 32; };
  std::vector<ToyLayer> chain;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    ToyLayer layer;
    for (int row = 0; row < widths[i + 1]; ++row) {
      layer.weight.emplace_back();
      for (int column = 0; column < widths[i]; ++column) layer.weight.back().push_back(number());
      layer.bias.push_back(static_cast<double>(number()));
    }
    chain.push_back(std::move(layer));
  }
  return chain;
}

}  // namespace bf_aot::testing
