#include "planner/verify/verify_integer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/check_scope.h"
#include "frontend/graph/conv_loops.h"
#include "planner/verify/verify_crown.h"
#include "planner/verify/verify_entry.h"
#include "planner/verify/verify_layer.h"

namespace bf_aot {
namespace {

__extension__ typedef __int128 Wide;  // NOLINT: no alias takes the keyword
constexpr std::int64_t kLargest = std::int64_t{1} << 62;

bool in_range(const std::vector<std::int64_t>& indices, std::int64_t end) {
  return std::ranges::all_of(indices, [&](std::int64_t i) { return i >= 0 && i < end; });
}

void check_rows(const std::vector<std::int64_t>& row_start, std::size_t entries, int rows) {
  require(row_start.size() == static_cast<std::size_t>(rows) + 1 && row_start.front() == 0 &&
              row_start.back() == static_cast<std::int64_t>(entries) &&
              std::ranges::is_sorted(row_start),
          "rows that do not follow each other");
}

// Indices of elements, or none for the elements in order.
void check_source(const std::vector<std::int64_t>& source, int count, int from) {
  if (source.empty()) return require(count == from, "{} elements of {}", count, from);
  require(source.size() == static_cast<std::size_t>(count) && in_range(source, from),
          "an element of none of {}", from);
}

void check_table_numbers(const std::vector<int>& table, int count, std::size_t tables) {
  require(tables > 0, "no tables");
  if (table.empty()) return;
  require(table.size() == static_cast<std::size_t>(count), "{} numbers of tables for {} elements",
          table.size(), count);
  for (const int number : table)
    require(number >= 0 && static_cast<std::size_t>(number) < tables, "there is no table {}",
            number);
}

// ---- Codes of sums

// Wider than what the verifier computes with: an overflow there is a difference here.
int code_of(const Requantizer& row, Rounding rounding, std::int64_t sum) {
  const Wide scaled = static_cast<Wide>(row.multiplier) * sum + row.addend;
  require(scaled < kLargest && scaled > -kLargest, "a product overflows");
  Wide code = scaled >> row.shift;
  if (rounding == Rounding::kHalfEven) {
    const Wide unit = static_cast<Wide>(1) << row.shift;
    const Wide rest = scaled - (code << row.shift);
    const bool even = ((code & 1) != 0) == row.odd;
    if (2 * rest > unit || (2 * rest == unit && !even)) ++code;
  }
  if (code < row.low) return row.low;
  return code > row.high ? row.high : static_cast<int>(code);
}

void check_steps(const Requantizer& row) {
  require(row.low >= 0 && row.high < kGridCodes && row.low <= row.high, "codes {} to {}", row.low,
          row.high);
  require(row.least <= row.most && row.least >= std::numeric_limits<std::int32_t>::min() &&
              row.most <= std::numeric_limits<std::int32_t>::max(),
          "sums {} to {}", row.least, row.most);
  require(
      static_cast<int>(row.steps.size()) == row.high - row.low && std::ranges::is_sorted(row.steps),
      "{} steps for codes {} to {}", row.steps.size(), row.low, row.high);
  require(row.steps.empty() || (row.steps.front() > row.least && row.steps.back() <= row.most),
          "a step at no sum");
}

// Neither the arithmetic nor the steps ever fall, so that they agree everywhere if they do at both
// ends and around each step.
void check_row(const Requantizer& row, const Requantization& codes) {
  check_steps(row);
  if (codes.rounding == Rounding::kSteps) return;
  require(row.multiplier >= 0 && row.shift >= 0 && row.shift < 63, "shift {}", row.shift);
  require(codes.multiplier_bytes == 8 || row.multiplier <= std::numeric_limits<std::int32_t>::max(),
          "multiplier {} in {} bytes", row.multiplier, codes.multiplier_bytes);
  require(codes.rounding != Rounding::kHalfEven || row.shift > 0, "nothing to round");
  const auto check = [&](std::int64_t sum, int code) {
    const int computed = code_of(row, codes.rounding, sum);
    require(computed == code, "sum {} has code {}, not {}", sum, computed, code);
  };
  check(row.least, row.low);
  check(row.most, row.high);
  for (std::size_t k = 0; k < row.steps.size(); ++k) {
    const std::int64_t step = row.steps[k];
    const auto above = std::ranges::upper_bound(row.steps, step) - row.steps.begin();
    const auto below = std::ranges::lower_bound(row.steps, step) - row.steps.begin();
    check(step, row.low + static_cast<int>(above));
    check(step - 1, row.low + static_cast<int>(below));
  }
}

struct Extent64 {
  std::int64_t least = 0, most = 0, magnitude = 0;

