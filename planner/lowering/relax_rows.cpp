#include <algorithm>

#include "planner/lowering/dead_zeros.h"
#include "planner/lowering/lower_rows.h"

// Coefficients through relaxations, and by lists of live channels: docs/proofs/live-pixels.md.

namespace bf_aot::calls {
namespace {

// The image of a layer with a list, where its coefficients are, and which of its pixels have some.
Arguments row_image(const Lowering& l, const BackwardRows& step, LayerId index) {
  if (find_image(step, index) != nullptr) {
    const Image image = {index, {}};
    return {image, Strides{image, true}, Window{Window::Of::kTensor, index, {}}};
  }
  const Shape shape = shape_made(l, index);
  const Image image = {index, {shape}};
  return {image, Strides{image, false}, Window{Window::Of::kOutput, index, shape}};
}

Zeros::Where where_of(DeadZeros zeros) {
  switch (zeros) {
    case DeadZeros::kNever:
      return Zeros::Where::kNowhere;
    case DeadZeros::kWhereMany:
      return Zeros::Where::kWhereMany;
    case DeadZeros::kAlways:
      break;
  }
  return Zeros::Where::kEverywhere;
}

void relax_live(Lowering& l, const BackwardRows& step, const BackwardLink& link,
                const Argument& offsets) {
  Arguments arguments = row_image(l, step, link.layer);
  append(arguments,
         {number(l.layer(link.layer).out), at(link.table), offsets, live_of(step, link.layer),
          Zeros{where_of(dead_zeros(l.plan(), step, link)), link.live}, at(link.coefficients_in),
          at(relaxed_of(link)), at(step.sums)});
  l.call(Routine::kRelaxPixels, rows_of(step), std::move(arguments));
}

}  // namespace

BufferId relaxed_of(const BackwardLink& link) {
  return link.relaxed == BufferId::kNone ? link.coefficients_in : link.relaxed;
}

void relax_link(Lowering& l, const BackwardRows& step, const BackwardLink& link,
                const Kernel& how) {
  const int n = l.layer(link.layer).out;
  const auto row = [&](BufferId id, int r) { return at(id, std::int64_t{r} * n); };
  const Argument from = at(link.coefficients_in), to = at(relaxed_of(link));
  const Argument offsets = row(link.table, how.wide ? bf::kWideOffsetUpper : bf::kOffsetUpper);
  if (link.live != BufferId::kNone) return relax_live(l, step, link, offsets);
  Arguments arguments = window_of(step, link.layer);
  const bool window = !arguments.empty();
  if (window || link.slopes.table == BufferId::kNone) {
    append(arguments, {number(n), at(link.table), offsets, from, to, at(step.sums)});
    return l.call(window ? Routine::kRelaxWindow : Routine::kRelaxRows, rows_of(step),
                  std::move(arguments));
  }
  if (l.layer(link.layer).function)
    return l.call(Routine::kRelaxMixtures, rows_of(step),
                  {number(n), at(link.slopes.table),
                   number(how.wide ? bf::kKnotWideUpper : bf::kKnotOffsetUpper),
                   slopes_of(l, step, link), from, to, at(step.sums)});
  l.call(Routine::kRelaxFreeRows, rows_of(step),
         {number(n), at(link.slopes.table),
          row(link.slopes.table, how.wide ? bf::kFreeWideUpper : bf::kFreeOffsetUpper),
          slopes_of(l, step, link), from, to, at(step.sums)});
}

Live live_of(const BackwardRows& step, LayerId tensor) {
  const auto link = std::ranges::find(step.links, tensor, &BackwardLink::layer);
  return {link == step.links.end() ? BufferId::kNone : link->live};
}

bool clear_live(Lowering& l, const BackwardRows& step, LayerId tensor, BufferId coefficients) {
  const Live live = live_of(step, tensor);
  if (live.list == BufferId::kNone) return false;
  Arguments arguments = row_image(l, step, tensor);
  append(arguments, {live, at(coefficients)});
  l.call(Routine::kClearLive, rows_of(step), std::move(arguments));
  return true;
}

void add_live(Lowering& l, const BackwardRows& step, const BackwardLink& link, LayerId input,
              BufferId to) {
  const Image image = {link.layer, {}};
  l.call(Routine::kAddLive, rows_of(step),
         {image, Strides{image, find_image(step, input) != nullptr},
          Window{Window::Of::kTensor, link.layer, {}}, live_of(step, link.layer),
          at(relaxed_of(link)), at(to)});
}

}  // namespace bf_aot::calls
