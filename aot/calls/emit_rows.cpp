#include <fmt/format.h>

#include <algorithm>

#include "aot/calls/emit_terms.h"
#include "aot/calls/step_emitter.h"
#include "aot/text/literals.h"
#include "frontend/diagnostic.h"
#include "planner/entries/row_images.h"

// Backward rows: a loop over tiles of neurons, with a call or two per link.

namespace bf_aot {
std::string row_routine(const std::string& function, const BackwardRows& step) {
  return fmt::format("bf::{}<{}>", function, step.tile);
}

// Lists the neurons to bound: neighbours in an image together, where rows have windows.
std::string StepEmitter::row_list(const BackwardRows& step) const {
  const Layer& region = layer(step.layer);
  const std::string n = std::to_string(region.out);
  const std::string rows = name(step.neurons);
  const std::string bounds =
      fmt::format("{}, {}, {}", name(step.centre), name(step.below), name(step.above));
  const bool inexact = step.unstable_only && region.function;
  const std::string function =
      inexact ? function_table_name(plan_, *region.function) + ", " : std::string();
  if (find_image(step, step.layer) == nullptr) {
    if (!step.unstable_only) return fmt::format("bf::list_all({}, {})", n, rows);
    return fmt::format("bf::list_{}({}{}, {}, {})", inexact ? "inexact" : "unstable", function,
                       bounds, n, rows);
  }
  std::string open = "[](int) { return true; }";
  if (step.unstable_only)
    open = fmt::format("[&](int j) {{ return bf::is_{}({}{}, j); }}",
                       inexact ? "inexact" : "unstable", function, bounds);
  return fmt::format("bf::list_image(image{}, {}, {})", step.layer + 1, open, rows);
}

// The neurons to bound, and what every row of theirs loses.
void StepEmitter::list_rows(const BackwardRows& step) {
  const std::string rows = name(step.neurons);
  std::string underflow = std::to_string(plan_.input_count);
  for (const BackwardLink& link : step.links)
    underflow += fmt::format(" + {}[2]", name(link.slack));
  mark("list_rows");
  line(fmt::format("const int count = {};", row_list(step)));
  line(fmt::format("bf::pad_list({}, count, {});", rows, step.tile / 2));
  line(fmt::format("const bf::RowErrors errors{{{}, {}, {},",
                   double_literal(step.concretize_inflate), double_literal(step.weight_relative),
                   double_literal(step.inflate)));
  line(fmt::format("                           {}[0] + {} * ({})}};", name(step.slack),
                   double_literal(step.underflow), underflow));
}

void StepEmitter::emit(const BackwardRows& step) {
  const int end = op_count(step) - 1;
  line("{");
  ++depth_;
  poison_new(0);
  declare_images(step);
  list_rows(step);
  open_tile(step);
  if (step.iterations > 0)
    optimise(step);
  else
    rows_of_tile(step);
  close_tile(step);
  poison_dead(end);
  --depth_;
  line("}");
}

// The loop over tiles, or what a worker does for one of them.
void StepEmitter::open_tile(const BackwardRows& step) {
  if (entry_.workers == 1) {
    line(fmt::format("for (int first = 0; first < count; first += {}) {{", step.tile / 2));
    ++depth_;
    return;
  }
  line("const auto tile = [&](int index, unsigned char* own) {");
  ++depth_;
  line(fmt::format("const int first = index * {};", step.tile / 2));
  for (const Buffer* buffer : buffers_of_tile(step)) declare(*buffer);
  poison_tile(step);
}

// A worker's own.
std::vector<const Buffer*> StepEmitter::buffers_of_tile(const BackwardRows& step) const {
  std::vector<const Buffer*> buffers;
  const Access access = access_of(step);
  for (std::size_t i = 0; i < entry_.buffers.size(); ++i)
    if (entry_.buffers[i].per_worker && std::ranges::count(access.writes, BufferId(i)) > 0)
      buffers.push_back(&entry_.buffers[i]);
  return buffers;
}

// What lives as long as a tile, before it and after it.
void StepEmitter::poison_tile(const BackwardRows& step) {
  for (const Buffer* buffer : buffers_of_tile(step))
    if (!lives_in_a_round(*buffer)) poison(*buffer);
}

void StepEmitter::close_tile(const BackwardRows& step) {
  if (entry_.workers > 1) poison_tile(step);
  --depth_;
  if (entry_.workers == 1) return line("}");
  line("};");
  line(fmt::format("const int tiles = bf::tiles_of(count, {});", step.tile / 2));
  line("if (const bf_status status = bf::run_tiles(team, scratch, tiles, tile)) return status;");
}

// By the code of the smaller tile, where that holds what is left.
void StepEmitter::rows_of_tile(const BackwardRows& step) {
  if (step.last.empty()) return rows_once(step);
  const BackwardRows& last = step.last.front();
  line(fmt::format("if (count - first <= {}) {{", last.tile / 2));
  ++depth_;
  rows_once(last);
  --depth_;
  line("} else {");
  ++depth_;
  rows_once(step);
  --depth_;
  line("}");
}

// One tile's rows: from the weights to tighter bounds.
void StepEmitter::rows_once(const BackwardRows& step) {
  const Layer& region = layer(step.layer);
  const int pairs = step.tile / 2;
  const std::string rows = name(step.neurons);
  const int end = op_count(step) - 1;
  poison_new(0, true);
  find_windows(step);
  const bool starts = region.kind == LayerKind::kDense && !starts_in_first_link(step);
  if (starts) mark(step.start);
  if (starts)
    line(fmt::format("bf::start_rows<{}>({}, {}, {}, {} + first, {}{});", pairs,
                     table(step.layer, TableKind::kWeight), region.in, kernel(step.start).panel,
                     rows, name(step.coefficients),
                     step.live_in == BufferId::kNone ? "" : ", " + name(step.live_in)));
  for (const BackwardOut& out : step.starts) start_term(step, out);
  line(fmt::format("for (int i = 0; i < {}; ++i) {}[i] = 0;", step.tile, name(step.sums)));
  poison_dead(0, true);
  for (int i = 0; i < static_cast<int>(step.links.size()); ++i) {
    poison_new(i + 1, true);
    for (const RepeatedStep& repeated : step.links[static_cast<std::size_t>(i)].remake)
      std::visit([this](const auto& s) { emit(s); }, repeated);
    link(step, step.links[static_cast<std::size_t>(i)]);
    poison_dead(i + 1, true);
  }
  poison_new(end, true);
  if (step.input_coefficients != BufferId::kNone) concretize(step);
  if (step.kept_position >= 0) {
    call("bf::keep_coefficients",
         {rows + " + first", fmt::format("smaller({}, count - first)", pairs),
          std::to_string(pairs), std::to_string(plan_.input_count), name(step.input_coefficients),
          std::to_string(step.kept_position), "coefficients"});
  }
  mark("tighten_rows");
  line(fmt::format("bf::tighten_rows({0} + first, smaller({1}, count - first), {1}, {2}, errors,",
                   rows, pairs, name(step.sums)));
  line(fmt::format("                 {}, {}, {});", name(step.radius), name(step.below),
                   name(step.above)));
  poison_dead(end, true);
}

std::string StepEmitter::spread_of(const BackwardRows& step) const {
  return fmt::format("{} + {}", name(step.sums), step.tile);
}

// The rows' sums over the box, from their coefficients.
void StepEmitter::concretize(const BackwardRows& step) {
  mark(step.concretize);
  const std::string window = window_of(step, -1);
  Arguments arguments = {name(step.input_coefficients), name(step.input_radius), spread_of(step)};
  if (window.empty()) return call(kernel(step.concretize).function, arguments);
  arguments.insert(arguments.begin(), window);
  call(row_routine("concretize_window", step), arguments);
}

void StepEmitter::start_term(const BackwardRows& step, const BackwardOut& out) {
  const Term& each = term(step.layer, out.term);
  const auto table = [&](TableKind kind) { return term_table(step.layer, out.term, kind); };
  const std::string neurons = name(step.neurons) + " + first";
  Arguments arguments;
  if (std::holds_alternative<ConvMap>(each.map))
    arguments = {rows_shape(step, step.layer, out.term, true), table(TableKind::kWeight)};
  else if (std::holds_alternative<SparseMap>(each.map))
    arguments = {table(TableKind::kRowStart), table(TableKind::kColumn), table(TableKind::kWeight),
                 std::to_string(each.in)};
  else
    arguments = {sources(step.layer, out.term), std::to_string(each.in)};
  mark(out.kernel);
  const bool window = clear_window(step, each.input, out);
  if (window && std::holds_alternative<GatherMap>(each.map))
    return call(row_routine("identity_start", step),
                {fmt::format("image{}", each.input + 1), neurons, name(out.coefficients)});
  const bool add = window || out.add;
  arguments.insert(arguments.end(), {neurons, bool_literal(add), name(out.coefficients)});
  call(row_routine(kernel(out.kernel).map + "_start", step), arguments);
}

void StepEmitter::link(const BackwardRows& step, const BackwardLink& link) {
  switch (layer(link.layer).kind) {
    case LayerKind::kDense:
      return dense_link(step, link);
    case LayerKind::kSum:
      return sum_link(step, link);
    case LayerKind::kProduct:
      return product_link(step, link);
    case LayerKind::kMax:
      return max_link(step, link);
  }
  BF_CHECK(false);
}

// The first link, from the rows' own weights.
void StepEmitter::first_link(const BackwardRows& step, const BackwardLink& link) {
  const Layer& region = layer(link.layer);
  const Kernel& how = kernel(link.kernel);
  const int start_panel = plan_.layouts.at(static_cast<std::size_t>(step.layer)).panel;
  const bool listed = link.live_out != BufferId::kNone;
  call(fmt::format("bf::first_link<{}, {}, {}, {}, {}, {}, {}>", step.tile / 2, region.in,
                   region.out, how.panel, start_panel, how.schedule.chunk, listed),
       {table(step.layer, TableKind::kWeight), name(step.neurons) + " + first",
        table(link.layer, TableKind::kWeight), name(link.table), name(step.sums),
        name(link.coefficients_out), listed ? name(link.live_out) : "nullptr"});
}

void StepEmitter::dense_link(const BackwardRows& step, const BackwardLink& link) {
  mark(link.kernel);
  if (step.iterations > 0) {
    const std::string from = relax_link(step, link, kernel(link.relax));
    line(fmt::format("{}({}, {}, {});", kernel(link.kernel).function,
                     table(link.layer, TableKind::kWeight), from, name(link.coefficients_out)));
  } else if (link.coefficients_in == BufferId::kNone) {
    first_link(step, link);
  } else {
    Arguments arguments = {table(link.layer, TableKind::kWeight), name(link.table),
                           name(link.coefficients_in), name(step.sums),
                           name(link.coefficients_out)};
    for (const BufferId list : {link.live_in, link.live_out})
      if (list != BufferId::kNone) arguments.push_back(name(list));
    call(kernel(link.kernel).function, arguments);
  }
  if (link.sum == BufferId::kNone) return;
  mark("add_rows");
  call(fmt::format("bf::add_rows<{}>", step.tile * entry_.boxes),
       {std::to_string(layer(link.layer).in), name(link.coefficients_out), name(link.sum)});
}

void StepEmitter::sum_link(const BackwardRows& step, const BackwardLink& link) {
  const Layer& region = layer(link.layer);
  mark(link.kernel);
  const std::string from = relax_link(step, link, kernel(link.kernel));
  for (const BackwardOut& out : link.outs) {
    const Term& each = term(link.layer, out.term);
    const auto table = [&](TableKind kind) { return term_table(link.layer, out.term, kind); };
    const std::string rows = std::to_string(region.out);
    const std::string in = std::to_string(each.in);
    std::string function = row_routine(kernel(out.kernel).map + "_backward", step);
    mark(out.kernel);
    if (std::holds_alternative<ConvMap>(each.map)) {
      conv_link(step, link, out, from);
      continue;
    }
    const std::string window = window_of(step, link.layer);
    if (!window.empty()) {  // the identity
      const bool same = clear_window(step, each.input, out);
      if (!same && !out.add) call(row_routine("clear_rows", step), {in, name(out.coefficients)});
      if (out.live) {
        add_live(step, link, each.input, from, out.coefficients);
        continue;
      }
      call(row_routine(same ? "add_window" : "spread_window", step),
           {window, from, name(out.coefficients)});
      continue;
    }
    Arguments arguments;
    if (std::holds_alternative<SparseMap>(each.map)) {
      arguments = {rows, table(TableKind::kRowStart), table(TableKind::kColumn),
                   table(TableKind::kWeight), in};
    } else {
      arguments = {rows, sources(link.layer, out.term), in};
    }
    arguments.insert(arguments.end(), {from, bool_literal(out.add), name(out.coefficients)});
    call(function, arguments);
  }
}

void StepEmitter::conv_link(const BackwardRows& step, const BackwardLink& link,
                            const BackwardOut& out, const std::string& from) {
  const std::string shape = rows_shape(step, link.layer, out.term, false);
  const Kernel& how = kernel(out.kernel);
  const std::string tile =
      how.schedule.pixels > 0
          ? fmt::format(", bf::GivenTile<{}, {}>", how.schedule.columns, how.schedule.pixels)
          : "";
  const int input = term(link.layer, out.term).input;
  const std::string fixed = fmt::format("bf::FixedShape<{}>{{}}", shape);
  const std::string weight = term_table(link.layer, out.term, TableKind::kWeight);
  const std::string made = window_or_whole(step, link.layer, shape + ".out_size");
  const std::string read = window_or_whole(step, input, shape + ".in_size");
  const auto routine = [&](const char* of) {
    return fmt::format("bf::{}<{}, {}{}>", of, step.tile, how.wide, tile);
  };
  if (out.spread) {
    Arguments arguments = {fixed, weight, from};
    if (out.live) arguments.push_back(live_of(step, link.layer));
    arguments.insert(arguments.end(), {made, fmt::format("image{}.at", input + 1),
                                       name(step.input_radius), spread_of(step), read});
    return call(routine(out.live ? "conv_spread_live" : "conv_spread"), arguments);
  }
  if (out.live)
    return call(routine("conv_backward_live"),
                {fixed, weight, from, live_of(step, link.layer), made, bool_literal(out.add),
                 name(out.coefficients), live_of(step, input), read});
  call(routine("conv_backward"),
       {fixed, weight, from, made, bool_literal(out.add), name(out.coefficients), read});
}

std::string StepEmitter::relax_link(const BackwardRows& step, const BackwardLink& link,
                                    const Kernel& how) {
  const int n = layer(link.layer).out;
  const std::string from = name(link.coefficients_in);
  std::string to = link.relaxed == BufferId::kNone ? from : name(link.relaxed);
  const auto row = [&](BufferId id, int number) {
    return fmt::format("{} + {}", name(id), std::int64_t{number} * n);
  };
  const std::string window = window_of(step, link.layer);
  const std::string offsets = row(link.table, how.wide ? bf::kWideOffsetUpper : bf::kOffsetUpper);
  if (link.live != BufferId::kNone)
    relax_live(step, link, offsets, to);
  else if (!window.empty())
    call(row_routine("relax_window", step),
         {window, std::to_string(n), name(link.table), offsets, from, to, name(step.sums)});
  else if (link.slopes.table == BufferId::kNone)
    call(row_routine("relax_rows", step),
         {std::to_string(n), name(link.table), offsets, from, to, name(step.sums)});
  else
    call(row_routine("relax_free_rows", step),
         {std::to_string(n), name(link.slopes.table),
          row(link.slopes.table, how.wide ? bf::kFreeWideUpper : bf::kFreeOffsetUpper),
          slopes_of(step, link), from, to, name(step.sums)});
  return to;
}

void StepEmitter::product_link(const BackwardRows& step, const BackwardLink& link) {
  const std::string rows = std::to_string(layer(link.layer).out);
  mark(link.kernel);
  call(row_routine("product_rows", step),
       {rows, name(link.table), name(link.coefficients_in), name(step.sums)});
  for (const BackwardOut& out : link.outs) {
    const std::string slopes = out.term == 0 ? name(link.table)
                                             : fmt::format("{} + {}", name(link.table),
                                                           bf::kSlopeY * layer(link.layer).out);
    call(
        row_routine("product_backward", step),
        {rows, sources(link.layer, out.term), slopes, std::to_string(term(link.layer, out.term).in),
         name(link.coefficients_in), bool_literal(out.add), name(out.coefficients)});
  }
}

void StepEmitter::max_link(const BackwardRows& step, const BackwardLink& link) {
  const BackwardOut& out = link.outs.at(0);
  const Term& from = term(link.layer, out.term);
  mark(out.kernel);
  const bool listed = !out.add && clear_live(step, from.input, out.coefficients);
  call(row_routine("max_backward", step),
       {std::to_string(layer(link.layer).out), name(link.table), name(link.choice),
        std::to_string(from.in), name(link.coefficients_in), bool_literal(out.add || listed),
        name(out.coefficients), name(step.sums)});
}

}  // namespace bf_aot
