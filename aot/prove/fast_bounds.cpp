// Sums are not fused, so that bounds are the same on all machines (see CMakeLists.txt).
#include "aot/prove/fast_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/system/clones.h"

namespace bf_aot::prove {

using bf_check::Kind;
using bf_check::Layer;
using bf_check::Part;

namespace {

// One number of each row that is bounded.
typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));
constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(double);

constexpr double kChordUnit = 1.0 / (1 << bf_check::kChordBits);
constexpr double kMostValue = 0x1p54;  // of the checker
// These estimate the difference from the checker's bounds: kSumError for roundings of the terms of
// a sum, kCoefficientError for those of coefficients, as shares of what they are multiplied with,
// kChordError for those of the slopes of chords, and kUnits for those to whole units.
constexpr double kSumError = 0x1p-44, kCoefficientError = 0x1p-39, kChordError = 0x1p-30;
constexpr double kUnits = 4;
// Coefficients from which on the checker may take a grid that is coarser by kCoarser, and another.
constexpr double kLarge = 0x1p11, kTooLarge = 0x1p23;
constexpr double kCoarser = 0x1p12;

}  // namespace

// The sums of a backward pass, by row: of the bound, of the magnitudes of its terms, and of the
// squares of what deviations of earlier bounds change; and the largest coefficient.
struct LaneTotals {
  Lanes constant = {}, size = {}, variance = {}, largest = {};

  // Estimates the difference of the row's bound from the checker's. reach: the sum of the
  // magnitudes of all elements that coefficients were multiplied with.
  double deviation(std::size_t row, double reach) const {
    const double coarser = largest[row] < kLarge ? 1 : kCoarser;
    return kSumError * size[row] + kCoefficientError * coarser * reach + kUnits +
           std::sqrt(variance[row]);
  }
};

// The bounds that a pass reads. Pointers, since vectors would check each index.
struct BoundsView {
  const std::int64_t *lower, *upper, *rough_lower, *rough_upper, *chord;
  const Deviation* deviation;

  explicit BoundsView(const Bounds& part)
      : lower(part.lower.data()),
        upper(part.upper.data()),
        rough_lower(part.rough_lower.data()),
        rough_upper(part.rough_upper.data()),
        chord(part.chord.data()),
        deviation(part.deviation.data()) {}
};

namespace {

[[gnu::always_inline]] inline Lanes& lanes_of(double* sums, std::size_t element) {
  return *reinterpret_cast<Lanes*>(sums + element * kLanes);
}

[[gnu::always_inline]] inline bool any(const Lanes& lanes) {
  double sum = 0;
  for (std::size_t j = 0; j < kLanes; ++j) sum += lanes[j] * lanes[j];
  return sum != 0;
}

// Carries coefficients of ReLUs to their arguments, as the checker's relu_row() does by its rule.
BF_CLONES void through_relus(const Layer& layer, const BoundsView& view, double* sums,
                             LaneTotals& totals) {
  const std::uint32_t* const column = layer.column.data();
  LaneTotals made = totals;
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    Lanes& from = lanes_of(sums, layer.first + row);
    const std::uint32_t z = column[row];
    Lanes& to = lanes_of(sums, z);
    const Lanes a = from;
    from = Lanes{};
    const Lanes size = a < 0 ? -a : a;
    made.largest = made.largest < size ? size : made.largest;
    if (view.upper[z] <= 0) continue;
    if (view.lower[z] >= 0) {
      to += a;
      continue;
    }
    const std::int64_t low = view.lower[z], high = view.upper[z];
    const auto l = static_cast<double>(low), u = static_cast<double>(high);
    const double chord = static_cast<double>(view.chord[z]) * kChordUnit;
    const double rule = 64 * (low + high) > high - low ? 1 : 0;
    const Lanes kept = a < 0 ? a * chord : a * rule;
    const Lanes at_low = kept * -l, at_high = (a - kept) * u;
    const Lanes lower = at_low < at_high ? at_low : at_high;
    // Ends of the argument that differ turn the chord, by which the bound may get better or worse.
    const Lanes turned =
        a * (view.deviation[z].low + view.deviation[z].high + kChordError * (u - l));
    made.constant += lower < 0 ? lower : Lanes{};
    made.variance += a < 0 ? turned * turned : Lanes{};
    to += kept;
  }
  totals = made;
}