  void add(std::int64_t weight, std::int64_t low, std::int64_t high) {
    least += std::min(weight * low, weight * high);
    most += std::max(weight * low, weight * high);
    magnitude += std::llabs(weight) * std::max(std::llabs(low), std::llabs(high));
  }
};

// ---- Steps, one overload for each kind

class StepChecker {
 public:
  StepChecker(const Plan& plan, std::vector<bool>& bounded)
      : plan_(plan), integer_(*plan.integer), bounded_(bounded) {}

  void operator()(const QuantizeBox& step) const {
    check_source(step.source, tensor(step.out).count, plan_.input_count);
    check_table_numbers(step.table, tensor(step.out).count, step.keys.size());
    for (const auto& keys : step.keys)
      require(keys.size() == step.keys.front().size() && std::ranges::is_sorted(keys) &&
                  static_cast<int>(keys.size()) <= tensor(step.out).high,
              "keys that fall, or that are too many");
    require(tensor(step.out).low == 0, "the least code is not 0");
  }

  void operator()(const GridDense& step) const {
    const GridTensor& in = tensor(step.in);
    require(step.rows == tensor(step.out).count && step.columns == in.count &&
                step.weight.size() ==
                    static_cast<std::size_t>(step.rows) * static_cast<std::size_t>(step.columns),
            "{} weights for {} rows of {}", step.weight.size(), step.rows, step.columns);
    check_bytes(step.weight, step.weight_bytes);
    require(step.codes.rows.size() == static_cast<std::size_t>(step.rows), "{} rows of codes",
            step.codes.rows.size());
    auto weight = step.weight.begin();
    for (const Requantizer& row : step.codes.rows) {
      Extent64 extent;
      for (int k = 0; k < step.columns; ++k) extent.add(*weight++, in.low, in.high);
      check_sums(row, extent);
    }
    check_codes(step.codes, step.out);
  }

  void operator()(const GridConv& step) const {
    const ConvGeometry& g = step.geometry;
    const GridTensor& in = tensor(step.in);
    const auto filter = static_cast<std::size_t>(g.taps() * g.in_group());
    require(!g.transposed && g.in_count() == in.count && g.out_count() == tensor(step.out).count,
            "an image of another size");
    require(step.weight.size() == static_cast<std::size_t>(g.out_channels) * filter &&
                step.codes.rows.size() == static_cast<std::size_t>(g.out_channels),
            "{} weights, {} rows of codes", step.weight.size(), step.codes.rows.size());
    check_bytes(step.weight, step.weight_bytes);
    // The products themselves tell which taps an output's window has; the others have code `zero`.
    std::vector<Extent64> extents(static_cast<std::size_t>(g.out_count()));
    for_each_product(g, [&](std::int64_t out, std::int64_t weight, std::int64_t) {
      const std::int64_t w = step.weight[static_cast<std::size_t>(weight)];
      extents[static_cast<std::size_t>(out)].add(w, in.low - step.zero, in.high - step.zero);
    });
    require(step.zero >= 0 && step.zero < kGridCodes, "zero has code {}", step.zero);
    for_each_element(
        g.batch, g.out_channels, g.out_size, [&](std::int64_t n, std::int64_t c, const Extent& p) {
          const auto out = static_cast<std::size_t>(g.out.at(n, c, p));
          Extent64 all;  // with every tap at `zero`
          for (std::size_t k = 0; k < filter; ++k)
            all.add(step.weight[static_cast<std::size_t>(c) * filter + k], step.zero, step.zero);
          all.least += extents[out].least;
          all.most += extents[out].most;
          for (std::size_t k = 0; k < filter; ++k)
            all.magnitude += std::llabs(step.weight[static_cast<std::size_t>(c) * filter + k]) *
                             (kGridCodes - 1);
          check_sums(step.codes.rows[static_cast<std::size_t>(c)], all);
        });
    check_codes(step.codes, step.out);
  }

