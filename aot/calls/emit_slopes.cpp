#include <fmt/format.h>

#include "aot/calls/step_emitter.h"
#include "frontend/diagnostic.h"

// Rows that choose the slopes of the ReLUs that they pass: a loop of bounds and steps for each
// tile.

namespace bf_aot {

// Slopes that are kept lie apart for each tile.
std::string StepEmitter::slopes_of(const BackwardRows& step, const BackwardLink& link) const {
  const std::string& slope = name(link.slopes.slope);
  if (step.warm_iterations == 0) return slope;
  return fmt::format("{} + std::ptrdiff_t{{first}} * {}", slope, 2 * layer(link.layer).out);
}

// Returns how many iterations there are, as an expression.
std::string StepEmitter::begin_slopes(const BackwardRows& step) {
  const auto each = [&](const auto& print) {
    for (const BackwardLink& link : step.links)
      if (link.slopes.table != BufferId::kNone) print(link, std::to_string(layer(link.layer).out));
  };
  const bool warm = step.warm_iterations > 0;
  if (warm) {
    line("const bool warm = (state.starts & call.own) != 0;");
    line("if (!warm) {");
    ++depth_;
  }
  each([&](const BackwardLink& link, const std::string& n) {
    call(row_routine("start_slopes", step), {n, name(link.table), slopes_of(step, link)});
  });
  if (warm) {
    --depth_;
    line("}");
  }
  each([&](const BackwardLink& link, const std::string& n) {
    if (link.slopes.mean != BufferId::kNone)
      call(row_routine("clear_moments", step),
           {n, name(link.slopes.mean), name(link.slopes.square)});
  });
  return warm ? fmt::format("(warm ? {} : {})", step.warm_iterations, step.iterations)
              : std::to_string(step.iterations);
}

void StepEmitter::optimise(const BackwardRows& step) {
  mark("choose_slopes");
  const std::string iterations = begin_slopes(step);
  if (step.iterations == 1) return rows_once(step);
  line("bf::SlopeAscent ascent;");
  line("for (int iteration = 1;; ++iteration) {");
  ++depth_;
  rows_once(step);
  line(fmt::format("if (iteration == {}) break;", iterations));
  mark("choose_slopes");
  line("ascent.next();");
  call(row_routine("corner_values", step),
       {std::to_string(plan_.input_count), name(step.input_radius), name(step.input_coefficients),
        name(step.input_values)});
  for (auto link = step.links.rbegin(); link != step.links.rend(); ++link)
    if (link->values != BufferId::kNone) walk(step, *link);
  --depth_;
  line("}");
}

// One layer's values at the rows' points.
void StepEmitter::walk(const BackwardRows& step, const BackwardLink& link) {
  const Layer& region = layer(link.layer);
  const std::string n = std::to_string(region.out);
  if (region.is_affine()) {
    forward(step, link);
    follow_lines(step, link);
  } else if (region.kind == LayerKind::kProduct) {
    call(row_routine("product_values", step),
         {n, name(link.table), sources(link.layer, 0), sources(link.layer, 1),
          values_of(step, term(link.layer, 0).input), values_of(step, term(link.layer, 1).input),
          name(link.coefficients_in), name(link.values)});
  } else {
    call(row_routine("max_values", step),
         {n, name(link.table), name(link.choice), values_of(step, term(link.layer, 0).input),
          name(link.coefficients_in), name(link.values)});
  }
}

const std::string& StepEmitter::values_of(const BackwardRows& step, int tensor) const {
  if (tensor < 0) return name(step.input_values);
  for (const BackwardLink& link : step.links)
    if (link.layer == tensor) return name(link.values);
  BF_CHECK(false);
  return name(step.input_values);
}

void StepEmitter::forward(const BackwardRows& step, const BackwardLink& link) {
  const Layer& region = layer(link.layer);
  const std::string out = std::to_string(region.out);
  if (region.kind == LayerKind::kDense) {
    call(row_routine("dense_values", step),
         {table(link.layer, TableKind::kWeight), std::to_string(region.in), out,
          std::to_string(plan_.layouts[static_cast<std::size_t>(link.layer)].panel),
          values_of(step, region.input), name(link.values)});
    return;
  }
  for (int t = 0; t < static_cast<int>(region.terms.size()); ++t) {
    const Term& each = term(link.layer, t);
    const auto table = [&](TableKind kind) { return term_table(link.layer, t, kind); };
    Arguments arguments;
    if (std::holds_alternative<ConvMap>(each.map))
      arguments = {shapes_.at({link.layer, t}), table(TableKind::kWeight)};
    else if (std::holds_alternative<SparseMap>(each.map))
      arguments = {out, table(TableKind::kRowStart), table(TableKind::kColumn),
                   table(TableKind::kWeight)};
    else
      arguments = {out, sources(link.layer, t)};
    arguments.insert(arguments.end(),
                     {values_of(step, each.input), t == 0 ? "false" : "true", name(link.values)});
    call(row_routine(kernel(link.forward[static_cast<std::size_t>(t)]).map + "_values", step),
         arguments);
  }
}

void StepEmitter::follow_lines(const BackwardRows& step, const BackwardLink& link) {
  const std::string n = std::to_string(layer(link.layer).out);
  const LinkSlopes& slopes = link.slopes;
  if (slopes.table == BufferId::kNone)
    call(row_routine("line_values", step),
         {n, name(link.table), name(link.coefficients_in), name(link.values)});
  else
    call(row_routine("step_slopes", step),
         {n, name(slopes.table), "ascent", name(link.coefficients_in), slopes_of(step, link),
          name(slopes.mean), name(slopes.square), name(link.values)});
}

}  // namespace bf_aot
