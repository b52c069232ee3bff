#include "aot/prove/lane_pass.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot/system/clones.h"

// Functions that return lanes are inlined everywhere.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace bf_aot::prove {

using bf_check::i128;
using bf_check::Kind;
using bf_check::Layer;
using bf_check::Part;

namespace {

constexpr std::int64_t kRestMask = (std::int64_t{1} << kLaneWeightBits) - 1;
constexpr std::int64_t kMostFactor = std::int64_t{1} << bf_check::kCoefficientSize;
constexpr std::int64_t kMostValue = (std::int64_t{1} << bf_check::kValueSize) - 1;
// Coefficients beyond it are left to the checker, lest sums of them exceed 64 bits.
constexpr i128 kMostProduct = static_cast<i128>(1) << (52 + kLaneWeightBits);
constexpr std::uint32_t kMostCurved = 128;
constexpr double kWeightUnit = 1.0 / (kRestMask + 1.0);

[[gnu::always_inline]] inline bool any(LongLanes lanes) {
  lanes |= __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7, 0, 1, 2, 3);
  lanes |= __builtin_shufflevector(lanes, lanes, 2, 3, 0, 1, 6, 7, 4, 5);
  return (lanes[0] | lanes[1]) != 0;
}

// Masks, all bits of a lane or none, by signs: GCC 12 compares lanes of 64 bytes one by one.
[[gnu::always_inline]] inline LongLanes negative(const LongLanes& lanes) {
  return lanes >> 63;
}

[[gnu::always_inline]] inline LongLanes not_zero(const LongLanes& lanes) {
  return (lanes | -lanes) >> 63;
}

// The bits of doubles' magnitudes, which are in the same order as they are.
[[gnu::always_inline]] inline LongLanes magnitude_bits(const Lanes& lanes) {
  return reinterpret_cast<LongLanes>(lanes) & INT64_MAX;
}

double largest(const Lanes& lanes) {
  double most = 0;
  for (std::size_t j = 0; j < kLanes; ++j) most = std::max(most, lanes[j]);
  return most;
}

// Sums, by lane, of numbers of at most 54 bits.
struct SmallSums {
  static constexpr std::size_t kMost = 256;
  LongLanes sum = {};
  std::size_t count = 0;

  [[gnu::always_inline]] void add(const LongLanes& numbers, LanePass& pass) {
    sum += numbers;
    if (++count == kMost) end(pass);
  }

  void end(LanePass& pass) {
    for (std::size_t j = 0; j < kLanes; ++j) pass.constant[j] += sum[j];
    sum = LongLanes{};
    count = 0;
  }
};

// Sums, by lane, of products of numbers of at most 52 and 54 bits: of each pair of their halves.
struct LargeSums {
  static constexpr std::size_t kMost = 512;
  static constexpr unsigned kFirst = 26, kSecond = 27;
  LongLanes high = {}, first = {}, second = {}, low = {};
  std::size_t count = 0;

  [[gnu::always_inline]] void add(const LongLanes& a, const LongLanes& b, LanePass& pass) {
    const LongLanes a1 = a >> kFirst, a0 = a & ((std::int64_t{1} << kFirst) - 1);
    const LongLanes b1 = b >> kSecond, b0 = b & ((std::int64_t{1} << kSecond) - 1);
    high += a1 * b1;
    first += a1 * b0;
    second += a0 * b1;
    low += a0 * b0;
    if (++count == kMost) end(pass);
  }

  void end(LanePass& pass) {
    for (std::size_t j = 0; j < kLanes; ++j)
      pass.constant[j] += (static_cast<i128>(high[j]) << (kFirst + kSecond)) +
                          (static_cast<i128>(first[j]) << kFirst) +
                          (static_cast<i128>(second[j]) << kSecond) + low[j];
    *this = LargeSums();
  }
};

// Takes the coefficients of an element, as the checker's take() does.
[[gnu::always_inline]] inline void take(std::int64_t* sums, std::size_t element, const Part& part,
                                        LanePass& pass, SmallSums& dropped, LongLanes& taken) {
  const std::int64_t lower = part.lower.data()[element];
  const LaneSum sum = lane_sum(sums, element);
  taken = sum.whole;
  const LongLanes rest = sum.rest;
  sum.whole = LongLanes{};
  sum.rest = LongLanes{};
  const LongLanes too_large = negative((taken + (kMostFactor - 1)) | (kMostFactor - 1 - taken));
  if (any(too_large)) {
    pass.too_large |= too_large;
    taken &= ~too_large;
  }
  if (lower < 0) dropped.add(negative(-rest) & lower, pass);
}

