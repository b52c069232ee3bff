#include <cmath>
#include <initializer_list>

#include "frontend/diagnostic.h"
#include "planner/plan_verify_entry.h"

namespace bf {
namespace {

const Layer& layer_at(const Plan& plan, int index) {
  BF_CHECK(index >= 0 && static_cast<std::size_t>(index) < plan.layers.size());
  return plan.layers[static_cast<std::size_t>(index)];
}

const Kernel& kernel_at(const Plan& plan, KernelId id, KernelKind kind) {
  BF_CHECK(id >= 0 && static_cast<std::size_t>(id) < plan.kernels.size());
  const Kernel& kernel = plan.kernels[static_cast<std::size_t>(id)];
  BF_CHECK(kernel.kind == kind);
  return kernel;
}

// A kernel for the weights of `layer`.
const Kernel& kernel_of(const Plan& plan, KernelId id, KernelKind kind, const Layer& layer) {
  const Kernel& kernel = kernel_at(plan, id, kind);
  BF_CHECK(kernel.in == layer.in && kernel.out == layer.out);
  return kernel;
}

void check_error_terms(std::initializer_list<double> terms) {
  for (double term : terms) BF_CHECK(std::isfinite(term) && term >= 0);
}

// Collects uses. kNone is left out where it stands for the caller's arrays.
class Uses {
 public:
  void read(BufferId id, Role role, int layer, Element element, std::int64_t count) {
    add({id, role, layer, true, false, element, count});
  }
  void write(BufferId id, Role role, int layer, Element element, std::int64_t count) {
    add({id, role, layer, false, true, element, count});
  }
  void update(BufferId id, Role role, int layer, Element element, std::int64_t count) {
    add({id, role, layer, true, true, element, count});
  }
  void scratch(BufferId id, Element element, std::int64_t count) {
    add({id, Role::kScratch, -1, false, true, element, count});
  }

  std::vector<Use> list;

