#include "aot/prove/fast_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "aot/system/clones.h"

namespace bf_aot::prove {

using bf_check::i128;
using bf_check::Kind;
using bf_check::Layer;
using bf_check::Part;

// One number of each row that is bounded.
typedef double Lanes __attribute__((vector_size(64), aligned(8), may_alias));
typedef std::int64_t LongLanes __attribute__((vector_size(64), aligned(8), may_alias));
constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(double);

// The rows that are bounded at once, with F = bits.
struct LanePass {
  unsigned bits = 0;
  i128 constant[kLanes] = {};            // in 2^-(F+T)
  unsigned char too_large[kLanes] = {};  // whether a coefficient is, as the checker says
  LongLanes users = {};                  // rows of the last layer that have a coefficient
  bool exact = true;                     // whether digits sufficed
};

namespace {

constexpr unsigned kWeightBits = bf_check::Grid{}.weight_bits;
constexpr std::int64_t kRestMask = (std::int64_t{1} << kWeightBits) - 1;
constexpr std::int64_t kMostFactor = std::int64_t{1} << bf_check::kCoefficientSize;
constexpr std::int64_t kMostValue = (std::int64_t{1} << bf_check::kValueSize) - 1;
constexpr double kWeightUnit = 1.0 / (kRestMask + 1.0);

// A coefficient of each row: whole 2^-F + rest 2^-(F+P), with 0 <= rest < 2^P.
struct Sum {
  LongLanes& whole;
  LongLanes& rest;
};

[[gnu::always_inline]] inline Sum sum_of(std::int64_t* sums, std::size_t element) {
  std::int64_t* const at = sums + element * 2 * kLanes;
  return {*reinterpret_cast<LongLanes*>(at), *reinterpret_cast<LongLanes*>(at + kLanes)};
}

[[gnu::always_inline]] inline bool any(const LongLanes& lanes) {
  std::int64_t bits = 0;
  for (std::size_t j = 0; j < kLanes; ++j) bits |= lanes[j];
  return bits != 0;
}

// The largest magnitude of them.
[[gnu::always_inline]] inline std::int64_t largest(const LongLanes& lanes) {
  std::int64_t most = 0;
  for (std::size_t j = 0; j < kLanes; ++j) most = std::max(most, std::abs(lanes[j]));
  return most;
}

// Adds the products of a row's coefficient and a number of 128 bits to a coefficient.
void add_product(Sum to, std::size_t lane, i128 product) {
  const i128 sum = product + to.rest[lane];
  to.whole[lane] += static_cast<std::int64_t>(sum >> kWeightBits);
  to.rest[lane] = static_cast<std::int64_t>(sum) & kRestMask;
}

// Takes the coefficients of an element, as the checker's take() does.
[[gnu::always_inline]] inline void take(std::int64_t* sums, std::size_t element, const Part& part,
                                        LanePass& pass, LongLanes& taken) {
  const std::int64_t lower = part.lower.data()[element];
  const Sum sum = sum_of(sums, element);
  taken = sum.whole;
  const LongLanes rest = sum.rest;
  sum.whole = LongLanes{};
  sum.rest = LongLanes{};
  for (std::size_t j = 0; j < kLanes && largest(taken) >= kMostFactor; ++j) {
    if (std::abs(taken[j]) < kMostFactor) continue;
    pass.too_large[j] = 1;
    taken[j] = 0;
  }
  for (std::size_t j = 0; j < kLanes && lower < 0; ++j)
    if (rest[j] != 0) pass.constant[j] += lower;
}

// Carries coefficients of ReLUs to their arguments, as the checker's relu_row() does by its rule.
BF_CLONES void through_relus(const Layer& layer, const Part& part, std::int64_t* sums,
                             LanePass& pass) {
  const std::uint32_t* const column = layer.column.data();
  const std::int64_t *const lower = part.lower.data(), *const upper = part.upper.data();
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t element = layer.first + row, z = column[row];
    const std::int64_t low = lower[z], high = upper[z];
    LongLanes a;
    take(sums, element, part, pass, a);
    if (low < 0 && high <= 0) continue;
    LongLanes& to = sum_of(sums, z).whole;
    if (low >= 0) {
      to += a;
      continue;
    }
    const bool rule_is_one = 64 * (low + high) > high - low;
    const std::int64_t chord = part.chord[z];
    for (std::size_t j = 0; j < kLanes; ++j) {
      if (a[j] >= 0) {
        to[j] += rule_is_one ? a[j] : 0;
        continue;
      }
      const i128 kept = static_cast<i128>(a[j]) * chord >> bf_check::kChordBits;
      const i128 least = std::min(-kept * low, (static_cast<i128>(a[j]) - kept) * high);
      pass.constant[j] += std::min<i128>(least, 0);
      to[j] += static_cast<std::int64_t>(kept);
    }
  }
}

// Carries coefficients of functions to their arguments, as the checker's function_row() does.
void through_functions(const Layer& layer, const Part& part, std::int64_t* sums, LanePass& pass) {
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t element = layer.first + row, number = layer.first_line + row;
    LongLanes a;
    take(sums, element, part, pass, a);
    for (std::size_t j = 0; j < kLanes; ++j) {
      const bf_check::Line& line = (a[j] < 0 ? part.above : part.below)[number];
      const std::int64_t left_out = (a[j] < 0 ? part.rough_upper : part.rough_lower)[element];
      pass.constant[j] += static_cast<i128>(a[j]) * (line.offset + left_out);
      add_product(sum_of(sums, layer.column[row]), j, static_cast<i128>(a[j]) * line.slope);
    }
  }
}

