#include "planner/verify/verify_crown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <variant>
#include <vector>

#include "frontend/check_scope.h"
#include "planner/verify/verify_layer.h"

namespace bf_aot {
namespace {

// Integers that are wider than those that the verifier computes with.
__extension__ typedef __int128 Big;  // NOLINT: no alias takes the keyword

constexpr Big kTooLarge = static_cast<Big>(1) << 62;

Big size_of(Big x) {
  return x < 0 ? -x : x;
}

// Codes change at steps alone: between two of them the upper line is lowest at the first sum, the
// lower line highest at the last.
void check_line(const Requantizer& row, const GridLine& line, int fraction) {
  require(line.slope >= 0, "a line that falls");
  const Big unit = static_cast<Big>(1) << fraction;
  const auto check = [&](Big sum, int code) {
    const Big at = line.slope * sum;
    require(code * unit <= std::max(at + line.above, row.low * unit), "a line below code {}", code);
    require(code * unit >= std::min(at + line.below, row.high * unit), "a line above code {}",
            code);
  };
  check(row.least, row.low);
  check(row.most, row.high);
  for (const std::int64_t step : row.steps) {
    const auto above = std::ranges::upper_bound(row.steps, step) - row.steps.begin();
    const auto below = std::ranges::lower_bound(row.steps, step) - row.steps.begin();
    check(step, row.low + static_cast<int>(above));
    check(step - 1, row.low + static_cast<int>(below));
  }
}

// The growth of a row of coefficients on its way back.
class RowReach {
 public:
  RowReach(const IntegerPlan& plan, int fraction) : plan_(plan), fraction_(fraction) {}

  void start(std::vector<Big> row) {
    row_ = std::move(row);
    for (const Big each : row_) below_limit(each);
  }

  void pass(const CrownLayer& layer) {
    const auto& step = std::get<GridDense>(plan_.steps[static_cast<std::size_t>(layer.step)]);
    std::vector<Big> next(static_cast<std::size_t>(step.columns), 0);
    for (std::size_t i = 0; i < layer.lines.size(); ++i) {
      const Big factor = add_neuron(step.codes.rows[i], layer.lines[i], row_[i]);
      for (std::size_t k = 0; k < next.size(); ++k)
        next[k] = below_limit(next[k] + factor * std::abs(step.weight[i * next.size() + k]));
    }
    row_ = std::move(next);
  }

  // widest: most codes of a tensor, of whose weights bits may have been left out.
  void finish(int widest) {
    for (const Big each : row_)
      constant_ = below_limit(constant_ + below_limit(each * (kGridCodes - 1)));
    below_limit(constant_ + Big{kGridCodes} * widest);
  }

 private:
  static Big below_limit(Big x) {
    require(x < kTooLarge, "a row over codes overflows");
    return x;
  }

  // Returns the factor of the neuron's weights.
  Big add_neuron(const Requantizer& of, const GridLine& line, Big coefficient) {
    const Big unit = static_cast<Big>(1) << fraction_;
    const Big sum = std::max(size_of(of.least), size_of(of.most));
    const Big offset = below_limit(Big{2} * line.slope * sum + size_of(line.above) +
                                   size_of(line.below) + of.high * unit);
    below_limit(coefficient * unit);
    constant_ = below_limit(constant_ + coefficient * (offset / unit + 2) + sum);
    return below_limit(coefficient * line.slope) / unit + 1;
  }

  const IntegerPlan& plan_;
  const int fraction_;
  std::vector<Big> row_;
  Big constant_ = 0;
};

class CrownChecker {
 public:
  explicit CrownChecker(const IntegerPlan& plan) : plan_(plan), crown_(*plan.crown) {}

  void check() const {
    require(crown_.fraction > 0 && crown_.fraction <= 40, "lines of {} bits", crown_.fraction);
    require(!crown_.layers.empty() && !crown_.layers.front().lines.empty(), "no layers");
    GridId last = output_of(plan_.steps.front());
    std::size_t next = 0;
    for (std::size_t i = 1; i < plan_.steps.size(); ++i) {
      const IntegerStep& step = plan_.steps[i];
      require(inputs_of(step) == std::vector{last}, "step {} does not read the layer before", i);
      if (std::holds_alternative<DequantizeBounds>(step)) continue;
      require(next < crown_.layers.size() && crown_.layers[next].step == static_cast<int>(i),
              "step {} is no layer", i);
      check_layer(next++);
      if (output_of(step) >= 0) last = output_of(step);
    }
    require(next == crown_.layers.size(), "{} layers of {} steps", crown_.layers.size(), next);
    if (plan_.property) check_rows(last);
  }