// The product of a coefficient and a chord, without the chord's bits.
[[gnu::always_inline]] inline void on_chord(const LongLanes& a, std::int64_t chord,
                                            LongLanes& kept) {
  constexpr unsigned kDigit = 23, kLeft = bf_check::kChordBits - kDigit;
  const LongLanes first = a & ((std::int64_t{1} << kDigit) - 1);
  const LongLanes second = (a >> kDigit) * chord;
  const LongLanes rest = (second & ((std::int64_t{1} << kLeft) - 1)) << kDigit;
  kept = (second >> kLeft) + ((rest + first * chord) >> bf_check::kChordBits);
}

// Carries coefficients of ReLUs to their arguments, as the checker's relu_row() does by its rule.
BF_CLONES void through_relus(const Layer& layer, const Part& part, std::int64_t* sums,
                             LanePass& pass) {
  const std::uint32_t* const column = layer.column.data();
  const std::int64_t *const lower = part.lower.data(), *const upper = part.upper.data();
  SmallSums dropped;
  LargeSums lost;
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t element = layer.first + row, z = column[row];
    const std::int64_t low = lower[z], high = upper[z];
    LongLanes a;
    take(sums, element, part, pass, dropped, a);
    if (low < 0 && high <= 0) continue;
    LongLanes& to = lane_sum(sums, z).whole;
    if (low >= 0) {
      to += a;
      continue;
    }
    const LongLanes below = negative(a);
    if (64 * (low + high) > high - low) to += a & ~below;
    a &= below;
    if (!any(a)) continue;
    LongLanes kept;
    on_chord(a, part.chord.data()[z], kept);
    to += kept;
    // The lesser of -kept low and (a - kept) high, neither of which is above 0, by the difference
    // of both where 64 bits hold it.
    const Lanes about = __builtin_convertvector(a, Lanes) * static_cast<double>(high) -
                        __builtin_convertvector(kept, Lanes) * static_cast<double>(high - low);
    constexpr std::int64_t kLimit = (std::int64_t{1023} + 61) << 52;  // the bits of 2^61
    if (any(negative(kLimit - magnitude_bits(about)))) {
      for (std::size_t j = 0; j < kLanes; ++j)
        pass.constant[j] +=
            std::min(-static_cast<i128>(kept[j]) * low, (static_cast<i128>(a[j]) - kept[j]) * high);
      continue;
    }
    typedef std::uint64_t Wrapping __attribute__((vector_size(64), aligned(8), may_alias));
    const auto difference = reinterpret_cast<LongLanes>(
        reinterpret_cast<Wrapping>(a) * static_cast<std::uint64_t>(high) -
        reinterpret_cast<Wrapping>(kept) * static_cast<std::uint64_t>(high - low));
    const LongLanes at_high = negative(difference);
    lost.add((a & at_high) - kept, (at_high & high) | (~at_high & low), pass);
  }
  dropped.end(pass);
  lost.end(pass);
}

// The least that a times what is left out of an element may be.
i128 left_out(const Part& part, std::uint32_t element, std::int64_t a) {
  return static_cast<i128>(a) * (a > 0 ? part.rough_lower : part.rough_upper)[element];
}

// Carries coefficients of functions to their arguments, as the checker's function_row() does by its
// rule.
void through_functions(const Layer& layer, const Part& part, std::int64_t* sums, LanePass& pass) {
  SmallSums dropped;
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t element = layer.first + row, number = layer.first_line + row;
    LongLanes a;
    take(sums, element, part, pass, dropped, a);
    const LaneSum to = lane_sum(sums, layer.column[row]);
    for (std::size_t j = 0; j < kLanes; ++j) {
      if (a[j] == 0) continue;
      const bf_check::Line& line = (a[j] < 0 ? part.above : part.below)[number];
      pass.constant[j] += static_cast<i128>(a[j]) * line.offset + left_out(part, element, a[j]);
      const i128 product = static_cast<i128>(a[j]) * line.slope;
      pass.exact = pass.exact && product < kMostProduct && product > -kMostProduct;
      add_product(to, j, product);
    }
  }
  dropped.end(pass);
}