// How large the coefficients of rows are: the largest magnitude, and the sum over rows of the
// largest of each. Both are above.
struct Sizes {
  double largest = 0, all = 0;
};

// Takes the coefficients of an affine layer's rows, as digits, and adds what the rows add besides
// what they read. Lists the rows that have one.
BF_CLONES Sizes take_rows(const Layer& layer, const Part& part, std::int64_t* sums, double* digits,
                          std::vector<std::uint32_t>& used, LanePass& pass) {
  Sizes sizes;
  pass.users = LongLanes{};
  used.clear();
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t element = layer.first + row;
    const Sum sum = sum_of(sums, element);
    Lanes* const digit = reinterpret_cast<Lanes*>(digits + row * 2 * kLanes);
    if (!any(sum.whole | sum.rest)) {
      digit[0] = digit[1] = Lanes{};
      continue;
    }
    used.push_back(row);
    pass.users -= (sum.whole | sum.rest) != 0;
    LongLanes a;
    take(sums, element, part, pass, a);
    const std::int64_t bias = layer.bias[row];
    const std::int64_t below = bias + part.rough_lower[element];
    const std::int64_t above = bias + part.rough_upper[element];
    for (std::size_t j = 0; j < kLanes; ++j)
      pass.constant[j] += static_cast<i128>(a[j]) * (a[j] > 0 ? below : above);
    const auto size = static_cast<double>(largest(a));
    sizes.largest = std::max(sizes.largest, size);
    sizes.all += size;
    constexpr std::int64_t kHalf = std::int64_t{1} << (kDigitBits - 1);
    const LongLanes first = ((a + kHalf) & (2 * kHalf - 1)) - kHalf;
    digit[0] = __builtin_convertvector(first, Lanes);
    digit[1] = __builtin_convertvector((a - first) >> kDigitBits, Lanes);
  }
  return sizes;
}