  void operator()(const GridSparse& step) const {
    const GridTensor& in = tensor(step.in);
    const int rows = tensor(step.out).count;
    check_rows(step.row_start, step.column.size(), rows);
    require(in_range(step.column, in.count), "a column beyond the tensor");
    require(step.weight.empty() || step.weight.size() == step.column.size(), "{} weights",
            step.weight.size());
    require(step.codes.rows.size() == 1 || step.codes.rows.size() == static_cast<std::size_t>(rows),
            "{} rows of codes", step.codes.rows.size());
    for (int i = 0; i < rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Extent64 extent;
      for (auto k = static_cast<std::size_t>(step.row_start[at]);
           k < static_cast<std::size_t>(step.row_start[at + 1]); ++k)
        extent.add(step.weight.empty() ? 1 : step.weight[k], in.low, in.high);
      check_sums(step.codes.rows[step.codes.rows.size() == 1 ? 0 : at], extent);
    }
    check_codes(step.codes, step.out);
  }

  void operator()(const GridSum& step) const {
    const int count = tensor(step.out).count;
    require(tensor(step.a).count == count && tensor(step.b).count == count,
            "tensors of other sizes");
    require(step.code.size() == std::size_t{kGridCodes} * kGridCodes && step.a_weight > 0 &&
                step.b_weight > 0 && step.shift >= 0 && step.shift < 63,
            "no sum of two codes");
    Requantizer row;
    row.multiplier = 1;
    row.shift = step.shift;
    row.odd = step.odd;
    row.low = step.low;
    row.high = step.high;
    require(std::ranges::is_sorted(step.steps), "steps that fall");
    for (int a = 0; a < kGridCodes; ++a)
      for (int b = 0; b < kGridCodes; ++b) {
        const Wide sum =
            static_cast<Wide>(step.a_weight) * a + static_cast<Wide>(step.b_weight) * b;
        require(sum < kLargest / 2, "a sum overflows");
        row.addend = step.addend;
        const auto of = static_cast<std::int64_t>(sum);
        const auto reached = std::ranges::count_if(step.steps, [&](auto s) { return s <= of; });
        const int code = step.rounding == Rounding::kSteps ? step.low + static_cast<int>(reached)
                                                           : code_of(row, step.rounding, of);
        const int exact = step.code[static_cast<std::size_t>(a * kGridCodes + b)];
        require(code == exact, "codes {} and {} have {}, not {}", a, b, code, exact);
      }
    check_limits(step.code[pair_of(tensor(step.a).low, tensor(step.b).low)],
                 step.code[pair_of(tensor(step.a).high, tensor(step.b).high)], step.out);
  }

  void operator()(const GridMax& step) const {
    check_rows(step.row_start, step.source.size(), tensor(step.out).count);
    require(in_range(step.source, tensor(step.in).count), "a source beyond the tensor");
    for (std::size_t i = 1; i < step.row_start.size(); ++i)
      require(step.row_start[i - 1] < step.row_start[i], "an empty row");
    check_limits(tensor(step.in).low, tensor(step.in).high, step.out);
  }

  void operator()(const GridParts& step) const {
    int next = 0;
    for (const GridPart& part : step.parts) {
      const GridTensor& in = tensor(part.in);
      require(part.first == next && part.count > 0, "parts that do not follow each other");
      next += part.count;
      if (part.source.empty())
        require(part.begin >= 0 && part.begin + part.count <= in.count, "codes {} to {} of {}",
                part.begin, part.begin + part.count, in.count);
      else
        require(part.source.size() == static_cast<std::size_t>(part.count) &&
                    in_range(part.source, in.count),
                "an element of none of {}", in.count);
      if (part.copies)
        check_limits(in.low, in.high, step.out);
      else
        check_table(part.table, in, step.out);
    }
    require(next == tensor(step.out).count, "{} elements of {}", next, tensor(step.out).count);
  }

  void operator()(const GridTable& step) const {
    const GridTensor& in = tensor(step.in);
    check_source(step.source, tensor(step.out).count, in.count);
    if (step.tables.empty()) return check_limits(in.low, in.high, step.out);
    check_table_numbers(step.table, tensor(step.out).count, step.tables.size());
    for (const CodeTable& table : step.tables) check_table(table, in, step.out);
  }

  void operator()(const GridLoose& step) const {
    const GridTensor& in = tensor(step.in);
    require(tensor(step.out).count == in.count, "{} elements of {}", tensor(step.out).count,
            in.count);
    require(step.highest >= in.high && step.highest < kGridCodes, "codes up to {}", step.highest);
    check_limits(std::max(in.low - 1, 0), std::min(in.high + 1, step.highest), step.out);
  }

