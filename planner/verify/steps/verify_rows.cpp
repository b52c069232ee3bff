#include <algorithm>
#include <map>
#include <set>

#include "planner/verify/steps/verify_steps.h"
#include "planner/verify/verify_layer.h"

// BackwardRows: coefficients flow from the rows' layer down to the network's input through the
// graph of layers that it stands on.
namespace bf_aot {
namespace {

// Follows which buffer holds whose coefficients from link to link. Tensors are layers, or -1.
class Coefficients {
 public:
  Coefficients(const Plan& plan, const BackwardRows& step, int boxes, Uses& uses)
      : plan_(plan), step_(step), boxes_(boxes), uses_(uses) {}

  bool is_of_rows(const Kernel& kernel) const {
    return kernel.rows == step_.tile * boxes_ && kernel.boxes == boxes_;
  }

  // Buffers that serve the step in another way.
  void keep_off(BufferId id) { others_.insert(id); }

  BufferId holder(LayerId tensor) const {
    const auto found = held_.find(tensor);
    return found == held_.end() ? BufferId::kNone : found->second;
  }
  bool only(LayerId tensor) const { return held_.size() == 1 && held_.count(tensor) == 1; }
  bool empty() const { return held_.empty(); }

  // A term's share goes to `id`: as the first of its tensor, or added to those before.
  void contribute(LayerId tensor, BufferId id, bool add) {
    touch(tensor, id);
    BF_CHECK(add == (holder(tensor) != BufferId::kNone));  // else a share is lost, or a stale one
    if (add)
      BF_CHECK(holder(tensor) == id);
    else
      BF_CHECK(is_free(id));  // else another tensor's coefficients are overwritten
    held_[tensor] = id;
  }

  // A buffer that holds coefficients over `tensor` for a moment.
  void pass_through(LayerId tensor, BufferId id) {
    touch(tensor, id);
    BF_CHECK(is_free(id));
  }

  void release(LayerId tensor) { held_.erase(tensor); }

  // Makes the uses that follow belong to this op of the step.
  void enter(int op) { op_ = op; }

 private:
  bool is_free(BufferId id) const {
    for (const auto& [tensor, holder] : held_)
      if (holder == id) return false;
    return true;
  }

  void touch(LayerId tensor, BufferId id) {
    BF_CHECK(others_.count(id) == 0);
    const std::int64_t size = tensor < 0 ? plan_.input_count : checked_layer(plan_, tensor).out;
    uses_.scratch(id, kFloat, size * step_.tile, op_);
  }

