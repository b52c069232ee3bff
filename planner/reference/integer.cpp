#include "planner/reference/integer.h"

#include <gmpxx.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "frontend/graph/conv_loops.h"

namespace bf_aot {
namespace {

using Codes = std::vector<int>;

std::size_t source_of(const std::vector<std::int64_t>& source, std::size_t i) {
  return source.empty() ? i : static_cast<std::size_t>(source[i]);
}

std::size_t table_of(const std::vector<int>& table, std::size_t i) {
  return table.empty() ? 0 : static_cast<std::size_t>(table[i]);
}

int code_of(const Requantization& codes, std::size_t row, std::int64_t sum) {
  const Requantizer& of = codes.rows[codes.rows.size() == 1 ? 0 : row];
  int code = of.low;
  for (const std::int64_t step : of.steps) code += step <= sum ? 1 : 0;
  return code;
}

std::int64_t key_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto magnitude = static_cast<std::int64_t>(bits & 0x7fffffffU);
  return bits >> 31 != 0 ? -magnitude : magnitude;
}

class CodeMachine {
 public:
  CodeMachine(const Plan& plan, const std::vector<float>& lower, const std::vector<float>& upper)
      : plan_(*plan.integer), box_lower_(lower), box_upper_(upper) {
    bounds_.lower.resize(plan_.tensors.size());
    bounds_.upper.resize(plan_.tensors.size());
  }

  CodeBounds run() {
    for (const IntegerStep& step : plan_.steps) std::visit(*this, step);
    return std::move(bounds_);
  }

  void operator()(const QuantizeBox& step) {
    for (const bool upper : {false, true}) {
      const std::vector<float>& box = upper ? box_upper_ : box_lower_;
      Codes& out = result(step.out, upper);
      for (std::size_t i = 0; i < out.size(); ++i)
        for (const std::int32_t key : step.keys[table_of(step.table, i)])
          out[i] += key <= key_of(box[source_of(step.source, i)]) ? 1 : 0;
    }
  }

  void operator()(const GridDense& step) {
    Sums sums(*this, step.in, step.out, 0);
    for (int i = 0; i < step.rows; ++i)
      for (int k = 0; k < step.columns; ++k)
        sums.add(i, step.weight[static_cast<std::size_t>(i * step.columns + k)], k);
    sums.finish(step.codes, [](std::size_t i) { return i; });
  }

  void operator()(const GridConv& step) {
    const ConvGeometry& g = step.geometry;
    // All taps at `zero`, and what those inside of the image add to that.
    Sums sums(*this, step.in, step.out, step.zero);
    for_each_element(g.batch, g.out_channels, g.out_size,
                     [&](std::int64_t n, std::int64_t c, const Extent& p) {
                       const std::int64_t filter = g.in_group() * g.taps();
                       for (std::int64_t k = c * filter; k < (c + 1) * filter; ++k)
                         sums.add_constant(g.out.at(n, c, p),
                                           step.weight[static_cast<std::size_t>(k)] * step.zero);
                     });
    for_each_product(g, [&](std::int64_t out, std::int64_t weight, std::int64_t in) {
      sums.add(out, step.weight[static_cast<std::size_t>(weight)], in);
    });
    std::vector<std::size_t> channel(static_cast<std::size_t>(g.out_count()));
    for_each_element(
        g.batch, g.out_channels, g.out_size, [&](std::int64_t n, std::int64_t c, const Extent& p) {
          channel[static_cast<std::size_t>(g.out.at(n, c, p))] = static_cast<std::size_t>(c);
        });
    sums.finish(step.codes, [&](std::size_t i) { return channel[i]; });
  }

