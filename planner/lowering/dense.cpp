#include "frontend/diagnostic.h"
#include "planner/lowering/lower.h"
#include "planner/network/exact_centre.h"

// Steps of dense layers, and those that all networks have; of one box or of several.

namespace bf_aot::calls {
namespace {

OutputStride stride_of(const Lowering& l) {
  const bool spec = is_spec(l.entry().kind);
  return {spec, spec ? l.plan().spec_rows : l.plan().output_count};
}

std::vector<TemplateArgument> boxes_of(const Lowering& l) {
  return {number(l.entry().boxes)};
}

// Relaxations with a table read the sum of the radii; lines do not.
Argument summed_radius(const CentreAffine& step) {
  return step.below == BufferId::kNone ? Null{} : at(step.radius_in);
}

// The kernel makes centres, and |W| times a radius.
void centre_kernel(Lowering& l, const CentreAffine& step, BufferId radius_in, BufferId radius_out) {
  Arguments arguments = {l.table(step.layer, TableKind::kWeight)};
  if (l.kernel(step.kernel).residual)
    arguments.push_back(l.table(step.layer, TableKind::kResidual));
  append(arguments, {l.table(step.layer, TableKind::kBiasDouble), at(step.centre_in), at(radius_in),
                     at(step.centre_out), at(radius_out)});
  if (step.live_in != BufferId::kNone) arguments.push_back(at(step.live_in));
  l.part(step.kernel);
  l.call(KernelCall{step.kernel}, std::move(arguments));
}

Errors relax_errors(const Relax& step, double offset, Pays pays) {
  return {ErrorsKind::kRelax,
          {exact(step.product, Pays::kProduct), exact(step.wide_product, Pays::kWideProduct),
           exact(step.stored, Pays::kStored), exact(step.slope, Pays::kSlope), exact(offset, pays),
           exact(step.inflate, Pays::kInflate)}};
}

// The lines that rows choose from.
void relax_choices(Lowering& l, const Relax& step) {
  const Layer& layer = l.layer(step.layer);
  if (layer.function)
    return l.call(
        Routine::kRelaxKnots,
        {number(layer.out), FunctionOf{*layer.function}, at(step.centre), at(step.below),
         at(step.above), at(step.radius), relax_errors(step, step.free_offset, Pays::kFreeOffset),
         at(step.row_slack), at(step.centre_out), at(step.radius_out), at(step.slopes)});
  l.call(Routine::kRelaxSlopes,
         {number(layer.out), at(step.centre), at(step.below), at(step.above), at(step.radius),
          relax_errors(step, step.free_offset, Pays::kFreeOffset), at(step.row_slack),
          at(step.table), at(step.centre_out), at(step.radius_out), at(step.slopes)});
}

// Plain inference takes the codes that are rounded to.
Function function_in(const Entry& entry, Function function) {
  if (entry.kind == EntryKind::kEvaluate) function.slack = 0;
  return function;
}

// Everything that reads a table is null without one.
Arguments relax_arguments(const Lowering& l, const Relax& step) {
  const Layer& layer = l.layer(step.layer);
  const bool boxes = step.table == BufferId::kNone;
  const Argument activation = layer.function
                                  ? Argument(FunctionOf{function_in(l.entry(), *layer.function)})
                                  : Argument(Flag{layer.relu});
  return {number(layer.out),
          activation,
          at(step.centre),
          at(step.below),
          at(step.above),
          boxes ? Null{} : at(step.radius),
          relax_errors(step, step.offset, Pays::kOffset),
          boxes ? Null{} : at(step.slack),
          boxes ? Null{} : at(step.row_slack),
          at(step.table),
          at(step.centre_out),
          at(step.radius_out)};
}

}  // namespace

void magnitudes(Lowering& l, BufferId centre, std::int64_t n, const CentreMagnitudes& to) {
  l.part("magnitudes");
  l.call(Routine::kMagnitudes, {at(centre), number(n * l.entry().boxes), at(to.in)});
}

void lower(Lowering& l, const BindBox& step) {
  const bool several = l.entry().boxes > 1;
  const Kernel& kernel = l.kernel(step.kernel);
  const bool to_float = kernel.kind == KernelKind::kBindFloat, near = kernel.map == kNearEnds;
  const bool point = l.entry().kind == EntryKind::kEvaluate;
  Arguments arguments;
  if (several) arguments.push_back(Local::kGroup);
  append(arguments, {given(point ? Array::kX : Array::kLower),
                     given(point ? Array::kX : Array::kUpper), number(l.plan().input_count)});
  if (to_float) arguments.push_back(rounded_up(step.gamma, Pays::kGamma));
  append(arguments, {at(step.centre), at(step.radius)});
  l.part("bind_box");
  if (several) {
    BF_CHECK(!near);  // functions are bounded one box after the other
    l.call(to_float ? Routine::kBindBoxesFloat : Routine::kBindBoxesDouble, std::move(arguments));
  } else {
    l.call(to_float ? Routine::kBindFloat
           : near   ? Routine::kBindNear
                    : Routine::kBindDouble,
           std::move(arguments));
  }
}

void lower(Lowering& l, const IntervalAffine& step) {
  const Layer& layer = l.layer(step.layer);
  const bool head = step.centre_out == BufferId::kNone;
  Arguments arguments = {l.table(step.layer, TableKind::kWeight),
                         l.table(step.layer, TableKind::kBiasFloat),
                         at(step.centre_in),
                         at(step.radius_in),
                         rounded_up(step.inflate, Pays::kInflate),
                         rounded_up(step.magnitude, Pays::kMagnitude),
                         rounded_up(step.absolute, Pays::kAbsolute)};
  if (step.low != BufferId::kNone)
    append(arguments, {at(step.low), at(step.high)});
  else if (head)
    append(arguments,
           {given(Array::kOutLower, step.position), given(Array::kOutUpper, step.position)});
  else if (layer.function)
    append(arguments, {at(step.centre_out), at(step.radius_out)});
  else
    append(arguments,
           {rounded_up(step.gamma, Pays::kGamma), at(step.centre_out), at(step.radius_out)});
  if (step.live_in != BufferId::kNone) arguments.push_back(at(step.live_in));
  l.part(step.kernel);
  l.call(KernelCall{step.kernel}, std::move(arguments));
  if (layer.function) interval_function(l, step);
  if (!head || l.entry().boxes == 1) return;
  l.part("write_bounds");
  l.call(Routine::kWriteBoxesFloat,
         {Local::kGroup, number(layer.out), at(step.low), at(step.high), stride_of(l),
          given(Array::kOutLower, step.position), given(Array::kOutUpper, step.position)});
}

void lower(Lowering& l, const CentreAffine& step) {
  const Layer& layer = l.layer(step.layer);
  const bool several = l.entry().boxes > 1;
  if (step.magnitudes) {
    magnitudes(l, step.centre_in, layer.in, *step.magnitudes);
    centre_kernel(l, step, step.magnitudes->in, step.magnitudes->out);
  }
  centre_kernel(l, step, step.radius_in, step.radius_out);
  l.part("centre_slack");
  Arguments slack = {at(step.centre_in),
                     summed_radius(step),
                     number(layer.in),
                     exact(step.centre_relative, Pays::kCentreRelative),
                     exact(step.row_norm, Pays::kRowNorm),
                     exact(step.bias_norm, Pays::kBiasNorm),
                     exact(step.absolute, Pays::kAbsolute),
                     at(step.slack)};
  if (several)
    l.call(Routine::kSlackOfBoxes, boxes_of(l), std::move(slack));
  else
    l.call(Routine::kCentreSlack, std::move(slack));
  row_slack(l, step, l.table(step.layer, TableKind::kBiasDouble), 1, [&] {
    l.call(Routine::kDenseRowSlack, boxes_of(l),
           {l.table(step.layer, TableKind::kWeight), number(layer.in),
            number(l.plan().layout(step.layer).panel), at(step.centre_in), number(layer.out),
            at(step.slack), at(step.row_slack)});
  });
  if (step.below == BufferId::kNone) return;
  if (step.magnitudes) return interval_of_neurons(l, layer.out, step);
  l.part("interval_around");
  Arguments around = {at(step.radius_out), number(layer.out), exact(step.inflate, Pays::kInflate),
                      at(step.row_slack),  at(step.below),    at(step.above)};
  if (several)
    l.call(Routine::kIntervalAroundBoxes, boxes_of(l), std::move(around));
  else
    l.call(Routine::kIntervalAround, std::move(around));
}

void lower(Lowering& l, const Relax& step) {
  const Layer& layer = l.layer(step.layer);
  l.part(step.kernel);
  // The intervals are kept before the relaxation, which may write its boxes over them.
  if (step.kept_position >= 0)
    l.call(Routine::kKeepRanges,
           {number(layer.out), at(step.centre), at(step.below), at(step.above),
            number(step.kept_position), number(l.plan().decide.neurons), given(Array::kRanges)});
  if (l.entry().boxes > 1) {
    BF_CHECK(!layer.function && step.slopes == BufferId::kNone);
    return l.call(Routine::kRelaxBoxes, boxes_of(l), relax_arguments(l, step));
  }
  if (step.table == BufferId::kNone && !layer.function && !step.keeps_point)
    return l.call(Routine::kRelaxBox,
                  {number(layer.out), Flag{layer.relu}, at(step.centre), at(step.below),
                   at(step.above), at(step.centre_out), at(step.radius_out)});
  l.call(layer.function     ? Routine::kRelaxFunction
         : step.keeps_point ? Routine::kRelaxPoint
                            : Routine::kRelax,
         relax_arguments(l, step));
  if (step.live != BufferId::kNone)
    l.call(Routine::kListLivePixels, {Image{step.layer, {shape_made(l, step.layer)}},
                                      number(layer.out), at(step.radius_out), at(step.live)});
  if (step.slopes != BufferId::kNone) relax_choices(l, step);
}

void lower(Lowering& l, const ListLive& step) {
  l.part("list_live");
  Arguments arguments = {at(step.centre), at(step.radius), number(l.layer(step.layer).out),
                         at(step.live)};
  if (l.entry().boxes > 1)
    l.call(Routine::kListLiveBoxes, boxes_of(l), std::move(arguments));
  else
    l.call(Routine::kListLive, std::move(arguments));
}

void lower(Lowering& l, const WriteBounds& step) {
  const Layer& layer = l.layer(step.layer);
  const bool several = l.entry().boxes > 1;
  Arguments arguments;
  if (several) arguments.push_back(Local::kGroup);
  append(arguments,
         {number(layer.out), Flag{layer.relu}, at(step.centre), at(step.below), at(step.above)});
  if (several) arguments.push_back(stride_of(l));
  append(arguments,
         {given(Array::kOutLower, step.position), given(Array::kOutUpper, step.position)});
  l.part("write_bounds");
  l.call(several ? Routine::kWriteBoxes : Routine::kWriteBounds, std::move(arguments));
}

void lower(Lowering& l, const EvaluateAffine& step) {
  l.part(step.kernel);
  l.call(KernelCall{step.kernel},
         {l.table(step.layer, TableKind::kWeight), l.table(step.layer, TableKind::kBiasFloat),
          step.in == BufferId::kNone ? given(Array::kX) : at(step.in),
          step.out == BufferId::kNone ? given(Array::kY, step.position) : at(step.out)});
  const Layer& layer = l.layer(step.layer);
  if (!layer.function) return;
  l.part("apply_function");
  l.call(Routine::kApplyFunction,
         {number(layer.out), FunctionOf{*layer.function, true},
          step.out == BufferId::kNone ? given(Array::kY, step.position) : at(step.out)});
}

void lower(Lowering& l, const WriteValues& step) {
  const Layer& layer = l.layer(step.layer);
  l.part("write_values");
  l.call(Routine::kWriteValues,
         {number(layer.out), Flag{layer.relu}, at(step.centre), given(Array::kY, step.position)});
}

}  // namespace bf_aot::calls
