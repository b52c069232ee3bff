#include "planner/manifest/integer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

namespace bf_aot {
namespace {

using Json = nlohmann::ordered_json;

Json codes_json(const Requantization& codes) {
  std::int64_t steps = 0;
  int shift = 0;
  for (const Requantizer& row : codes.rows) {
    steps += static_cast<std::int64_t>(row.steps.size());
    shift = std::max(shift, row.shift);
  }
  return {{"rounding", to_string(codes.rounding)},
          {"multiplier_bytes", codes.multiplier_bytes},
          {"rows", codes.rows.size()},
          {"steps", steps},
          {"largest_shift", shift}};
}

// ---- One overload for each kind of step

Json details(const QuantizeBox& step) {
  return {{"tables", step.keys.size()}, {"keys", step.keys.front().size()}};
}
Json details(const GridDense& step) {
  return {{"rows", step.rows},
          {"columns", step.columns},
          {"weight_bytes", step.weight_bytes},
          {"codes", codes_json(step.codes)}};
}
Json details(const GridConv& step) {
  const ConvGeometry& g = step.geometry;
  return {{"groups", g.groups},
          {"in_channels", g.in_channels},
          {"out_channels", g.out_channels},
          {"in_size", g.in_size},
          {"out_size", g.out_size},
          {"kernel_size", g.kernel},
          {"stride", g.stride},
          {"dilation", g.dilation},
          {"pad", g.pad},
          {"weight_bytes", step.weight_bytes},
          {"zero", step.zero},
          {"codes", codes_json(step.codes)}};
}
Json details(const GridSparse& step) {
  return {{"entries", step.column.size()},
          {"weights", step.weight.size()},
          {"codes", codes_json(step.codes)}};
}
Json details(const GridSum& step) {
  return {{"rounding", to_string(step.rounding)},
          {"a_weight", step.a_weight},
          {"b_weight", step.b_weight},
          {"addend", step.addend},
          {"shift", step.shift},
          {"steps", step.steps.size()}};
}
Json details(const GridMax& step) {
  return {{"entries", step.source.size()}};
}
Json details(const GridTable& step) {
  Json orders = Json::array();
  for (const CodeTable& table : step.tables) orders.push_back(to_string(table.order));
  return {{"tables", std::move(orders)}, {"moves", !step.source.empty()}};
}
Json details(const GridParts& step) {
  Json parts = Json::array();
  for (const GridPart& part : step.parts)
    parts.push_back({{"first", part.first}, {"count", part.count}, {"copies", part.copies}});
  return {{"parts", std::move(parts)}};
}
Json details(const GridLoose& step) {
  return {{"highest", step.highest}};
}
Json details(const DequantizeSums& step) {
  return {{"first", step.first},
          {"rows", step.rows},
          {"columns", step.columns},
          {"weight_bytes", step.weight_bytes},
          {"shift", step.shift}};
}
Json details(const DequantizeBounds& step) {
  return {{"first", step.first}, {"count", step.count}, {"tables", step.tables.size()}};
}

Json property_json(const IntegerPlan& plan) {
  const GridProperty& property = *plan.property;
  Json sums = Json::array();
  for (const PropertySums& each : property.sums)
    sums.push_back({{"input", plan.tensor(each.in).name},
                    {"weight_bytes", each.weight_bytes},
                    {"bytes", constant_bytes(each)}});
  return {{"rows", property.rows},
          {"exact", std::ranges::count(property.slack, 0) == property.rows},
          {"sums", std::move(sums)},
          {"conditions", property.conditions.size()}};
}

Json crown_json(const GridCrown& crown) {
  Json layers = Json::array();
  for (const CrownLayer& layer : crown.layers)
    layers.push_back({{"step", layer.step},
                      {"shift", layer.shift},
                      {"relaxed", layer.relaxed},
                      {"lines", layer.lines.size()}});
  return {{"fraction", crown.fraction},
          {"row_shift", crown.row_shift},
          {"widest", crown.widest},
          {"layers", std::move(layers)}};
}

}  // namespace

Json integer_json(const Plan& plan) {
  Json tensors = Json::array();
  for (const GridTensor& tensor : plan.integer->tensors)
    tensors.push_back({{"name", tensor.name},
                       {"origin", tensor.origin.text},
                       {"count", tensor.count},
                       {"low", tensor.low},
                       {"high", tensor.high}});
  Json steps = Json::array();
  for (const IntegerStep& step : plan.integer->steps) {
    Json inputs = Json::array();
    for (const GridId in : inputs_of(step)) inputs.push_back(plan.integer->tensor(in).name);
    const GridId out = output_of(step);
    Json item = {{"step", name_of(step)},
                 {"inputs", std::move(inputs)},
                 {"output", out < 0 ? Json(nullptr) : Json(plan.integer->tensor(out).name)},
                 {"bytes", constant_bytes(step)}};
    item.update(std::visit([](const auto& each) { return details(each); }, step));
    steps.push_back(std::move(item));
  }
  Json json = {{"tensors", std::move(tensors)}, {"steps", std::move(steps)}};
  if (plan.integer->property) json["property"] = property_json(*plan.integer);
  if (plan.integer->crown) json["crown"] = crown_json(*plan.integer->crown);
  return json;
}

}  // namespace bf_aot