// Adds what the rows of an affine layer add besides what they read, and lists those that have a
// coefficient, or all. Returns their number.
BF_CLONES std::size_t constants_of(const Layer& layer, bool all, const BoundsView& view,
                                   double* sums, std::uint32_t* used, LaneTotals& totals) {
  std::size_t count = 0;
  LaneTotals made = totals;
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t element = layer.first + row;
    const Lanes a = lanes_of(sums, element);
    if (!all && !any(a)) continue;
    used[count++] = row;
    const auto bias = static_cast<double>(layer.bias[row]);
    const auto below = static_cast<double>(view.rough_lower[element]);
    const auto above = static_cast<double>(view.rough_upper[element]);
    const Lanes size = a < 0 ? -a : a;
    made.constant += a * bias + a * (a < 0 ? Lanes{} + above : Lanes{} + below);
    made.size += size * std::fabs(bias);
    made.largest = made.largest < size ? size : made.largest;
  }
  totals = made;
  return count;
}

// Adds the used rows' coefficients times their weights to those of what they read.
BF_CLONES void through_rows(const Layer& layer, const double* weight, const std::uint32_t* used,
                            std::size_t count, double* sums) {
  const std::uint32_t *const start = layer.start.data(), *const column = layer.column.data();
  for (std::size_t i = 0; i < count; ++i) {
    const Lanes a = lanes_of(sums, layer.first + used[i]);
    for (std::uint32_t k = start[used[i]]; k < start[used[i] + 1]; ++k)
      lanes_of(sums, column[k]) += a * weight[k];
  }
}

// Does the work of through_rows() for all rows of a layer, one source after the other.
BF_CLONES void through_readers(const Layer& layer, const BoundsView& view, const double* weight,
                               double* sums) {
  const std::uint32_t *const start = layer.reader_start.data(), *const reader = layer.reader.data();
  const std::uint32_t* const source = layer.source.data();
  double* const factors = sums + layer.first * kLanes;
  for (std::size_t i = 0; i < layer.source.size(); ++i) {
    if (view.lower[source[i]] == 0 && view.upper[source[i]] == 0) continue;
    Lanes even = {}, odd = {};
    std::uint32_t k = start[i];
    for (; k + 2 <= start[i + 1]; k += 2) {
      even += lanes_of(factors, reader[k]) * weight[k];
      odd += lanes_of(factors, reader[k + 1]) * weight[k + 1];
    }
    if (k < start[i + 1]) even += lanes_of(factors, reader[k]) * weight[k];
    lanes_of(sums, source[i]) += even + odd;
  }
}

BF_CLONES void at_inputs(std::uint32_t inputs, const BoundsView& view, double* sums,
                         LaneTotals& totals) {
  LaneTotals made = totals;
  for (std::uint32_t i = 0; i < inputs; ++i) {
    Lanes& from = lanes_of(sums, i);
    const Lanes a = from;
    from = Lanes{};
    const auto l = static_cast<double>(view.lower[i]), u = static_cast<double>(view.upper[i]);
    const Lanes size = a < 0 ? -a : a;
    made.constant += a < 0 ? a * u : a * l;
    made.size += size * std::max(std::fabs(l), std::fabs(u));
    made.largest = made.largest < size ? size : made.largest;
  }
  totals = made;
}

double magnitude(const Part& part, std::uint32_t element) {
  return std::max(std::fabs(static_cast<double>(part.lower[element])),
                  std::fabs(static_cast<double>(part.upper[element])));
}

bool is_open(const Part& part, std::uint32_t element) {
  return part.lower[element] < 0 && part.upper[element] > 0;
}

}  // namespace

FastBounds::FastBounds(const bf_check::Network& network, NetworkWeights weights,
                       bf_check::Work& work)
    : network_(network),
      weights_(std::move(weights)),
      work_(work),
      sums_(network.elements * kRows) {
  static_assert(kRows == kLanes);
}

