#include "planner/plan.h"

#include <algorithm>
#include <initializer_list>

#include "frontend/diagnostic.h"

namespace bf {
namespace {

// ---- access_of: one overload per step, so that a new step cannot be forgotten.

void add(std::vector<BufferId>& list, BufferId id) {
  if (id == BufferId::kNone || std::find(list.begin(), list.end(), id) != list.end()) return;
  list.push_back(id);
}

Access make_access(std::initializer_list<BufferId> reads, std::initializer_list<BufferId> writes) {
  Access access;
  for (BufferId id : reads) add(access.reads, id);
  for (BufferId id : writes) add(access.writes, id);
  return access;
}

Access access(const BindBox& step) {
  return make_access({}, {step.centre, step.radius});
}

Access access(const IntervalAffine& step) {
  return make_access({step.centre_in, step.radius_in}, {step.centre_out, step.radius_out});
}

Access access(const CentreAffine& step) {
  return make_access({step.centre_in, step.radius_in},
                     {step.centre_out, step.radius_out, step.below, step.above, step.slack});
}

Access access(const CentreSum& step) {
  Access access =
      make_access({}, {step.centre_out, step.radius_out, step.below, step.above, step.slack});
  for (const CentreSum::Part& part : step.parts) {
    add(access.reads, part.centre_in);
    add(access.reads, part.radius_in);
  }
  return access;
}

// slack[2] is made here, beside the two that CentreAffine left.
Access access(const Relax& step) {
  return make_access({step.centre, step.below, step.above, step.radius, step.slack},
                     {step.table, step.centre_out, step.radius_out, step.slack});
}

Access access(const RelaxProduct& step) {
  return make_access({step.centre_x, step.radius_x, step.centre_y, step.radius_y},
                     {step.table, step.slack, step.centre_out, step.radius_out});
}

Access access(const RelaxMax& step) {
  return make_access({step.centre_in, step.radius_in},
                     {step.table, step.choice, step.slack, step.centre_out, step.radius_out});
}

// The list of neurons, the coefficients and the sums are scratch: written, then read, inside.
Access access(const BackwardRows& step) {
  Access access =
      make_access({step.centre, step.below, step.above, step.slack, step.radius, step.input_radius},
                  {step.below, step.above, step.neurons, step.coefficients, step.sums});
  for (const BackwardOut& out : step.starts) add(access.writes, out.coefficients);
  for (const BackwardLink& link : step.links) {
    add(access.reads, link.table);
    add(access.reads, link.slack);
    add(access.reads, link.choice);
    add(access.writes, link.coefficients_in);
    add(access.writes, link.coefficients_out);
    add(access.writes, link.sum);
    for (const BackwardOut& out : link.outs) add(access.writes, out.coefficients);
  }
  add(access.writes, step.input_coefficients);
  return access;
}

Access access(const WriteBounds& step) {
  return make_access({step.centre, step.below, step.above}, {});
}

Access access(const EvaluateAffine& step) {
  return make_access({step.in}, {step.out});
}

Access access(const WriteValues& step) {
  return make_access({step.centre}, {});
}

// ---- step_name

std::string_view name(const BindBox&) {
  return "bind_box";
}
std::string_view name(const IntervalAffine&) {
  return "interval_affine";
}
std::string_view name(const CentreAffine&) {
  return "centre_affine";
}
std::string_view name(const CentreSum&) {
  return "centre_sum";
}
std::string_view name(const Relax&) {
  return "relax";
}
std::string_view name(const RelaxProduct&) {
  return "relax_product";
}
std::string_view name(const RelaxMax&) {
  return "relax_max";
}
std::string_view name(const BackwardRows&) {
  return "backward_rows";
}
std::string_view name(const WriteBounds&) {
  return "write_bounds";
}
std::string_view name(const EvaluateAffine&) {
  return "evaluate_affine";
}
std::string_view name(const WriteValues&) {
  return "write_values";
}

}  // namespace

std::vector<int> inputs_of(const Layer& layer) {
  if (layer.kind == LayerKind::kDense) return {layer.input};
  std::vector<int> inputs;
  for (const Term& term : layer.terms) inputs.push_back(term.input);
  return inputs;
}

std::string_view step_name(const Step& step) {
  return std::visit([](const auto& s) { return name(s); }, step);
}

Access access_of(const Step& step) {
  return std::visit([](const auto& s) { return access(s); }, step);
}

std::int64_t Plan::arena_bytes() const {
  std::int64_t bytes = 0;
  for (const Entry& entry : entries) bytes = std::max(bytes, entry.storage.planned_bytes);
  return bytes;
}

std::int64_t Plan::weights_bytes() const {
  std::int64_t bytes = 0;
  for (const WeightLayout& layout : layouts) bytes += layout.bytes;
  return bytes;
}

const Entry* Plan::find_entry(EntryKind kind) const {
  for (const Entry& entry : entries)
    if (entry.kind == kind) return &entry;
  return nullptr;
}

// ---- Names. No default: the compiler warns of a missing one.

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kIbp:
      return "ibp";
    case Method::kCrownIbp:
      return "crown-ibp";
    case Method::kCrown:
      return "crown";
  }
  BF_CHECK(!"a Method");
  return {};
}

std::string_view to_string(Domain domain) {
  switch (domain) {
    case Domain::kInterval:
      return "interval";
    case Domain::kBackward:
      return "backward";
  }
  BF_CHECK(!"a Domain");
  return {};
}

std::string_view to_string(Lowering lowering) {
  switch (lowering) {
    case Lowering::kReference:
      return "reference";
    case Lowering::kGeneric:
      return "generic";
    case Lowering::kVector:
      return "vector";
  }
  BF_CHECK(!"a Lowering");
  return {};
}

std::string_view to_string(EntryKind kind) {
  switch (kind) {
    case EntryKind::kBounds:
      return "bounds";
    case EntryKind::kSpecBounds:
      return "spec_bounds";
    case EntryKind::kEvaluate:
      return "evaluate";
  }
  BF_CHECK(!"an EntryKind");
  return {};
}

std::string_view to_string(KernelKind kind) {
  switch (kind) {
    case KernelKind::kBindFloat:
      return "bind_float";
    case KernelKind::kBindDouble:
      return "bind_double";
    case KernelKind::kIntervalAffine:
      return "interval_affine";
    case KernelKind::kCentreAffine:
      return "centre_affine";
    case KernelKind::kRelax:
      return "relax";
    case KernelKind::kStartRows:
      return "start_rows";
    case KernelKind::kBackwardAffine:
      return "backward_affine";
    case KernelKind::kConcretize:
      return "concretize";
    case KernelKind::kEvaluateAffine:
      return "evaluate_affine";
    case KernelKind::kTermCentre:
      return "term_centre";
    case KernelKind::kTermStart:
      return "term_start";
    case KernelKind::kTermBackward:
      return "term_backward";
    case KernelKind::kRelaxRows:
      return "relax_rows";
    case KernelKind::kRelaxProduct:
      return "relax_product";
    case KernelKind::kRelaxMax:
      return "relax_max";
  }
  BF_CHECK(!"a KernelKind");
  return {};
}

std::string_view to_string(Element element) {
  switch (element) {
    case Element::kFloat32:
      return "float32";
    case Element::kFloat64:
      return "float64";
    case Element::kInt32:
      return "int32";
  }
  BF_CHECK(!"an Element");
  return {};
}

}  // namespace bf
