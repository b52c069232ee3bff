#include "planner/verify/steps/verify_steps.h"

#include "planner/functions/float_table.h"
#include "planner/network/exact_centre.h"
#include "planner/network/max_groups.h"
#include "runtime/bf/contract/chains.h"
#include "runtime/bf/contract/lists.h"

namespace bf_aot {
namespace {

constexpr Element kDouble = Element::kFloat64;

// Positions are checked with the entry: see verify_entry.
std::vector<Use> uses(const Plan& plan, const Entry&, const BindBox& step) {
  check_error_terms({step.gamma});
  BF_CHECK(step.kernel >= 0 && static_cast<std::size_t>(step.kernel) < plan.kernels.size());
  const bool wide = plan.kernel(step.kernel).kind == KernelKind::kBindDouble;
  const Kernel& kernel =
      kernel_at(plan, step.kernel, wide ? KernelKind::kBindDouble : KernelKind::kBindFloat);
  BF_CHECK(kernel.map.empty() || (wide && kernel.map == kNearEnds));
  Uses uses;
  uses.write(step.centre, Role::kCentre, -1, wide ? kDouble : kFloat, plan.input_count);
  uses.write(step.radius, Role::kRadius, -1, kFloat, plan.input_count);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const IntervalAffine& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kDense &&
           (!layer.function || has_float_table(*layer.function)));
  check_error_terms({step.inflate, step.magnitude, step.absolute, step.gamma});
  const Kernel& kernel =
      kernel_of(plan, step.kernel, KernelKind::kIntervalAffine, layer.in, layer.out);
  BF_CHECK(kernel.relu == layer.relu);
  const bool head = step.centre_out == BufferId::kNone;
  BF_CHECK(kernel.head == (head || layer.function) && !(head && layer.function));
  BF_CHECK(head == (step.radius_out == BufferId::kNone));
  BF_CHECK(kernel.boxes == entry.boxes);
  BF_CHECK(kernel.live_in == (step.live_in != BufferId::kNone));
  const bool given = head && entry.boxes > 1;  // to the caller, from the lanes
  BF_CHECK((step.low != BufferId::kNone) == given && (step.high != BufferId::kNone) == given);
  Uses uses;
  uses.read(step.centre_in, Role::kCentre, layer.input, kFloat, layer.in);
  uses.read(step.radius_in, Role::kRadius, layer.input, kFloat, layer.in);
  read_live(plan, step.live_in, layer.input, uses);
  if (given) {
    uses.scratch(step.low, kFloat, layer.out);
    uses.scratch(step.high, kFloat, layer.out);
  }
  if (head) return uses.list;
  uses.write(step.centre_out, Role::kCentre, step.layer, kFloat, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const IntervalSum& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kSum && entry.boxes == 1);
  BF_CHECK(!layer.function || (!step.head && has_float_table(*layer.function)));
  BF_CHECK(step.parts.size() == layer.terms.size());
  check_error_terms({step.inflate, step.magnitude, step.absolute, step.gamma});
  Uses uses;
  for (std::size_t i = 0; i < step.parts.size(); ++i) {
    const SumPart& part = step.parts[i];
    const Term& term = layer.terms[i];
    kernel_of(plan, part.kernel, KernelKind::kTermInterval, term.in, layer.out);
    uses.read(part.centre_in, Role::kCentre, term.input, kFloat, term.in);
    uses.read(part.radius_in, Role::kRadius, term.input, kFloat, term.in);
  }
  if (step.head) {
    uses.scratch(step.centre_out, kFloat, layer.out);
    uses.scratch(step.radius_out, kFloat, layer.out);
    return uses.list;
  }
  uses.write(step.centre_out, Role::kCentre, step.layer, kFloat, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const IntervalMax& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kMax);
  check_error_terms({step.inflate, step.magnitude, step.absolute});
  const Term& x = layer.terms[0];
  BF_CHECK(!step.groups || candidates_of(*step.groups) == std::get<SparseMap>(x.map));
  kernel_of(plan, step.kernel, KernelKind::kIntervalMax, x.in, layer.out);
  Uses uses;
  uses.read(step.centre_in, Role::kCentre, x.input, kFloat, x.in);
  uses.read(step.radius_in, Role::kRadius, x.input, kFloat, x.in);
  uses.write(step.centre_out, Role::kCentre, step.layer, kFloat, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

// in: of the largest term. Uncertain weights need them, or a slack.
template <typename CentreStep>
void check_magnitudes(const Layer& layer, const CentreStep& step, std::int64_t in, Uses& uses) {
  if (!step.magnitudes) return;
  const CentreMagnitudes& m = *step.magnitudes;
  BF_CHECK(step.below != BufferId::kNone);
  check_error_terms({m.relative, m.absolute, m.pay});
  BF_CHECK(m.pay * layer.errors.weight_relative >= 1);
  uses.scratch(m.in, kFloat, in);
  uses.scratch(m.out, kFloat, layer.out);
}

// The slack of rows alone stands for the layer's: it counts the same roundings and what biases
// miss.
template <typename CentreStep>
void check_row_slack(const Layer& layer, const CentreStep& step) {
  check_error_terms({step.rows.bias, step.rows.absolute});
  if (step.rows.bias == 0) return;
  BF_CHECK(!step.magnitudes && step.centre_relative > 0 && step.rows.bias >= 1);
  BF_CHECK(layer.errors.bias_relative <= 1);
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const CentreAffine& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kDense);
  check_error_terms(
      {step.inflate, step.centre_relative, step.absolute, step.row_norm, step.bias_norm});
  const Kernel& kernel =
      kernel_of(plan, step.kernel, KernelKind::kCentreAffine, layer.in, layer.out);
  BF_CHECK(kernel.boxes == entry.boxes);
  BF_CHECK(kernel.live_in == (step.live_in != BufferId::kNone));
  Uses uses;
  uses.read(step.centre_in, Role::kCentre, layer.input, kDouble, layer.in);
  uses.read(step.radius_in, Role::kRadius, layer.input, kFloat, layer.in);
  read_live(plan, step.live_in, layer.input, uses);
  check_magnitudes(layer, step, layer.in, uses);
  check_row_slack(layer, step);
  uses.write(step.centre_out, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.write(step.radius_out, Role::kSpread, step.layer, kFloat, layer.out);
  BF_CHECK((step.below == BufferId::kNone) == (step.above == BufferId::kNone));
  if (step.below != BufferId::kNone) {
    uses.overwrite(step.below, step.radius_out, Role::kBelow, step.layer, kFloat, layer.out);
    uses.repeat(step.above, step.below, Role::kAbove, step.layer, kFloat, layer.out);
  }
  uses.write(step.slack, Role::kSlackTerms, step.layer, kDouble, bf::kSlack);
  uses.write(step.row_slack, Role::kRowSlack, step.layer, kDouble, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const CentreSum& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kSum);
  BF_CHECK(step.parts.size() == layer.terms.size());
  check_error_terms({step.inflate, step.centre_relative, step.absolute, step.bias_norm});
  Uses uses;
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < step.parts.size(); ++i) {
    const SumPart& part = step.parts[i];
    const Term& term = layer.terms[i];
    kernel_of(plan, part.kernel, KernelKind::kTermCentre, term.in, layer.out);
    uses.read(part.centre_in, Role::kCentre, term.input, kDouble, term.in);
    uses.read(part.radius_in, Role::kRadius, term.input, kFloat, term.in);
    largest = std::max<std::int64_t>(largest, term.in);
  }
  check_magnitudes(layer, step, largest, uses);
  check_row_slack(layer, step);
  uses.write(step.centre_out, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.write(step.radius_out, Role::kSpread, step.layer, kFloat, layer.out);
  uses.overwrite(step.below, step.radius_out, Role::kBelow, step.layer, kFloat, layer.out);
  uses.repeat(step.above, step.below, Role::kAbove, step.layer, kFloat, layer.out);
  uses.write(step.slack, Role::kSlackTerms, step.layer, kDouble, bf::kSlack);
  uses.write(step.row_slack, Role::kRowSlack, step.layer, kDouble, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const Relax& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.is_affine());
  check_error_terms({step.product, step.wide_product, step.stored, step.slope, step.offset,
                     step.free_offset, step.inflate});
  BF_CHECK(step.offset <= bf::kMostPriced && step.free_offset <= bf::kMostPriced);
  kernel_at(plan, step.kernel, KernelKind::kRelax);
  BF_CHECK(step.slopes == BufferId::kNone || (has_choices(layer) && step.table != BufferId::kNone));
  BF_CHECK(!step.keeps_point || !layer.function);
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.read(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.read(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  const bool table = step.table != BufferId::kNone;
  if (table) {
    uses.read(step.radius, Role::kSpread, step.layer, kFloat, layer.out);
    uses.update(step.slack, Role::kSlackTerms, step.layer, kDouble, bf::kSlack);
    uses.read(step.row_slack, Role::kRowSlack, step.layer, kDouble, layer.out);
    uses.write(step.table, Role::kTable, step.layer, kFloat,
               bf::kRelaxRows * std::int64_t{layer.out});
  }
  if (step.live != BufferId::kNone) {
    BF_CHECK(table);  // else no rows pass
    uses.write(step.live, Role::kLive, step.layer, Element::kInt32, live_list(layer));
  }
  if (step.slopes != BufferId::kNone) {  // made last, of all that the relaxation read
    uses.write(step.slopes, Role::kSlopes, step.layer, kFloat, choice_floats(layer));
    uses.write(step.centre_out, Role::kCentre, step.layer, kDouble, layer.out);
    uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
    return uses.list;
  }
  uses.overwrite(step.centre_out, step.centre, Role::kCentre, step.layer, kDouble, layer.out);
  uses.overwrite(step.radius_out, table ? step.radius : step.below, Role::kRadius, step.layer,
                 kFloat, layer.out);
  return uses.list;
}

std::int64_t lines_of(const Plan& plan, int neurons) {
  return line_rows(plan.input_count) * std::int64_t{neurons};
}

// Neurons from one row of a pre-activation's lines to the next, as the kernel that makes them
// writes them.
int line_stride(const Plan& plan, const Entry& entry, const Layer& layer, LayerId index) {
  const int panel = plan.layout(index).panel;
  return entry.boxes > 1 ? layer.out : (layer.out + panel - 1) / panel * panel;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const StartLines& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kDense && layer.input < 0);
  check_error_terms({step.product});
  const Kernel& kernel = kernel_of(plan, step.kernel, KernelKind::kStartLines, layer.in, layer.out);
  BF_CHECK(kernel.boxes == entry.boxes && kernel.lines == plan.input_count + 1);
  const int stride = line_stride(plan, entry, layer, step.layer);
  Uses uses;
  uses.read(step.input_radius, Role::kRadius, -1, kFloat, plan.input_count);
  uses.read(step.radius, Role::kSpread, step.layer, kFloat, layer.out);
  uses.write(step.lines_out, Role::kMiddleLines, step.layer, kFloat, lines_of(plan, stride));
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const ForwardLines& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kDense && layer.input >= 0);
  BF_CHECK(plan.domain(entry, step.layer).domain == Domain::kForward);
  const Kernel& kernel =
      kernel_of(plan, step.kernel, KernelKind::kForwardLines, layer.in, layer.out);
  BF_CHECK(kernel.boxes == entry.boxes && kernel.lines == plan.input_count + 1);
  const int stride = line_stride(plan, entry, layer, step.layer);
  Uses uses;
  uses.read(step.lines_in, Role::kLines, layer.input, kFloat, lines_of(plan, layer.in));
  uses.write(step.lines_out, Role::kMiddleLines, step.layer, kFloat, lines_of(plan, stride));
  return uses.list;
}

// Checks what a step reads to make bounds of z from lines.
template <typename LineStep>
void read_lines(const Plan& plan, const Entry& entry, const LineStep& step, Uses& uses) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kDense);
  const LineBounds& bounds = step.bounds;
  check_error_terms({bounds.around, bounds.inflate, bounds.concretize, bounds.absolute});
  const int stride = line_stride(plan, entry, layer, step.layer);
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.read(step.radius, Role::kSpread, step.layer, kFloat, layer.out);
  uses.read(step.slack, Role::kSlackTerms, step.layer, kDouble, bf::kSlack);
  uses.read(step.row_slack, Role::kRowSlack, step.layer, kDouble, layer.out);
  uses.read(step.lines, Role::kMiddleLines, step.layer, kFloat, lines_of(plan, stride));
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const TightenLines& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  Uses uses;
  read_lines(plan, entry, step, uses);
  uses.overwrite(step.below, step.radius, Role::kBelow, step.layer, kFloat, layer.out);
  uses.write(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const RelaxLines& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(!layer.function);
  check_error_terms({step.gamma, step.gamma_sum, step.least});
  kernel_at(plan, step.kernel, KernelKind::kRelaxLines);
  Uses uses;
  read_lines(plan, entry, step, uses);
  uses.overwrite(step.centre_out, step.centre, Role::kCentre, step.layer, kDouble, layer.out);
  uses.overwrite(step.radius_out, step.radius, Role::kRadius, step.layer, kFloat, layer.out);
  uses.write(step.lines_out, Role::kLines, step.layer, kFloat, lines_of(plan, layer.out));
  return uses.list;
}

// The table of rows that choose planes or candidates: made last, of all that the relaxation read
// and made.
template <typename PlaneStep>
void write_slopes(const Layer& layer, const PlaneStep& step, Uses& uses) {
  if (step.slopes != BufferId::kNone)
    uses.write(step.slopes, Role::kSlopes, step.layer, kFloat, choice_floats(layer));
}

// z = x y: the boxes of both factors, whose gathers' elements are those of the tensors.
std::vector<Use> uses(const Plan& plan, const Entry& entry, const RelaxProduct& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kProduct);
  check_error_terms({step.product, step.offset});
  BF_CHECK(step.offset <= bf::kMostPriced);
  BF_CHECK(step.most == layer.most);
  kernel_at(plan, step.kernel, KernelKind::kRelaxProduct);
  BF_CHECK((step.table == BufferId::kNone) == (step.slack == BufferId::kNone));
  const Element element = entry.buffer(step.centre_out).element;  // float: of the interval pass
  BF_CHECK(element == kDouble || (step.table == BufferId::kNone && step.most == 0));
  const Term& x = layer.terms[0];
  const Term& y = layer.terms[1];
  Uses uses;
  uses.read(step.centre_x, Role::kCentre, x.input, element, x.in);
  uses.read(step.radius_x, Role::kRadius, x.input, kFloat, x.in);
  uses.read(step.centre_y, Role::kCentre, y.input, element, y.in);
  uses.read(step.radius_y, Role::kRadius, y.input, kFloat, y.in);
  if (step.table != BufferId::kNone) {
    const std::int64_t count = bf::kProductRows * std::int64_t{layer.out};
    uses.write(step.table, Role::kTable, step.layer, kFloat, count);
    write_slopes(layer, step, uses);
    uses.write(step.slack, Role::kSlackTerms, step.layer, kDouble, bf::kSlack);
  }
  uses.write(step.centre_out, Role::kCentre, step.layer, element, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const RelaxContraction& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kContraction);
  check_error_terms({step.product, step.offset});
  BF_CHECK(step.offset <= bf::kMostPriced);
  kernel_at(plan, step.kernel, KernelKind::kRelaxContraction);
  BF_CHECK((step.table == BufferId::kNone) == (step.slack == BufferId::kNone));
  const Term& x = layer.terms[0];
  const Term& y = layer.terms[1];
  Uses uses;
  if (layer.scores && step.table == BufferId::kNone) {
    BF_CHECK(step.centre_x == BufferId::kNone && step.radius_x == BufferId::kNone);
  } else {
    uses.read(step.centre_x, Role::kCentre, x.input, kDouble, x.in);
    uses.read(step.radius_x, Role::kRadius, x.input, kFloat, x.in);
  }
  uses.read(step.centre_y, Role::kCentre, y.input, kDouble, y.in);
  uses.read(step.radius_y, Role::kRadius, y.input, kFloat, y.in);
  if (layer.scores) {
    const LayerId scores = layer.scores->layer;
    const int count = scores < 0 ? plan.input_count : checked_layer(plan, scores).out;
    uses.read(step.centre_s, Role::kCentre, scores, kDouble, count);
    uses.read(step.radius_s, Role::kRadius, scores, kFloat, count);
  } else {
    BF_CHECK(step.centre_s == BufferId::kNone && step.radius_s == BufferId::kNone);
  }
  uses.scratch(step.scratch, kDouble, layer.contraction.scratch());
  if (step.table != BufferId::kNone) {
    uses.write(step.table, Role::kTable, step.layer, kFloat, layer.contraction.table());
    write_slopes(layer, step, uses);
    uses.write(step.slack, Role::kSlackTerms, step.layer, kDouble, bf::kSlack);
  }
  uses.write(step.centre_out, Role::kCentre, step.layer, kDouble, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const RelaxLogSoftmax& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kLogSoftmax);
  check_error_terms({step.product, step.offset});
  BF_CHECK(step.offset <= bf::kMostPriced);
  kernel_at(plan, step.kernel, KernelKind::kRelaxLogSoftmax);
  BF_CHECK((step.table == BufferId::kNone) == (step.slack == BufferId::kNone));
  const Term& x = layer.terms[0];
  Uses uses;
  uses.read(step.centre_in, Role::kCentre, x.input, kDouble, x.in);
  uses.read(step.radius_in, Role::kRadius, x.input, kFloat, x.in);
  if (step.table != BufferId::kNone) {
    uses.write(step.table, Role::kTable, step.layer, kFloat,
               bf::kLogSoftmaxRows * std::int64_t{layer.out});
    uses.write(step.slack, Role::kSlackTerms, step.layer, kDouble, bf::kSlack);
  }
  uses.write(step.centre_out, Role::kCentre, step.layer, kDouble, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry&, const RelaxMax& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kMax);
  check_error_terms({step.product, step.offset});
  BF_CHECK(step.offset <= bf::kMostPriced);
  kernel_at(plan, step.kernel, KernelKind::kRelaxMax);
  const bool table = step.table != BufferId::kNone;
  BF_CHECK(table == (step.slack != BufferId::kNone) && table == (step.choice != BufferId::kNone));
  const Term& x = layer.terms[0];
  Uses uses;
  uses.read(step.centre_in, Role::kCentre, x.input, kDouble, x.in);
  uses.read(step.radius_in, Role::kRadius, x.input, kFloat, x.in);
  if (table) {
    uses.write(step.table, Role::kTable, step.layer, kFloat,
               bf::kMaxRows * std::int64_t{layer.out});
    write_slopes(layer, step, uses);
    uses.write(step.choice, Role::kChoice, step.layer, Element::kInt32, layer.out);
    uses.write(step.slack, Role::kSlackTerms, step.layer, kDouble, bf::kSlack);
  }
  if (step.live != BufferId::kNone) {
    BF_CHECK(table && read_by_one(plan, x.input));
    uses.write(step.live, Role::kLive, x.input, Element::kInt32,
               live_list(checked_layer(plan, x.input)));
  }
  uses.write(step.centre_out, Role::kCentre, step.layer, kDouble, layer.out);
  uses.write(step.radius_out, Role::kRadius, step.layer, kFloat, layer.out);
  return uses.list;
}

// Zeros of a ReLU are exact. The interval method's radii hold more, but are 0 there too.
std::vector<Use> uses(const Plan& plan, const Entry& entry, const ListLive& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.relu && entry.kind != EntryKind::kEvaluate);
  Uses uses;
  uses.read(step.centre, Role::kCentre, step.layer, entry.buffer(step.centre).element, layer.out);
  uses.read(step.radius, Role::kRadius, step.layer, kFloat, layer.out);
  uses.write(step.live, Role::kLiveList, step.layer, Element::kInt32,
             bf::live_list_size(layer.out));
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const BackwardRows& step) {
  return uses_of_rows(plan, entry, step);
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const WriteBounds& step) {
  BF_CHECK(entry.kind != EntryKind::kEvaluate);
  const Layer& layer = checked_layer(plan, step.layer);
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.read(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.read(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const EvaluateAffine& step) {
  BF_CHECK(entry.kind == EntryKind::kEvaluate);
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.kind == LayerKind::kDense &&
           (!layer.function || has_float_table(*layer.function)));
  const Kernel& kernel =
      kernel_of(plan, step.kernel, KernelKind::kEvaluateAffine, layer.in, layer.out);
  BF_CHECK(kernel.relu == layer.relu);
  BF_CHECK(kernel.head == (step.out == BufferId::kNone));
  BF_CHECK((step.in == BufferId::kNone) == (layer.input < 0));  // the caller's x, or a buffer
  Uses uses;
  if (step.in != BufferId::kNone) uses.read(step.in, Role::kValue, layer.input, kFloat, layer.in);
  if (step.out != BufferId::kNone)
    uses.write(step.out, Role::kValue, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const WriteValues& step) {
  BF_CHECK(entry.kind == EntryKind::kEvaluate);
  const Layer& layer = checked_layer(plan, step.layer);
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  return uses.list;
}

// Centres of what a layer in a ball reads are those of the ball: its reach says so.
std::vector<Use> uses(const Plan& plan, const Entry& entry, const MeetBall& step) {
  const Layer& layer = checked_layer(plan, step.layer);
  const bool dense = layer.kind == LayerKind::kDense;
  BF_CHECK(layer.is_affine() && plan.config.norm != Norm::kLargest && entry.boxes == 1);
  BF_CHECK(step.terms.size() == (dense ? 1 : layer.terms.size()));
  Uses uses;
  for (std::size_t t = 0; t < step.terms.size(); ++t) {
    const BallTerm& term = step.terms[t];
    const LayerId input = dense ? layer.input : layer.terms[t].input;
    const BallNorms& norms = dense ? layer.ball : layer.terms[t].ball;
    check_error_terms({norms.norm, term.inflate});
    BF_CHECK(std::ssize(norms.rows) == layer.out && term.inflate >= 1);
    uses.read(term.radius_in, Role::kRadius, input, kFloat, dense ? layer.in : layer.terms[t].in);
    BF_CHECK((input < 0) == (term.reach_in == BufferId::kNone));
    if (input < 0) continue;
    BF_CHECK(!plan.layer(input).function);
    uses.read(term.reach_in, Role::kReach, input, kDouble, 1);
  }
  uses.scratch(step.half, kFloat, layer.out);
  uses.read(step.row_slack, Role::kRowSlack, step.layer, kDouble, layer.out);
  uses.update(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.update(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  uses.write(step.reach, Role::kReach, step.layer, kDouble, 1);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const MeetAnchor& step) {
  BF_CHECK(is_cached(entry.kind));
  const Layer& layer = checked_layer(plan, step.layer);
  BF_CHECK(layer.is_affine());
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.read(step.low, Role::kLow, step.layer, kFloat, layer.out);
  uses.read(step.high, Role::kHigh, step.layer, kFloat, layer.out);
  uses.update(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.update(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const KeepAnchor& step) {
  BF_CHECK(is_cached(entry.kind));
  const Layer& layer = checked_layer(plan, step.layer);
  Uses uses;
  uses.read(step.centre, Role::kMiddle, step.layer, kDouble, layer.out);
  uses.read(step.below, Role::kBelow, step.layer, kFloat, layer.out);
  uses.read(step.above, Role::kAbove, step.layer, kFloat, layer.out);
  uses.write(step.low, Role::kLow, step.layer, kFloat, layer.out);
  uses.write(step.high, Role::kHigh, step.layer, kFloat, layer.out);
  return uses.list;
}

std::vector<Use> uses(const Plan& plan, const Entry& entry, const MeetOutputs& step) {
  BF_CHECK(is_cached(entry.kind));
  const int count = is_spec(entry.kind) ? plan.spec_rows : plan.output_count;
  Uses uses;
  uses.update(step.low, Role::kLow, -1, kFloat, count);
  uses.update(step.high, Role::kHigh, -1, kFloat, count);
  return uses.list;
}

}  // namespace

std::vector<Use> uses_of(const Plan& plan, const Entry& entry, const Step& step) {
  return std::visit([&](const auto& s) { return uses(plan, entry, s); }, step);
}

}  // namespace bf_aot