// Adds the coefficients of the rows that read a source times their weights to the source's: exact,
// as all sums of a block are integers below 2^53.
BF_CLONES void through_readers(const Layer& layer, const WeightDigits& weight,
                               const std::vector<std::uint32_t>& sources, std::uint32_t block,
                               const double* digits, std::int64_t* sums) {
  constexpr unsigned kRest = kWeightBits - kDigitBits;
  constexpr std::int64_t kLow = (std::int64_t{1} << kRest) - 1;
  static_assert(2 * kDigitBits >= kWeightBits);
  const std::uint32_t* const reader = layer.reader.data();
  const double *const w0 = weight.first.data(), *const w1 = weight.second.data();
  for (const std::uint32_t source : sources) {
    const std::uint32_t end = layer.reader_start[source + 1];
    const Sum to = sum_of(sums, layer.source[source]);
    LongLanes whole = to.whole, rest = to.rest;
    for (std::uint32_t k = layer.reader_start[source]; k < end;) {
      Lanes low = {}, middle = {}, other = {}, high = {};
      for (const std::uint32_t stop = std::min(end, k + block); k < stop; ++k) {
        const Lanes* const a = reinterpret_cast<const Lanes*>(digits + reader[k] * 2 * kLanes);
        low += a[0] * w0[k];
        middle += a[0] * w1[k];
        other += a[1] * w0[k];
        high += a[1] * w1[k];
      }
      const LongLanes by_digit = __builtin_convertvector(middle + other, LongLanes);
      rest += __builtin_convertvector(low, LongLanes) + ((by_digit & kLow) << kDigitBits);
      whole += (rest >> kWeightBits) + (by_digit >> kRest) +
               (__builtin_convertvector(high, LongLanes) << (2 * kDigitBits - kWeightBits));
      rest &= kRestMask;
    }
    to.whole = whole;
    to.rest = rest;
  }
}

void at_inputs(std::uint32_t inputs, const Part& part, std::int64_t* sums, LanePass& pass) {
  for (std::uint32_t i = 0; i < inputs; ++i) {
    LongLanes a;
    take(sums, i, part, pass, a);
    for (std::size_t j = 0; j < kLanes; ++j)
      pass.constant[j] += static_cast<i128>(a[j]) * (a[j] < 0 ? part.upper[i] : part.lower[i]);
  }
}

bool is_zero(const Part& part, std::uint32_t element) {
  return part.lower[element] == 0 && part.upper[element] == 0;
}

// Whether the checker takes a layer row by row, and so what is always 0 as well, where so many rows
// have a coefficient.
bool is_few(std::int64_t rows, const Layer& layer) {
  return rows * 4 < layer.count;
}

// Clears the digits of lanes that leave out what is always 0. False: these are all.
bool keep_few(const Layer& layer, const LongLanes& users, const std::vector<std::uint32_t>& used,
              double* digits) {
  bool any = false;
  for (std::size_t j = 0; j < kLanes; ++j) {
    const bool keeps = users[j] > 0 && is_few(users[j], layer);
    any = any || keeps;
    for (std::size_t i = 0; i < used.size() && !keeps; ++i)
      for (const std::size_t digit : {0, 1}) digits[(used[i] * 2 + digit) * kLanes + j] = 0;
  }
  return any;
}

// The largest number of affine layers that read an element.
double most_layers(const bf_check::Network& network) {
  std::vector<std::uint32_t> count(network.elements);
  std::uint32_t most = 1;
  for (const Layer& layer : network.layers)
    for (const std::uint32_t element : layer.source) most = std::max(most, ++count[element]);
  return most;
}

}  // namespace

FastBounds::FastBounds(bf_check::Bounder& bounder, NetworkWeights weights, bf_check::Work& work)
    : bounder_(bounder),
      network_(bounder.network()),
      weights_(std::move(weights)),
      work_(work),
      layers_(most_layers(network_)),
      sums_(network_.elements * 2 * kRows) {
  static_assert(kRows == kLanes);
}

void FastBounds::derive(Part& part) {
  if (!try_derive(part)) bounder_.derive(part);
}

