#include "planner/plan/integer.h"

#include <type_traits>

namespace bf_aot {
namespace {

std::string_view name_of_kind(const QuantizeBox&) {
  return "quantize";
}
std::string_view name_of_kind(const GridDense&) {
  return "dense";
}
std::string_view name_of_kind(const GridConv&) {
  return "conv";
}
std::string_view name_of_kind(const GridSparse&) {
  return "sparse";
}
std::string_view name_of_kind(const GridSum&) {
  return "sum";
}
std::string_view name_of_kind(const GridMax&) {
  return "max";
}
std::string_view name_of_kind(const GridTable&) {
  return "table";
}
std::string_view name_of_kind(const GridParts&) {
  return "parts";
}
std::string_view name_of_kind(const GridLoose&) {
  return "loosen";
}
std::string_view name_of_kind(const DequantizeBounds&) {
  return "dequantize";
}
std::string_view name_of_kind(const DequantizeSums&) {
  return "dequantize-sums";
}

std::int64_t number_of(const auto& numbers) {
  return static_cast<std::int64_t>(numbers.size());
}

std::int64_t bytes_of_codes(const Requantization& codes) {
  std::int64_t bytes = 0;
  for (const Requantizer& row : codes.rows)
    bytes += codes.rounding == Rounding::kSteps ? 8 + 4 * number_of(row.steps)
             : codes.multiplier_bytes == 4      ? 16
                                                : 24;
  return bytes;
}

std::int64_t indices(const std::vector<std::int64_t>& numbers) {
  return index_bytes(numbers) * number_of(numbers);
}

std::int64_t bytes_of(const QuantizeBox& step) {
  std::int64_t bytes = indices(step.source) + 2 * number_of(step.table);
  for (const auto& keys : step.keys) bytes += 4 * number_of(keys);
  return bytes;
}
std::int64_t bytes_of(const GridDense& step) {
  return step.weight_bytes * number_of(step.weight) + bytes_of_codes(step.codes);
}
std::int64_t bytes_of(const GridConv& step) {
  return step.weight_bytes * number_of(step.weight) + bytes_of_codes(step.codes);
}
std::int64_t bytes_of(const GridSparse& step) {
  return indices(step.row_start) + indices(step.column) + 2 * number_of(step.weight) +
         bytes_of_codes(step.codes);
}
std::int64_t bytes_of(const GridSum& step) {
  return 32 + 8 * number_of(step.steps);
}
std::int64_t bytes_of(const GridMax& step) {
  return indices(step.row_start) + indices(step.source);
}
std::int64_t bytes_of(const GridTable& step) {
  return indices(step.source) + kGridCodes * number_of(step.tables) + 2 * number_of(step.table);
}
std::int64_t bytes_of(const GridParts& step) {
  std::int64_t bytes = 0;
  for (const GridPart& part : step.parts)
    bytes += indices(part.source) + (part.copies ? 0 : kGridCodes);
  return bytes;
}
std::int64_t bytes_of(const GridLoose&) {
  return 0;
}
std::int64_t bytes_of(const DequantizeSums& step) {
  return step.weight_bytes * number_of(step.weight) + 24 * number_of(step.bounds);
}
std::int64_t bytes_of(const DequantizeBounds& step) {
  return indices(step.source) + 8 * kGridCodes * number_of(step.tables) + 2 * number_of(step.table);
}

}  // namespace

int index_bytes(const std::vector<std::int64_t>& indices) {
  for (const std::int64_t index : indices)
    if (index > 0xffff) return 4;
  return 2;
}

std::string_view name_of(const IntegerStep& step) {
  return std::visit([](const auto& each) { return name_of_kind(each); }, step);
}

std::string name_of_result(const IntegerPlan& plan, const IntegerStep& step) {
  return std::visit(
      [&](const auto& each) -> std::string {
        if constexpr (requires { each.out; })
          return plan.tensor(each.out).name;
        else
          return "outputs_" + std::to_string(each.first);
      },
      step);
}

const Origin& origin_of(const IntegerPlan& plan, const IntegerStep& step) {
  return std::visit(
      [&](const auto& each) -> const Origin& {
        if constexpr (requires { each.origin; })
          return each.origin;
        else
          return plan.tensor(each.out).origin;
      },
      step);
}

std::vector<GridId> inputs_of(const IntegerStep& step) {
  return std::visit(
      [](const auto& each) -> std::vector<GridId> {
        if constexpr (requires { each.a; }) return {each.a, each.b};
        if constexpr (requires { each.in; }) return {each.in};
        if constexpr (requires { each.parts; }) {
          std::vector<GridId> inputs;
          for (const GridPart& part : each.parts) inputs.push_back(part.in);
          return inputs;
        }
        return {};
      },
      step);
}

GridId output_of(const IntegerStep& step) {
  return std::visit(
      [](const auto& each) -> GridId {
        if constexpr (requires { each.out; })
          return each.out;
        else
          return -1;
      },
      step);
}

std::int64_t constant_bytes(const IntegerStep& step) {
  return std::visit([](const auto& each) { return bytes_of(each); }, step);
}

std::int64_t constant_bytes(const PropertySums& sums) {
  return sums.weight_bytes * number_of(sums.weight);
}

std::string_view to_string(Rounding rounding) {
  switch (rounding) {
    case Rounding::kFloor:
      return "floor";
    case Rounding::kHalfEven:
      return "half-even";
    case Rounding::kSteps:
      return "steps";
  }
  return {};
}

std::string_view to_string(CodeOrder order) {
  switch (order) {
    case CodeOrder::kRises:
      return "rises";
    case CodeOrder::kFalls:
      return "falls";
    case CodeOrder::kNeither:
      return "neither";
  }
  return {};
}

}  // namespace bf_aot
