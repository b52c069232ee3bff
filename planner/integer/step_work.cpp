#include "planner/integer/step_work.h"

#include <algorithm>
#include <bit>
#include <variant>

namespace bf_aot {
namespace {

constexpr std::int64_t kBounds = 2;

std::int64_t size_of(const auto& list) {
  return static_cast<std::int64_t>(list.size());
}

// A comparison, a sum, a shift, and the new end of the interval, for each halving.
std::int64_t halving(std::int64_t keys) {
  return 4 * static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(keys)));
}

// Operations that round one sum to a code.
std::int64_t rounding(Rounding rounding, std::int64_t steps) {
  switch (rounding) {
    case Rounding::kFloor:
      return 5;  // product, sum, shift, two comparisons
    case Rounding::kHalfEven:
      return 12;  // the half, its parity, and the same
    case Rounding::kSteps:
      return 1 + halving(steps);
  }
  return 0;
}

std::int64_t rounding(const Requantization& codes) {
  std::int64_t steps = 0;
  for (const Requantizer& row : codes.rows) steps = std::max(steps, size_of(row.steps));
  return rounding(codes.rounding, steps);
}

// The sign, then a product and a sum for each bound.
constexpr std::int64_t kTerm = 1 + 2 * kBounds;
// A number below 2^62 is brought to 24 bits or up to them, by three operations a bit.
constexpr std::int64_t kFloatBits = 3 * 40 + 10;

// Operations of two rows that go back from the codes that layer `number` of method crown reads: a
// neuron has two products of 64 bits, their parts and the choice of a line, a weight a product and
// a sum.
std::int64_t back_operations(const IntegerPlan& plan, std::size_t number) {
  constexpr std::int64_t kNeuron = 16;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < number; ++i) {
    const CrownLayer& layer = plan.crown->layers[i];
    if (layer.lines.empty()) continue;
    const auto& step = std::get<GridDense>(plan.steps[static_cast<std::size_t>(layer.step)]);
    sum += kBounds * (std::int64_t{step.rows} * (kNeuron + 2 * step.columns) + step.columns);
  }
  return sum + kBounds * 3 * plan.tensor(output_of(plan.steps.front())).count;
}

struct Operations {
  const IntegerPlan& plan;

  // Operations of a dense step in method crown, besides its own: the beginnings of its rows, their
  // way back, and the lines of its neurons with a division each.
  template <class Step>
  std::int64_t of_crown(const Step& step) const {
    constexpr std::int64_t kLines = 40;
    if (!plan.crown) return 0;
    const std::vector<CrownLayer>& layers = plan.crown->layers;
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (std::get_if<Step>(&plan.steps[static_cast<std::size_t>(layers[i].step)]) == &step)
        return step.rows *
               (kLines + (i == 0 ? 0 : kBounds * 2 * step.columns + back_operations(plan, i)));
    return 0;
  }

  std::int64_t elements(GridId id) const { return plan.tensor(id).count; }
  std::int64_t looked_up(std::int64_t count, bool any_order) const {
    return count * (any_order ? 3 * kGridCodes : 2 * kBounds);
  }