bool FastBounds::try_derive(Part& part) {
  if (network_.grid.weight_bits != kWeightBits) return false;
  made_ = part;
  made_.derived = true;
  for (std::size_t k = 0; k < network_.layers.size(); ++k) {
    const Layer& layer = network_.layers[k];
    if (layer.kind == Kind::kProduct) return false;
    for (std::uint32_t row = 0; row < layer.count; ++row) bounder_.interval(made_, layer, row);
    if (made_.empty) return false;
    if (layer.kind == Kind::kAffine && !tighten(k)) return false;
  }
  std::swap(part, made_);
  return true;
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
    backward(layer, pass);
    if (!pass.exact) return false;
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
    if (is_few(1, of) || !is_zero(made_, of.column[k]))
      add_product(sum_of(sums_.data(), of.column[k]), lane, a * of.weight[k]);
}

// Carries coefficients from the layers below `layer` back to the inputs, and leaves sums_ 0.
void FastBounds::backward(std::size_t layer, LanePass& pass) {
  for (std::size_t k = layer - 1; k > 0 && pass.exact; --k) {
    const Layer& each = network_.layers[k];
    work_.spend(kRows * (each.count + each.column.size()));
    if (each.kind == Kind::kAffine)
      affine(k, pass);
    else if (each.kind == Kind::kRelu)
      through_relus(each, made_, sums_.data(), pass);
    else
      through_functions(each, made_, sums_.data(), pass);
  }
  if (pass.exact) at_inputs(network_.inputs, made_, sums_.data(), pass);
  if (!pass.exact) std::fill(sums_.begin(), sums_.end(), 0);
}

// Carries coefficients through an affine layer, where digits suffice for them.
void FastBounds::affine(std::size_t layer, LanePass& pass) {
  const Layer& of = network_.layers[layer];
  const WeightDigits& weight = (*weights_)[layer].digits;
  digits_.resize(std::max<std::size_t>(digits_.size(), of.count * 2 * kRows));
  const Sizes sizes = take_rows(of, made_, sums_.data(), digits_.data(), used_, pass);
  const double first = std::ldexp(1.0, kDigitBits - 1), second = weight.most_second;
  const double digit = sizes.largest / (2 * first) + 1;
  // So many products have sums below 2^53, by each pair of digits.
  const double block = std::min(
      {0x1p8, 0x1p53 / (first * (digit + second)), 0x1p53 / (digit * std::max(second, 1.0))});
  const double reach = layers_ * std::min(sizes.largest * weight.most_column,
                                          sizes.all * (second + 1) * 2 * first * kWeightUnit);
  pass.exact =
      pass.exact && block >= 1 && reach <= 0x1p60 && digit * second * weight.most_readers <= 0x1p60;
  if (!pass.exact || used_.empty()) return;
  list_sources(layer);
  const auto go = [&](const std::vector<std::uint32_t>& sources) {
    through_readers(of, weight, sources, static_cast<std::uint32_t>(block), digits_.data(),
                    sums_.data());
  };
  go(sources_);
  if (!zeros_.empty() && keep_few(of, pass.users, used_, digits_.data())) go(zeros_);
}

// Lists what the used rows read, and what of it is always 0.
void FastBounds::list_sources(std::size_t layer) {
  const Layer& of = network_.layers[layer];
  const bool few = used_.size() * 4 < of.count;
  touched_.assign(of.source.size(), few ? 0 : 1);
  const std::vector<std::uint32_t>& place = (*weights_)[layer].place;
  for (std::size_t i = 0; i < used_.size() && few; ++i)
    for (std::uint32_t k = of.start[used_[i]]; k < of.start[used_[i] + 1]; ++k)
      touched_[place[k]] = 1;
  sources_.clear();
  zeros_.clear();
  for (std::uint32_t i = 0; i < of.source.size(); ++i)
    if (touched_[i] != 0) (is_zero(made_, of.source[i]) ? zeros_ : sources_).push_back(i);
}

}  // namespace bf_aot::prove
