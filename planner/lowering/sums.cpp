#include "frontend/diagnostic.h"
#include "planner/lowering/lower.h"
#include "planner/lowering/weight_tables.h"

// Steps of sums, products and maxima.

namespace bf_aot::calls {
namespace {

Errors interval_errors(double inflate, double magnitude, double absolute) {
  return {ErrorsKind::kInterval,
          {rounded_up(inflate, Pays::kInflate), rounded_up(magnitude, Pays::kMagnitude),
           rounded_up(absolute, Pays::kAbsolute)}};
}

Errors plane_errors(double product, double offset) {
  return {ErrorsKind::kPlane, {exact(product, Pays::kProduct), exact(offset, Pays::kOffset)}};
}

// A term's map, weights and remainders, if the routine takes any.
Arguments term_arguments(const Lowering& l, LayerId layer, int number_of_term, bool remainders) {
  const auto table = [&](TableKind kind) { return l.table(layer, number_of_term, kind); };
  const LinearMap& map = l.term(layer, number_of_term).map;
  const Integer out = number(l.layer(layer).out);
  if (std::holds_alternative<GatherMap>(map)) return {out, l.sources(layer, number_of_term)};
  Arguments arguments;
  if (std::holds_alternative<ConvMap>(map))
    arguments = {Shape{layer, number_of_term, false, false, true}, table(TableKind::kWeight)};
  else
    arguments = {out, table(TableKind::kRowStart), table(TableKind::kColumn),
                 table(TableKind::kWeight)};
  if (remainders) arguments.push_back(table(TableKind::kResidual));
  return arguments;
}

Routine by_map(const LinearMap& map, Routine conv, Routine sparse, Routine gather) {
  if (std::holds_alternative<ConvMap>(map)) return conv;
  return std::holds_alternative<SparseMap>(map) ? sparse : gather;
}

// The first term writes, the others add.
void interval_term(Lowering& l, const IntervalSum& step, int t) {
  const SumPart& part = step.parts[static_cast<std::size_t>(t)];
  Arguments arguments = term_arguments(l, step.layer, t, false);
  append(arguments,
         {at(part.centre_in), at(part.radius_in), at(step.centre_out), at(step.radius_out)});
  l.part(part.kernel);
  l.call(by_map(l.term(step.layer, t).map, Routine::kConvInterval, Routine::kSparseInterval,
                Routine::kGatherInterval),
         {Flag{t > 0}}, std::move(arguments));
}

void centre_term(Lowering& l, const CentreSum& step, int t, BufferId radius_in,
                 BufferId radius_out) {
  const SumPart& part = step.parts[static_cast<std::size_t>(t)];
  Arguments arguments = term_arguments(l, step.layer, t, true);
  append(arguments,
         {at(part.centre_in), at(radius_in), SumRounding{l.layer(step.layer).exact_centre},
          at(step.centre_out), at(radius_out)});
  l.part(part.kernel);
  l.call(by_map(l.term(step.layer, t).map, Routine::kConvCentre, Routine::kSparseCentre,
                Routine::kGatherCentre),
         std::move(arguments));
}

// A term's part in what the centres of rows may miss.
void term_slack(Lowering& l, const CentreSum& step, int t) {
  Arguments arguments = term_arguments(l, step.layer, t, false);
  append(arguments, {at(step.parts[static_cast<std::size_t>(t)].centre_in), at(step.slack),
                     at(step.row_slack)});
  l.call(by_map(l.term(step.layer, t).map, Routine::kConvRowSlack, Routine::kSparseRowSlack,
                Routine::kGatherRowSlack),
         std::move(arguments));
}

void start_sum(Lowering& l, const CentreSum& step, BufferId radius) {
  l.part("sum");
  l.call(Routine::kStartSum,
         {l.table(step.layer, TableKind::kBiasDouble), number(l.layer(step.layer).out),
          number(bias_run(l.plan(), step.layer)), at(step.centre_out), at(radius)});
}

}  // namespace

void lower(Lowering& l, const IntervalSum& step) {
  const Layer& layer = l.layer(step.layer);
  for (int t = 0; t < static_cast<int>(step.parts.size()); ++t) interval_term(l, step, t);
  Arguments arguments = {number(layer.out), Flag{layer.relu},
                         l.table(step.layer, TableKind::kBiasFloat),
                         number(bias_run(l.plan(), step.layer)),
                         interval_errors(step.inflate, step.magnitude, step.absolute)};
  const bool ends = step.head || layer.function;
  if (!ends) arguments.push_back(rounded_up(step.gamma, Pays::kGamma));
  append(arguments, {at(step.centre_out), at(step.radius_out)});
  if (step.head)
    append(arguments,
           {given(Array::kOutLower, step.position), given(Array::kOutUpper, step.position)});
  else if (ends)
    append(arguments, {at(step.centre_out), at(step.radius_out)});
  l.part("interval_sum");
  l.call(ends ? Routine::kWriteInterval : Routine::kFinishInterval, std::move(arguments));
  if (layer.function) interval_function(l, step);
}

void lower(Lowering& l, const IntervalMax& step) {
  Arguments arguments;
  if (!step.groups)
    arguments = {number(l.layer(step.layer).out), l.table(step.layer, 0, TableKind::kRowStart),
                 l.table(step.layer, 0, TableKind::kColumn)};
  append(arguments, {at(step.centre_in), at(step.radius_in),
                     interval_errors(step.inflate, step.magnitude, step.absolute),
                     at(step.centre_out), at(step.radius_out)});
  l.part(step.kernel);
  if (step.groups)
    l.call(Routine::kMaxIntervalGroups, {Groups{step.layer, *step.groups}}, std::move(arguments));
  else
    l.call(Routine::kMaxInterval, std::move(arguments));
}

void lower(Lowering& l, const CentreSum& step) {
  const Layer& layer = l.layer(step.layer);
  if (step.magnitudes) {
    start_sum(l, step, step.magnitudes->out);
    for (int t = 0; t < static_cast<int>(step.parts.size()); ++t) {
      magnitudes(l, step.parts[static_cast<std::size_t>(t)].centre_in, l.term(step.layer, t).in,
                 *step.magnitudes);
      centre_term(l, step, t, step.magnitudes->in, step.magnitudes->out);
    }
  }
  start_sum(l, step, step.radius_out);
  l.call(Routine::kClearSlack, {at(step.slack)});
  for (int t = 0; t < static_cast<int>(step.parts.size()); ++t) {
    const SumPart& part = step.parts[static_cast<std::size_t>(t)];
    const Term& term = l.term(step.layer, t);
    centre_term(l, step, t, part.radius_in, step.radius_out);
    l.part("centre_slack");
    l.call(Routine::kAddCentreSlack, {at(part.centre_in), at(part.radius_in), number(term.in),
                                      exact(term.row_norm, Pays::kRowNorm), at(step.slack)});
  }
  l.part("sum");
  l.call(Routine::kFinishSlack, {exact(step.centre_relative, Pays::kCentreRelative),
                                 exact(step.bias_norm, Pays::kBiasNorm),
                                 exact(step.absolute, Pays::kAbsolute), at(step.slack)});
  row_slack(l, step, l.table(step.layer, TableKind::kBiasDouble), bias_run(l.plan(), step.layer),
            [&] {
              for (int t = 0; t < static_cast<int>(step.parts.size()); ++t) term_slack(l, step, t);
            });
  if (step.magnitudes) return interval_of_neurons(l, layer.out, step);
  l.call(Routine::kIntervalAround,
         {at(step.radius_out), number(layer.out), exact(step.inflate, Pays::kInflate),
          at(step.row_slack), at(step.below), at(step.above)});
}

namespace {

// Tables of rows that choose planes. A product is a batch of sums of one product each.
template <typename PlaneStep>
void mixed_planes(Lowering& l, const PlaneStep& step, bool has_box, bool sums) {
  if (step.slopes == BufferId::kNone) return;
  const Planes planes = planes_of(l, step.layer, step.table);
  Arguments arguments = planes.extents;
  append(arguments, {Flag{has_box}, Flag{sums}, l.sources(step.layer, 0), l.sources(step.layer, 1),
                     at(step.radius_x), at(step.radius_y), planes.offsets, planes.over_x,
                     planes.over_y, plane_errors(step.product, step.offset), at(step.slopes)});
  l.call(Routine::kMixedPlanes, std::move(arguments));
}

}  // namespace

Planes planes_of(const Lowering& l, LayerId index, BufferId table) {
  const Layer& layer = l.layer(index);
  const std::int64_t out = layer.out;
  Planes made;
  if (layer.kind == LayerKind::kProduct) {
    made.shape = {layer.out, 1, 1, 1};
    made.over_x = at(table, bf::kSlopeX * out);
    made.over_y = at(table, bf::kSlopeY * out);
    made.offsets = at(table, bf::kProductUpper * out);
  } else {
    made.shape = layer.contraction;
    made.offsets = at(table);
    made.over_y = at(table, 2 * out);
    made.over_x = at(table, 2 * out + made.shape.left());
  }
  for (const int extent : {made.shape.batch, made.shape.rows, made.shape.columns, made.shape.sums})
    made.extents.push_back(number(extent));
  return made;
}

// Calls a product's routine of the interval pass in float32: EntryBuilder::interval_product().
void product_interval(Lowering& l, const RelaxProduct& step) {
  l.call(Routine::kProductInterval,
         {number(l.layer(step.layer).out), l.sources(step.layer, 0), l.sources(step.layer, 1),
          at(step.centre_x), at(step.radius_x), at(step.centre_y), at(step.radius_y),
          rounded_up(step.offset, Pays::kMagnitude), rounded_up(step.product, Pays::kGamma),
          at(step.centre_out), at(step.radius_out)});
}

void lower(Lowering& l, const RelaxProduct& step) {
  l.part(step.kernel);
  if (l.entry().buffer(step.centre_out).element == Element::kFloat32)
    return product_interval(l, step);
  l.call(Routine::kRelaxProduct,
         {number(l.layer(step.layer).out), l.sources(step.layer, 0), l.sources(step.layer, 1),
          at(step.centre_x), at(step.radius_x), at(step.centre_y), at(step.radius_y),
          exact(step.most, Pays::kMost), plane_errors(step.product, step.offset), at(step.slack),
          at(step.table), at(step.centre_out), at(step.radius_out)});
  mixed_planes(l, step, step.most > 0, false);
}

void lower(Lowering& l, const RelaxMax& step) {
  const Term& from = l.term(step.layer, 0);
  const Integer out = number(l.layer(step.layer).out);
  l.part(step.kernel);
  l.call(Routine::kRelaxMax,
         {out, l.table(step.layer, 0, TableKind::kRowStart),
          l.table(step.layer, 0, TableKind::kColumn), at(step.centre_in), at(step.radius_in),
          plane_errors(step.product, step.offset), at(step.slack), at(step.table), at(step.choice),
          at(step.centre_out), at(step.radius_out)});
  if (step.slopes != BufferId::kNone)
    l.call(Routine::kMixedMaxima, {out, l.table(step.layer, 0, TableKind::kRowStart),
                                   l.table(step.layer, 0, TableKind::kColumn), at(step.centre_in),
                                   at(step.radius_in), at(step.centre_out), at(step.radius_out),
                                   plane_errors(step.product, step.offset), at(step.slopes)});
  if (step.live != BufferId::kNone)
    l.call(Routine::kListChosen, {Image{from.input, {shape_made(l, from.input)}}, number(from.in),
                                  at(step.radius_in), out, at(step.choice), at(step.live)});
}

void lower(Lowering& l, const RelaxContraction& step) {
  const ContractionShape& shape = l.layer(step.layer).contraction;
  l.part(step.kernel);
  l.call(
      Routine::kRelaxContraction,
      {number(shape.batch), number(shape.rows), number(shape.columns), number(shape.sums),
       l.sources(step.layer, 0), l.sources(step.layer, 1), at(step.centre_x), at(step.radius_x),
       at(step.centre_y), at(step.radius_y), l.table(step.layer, TableKind::kScores),
       at(step.centre_s), at(step.radius_s), plane_errors(step.product, step.offset),
       at(step.scratch), at(step.slack), at(step.table), at(step.centre_out), at(step.radius_out)});
  mixed_planes(l, step, false, true);
}

void lower(Lowering& l, const RelaxLogSoftmax& step) {
  l.part(step.kernel);
  l.call(Routine::kRelaxLogSoftmax,
         {number(groups_of(l.layer(step.layer))), number(l.layer(step.layer).out),
          l.table(step.layer, 0, TableKind::kRowStart), l.table(step.layer, 0, TableKind::kColumn),
          at(step.centre_in), at(step.radius_in), plane_errors(step.product, step.offset),
          at(step.slack), at(step.table), at(step.centre_out), at(step.radius_out)});
}

void lower(Lowering& l, const MeetBall& step) {
  const Layer& layer = l.layer(step.layer);
  const bool dense = layer.kind == LayerKind::kDense;
  l.part("meet_ball");
  for (std::size_t t = 0; t < step.terms.size(); ++t) {
    const BallTerm& term = step.terms[t];
    const BallNorms& norms = dense ? layer.ball : layer.terms[t].ball;
    l.call(
        Routine::kBallTerm,
        {number(dense ? layer.in : layer.terms[t].in), at(term.radius_in), at(term.reach_in),
         exact(term.inflate, Pays::kInflate), exact(norms.norm, Pays::kRowNorm), number(layer.out),
         l.table(step.layer, dense ? -1 : static_cast<int>(t), TableKind::kRowNorm), Flag{t > 0},
         at(step.reach), at(step.half)});
  }
  l.call(Routine::kMeetBall, {number(layer.out), at(step.half), at(step.row_slack), at(step.below),
                              at(step.above), at(step.reach)});
}

}  // namespace bf_aot::calls
