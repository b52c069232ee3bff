#include "aot/calls/emit_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "aot/calls/step_emitter.h"
#include "aot/constants/emit_functions.h"
#include "aot/text/literals.h"
#include "frontend/diagnostic.h"
#include "planner/entries/row_images.h"

// Steps of sums, products and maxima, and the shapes of convolutions.

namespace bf_aot {
namespace {

std::string shape_literal(const ConvGeometry& g) {
  return fmt::format(
      "{{\n    {}, {}, {}, {},  // batch, groups, channels in and out\n"
      "    {}, {}, {},  // sizes in and out, kernel\n"
      "    {}, {}, {}, {},  // stride, dilation, pad, transposed\n"
      "    {}, {}}};\n",
      g.batch, g.groups, g.in_channels, g.out_channels, extent_literal(g.in_size),
      extent_literal(g.out_size), extent_literal(g.kernel), extent_literal(g.stride),
      extent_literal(g.dilation), extent_literal(g.pad), g.transposed, strides_literal(g.in),
      strides_literal(g.out));
}

// Distinct, in the order of their layers.
std::vector<Function> functions_of(const Plan& plan) {
  std::vector<Function> made;
  for (const Layer& layer : plan.layers)
    if (layer.function && std::ranges::find(made, *layer.function) == made.end())
      made.push_back(*layer.function);
  return made;
}

}  // namespace

std::string extent_literal(const Extent& sizes) {
  return fmt::format("{{{}, {}, {}}}", sizes[0], sizes[1], sizes[2]);
}

std::string strides_literal(const ImageLayout& image) {
  return fmt::format("{{{}, {}, {}, {}}}", image.offset, image.batch, image.channel,
                     extent_literal(image.spatial));
}

std::string function_table_name(const Plan& plan, const Function& function) {
  int number = 0;  // among those of its kind
  for (const Function& other : functions_of(plan)) {
    if (other.kind == function.kind) ++number;
    if (other == function) break;
  }
  const std::string name = fmt::format("f_{}", name_of(function.kind));
  return number == 1 ? name : fmt::format("{}_{}", name, number);
}

std::string emit_function_tables(const Plan& plan) {
  std::string text;
  for (const Function& function : functions_of(plan))
    text +=
        emit_function_table(make_function_table(function), function_table_name(plan, function)) +
        "\n";
  return text;
}

std::vector<ConvShapeName> conv_shapes(const Plan& plan) {
  std::vector<ConvShapeName> made;
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(plan.layers.size()); ++i) {
    const Layer& layer = plan.layers[static_cast<std::size_t>(i)];
    for (int t = 0; t < static_cast<int>(layer.terms.size()); ++t) {
      const auto* conv = std::get_if<ConvMap>(&layer.terms[static_cast<std::size_t>(t)].map);
      if (conv == nullptr) continue;
      ConvShapeName shape{i, t, "", &conv->geometry, false};
      for (const ConvShapeName& other : made) {
        if (shape.repeated || !(*other.geometry == conv->geometry)) continue;
        shape.name = other.name;
        shape.repeated = true;
      }
      if (!shape.repeated) {
        shape.name = layer.name;
        if (layer.terms.size() > 1) shape.name += fmt::format("_term{}", t + 1);
        shape.name += "_shape";
        while (!names.insert(shape.name).second) shape.name += "_";
      }
      made.push_back(std::move(shape));
    }
  }
  return made;
}

RowsOrder rows_order(const Plan& plan, const BackwardRows& step, int layer, int term, bool start) {
  const Layer& region = plan.layers[static_cast<std::size_t>(layer)];
  const int input = region.terms[static_cast<std::size_t>(term)].input;
  return {find_image(step, input) != nullptr, !start && find_image(step, layer) != nullptr};
}

std::string rows_shape_name(const std::string& shape, RowsOrder order) {
  if (!order.in && !order.out) return shape;
  return shape + (order.in && order.out ? "_pixels" : order.in ? "_pixels_in" : "_pixels_out");
}

