#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/lowering/lower_rows.h"

// Rows that choose lines of the ReLUs and functions that they pass: a loop of bounds and steps for
// each tile.

namespace bf_aot::calls {
namespace {

BufferId values_of(const BackwardRows& step, LayerId tensor) {
  if (tensor < 0) return step.input_values;
  const auto link = std::ranges::find(step.links, tensor, &BackwardLink::layer);
  BF_CHECK(link != step.links.end());
  return link->values;
}

// Null tables are of layers whose lines are fixed.
void start_slopes(Lowering& l, const BackwardRows& step) {
  for (const BackwardLink& link : step.links) {
    if (link.slopes.table == BufferId::kNone) continue;
    const Layer& layer = l.layer(link.layer);
    if (layer.kind == LayerKind::kMax)  // no candidate has a share but the chosen one
      l.call(Routine::kClearRows, rows_of(step),
             {number(choice_count(layer)), slopes_of(l, step, link)});
    else if (!layer.relu)
      l.call(Routine::kStartShares, rows_of(step), {number(layer.out), slopes_of(l, step, link)});
    else
      l.call(Routine::kStartSlopes, rows_of(step),
             {number(layer.out), at(link.table), slopes_of(l, step, link)});
  }
}

void clear_moments(Lowering& l, const BackwardRows& step) {
  for (const BackwardLink& link : step.links)
    if (link.slopes.table != BufferId::kNone && link.slopes.mean != BufferId::kNone)
      l.call(Routine::kClearMoments, rows_of(step),
             {number(choice_count(l.layer(link.layer))), at(link.slopes.mean),
              at(link.slopes.square)});
}

void forward_term(Lowering& l, const BackwardRows& step, const BackwardLink& link, int t) {
  const Term& term = l.term(link.layer, t);
  const auto table = [&](TableKind kind) { return l.table(link.layer, t, kind); };
  const Integer out = number(l.layer(link.layer).out);
  Arguments arguments;
  Routine routine = Routine::kGatherValues;
  if (std::holds_alternative<ConvMap>(term.map)) {
    routine = Routine::kConvValues;
    arguments = {Shape{link.layer, t}, table(TableKind::kWeight)};
  } else if (std::holds_alternative<SparseMap>(term.map)) {
    routine = Routine::kSparseValues;
    arguments = {out, table(TableKind::kRowStart), table(TableKind::kColumn),
                 table(TableKind::kWeight)};
  } else {
    arguments = {out, l.sources(link.layer, t)};
  }
  append(arguments, {at(values_of(step, term.input)), Flag{t > 0}, at(link.values)});
  l.call(routine, rows_of(step), std::move(arguments));
}

void forward(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  const Layer& layer = l.layer(link.layer);
  if (layer.kind == LayerKind::kDense)
    return l.call(Routine::kDenseValues, rows_of(step),
                  {l.table(link.layer, TableKind::kWeight), number(layer.in), number(layer.out),
                   number(l.plan().layout(link.layer).panel), at(values_of(step, layer.input)),
                   at(link.values)});
  for (int t = 0; t < static_cast<int>(layer.terms.size()); ++t) forward_term(l, step, link, t);
}

// The chosen lines at the point; better slopes.
void follow_lines(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  const Integer n = number(l.layer(link.layer).out);
  const LinkSlopes& slopes = link.slopes;
  if (slopes.table == BufferId::kNone)
    l.call(Routine::kLineValues, rows_of(step),
           {n, at(link.table), at(link.coefficients_in), at(link.values)});
  else
    l.call(l.layer(link.layer).function ? Routine::kStepShares : Routine::kStepSlopes,
           rows_of(step),
           {n, at(slopes.table), Local::kAscent, at(link.coefficients_in), slopes_of(l, step, link),
            at(slopes.mean), at(slopes.square), at(link.values)});
}

// The chosen planes of products at the point; better ones.
void follow_planes(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  const Planes planes = planes_of(l, link.layer, link.table);
  Arguments arguments = planes.extents;
  append(arguments,
         {l.sources(link.layer, 0), l.sources(link.layer, 1), planes.over_x, planes.over_y,
          at(link.slopes.table), Local::kAscent, at(values_of(step, l.term(link.layer, 0).input)),
          at(values_of(step, l.term(link.layer, 1).input)), at(link.coefficients_in),
          slopes_of(l, step, link), at(link.slopes.mean), at(link.slopes.square), at(link.values)});
  l.call(Routine::kStepPlanes, rows_of(step), std::move(arguments));
}

// Computes one layer's values at the rows' points.
void walk(Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  const Layer& layer = l.layer(link.layer);
  const Integer n = number(layer.out);
  const auto values = [&](int t) { return at(values_of(step, l.term(link.layer, t).input)); };
  if (layer.is_affine()) {
    forward(l, step, link);
    follow_lines(l, step, link);
  } else if (layer.kind == LayerKind::kProduct || layer.kind == LayerKind::kContraction) {
    follow_planes(l, step, link);
  } else if (layer.kind == LayerKind::kLogSoftmax) {
    l.call(
        Routine::kLogSoftmaxValues, rows_of(step),
        {number(groups_of(l.layer(link.layer))), number(l.layer(link.layer).out),
         l.table(link.layer, 0, TableKind::kRowStart), l.table(link.layer, 0, TableKind::kColumn),
         at(link.table), values(0), at(link.coefficients_in), at(link.values)});
  } else {
    l.call(
        Routine::kStepMaxima, rows_of(step),
        {n, l.table(link.layer, 0, TableKind::kRowStart),
         l.table(link.layer, 0, TableKind::kColumn), at(link.table), at(link.choice),
         at(link.slopes.table), Local::kAscent, values(0), at(link.coefficients_in),
         slopes_of(l, step, link), at(link.slopes.mean), at(link.slopes.square), at(link.values)});
  }
}

void better_slopes(Lowering& l, const BackwardRows& step) {
  l.call(Routine::kCornerValues, rows_of(step),
         {number(l.plan().input_count), at(step.input_radius), at(step.input_coefficients),
          at(step.input_values)});
  for (auto link = step.links.rbegin(); link != step.links.rend(); ++link)
    if (link->values != BufferId::kNone) walk(l, step, *link);
}

}  // namespace

// Slopes that are kept lie apart for each tile.
Place slopes_of(const Lowering& l, const BackwardRows& step, const BackwardLink& link) {
  if (step.warm_iterations == 0) return {link.slopes.slope};
  return at_first(link.slopes.slope, 2 * choice_count(l.layer(link.layer)));
}

void choose_slopes(Lowering& l, const BackwardRows& step) {
  l.part("choose_slopes");
  if (step.warm_iterations > 0)
    l.add({ColdStart{l.within([&] { start_slopes(l, step); })}});
  else
    start_slopes(l, step);
  clear_moments(l, step);
  Iterations iterations{step.iterations, step.warm_iterations, {}, {}};
  iterations.rows = l.within([&] { rows_once(l, step); });
  if (step.iterations > 1) iterations.better = l.within([&] { better_slopes(l, step); });
  l.add({std::move(iterations)});
}

}  // namespace bf_aot::calls