// Carries the coefficient of a product to its factors, as the checker's product_row() does by its
// rule. False: a coefficient is too large.
bool through_product(const Part& part, std::uint32_t x, std::uint32_t y, unsigned value_bits,
                     std::int64_t a, i128& constant, i128& of_x, i128& of_y) {
  const auto half = [&](std::uint32_t e) {
    return (static_cast<i128>(part.upper[e]) - part.lower[e]) * bf_check::kRulePlace >>
           bf_check::kSlopeBits;
  };
  const i128 p = part.lower[x] + half(x);
  const i128 q = a < 0 ? part.upper[y] - half(y) : part.lower[y] + half(y);
  of_x = a * q >> value_bits;
  of_y = a * p >> value_bits;
  for (const i128 each : {of_x, of_y})
    if (each >= kMostFactor || each <= -kMostFactor) return false;
  i128 least = 0;
  bool first = true;
  for (const i128 at_x : {part.lower[x], part.upper[x]})
    for (const i128 at_y : {part.lower[y], part.upper[y]}) {
      const i128 value = a < 0 ? -(-(at_x * at_y) >> value_bits) : at_x * at_y >> value_bits;
      if (value > kMostValue || value < -kMostValue) return false;
      const i128 rest = a * value - of_x * at_x - of_y * at_y;
      least = first ? rest : std::min(least, rest);
      first = false;
    }
  constant += least;
  return true;
}

void through_products(const Layer& layer, const Part& part, unsigned value_bits, std::int64_t* sums,
                      LanePass& pass) {
  SmallSums dropped;
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t x = layer.column[2 * row], y = layer.column[2 * row + 1];
    const LaneSum sum = lane_sum(sums, layer.first + row);
    const LongLanes has = not_zero(sum.whole | sum.rest);
    LongLanes a;
    take(sums, layer.first + row, part, pass, dropped, a);
    for (std::size_t j = 0; j < kLanes; ++j) {
      if (has[j] == 0 || pass.too_large[j] != 0) continue;
      i128 of_x = 0, of_y = 0;
      if (!through_product(part, x, y, value_bits, a[j], pass.constant[j], of_x, of_y)) {
        pass.too_large[j] = -1;
        continue;
      }
      pass.constant[j] += left_out(part, layer.first + row, a[j]);
      lane_sum(sums, x).whole[j] += static_cast<std::int64_t>(of_x);
      lane_sum(sums, y).whole[j] += static_cast<std::int64_t>(of_y);
    }
  }
  dropped.end(pass);
}

// How large the coefficients of rows are: the largest magnitude, and the largest sum over rows of
// a lane's magnitudes. users: rows, by lane, that have a coefficient.
struct Sizes {
  double largest = 0, all = 0;
  LongLanes users = {};
};

// Takes the coefficients of an affine layer's rows, as they are and as digits, and adds what the
// grid leaves out of the rows, and their biases where `biases` says so. Lists the rows that have a
// coefficient. Digits are one behind the other where `dense`, else by row, 0 where there are none.
BF_CLONES Sizes take_rows(const Layer& layer, const Part& part, std::int64_t* sums, bool dense,
                          bool biases, double* digits, std::vector<std::uint32_t>& used,
                          LanePass& pass) {
  constexpr std::int64_t kHalf = std::int64_t{1} << (kDigitBits - 1);
  Sizes sizes;
  SmallSums dropped;
  LongLanes most = {};
  Lanes all = {};
  used.clear();
  for (std::uint32_t row = 0; row < layer.count; ++row) {
    const std::uint32_t element = layer.first + row;
    const LaneSum sum = lane_sum(sums, element);
    const LongLanes has = not_zero(sum.whole | sum.rest);
    if (!any(has)) {
      Lanes* const digit = reinterpret_cast<Lanes*>(digits + row * 2 * kLanes);
      if (!dense) digit[0] = digit[1] = Lanes{};
      continue;
    }
    Lanes* const digit =
        reinterpret_cast<Lanes*>(digits + (dense ? used.size() : row) * 2 * kLanes);
    used.push_back(row);
    sizes.users -= has;
    LongLanes a;
    take(sums, element, part, pass, dropped, a);
    const std::int64_t bias = biases ? layer.bias.data()[row] : 0;
    const std::int64_t below = bias + part.rough_lower.data()[element];
    const std::int64_t above = bias + part.rough_upper.data()[element];
    if ((below | above) != 0)
      for (std::size_t j = 0; j < kLanes; ++j)
        pass.constant[j] += static_cast<i128>(a[j]) * (a[j] > 0 ? below : above);
    const Lanes whole = __builtin_convertvector(a, Lanes);
    const LongLanes size = magnitude_bits(whole);
    const LongLanes less = negative(size - most);
    most = (most & less) | (size & ~less);
    all += reinterpret_cast<Lanes>(size);
    const LongLanes first = ((a + kHalf) & (2 * kHalf - 1)) - kHalf;
    digit[0] = __builtin_convertvector(first, Lanes);
    digit[1] = __builtin_convertvector((a - first) >> kDigitBits, Lanes);
  }
  dropped.end(pass);
  sizes.largest = largest(reinterpret_cast<Lanes>(most));
  sizes.all = largest(all);
  return sizes;
}

