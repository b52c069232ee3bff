#include "planner/weight_tables.h"

#include <algorithm>

namespace bf {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

const char* suffix(TableKind kind) {
  switch (kind) {
    case TableKind::kWeight:
      return "_weight";
    case TableKind::kResidual:
      return "_residual";
    case TableKind::kBiasFloat:
      return "_bias";
    case TableKind::kBiasDouble:
      return "_bias_double";
  }
  return "";
}

// Layers whose float bias some step reads.
bool reads_float_bias(const Plan& plan, int layer) {
  for (const Entry& entry : plan.entries)
    for (const Step& step : entry.steps) {
      if (const auto* interval = std::get_if<IntervalAffine>(&step))
        if (interval->layer == layer) return true;
      if (const auto* evaluate = std::get_if<EvaluateAffine>(&step))
        if (evaluate->layer == layer) return true;
    }
  return false;
}

}  // namespace

std::vector<WeightTable> weight_tables(const Plan& plan) {
  std::vector<WeightTable> tables;
  std::int64_t offset = 0;
  const bool centred = plan.config.method != Method::kIbp;
  for (const WeightLayout& layout : plan.layouts) {
    const Layer& layer = plan.layers[static_cast<std::size_t>(layout.layer)];
    const std::int64_t padded = round_up(layer.out, layout.panel);
    const auto add = [&](TableKind kind, std::int64_t count, std::int64_t size) {
      offset = round_up(offset, plan.config.target.align);
      tables.push_back({layer.name + suffix(kind), kind, layout.layer, layout.panel, count, offset,
                        count * size});
      offset += count * size;
    };
    add(TableKind::kWeight, padded * layer.in, 4);
    if (centred && !layer.residual.empty()) add(TableKind::kResidual, padded * layer.in, 4);
    if (reads_float_bias(plan, layout.layer)) add(TableKind::kBiasFloat, padded, 4);
    if (centred) add(TableKind::kBiasDouble, padded, 8);
  }
  return tables;
}

std::int64_t blob_bytes(const std::vector<WeightTable>& tables, int align) {
  return tables.empty() ? 0 : round_up(tables.back().offset + tables.back().bytes, align);
}

}  // namespace bf