  void operator()(const GridSparse& step) {
    Sums sums(*this, step.in, step.out, 0);
    for (std::size_t i = 0; i + 1 < step.row_start.size(); ++i)
      for (std::int64_t k = step.row_start[i]; k < step.row_start[i + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        sums.add(static_cast<std::int64_t>(i), step.weight.empty() ? 1 : step.weight[at],
                 step.column[at]);
      }
    sums.finish(step.codes, [](std::size_t i) { return i; });
  }

  void operator()(const GridSum& step) {
    for (const bool upper : {false, true}) {
      Codes& out = result(step.out, upper);
      const Codes& a = codes(step.a, upper);
      const Codes& b = codes(step.b, upper);
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = step.code[static_cast<std::size_t>(a[i] * kGridCodes + b[i])];
    }
  }

  void operator()(const GridMax& step) {
    for (const bool upper : {false, true}) {
      Codes& out = result(step.out, upper);
      const Codes& in = codes(step.in, upper);
      for (std::size_t i = 0; i < out.size(); ++i)
        for (std::int64_t k = step.row_start[i]; k < step.row_start[i + 1]; ++k)
          out[i] = std::max(out[i],
                            in[static_cast<std::size_t>(step.source[static_cast<std::size_t>(k)])]);
    }
  }

  void operator()(const GridTable& step) {
    Codes& low = result(step.out, false);
    Codes& high = result(step.out, true);
    for (std::size_t i = 0; i < low.size(); ++i) {
      const std::size_t from = source_of(step.source, i);
      low[i] = kGridCodes;
      high[i] = -1;
      for (int code = codes(step.in, false)[from]; code <= codes(step.in, true)[from]; ++code) {
        const int image =
            step.tables.empty()
                ? code
                : step.tables[table_of(step.table, i)].code[static_cast<std::size_t>(code)];
        low[i] = std::min(low[i], image);
        high[i] = std::max(high[i], image);
      }
    }
  }

  void operator()(const GridParts& step) {
    Codes& low = result(step.out, false);
    Codes& high = result(step.out, true);
    for (const GridPart& part : step.parts)
      for (std::size_t i = 0; i < static_cast<std::size_t>(part.count); ++i) {
        const std::size_t from = part.source.empty() ? static_cast<std::size_t>(part.begin) + i
                                                     : static_cast<std::size_t>(part.source[i]);
        int least = kGridCodes;
        int most = -1;
        for (int code = codes(part.in, false)[from]; code <= codes(part.in, true)[from]; ++code) {
          const int image = part.copies ? code : part.table.code[static_cast<std::size_t>(code)];
          least = std::min(least, image);
          most = std::max(most, image);
        }
        low[static_cast<std::size_t>(part.first) + i] = least;
        high[static_cast<std::size_t>(part.first) + i] = most;
      }
  }

  void operator()(const GridLoose& step) {
    Codes& low = result(step.out, false);
    Codes& high = result(step.out, true);
    for (std::size_t i = 0; i < low.size(); ++i) {
      low[i] = std::max(codes(step.in, false)[i] - 1, 0);
      high[i] = std::min(codes(step.in, true)[i] + 1, step.highest);
    }
  }

  void operator()(const DequantizeBounds&) {}  // see output_bounds()
  void operator()(const DequantizeSums&) {}

 private:
  // Bounds of sums over the codes less `zero` of a tensor.
  class Sums {
   public:
    Sums(CodeMachine& machine, GridId in, GridId out, int zero)
        : in_lower_(machine.codes(in, false)),
          in_upper_(machine.codes(in, true)),
          out_lower_(machine.result(out, false)),
          out_upper_(machine.result(out, true)),
          zero_(zero),
          low_(out_lower_.size()),
          high_(out_upper_.size()) {}

    void add(std::int64_t row, std::int64_t weight, std::int64_t from) {
      const std::int64_t a = weight * (in_lower_[static_cast<std::size_t>(from)] - zero_);
      const std::int64_t b = weight * (in_upper_[static_cast<std::size_t>(from)] - zero_);
      low_[static_cast<std::size_t>(row)] += std::min(a, b);
      high_[static_cast<std::size_t>(row)] += std::max(a, b);
    }

    void add_constant(std::int64_t row, std::int64_t value) {
      low_[static_cast<std::size_t>(row)] += value;
      high_[static_cast<std::size_t>(row)] += value;
    }

    template <typename RowOf>
    void finish(const Requantization& codes, const RowOf& row_of) {
      for (std::size_t i = 0; i < low_.size(); ++i) {
        out_lower_[i] = code_of(codes, row_of(i), low_[i]);
        out_upper_[i] = code_of(codes, row_of(i), high_[i]);
      }
    }

   private:
    const Codes& in_lower_;
    const Codes& in_upper_;
    Codes& out_lower_;
    Codes& out_upper_;
    const int zero_;
    std::vector<std::int64_t> low_, high_;
  };

  const Codes& codes(GridId id, bool upper) const {
    return (upper ? bounds_.upper : bounds_.lower)[static_cast<std::size_t>(id)];
  }
  Codes& result(GridId id, bool upper) {
    Codes& of = (upper ? bounds_.upper : bounds_.lower)[static_cast<std::size_t>(id)];
    of.assign(static_cast<std::size_t>(plan_.tensor(id).count), 0);
    return of;
  }

  const IntegerPlan& plan_;
  const std::vector<float>& box_lower_;
  const std::vector<float>& box_upper_;
  CodeBounds bounds_;
};

}  // namespace

CodeBounds bound_codes(const Plan& plan, const std::vector<float>& lower,
                       const std::vector<float>& upper) {
  return CodeMachine(plan, lower, upper).run();
}

namespace {

// The largest float that is at most x 2^-shift.
float float_below(std::int64_t x, int shift) {
  float y = std::ldexp(static_cast<float>(x), -shift);
  while (mpq_class(static_cast<double>(y)) * (mpz_class(1) << static_cast<mp_bitcnt_t>(shift)) >
         mpq_class(static_cast<long>(x)))
    y = std::nextafter(y, -std::numeric_limits<float>::infinity());
  return y;
}

void bound_sums(const DequantizeSums& step, const CodeBounds& codes, FloatBounds& bounds) {
  const Codes& lower = codes.lower[static_cast<std::size_t>(step.in)];
  const Codes& upper = codes.upper[static_cast<std::size_t>(step.in)];
  auto weight = step.weight.begin();
  for (int i = 0; i < step.rows; ++i) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (std::size_t k = 0; k < lower.size(); ++k, ++weight) {
      low += *weight * (*weight > 0 ? lower[k] : upper[k]);
      high += *weight * (*weight > 0 ? upper[k] : lower[k]);
    }
    const SumBounds& row = step.bounds[static_cast<std::size_t>(i)];
    const auto out = static_cast<std::size_t>(step.first + i);
    bounds.lower[out] = float_below(row.multiplier * low + row.low_addend, step.shift);
    bounds.upper[out] = -float_below(-(row.multiplier * high + row.high_addend), step.shift);
  }
}

}  // namespace

