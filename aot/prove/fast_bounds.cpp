#include "aot/prove/fast_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/system/clones.h"

namespace bf_aot::prove {

using bf_check::i128;
using bf_check::Kind;
using bf_check::Layer;
using bf_check::Part;

namespace {

constexpr std::int64_t kMostValue = (std::int64_t{1} << bf_check::kValueSize) - 1;

// These are sums of products of eight or fewer values at a time, by pairs of digits.
struct RunSums {
  Lanes low = {}, middle = {}, high = {};

  [[gnu::always_inline]] void add(const Lanes& w0, const Lanes& w1, const double* first,
                                  const double* second) {
    const Lanes v0 = *reinterpret_cast<const Lanes*>(first);
    const Lanes v1 = *reinterpret_cast<const Lanes*>(second);
    low += w0 * v0;
    middle += w0 * v1 + w1 * v0;
    high += w1 * v1;
  }

  i128 all() const {
    i128 sum = 0;
    for (std::size_t j = 0; j < kLanes; ++j)
      sum += static_cast<std::int64_t>(low[j]) +
             (static_cast<i128>(static_cast<std::int64_t>(middle[j])) << kDigitBits) +
             (static_cast<i128>(static_cast<std::int64_t>(high[j])) << (2 * kDigitBits));
    return sum;
  }
};

// The sum of weights times `sums`, and that of their magnitudes times `widths`, of a row whose
// weights are padded with zeros.
BF_CLONES void interval_sums(const double* first, const double* second, std::uint32_t count,
                             const ValueDigits& sums, const ValueDigits& widths,
                             std::uint32_t column, i128& sum, i128& width) {
  RunSums of_sums, of_widths;
  for (std::uint32_t i = 0; i < count; i += kLanes) {
    const Lanes w0 = *reinterpret_cast<const Lanes*>(first + i);
    const Lanes w1 = *reinterpret_cast<const Lanes*>(second + i);
    of_sums.add(w0, w1, sums.first.data() + column + i, sums.second.data() + column + i);
    const Lanes whole = w0 + w1 * static_cast<double>(1 << kDigitBits);
    const LongLanes sign = reinterpret_cast<LongLanes>(whole) & INT64_MIN;
    of_widths.add(reinterpret_cast<Lanes>(reinterpret_cast<LongLanes>(w0) ^ sign),
                  reinterpret_cast<Lanes>(reinterpret_cast<LongLanes>(w1) ^ sign),
                  widths.first.data() + column + i, widths.second.data() + column + i);
  }
  sum = of_sums.all();
  width = of_widths.all();
}

bool is_zero(const Part& part, std::uint32_t element) {
  return part.lower[element] == 0 && part.upper[element] == 0;
}

// Whether a ReLU or a product reads an input: what it is bounded by changes with the box.
bool is_input_curved(const bf_check::Network& network) {
  for (const Layer& layer : network.layers)
    for (const std::uint32_t element : layer.column)
      if (element < network.inputs && (layer.kind == Kind::kRelu || layer.kind == Kind::kProduct))
        return true;
  return false;
}

// Returns what the inputs add to a bound on a part, as the checker's backward() ends.
i128 of_inputs(const SumBound& bound, const Part& part) {
  i128 sum = 0;
  for (std::size_t i = 0; i < bound.coefficient.size(); ++i) {
    const i128 a = bound.coefficient[i];
    sum += a * (a < 0 ? part.upper[i] : part.lower[i]);
    if (bound.rounded[i] != 0) sum += std::min<std::int64_t>(0, part.lower[i]);
  }
  return sum;
}

}  // namespace

i128 value_on(const SumBound& bound, const Part& part) {
  return bound.inner + of_inputs(bound, part);
}

FastBounds::FastBounds(bf_check::Bounder& bounder, NetworkWeights weights, bf_check::Work& work)
    : bounder_(bounder),
      network_(bounder.network()),
      weights_(std::move(weights)),
      work_(work),
      lanes_(network_, weights_),
      has_inputs_(!is_input_curved(network_)),
      sums_(network_.elements),
      widths_(network_.elements) {}

void FastBounds::derive(Part& part) {
  if (!try_derive(part)) bounder_.derive(part);
}

bool FastBounds::try_derive(Part& part) {
  if (network_.grid.weight_bits != kLaneWeightBits) return false;
  made_ = part;
  made_.derived = true;
  most_second_ = 0;
  for (std::size_t k = 0; k < network_.layers.size(); ++k) {
    const Layer& layer = network_.layers[k];
    if (layer.kind == Kind::kAffine) {
      intervals(k);
    } else {
      for (std::uint32_t row = 0; row < layer.count; ++row) bounder_.interval(made_, layer, row);
    }
    if (made_.empty) return false;
    if (layer.kind == Kind::kAffine && !tighten(k)) return false;
    take_values(layer);
  }
  std::swap(part, made_);
  return true;
}

// Bounds affine sums by intervals, where digits suffice: with s the sums of the bounds of what a
// row reads, and d their differences, twice its bounds are  sum of w s -+ sum of |w| d.
void FastBounds::intervals(std::size_t layer) {
  const Layer& of = network_.layers[layer];
  const RowDigits& digits = (*weights_)[layer].rows;
  const unsigned bits = network_.grid.weight_bits;
  const double pairs = digits.width / static_cast<double>(kLanes) + 1;
  const double half = std::ldexp(1.0, kDigitBits - 1), most = most_second_ + 1;
  const bool exact = digits.width > 0 && of.loss.empty() &&
                     pairs * half * (most + digits.most_second) <= 0x1p53 &&
                     pairs * most * digits.most_second <= 0x1p53 && pairs * half * half <= 0x1p53;
  for (std::uint32_t row = 0; row < of.count; ++row) {
    if (!exact || of.rough_start[row] != of.rough_start[row + 1]) {
      bounder_.interval(made_, of, row);
      continue;
    }
    const std::uint32_t element = of.first + row, count = of.start[row + 1] - of.start[row];
    work_.spend(2 * count + 1);
    i128 sum = 0, width = 0;
    interval_sums(digits.first.data() + row * digits.width,
                  digits.second.data() + row * digits.width, count, sums_, widths_,
                  of.column[of.start[row]], sum, width);
    const i128 bias = static_cast<i128>(of.bias[row]) << bits;
    made_.rough_lower[element] = 0;
    made_.rough_upper[element] = of.rough_bias[row];
    bounder_.meet(made_, element, ((sum - width) / 2 + bias) >> bits,
                  -(-((sum + width) / 2 + bias) >> bits) + of.rough_bias[row]);
  }
}

// Takes the bounds of a layer's elements for the intervals of layers above.
void FastBounds::take_values(const Layer& layer) {
  for (std::uint32_t element = layer.first; element < layer.first + layer.count; ++element) {
    const std::int64_t low = made_.lower[element], high = made_.upper[element];
    most_second_ =
        std::max({most_second_, sums_.set(element, low + high), widths_.set(element, high - low)});
  }
}

// Whether the checker bounds a row backwards: the argument of a ReLU as long as it may be of either
// sign.
bool FastBounds::is_open(const Layer& layer, std::uint32_t row) const {
  const std::int64_t low = made_.lower[layer.first + row], high = made_.upper[layer.first + row];
  const bool curved = (layer.read_by[row] & bf_check::kReadByOther) != 0;
  return layer.read_by[row] != 0 && (curved ? low < high : low < 0 && high > 0);
}

// Bounds the arguments of functions backwards, from below and then from above; or by both at once
// where lanes are left, although what is bounded from below may need no other bound.
bool FastBounds::tighten(std::size_t layer) {
  const Layer& of = network_.layers[layer];
  std::vector<Row> rows;
  for (const int sign : {1, -1}) {
    const std::size_t before = rows.size();
    for (std::uint32_t row = 0; row < of.count; ++row)
      if (is_open(of, row)) rows.push_back({row, sign});
    if (sign > 0 && (rows.size() - before) * 2 <= kRows) continue;
    for (const unsigned bits : bounder_.bits())
      if (!bound(layer, rows, bits)) return false;
    rows.clear();
  }
  return !made_.empty;
}

// Bounds rows, and leaves those whose coefficients are too large.
bool FastBounds::bound(std::size_t layer, std::vector<Row>& rows, unsigned bits) {
  const Layer& of = network_.layers[layer];
  std::vector<Row> left;
  for (std::size_t i = 0; i < rows.size(); i += kRows) {
    const std::size_t count = std::min(kRows, rows.size() - i);
    LanePass pass;
    pass.bits = bits;
    for (std::size_t j = 0; j < count; ++j) begin(layer, rows[i + j], j, pass);
    spend(layer);
    lanes_.to_inputs(made_, layer, pass);
    if (!pass.exact) {
      lanes_.clear();
      return false;
    }
    lanes_.end(made_, pass);
    for (std::size_t j = 0; j < count; ++j) {
      const auto [row, sign] = rows[i + j];
      if (pass.too_large[j] != 0) {
        left.push_back(rows[i + j]);
      } else if (is_open(of, row)) {
        const i128 value = std::clamp<i128>(pass.constant[j] >> bits, -kMostValue, kMostValue);
        bounder_.meet(made_, of.first + row, sign > 0 ? value : -kMostValue,
                      sign > 0 ? kMostValue : -value);
      }
    }
  }
  rows = std::move(left);
  return true;
}

// Begins with a row, whose coefficient is its sign.
void FastBounds::begin(std::size_t layer, const Row& begun, std::size_t lane, LanePass& pass) {
  const Layer& of = network_.layers[layer];
  const auto [row, sign] = begun;
  const std::uint32_t element = of.first + row;
  const i128 a = static_cast<i128>(sign) << pass.bits;
  pass.constant[lane] =
      a * (of.bias[row] + (sign > 0 ? made_.rough_lower : made_.rough_upper)[element]);
  for (std::uint32_t k = of.start[row]; k < of.start[row + 1]; ++k)
    if (4 < of.count || !is_zero(made_, of.column[k]))
      add_product(lane_sum(lanes_.sums(), of.column[k]), lane, a * of.weight[k]);
}

void FastBounds::spend(std::size_t layers) {
  for (std::size_t k = 1; k < layers; ++k)
    work_.spend(kRows * (network_.layers[k].count + network_.layers[k].column.size()));
}

// Begins with a sum. False: the checker alone can.
bool FastBounds::begin(const bf_check::Sum& sum, std::size_t lane, LanePass& pass) {
  constexpr std::size_t kMostTerms = 1024;
  const bf_check::Int constant =
      bf_check::floor_shifted(sum.constant, pass.bits + network_.grid.value_bits);
  if (mpz_sizeinbase(constant.get_mpz_t(), 2) > 124 || sum.terms.size() > kMostTerms) return false;
  for (const auto& term : sum.terms)
    if (mpz_sizeinbase(term.second.get_mpz_t(), 2) + pass.bits > bf_check::kCoefficientSize)
      return false;
  for (const auto& [element, coefficient] : sum.terms)
    lane_sum(lanes_.sums(), element).whole[lane] +=
        std::int64_t{coefficient.get_si()} * (std::int64_t{1} << pass.bits);
  pass.constant[lane] = bf_check::to_i128(constant, 124, "a constant");
  return true;
}

SumBound FastBounds::by_checker(const Part& part, const bf_check::Sum& sum) {
  static const bf_check::Choices rule;
  SumBound made;
  const auto value = bounder_.lower_bound(part, sum, rule, bounder_.bits()[0]);
  made.has = value.has_value();
  made.value = value.value_or(0);
  made.coefficient = bounder_.input_coefficients();
  return made;
}

std::vector<SumBound> FastBounds::lower_bounds(const Part& part,
                                               const std::vector<bf_check::Sum>& sums) {
  std::vector<SumBound> made(sums.size());
  for (std::size_t first = 0; first < sums.size(); first += kRows) {
    const std::size_t count = std::min(kRows, sums.size() - first);
    LanePass pass;
    pass.bits = bounder_.bits()[0];
    pass.exact = network_.grid.weight_bits == kLaneWeightBits;
    bool begun[kRows] = {};
    for (std::size_t j = 0; j < count && pass.exact; ++j)
      begun[j] = begin(sums[first + j], j, pass);
    spend(network_.layers.size());
    lanes_.to_inputs(part, network_.layers.size(), pass);
    for (std::size_t j = 0; j < count && pass.exact; ++j) {
      made[first + j].inner = pass.constant[j];
      for (std::uint32_t i = 0; i < network_.inputs; ++i) {
        const LaneSum sum = lane_sum(lanes_.sums(), i);
        made[first + j].coefficient.push_back(sum.whole[j]);
        made[first + j].rounded.push_back(sum.rest[j] != 0);
      }
    }
    if (pass.exact) lanes_.end(part, pass);
    if (!pass.exact) lanes_.clear();
    for (std::size_t j = 0; j < count; ++j) {
      SumBound& each = made[first + j];
      if (!pass.exact || !begun[j] || pass.too_large[j] != 0) {
        each = by_checker(part, sums[first + j]);
        continue;
      }
      each.has = true;
      each.has_inputs = has_inputs_;
      each.value = pass.constant[j];
    }
  }
  return made;
}

}  // namespace bf_aot::prove
