#include "aot/emit/constants/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "aot/emit/constants/emit_functions.h"
#include "planner/lowering/walk.h"

namespace bf_aot::emit {
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

// Distinct, in the order of their layers; each with slack, then as plain inference takes it.
std::vector<Function> functions_of(const Plan& plan) {
  std::vector<Function> made;
  const auto add = [&](const Function& function) {
    if (std::ranges::find(made, function) == made.end()) made.push_back(function);
  };
  for (const Layer& layer : plan.layers) {
    if (!layer.function) continue;
    add(*layer.function);
    Function exact = *layer.function;
    exact.slack = 0;
    add(exact);
  }
  return made;
}

// The tables that calls name, of relaxations and of lists of neurons.
std::vector<calls::FunctionOf> tables_named(const std::vector<calls::Program>& programs) {
  std::vector<calls::FunctionOf> made;
  for (const calls::Program& program : programs)
    calls::for_each_call(program, [&](const calls::Call& call) {
      for (const calls::Argument& argument : call.arguments) {
        if (const auto* const function = std::get_if<calls::FunctionOf>(&argument))
          made.push_back(*function);
        if (const auto* const listed = std::get_if<calls::Listed>(&argument))
          made.insert(made.end(), listed->function.begin(), listed->function.end());
      }
    });
  return made;
}

// Nodes bound functions that are split by their tables in double.
bool is_split(const Plan& plan, const Function& function) {
  return std::ranges::any_of(plan.decide.network.layers, [&](const SplitLayerPlan& each) {
    return each.role == SplitRole::kFunction && plan.layer(each.layer).function == function;
  });
}

}  // namespace

std::string extent_literal(const Extent& sizes) {
  return fmt::format("{{{}, {}, {}}}", sizes[0], sizes[1], sizes[2]);
}

std::string strides_literal(const ImageLayout& image) {
  return fmt::format("{{{}, {}, {}, {}}}", image.offset, image.batch, image.channel,
                     extent_literal(image.spatial));
}

std::string function_table_name(const Plan& plan, const calls::FunctionOf& table) {
  const Function& function = table.function;
  int number = 0;  // among those of its kind
  for (const Function& other : functions_of(plan)) {
    if (other.kind == function.kind) ++number;
    if (other == function) break;
  }
  const std::string name =
      fmt::format("f_{}{}", name_of(function.kind), table.in_float ? "_float" : "");
  return number == 1 ? name : fmt::format("{}_{}", name, number);
}

std::string emit_function_tables(const Plan& plan, const std::vector<calls::Program>& programs) {
  const std::vector<calls::FunctionOf> named = tables_named(programs);
  std::string text;
  const Dialect dialect(plan.config.language);
  for (const Function& function : functions_of(plan)) {
    const calls::FunctionOf wide{function, false}, narrow{function, true};
    if (std::ranges::count(named, wide) > 0 || is_split(plan, function))
      text += emit_function_table(make_function_table(function), function_table_name(plan, wide),
                                  dialect) +
              "\n";
    if (std::ranges::count(named, narrow) > 0)
      text +=
          emit_float_table(make_float_table(function), function_table_name(plan, narrow), dialect) +
          "\n";
  }
  return text;
}

