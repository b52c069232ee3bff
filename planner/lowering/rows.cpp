#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/lowering/lower_rows.h"

// Backward rows: a loop over tiles of neurons, or over rounds of several boxes.

namespace bf_aot::calls {
namespace {

// Neighbours in an image follow each other, where rows have windows.
Call row_list(const Lowering& l, const BackwardRows& step) {
  const Layer& layer = l.layer(step.layer);
  const Integer n = number(layer.out);
  const bool inexact = step.unstable_only && layer.function;
  if (find_image(step, step.layer) != nullptr) {
    Listed open;
    if (step.unstable_only) open = {false, {}, step.centre, step.below, step.above};
    if (inexact) open.function = {FunctionOf{*layer.function}};
    return {Routine::kListImage, {}, {Image{step.layer, {}}, open, at(step.neurons)}};
  }
  if (!step.unstable_only) return {Routine::kListAll, {}, {n, at(step.neurons)}};
  Arguments arguments;
  if (inexact) arguments.push_back(FunctionOf{*layer.function});
  append(arguments, {at(step.centre), at(step.below), at(step.above), n, at(step.neurons)});
  return {inexact ? Routine::kListInexact : Routine::kListUnstable, {}, std::move(arguments)};
}

Call box_row_list(const Lowering& l, const BackwardRows& step) {
  const Integer n = number(l.layer(step.layer).out);
  const std::vector<TemplateArgument> boxes = {number(l.entry().boxes)};
  if (!step.unstable_only) return {Routine::kListAllBoxes, boxes, {n, at(step.neurons)}};
  return {Routine::kListUnstableBoxes,
          boxes,
          {at(step.centre), at(step.below), at(step.above), n, at(step.neurons)}};
}

DefineRowErrors row_errors(const Lowering& l, const BackwardRows& step) {
  DefineRowErrors errors;
  errors.concretize = exact(step.concretize_inflate, Pays::kConcretize);
  errors.weight = exact(step.weight_relative, Pays::kWeightRelative);
  errors.inflate = exact(step.inflate, Pays::kInflate);
  errors.underflow = exact(step.underflow, Pays::kUnderflow);
  errors.row_slack = step.row_slack;
  errors.inputs = l.plan().input_count;
  for (const BackwardLink& link : step.links) errors.links.push_back(link.slack);
  errors.boxes = l.entry().boxes;
  return errors;
}

// The neurons to bound, and what every row of theirs loses.
void list_rows(Lowering& l, const BackwardRows& step) {
  l.part("list_rows");
  l.add({DefineRows{row_list(l, step), 1}});
  l.call(Routine::kPadList, {at(step.neurons), Local::kCount, number(step.tile / 2)});
  l.add({row_errors(l, step)});
}

// A worker's own, in order.
std::vector<BufferId> buffers_of_tile(const Lowering& l, const BackwardRows& step) {
  std::vector<BufferId> buffers = access_of(step).writes;
  std::erase_if(buffers, [&](BufferId id) { return !l.entry().buffer(id).per_worker; });
  std::ranges::sort(buffers);
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  return buffers;
}

// Marks the lifetimes of buffers that live as long as a tile; called before it and after it.
void lifetimes_of_tile(Lowering& l, const std::vector<BufferId>& own) {
  for (const BufferId id : own)
    if (const Buffer& buffer = l.entry().buffer(id);
        !l.lives_in_a_round(buffer) && buffer.scope == CacheScope::kRun)
      l.add({Lifetime{id}});
}

// Carries one tile of rows, by the code of the smaller tile where that holds what is left.
void rows_of_tile(Lowering& l, const BackwardRows& step) {
  if (step.last.empty()) return rows_once(l, step);
  const BackwardRows& last = step.last.front();
  Body fits = l.within([&] { rows_once(l, last); });
  Body other = l.within([&] { rows_once(l, step); });
  l.add({IfFits{last.tile / 2, std::move(fits), std::move(other)}});
}

Tiles tiles_of(Lowering& l, const BackwardRows& step) {
  Tiles tiles{step.tile / 2, l.entry().workers > 1, {}, {}};
  if (tiles.workers) tiles.own = buffers_of_tile(l, step);
  tiles.body = l.within([&] {
    l.ask();
    lifetimes_of_tile(l, tiles.own);
    if (step.iterations > 0)
      choose_slopes(l, step);
    else
      rows_of_tile(l, step);
    lifetimes_of_tile(l, tiles.own);
  });
  return tiles;
}

// Makes the coefficients that the first link reads from the rows' weights.
void start_rows(Lowering& l, const BackwardRows& step, Argument neurons, int pairs) {
  l.part(step.start);
  Arguments arguments = {l.table(step.layer, TableKind::kWeight), number(l.layer(step.layer).in),
                         number(l.kernel(step.start).panel), std::move(neurons),
                         at(step.coefficients)};
  if (step.live_in != BufferId::kNone) arguments.push_back(at(step.live_in));
  l.call(Routine::kStartRows, {number(pairs)}, std::move(arguments));
}

void all_links(Lowering& l, const BackwardRows& step) {
  for (int i = 0; i < static_cast<int>(step.links.size()); ++i) {
    const BackwardLink& link = step.links[static_cast<std::size_t>(i)];
    l.begin(i + 1, true);
    for (const RepeatedStep& repeated : link.remake)
      std::visit([&](const auto& s) { lower(l, s); }, repeated);
    ball_gain(l, step, link);
    lower_link(l, step, link);
    l.end(i + 1, true);
  }
}

// The rows' sums over the input's set, from their coefficients.
void concretize(Lowering& l, const BackwardRows& step) {
  l.part(step.concretize);
  if (const std::int64_t size = l.plan().one_hot.size; size > 0) {
    BF_CHECK(step.images.empty() && l.entry().boxes == 1);
    return l.call(Routine::kConcretizeOneHot, rows_of(step),
                  {at(step.input_coefficients), at(step.input_radius), number(l.plan().input_count),
                   number(size), exact(step.one_hot_slack, Pays::kConcretize), at(step.sums),
                   at(step.sums, step.tile)});
  }
  if (const Norm norm = l.plan().config.norm; norm != Norm::kLargest) {
    BF_CHECK(step.images.empty() && l.entry().boxes == 1);
    return l.call(norm == Norm::kEuclid ? Routine::kConcretizeEuclid : Routine::kConcretizeSum,
                  rows_of(step),
                  {at(step.input_coefficients), at(step.input_radius), number(l.plan().input_count),
                   at(step.sums, step.tile)});
  }
  Arguments arguments = window_of(step, -1);
  const bool window = !arguments.empty();
  append(arguments, {at(step.input_coefficients), at(step.input_radius)});
  arguments.push_back(at(step.sums, std::int64_t{step.tile} * l.entry().boxes));
  if (window)
    l.call(Routine::kConcretizeWindow, rows_of(step), std::move(arguments));
  else
    l.call(KernelCall{step.concretize}, std::move(arguments));
}

// A round: the rows of a neuron of each box.
void box_rows_once(Lowering& l, const BackwardRows& step) {
  const int boxes = l.entry().boxes;
  const int end = op_count(step) - 1;
  const Place neurons = {step.neurons, 0, Variable::kRound, boxes};
  BF_CHECK(l.layer(step.layer).kind == LayerKind::kDense && step.tile == 2);
  l.begin(0, true);
  start_rows(l, step, neurons, boxes);
  l.add({Clear{step.sums, std::int64_t{step.tile} * boxes}});
  l.end(0, true);
  all_links(l, step);
  l.begin(end, true);
  concretize(l, step);
  const bool spec = is_spec(l.entry().kind);
  if (step.kept_position >= 0)
    l.call(Routine::kKeepCoefficientsOfBoxes,
           {Local::kGroup, neurons, number(l.plan().input_count), at(step.input_coefficients),
            at(step.sums), Local::kErrors, Local::kAbsolute, at(step.radius), at(step.centre),
            number(step.kept_position),
            OutputStride{spec, spec ? l.plan().spec_rows : l.plan().output_count},
            given(Array::kCoefficients)});
  l.part("tighten_rows");
  l.call(Routine::kTightenBoxes, {number(boxes)},
         {Local::kRows, Local::kRound, neurons, at(step.sums), Local::kErrors, Local::kAbsolute,
          at(step.radius), at(step.below), at(step.above)});
  l.end(end, true);
}

void box_rows(Lowering& l, const BackwardRows& step) {
  l.part("list_rows");
  l.add({DefineRows{box_row_list(l, step), l.entry().boxes}});
  l.add({row_errors(l, step)});
  Body body = l.within([&] { box_rows_once(l, step); });
  l.add({Rounds{step.neurons, l.entry().boxes, std::move(body)}});
}

}  // namespace

std::vector<TemplateArgument> rows_of(const BackwardRows& step) {
  return {number(step.tile)};
}

Argument spread_of(const BackwardRows& step) {
  return at(step.sums, step.tile);
}

namespace {

void all_of_a_tile(Lowering& l, const BackwardRows& step) {
  const int pairs = step.tile / 2;
  const int end = op_count(step) - 1;
  const Place neurons = at_first(step.neurons);
  l.begin(0, true);
  define_windows(l, step);
  if (l.layer(step.layer).kind == LayerKind::kDense && !starts_in_first_link(step))
    start_rows(l, step, neurons, pairs);
  for (const BackwardOut& out : step.starts) start_term(l, step, out);
  l.add({Clear{step.sums, step.tile}});
  if (step.gain != BufferId::kNone) l.add({Clear{step.gain, step.tile}});
  l.end(0, true);
  all_links(l, step);
  l.begin(end, true);
  if (step.input_coefficients != BufferId::kNone) concretize(l, step);
  if (step.gain != BufferId::kNone)
    l.call(Routine::kTakeBallGain, rows_of(step), {at(step.gain), at(step.sums)});
  if (step.kept_position >= 0)
    l.call(Routine::kKeepCoefficients,
           {neurons, Left{pairs}, number(pairs), number(l.plan().input_count),
            at(step.input_coefficients), at(step.sums), Local::kErrors, at(step.radius),
            at(step.centre), number(step.kept_position), given(Array::kCoefficients)});
  l.part("tighten_rows");
  l.call(Routine::kTightenRows, {neurons, Left{pairs}, number(pairs), at(step.sums), Local::kErrors,
                                 at(step.radius), at(step.below), at(step.above)});
  l.end(end, true);
}

}  // namespace

void rows_once(Lowering& l, const BackwardRows& step) {
  Body body = l.within([&] { all_of_a_tile(l, step); });
  drop_unread_windows(body);
  for (Node& node : body) l.add(std::move(node));
}

void lower(Lowering& l, const BackwardRows& step) {
  const int end = op_count(step) - 1;
  Body body = l.within([&] {
    l.begin(0);
    if (l.entry().boxes > 1) {
      box_rows(l, step);
    } else {
      define_images(l, step);
      list_rows(l, step);
      l.add({tiles_of(l, step)});
    }
    l.end(end);
  });
  drop_unread_images(body);
  l.add({Block{std::move(body)}});
}

}  // namespace bf_aot::calls