  void operator()(const DequantizeSums& step) const {
    const GridTensor& in = tensor(step.in);
    require(step.columns == in.count && step.rows > 0 &&
                step.weight.size() ==
                    static_cast<std::size_t>(step.rows) * static_cast<std::size_t>(step.columns) &&
                step.bounds.size() == static_cast<std::size_t>(step.rows),
            "{} weights for {} rows of {}", step.weight.size(), step.rows, step.columns);
    check_bytes(step.weight, step.weight_bytes);
    require(step.shift >= 0 && step.shift <= 100, "shift {}", step.shift);
    auto weight = step.weight.begin();
    for (const SumBounds& row : step.bounds) {
      Extent64 extent;
      for (int k = 0; k < step.columns; ++k) extent.add(*weight++, in.low, in.high);
      require(row.least <= extent.least && extent.most <= row.most &&
                  extent.magnitude <= std::numeric_limits<std::int32_t>::max(),
              "sums {} to {}, not {} to {}", extent.least, extent.most, row.least, row.most);
      require(row.multiplier >= 0 && row.low_addend <= row.high_addend, "bounds that cross");
      for (const std::int64_t sum : {row.least, row.most})
        for (const std::int64_t addend : {row.low_addend, row.high_addend}) {
          const Wide scaled = static_cast<Wide>(row.multiplier) * sum + addend;
          require(scaled < kLargest && scaled > -kLargest, "a product overflows");
        }
    }
    bound_outputs(step.first, step.rows);
  }

  void operator()(const DequantizeBounds& step) const {
    check_source(step.source, step.count, tensor(step.in).count);
    check_table_numbers(step.table, step.count, step.tables.size());
    for (const BoundTable& table : step.tables)
      for (std::size_t code = 0; code < kGridCodes; ++code) {
        require(table.lower[code] <= table.upper[code], "bounds that cross at code {}", code);
        if (code == 0) continue;
        const bool rises = table.lower[code - 1] <= table.lower[code] &&
                           table.upper[code - 1] <= table.upper[code];
        const bool falls = table.lower[code - 1] >= table.lower[code] &&
                           table.upper[code - 1] >= table.upper[code];
        require(table.falls ? falls : rises, "bounds that turn at code {}", code);
      }
    bound_outputs(step.first, step.count);
  }

 private:
  const GridTensor& tensor(GridId id) const { return integer_.tensor(id); }

  void check_table(const CodeTable& table, const GridTensor& in, GridId out) const {
    for (int code = in.low; code <= in.high; ++code) {
      const int image = table.code[static_cast<std::size_t>(code)];
      check_limits(image, image, out);
      if (code == in.low) continue;
      const int before = table.code[static_cast<std::size_t>(code - 1)];
      require((table.order != CodeOrder::kRises || before <= image) &&
                  (table.order != CodeOrder::kFalls || before >= image),
              "a table that {}", to_string(table.order));
    }
  }

  void bound_outputs(int first, int count) const {
    require(first >= 0 && first + count <= plan_.output_count, "outputs {} to {}", first,
            first + count);
    for (int i = first; i < first + count; ++i) {
      require(!bounded_[static_cast<std::size_t>(i)], "output {} is bounded twice", i);
      bounded_[static_cast<std::size_t>(i)] = true;
    }
  }

  static std::size_t pair_of(int a, int b) { return static_cast<std::size_t>(a * kGridCodes + b); }

  static void check_bytes(const std::vector<std::int16_t>& weights, int bytes) {
    require(bytes == 1 || bytes == 2, "weights of {} bytes", bytes);
    for (const std::int16_t weight : weights)
      require(bytes == 2 || (weight >= -128 && weight <= 127), "weight {} in a byte", weight);
  }

  static void check_sums(const Requantizer& row, const Extent64& extent) {
    require(row.least <= extent.least && extent.most <= row.most, "sums {} to {}, not {} to {}",
            extent.least, extent.most, row.least, row.most);
    require(extent.magnitude <= std::numeric_limits<std::int32_t>::max(), "a sum overflows");
  }

  void check_codes(const Requantization& codes, GridId out) const {
    require(codes.multiplier_bytes == 4 || codes.multiplier_bytes == 8, "multipliers of {} bytes",
            codes.multiplier_bytes);
    for (const Requantizer& row : codes.rows) {
      check_row(row, codes);
      check_limits(row.low, row.high, out);
    }
  }

