#include <fmt/format.h>

#include <bit>
#include <string_view>

#include "aot/emit/integer/integer.h"
#include "aot/emit/integer/names.h"
#include "frontend/diagnostic.h"

namespace bf_aot::emit {
namespace {

constexpr std::size_t kPerLine = 16;

template <typename Numbers>
std::string array(std::string_view type, const std::string& name, const Numbers& numbers) {
  std::string text = fmt::format("constexpr {} {}[{}] = {{", type, name, numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += fmt::format("{}{},", i % kPerLine == 0 ? "\n    " : " ", +numbers[i]);
  return text + "\n};\n\n";
}

std::string index_array(const std::string& name, const std::vector<std::int64_t>& indices) {
  if (indices.empty()) return {};
  return array(index_bytes(indices) == 2 ? "std::uint16_t" : "std::uint32_t", name, indices);
}

std::string table_array(const std::string& name, const std::vector<int>& numbers) {
  return numbers.empty() ? "" : array("std::uint16_t", name, numbers);
}

std::string weight_array(const std::string& name, const std::vector<std::int16_t>& weights,
                         int bytes) {
  return array(bytes == 1 ? "std::int8_t" : "std::int16_t", name, weights);
}

std::string step_rows(const std::string& name, const Requantization& codes) {
  std::vector<std::int64_t> sums;
  std::string rows;
  for (const Requantizer& row : codes.rows) {
    rows += fmt::format("    {{{}_sums + {}, {}, {}}},\n", name, sums.size(), row.low,
                        row.steps.size());
    sums.insert(sums.end(), row.steps.begin(), row.steps.end());
  }
  if (sums.empty()) sums.push_back(0);  // no array is empty
  return array("std::int32_t", name + "_sums", sums) +
         fmt::format("constexpr bf::integer::StepRow {}_codes[{}] = {{\n{}}};\n\n", name,
                     codes.rows.size(), rows);
}

std::string requantizers(const std::string& name, const Requantization& codes) {
  if (codes.rounding == Rounding::kSteps) return step_rows(name, codes);
  std::string text =
      fmt::format("constexpr bf::integer::Requantizer<std::int{}_t> {}_codes[{}] = {{\n",
                  8 * codes.multiplier_bytes, name, codes.rows.size());
  for (const Requantizer& row : codes.rows)
    text += fmt::format("    {{{}, {}, {}, {}, {}, {}}},\n", row.addend, row.multiplier, row.shift,
                        row.odd ? 1 : 0, row.low, row.high);
  return text + "};\n\n";
}

std::string extents(const Extent& extent) {
  return fmt::format("{{{}, {}, {}}}", extent[0], extent[1], extent[2]);
}

std::string strides(const ImageLayout& layout) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}}}", layout.offset, layout.batch, layout.channel,
                     layout.spatial[0], layout.spatial[1], layout.spatial[2]);
}

// ---- One overload for each kind of step

std::string constants_of(const std::string& name, const QuantizeBox& step) {
  std::vector<std::int32_t> keys;
  for (const auto& table : step.keys) keys.insert(keys.end(), table.begin(), table.end());
  return array("std::int32_t", name + "_keys", keys) + index_array(name + "_source", step.source) +
         table_array(name + "_table", step.table);
}

std::string constants_of(const std::string& name, const GridDense& step) {
  return weight_array(name + "_weights", step.weight, step.weight_bytes) +
         requantizers(name, step.codes);
}

std::string constants_of(const std::string& name, const GridConv& step) {
  const ConvGeometry& g = step.geometry;
  return weight_array(name + "_weights", step.weight, step.weight_bytes) +
         requantizers(name, step.codes) +
         fmt::format(
             "constexpr bf::integer::Convolution {}_shape = {{\n    {}, {}, {}, {},\n"
             "    {}, {}, {}, {}, {}, {},\n    {}, {}}};\n\n",
             name, g.batch, g.groups, g.in_group(), g.out_group(), extents(g.in_size),
             extents(g.out_size), extents(g.kernel), extents(g.stride), extents(g.dilation),
             extents(g.pad), strides(g.in), strides(g.out));
}

std::string constants_of(const std::string& name, const GridSparse& step) {
  std::string text = index_array(name + "_start", step.row_start);
  // C++ has no empty arrays: where no row has entries, all sums are 0 and this element is not read.
  const std::vector<std::int64_t> none = {0};
  text += index_array(name + "_column", step.column.empty() ? none : step.column);
  if (!step.weight.empty()) text += weight_array(name + "_weights", step.weight, 2);
  return text + requantizers(name, step.codes);
}

std::string constants_of(const std::string& name, const GridSum& step) {
  if (step.rounding == Rounding::kSteps)
    return array("std::int64_t", name + "_steps", step.steps) +
           fmt::format(
               "constexpr bf::integer::PairSteps {0}_sum = {{{1}, {2}, {0}_steps, {3}, {4}}};"
               "\n\n",
               name, step.a_weight, step.b_weight, step.low, step.steps.size());
  return fmt::format("constexpr bf::integer::PairSum {}_sum = {{{}, {}, {}, {}, {}, {}, {}}};\n\n",
                     name, step.a_weight, step.b_weight, step.addend, step.shift, step.odd ? 1 : 0,
                     step.low, step.high);
}

