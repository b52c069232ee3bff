#include "tests/unit/planner/toy_graph.h"

#include <map>

#include "planner/storage/storage.h"
#include "tests/unit/planner/toy.h"

namespace bf_aot::testing {
namespace {

constexpr int kToyTile = 4;

class GraphBuilder {
 public:
  GraphBuilder(Method method, int input_count, std::vector<Layer> layers) {
    plan_.name = "toy";
    plan_.model = {"toy.onnx", std::string(64, 'a'), "hand", 8, 13};
    plan_.config.method = method;
    plan_.config.target.name = "generic";
    plan_.input_count = input_count;
    plan_.inputs = {{"x", {1, input_count}}};
    plan_.layers = std::move(layers);
    plan_.output_count = plan_.layers.back().out;
    plan_.outputs = {{"y", {1, plan_.output_count}}};
    plan_.output_heads = {head()};
    for (const LayerId i : plan_.layer_ids()) {
      const Layer& made = layer(i);
      const bool rows = made.is_affine() &&
                        (method == Method::kCrown || (method == Method::kCrownIbp && i == head()));
      const bool active = made.relu || made.function;
      plan_.domains.push_back({i, rows ? Domain::kBackward : Domain::kInterval,
                               !rows || (active && i != head()), "a toy"});
      plan_.layouts.push_back({i, 1, made.is_affine() ? 8 * std::int64_t{made.out} : 0});
    }
  }

  Plan build() {
    make_entry(EntryKind::kBounds);
    make_entry(EntryKind::kEvaluate);
    return plan_;
  }

 private:
  struct State {
    BufferId centre = BufferId::kNone, radius = BufferId::kNone, below = BufferId::kNone,
             above = BufferId::kNone, slack = BufferId::kNone, row_slack = BufferId::kNone,
             table = BufferId::kNone, choice = BufferId::kNone;
  };
  struct Box {
    BufferId centre = BufferId::kNone, radius = BufferId::kNone;
  };

  LayerId head() const { return plan_.layers.end_id().before(); }
  const Layer& layer(LayerId id) const { return plan_.layer(id); }
  State& state(LayerId id) { return states_[id]; }
  const Box& box(LayerId tensor) const { return boxes_[tensor]; }
  int elements(LayerId tensor) const {
    return tensor.is_layer() ? layer(tensor).out : plan_.input_count;
  }
  bool tables() const {
    return entry_.kind != EntryKind::kEvaluate && plan_.config.method != Method::kIbp;
  }

  KernelId kernel(KernelKind kind, int in, int out, int rows = 0) {
    Kernel made;
    made.kind = kind;
    made.in = in;
    made.out = out;
    made.rows = rows;
    return toy_kernel(plan_, made);
  }
  BufferId buffer(const std::string& name, Element element, std::int64_t count) {
    return toy_buffer(entry_, name, element, count);
  }
  BufferId floats(const std::string& name, std::int64_t count) {
    return buffer(name, Element::kFloat32, count);
  }

  void make_entry(EntryKind kind) {
    entry_ = {};
    entry_.kind = kind;
    states_.assign(plan_.layers.size(), {});
    boxes_ = PerTensor<Box>(plan_.layers.size(), {});
    boxes_[kNetworkInput] = add_box("x", kNetworkInput);
    const Box& input = box(kNetworkInput);
    entry_.steps.push_back(BindBox{input.centre, input.radius, 0,
                                   kernel(KernelKind::kBindDouble, plan_.input_count, 0)});
    for (const LayerId i : plan_.layer_ids()) {
      if (layer(i).kind == LayerKind::kProduct)
        relax_product(i);
      else if (layer(i).kind == LayerKind::kMax)
        relax_max(i);
      else
        affine(i);
    }
    plan_storage(entry_, plan_.config.target.align, plan_.rejected);
    make_tasks(entry_);
    plan_.entries.push_back(entry_);
  }