  // Returns the bytes of rows and lines.
  std::int64_t room() const {
    std::int64_t bytes = 2 * 8 * std::int64_t{crown_.widest};
    for (const CrownLayer& layer : crown_.layers) {
      require(layer.relaxed == bytes, "lines lie at {}, not {}", layer.relaxed, bytes);
      bytes += kRelaxedBytes * static_cast<std::int64_t>(layer.lines.size());
    }
    return bytes;
  }

 private:
  static constexpr std::int64_t kRelaxedBytes = 40;  // of bf::integer::Relaxed

  void check_layer(std::size_t number) const {
    const CrownLayer& layer = crown_.layers[number];
    const CheckScope scope(fmt::format("layer {} of crown", number));
    const IntegerStep& step = plan_.steps[static_cast<std::size_t>(layer.step)];
    const auto* const dense = std::get_if<GridDense>(&step);
    const auto* const sums = std::get_if<DequantizeSums>(&step);
    require(dense != nullptr || sums != nullptr, "no dense layer");
    const int columns = dense != nullptr ? dense->columns : sums->columns;
    const int rows = dense != nullptr ? dense->rows : sums->rows;
    require(columns <= crown_.widest && rows <= crown_.widest, "rows of more than {} numbers",
            crown_.widest);
    require(layer.lines.size() == (dense != nullptr ? dense->codes.rows.size() : 0), "{} lines",
            layer.lines.size());
    require(layer.shift >= 0 && layer.shift < 62, "shift {}", layer.shift);
    for (std::size_t i = 0; i < layer.lines.size(); ++i)
      check_line(dense->codes.rows[i], layer.lines[i], crown_.fraction);
    const auto& weight = dense != nullptr ? dense->weight : sums->weight;
    std::vector<Big> largest(static_cast<std::size_t>(columns), 0);
    for (std::size_t k = 0; k < weight.size(); ++k) {
      Big& most = largest[k % largest.size()];
      most = std::max(most, size_of(weight[k]) << layer.shift);
    }
    check_reach(largest, number);
  }

  void check_rows(GridId last) const {
    const CheckScope scope("rows of the property");
    std::vector<Big> largest(static_cast<std::size_t>(plan_.tensor(last).count), 0);
    require(crown_.row_shift > -62 && crown_.row_shift < 62, "shift {}", crown_.row_shift);
    for (const PropertySums& sums : plan_.property->sums) {
      require(sums.in == last, "rows over a tensor that is not the last");
      for (std::size_t k = 0; k < sums.weight.size(); ++k) {
        const Big size = size_of(sums.weight[k]);
        Big& most = largest[k % largest.size()];
        most = std::max(most, crown_.row_shift >= 0 ? size << crown_.row_shift
                                                    : (size >> -crown_.row_shift) + 1);
      }
    }
    check_reach(largest, crown_.layers.size());
  }

  // Checks that rows over the codes that layer `number` reads do not overflow.
  void check_reach(const std::vector<Big>& largest, std::size_t number) const {
    RowReach reach(plan_, crown_.fraction);
    reach.start(largest);
    for (std::size_t i = number; i-- > 0;)
      if (!crown_.layers[i].lines.empty()) reach.pass(crown_.layers[i]);
    reach.finish(crown_.widest);
  }

  const IntegerPlan& plan_;
  const GridCrown& crown_;
};

}  // namespace

void verify_crown(const Plan& plan, bool storage) {
  const CrownChecker checker(*plan.integer);
  checker.check();
  const std::int64_t room = checker.room();
  if (!storage) return;
  const BufferId id = plan.integer->crown->room;
  const Entry& entry = plan.entries.front();
  require(id >= BufferId{0} && static_cast<std::size_t>(id) < entry.buffers.size(), "no room");
  const Buffer& buffer = entry.buffer(id);
  require(buffer.element == Element::kUint8 && buffer.bytes >= room && buffer.first == 0 &&
              buffer.last == static_cast<int>(plan.integer->steps.size()) &&
              plan.config.target.align % 8 == 0,
          "a room of {} bytes, not {}", buffer.bytes, room);
}

}  // namespace bf_aot