std::vector<ConvShapeName> conv_shapes(const Plan& plan) {
  std::vector<ConvShapeName> made;
  std::set<std::string> names;
  for (const LayerId i : plan.layer_ids()) {
    const Layer& layer = plan.layer(i);
    for (int t = 0; t < static_cast<int>(layer.terms.size()); ++t) {
      const auto* conv = std::get_if<ConvMap>(&layer.term(t).map);
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

std::string shape_name(const std::string& name, const calls::Shape& shape) {
  if (!shape.in_pixels && !shape.out_pixels) return name;
  return name + (shape.in_pixels && shape.out_pixels ? "_pixels"
                 : shape.in_pixels                   ? "_pixels_in"
                                                     : "_pixels_out");
}

std::string max_groups_name(const Layer& layer) {
  return layer.name + "_groups";
}

namespace {

std::string shape_definition(const Dialect& dialect, const std::string& name,
                             const ConvGeometry& geometry) {
  return fmt::format("{} {} {} = {}\n", dialect.constant(),
                     dialect.runtime(dialect.is_c() ? "conv_shape" : "ConvShape"), name,
                     shape_literal(geometry));
}

// The layout of an image that lies pixel by pixel, all channels of each together: what
// bf::by_pixels() makes.
ImageLayout pixels_of(std::int64_t channels, const Extent& size) {
  return {0,
          channels * size[0] * size[1] * size[2],
          1,
          {channels * size[1] * size[2], channels * size[2], channels}};
}

// C computes no constants by functions.
std::string pixels_definition_in_c(const Dialect& dialect, const std::string& name,
                                   ConvGeometry geometry, const calls::Shape& shape) {
  if (shape.in_pixels) geometry.in = pixels_of(geometry.in_channels, geometry.in_size);
  if (shape.out_pixels) geometry.out = pixels_of(geometry.out_channels, geometry.out_size);
  return shape_definition(dialect, shape_name(name, shape), geometry) + "\n";
}

std::string pixels_definition(const std::string& name, const calls::Shape& shape) {
  return fmt::format("constexpr bf::ConvShape {} =\n    bf::by_pixels({}, {}, {});\n\n",
                     shape_name(name, shape), name, shape.in_pixels, shape.out_pixels);
}

using Orders = std::set<std::pair<bool, bool>>;  // inputs, outputs pixel by pixel

// The orders in which rows go through each convolution, by layer and term.
std::map<std::pair<LayerId, int>, Orders> pixel_orders(
    const std::vector<calls::Program>& programs) {
  std::map<std::pair<LayerId, int>, Orders> orders;
  for (const calls::Program& program : programs)
    calls::for_each_call(program, [&](const calls::Call& call) {
      for (const calls::Argument& argument : call.arguments)
        if (const auto* const shape = std::get_if<calls::Shape>(&argument))
          if (shape->in_pixels || shape->out_pixels)
            orders[{shape->layer, shape->term}].emplace(shape->in_pixels, shape->out_pixels);
    });
  return orders;
}

}  // namespace

std::string emit_conv_shapes(const Plan& plan, const std::vector<calls::Program>& programs) {
  const std::vector<ConvShapeName> shapes = conv_shapes(plan);
  const auto orders = pixel_orders(programs);
  std::map<std::string, Orders> by_name;
  for (const ConvShapeName& shape : shapes)
    if (const auto found = orders.find({shape.layer, shape.term}); found != orders.end())
      by_name[shape.name].insert(found->second.begin(), found->second.end());
  const Dialect dialect(plan.config.language);
  std::string text;
  for (const ConvShapeName& shape : shapes) {
    if (shape.repeated) continue;
    text += fmt::format("// {}\n", plan.layer(shape.layer).origin.text) +
            shape_definition(dialect, shape.name, *shape.geometry);
    for (const auto& [in, out] : by_name[shape.name]) {
      const calls::Shape pixels = {0, 0, in, out};
      text += dialect.is_c() ? pixels_definition_in_c(dialect, shape.name, *shape.geometry, pixels)
                             : pixels_definition(shape.name, pixels);
    }
  }
  return text;
}

std::string emit_conv_shape(const std::string& name, const ConvGeometry& geometry,
                            const calls::Shape& shape) {
  std::string text = shape_definition(Dialect(), name, geometry);
  if (shape.in_pixels || shape.out_pixels) text += pixels_definition(name, shape);
  return text;
}

std::string emit_max_groups(const Plan& plan, const std::vector<calls::Program>& programs) {
  std::map<LayerId, GroupView> found;  // by layer: entries have the same
  for (const calls::Program& program : programs)
    calls::for_each_call(program, [&](const calls::Call& call) {
      for (const calls::TemplateArgument& constant : call.constants)
        if (const auto* const groups = std::get_if<calls::Groups>(&constant))
          found[groups->layer] = groups->view;
    });
  const Dialect dialect(plan.config.language);
  std::string text;
  for (const auto& [index, view] : found) {
    const auto& [firsts, taps] = view;
    const Layer& layer = plan.layer(index);
    text += fmt::format(
        "// {}\n{} {} {} = {{\n"
        "    {}, {{{}}}, {{{}}},  // first candidate of the first, counts, strides\n"
        "    {{{}}}, {{{}}}}};  // of the candidates of each\n",
        layer.origin.text, dialect.constant(),
        dialect.runtime(dialect.is_c() ? "max_groups" : "MaxGroups"), max_groups_name(layer),
        firsts.offset, fmt::join(firsts.count, ", "), fmt::join(firsts.stride, ", "),
        fmt::join(taps.count, ", "), fmt::join(taps.stride, ", "));
  }
  return text;
}

}  // namespace bf_aot::emit