// Sums of products of digits, by pairs of digits.
struct DigitSums {
  Lanes low = {}, middle = {}, other = {}, high = {};

  [[gnu::always_inline]] void add(const Lanes* a, double w0, double w1) {
    low += a[0] * w0;
    middle += a[0] * w1;
    other += a[1] * w0;
    high += a[1] * w1;
  }

  // Adds the sums to a coefficient.
  [[gnu::always_inline]] void end(LongLanes& whole, LongLanes& rest) const {
    constexpr unsigned kRest = kLaneWeightBits - kDigitBits;
    constexpr std::int64_t kLow = (std::int64_t{1} << kRest) - 1;
    static_assert(2 * kDigitBits >= kLaneWeightBits);
    const LongLanes by_digit = __builtin_convertvector(middle + other, LongLanes);
    rest += __builtin_convertvector(low, LongLanes) + ((by_digit & kLow) << kDigitBits);
    whole += (rest >> kLaneWeightBits) + (by_digit >> kRest) +
             (__builtin_convertvector(high, LongLanes) << (2 * kDigitBits - kLaneWeightBits));
    rest &= kRestMask;
  }
};

// Carries the coefficients of a layer's rows to a source: exact, as all sums of a block are
// integers below 2^53.
struct Readers {
  const Layer& layer;
  const WeightDigits& weight;
  const std::vector<std::uint32_t>& used;
  std::uint32_t block;
  const double* digits;
  std::int64_t* sums;

  const Lanes* digits_of(std::uint32_t row) const {
    return reinterpret_cast<const Lanes*>(digits + row * 2 * kLanes);
  }
};

// Sources that all rows read. Two at a time, so that none waits for the other.
BF_CLONES void through_all_rows(const Readers& of, const std::vector<std::uint32_t>& sources) {
  const std::uint32_t* const used = of.used.data();
  const std::uint32_t count = static_cast<std::uint32_t>(of.used.size());
  for (std::size_t i = 0; i < sources.size(); i += 2) {
    const std::uint32_t one = sources[i], two = sources[std::min(i + 1, sources.size() - 1)];
    const double* const p0 = of.weight.first.data() + of.layer.reader_start[one];
    const double* const p1 = of.weight.second.data() + of.layer.reader_start[one];
    const double* const q0 = of.weight.first.data() + of.layer.reader_start[two];
    const double* const q1 = of.weight.second.data() + of.layer.reader_start[two];
    const LaneSum to_one = lane_sum(of.sums, of.layer.source[one]);
    const LaneSum to_two = lane_sum(of.sums, of.layer.source[two]);
    for (std::uint32_t k = 0; k < count;) {
      DigitSums p, q;
      for (const std::uint32_t stop = std::min(count, k + of.block); k < stop; ++k) {
        const Lanes* const a = of.digits_of(k);
        const std::uint32_t row = used[k];
        p.add(a, p0[row], p1[row]);
        q.add(a, q0[row], q1[row]);
      }
      p.end(to_one.whole, to_one.rest);
      if (one != two) q.end(to_two.whole, to_two.rest);
    }
  }
}