 private:
  void add(Use use) {
    BF_CHECK(use.id != BufferId::kNone);
    list.push_back(use);
  }
};

constexpr Element kFloat = Element::kFloat32;
constexpr Element kDouble = Element::kFloat64;

// Positions are checked with the entry: see verify_entry.
std::vector<Use> uses(const Plan& plan, const Entry&, const BindBox& step) {
  check_error_terms({step.gamma});
  BF_CHECK(step.kernel >= 0 && static_cast<std::size_t>(step.kernel) < plan.kernels.size());
  const bool wide =
      plan.kernels[static_cast<std::size_t>(step.kernel)].kind == KernelKind::kBindDouble;
  kernel_at(plan, step.kernel, wide ? KernelKind::kBindDouble : KernelKind::kBindFloat);
  Uses uses;
  uses.write(step.centre, Role::kCentre, -1, wide ? kDouble : kFloat, plan.input_count);
  uses.write(step.radius, Role::kRadius, -1, kFloat, plan.input_count);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const IntervalAffine& step) {
  const Layer& layer = layer_at(plan, step.layer);
  check_error_terms({step.inflate, step.magnitude, step.absolute, step.gamma});
  const Kernel& kernel = kernel_of(plan, step.kernel, KernelKind::kIntervalAffine, layer);
  BF_CHECK(kernel.relu == layer.relu);
  BF_CHECK(kernel.head == (step.centre_out == BufferId::kNone));
  BF_CHECK((step.centre_out == BufferId::kNone) == (step.radius_out == BufferId::kNone));
  Uses uses;
  uses.read(step.centre_in, Role::kCentre, layer.input, kFloat, layer.in);
  uses.read(step.radius_in, Role::kRadius, layer.input, kFloat, layer.in);
  if (step.centre_out == BufferId::kNone) return uses.list;
  uses.write(step.centre_out, Role::kCentre, step.layer, kFloat, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const CentreAffine& step) {
  const Layer& layer = layer_at(plan, step.layer);
  check_error_terms(
      {step.inflate, step.centre_relative, step.absolute, step.row_norm, step.bias_norm});
  kernel_of(plan, step.kernel, KernelKind::kCentreAffine, layer);
  Uses uses;
  uses.read(step.centre_in, Role::kCentre, layer.input, kDouble, layer.in);
  uses.read(step.radius_in, Role::kRadius, layer.input, kFloat, layer.in);
  uses.write(step.centre_out, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.write(step.radius_out, Role::kSpread, step.layer, kFloat, layer.out);
  uses.write(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.write(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  uses.write(step.slack, Role::kSlackTerms, step.layer, kDouble, kSlack);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const Relax& step) {
  const Layer& layer = layer_at(plan, step.layer);
  check_error_terms(
      {step.product, step.wide_product, step.stored, step.slope, step.offset, step.inflate});
  kernel_at(plan, step.kernel, KernelKind::kRelax);
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.read(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.read(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  uses.read(step.radius, Role::kSpread, step.layer, kFloat, layer.out);
  uses.update(step.slack, Role::kSlackTerms, step.layer, kDouble, kSlack);
  uses.write(step.table, Role::kTable, step.layer, kFloat, kRelaxRows * std::int64_t{layer.out});
  uses.write(step.centre_out, Role::kCentre, step.layer, kDouble, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

// The links lead from the layer's input down to the network's input, each reading what the one
// before wrote.
void add_links(const Plan& plan, const BackwardRows& step, Uses& uses) {
  int expected = layer_at(plan, step.layer).input;
  BufferId coefficients = step.coefficients;
  for (const BackwardLink& link : step.links) {
    BF_CHECK(link.layer == expected);
    BF_CHECK(link.coefficients_in == coefficients);
    BF_CHECK(link.coefficients_out != link.coefficients_in);
    const Layer& layer = layer_at(plan, link.layer);
    BF_CHECK(kernel_of(plan, link.kernel, KernelKind::kBackwardAffine, layer).rows == step.tile);
    uses.read(link.table, Role::kTable, link.layer, kFloat, kRelaxRows * std::int64_t{layer.out});
    uses.read(link.slack, Role::kSlackTerms, link.layer, kDouble, kSlack);
    uses.scratch(link.coefficients_in, kFloat, std::int64_t{layer.out} * step.tile);
    uses.scratch(link.coefficients_out, kFloat, std::int64_t{layer.in} * step.tile);
    expected = layer.input;
    coefficients = link.coefficients_out;
  }
  BF_CHECK(expected == -1);  // else the rows end above the inputs
}

std::vector<Use> uses(const Plan& plan, const Entry&, const BackwardRows& step) {
  const Layer& layer = layer_at(plan, step.layer);
  BF_CHECK(step.tile >= 2 && step.tile % 2 == 0);
  check_error_terms({step.sum_inflate, step.concretize_inflate, step.underflow,
                     step.weight_relative, step.inflate});
  BF_CHECK(kernel_of(plan, step.start, KernelKind::kStartRows, layer).rows == step.tile);
  BF_CHECK(kernel_at(plan, step.concretize, KernelKind::kConcretize).rows == step.tile);
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.update(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.update(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  uses.read(step.slack, Role::kSlackTerms, step.layer, kDouble, kSlack);
  uses.read(step.radius, Role::kSpread, step.layer, kFloat, layer.out);
  uses.read(step.input_radius, Role::kRadius, -1, kFloat, plan.input_count);
  uses.scratch(step.neurons, Element::kInt32, layer.out);
  uses.scratch(step.coefficients, kFloat, std::int64_t{layer.in} * step.tile);
  uses.scratch(step.sums, kFloat, 3 * std::int64_t{step.tile});
  add_links(plan, step, uses);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const WriteBounds& step) {
  const Layer& layer = layer_at(plan, step.layer);
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.read(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.read(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const EvaluateAffine& step) {
  BF_CHECK(entry.kind == EntryKind::kEvaluate);
  const Layer& layer = layer_at(plan, step.layer);
  const Kernel& kernel = kernel_of(plan, step.kernel, KernelKind::kEvaluateAffine, layer);
  BF_CHECK(kernel.relu == layer.relu);
  BF_CHECK(kernel.head == (step.out == BufferId::kNone));
  BF_CHECK((step.in == BufferId::kNone) == (layer.input < 0));  // the caller's x, or a buffer
  Uses uses;
  if (step.in != BufferId::kNone) uses.read(step.in, Role::kValue, layer.input, kFloat, layer.in);
  if (step.out != BufferId::kNone)
    uses.write(step.out, Role::kValue, step.layer, kFloat, layer.out);
  return uses.list;
}

}  // namespace

std::vector<Use> uses_of(const Plan& plan, const Entry& entry, const Step& step) {
  return std::visit([&](const auto& s) { return uses(plan, entry, s); }, step);
}

}  // namespace bf
