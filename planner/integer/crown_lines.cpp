#include "planner/integer/crown_lines.h"

#include <fmt/format.h>
#include <gmpxx.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/integer/refuse.h"

namespace bf_aot {
namespace {

constexpr int kFraction = 24;
constexpr int kMostBits = 30;
constexpr int kLeastBits = 4;
constexpr int kMostRight = 60;

// ---- Lines

std::int64_t chord_slope(const Requantizer& row) {
  const std::int64_t width = row.steps.back() - row.steps.front();
  const auto codes = static_cast<std::int64_t>(row.steps.size()) - 1;
  return width == 0 ? 0 : (codes << kFraction) / width;
}

std::int64_t multiplier_slope(const Requantizer& row) {
  const mpz_class scaled = (mpz_class(static_cast<long>(row.multiplier)) << kFraction) >>
                           static_cast<mp_bitcnt_t>(row.shift);
  return scaled.fits_slong_p() ? scaled.get_si() : 0;
}

// The lines of a slope. A code above the least is reached at a step, where the upper line must have
// come up to it; one below the largest ends before a step.
std::optional<GridLine> line_of(const Requantizer& row, std::int64_t slope) {
  const mpz_class unit = mpz_class(1) << kFraction;
  std::optional<mpz_class> above, below;
  for (std::size_t k = 0; k < row.steps.size(); ++k) {
    const long code = row.low + static_cast<long>(k);
    const mpz_class at = mpz_class(static_cast<long>(slope)) * static_cast<long>(row.steps[k]);
    const mpz_class from = (code + 1) * unit - at;
    const mpz_class to = code * unit - (at - static_cast<long>(slope));
    above = above ? std::max(*above, from) : from;
    below = below ? std::min(*below, to) : to;
  }
  if (!above) return GridLine{0, 0, 0};
  if (!above->fits_slong_p() || !below->fits_slong_p()) return std::nullopt;
  return GridLine{slope, above->get_si(), below->get_si()};
}

GridLine best_line(const Requantizer& row, Rounding rounding) {
  if (row.steps.empty()) return {};
  std::vector<std::int64_t> slopes = {0, chord_slope(row)};
  if (rounding != Rounding::kSteps) slopes.push_back(multiplier_slope(row));
  std::optional<GridLine> best;
  for (const std::int64_t slope : slopes) {
    const auto made = line_of(row, slope);
    if (!made) continue;
    if (!best || made->above - made->below < best->above - best->below) best = made;
  }
  BF_CHECK(best.has_value());
  return *best;
}

// ---- Overflow

// The largest magnitudes of a row's coefficients, in whole numbers.
struct Reach {
  std::vector<mpz_class> row;  // of the codes of the layer that it has come to
  mpz_class constant, largest;

  void note(const mpz_class& number) { largest = std::max(largest, number); }
};

mpz_class magnitude(std::int64_t x) {
  return abs(mpz_class(static_cast<long>(x)));
}

void go_back(const GridDense& step, const std::vector<GridLine>& lines, Reach& reach) {
  std::vector<mpz_class> next(static_cast<std::size_t>(step.columns));
  const mpz_class unit = mpz_class(1) << kFraction;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Requantizer& row = step.codes.rows[i];
    const GridLine& line = lines[i];
    const mpz_class sum = std::max(magnitude(row.least), magnitude(row.most));
    const mpz_class offset = 2 * magnitude(line.slope) * sum + magnitude(line.above) +
                             magnitude(line.below) + row.high * unit;
    reach.note(offset);
    reach.note(reach.row[i] * magnitude(line.slope));
    reach.note(reach.row[i] * unit);
    reach.constant += reach.row[i] * (offset / unit + 2) + sum;
    const mpz_class factor = reach.row[i] * magnitude(line.slope) / unit + 1;
    for (std::size_t k = 0; k < next.size(); ++k)
      next[k] += factor * std::abs(step.weight[i * next.size() + k]);
  }
  reach.row = std::move(next);
  for (const mpz_class& most : reach.row) reach.note(most);
  reach.note(reach.constant);
}

class CrownMaker {
 public:
  explicit CrownMaker(IntegerPlan& plan) : plan_(plan) {}

  GridCrown make() {
    made_.fraction = kFraction;
    GridId last = -1;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) last = add(static_cast<int>(i), last);
    if (std::ranges::all_of(made_.layers, [](const auto& layer) { return layer.lines.empty(); }))
      refuse_crown("network", "method crown over codes needs a dense layer that makes codes");
    std::int64_t place = 2 * 8 * made_.widest;
    for (CrownLayer& layer : made_.layers) {
      layer.relaxed = place;
      place += kRelaxedBytes * static_cast<std::int64_t>(layer.lines.size());
    }
    if (plan_.property) choose_row_shift(last);
    return std::move(made_);
  }