  Box add_box(const std::string& name, LayerId tensor) {
    return {buffer(name + "_centre", Element::kFloat64, elements(tensor)),
            floats(name + "_radius", elements(tensor))};
  }

  void affine(LayerId i) {
    const std::string& name = layer(i).name;
    const int out = layer(i).out;
    state(i) = {buffer(name + "_z", Element::kFloat64, out),
                floats(name + "_spread", out),
                floats(name + "_below", out),
                floats(name + "_above", out),
                buffer(name + "_slack", Element::kFloat64, bf::kSlack),
                buffer(name + "_row_slack", Element::kFloat64, out),
                BufferId::kNone,
                BufferId::kNone};
    centre(i);
    const DomainChoice& domain = plan_.domain(i);
    if (domain.domain == Domain::kBackward && entry_.kind == EntryKind::kBounds)
      tighten(i, domain.unstable_only);
    if (i != head()) return relax(i);
    if (entry_.kind == EntryKind::kEvaluate)
      entry_.steps.push_back(WriteValues{i, 0, state(i).centre});
    else
      entry_.steps.push_back(WriteBounds{i, 0, state(i).centre, state(i).below, state(i).above});
  }

  template <typename Step>
  void set_centre(LayerId i, Step& step) {
    step.layer = i;
    step.centre_out = state(i).centre;
    step.radius_out = state(i).radius;
    step.below = state(i).below;
    step.above = state(i).above;
    step.slack = state(i).slack;
    step.row_slack = state(i).row_slack;
    entry_.steps.push_back(step);
  }

  void centre(LayerId i) {
    const Layer& made = layer(i);
    if (made.kind == LayerKind::kDense) {
      CentreAffine step;
      step.centre_in = box(made.input).centre;
      step.radius_in = box(made.input).radius;
      step.kernel = kernel(KernelKind::kCentreAffine, made.in, made.out);
      return set_centre(i, step);
    }
    CentreSum step;
    for (const Term& term : made.terms)
      step.parts.push_back({box(term.input).centre, box(term.input).radius,
                            kernel(KernelKind::kTermCentre, term.in, made.out)});
    set_centre(i, step);
  }

  void relax(LayerId i) {
    const std::string& name = layer(i).name;
    if (tables()) state(i).table = floats(name + "_table", bf::kRelaxRows * layer(i).out);
    const Box made = boxes_[i] = add_box(name, i);
    Relax step;
    step.layer = i;
    step.centre = state(i).centre;
    step.below = state(i).below;
    step.above = state(i).above;
    step.radius = state(i).radius;
    step.slack = state(i).slack;
    step.row_slack = state(i).row_slack;
    step.table = state(i).table;
    step.centre_out = made.centre;
    step.radius_out = made.radius;
    step.kernel = kernel(KernelKind::kRelax, layer(i).out, 0);
    entry_.steps.push_back(step);
  }

  template <typename Step>
  void set_result(LayerId i, int rows, Step& step) {
    const std::string& name = layer(i).name;
    if (tables()) {
      step.table = state(i).table = floats(name + "_table", std::int64_t{rows} * layer(i).out);
      step.slack = state(i).slack = buffer(name + "_slack", Element::kFloat64, bf::kSlack);
    }
    const Box made = boxes_[i] = add_box(name, i);
    step.layer = i;
    step.centre_out = made.centre;
    step.radius_out = made.radius;
    entry_.steps.push_back(step);
  }

  void relax_product(LayerId i) {
    RelaxProduct step;
    const Box& x = box(layer(i).terms[0].input);
    const Box& y = box(layer(i).terms[1].input);
    step.centre_x = x.centre;
    step.radius_x = x.radius;
    step.centre_y = y.centre;
    step.radius_y = y.radius;
    step.kernel = kernel(KernelKind::kRelaxProduct, layer(i).out, 0);
    set_result(i, bf::kProductRows, step);
  }

