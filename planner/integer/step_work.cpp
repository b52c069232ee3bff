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

struct Operations {
  const IntegerPlan& plan;

  std::int64_t elements(GridId id) const { return plan.tensor(id).count; }
  std::int64_t looked_up(std::int64_t count, bool any_order) const {
    return count * (any_order ? 3 * kGridCodes : 2 * kBounds);
  }

  std::int64_t operator()(const QuantizeBox& step) const {
    return kBounds * elements(step.out) * (4 + halving(size_of(step.keys.front())));
  }
  std::int64_t operator()(const GridDense& step) const {
    return std::int64_t{step.rows} * (kTerm * step.columns + kBounds * rounding(step.codes));
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
    return std::int64_t{step.rows} * (kTerm * step.columns + kBounds * (2 + kFloatBits));
  }
};

struct Calls {
  StepCalls operator()(const QuantizeBox&) const { return {"bf::integer::quantize", kBounds}; }
  StepCalls operator()(const GridDense&) const { return {"bf::integer::dense", 1}; }
  StepCalls operator()(const GridConv&) const { return {"bf::integer::convolve", 1}; }
  StepCalls operator()(const GridSparse&) const { return {"bf::integer::sparse", 1}; }
  StepCalls operator()(const GridSum&) const { return {"bf::integer::add", kBounds}; }
  StepCalls operator()(const GridMax&) const { return {"bf::integer::largest", kBounds}; }
  StepCalls operator()(const GridTable& step) const {
    return step.tables.empty() ? StepCalls{"bf::integer::gather", kBounds}
                               : StepCalls{"bf::integer::look_up", 1};
  }
  // Each part calls one of the two.
  StepCalls operator()(const GridParts& step) const {
    std::int64_t count = 0;
    for (const GridPart& part : step.parts) count += part.copies ? kBounds : 1;
    return {"bf::integer::gather or look_up", count};
  }
  StepCalls operator()(const GridLoose&) const { return {"bf::integer::loosen", 1}; }
  StepCalls operator()(const DequantizeBounds&) const { return {"bf::integer::dequantize", 1}; }
  StepCalls operator()(const DequantizeSums&) const { return {"bf::integer::dequantize_sums", 1}; }
};

}  // namespace

std::int64_t most_operations(const IntegerPlan& plan, const IntegerStep& step) {
  return std::visit(Operations{plan}, step);
}

StepCalls calls_of(const IntegerStep& step) {
  return std::visit(Calls(), step);
}

}  // namespace bf_aot
