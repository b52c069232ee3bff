#include "frontend/diagnostic.h"
#include "planner/lowering/lower_rows.h"

// Links of backward rows, and their starts through the terms of a sum.

namespace bf_aot::calls {
namespace {

// The first link, from the rows' own weights.
void first_link(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  const Layer& layer = l.layer(link.layer);
  const Kernel& how = l.kernel(link.kernel);
  const int start_panel = l.plan().layout(step.layer).panel;
  l.call(Routine::kFirstLink,
         {number(step.tile / 2), number(layer.in), number(layer.out), number(how.panel),
          number(start_panel), number(how.schedule.chunk), Flag{link.live_out != BufferId::kNone}},
         {l.table(step.layer, TableKind::kWeight), at_first(step.neurons),
          l.table(link.layer, TableKind::kWeight), at(link.table), at(step.sums),
          at(link.coefficients_out), at(link.live_out)});
}

void lower_dense(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  l.part(link.kernel);
  if (step.iterations > 0) {
    relax_link(l, step, link, l.kernel(link.relax));
    l.call(KernelCall{link.kernel}, {l.table(link.layer, TableKind::kWeight), at(relaxed_of(link)),
                                     at(link.coefficients_out)});
  } else if (link.coefficients_in == BufferId::kNone) {
    first_link(l, step, link);
  } else {
    Arguments arguments = {l.table(link.layer, TableKind::kWeight), at(link.table),
                           at(link.coefficients_in), at(step.sums), at(link.coefficients_out)};
    for (const BufferId list : {link.live_in, link.live_out})
      if (list != BufferId::kNone) arguments.push_back(at(list));
    l.call(KernelCall{link.kernel}, std::move(arguments));
  }
  if (link.sum == BufferId::kNone) return;
  l.part("add_rows");
  l.call(Routine::kAddRows, {number(step.tile * l.entry().boxes)},
         {number(l.layer(link.layer).in), at(link.coefficients_out), at(link.sum)});
}

void conv_link(Lowering& l, const BackwardRows& step, const BackwardLink& link,
               const BackwardOut& out) {
  const LayerId input = l.term(link.layer, out.term).input;
  const Schedule& schedule = l.kernel(out.kernel).schedule;
  Shape shape = rows_shape(l, step, link.layer, out.term, false);
  const Window made = window_or_whole(step, link.layer, Window::Of::kOutput, shape);
  const Window read = window_or_whole(step, input, Window::Of::kInput, shape);
  shape.type = true;
  std::vector<TemplateArgument> constants = {number(step.tile), Flag{l.kernel(out.kernel).wide}};
  if (schedule.pixels > 0)
    constants.push_back(Tile{schedule.columns, schedule.pixels, schedule.last_columns});

  Arguments arguments = {shape, l.table(link.layer, out.term, TableKind::kWeight),
                         at(relaxed_of(link))};
  if (out.live) arguments.push_back(live_of(step, link.layer));
  arguments.push_back(made);
  if (out.spread) {
    append(arguments, {Strides{{input, {}}, false}, at(step.input_radius), spread_of(step), read});
    return l.call(out.live ? Routine::kConvSpreadLive : Routine::kConvSpread, std::move(constants),
                  std::move(arguments));
  }
  append(arguments, {Flag{out.add}, at(out.coefficients)});
  if (out.live) arguments.push_back(live_of(step, input));
  arguments.push_back(read);
  l.call(out.live ? Routine::kConvBackwardLive : Routine::kConvBackward, std::move(constants),
         std::move(arguments));
}

// The identity between tensors one or both of which have windows.
void window_link(Lowering& l, const BackwardRows& step, const BackwardLink& link,
                 const BackwardOut& out) {
  const Term& term = l.term(link.layer, out.term);
  const bool same = clear_window(l, step, term.input, out);
  if (!same && !out.add)
    l.call(Routine::kClearRows, rows_of(step), {number(term.in), at(out.coefficients)});
  if (out.live) return add_live(l, step, link, term.input, out.coefficients);
  Arguments arguments = window_of(step, link.layer);
  append(arguments, {at(relaxed_of(link)), at(out.coefficients)});
  l.call(same ? Routine::kAddWindow : Routine::kSpreadWindow, rows_of(step), std::move(arguments));
}

void term_link(Lowering& l, const BackwardRows& step, const BackwardLink& link,
               const BackwardOut& out) {
  const Term& term = l.term(link.layer, out.term);
  const auto table = [&](TableKind kind) { return l.table(link.layer, out.term, kind); };
  l.part(out.kernel);
  if (std::holds_alternative<ConvMap>(term.map)) return conv_link(l, step, link, out);
  if (find_image(step, link.layer) != nullptr) return window_link(l, step, link, out);
  const bool sparse = std::holds_alternative<SparseMap>(term.map);
  Arguments arguments = {number(l.layer(link.layer).out)};
  if (sparse)
    append(arguments,
           {table(TableKind::kRowStart), table(TableKind::kColumn), table(TableKind::kWeight)});
  else
    arguments.push_back(l.sources(link.layer, out.term));
  append(arguments, {number(term.in), at(relaxed_of(link)), Flag{out.add}, at(out.coefficients)});
  l.call(sparse ? Routine::kSparseBackward : Routine::kGatherBackward, rows_of(step),
         std::move(arguments));
}

void lower_sum(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  l.part(link.kernel);
  relax_link(l, step, link, l.kernel(link.kernel));
  for (const BackwardOut& out : link.outs) term_link(l, step, link, out);
}

// Rows through planes of products that they choose.
void choose_planes(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  const Layer& layer = l.layer(link.layer);
  const Planes planes = planes_of(l, link.layer, link.table);
  const ContractionShape& shape = planes.shape;
  l.part(link.kernel);
  l.call(Routine::kProductRows, rows_of(step),
         {number(layer.out), at(link.slopes.table), at(link.coefficients_in), at(step.sums)});
  const std::int64_t radii_y = 2 * std::int64_t{layer.out}, radii_x = radii_y + shape.right();
  for (const BackwardOut& out : link.outs) {
    const bool first = out.term == 0;
    l.part(out.kernel);
    l.call(Routine::kMixedPlanesBackward, rows_of(step),
           {number(shape.batch), number(first ? shape.rows : shape.columns),
            number(first ? shape.columns : shape.rows), number(shape.sums), Flag{first},
            l.sources(link.layer, out.term), first ? planes.over_x : planes.over_y,
            at(link.slopes.table, first ? radii_y : radii_x), slopes_of(l, step, link),
            number(layer.term(out.term).in), at(link.coefficients_in), Flag{out.add},
            at(out.coefficients)});
  }
}

void lower_product(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  if (link.slopes.table != BufferId::kNone) return choose_planes(l, step, link);
  const int n = l.layer(link.layer).out;
  l.part(link.kernel);
  l.call(Routine::kProductRows, rows_of(step),
         {number(n), at(link.table, std::int64_t{bf::kProductUpper} * n), at(link.coefficients_in),
          at(step.sums)});
  for (const BackwardOut& out : link.outs)
    l.call(Routine::kProductBackward, rows_of(step),
           {number(n), l.sources(link.layer, out.term),
            at(link.table, std::int64_t{out.term == 0 ? bf::kUpperSlopeX : bf::kUpperSlopeY} * n),
            number(l.term(link.layer, out.term).in), at(link.coefficients_in), Flag{out.add},
            at(out.coefficients)});
}

void lower_max(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  const BackwardOut& out = link.outs.at(0);
  const Term& from = l.term(link.layer, out.term);
  l.part(out.kernel);
  if (link.slopes.table != BufferId::kNone)
    return l.call(Routine::kMixedMaximaBackward, rows_of(step),
                  {number(l.layer(link.layer).out), l.table(link.layer, 0, TableKind::kRowStart),
                   l.table(link.layer, 0, TableKind::kColumn), at(link.table), at(link.choice),
                   at(link.slopes.table), slopes_of(l, step, link), number(from.in),
                   at(link.coefficients_in), Flag{out.add}, at(out.coefficients), at(step.sums)});
  const bool listed = !out.add && clear_live(l, step, from.input, out.coefficients);
  l.call(Routine::kMaxBackward, rows_of(step),
         {number(l.layer(link.layer).out), at(link.table), at(link.choice), number(from.in),
          at(link.coefficients_in), Flag{out.add || listed}, at(out.coefficients), at(step.sums)});
}

void lower_contraction(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  if (link.slopes.table != BufferId::kNone) return choose_planes(l, step, link);
  const Layer& layer = l.layer(link.layer);
  const ContractionShape& shape = layer.contraction;
  l.part(link.kernel);
  l.call(Routine::kProductRows, rows_of(step),
         {number(layer.out), at(link.table), at(link.coefficients_in), at(step.sums)});
  const std::int64_t left = 2 * std::int64_t{layer.out} + shape.left() + shape.right();
  const std::int64_t right = left + 3 * shape.left();
  for (const BackwardOut& out : link.outs) {
    const bool first = out.term == 0;
    const std::int64_t own = first ? left : right, of_own = first ? shape.left() : shape.right();
    const std::int64_t other = first ? right : left;
    const std::int64_t of_other = first ? shape.right() : shape.left();
    l.part(out.kernel);
    l.call(
        Routine::kContractionBackward, rows_of(step),
        {number(shape.batch), number(first ? shape.rows : shape.columns),
         number(first ? shape.columns : shape.rows), number(shape.sums), Flag{first},
         l.sources(link.layer, out.term), at(link.table, other), at(link.table, other + of_other),
         at(link.table, own + 2 * of_own), number(layer.term(out.term).in),
         at(link.coefficients_in), Flag{out.add}, at(out.coefficients)});
  }
}

void lower_log_softmax(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  const BackwardOut& out = link.outs.at(0);
  l.part(out.kernel);
  l.call(Routine::kLogSoftmaxBackward, rows_of(step),
         {number(groups_of(l.layer(link.layer))), number(l.layer(link.layer).out),
          l.table(link.layer, 0, TableKind::kRowStart), l.table(link.layer, 0, TableKind::kColumn),
          at(link.table), number(l.term(link.layer, out.term).in), at(link.coefficients_in),
          Flag{out.add}, at(out.coefficients), at(step.sums)});
}

}  // namespace

void start_term(Lowering& l, const BackwardRows& step, const BackwardOut& out) {
  const Term& term = l.term(step.layer, out.term);
  const auto table = [&](TableKind kind) { return l.table(step.layer, out.term, kind); };
  const Place neurons = at_first(step.neurons);
  l.part(out.kernel);
  const bool window = clear_window(l, step, term.input, out);
  if (window && std::holds_alternative<GatherMap>(term.map))
    return l.call(Routine::kIdentityStart, rows_of(step),
                  {Image{term.input, {}}, neurons, at(out.coefficients)});
  Arguments arguments;
  Routine routine = Routine::kGatherStart;
  if (std::holds_alternative<ConvMap>(term.map)) {
    routine = Routine::kConvStart;
    arguments = {rows_shape(l, step, step.layer, out.term, true), table(TableKind::kWeight)};
  } else if (std::holds_alternative<SparseMap>(term.map)) {
    routine = Routine::kSparseStart;
    arguments = {table(TableKind::kRowStart), table(TableKind::kColumn), table(TableKind::kWeight),
                 number(term.in)};
  } else {
    arguments = {l.sources(step.layer, out.term), number(term.in)};
  }
  append(arguments, {neurons, Flag{window || out.add}, at(out.coefficients)});
  l.call(routine, rows_of(step), std::move(arguments));
}

void lower_link(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  switch (l.layer(link.layer).kind) {
    case LayerKind::kDense:
      return lower_dense(l, step, link);
    case LayerKind::kSum:
      return lower_sum(l, step, link);
    case LayerKind::kProduct:
      return lower_product(l, step, link);
    case LayerKind::kMax:
      return lower_max(l, step, link);
    case LayerKind::kLogSoftmax:
      return lower_log_softmax(l, step, link);
    case LayerKind::kContraction:
      return lower_contraction(l, step, link);
  }
  BF_CHECK(false);
}

void ball_gain(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  if (link.ball.reach == BufferId::kNone) return;
  l.part("ball_gain");
  l.call(Routine::kBallGain, rows_of(step),
         {number(l.layer(link.layer).out), at(link.ball.centre), at(link.ball.below),
          at(link.ball.above), at(link.table), at(link.ball.reach), at(link.coefficients_in),
          at(step.gain)});
}

}  // namespace bf_aot::calls