BF_CLONES void through_readers(const Readers& of, const std::vector<std::uint32_t>& sources) {
  const std::uint32_t* const reader = of.layer.reader.data();
  const double *const w0 = of.weight.first.data(), *const w1 = of.weight.second.data();
  for (const std::uint32_t source : sources) {
    const std::uint32_t end = of.layer.reader_start[source + 1];
    const LaneSum to = lane_sum(of.sums, of.layer.source[source]);
    for (std::uint32_t k = of.layer.reader_start[source]; k < end;) {
      DigitSums even, odd;
      const std::uint32_t stop = std::min(end, k + of.block);
      for (; k + 2 <= stop; k += 2) {
        even.add(of.digits_of(reader[k]), w0[k], w1[k]);
        odd.add(of.digits_of(reader[k + 1]), w0[k + 1], w1[k + 1]);
      }
      if (k < stop) even.add(of.digits_of(reader[k]), w0[k], w1[k]);
      k = stop;
      even.low += odd.low;
      even.middle += odd.middle;
      even.other += odd.other;
      even.high += odd.high;
      even.end(to.whole, to.rest);
    }
  }
}

// Adds the rows' coefficients times their biases.
BF_CLONES void add_biases(const Readers& of, bool dense, const BiasDigits& bias, LanePass& pass) {
  const std::uint32_t count = static_cast<std::uint32_t>(of.used.size());
  for (std::uint32_t k = 0; k < count;) {
    DigitSums sums;
    for (const std::uint32_t stop = std::min(count, k + of.block); k < stop; ++k) {
      const std::uint32_t row = of.used[k];
      sums.add(of.digits_of(dense ? k : row), bias.first[row], bias.second[row]);
    }
    const LongLanes low = __builtin_convertvector(sums.low, LongLanes);
    const LongLanes middle = __builtin_convertvector(sums.middle + sums.other, LongLanes);
    const LongLanes high = __builtin_convertvector(sums.high, LongLanes);
    for (std::size_t j = 0; j < kLanes; ++j)
      pass.constant[j] += low[j] + (static_cast<i128>(middle[j]) << kDigitBits) +
                          (static_cast<i128>(high[j]) << 2 * kDigitBits);
  }
}

bool is_zero(const Part& part, std::uint32_t element) {
  return part.lower[element] == 0 && part.upper[element] == 0;
}

// Adds the coefficients of rows whose weights are all 1 to what they read. few: lanes that also
// carry them to what is always 0.
BF_CLONES void through_ones(const Readers& of, const Part& part, const LongLanes& few) {
  for (std::uint32_t i = 0; i < of.used.size(); ++i) {
    const Lanes* const digit = of.digits_of(i);
    const LongLanes a = __builtin_convertvector(digit[0], LongLanes) +
                        (__builtin_convertvector(digit[1], LongLanes) << kDigitBits);
    const std::uint32_t row = of.used[i];
    for (std::uint32_t k = of.layer.start[row]; k < of.layer.start[row + 1]; ++k) {
      const std::uint32_t source = of.layer.column[k];
      lane_sum(of.sums, source).whole += is_zero(part, source) ? a & few : a;
    }
  }
}

// Clears the digits of lanes that leave out what is always 0. False: these are all.
bool keep_few(const Readers& of, bool dense, const LongLanes& few, double* digits) {
  if (!any(few)) return false;
  for (std::uint32_t i = 0; i < of.used.size(); ++i) {
    double* const at = digits + (dense ? i : of.used[i]) * 2 * kLanes;
    for (std::size_t j = 0; j < kLanes; ++j)
      if (few[j] == 0) at[j] = at[kLanes + j] = 0;
  }
  return true;
}

// The largest number of affine layers that read an element.
double most_layers(const bf_check::Network& network) {
  std::vector<std::uint32_t> count(network.elements);
  std::uint32_t most = 1;
  for (const Layer& layer : network.layers)
    for (const std::uint32_t element : layer.source) most = std::max(most, ++count[element]);
  return most;
}

// The largest number of ReLUs, functions and factors that an element is the argument of.
std::uint32_t most_curved(const bf_check::Network& network) {
  std::vector<std::uint32_t> count(network.elements);
  std::uint32_t most = 0;
  for (const Layer& layer : network.layers)
    for (std::size_t i = 0; i < layer.column.size() && layer.kind != Kind::kAffine; ++i)
      most = std::max(most, ++count[layer.column[i]]);
  return most;
}

}  // namespace

void add_product(LaneSum to, std::size_t lane, i128 product) {
  const i128 sum = product + to.rest[lane];
  to.whole[lane] += static_cast<std::int64_t>(sum >> kLaneWeightBits);
  to.rest[lane] = static_cast<std::int64_t>(sum) & kRestMask;
}