namespace {

// The orders in which rows go through each shape.
std::map<std::string, std::set<RowsOrder>> rows_orders(const Plan& plan) {
  std::map<std::string, std::set<RowsOrder>> made;
  for (const ConvShapeName& shape : conv_shapes(plan))
    for (const Entry& entry : plan.entries)
      for (const Step& step : entry.steps) {
        const auto* const rows = std::get_if<BackwardRows>(&step);
        if (rows == nullptr) continue;
        if (rows->layer == shape.layer)
          made[shape.name].insert(rows_order(plan, *rows, shape.layer, shape.term, true));
        for (const BackwardLink& link : rows->links)
          if (link.layer == shape.layer)
            made[shape.name].insert(rows_order(plan, *rows, shape.layer, shape.term, false));
      }
  return made;
}

}  // namespace

std::string emit_conv_shapes(const Plan& plan) {
  std::string text;
  const auto orders = rows_orders(plan);
  for (const ConvShapeName& shape : conv_shapes(plan)) {
    if (shape.repeated) continue;
    text += fmt::format("// {}\nconstexpr bf::ConvShape {} = {}\n",
                        plan.layers[static_cast<std::size_t>(shape.layer)].origin, shape.name,
                        shape_literal(*shape.geometry));
    const auto found = orders.find(shape.name);
    if (found == orders.end()) continue;
    for (const RowsOrder order : found->second)
      if (order.in || order.out)
        text += fmt::format("constexpr bf::ConvShape {} =\n    bf::by_pixels({}, {}, {});\n\n",
                            rows_shape_name(shape.name, order), shape.name, order.in, order.out);
  }
  return text;
}

namespace {

std::string max_groups_name(const Layer& layer) {
  return layer.name + "_groups";
}

}  // namespace

std::string emit_max_groups(const Plan& plan) {
  std::map<int, const IntervalMax*> found;  // by layer: entries have the same
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps)
      if (const auto* const max = std::get_if<IntervalMax>(&step); max && max->groups)
        found[max->layer] = max;
  std::string text;
  for (const auto& [index, step] : found) {
    const auto& [firsts, taps] = *step->groups;
    const Layer& layer = plan.layers[static_cast<std::size_t>(index)];
    text += fmt::format(
        "// {}\nconstexpr bf::MaxGroups {} = {{\n"
        "    {}, {{{}}}, {{{}}},  // first candidate of the first, counts, strides\n"
        "    {{{}}}, {{{}}}}};  // of the candidates of each\n",
        layer.origin, max_groups_name(layer), firsts.offset, fmt::join(firsts.count, ", "),
        fmt::join(firsts.stride, ", "), fmt::join(taps.count, ", "), fmt::join(taps.stride, ", "));
  }
  return text;
}

std::string runtime_includes(const Plan& plan) {
  bool intervals = false, convolved = false, relaxes = false, sums = false, rows = false,
       planes = false, slopes = false, windows = false, lines = false, live = false, first = false;
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps) {
      if (const auto* relax = std::get_if<Relax>(&step))
        relaxes =
            relaxes || !plan.layers[static_cast<std::size_t>(relax->layer)].function.has_value();
      sums = sums || std::holds_alternative<CentreSum>(step) ||
             std::holds_alternative<WriteValues>(step);
      intervals = intervals || std::holds_alternative<IntervalMax>(step);
      lines = lines || std::holds_alternative<StartLines>(step);
      if (const auto* sum = std::get_if<IntervalSum>(&step)) {
        intervals = true;
        for (const Term& term : plan.layers[static_cast<std::size_t>(sum->layer)].terms)
          convolved = convolved || std::holds_alternative<ConvMap>(term.map);
      }
      planes = planes || std::holds_alternative<RelaxProduct>(step) ||
               std::holds_alternative<RelaxMax>(step);
      if (const auto* bounded = std::get_if<BackwardRows>(&step)) {
        rows = rows || !bounded->starts.empty();
        first = first || starts_in_first_link(*bounded);
        slopes = slopes || bounded->iterations > 0;
        windows = windows || !bounded->images.empty();
        for (const BackwardLink& link : bounded->links) {
          rows = rows || !link.outs.empty() || link.sum != BufferId::kNone;
          live = live || link.live != BufferId::kNone;
        }
      }
    }
  std::string text;
  if (!conv_shapes(plan).empty()) text += "#include \"bf/conv/conv_forward.h\"\n";
  if (convolved) text += "#include \"bf/conv/conv_interval.h\"\n";
  if (live) text += "#include \"bf/conv/conv_live.h\"\n";
  if (first) text += "#include \"bf/dense/first_link.h\"\n";
  if (!functions_of(plan).empty()) text += "#include \"bf/functions/functions.h\"\n";
  if (intervals) text += "#include \"bf/sums/intervals.h\"\n";
  if (lines) text += "#include \"bf/dense/lines.h\"\n";
  if (planes) text += "#include \"bf/sums/planes.h\"\n";
  if (relaxes) text += "#include \"bf/core/relax.h\"\n";
  if (slopes) text += "#include \"bf/sums/slopes.h\"\n";
  if (rows) text += "#include \"bf/conv/starts.h\"\n";
  if (sums) text += "#include \"bf/sums/terms.h\"\n";
  if (windows) text += "#include \"bf/sums/row_windows.h\"\n";
  return text;
}

