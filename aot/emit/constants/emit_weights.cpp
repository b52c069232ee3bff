#include <fmt/format.h>

#include "aot/emit/constants/weights.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/literals.h"
#include "aot/emit/text/marks.h"

namespace bf_aot::emit {
namespace {

const Layer& layer_of(const Plan& plan, const WeightTable& table) {
  return plan.layer(table.layer);
}

std::string type_of(const WeightTable& table) {
  switch (element_of(table.kind)) {
    case Element::kFloat64:
      return "double";
    case Element::kInt32:
      return "std::int32_t";
    case Element::kUint8:
      return "std::uint8_t";
    case Element::kFloat32:
      break;
  }
  return "float";
}

std::string literal(const WeightTable& table, double value) {
  switch (element_of(table.kind)) {
    case Element::kFloat64:
      return double_literal(value);
    case Element::kInt32:
    case Element::kUint8:
      return fmt::format("{}", static_cast<std::int32_t>(value));
    case Element::kFloat32:
      break;
  }
  return float_literal(static_cast<float>(value));
}

// The comment that tells the shape of a dense layer's table.
std::string matrix_comment(const Layer& layer, const WeightTable& table, bool matrix) {
  std::string text = fmt::format("[{}, {}]", layer.out, layer.in);
  if (matrix && table.panel > 1)
    text += fmt::format(", as [{}][{}][{}]", table.count / table.panel / layer.in, layer.in,
                        table.panel);
  return text;
}

std::string term_comment(const Layer& layer, const WeightTable& table) {
  if (table.term < 0) return fmt::format("[{}]", layer.out);
  const LinearMap& map = layer.term(table.term).map;
  if (const auto* conv = std::get_if<ConvMap>(&map))
    return fmt::format("[{}][{}][{}]", conv->geometry.out_channels, conv->geometry.in_group(),
                       conv->geometry.taps());
  return fmt::format("[{}]", table.count);
}

void append_array(const Plan& plan, const WeightTable& table, std::string& text) {
  const Layer& layer = layer_of(plan, table);
  const bool dense = layer.kind == LayerKind::kDense;
  const bool matrix =
      dense && (table.kind == TableKind::kWeight || table.kind == TableKind::kResidual);
  text += fmt::format("// {}: {}", layer.origin.text,
                      dense ? matrix_comment(layer, table, matrix) : term_comment(layer, table));
  text += fmt::format("\nalignas({}) constexpr {} {}[{}] = {{", plan.config.target.align,
                      type_of(table), table.name, table.count);
  const std::int64_t per_panel = matrix ? std::min<std::int64_t>(table.panel, 6) : 6;
  const std::int64_t per_line = per_panel > 1 ? per_panel : std::min(layer.in, 6);
  for (std::int64_t i = 0; i < table.count; ++i) {
    text += i % per_line == 0 ? "\n    " : " ";
    text += literal(table, table_element(plan, table, i)) + ",";
  }
  text += "\n};\n\n";
}

std::string blob(const Plan& plan) {
  const std::vector<WeightTable> tables = weight_tables(plan);
  std::string bytes(static_cast<std::size_t>(blob_bytes(tables, plan.config.target.align)), '\0');
  for (const WeightTable& table : tables)
    if (table.same_as < 0) pack_table(plan, table, bytes.data() + table.offset);
  return bytes;
}

// A constant object for ELF assemblers: GNU as and clang's.
std::string assembly(const Plan& plan, const std::string& stem) {
  return fmt::format(R"(/* Constants of {0}; see {1}.cpp. Do not edit. */
    .section .rodata.{0}_weights,"a",%progbits
    .balign {2}
    .globl {0}_weights
    .hidden {0}_weights
    .type {0}_weights, %object
{0}_weights:
    .incbin "{1}_weights.bin"
    .size {0}_weights, . - {0}_weights
    .section .note.GNU-stack,"",%progbits
)",
                     plan.name, stem, plan.config.target.align);
}

}  // namespace

std::string table_reference(WeightStorage storage, const WeightTable& table) {
  if (storage != WeightStorage::kObject) return table.name;
  return fmt::format("weights<{}>(k_{})", type_of(table), table.name);
}

std::string emit_weight_arrays(const Plan& plan, bool marks) {
  std::string text;
  for (const WeightTable& table : weight_tables(plan)) {
    if (table.same_as >= 0) continue;
    if (marks) text += begin_mark("table " + table.name) + "\n";
    append_array(plan, table, text);
    if (marks) text += end_mark() + "\n";
  }
  return text;
}

std::string emit_weight_blob_declarations(const Plan& plan) {
  std::string text;
  for (const WeightTable& table : weight_tables(plan)) {
    if (table.same_as >= 0) continue;
    text +=
        fmt::format("constexpr std::size_t k_{} = {};  // {} {}s, {}\n", table.name, table.offset,
                    table.count, type_of(table), layer_of(plan, table).origin.text);
  }
  text += fmt::format(R"(
template <typename T>
inline const T* weights(std::size_t offset) {{
  return reinterpret_cast<const T*>({}_weights + offset);
}}

)",
                      plan.name);
  return text;
}

std::vector<EmittedFile> emit_weight_files(const Plan& plan, const std::string& stem, bool marks) {
  switch (plan.weight_storage) {
    case WeightStorage::kInline:
      return {};
    case WeightStorage::kInclude:
      return {{"_weights.inc", emit_banner(plan, "constants of " + stem + ".cpp", "//") + "\n" +
                                   emit_weight_arrays(plan, marks)}};
    case WeightStorage::kObject:
      return {{"_weights.S", assembly(plan, stem)}, {"_weights.bin", blob(plan)}};
  }
  return {};
}

}  // namespace bf_aot::emit