LaneLayers::LaneLayers(const bf_check::Network& network, NetworkWeights weights)
    : network_(network),
      weights_(std::move(weights)),
      layers_(most_layers(network_)),
      can_(network_.grid.weight_bits == kLaneWeightBits && most_curved(network_) <= kMostCurved),
      sums_(network_.elements * 2 * kLanes) {}

void LaneLayers::to_inputs(const Part& part, std::size_t layer, LanePass& pass) {
  pass.exact = pass.exact && can_;
  for (std::size_t k = layer - 1; k > 0 && pass.exact; --k) {
    const Layer& each = network_.layers[k];
    if (each.kind == Kind::kAffine)
      affine(part, k, pass);
    else if (each.kind == Kind::kRelu)
      through_relus(each, part, sums_.data(), pass);
    else if (each.kind == Kind::kFunction)
      through_functions(each, part, sums_.data(), pass);
    else
      through_products(each, part, network_.grid.value_bits, sums_.data(), pass);
  }
}

void LaneLayers::end(const Part& part, LanePass& pass) {
  SmallSums dropped;
  for (std::uint32_t i = 0; i < network_.inputs; ++i) {
    LongLanes a;
    take(sums_.data(), i, part, pass, dropped, a);
    for (std::size_t j = 0; j < kLanes; ++j)
      pass.constant[j] += static_cast<i128>(a[j]) * (a[j] < 0 ? part.upper[i] : part.lower[i]);
  }
  dropped.end(pass);
}

// Carries coefficients through an affine layer, where digits suffice for them.
void LaneLayers::affine(const Part& part, std::size_t layer, LanePass& pass) {
  const Layer& of = network_.layers[layer];
  const LayerWeights& weights = (*weights_)[layer];
  const WeightDigits& weight = weights.digits;
  const bool dense = weights.all_read_all || weights.all_one;
  digits_.resize(std::max<std::size_t>(digits_.size(), of.count * 2 * kLanes));
  const Sizes sizes =
      take_rows(of, part, sums_.data(), dense, !weights.bias.small, digits_.data(), used_, pass);
  const double first = std::ldexp(1.0, kDigitBits - 1);
  const double second = std::max(weight.most_second, weights.bias.most_second);
  const double digit = sizes.largest / (2 * first) + 1;
  // So many products have sums below 2^53, by each pair of digits.
  const double block = std::min(
      {0x1p8, 0x1p53 / (first * (digit + second)), 0x1p53 / (digit * std::max(second, 1.0))});
  const double reach =
      layers_ * std::min(sizes.largest * weight.most_column,
                         sizes.all * (weight.most_second + 1) * 2 * first * kWeightUnit);
  pass.exact =
      pass.exact && block >= 1 && reach <= 0x1p60 && digit * second * weight.most_readers <= 0x1p60;
  if (!pass.exact || used_.empty()) return;
  const Readers readers = {
      of, weight, used_, static_cast<std::uint32_t>(block), digits_.data(), sums_.data()};
  if (weights.bias.small && weights.bias.any) add_biases(readers, dense, weights.bias, pass);
  // The checker takes a layer row by row, and so what is always 0 as well, where few rows have a
  // coefficient.
  const LongLanes few = negative(-sizes.users) & negative(sizes.users * 4 - of.count);
  if (weights.all_one) return through_ones(readers, part, few);
  list_sources(part, layer);
  const auto go = [&](const std::vector<std::uint32_t>& sources) {
    weights.all_read_all ? through_all_rows(readers, sources) : through_readers(readers, sources);
  };
  go(sources_);
  if (!zeros_.empty() && keep_few(readers, dense, few, digits_.data())) go(zeros_);
}

// Lists what the used rows read, and what of it is always 0.
void LaneLayers::list_sources(const Part& part, std::size_t layer) {
  const Layer& of = network_.layers[layer];
  const LayerWeights& weights = (*weights_)[layer];
  const bool few = used_.size() * 4 < of.count && !weights.all_read_all;
  touched_.assign(of.source.size(), few ? 0 : 1);
  for (std::size_t i = 0; i < used_.size() && few; ++i)
    for (std::uint32_t k = of.start[used_[i]]; k < of.start[used_[i] + 1]; ++k)
      touched_[weights.place[k]] = 1;
  sources_.clear();
  zeros_.clear();
  for (std::uint32_t i = 0; i < of.source.size(); ++i)
    if (touched_[i] != 0) (is_zero(part, of.source[i]) ? zeros_ : sources_).push_back(i);
}

}  // namespace bf_aot::prove