std::string StepEmitter::sources(int index, int number) const {
  const auto& view = std::get<GatherMap>(term(index, number).map).view;
  if (!view) return term_table(index, number, TableKind::kSource);
  std::string text = fmt::format("bf::Strided<{}, {}", view->offset, view->stride[0]);
  for (std::size_t k = 1; k < view->count.size(); ++k)
    text += fmt::format(", {}, {}", view->count[k], view->stride[k]);
  return text + ">{}";
}

std::vector<std::string> StepEmitter::term_arguments(int index, int number, bool remainders) const {
  const auto table = [&](TableKind kind) { return term_table(index, number, kind); };
  const LinearMap& map = term(index, number).map;
  const std::string out = std::to_string(layer(index).out);
  if (std::holds_alternative<GatherMap>(map)) return {out, sources(index, number)};
  Arguments arguments;
  if (std::holds_alternative<ConvMap>(map))
    arguments = {fmt::format("bf::FixedShape<{}>{{}}", shapes_.at({index, number})),
                 table(TableKind::kWeight)};
  else
    arguments = {out, table(TableKind::kRowStart), table(TableKind::kColumn),
                 table(TableKind::kWeight)};
  if (remainders) arguments.push_back(table(TableKind::kResidual));
  return arguments;
}

// The first term writes, the others add.
void StepEmitter::interval_term(const IntervalSum& step, int number) {
  const SumPart& part = step.parts[static_cast<std::size_t>(number)];
  Arguments arguments = term_arguments(step.layer, number, false);
  arguments.insert(arguments.end(), {name(part.centre_in), name(part.radius_in),
                                     name(step.centre_out), name(step.radius_out)});
  mark(part.kernel);
  call(fmt::format("bf::{}_interval<{}>", kernel(part.kernel).map, number > 0), arguments);
}

std::string StepEmitter::interval_errors(double inflate, double relative, double absolute) const {
  return fmt::format("bf::IntervalErrors{{{}, {}, {}}}", literal_up(inflate), literal_up(relative),
                     literal_up(absolute));
}

void StepEmitter::emit(const IntervalSum& step) {
  const Layer& region = layer(step.layer);
  for (int t = 0; t < static_cast<int>(step.parts.size()); ++t) interval_term(step, t);
  mark("interval_sum");
  Arguments arguments = {std::to_string(region.out), bool_literal(region.relu),
                         term_table(step.layer, -1, TableKind::kBiasFloat),
                         std::to_string(bias_run(plan_, step.layer)),
                         interval_errors(step.inflate, step.magnitude, step.absolute)};
  if (!step.head) arguments.push_back(literal_up(step.gamma));
  arguments.insert(arguments.end(), {name(step.centre_out), name(step.radius_out)});
  if (step.head)
    arguments.insert(arguments.end(), {at_position("out_lower", step.position),
                                       at_position("out_upper", step.position)});
  call(step.head ? "bf::write_interval" : "bf::finish_interval", arguments);
}