  const Plan& plan_;
  const BackwardRows& step_;
  int boxes_;
  Uses& uses_;
  int op_ = 0;
  std::map<LayerId, BufferId> held_;
  std::set<BufferId> others_;
};

// The layers that the rows' layer stands on, from the last to the first.
std::vector<LayerId> cone_of(const Plan& plan, LayerId layer) {
  std::set<LayerId> reached = {layer};
  std::vector<LayerId> cone;
  for (const LayerId i : layer_range(0, layer.next()).reversed()) {
    if (reached.count(i) == 0) continue;
    if (i != layer) cone.push_back(i);
    for (LayerId input : inputs_of(checked_layer(plan, i))) reached.insert(input);
  }
  return cone;
}

void follow_outs(const Plan& plan, const Layer& layer, const std::vector<BackwardOut>& outs,
                 KernelKind kind, int tile, Coefficients& flow) {
  BF_CHECK(outs.size() == layer.terms.size());
  for (std::size_t i = 0; i < outs.size(); ++i) {
    BF_CHECK(outs[i].term == static_cast<int>(i));
    const Term& term = layer.terms[i];
    BF_CHECK(kernel_of(plan, outs[i].kernel, kind, term.in, layer.out).rows == tile);
    if (outs[i].spread) {  // all of the box' coefficients, which nothing else asks for
      BF_CHECK(kind == KernelKind::kTermBackward && layer.kind == LayerKind::kSum);
      BF_CHECK(term.input < 0 && std::holds_alternative<ConvMap>(term.map));
      BF_CHECK(flow.holder(kNetworkInput) == BufferId::kNone && !outs[i].add);
      BF_CHECK(outs[i].coefficients == BufferId::kNone);
      continue;
    }
    flow.contribute(term.input, outs[i].coefficients, outs[i].add);
  }
}

// Outs that make the rows' spread themselves.
std::int64_t spreads(const BackwardRows& step) {
  std::int64_t count = std::ranges::count(step.starts, true, &BackwardOut::spread);
  for (const BackwardLink& link : step.links)
    count += std::ranges::count(link.outs, true, &BackwardOut::spread);
  return count;
}

void follow_start(const Plan& plan, const BackwardRows& step, Coefficients& flow) {
  const Layer& layer = checked_layer(plan, step.layer);
  if (layer.kind != LayerKind::kDense) {
    BF_CHECK(step.coefficients == BufferId::kNone);
    return follow_outs(plan, layer, step.starts, KernelKind::kTermStart, step.tile, flow);
  }
  BF_CHECK(step.starts.empty());
  BF_CHECK((step.coefficients == BufferId::kNone) == starts_in_first_link(step));
  if (starts_in_first_link(step)) {  // which is followed as that link
    BF_CHECK(step.start == step.links.front().kernel && step.live_in == BufferId::kNone);
    return;
  }
  const Kernel& kernel = kernel_of(plan, step.start, KernelKind::kStartRows, layer.in, layer.out);
  BF_CHECK(flow.is_of_rows(kernel));
  flow.contribute(layer.input, step.coefficients, false);
}

void follow_dense(const Plan& plan, const BackwardRows& step, const BackwardLink& link,
                  Coefficients& flow) {
  const Layer& layer = checked_layer(plan, link.layer);
  const bool first = starts_in_first_link(step) && &link == &step.links.front();
  if (first) {  // of the layer that the rows' own reads, with the layout of its weights
    const Layer& rows = checked_layer(plan, step.layer);
    BF_CHECK(rows.kind == LayerKind::kDense && rows.input == link.layer);
    BF_CHECK(link.live_in == BufferId::kNone);
  }
  const KernelKind kind = first ? KernelKind::kFirstLink : KernelKind::kBackwardAffine;
  const Kernel& kernel = kernel_of(plan, link.kernel, kind, layer.in, layer.out);
  BF_CHECK(flow.is_of_rows(kernel) && kernel.wide == step.wide);
  BF_CHECK(kernel.plain == (step.iterations > 0));
  BF_CHECK(kernel.live_out == (link.live_out != BufferId::kNone));
  BF_CHECK(kernel.live_in == (link.live_in != BufferId::kNone));
  BF_CHECK(link.outs.empty());
  if (link.sum == BufferId::kNone) {
    flow.contribute(layer.input, link.coefficients_out, false);
  } else {
    flow.pass_through(layer.input, link.coefficients_out);
    flow.contribute(layer.input, link.sum, true);
  }
}

std::int64_t tiles_of(const Plan& plan, const BackwardRows& step) {
  const int pairs = step.tile / 2;
  return (checked_layer(plan, step.layer).out + pairs - 1) / pairs;
}

// Checks the parts of a link that only rows with slopes of their own have. Its coefficients stay as
// they are: the walk forward reads them.
void follow_slopes(const Plan& plan, const BackwardRows& step, const BackwardLink& link,
                   Uses& uses) {
  const Layer& layer = checked_layer(plan, link.layer);
  const LinkSlopes& slopes = link.slopes;
  const bool optimised = step.iterations > 0;
  BF_CHECK(step.warm_iterations >= 0 && step.warm_iterations <= step.iterations);
  BF_CHECK((link.relaxed != BufferId::kNone) == (optimised && layer.is_affine()));
  BF_CHECK((slopes.table != BufferId::kNone) == (optimised && has_choices(layer)));
  BF_CHECK((slopes.slope != BufferId::kNone) == (slopes.table != BufferId::kNone));
  const bool steps = slopes.slope != BufferId::kNone && step.iterations > 1;
  BF_CHECK((slopes.mean != BufferId::kNone) == steps);
  BF_CHECK((slopes.square != BufferId::kNone) == steps);
  BF_CHECK(!steps || link.values != BufferId::kNone);
  if (link.relaxed != BufferId::kNone) {
    const KernelId relax = layer.kind == LayerKind::kDense ? link.relax : link.kernel;
    const Kernel& kernel = kernel_at(plan, relax, KernelKind::kRelaxRows);
    BF_CHECK(kernel.rows == step.tile && kernel.wide == step.wide);
    uses.scratch(link.relaxed, kFloat, std::int64_t{layer.out} * step.tile);
  }
  const std::int64_t count = has_choices(layer) ? choice_count(layer) * step.tile : 0;
  if (slopes.table != BufferId::kNone) {
    uses.read(slopes.table, Role::kSlopes, link.layer, kFloat, choice_floats(layer));
    uses.scratch(slopes.slope, kFloat,
                 step.warm_iterations > 0 ? tiles_of(plan, step) * count : count);
  }
  if (steps) {
    uses.scratch(slopes.mean, kFloat, count);
    uses.scratch(slopes.square, kFloat, count);
  }
}

// Checks the list of columns of a layer `input`. Coefficients that it leaves out are not made, so
// that the link of that layer must pass on none of them.
void follow_columns(const Plan& plan, const BackwardRows& step, LayerId input, BufferId list,
                    Uses& uses) {
  read_live(plan, list, input, uses);
  for (const BackwardLink& link : step.links)
    BF_CHECK(list == BufferId::kNone || link.layer != input || link.live_out == list);
}

// Rows that choose slopes read all coefficients.
void follow_lists(const Plan& plan, const BackwardRows& step, const BackwardLink& link,
                  Uses& uses) {
  const Layer& layer = checked_layer(plan, link.layer);
  const bool dense = layer.kind == LayerKind::kDense && step.iterations == 0;
  BF_CHECK(dense || (link.live_out == BufferId::kNone && link.live_in == BufferId::kNone));
  if (!dense) return;
  read_live(plan, link.live_out, link.layer, uses);
  follow_columns(plan, step, layer.input, link.live_in, uses);
}

// A link whose rows gain in a ball reads what its relaxation was made of, and the coefficients.
void follow_ball(const BackwardRows& step, const BackwardLink& link, const Layer& layer,
                 Uses& uses) {
  if (link.ball.reach == BufferId::kNone) return;
  BF_CHECK(layer.relu && layer.is_affine() && step.iterations == 0);
  BF_CHECK(step.gain != BufferId::kNone && link.coefficients_in != BufferId::kNone);
  uses.read(link.ball.reach, Role::kReach, link.layer, Element::kFloat64, 1);
  uses.read(link.ball.centre, Role::kMiddle, link.layer, Element::kFloat64, layer.out);
  uses.read(link.ball.below, Role::kBelow, link.layer, kFloat, layer.out);
  uses.read(link.ball.above, Role::kAbove, link.layer, kFloat, layer.out);
}

void follow_link(const Plan& plan, const Entry& entry, const BackwardRows& step,
                 const BackwardLink& link, int op, Coefficients& flow, Uses& uses) {
  flow.enter(op);
  const Layer& layer = checked_layer(plan, link.layer);
  const bool max = layer.kind == LayerKind::kMax;
  const std::int64_t rows = max                                    ? bf::kMaxRows
                            : layer.kind == LayerKind::kProduct    ? bf::kProductRows
                            : layer.kind == LayerKind::kLogSoftmax ? bf::kLogSoftmaxRows
                                                                   : bf::kRelaxRows;
  const std::int64_t table =
      layer.kind == LayerKind::kContraction ? layer.contraction.table() : rows * layer.out;
  const bool stored = !plan.domain(entry, link.layer).remade;
  BF_CHECK(link.remake.empty() == (stored || step.iterations > 0));
  if (link.remake.empty())
    uses.read(link.table, Role::kTable, link.layer, kFloat, table);
  else
    follow_remake(plan, entry, step, link, op, uses);
  uses.read(link.slack, Role::kSlackTerms, link.layer, Element::kFloat64, bf::kSlack);
  BF_CHECK(max == (link.choice != BufferId::kNone));
  if (max) uses.read(link.choice, Role::kChoice, link.layer, Element::kInt32, layer.out);

  follow_lists(plan, step, link, uses);
  follow_ball(step, link, layer, uses);
  check_live(plan, step, link);
  if (link.live != BufferId::kNone)
    uses.read(link.live, Role::kLive, link.layer, Element::kInt32, live_list(layer));
  follow_slopes(plan, step, link, uses);
  BF_CHECK(link.coefficients_in == flow.holder(link.layer));
  if (link.coefficients_in != BufferId::kNone)
    uses.scratch(link.coefficients_in, kFloat, std::int64_t{layer.out} * step.tile, op);
  else
    BF_CHECK(layer.kind == LayerKind::kDense && &link == &step.links.front());
  if (layer.kind == LayerKind::kDense) {
    follow_dense(plan, step, link, flow);
  } else {
    BF_CHECK(link.coefficients_out == BufferId::kNone && link.sum == BufferId::kNone);
    BF_CHECK(kernel_at(plan, link.kernel, KernelKind::kRelaxRows).rows == step.tile);
    follow_outs(plan, layer, link.outs, KernelKind::kTermBackward, step.tile, flow);
  }
  flow.release(link.layer);
}

// The walk forward: every value that a layer reads was made, and is still there; coefficients,
// slopes and their moments are not overwritten by it.
void follow_walk(const Plan& plan, const BackwardRows& step, Uses& uses) {
  std::set<BufferId> others = {step.neurons, step.sums};
  std::set<BufferId> single;  // one tensor's alone, from link to link
  const auto alone = [&](BufferId id) {
    if (id == BufferId::kNone) return;
    BF_CHECK(single.insert(id).second);
    others.insert(id);
  };
  for (const BackwardLink& link : step.links) {
    alone(link.coefficients_in);
    alone(link.slopes.slope);
    alone(link.slopes.mean);
    alone(link.slopes.square);
    if (link.relaxed != BufferId::kNone) others.insert(link.relaxed);
  }
  alone(step.input_coefficients);
  for (const BackwardLink& link : step.links) {
    BF_CHECK(single.count(link.relaxed) == 0);
    BF_CHECK(link.sum == BufferId::kNone || single.count(link.coefficients_out) == 0);
  }
  BF_CHECK((step.input_values != BufferId::kNone) == (step.iterations > 1));
  if (step.iterations <= 1) return;
  std::map<BufferId, LayerId> holds;  // the tensor whose values it holds
  const auto make = [&](LayerId tensor, BufferId id) {
    BF_CHECK(others.count(id) == 0);
    const std::int64_t size = tensor < 0 ? plan.input_count : checked_layer(plan, tensor).out;
    uses.scratch(id, kFloat, size * step.tile);
    holds[id] = tensor;
  };
  std::map<LayerId, BufferId> of_tensor = {{kNetworkInput, step.input_values}};
  make(kNetworkInput, step.input_values);
  for (auto link = step.links.rbegin(); link != step.links.rend(); ++link) {
    if (link->values == BufferId::kNone) continue;
    const Layer& layer = checked_layer(plan, link->layer);
    const std::vector<LayerId> inputs = inputs_of(layer);
    const std::size_t products = layer.is_affine() ? inputs.size() : 0;
    BF_CHECK(link->forward.size() == products);
    for (std::size_t i = 0; i < products; ++i) {
      const int in = layer.kind == LayerKind::kDense ? layer.in : layer.terms[i].in;
      BF_CHECK(kernel_of(plan, link->forward[i], KernelKind::kForwardRows, in, layer.out).rows ==
               step.tile);
    }
    BF_CHECK(kernel_at(plan, link->step, KernelKind::kStepSlopes).rows == step.tile);
    make(link->layer, link->values);
    for (const LayerId input : inputs) {  // after make(): nothing is read from where it writes
      const auto found = of_tensor.find(input);
      BF_CHECK(found != of_tensor.end() && holds.at(found->second) == input);
    }
    of_tensor[link->layer] = link->values;
  }
}

// The smaller tile differs in rows and kernels alone, so that what is said of the others' buffers
// holds for it.
void check_last(const Plan& plan, const Entry& entry, const BackwardRows& step) {
  const BackwardRows& last = step.last.front();
  BF_CHECK(step.last.size() == 1 && last.last.empty());
  BF_CHECK(step.iterations == 0 && last.tile < step.tile);
  uses_of_rows(plan, entry, last);
  BackwardRows same = last;
  same.tile = step.tile;
  same.start = step.start;
  same.concretize = step.concretize;
  same.last = step.last;
  const auto take = [](std::vector<BackwardOut>& outs, const std::vector<BackwardOut>& others) {
    for (std::size_t i = 0; i < outs.size(); ++i) outs[i].kernel = others.at(i).kernel;
  };
  take(same.starts, step.starts);
  for (std::size_t i = 0; i < same.links.size(); ++i) {
    same.links[i].kernel = step.links.at(i).kernel;
    take(same.links[i].outs, step.links[i].outs);
  }
  BF_CHECK(same == step);
}

}  // namespace

std::vector<Use> uses_of_rows(const Plan& plan, const Entry& entry, const BackwardRows& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.is_affine());
  const DomainChoice& domain = plan.domain(entry, step.layer);
  BF_CHECK(domain.domain == Domain::kBackward || domain.domain == Domain::kOptimised);
  BF_CHECK(domain.unstable_only == step.unstable_only);
  BF_CHECK(step.iterations == 0 || (step.iterations > 0 && domain.domain == Domain::kOptimised));
  BF_CHECK(step.tile >= 2 && step.tile % 2 == 0);
  check_error_terms({step.concretize_inflate, step.underflow, step.weight_relative, step.inflate});
  BF_CHECK(entry.boxes == 1 || step.iterations == 0);
  BF_CHECK(entry.boxes == 1 || step.images.empty());
  check_windows(plan, step);
  BF_CHECK(step.one_hot_slack >= 0 && (step.one_hot_slack == 0 || plan.one_hot.size > 0));
  if (!plan.is_of_boxes())  // rows end in one routine alone
    BF_CHECK(step.images.empty() && spreads(step) == 0 && entry.boxes == 1);
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, Element::kFloat64, layer.out);
  uses.update(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.update(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  uses.read(step.row_slack, Role::kRowSlack, step.layer, Element::kFloat64, layer.out);
  uses.read(step.radius, Role::kSpread, step.layer, kFloat, layer.out);
  uses.read(step.input_radius, Role::kRadius, -1, kFloat, plan.input_count);
  uses.scratch(step.neurons, Element::kInt32, layer.out);
  uses.scratch(step.sums, kFloat, 2 * std::int64_t{step.tile});
  if (step.gain != BufferId::kNone) uses.scratch(step.gain, kFloat, step.tile);

  Coefficients flow(plan, step, entry.boxes, uses);
  BF_CHECK(flow.is_of_rows(kernel_at(plan, step.concretize, KernelKind::kConcretize)));
  flow.keep_off(step.neurons);
  flow.keep_off(step.sums);
  if (step.gain != BufferId::kNone) flow.keep_off(step.gain);
  for (const BackwardLink& link : step.links)
    for (const BufferId id :
         {link.relaxed, link.slopes.slope, link.slopes.mean, link.slopes.square})
      if (id != BufferId::kNone) flow.keep_off(id);
  for (const BackwardLink& link : step.links)
    for (const RepeatedStep& repeated : link.remake)
      for (const BufferId id : access_of(widened(repeated)).writes) flow.keep_off(id);
  follow_start(plan, step, flow);
  const bool dense = layer.kind == LayerKind::kDense && step.iterations == 0;
  BF_CHECK(dense || step.live_in == BufferId::kNone);
  if (dense) follow_columns(plan, step, layer.input, step.live_in, uses);
  // A link's coefficients are complete: its readers in the cone have larger numbers.
  const std::vector<LayerId> cone = cone_of(plan, step.layer);
  BF_CHECK(step.links.size() == cone.size());  // else the rows pass some layer by
  for (std::size_t i = 0; i < cone.size(); ++i) {
    BF_CHECK(step.links[i].layer == cone[i]);
    const CheckScope scope("link through " + describe(checked_layer(plan, cone[i])));
    const int op = step.iterations > 0 ? 0 : static_cast<int>(i) + 1;
    follow_link(plan, entry, step, step.links[i], op, flow, uses);
  }
  if (spreads(step) > 0) {
    BF_CHECK(spreads(step) == 1 && flow.empty() && step.input_coefficients == BufferId::kNone);
    BF_CHECK(step.iterations == 0 && step.kept_position < 0 && entry.boxes == 1);
    BF_CHECK(std::ranges::find(step.images, kNetworkInput, &RowImage::tensor) != step.images.end());
  } else {
    BF_CHECK(flow.only(kNetworkInput));  // else the rows end above the inputs
    BF_CHECK(flow.holder(kNetworkInput) == step.input_coefficients);
    uses.scratch(step.input_coefficients, kFloat, std::int64_t{plan.input_count} * step.tile,
                 step.iterations > 0 ? 0 : static_cast<int>(cone.size()) + 1);
  }
  if (step.iterations > 0)
    follow_walk(plan, step, uses);
  else
    BF_CHECK(step.input_values == BufferId::kNone);
  if (!step.last.empty()) check_last(plan, entry, step);
  return uses.list;
}

}  // namespace bf_aot