  static constexpr std::int64_t kRelaxedBytes = 40;

 private:
  const GridDense& dense(const CrownLayer& layer) const {
    return std::get<GridDense>(plan_.steps[static_cast<std::size_t>(layer.step)]);
  }

  // Returns the tensor that the next layer has to read.
  GridId add(int number, GridId last) {
    const IntegerStep& step = plan_.steps[static_cast<std::size_t>(number)];
    const Origin& origin = origin_of(plan_, step);
    if (std::holds_alternative<QuantizeBox>(step) && last < 0) return output_of(step);
    const auto* const dense = std::get_if<GridDense>(&step);
    const auto* const sums = std::get_if<DequantizeSums>(&step);
    const std::vector<GridId> inputs = inputs_of(step);
    if (inputs != std::vector{last} ||
        (dense == nullptr && sums == nullptr && !std::holds_alternative<DequantizeBounds>(step)))
      refuse_crown(origin, fmt::format("method crown over codes is of dense layers, one after the "
                                       "other: here is '{}'",
                                       name_of(step)));
    if (dense != nullptr) add_layer(number, dense->columns, dense->weight, dense->rows, origin);
    if (sums != nullptr) add_layer(number, sums->columns, sums->weight, sums->rows, origin);
    if (dense == nullptr) return last;
    for (const Requantizer& row : dense->codes.rows)
      made_.layers.back().lines.push_back(best_line(row, dense->codes.rounding));
    return dense->out;
  }

  void add_layer(int number, int columns, const std::vector<std::int16_t>& weight, int rows,
                 const Origin& origin) {
    CrownLayer layer;
    layer.step = number;
    const auto width = static_cast<std::size_t>(columns);
    std::vector<mpz_class> largest(width);
    for (std::size_t k = 0; k < weight.size(); ++k)
      largest[k % width] = std::max(largest[k % width], mpz_class(std::abs(weight[k])));
    for (layer.shift = kMostBits; layer.shift >= kLeastBits; --layer.shift)
      if (fits(largest, layer.shift)) break;
    if (layer.shift < kLeastBits)
      refuse_crown(origin, "its rows over codes need more than 64 bits");
    made_.widest = std::max({made_.widest, columns, rows});
    made_.layers.push_back(std::move(layer));
  }

  // Whether rows that begin with these coefficients stay below 2^62 through all layers that make
  // codes; others are outputs.
  bool fits(const std::vector<mpz_class>& coefficients, int shift) const {
    Reach reach;
    for (const mpz_class& each : coefficients)
      reach.row.push_back(shift >= 0 ? mpz_class(each << static_cast<mp_bitcnt_t>(shift))
                                     : mpz_class((each >> static_cast<mp_bitcnt_t>(-shift)) + 1));
    for (const mpz_class& each : reach.row) reach.note(each);
    for (auto layer = made_.layers.rbegin(); layer != made_.layers.rend(); ++layer)
      if (!layer->lines.empty()) go_back(dense(*layer), layer->lines, reach);
    mpz_class end = reach.constant;
    for (const mpz_class& each : reach.row) end += each * (kGridCodes - 1);
    end += mpz_class(kGridCodes) * made_.widest;  // bits of the weights that were left out
    reach.note(end);
    return reach.largest < (mpz_class(1) << 62);
  }

  void choose_row_shift(GridId last) {
    std::vector<mpz_class> largest(static_cast<std::size_t>(plan_.tensor(last).count));
    for (const PropertySums& sums : plan_.property->sums) {
      BF_CHECK(sums.in == last);
      for (std::size_t k = 0; k < sums.weight.size(); ++k)
        largest[k % largest.size()] =
            std::max(largest[k % largest.size()], magnitude(sums.weight[k]));
    }
    for (made_.row_shift = kMostBits; made_.row_shift > -kMostRight; --made_.row_shift)
      if (fits(largest, made_.row_shift)) break;
    if (!fits(largest, made_.row_shift))
      refuse_crown("property", "its rows over codes need more than 64 bits");
  }

  IntegerPlan& plan_;
  GridCrown made_;
};

}  // namespace

void make_crown(Plan& plan) {
  plan.integer->crown = CrownMaker(*plan.integer).make();
}

std::int64_t crown_room_bytes(const IntegerPlan& plan) {
  std::int64_t bytes = 2 * 8 * plan.crown->widest;
  for (const CrownLayer& layer : plan.crown->layers)
    bytes += CrownMaker::kRelaxedBytes * static_cast<std::int64_t>(layer.lines.size());
  return bytes;
}

}  // namespace bf_aot