std::string constants_of(const std::string& name, const GridMax& step) {
  return index_array(name + "_start", step.row_start) + index_array(name + "_source", step.source);
}

std::string order_name(CodeOrder order) {
  switch (order) {
    case CodeOrder::kRises:
      return "kRises";
    case CodeOrder::kFalls:
      return "kFalls";
    case CodeOrder::kNeither:
      return "kNeither";
  }
  return {};
}

std::string constants_of(const std::string& name, const GridTable& step) {
  std::string text = index_array(name + "_source", step.source);
  if (step.tables.empty()) return text;
  std::vector<int> codes;
  std::string tables;
  for (const CodeTable& table : step.tables) {
    tables += fmt::format("    {{{}_images + {}, bf::integer::CodeOrder::{}}},\n", name,
                          codes.size(), order_name(table.order));
    codes.insert(codes.end(), table.code.begin(), table.code.end());
  }
  return text + table_array(name + "_table", step.table) +
         array("bf::integer::Code", name + "_images", codes) +
         fmt::format("constexpr bf::integer::CodeTable {}_tables[{}] = {{\n{}}};\n\n", name,
                     step.tables.size(), tables);
}

std::string constants_of(const std::string&, const GridLoose&) {
  return {};
}

std::string constants_of(const std::string& name, const GridParts& step) {
  std::string text;
  for (std::size_t i = 0; i < step.parts.size(); ++i) {
    const GridPart& part = step.parts[i];
    text += index_array(fmt::format("{}_source{}", name, i), part.source);
    if (part.copies) continue;
    text += array("bf::integer::Code", fmt::format("{}_images{}", name, i), part.table.code) +
            fmt::format(
                "constexpr bf::integer::CodeTable {0}_table{1} = {{{0}_images{1}, "
                "bf::integer::CodeOrder::{2}}};\n\n",
                name, i, order_name(part.table.order));
  }
  return text;
}

std::string float_bits(const std::string& name, const std::vector<float>& floats) {
  std::string text =
      fmt::format("// Bits of floats.\nconstexpr std::uint32_t {}[{}] = {{", name, floats.size());
  constexpr std::size_t kBitsPerLine = 8;
  for (std::size_t i = 0; i < floats.size(); ++i)
    text += fmt::format("{}{:#010x},", i % kBitsPerLine == 0 ? "\n    " : " ",
                        std::bit_cast<std::uint32_t>(floats[i]));
  return text + "\n};\n\n";
}

std::string constants_of(const std::string& name, const DequantizeBounds& step) {
  std::vector<float> least, most;
  std::string tables;
  for (const BoundTable& table : step.tables) {
    tables += fmt::format("    {{{0}_least + {1}, {0}_most + {1}, {2}}},\n", name, least.size(),
                          table.falls);
    least.insert(least.end(), table.lower.begin(), table.lower.end());
    most.insert(most.end(), table.upper.begin(), table.upper.end());
  }
  return index_array(name + "_source", step.source) + table_array(name + "_table", step.table) +
         float_bits(name + "_least", least) + float_bits(name + "_most", most) +
         fmt::format("constexpr bf::integer::Bounds {}_bounds[{}] = {{\n{}}};\n\n", name,
                     step.tables.size(), tables);
}

std::string constants_of(const std::string& name, const DequantizeSums& step) {
  std::string text = weight_array(name + "_weights", step.weight, step.weight_bytes) +
                     fmt::format("constexpr bf::integer::SumBounds {}_bounds[{}] = {{\n", name,
                                 step.bounds.size());
  for (const SumBounds& row : step.bounds)
    text += fmt::format("    {{{}, {}, {}}},\n", row.multiplier, row.low_addend, row.high_addend);
  return text + "};\n\n";
}

std::string origin_of(const IntegerPlan& plan, const IntegerStep& step) {
  const GridId out = output_of(step);
  return out < 0 ? "outputs" : plan.tensor(out).origin;
}

}  // namespace

std::string step_name(const IntegerPlan& plan, const IntegerStep& step) {
  const GridId out = output_of(step);
  if (out >= 0) return plan.tensor(out).name;
  const auto* const codes = std::get_if<DequantizeBounds>(&step);
  const auto* const sums = std::get_if<DequantizeSums>(&step);
  BF_CHECK(codes != nullptr || sums != nullptr);
  return fmt::format("outputs_{}", codes != nullptr ? codes->first : sums->first);
}

std::string emit_integer_constants(const Plan& plan) {
  std::string text;
  for (const IntegerStep& step : plan.integer->steps) {
    const std::string name = step_name(*plan.integer, step);
    const std::string constants =
        std::visit([&](const auto& each) { return constants_of(name, each); }, step);
    if (!constants.empty())
      text += fmt::format("// {}\n\n{}", origin_of(*plan.integer, step), constants);
  }
  return text;
}

}  // namespace bf_aot::emit
