#include <fmt/format.h>

#include "aot/emit/constants/weights.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/dialect.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/literals.h"
#include "aot/emit/text/marks.h"

namespace bf_aot::emit {
namespace {

const Layer& layer_of(const Plan& plan, const WeightTable& table) {
  return plan.layer(table.layer);
}

std::string type_of(const WeightTable& table, const Dialect& dialect) {
  switch (element_of(table.kind)) {
    case Element::kFloat64:
      return "double";
    case Element::kInt32:
      return dialect.integer("int32");
    case Element::kUint8:
      return dialect.integer("uint8");
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
  const Dialect dialect = dialect_of_host(plan.config.language);
  text += fmt::format("\n{} {} {}[{}] = {{", dialect.aligned_constant(plan.config.target.align),
                      type_of(table, dialect), table.name, table.count);
  const std::int64_t per_panel = matrix ? std::min<std::int64_t>(table.panel, 6) : 6;
  const std::int64_t per_line = per_panel > 1 ? per_panel : std::min(layer.in, 6);
  for (std::int64_t i = 0; i < table.count; ++i) {
    text += i % per_line == 0 ? "\n    " : " ";
    text += literal(table, table_element(plan, table, i)) + ",";
  }
  text += "\n};\n\n";
}

std::string blob(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  const std::int64_t size = blob_bytes(lowered.tables(), plan.config.target.align);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  for (const WeightTable& table : lowered.tables())
    if (table.same_as < 0) pack_table(plan, table, bytes.data() + table.offset);
  return bytes;
}

// A constant object for ELF assemblers: GNU as and clang's.
std::string assembly(const Plan& plan, const std::string& stem) {
  return fill_in(R"(/* Constants of @name@; see @stem@.cpp. Do not edit. */
    .section .rodata.@name@_weights,"a",%progbits
    .balign @align@
    .globl @name@_weights
    .hidden @name@_weights
    .type @name@_weights, %object
@name@_weights:
    .incbin "@stem@_weights.bin"
    .size @name@_weights, . - @name@_weights
    .section .note.GNU-stack,"",%progbits
)",
                 {{"name", plan.name}, {"stem", stem}, {"align", plan.config.target.align}});
}

}  // namespace

std::string table_reference(WeightStorage storage, const WeightTable& table) {
  if (storage != WeightStorage::kObject) return table.name;
  return fmt::format("weights<{}>(k_{})", type_of(table, Dialect()), table.name);
}

std::string emit_weight_arrays(const Lowered& lowered, bool marks) {
  std::string text;
  for (const WeightTable& table : lowered.tables()) {
    if (table.same_as >= 0) continue;
    if (marks) text += begin_mark("table " + table.name) + "\n";
    append_array(lowered.plan(), table, text);
    if (marks) text += end_mark() + "\n";
  }
  return text;
}

std::string emit_weight_blob_declarations(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  std::string text;
  for (const WeightTable& table : lowered.tables()) {
    if (table.same_as >= 0) continue;
    text +=
        fmt::format("constexpr std::size_t k_{} = {};  // {} {}s, {}\n", table.name, table.offset,
                    table.count, type_of(table, Dialect()), layer_of(plan, table).origin.text);
  }
  return text + fill_in(R"(
template <typename T>
inline const T* weights(std::size_t offset) {
  return reinterpret_cast<const T*>(@name@_weights + offset);
}

)",
                        {{"name", plan.name}});
}

std::vector<EmittedFile> emit_weight_files(const Lowered& lowered, const std::string& stem,
                                           bool marks) {
  const Plan& plan = lowered.plan();
  switch (plan.weight_storage) {
    case WeightStorage::kInline:
      return {};
    case WeightStorage::kInclude:
      return {
          {"_weights.inc", emit_banner(plan,
                                       fmt::format("constants of {}{}", stem,
                                                   dialect_of_host(plan.config.language).suffix()),
                                       "//") +
                               "\n" + emit_weight_arrays(lowered, marks)}};
    case WeightStorage::kObject:
      return {{"_weights.S", assembly(plan, stem)}, {"_weights.bin", blob(lowered)}};
  }
  return {};
}

}  // namespace bf_aot::emit
