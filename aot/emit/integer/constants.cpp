#include <fmt/format.h>

#include <bit>
#include <string_view>

#include "aot/emit/integer/integer.h"
#include "aot/emit/text/dialect.h"
#include "aot/emit/text/marks.h"

namespace bf_aot::emit {
namespace {

constexpr std::size_t kPerLine = 16;

std::string extents(const Extent& extent) {
  return fmt::format("{{{}, {}, {}}}", extent[0], extent[1], extent[2]);
}

std::string strides(const ImageLayout& layout) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}}}", layout.offset, layout.batch, layout.channel,
                     layout.spatial[0], layout.spatial[1], layout.spatial[2]);
}

// The constants of steps, one overload for each kind.
class ConstantText {
 public:
  explicit ConstantText(const Dialect& dialect) : dialect_(dialect) {}

  std::string operator()(const std::string& name, const QuantizeBox& step) const {
    std::vector<std::int32_t> keys;
    for (const auto& table : step.keys) keys.insert(keys.end(), table.begin(), table.end());
    return array(dialect_.integer("int32"), name + "_keys", keys) +
           index_array(name + "_source", step.source) + table_array(name + "_table", step.table);
  }

  std::string operator()(const std::string& name, const GridDense& step) const {
    return weight_array(name + "_weights", step.weight, step.weight_bytes) +
           requantizers(name, step.codes);
  }

  std::string operator()(const std::string& name, const GridConv& step) const {
    const ConvGeometry& g = step.geometry;
    return weight_array(name + "_weights", step.weight, step.weight_bytes) +
           requantizers(name, step.codes) +
           fmt::format(
               "{} {}_shape = {{\n    {}, {}, {}, {},\n"
               "    {}, {}, {}, {}, {}, {},\n    {}, {}}};\n\n",
               constant("Convolution", "integer_convolution"), name, g.batch, g.groups,
               g.in_group(), g.out_group(), extents(g.in_size), extents(g.out_size),
               extents(g.kernel), extents(g.stride), extents(g.dilation), extents(g.pad),
               strides(g.in), strides(g.out));
  }

  std::string operator()(const std::string& name, const GridSparse& step) const {
    std::string text = index_array(name + "_start", step.row_start);
    // C++ has no empty arrays: where no row has entries, all sums are 0 and this element is not
    // read.
    const std::vector<std::int64_t> none = {0};
    text += index_array(name + "_column", step.column.empty() ? none : step.column);
    if (!step.weight.empty()) text += weight_array(name + "_weights", step.weight, 2);
    return text + requantizers(name, step.codes);
  }

  std::string operator()(const std::string& name, const GridSum& step) const {
    if (step.rounding == Rounding::kSteps)
      return array(dialect_.integer("int64"), name + "_steps", step.steps) +
             fmt::format(
                 "{5} {0}_sum = {{{1}, {2}, {0}_steps, {3}, {4}}};"
                 "\n\n",
                 name, step.a_weight, step.b_weight, step.low, step.steps.size(),
                 constant("PairSteps", "pair_steps"));
    return fmt::format("{} {}_sum = {{{}, {}, {}, {}, {}, {}, {}}};\n\n",
                       constant("PairSum", "pair_sum"), name, step.a_weight, step.b_weight,
                       step.addend, step.shift, step.odd ? 1 : 0, step.low, step.high);
  }

  std::string operator()(const std::string& name, const GridMax& step) const {
    return index_array(name + "_start", step.row_start) +
           index_array(name + "_source", step.source);
  }

  std::string operator()(const std::string& name, const GridTable& step) const {
    std::string text = index_array(name + "_source", step.source);
    if (step.tables.empty()) return text;
    std::vector<int> codes;
    std::string tables;
    for (const CodeTable& table : step.tables) {
      tables +=
          fmt::format("    {{{}_images + {}, {}}},\n", name, codes.size(), order_name(table.order));
      codes.insert(codes.end(), table.code.begin(), table.code.end());
    }
    return text + table_array(name + "_table", step.table) +
           array(code(), name + "_images", codes) +
           fmt::format("{} {}_tables[{}] = {{\n{}}};\n\n", constant("CodeTable", "code_table"),
                       name, step.tables.size(), tables);
  }

  std::string operator()(const std::string&, const GridLoose&) const { return {}; }

