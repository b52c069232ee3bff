#include <fmt/format.h>

#include "aot/emit/integer/integer.h"
#include "aot/emit/text/fill_in.h"

namespace bf_aot::emit {
namespace {

const GridDense& dense_of(const IntegerPlan& plan, const CrownLayer& layer) {
  return std::get<GridDense>(plan.steps[static_cast<std::size_t>(layer.step)]);
}

std::int64_t room_offset(const Plan& plan) {
  return plan.entries.front().buffer(plan.integer->crown->room).offset;
}

}  // namespace

std::string emit_crown_lines(const Plan& plan) {
  const IntegerPlan& integer = *plan.integer;
  std::string text;
  for (const CrownLayer& layer : integer.crown->layers) {
    if (layer.lines.empty()) continue;
    const GridDense& step = dense_of(integer, layer);
    text += fmt::format("constexpr bf::integer::Line {}_lines[{}] = {{\n",
                        integer.tensor(step.out).name, layer.lines.size());
    for (std::size_t i = 0; i < layer.lines.size(); ++i) {
      const GridLine& line = layer.lines[i];
      text += fmt::format("    {{{}, {}, {}, {}, {}}},\n", line.slope, line.above, line.below,
                          step.codes.rows[i].low, step.codes.rows[i].high);
    }
    text += "};\n\n";
  }
  return text;
}

std::string crown_row_places(const Plan& plan) {
  const std::int64_t row = room_offset(plan);
  const std::int64_t bytes = 8 * std::int64_t{plan.integer->crown->widest};
  return fmt::format(
      "  std::int64_t* const row = bf::integer::room_at<std::int64_t>(workspace, {});\n"
      "  std::int64_t* const next = bf::integer::room_at<std::int64_t>(workspace, {});\n",
      row, row + bytes);
}

std::string crown_line_places(const Plan& plan) {
  const IntegerPlan& integer = *plan.integer;
  std::string text;
  for (const CrownLayer& layer : integer.crown->layers)
    if (!layer.lines.empty())
      text += fmt::format(
          "  bf::integer::Relaxed* const {}_relaxed =\n"
          "      bf::integer::room_at<bf::integer::Relaxed>(workspace, {});\n",
          integer.tensor(dense_of(integer, layer).out).name, room_offset(plan) + layer.relaxed);
  return text;
}

std::string crown_layer(const GridCrown& crown, int number, int rows, int columns, int shift) {
  return fmt::format("{{{}, {}, {}, {}, {}, row, next}}", number, rows, columns, shift,
                     crown.fraction);
}

std::string emit_back(const Plan& plan) {
  const IntegerPlan& integer = *plan.integer;
  const GridTensor& input = integer.tensor(output_of(integer.steps.front()));
  const Entry& entry = plan.entries.front();
  std::string text =
      "// Takes a row over the codes that a layer reads back to those of the input.\n"
      "std::int64_t back(int layer, bool up, std::int64_t* row, std::int64_t* next, void* "
      "workspace) "
      "{\n  std::int64_t constant = 0;\n" +
      crown_line_places(plan);
  for (std::size_t i = integer.crown->layers.size(); i-- > 0;) {
    const CrownLayer& layer = integer.crown->layers[i];
    if (layer.lines.empty()) continue;
    const GridDense& step = dense_of(integer, layer);
    text += fill_in(R"(  if (layer > @layer@) {
    constant += bf::integer::pass(@out@_weights, @out@_relaxed, @rows@, @columns@, @fraction@, up, row, next);
    std::int64_t* const made = next;
    next = row;
    row = made;
  }
)",
                    {{"layer", i},
                     {"out", integer.tensor(step.out).name},
                     {"rows", step.rows},
                     {"columns", step.columns},
                     {"fraction", integer.crown->fraction}});
  }
  return text +
         fill_in(
             R"(  const bf::integer::Code* const arena = static_cast<const bf::integer::Code*>(workspace);
  return constant + bf::integer::end_of(row, @count@, arena + @lower@, arena + @upper@, up);
}

)",
             {{"count", input.count},
              {"lower", entry.buffer(input.lower).offset},
              {"upper", entry.buffer(input.upper).offset}});
}

}  // namespace bf_aot::emit