  void check_limits(int low, int high, GridId out) const {
    require(tensor(out).low <= low && high <= tensor(out).high, "codes {} to {} of {} to {}", low,
            high, tensor(out).low, tensor(out).high);
  }

  const Plan& plan_;
  const IntegerPlan& integer_;
  std::vector<bool>& bounded_;
};

// Every row's sum, and that and its slack, is below 2^62, whatever the codes.
void check_property(const IntegerPlan& plan) {
  const GridProperty& property = *plan.property;
  require(property.rows > 0 && property.slack.size() == static_cast<std::size_t>(property.rows),
          "{} rows, {} slacks", property.rows, property.slack.size());
  std::vector<Wide> reach(property.slack.begin(), property.slack.end());
  for (const std::int64_t slack : property.slack) require(slack >= 0, "slack {}", slack);
  for (const PropertySums& sums : property.sums) {
    require(sums.in >= 0 && static_cast<std::size_t>(sums.in) < plan.tensors.size(),
            "rows of tensor {}", sums.in);
    const auto columns = static_cast<std::size_t>(plan.tensor(sums.in).count);
    require(sums.weight.size() == reach.size() * columns, "{} weights for {} rows of {}",
            sums.weight.size(), property.rows, columns);
    require(sums.weight_bytes == 2 || sums.weight_bytes == 4 || sums.weight_bytes == 8,
            "weights of {} bytes", sums.weight_bytes);
    const int bits = 8 * sums.weight_bytes - 1;
    for (std::size_t i = 0; i < sums.weight.size(); ++i) {
      const Wide weight = sums.weight[i];
      const Wide magnitude = weight < 0 ? -weight : weight;
      const Wide end = static_cast<Wide>(1) << bits;
      require(weight < end && weight >= -end, "weight {} in {} bytes", sums.weight[i],
              sums.weight_bytes);
      reach[i / columns] += magnitude * (kGridCodes - 1);
    }
  }
  for (const Wide most : reach) require(most < kLargest, "a row overflows");
  for (const GridCondition& condition : property.conditions)
    require(condition.row >= 0 && condition.row < property.rows &&
                std::llabs(condition.threshold) <= kLargest,
            "a condition on row {}", condition.row);
}

// Steps that make outputs come last: rows of a property follow the others.
void check_outputs_last(const IntegerPlan& plan) {
  require(std::ranges::is_partitioned(plan.steps,
                                      [](const IntegerStep& step) { return output_of(step) >= 0; }),
          "a tensor is made after outputs");
}

void check_order(const IntegerPlan& plan) {
  std::vector<bool> made(plan.tensors.size(), false);
  for (const IntegerStep& step : plan.steps) {
    for (const GridId in : inputs_of(step))
      require(in >= 0 && static_cast<std::size_t>(in) < made.size() &&
                  made[static_cast<std::size_t>(in)],
              "{} reads tensor {}, which is not made yet", name_of(step), in);
    const GridId out = output_of(step);
    if (out < 0) continue;
    require(static_cast<std::size_t>(out) < made.size() && !made[static_cast<std::size_t>(out)],
            "tensor {} is made twice", out);
    made[static_cast<std::size_t>(out)] = true;
  }
  require(std::ranges::count(made, false) == 0, "a tensor is not made");
}

void check_tensors(const IntegerPlan& plan) {
  std::set<std::string> names;
  for (const GridTensor& tensor : plan.tensors) {
    require(is_identifier(tensor.name) && names.insert(tensor.name).second,
            "tensor name '{}' is taken or no identifier", tensor.name);
    require(tensor.count > 0 && tensor.low >= 0 && tensor.low <= tensor.high &&
                tensor.high < kGridCodes,
            "tensor {}: {} codes from {} to {}", tensor.name, tensor.count, tensor.low,
            tensor.high);
  }
}

// ---- Storage

// A range of the arena that codes lie in, and the step that uses it.
struct CodeUse {
  BufferId id = BufferId::kNone;
  std::int64_t count = 0;
  int step = 0;
};

std::vector<CodeUse> uses_of(const IntegerPlan& plan) {
  std::vector<CodeUse> uses;
  const auto add = [&](GridId id, int step) {
    const GridTensor& tensor = plan.tensor(id);
    uses.push_back({tensor.lower, tensor.count, step});
    uses.push_back({tensor.upper, tensor.count, step});
  };
  if (plan.property)
    for (const PropertySums& sums : plan.property->sums)
      add(sums.in, static_cast<int>(plan.steps.size()));
  if (plan.crown) {
    add(output_of(plan.steps.front()), static_cast<int>(plan.steps.size()));
    uses.push_back({plan.crown->room, 1, 0});
  }
  for (int i = 0; i < static_cast<int>(plan.steps.size()); ++i) {
    const IntegerStep& step = plan.steps[static_cast<std::size_t>(i)];
    for (const GridId in : inputs_of(step)) add(in, i);
    if (output_of(step) >= 0) add(output_of(step), i);
    if (const auto* const conv = std::get_if<GridConv>(&step))
      for (const BufferId window : {conv->window_lower, conv->window_upper})
        uses.push_back({window, conv->geometry.in_group() * conv->geometry.taps(), i});
  }
  return uses;
}

// No two tensors, and no two windows, are the same buffer.
void check_owners(const IntegerPlan& plan) {
  std::set<BufferId> taken;
  const auto take = [&](BufferId id, const std::string& name) {
    require(taken.insert(id).second, "tensor {} has no buffers of its own", name);
  };
  for (const GridTensor& tensor : plan.tensors) {
    take(tensor.lower, tensor.name);
    take(tensor.upper, tensor.name);
  }
  for (const IntegerStep& step : plan.steps)
    if (const auto* const conv = std::get_if<GridConv>(&step)) {
      take(conv->window_lower, plan.tensor(conv->out).name);
      take(conv->window_upper, plan.tensor(conv->out).name);
    }
}

void check_buffers(const Plan& plan) {
  require(plan.entries.size() == 1 && plan.entries.front().kind == EntryKind::kBounds &&
              plan.entries.front().steps.empty(),
          "entries other than that of the codes");
  const Entry& entry = plan.entries.front();
  check_owners(*plan.integer);
  for (const CodeUse& use : uses_of(*plan.integer)) {
    require(use.id >= BufferId{0} && static_cast<std::size_t>(use.id) < entry.buffers.size(),
            "step {} has no buffer", use.step);
    const Buffer& buffer = entry.buffer(use.id);
    require(buffer.element == Element::kUint8 && buffer.bytes >= use.count && buffer.offset >= 0 &&
                buffer.offset % plan.config.target.align == 0 &&
                buffer.offset + buffer.bytes <= entry.storage.planned_bytes,
            "buffer {} does not hold {} codes", buffer.name, use.count);
    require(buffer.first <= use.step && use.step <= buffer.last, "buffer {} is dead in step {}",
            buffer.name, use.step);
  }
  for (std::size_t i = 0; i < entry.buffers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Buffer& a = entry.buffers[i];
      const Buffer& b = entry.buffers[j];
      const bool apart = a.last < b.first || b.last < a.first || a.offset + a.bytes <= b.offset ||
                         b.offset + b.bytes <= a.offset;
      require(apart, "buffers {} and {} share bytes", a.name, b.name);
    }
}

}  // namespace

void verify_integer(const Plan& plan, PlanStage stage) {
  require(is_identifier(plan.name), "plan name '{}' is no identifier", plan.name);
  require(plan.layers.empty() && plan.kernels.empty() && plan.spec_rows == 0,
          "layers of floating point");
  check_tensors(*plan.integer);
  check_order(*plan.integer);
  check_outputs_last(*plan.integer);
  if (plan.integer->property) check_property(*plan.integer);
  std::vector<bool> bounded(static_cast<std::size_t>(plan.output_count), false);
  for (std::size_t i = 0; i < plan.integer->steps.size(); ++i) {
    const IntegerStep& step = plan.integer->steps[i];
    const CheckScope scope(fmt::format("step {} ({})", i, name_of(step)));
    std::visit(StepChecker(plan, bounded), step);
  }
  require(std::ranges::count(bounded, false) == 0, "an output has no bounds");
  require(stage == PlanStage::kLayers ||
              (plan.config.method == Method::kCrown) == plan.integer->crown.has_value(),
          "method {} with crown or without", to_string(plan.config.method));
  if (plan.integer->crown) verify_crown(plan, stage >= PlanStage::kStorage);
  if (stage < PlanStage::kStorage) return;
  check_buffers(plan);
  verify_functions(plan);
}

}  // namespace bf_aot