void StepEmitter::emit(const IntervalMax& step) {
  mark(step.kernel);
  std::string function = "bf::max_interval";
  Arguments arguments;
  if (step.groups)
    function += fmt::format("<{}>", max_groups_name(layer(step.layer)));
  else
    arguments = {std::to_string(layer(step.layer).out),
                 term_table(step.layer, 0, TableKind::kRowStart),
                 term_table(step.layer, 0, TableKind::kColumn)};
  arguments.insert(arguments.end(), {name(step.centre_in), name(step.radius_in),
                                     interval_errors(step.inflate, step.magnitude, step.absolute),
                                     name(step.centre_out), name(step.radius_out)});
  call(function, arguments);
}

void StepEmitter::centre_term(const CentreSum& step, int number) {
  const SumPart& part = step.parts[static_cast<std::size_t>(number)];
  Arguments arguments = term_arguments(step.layer, number, true);
  arguments.insert(arguments.end(), {name(part.centre_in), name(part.radius_in),
                                     layer(step.layer).exact_centre ? "1" : "bf::kSumSlack",
                                     name(step.centre_out), name(step.radius_out)});
  call(fmt::format("bf::{}_centre", kernel(part.kernel).map), arguments);
}

void StepEmitter::emit(const CentreSum& step) {
  const Layer& region = layer(step.layer);
  const std::string out = std::to_string(region.out);
  const std::string slack = name(step.slack);
  mark("sum");
  call("bf::start_sum",
       {table(step.layer, TableKind::kBiasDouble), out, std::to_string(bias_run(plan_, step.layer)),
        name(step.centre_out), name(step.radius_out)});
  call("bf::clear_slack", {slack});
  for (int t = 0; t < static_cast<int>(step.parts.size()); ++t) {
    const SumPart& part = step.parts[static_cast<std::size_t>(t)];
    const Term& each = term(step.layer, t);
    mark(part.kernel);
    centre_term(step, t);
    mark("centre_slack");
    call("bf::add_centre_slack", {name(part.centre_in), name(part.radius_in),
                                  std::to_string(each.in), double_literal(each.row_norm), slack});
  }
  mark("sum");
  call("bf::finish_slack", {double_literal(step.centre_relative), double_literal(step.bias_norm),
                            double_literal(step.absolute), slack});
  call("bf::interval_around", {name(step.radius_out), out, double_literal(step.inflate),
                               slack + "[0]", name(step.below), name(step.above)});
}

void StepEmitter::emit(const RelaxProduct& step) {
  mark(step.kernel);
  call("bf::relax_product",
       {std::to_string(layer(step.layer).out), sources(step.layer, 0), sources(step.layer, 1),
        name(step.centre_x), name(step.radius_x), name(step.centre_y), name(step.radius_y),
        fmt::format("bf::PlaneErrors{{{}, {}}}", double_literal(step.product),
                    double_literal(step.offset)),
        name_or_null(step.slack), name_or_null(step.table), name(step.centre_out),
        name(step.radius_out)});
}

void StepEmitter::emit(const RelaxMax& step) {
  mark(step.kernel);
  call("bf::relax_max",
       {std::to_string(layer(step.layer).out), term_table(step.layer, 0, TableKind::kRowStart),
        term_table(step.layer, 0, TableKind::kColumn), name(step.centre_in), name(step.radius_in),
        fmt::format("bf::PlaneErrors{{{}, {}}}", double_literal(step.product),
                    double_literal(step.offset)),
        name_or_null(step.slack), name_or_null(step.table), name_or_null(step.choice),
        name(step.centre_out), name(step.radius_out)});
  if (step.live != BufferId::kNone)
    call("bf::list_chosen",
         {fmt::format("bf::image_made({})", made_shape(term(step.layer, 0).input)),
          std::to_string(term(step.layer, 0).in), name(step.radius_in),
          std::to_string(layer(step.layer).out), name(step.choice), name(step.live)});
}

}  // namespace bf_aot