bool FastBounds::derive(Bounds& part) {
  if (network_.sigmoids > 0) return false;
  made_ = part;
  made_.derived = true;
  made_.deviation.resize(network_.elements);
  certain_ = true;
  reach_ = 0;
  for (std::size_t k = 0; k < network_.layers.size() && certain_ && !made_.empty; ++k) {
    const Layer& layer = network_.layers[k];
    for (std::uint32_t row = 0; row < layer.count; ++row) {
      if (layer.kind == Kind::kAffine) interval(k, row);
      if (layer.kind == Kind::kRelu) relu(layer, row);
    }
    if (layer.kind == Kind::kAffine) tighten(k);
    for (std::uint32_t row = 0; row < layer.count; ++row)
      reach_ += magnitude(made_, layer.first + row);
  }
  if (!certain_) return false;
  std::swap(part, made_);
  return true;
}

// Takes a lower bound where it is more than what is known.
void FastBounds::raise(std::uint32_t element, double lower, double deviation) {
  lower = std::floor(lower);
  certain_ = certain_ && std::fabs(lower) < kMostValue;
  std::int64_t& low = made_.lower[element];
  if (!certain_ || static_cast<double>(low) >= lower) return;
  low = static_cast<std::int64_t>(lower);
  made_.deviation[element].low = deviation;
  made_.empty = made_.empty || low > made_.upper[element];
}

// Takes an upper bound where it is less than what is known.
void FastBounds::reduce(std::uint32_t element, double upper, double deviation) {
  upper = std::ceil(upper);
  certain_ = certain_ && std::fabs(upper) < kMostValue;
  std::int64_t& high = made_.upper[element];
  if (!certain_ || static_cast<double>(high) <= upper) return;
  high = static_cast<std::int64_t>(upper);
  made_.deviation[element].high = deviation;
  made_.empty = made_.empty || made_.lower[element] > high;
}

void FastBounds::interval(std::size_t layer, std::uint32_t row) {
  const Layer& of = network_.layers[layer];
  const std::uint32_t element = of.first + row;
  const double* const weight = (*weights_)[layer].weight.data();
  const std::uint32_t* const column = of.column.data();
  work_.spend(2 * (of.start[row + 1] - of.start[row]) + 1);
  const auto bias = static_cast<double>(of.bias[row]);
  double lower = bias, upper = bias, size = std::fabs(bias), deviation = kUnits;
  for (std::uint32_t k = of.start[row], end = of.start[row + 1]; k < end; ++k) {
    const double at_low = weight[k] * static_cast<double>(made_.lower[column[k]]);
    const double at_high = weight[k] * static_cast<double>(made_.upper[column[k]]);
    lower += std::min(at_low, at_high);
    upper += std::max(at_low, at_high);
    size += std::max(std::fabs(at_low), std::fabs(at_high));
    deviation +=
        std::fabs(weight[k]) * (made_.deviation[column[k]].low + made_.deviation[column[k]].high);
  }
  double below = 0, above = 0;
  for (std::uint32_t k = of.rough_start[row]; k < of.rough_start[row + 1]; ++k) {
    below += std::min(0.0, static_cast<double>(made_.lower[of.rough[k]]));
    above += std::max(0.0, static_cast<double>(made_.upper[of.rough[k]]));
  }
  const double unit = std::ldexp(1.0, -static_cast<int>(network_.grid.weight_bits));
  const bool rough = of.rough_start[row] < of.rough_start[row + 1];
  below = rough ? std::floor(below * unit) : 0;
  above = (rough ? std::ceil(above * unit) : 0) + static_cast<double>(of.rough_bias[row]);
  made_.rough_lower[element] = static_cast<std::int64_t>(below);
  made_.rough_upper[element] = static_cast<std::int64_t>(above);
  deviation += kSumError * size;
  raise(element, lower + below, deviation);
  reduce(element, upper + above, deviation);
}