  void relax_max(LayerId i) {
    RelaxMax step;
    const Box& x = box(layer(i).terms[0].input);
    step.centre_in = x.centre;
    step.radius_in = x.radius;
    if (tables())
      step.choice = state(i).choice =
          buffer(layer(i).name + "_choice", Element::kInt32, layer(i).out);
    step.kernel = kernel(KernelKind::kRelaxMax, layer(i).out, 0);
    set_result(i, bf::kMaxRows, step);
  }

  // ---- backward rows

  // The buffer of a tensor's coefficients, and whether a share is in it.
  std::pair<BufferId, bool> coefficients(LayerId tensor) {
    const auto found = held_.find(tensor);
    if (found != held_.end()) return {found->second, true};
    const std::string& from = layer(target_).name;
    const std::string of = !tensor.is_layer() ? "x" : layer(tensor).name;
    const BufferId id = floats(from + "_over_" + of, std::int64_t{kToyTile} * elements(tensor));
    held_[tensor] = id;
    return {id, false};
  }

  std::vector<BackwardOut> outs(LayerId i, KernelKind kind) {
    std::vector<BackwardOut> list;
    for (std::size_t t = 0; t < layer(i).terms.size(); ++t) {
      const Term& term = layer(i).terms[t];
      const auto [id, add] = coefficients(term.input);
      list.push_back({static_cast<int>(t), id, add, kernel(kind, term.in, layer(i).out, kToyTile)});
    }
    return list;
  }

  BackwardLink link(LayerId i) {
    const Layer& made = layer(i);
    BackwardLink link;
    link.layer = i;
    link.table = state(i).table;
    link.slack = state(i).slack;
    link.choice = state(i).choice;
    link.coefficients_in = held_.at(i);
    if (made.kind != LayerKind::kDense) {
      link.kernel = kernel(KernelKind::kRelaxRows, made.out, 0, kToyTile);
      link.outs = outs(i, KernelKind::kTermBackward);
      return link;
    }
    link.kernel = kernel(KernelKind::kBackwardAffine, made.in, made.out, kToyTile);
    const auto [id, add] = coefficients(made.input);
    link.coefficients_out = id;
    if (add) {
      link.sum = id;
      link.coefficients_out =
          floats(layer(target_).name + "_through_" + made.name, std::int64_t{kToyTile} * made.in);
    }
    return link;
  }

  void tighten(LayerId i, bool unstable_only) {
    const Layer& made = layer(i);
    target_ = i;
    held_.clear();
    BackwardRows step;
    step.layer = i;
    step.unstable_only = unstable_only;
    step.tile = kToyTile;
    step.centre = state(i).centre;
    step.below = state(i).below;
    step.above = state(i).above;
    step.row_slack = state(i).row_slack;
    step.radius = state(i).radius;
    step.input_radius = box(kNetworkInput).radius;
    step.neurons = buffer(made.name + "_neurons", Element::kInt32,
                          (made.out + kToyTile / 2 - 1) / (kToyTile / 2) * (kToyTile / 2));
    step.sums = floats(made.name + "_sums", 2 * kToyTile);
    if (made.kind == LayerKind::kDense) {
      step.coefficients = coefficients(made.input).first;
      step.start = kernel(KernelKind::kStartRows, made.in, made.out, kToyTile);
    } else {
      step.starts = outs(i, KernelKind::kTermStart);
    }
    for (LayerId k = i.before(); k.is_layer(); --k)
      if (held_.count(k) > 0) step.links.push_back(link(k));
    step.input_coefficients = held_.at(kNetworkInput);
    step.concretize = kernel(KernelKind::kConcretize, plan_.input_count, 0, kToyTile);
    entry_.steps.push_back(step);
  }

  Plan plan_;
  Entry entry_;
  PerLayer<State> states_;
  PerTensor<Box> boxes_;
  LayerId target_ = 0;
  std::map<LayerId, BufferId> held_;
};

}  // namespace

Plan toy_graph_plan(Method method, int input_count, std::vector<Layer> layers) {
  return GraphBuilder(method, input_count, std::move(layers)).build();
}

}  // namespace bf_aot::testing