  std::int64_t operator()(const QuantizeBox& step) const {
    return kBounds * elements(step.out) * (4 + halving(size_of(step.keys.front())));
  }
  std::int64_t operator()(const GridDense& step) const {
    return std::int64_t{step.rows} * (kTerm * step.columns + kBounds * rounding(step.codes)) +
           of_crown(step);
  }
  std::int64_t operator()(const GridConv& step) const {
    const ConvGeometry& g = step.geometry;
    const std::int64_t window = g.in_group() * g.taps();
    const std::int64_t places = g.batch * g.out_size[0] * g.out_size[1] * g.out_size[2];
    // Six operations find where a code lies, and whether that is inside the image.
    const std::int64_t copied = window * (6 + 2 * kBounds);
    const std::int64_t channel = kTerm * window + kBounds * rounding(step.codes);
    return places * (g.groups * copied + g.out_channels * channel);
  }
  std::int64_t operator()(const GridSparse& step) const {
    return size_of(step.column) * (kTerm + kBounds) +
           elements(step.out) * kBounds * rounding(step.codes);
  }
  std::int64_t operator()(const GridSum& step) const {
    return kBounds * elements(step.out) * (4 + rounding(step.rounding, size_of(step.steps)));
  }
  std::int64_t operator()(const GridMax& step) const {
    return kBounds * (2 * size_of(step.source) + elements(step.out));
  }
  std::int64_t operator()(const GridTable& step) const {
    if (step.tables.empty()) return kBounds * elements(step.out);
    return looked_up(elements(step.out),
                     std::ranges::any_of(step.tables, [](const CodeTable& table) {
                       return table.order == CodeOrder::kNeither;
                     }));
  }
  std::int64_t operator()(const GridParts& step) const {
    std::int64_t sum = 0;
    for (const GridPart& part : step.parts)
      sum += part.copies ? kBounds * part.count
                         : looked_up(part.count, part.table.order == CodeOrder::kNeither);
    return sum;
  }
  std::int64_t operator()(const GridLoose& step) const { return 2 * kBounds * elements(step.out); }
  std::int64_t operator()(const DequantizeBounds& step) const {
    return 2 * kBounds * std::int64_t{step.count};
  }
  std::int64_t operator()(const DequantizeSums& step) const {
    return std::int64_t{step.rows} * (kTerm * step.columns + kBounds * (2 + kFloatBits)) +
           of_crown(step);
  }
};

struct Calls {
  const bool crown;

  using List = std::vector<StepCalls>;

  List operator()(const QuantizeBox&) const { return {{"bf::integer::quantize", kBounds}}; }
  List operator()(const GridDense&) const {
    return {{crown ? "bf::integer::crown_dense" : "bf::integer::dense", 1}};
  }
  List operator()(const GridConv&) const { return {{"bf::integer::convolve", 1}}; }
  List operator()(const GridSparse&) const { return {{"bf::integer::sparse", 1}}; }
  List operator()(const GridSum&) const { return {{"bf::integer::add", kBounds}}; }
  List operator()(const GridMax&) const { return {{"bf::integer::largest", kBounds}}; }
  List operator()(const GridTable& step) const {
    if (step.tables.empty()) return {{"bf::integer::gather", kBounds}};
    return {{"bf::integer::look_up", 1}};
  }
  List operator()(const GridParts& step) const {
    const auto copies = std::ranges::count_if(step.parts, &GridPart::copies);
    List list;
    if (copies > 0) list.push_back({"bf::integer::gather", kBounds * copies});
    if (copies < size_of(step.parts))
      list.push_back({"bf::integer::look_up", size_of(step.parts) - copies});
    return list;
  }
  List operator()(const GridLoose&) const { return {{"bf::integer::loosen", 1}}; }
  List operator()(const DequantizeBounds&) const { return {{"bf::integer::dequantize", 1}}; }
  List operator()(const DequantizeSums&) const {
    return {{crown ? "bf::integer::crown_outputs" : "bf::integer::dequantize_sums", 1}};
  }
};

}  // namespace

std::int64_t most_operations(const IntegerPlan& plan, const IntegerStep& step) {
  return std::visit(Operations{plan}, step);
}

std::int64_t row_operations(const IntegerPlan& plan) {
  std::int64_t sum = kBounds * plan.property->rows;
  for (const PropertySums& sums : plan.property->sums) sum += kTerm * size_of(sums.weight);
  if (plan.crown)
    for (const PropertySums& sums : plan.property->sums)
      sum += 3 * kBounds * size_of(sums.weight) +
             plan.property->rows * back_operations(plan, plan.crown->layers.size());
  return sum;
}

std::vector<StepCalls> calls_of(const IntegerPlan& plan, const IntegerStep& step) {
  return std::visit(Calls{plan.crown.has_value()}, step);
}

}  // namespace bf_aot
