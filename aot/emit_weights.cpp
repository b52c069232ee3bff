#include <fmt/format.h>

#include <cstring>

#include "aot/emit.h"
#include "aot/literals.h"

namespace bf {
namespace {

constexpr std::int64_t kInlineBytes = 2 << 10;
constexpr std::int64_t kIncludeBytes = 128 << 10;

const Layer& layer_of(const Plan& plan, const WeightTable& table) {
  return plan.layers[static_cast<std::size_t>(table.layer)];
}

bool is_double(const WeightTable& table) {
  return table.kind == TableKind::kBiasDouble;
}

// Element i of a table as the kernels read it; zero where it is padding.
double element(const Plan& plan, const WeightTable& table, std::int64_t i) {
  const Layer& layer = layer_of(plan, table);
  if (table.kind == TableKind::kBiasFloat || table.kind == TableKind::kBiasDouble)
    return i < layer.out ? layer.bias[static_cast<std::size_t>(i)] : 0;
  const std::int64_t panel = table.panel;
  const std::int64_t in = layer.in;
  const std::int64_t row = i / (panel * in) * panel + i % panel;
  const std::int64_t column = i / panel % in;
  if (row >= layer.out) return 0;
  const std::vector<float>& source =
      table.kind == TableKind::kWeight ? layer.weight : layer.residual;
  return static_cast<double>(source[static_cast<std::size_t>(row * in + column)]);
}

std::string type_of(const WeightTable& table) {
  return is_double(table) ? "double" : "float";
}

void append_array(const Plan& plan, const WeightTable& table, std::string& text) {
  const Layer& layer = layer_of(plan, table);
  text += fmt::format("// {}: [{}, {}]", layer.origin, layer.out, layer.in);
  const bool matrix = table.kind == TableKind::kWeight || table.kind == TableKind::kResidual;
  if (matrix && table.panel > 1)
    text += fmt::format(", as [{}][{}][{}]", table.count / table.panel / layer.in, layer.in,
                        table.panel);
  text += fmt::format("\nalignas({}) constexpr {} {}[{}] = {{", plan.config.target.align,
                      type_of(table), table.name, table.count);
  const std::int64_t per_line = matrix ? std::min<std::int64_t>(table.panel, 6) : 6;
  for (std::int64_t i = 0; i < table.count; ++i) {
    text += i % (per_line > 1 ? per_line : std::min(layer.in, 6)) == 0 ? "\n    " : " ";
    const double value = element(plan, table, i);
    text += is_double(table) ? double_literal(value) : float_literal(static_cast<float>(value));
    text += ",";
  }
  text += "\n};\n\n";
}

std::string blob(const Plan& plan) {
  const std::vector<WeightTable> tables = weight_tables(plan);
  std::string bytes(static_cast<std::size_t>(blob_bytes(tables, plan.config.target.align)), '\0');
  for (const WeightTable& table : tables) {
    char* at = bytes.data() + table.offset;
    for (std::int64_t i = 0; i < table.count; ++i) {
      const double value = element(plan, table, i);
      if (is_double(table)) {
        std::memcpy(at + 8 * i, &value, 8);
      } else {
        const auto narrow = static_cast<float>(value);
        std::memcpy(at + 4 * i, &narrow, 4);
      }
    }
  }
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

WeightStorage weight_storage(std::int64_t bytes) {
  if (bytes <= kInlineBytes) return WeightStorage::kInline;
  return bytes <= kIncludeBytes ? WeightStorage::kInclude : WeightStorage::kObject;
}

std::string table_reference(WeightStorage storage, const WeightTable& table) {
  if (storage != WeightStorage::kObject) return table.name;
  return fmt::format("weights<{}>(k_{})", type_of(table), table.name);
}

std::string emit_weight_arrays(const Plan& plan) {
  std::string text;
  for (const WeightTable& table : weight_tables(plan)) append_array(plan, table, text);
  return text;
}

std::string emit_weight_blob_declarations(const Plan& plan) {
  std::string text;
  for (const WeightTable& table : weight_tables(plan))
    text += fmt::format("constexpr std::size_t k_{} = {};  // {} {}s, {}\n", table.name,
                        table.offset, table.count, type_of(table), layer_of(plan, table).origin);
  text += fmt::format(R"(
template <typename T>
inline const T* weights(std::size_t offset) {{
  return reinterpret_cast<const T*>({}_weights + offset);
}}

)",
                      plan.name);
  return text;
}

std::vector<EmittedFile> emit_weight_files(const Plan& plan, const std::string& stem) {
  switch (weight_storage(plan.weights_bytes())) {
    case WeightStorage::kInline:
      return {};
    case WeightStorage::kInclude:
      return {{"_weights.inc", emit_banner(plan, "constants of " + stem + ".cpp", "//") + "\n" +
                                   emit_weight_arrays(plan)}};
    case WeightStorage::kObject:
      return {{"_weights.S", assembly(plan, stem)}, {"_weights.bin", blob(plan)}};
  }
  return {};
}

}  // namespace bf