  std::string operator()(const std::string& name, const GridParts& step) const {
    std::string text;
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
      const GridPart& part = step.parts[i];
      text += index_array(fmt::format("{}_source{}", name, i), part.source);
      if (part.copies) continue;
      text += array(code(), fmt::format("{}_images{}", name, i), part.table.code) +
              fmt::format(
                  "{3} {0}_table{1} = {{{0}_images{1}, "
                  "{2}}};\n\n",
                  name, i, order_name(part.table.order), constant("CodeTable", "code_table"));
    }
    return text;
  }

  std::string operator()(const std::string& name, const DequantizeBounds& step) const {
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
           fmt::format("{} {}_bounds[{}] = {{\n{}}};\n\n", constant("Bounds", "code_bounds"), name,
                       step.tables.size(), tables);
  }

  std::string operator()(const std::string& name, const DequantizeSums& step) const {
    std::string text = weight_array(name + "_weights", step.weight, step.weight_bytes) +
                       fmt::format("{} {}_bounds[{}] = {{\n", constant("SumBounds", "sum_bounds"),
                                   name, step.bounds.size());
    for (const SumBounds& row : step.bounds)
      text += fmt::format("    {{{}, {}, {}}},\n", row.multiplier, row.low_addend, row.high_addend);
    return text + "};\n\n";
  }

  template <typename Numbers>
  std::string array(std::string_view type, const std::string& name, const Numbers& numbers) const {
    std::string text =
        fmt::format("{} {} {}[{}] = {{", dialect_.constant(), type, name, numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      text += fmt::format("{}{},", i % kPerLine == 0 ? "\n    " : " ", +numbers[i]);
    return text + "\n};\n\n";
  }

 private:
  // A type of the runtime, and the words before the name of a constant of it.
  std::string type(std::string_view cpp_name, std::string_view c_name) const {
    return dialect_.is_c() ? fmt::format("bf_{}", c_name)
                           : fmt::format("bf::integer::{}", cpp_name);
  }

  std::string constant(std::string_view cpp_name, std::string_view c_name) const {
    return fmt::format("{} {}", dialect_.constant(), type(cpp_name, c_name));
  }

  // The type of codes.
  std::string code() const {
    return dialect_.is_c() ? dialect_.integer("uint8") : "bf::integer::Code";
  }

  std::string index_array(const std::string& name, const std::vector<std::int64_t>& indices) const {
    if (indices.empty()) return {};
    return array(
        index_bytes(indices) == 2 ? dialect_.integer("uint16") : dialect_.integer("uint32"), name,
        indices);
  }

  std::string table_array(const std::string& name, const std::vector<int>& numbers) const {
    return numbers.empty() ? "" : array(dialect_.integer("uint16"), name, numbers);
  }

  std::string weight_array(const std::string& name, const std::vector<std::int16_t>& weights,
                           int bytes) const {
    return array(bytes == 1 ? dialect_.integer("int8") : dialect_.integer("int16"), name, weights);
  }

  std::string step_rows(const std::string& name, const Requantization& codes) const {
    std::vector<std::int64_t> sums;
    std::string rows;
    for (const Requantizer& row : codes.rows) {
      rows += fmt::format("    {{{}_sums + {}, {}, {}}},\n", name, sums.size(), row.low,
                          row.steps.size());
      sums.insert(sums.end(), row.steps.begin(), row.steps.end());
    }
    if (sums.empty()) sums.push_back(0);  // no array is empty
    return array(dialect_.integer("int32"), name + "_sums", sums) +
           fmt::format("{} {}_codes[{}] = {{\n{}}};\n\n", constant("StepRow", "step_row"), name,
                       codes.rows.size(), rows);
  }

  std::string requantizers(const std::string& name, const Requantization& codes) const {
    if (codes.rounding == Rounding::kSteps) return step_rows(name, codes);
    const bool wide = codes.multiplier_bytes == 8;
    std::string text =
        fmt::format("{} {}_codes[{}] = {{\n",
                    constant(fmt::format("Requantizer<std::int{}_t>", 8 * codes.multiplier_bytes),
                             wide ? "wide_requantizer" : "requantizer"),
                    name, codes.rows.size());
    for (const Requantizer& row : codes.rows)
      text += fmt::format("    {{{}, {}, {}, {}, {}, {}}},\n", row.addend, row.multiplier,
                          row.shift, row.odd ? 1 : 0, row.low, row.high);
    return text + "};\n\n";
  }

  std::string_view order_name(CodeOrder order) const {
    switch (order) {
      case CodeOrder::kRises:
        return dialect_.is_c() ? "BF_CODES_RISE" : "bf::integer::CodeOrder::kRises";
      case CodeOrder::kFalls:
        return dialect_.is_c() ? "BF_CODES_FALL" : "bf::integer::CodeOrder::kFalls";
      case CodeOrder::kNeither:
        return dialect_.is_c() ? "BF_CODES_DO_NEITHER" : "bf::integer::CodeOrder::kNeither";
    }
    return {};
  }

  std::string float_bits(const std::string& name, const std::vector<float>& floats) const {
    std::string text = fmt::format("// Bits of floats.\n{} {} {}[{}] = {{", dialect_.constant(),
                                   dialect_.integer("uint32"), name, floats.size());
    constexpr std::size_t kBitsPerLine = 8;
    for (std::size_t i = 0; i < floats.size(); ++i)
      text += fmt::format("{}{:#010x},", i % kBitsPerLine == 0 ? "\n    " : " ",
                          std::bit_cast<std::uint32_t>(floats[i]));
    return text + "\n};\n\n";
  }

  const Dialect dialect_;
};

std::string words_of(const IntegerPlan& plan, const IntegerStep& step) {
  const GridId out = output_of(step);
  return out < 0 ? "outputs" : plan.tensor(out).origin.text;
}

}  // namespace

std::string emit_row_constants(const Plan& plan) {
  const ConstantText print((Dialect(plan.config.language)));
  const GridProperty& property = *plan.integer->property;
  std::string text = print.array("std::int64_t", "slack", property.slack);
  for (const PropertySums& sums : property.sums)
    text += print.array(fmt::format("std::int{}_t", 8 * sums.weight_bytes),
                        plan.integer->tensor(sums.in).name + "_weights", sums.weight);
  return text;
}

std::string emit_integer_constants(const Plan& plan, bool marks) {
  const ConstantText print((Dialect(plan.config.language)));
  std::string text;
  for (const IntegerStep& step : plan.integer->steps) {
    const std::string name = name_of_result(*plan.integer, step);
    const std::string constants =
        std::visit([&](const auto& each) { return print(name, each); }, step);
    if (!constants.empty())
      text += marked(marks, "table " + name,
                     fmt::format("// {}\n\n{}", words_of(*plan.integer, step), constants));
  }
  if (plan.integer->crown) text += emit_crown_lines(plan);
  return text;
}

}  // namespace bf_aot::emit