// Bounds a ReLU. A bound that decides between its two slopes must not do so by a rounding.
void FastBounds::relu(const Layer& layer, std::uint32_t row) {
  const std::uint32_t z = layer.column[row];
  const std::int64_t low = made_.lower[z], high = made_.upper[z];
  if (is_open(made_, z)) {
    made_.chord[z] = static_cast<std::int64_t>(
        (static_cast<bf_check::i128>(high) << bf_check::kChordBits) / (high - low));
    const auto width = static_cast<double>(high - low);
    const double between = std::fabs(64 * static_cast<double>(low + high) - width);
    certain_ = certain_ &&
               between > 0x1p-20 * width + 128 * (made_.deviation[z].low + made_.deviation[z].high);
  }
  const std::uint32_t element = layer.first + row;
  raise(element, static_cast<double>(std::max<std::int64_t>(low, 0)), made_.deviation[z].low);
  reduce(element, static_cast<double>(std::max<std::int64_t>(high, 0)), made_.deviation[z].high);
}

// Bounds the arguments of ReLUs backwards, from below and then from above, as long as they may be
// of either sign.
void FastBounds::tighten(std::size_t layer) {
  const Layer& of = network_.layers[layer];
  std::vector<std::uint32_t> open;
  for (const double sign : {1.0, -1.0}) {
    open.clear();
    for (std::uint32_t row = 0; row < of.count; ++row)
      if (of.functions[row] != 0 && is_open(made_, of.first + row)) open.push_back(row);
    bound(layer, open, sign);
  }
}

void FastBounds::bound(std::size_t layer, const std::vector<std::uint32_t>& rows, double sign) {
  for (std::size_t i = 0; i < rows.size() && certain_ && !made_.empty; i += kRows)
    bound_together(layer, rows.data() + i, std::min(kRows, rows.size() - i), sign);
}

void FastBounds::bound_together(std::size_t layer, const std::uint32_t* rows, std::size_t count,
                                double sign) {
  const Layer& of = network_.layers[layer];
  LaneTotals totals;
  for (std::size_t j = 0; j < count; ++j) {
    const std::uint32_t row = rows[j], element = of.first + row;
    totals.constant[j] = sign * static_cast<double>(of.bias[row]) +
                         (sign > 0 ? static_cast<double>(made_.rough_lower[element])
                                   : -static_cast<double>(made_.rough_upper[element]));
    for (std::uint32_t k = of.start[row]; k < of.start[row + 1]; ++k)
      sums_[of.column[k] * kRows + j] += sign * (*weights_)[layer].weight[k];
  }
  const BoundsView view(made_);
  backward(view, layer, totals);
  for (std::size_t j = 0; j < count; ++j) {
    certain_ = certain_ && totals.largest[j] < kTooLarge;
    const double deviation = totals.deviation(j, reach_);
    if (sign > 0)
      raise(of.first + rows[j], totals.constant[j], deviation);
    else
      reduce(of.first + rows[j], -totals.constant[j], deviation);
  }
}

// Carries coefficients from the layers below `layer` back to the inputs, and leaves sums_ 0.
void FastBounds::backward(const BoundsView& view, std::size_t layer, LaneTotals& totals) {
  for (std::size_t k = layer - 1; k > 0; --k) {
    const Layer& each = network_.layers[k];
    work_.spend(kRows * (each.count + each.column.size()));
    if (each.kind == Kind::kRelu) {
      through_relus(each, view, sums_.data(), totals);
      continue;
    }
    const LayerWeights& weights = (*weights_)[k];
    used_.resize(each.count);
    const std::size_t with =
        constants_of(each, weights.dense, view, sums_.data(), used_.data(), totals);
    if (with * 4 < each.count)
      through_rows(each, weights.weight.data(), used_.data(), with, sums_.data());
    else
      through_readers(each, view, weights.reader_weight.data(), sums_.data());
    std::fill_n(&sums_[each.first * kRows], each.count * kRows, 0.0);
  }
  at_inputs(network_.inputs, view, sums_.data(), totals);
}

double FastBounds::deviation_of(const Bounds& part, const bf_check::Sum& sum) {
  double reach = 0;
  for (std::uint32_t element = 0; element < network_.elements; ++element)
    reach += magnitude(part, element);
  for (const auto& [element, coefficient] : sum.terms)
    sums_[element * kRows] += coefficient.get_d();
  LaneTotals totals;
  backward(BoundsView(part), network_.layers.size(), totals);
  return totals.largest[0] < kTooLarge ? totals.deviation(0, reach) : HUGE_VAL;
}

}  // namespace bf_aot::prove