RowBounds property_bounds(const Plan& plan, const CodeBounds& codes) {
  const GridProperty& property = *plan.integer->property;
  RowBounds bounds{std::vector<std::int64_t>(property.slack.size()), property.slack};
  for (const PropertySums& sums : property.sums) {
    const Codes& lower = codes.lower[static_cast<std::size_t>(sums.in)];
    const Codes& upper = codes.upper[static_cast<std::size_t>(sums.in)];
    for (std::size_t i = 0; i < sums.weight.size(); ++i) {
      const std::int64_t a = sums.weight[i] * lower[i % lower.size()];
      const std::int64_t b = sums.weight[i] * upper[i % upper.size()];
      bounds.lower[i / lower.size()] += std::min(a, b);
      bounds.upper[i / lower.size()] += std::max(a, b);
    }
  }
  return bounds;
}

FloatBounds output_bounds(const Plan& plan, const CodeBounds& codes) {
  const auto outputs = static_cast<std::size_t>(plan.output_count);
  FloatBounds bounds{std::vector<float>(outputs), std::vector<float>(outputs)};
  for (const IntegerStep& each : plan.integer->steps) {
    if (const auto* const sums = std::get_if<DequantizeSums>(&each))
      bound_sums(*sums, codes, bounds);
    const auto* const step = std::get_if<DequantizeBounds>(&each);
    if (step == nullptr) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(step->count); ++i) {
      const BoundTable& table = step->tables[table_of(step->table, i)];
      const std::size_t from = source_of(step->source, i);
      const auto low =
          static_cast<std::size_t>(codes.lower[static_cast<std::size_t>(step->in)][from]);
      const auto high =
          static_cast<std::size_t>(codes.upper[static_cast<std::size_t>(step->in)][from]);
      const std::size_t out = static_cast<std::size_t>(step->first) + i;
      bounds.lower[out] = std::min(table.lower[low], table.lower[high]);
      bounds.upper[out] = std::max(table.upper[low], table.upper[high]);
    }
  }
  return bounds;
}

}  // namespace bf_aot
