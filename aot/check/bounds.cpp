#include "aot/check/bounds.h"

#include <algorithm>

namespace bf_check {
namespace {

constexpr i64 kMostValue = (i64{1} << kValueSize) - 1;

bool fits(i128 value, unsigned bits) {
  return value < static_cast<i128>(1) << bits && value > -(static_cast<i128>(1) << bits);
}

i128 ceil_shifted(i128 value, unsigned bits) {
  return -(-value >> bits);
}

// Both loops take most of the time. Pointers, since vectors would check each index, which the
// network's maker has checked.

// Adds a times a row's weights to the sums of what it reads.
void add_row(const Layer& layer, u32 row, i64 a, i128* sums) {
  const u32* const column = layer.column.data();
  const i64* const weight = layer.weight.data();
  for (u32 k = layer.start[row], end = layer.start[row + 1]; k < end; ++k)
    sums[column[k]] += static_cast<i128>(a) * weight[k];
}

// Returns the sum of the factors of the rows that read source i, times its weights there.
i128 sum_of_readers(const Layer& layer, std::size_t i, const i64* factors) {
  const u32* const reader = layer.reader.data();
  const i64* const weight = layer.reader_weight.data();
  i128 sum = 0;
  for (u32 k = layer.reader_start[i], end = layer.reader_start[i + 1]; k < end; ++k)
    sum += static_cast<i128>(factors[reader[k]]) * weight[k];
  return sum;
}

unsigned char chosen(const Choices& choices, u32 relaxation) {
  return choices.slope.empty() ? kRuleSlope : choices.slope[relaxation];
}

i64 in_range(i128 value) {
  if (!fits(value, kValueSize))
    throw NotProven("a value is beyond the range of the certificate's grid");
  return static_cast<i64>(value);
}

// relative size + absolute + a unit of the grid, which is more than what underflows.
i64 losing(const Loss& loss, i64 size, const Grid& grid) {
  const i128 absolute = static_cast<i128>(loss.absolute) << grid.value_bits;
  return in_range(ceil_shifted(static_cast<i128>(loss.relative) * size + absolute, kLossBits) + 1);
}

// The least that a times what is left out of an element may be.
i128 left_out(const Part& part, u32 element, i64 a) {
  return static_cast<i128>(a) * (a > 0 ? part.rough_lower : part.rough_upper)[element];
}

}  // namespace

Bounder::Bounder(const Network& network, unsigned coefficient_bits, Work& work)
    : network_(network), work_(work) {
  for (unsigned bits = coefficient_bits; bits >= 4 && bits_.size() < 3; bits -= 12) {
    bits_.push_back(bits);
    if (bits < 16) break;
  }
  sums_.resize(network.elements);
  at_inputs_.resize(network.inputs);
}

Part Bounder::whole(const std::vector<Rat>& lower, const std::vector<Rat>& upper) const {
  if (lower.size() != network_.inputs) refuse("the property has another number of inputs");
  Part part;
  for (auto* each : {&part.rough_lower, &part.rough_upper, &part.chord})
    each->assign(network_.elements, 0);
  part.below.resize(network_.functions), part.above.resize(network_.functions);
  if (network_.grid.float32) part.size.assign(network_.elements, 0);
  part.lower.assign(network_.elements, -kMostValue);
  part.upper.assign(network_.elements, kMostValue);
  for (u32 i = 0; i < network_.inputs; ++i) {
    const unsigned bits = network_.grid.value_bits;
    const Int down = floor_shifted(lower[i], bits), up = -floor_shifted(-upper[i], bits);
    part.lower[i] = to_i64(down, kValueSize, "a bound of an input");
    part.upper[i] = to_i64(up, kValueSize, "a bound of an input");
  }
  return part;
}

void Bounder::meet(Part& part, u32 element, i128 lower, i128 upper) const {
  part.lower[element] = std::max(part.lower[element], in_range(lower));
  part.upper[element] = std::min(part.upper[element], in_range(upper));
  part.empty = part.empty || part.lower[element] > part.upper[element];
}

// |weight| < 2^56, |value| < 2^54, and a row has at most 2^16 terms: the sums fit in 128 bits.
void Bounder::affine(Part& part, const Layer& layer, u32 row) const {
  const unsigned bits = network_.grid.weight_bits;
  const u32 element = layer.first + row;
  work_.spend(2 * (layer.start[row + 1] - layer.start[row]) + 1);
  i128 lower = static_cast<i128>(layer.bias[row]) << bits, upper = lower;
  for (u32 k = layer.start[row]; k < layer.start[row + 1]; ++k) {
    const i128 weight = layer.weight[k];
    const i64 low = part.lower[layer.column[k]], high = part.upper[layer.column[k]];
    lower += weight * (weight > 0 ? low : high);
    upper += weight * (weight > 0 ? high : low);
  }
  i128 below = 0, above = 0;
  for (u32 k = layer.rough_start[row]; k < layer.rough_start[row + 1]; ++k) {
    below += std::min<i64>(0, part.lower[layer.rough[k]]);
    above += std::max<i64>(0, part.upper[layer.rough[k]]);
  }
  const i64 loss = lost(part, layer, row);
  below = (below >> bits) - loss;
  above = ceil_shifted(above, bits) + layer.rough_bias[row] + loss;
  part.rough_lower[element] = in_range(below);
  part.rough_upper[element] = in_range(above);
  meet(part, element, (lower >> bits) + below, ceil_shifted(upper, bits) + above);
}

// Bounds one argument of a function backwards, from below and from above. That of a ReLU, as long
// as it may be of either sign.
void Bounder::tighten(Part& part, std::size_t layer, u32 row) {
  const u32 element = network_.layers[layer].first + row;
  const bool curved = (network_.layers[layer].read_by[row] & kReadByOther) != 0;
  static const Choices rule;
  for (const int sign : {1, -1}) {
    if (part.lower[element] >= (curved ? part.upper[element] : 0)) return;
    if (part.upper[element] <= 0 && !curved) return;
    for (const unsigned bits : bits_) {
      sums_[element] = static_cast<i128>(sign) << (bits + network_.grid.weight_bits);
      const std::optional<i128> bound = backward(part, layer + 1, rule, 0);
      if (!bound) continue;
      const i128 value = std::clamp<i128>(*bound >> bits, -kMostValue, kMostValue);
      meet(part, element, sign > 0 ? value : -kMostValue, sign > 0 ? kMostValue : -value);
      break;
    }
  }
}

// Returns what an affine sum loses: a share of the magnitudes of all that it adds, and of what
// those add.
i64 Bounder::lost(Part& part, const Layer& layer, u32 row) const {
  if (layer.loss.empty() || layer.loss[row].relative == 0) return 0;
  const auto size = [&](u32 element) {
    const i64 own = std::max(-part.lower[element], part.upper[element]);
    return layer.merges && part.size[element] > 0 ? part.size[element] : own;
  };
  const unsigned bits = network_.grid.weight_bits;
  i128 sum = static_cast<i128>(std::abs(layer.bias[row]) + layer.rough_bias[row]) << bits;
  for (u32 k = layer.start[row]; k < layer.start[row + 1]; ++k)
    sum += static_cast<i128>(std::abs(layer.weight[k])) * size(layer.column[k]);
  for (u32 k = layer.rough_start[row]; k < layer.rough_start[row + 1]; ++k)
    sum += size(layer.rough[k]);
  part.size[layer.first + row] = in_range(ceil_shifted(sum, bits));
  return losing(layer.loss[row], part.size[layer.first + row], network_.grid);
}

// Returns what a function or a product loses whose exact values lie between these. The part keeps
// it as what the grid leaves out.
i64 Bounder::lost(Part& part, const Layer& layer, u32 row, i128 least, i128 most) const {
  const u32 element = layer.first + row;
  if (layer.loss.empty() || (layer.loss[row].relative == 0 && layer.loss[row].absolute == 0))
    return 0;
  const i64 loss = losing(layer.loss[row], in_range(std::max(-least, most)), network_.grid);
  part.rough_lower[element] = -loss, part.rough_upper[element] = loss;
  return loss;
}

void Bounder::relu(Part& part, const Layer& layer, u32 row) const {
  const u32 argument = layer.column[row];
  const i64 low = part.lower[argument], high = part.upper[argument];
  if (low < 0 && high > 0)
    part.chord[argument] = static_cast<i64>((static_cast<i128>(high) << kChordBits) / (high - low));
  meet(part, layer.first + row, std::max<i64>(low, 0), std::max<i64>(high, 0));
}

// Bounds a function's value by those of its argument, and makes the lines of its rule.
void Bounder::function(Part& part, const Layer& layer, u32 row) const {
  const u32 line = layer.first_line + row;
  const Relaxation known = relaxation(part, layer, row);
  if (network_.inputs == 0 && !known.is_defined())  // a point, of which all values are claimed
    throw NotProven("a function may have no value");
  const i128 low = known.least(), high = known.most();
  const i64 loss = lost(part, layer, row, low, high);
  meet(part, layer.first + row, low - loss, high + loss);
  part.below[line] = known.line(-1, kRulePlace);
  part.above[line] = known.line(1, kRulePlace);
}

Relaxation Bounder::relaxation(const Part& part, const Layer& layer, u32 row) const {
  const u32 argument = layer.column[row];
  work_.spend(Relaxation::kPieces * layer.program[row]->cost());
  return {*layer.program[row], part.lower[argument], part.upper[argument], network_.grid};
}

// A product is least, and greatest, at corners of its factors' box.
void Bounder::product(Part& part, const Layer& layer, u32 row) const {
  const u32 x = layer.column[2 * row], y = layer.column[2 * row + 1];
  const auto at = [&](i64 a, i64 b) { return static_cast<i128>(a) * b; };
  const i128 corners[] = {at(part.lower[x], part.lower[y]), at(part.lower[x], part.upper[y]),
                          at(part.upper[x], part.lower[y]), at(part.upper[x], part.upper[y])};
  const auto [least, most] = std::minmax_element(std::begin(corners), std::end(corners));
  const unsigned bits = network_.grid.value_bits;
  const i128 low = *least >> bits, high = ceil_shifted(*most, bits);
  const i64 loss = lost(part, layer, row, low, high);
  meet(part, layer.first + row, low - loss, high + loss);
}

void Bounder::interval(Part& part, const Layer& layer, u32 row) const {
  if (layer.kind == Kind::kAffine) return affine(part, layer, row);
  if (layer.kind == Kind::kRelu) return relu(part, layer, row);
  if (layer.kind == Kind::kFunction) return function(part, layer, row);
  if (layer.kind == Kind::kProduct) return product(part, layer, row);
}

void Bounder::derive(Part& part) {
  part.derived = true;
  for (std::size_t k = 0; k < network_.layers.size() && !part.empty; ++k) {
    const Layer& layer = network_.layers[k];
    for (u32 row = 0; row < layer.count; ++row) interval(part, layer, row);
    for (u32 row = 0; row < layer.count && !part.empty && layer.kind == Kind::kAffine; ++row)
      if (layer.read_by[row] != 0) tighten(part, k, row);
  }
}

void Bounder::split(Part& part, u32 relaxation, int side) const {
  meet(part, network_.relaxations[relaxation].argument, side > 0 ? 0 : -kMostValue,
       side > 0 ? kMostValue : 0);
}

// Takes an element's coefficient, rounded down: what that drops is a factor in [0, 1) of it. False:
// it is too large.
bool Bounder::take(const Part& part, u32 element, i128& constant, i64& factor) {
  const unsigned bits = network_.grid.weight_bits;
  const i128 sum = sums_[element], whole = sum >> bits;
  sums_[element] = 0;
  if (!fits(whole, kCoefficientSize)) return false;
  if (whole << bits != sum) constant += std::min<i64>(0, part.lower[element]);
  factor = static_cast<i64>(whole);
  return true;
}

// A y >= sum of A w x + A bias + what the grid leaves out. Carries coefficients through a layer:
// row by row where few rows have one, else for each element that rows read. An element that is
// always 0 needs none.
bool Bounder::affine_layer(const Part& part, const Layer& layer, i128& constant) {
  factors_.assign(layer.count, 0);
  u32 used = 0;
  for (u32 row = 0; row < layer.count; ++row) {
    const u32 element = layer.first + row;
    if (sums_[element] == 0) continue;
    if (!take(part, element, constant, factors_[row])) return false;
    const i64 a = factors_[row];
    constant += static_cast<i128>(a) * layer.bias[row] + left_out(part, element, a);
    ++used;
  }
  if (used * 4 < layer.count) {
    for (u32 row = 0; row < layer.count && used > 0; ++row) {
      if (factors_[row] == 0) continue;
      work_.spend(layer.start[row + 1] - layer.start[row]);
      add_row(layer, row, factors_[row], sums_.data());
    }
    return true;
  }
  work_.spend(layer.reader.size());
  for (std::size_t i = 0; i < layer.source.size(); ++i) {
    const u32 element = layer.source[i];
    if (part.lower[element] == 0 && part.upper[element] == 0) continue;
    sums_[element] += sum_of_readers(layer, i, factors_.data());
  }
  return true;
}

// A max(z, 0) >= B z + min over z in {l, u}, and 0 where l < 0 < u, of (A max(z, 0) - B z).
bool Bounder::relu_row(const Part& part, const Layer& layer, u32 row, const Choices& choices,
                       i128& constant) {
  const unsigned bits = network_.grid.weight_bits;
  i64 a = 0;
  if (!take(part, layer.first + row, constant, a)) return false;
  const u32 argument = layer.column[row], neuron = layer.first_number + row;
  const i64 low = part.lower[argument], high = part.upper[argument];
  const bool sided = !choices.side.empty() && choices.side[neuron] != 0;
  // An argument of one sign: the ReLU is the argument, or 0, and nothing is lost.
  if (!sided && (low >= 0 || high <= 0)) {
    if (low >= 0) sums_[argument] += static_cast<i128>(a) << bits;
    return true;
  }
  const bool open = low < 0 && high > 0;
  i128 kept = low >= 0 ? a : 0;
  if (open && a < 0) {
    kept = static_cast<i128>(a) * part.chord[argument] >> kChordBits;
  } else if (open) {
    const unsigned char slope = chosen(choices, neuron);
    kept = slope != kRuleSlope              ? static_cast<i128>(a) * slope >> kSlopeBits
           : 64 * (low + high) > high - low ? a
                                            : 0;
  }
  if (sided) kept -= static_cast<i128>(choices.side[neuron]) * choices.multiplier[neuron];
  if (!fits(kept, kCoefficientSize)) return false;
  const i128 at_low = (low > 0 ? static_cast<i128>(a) * low : 0) - kept * low;
  const i128 at_high = (high > 0 ? static_cast<i128>(a) * high : 0) - kept * high;
  const i128 least = std::min(at_low, at_high);
  constant += open ? std::min<i128>(least, 0) : least;
  sums_[argument] += kept << bits;
  return true;
}

// A f(z) >= A (slope z + offset), of the line below f for A >= 0, else of that above.
bool Bounder::function_row(const Part& part, const Layer& layer, u32 row, const Choices& choices,
                           i128& constant) {
  i64 a = 0;
  if (!take(part, layer.first + row, constant, a)) return false;
  Line line = (a < 0 ? part.above : part.below)[layer.first_line + row];
  const unsigned char place = chosen(choices, layer.first_number + row);
  if (place != kRuleSlope) line = relaxation(part, layer, row).line(a < 0 ? 1 : -1, place);
  constant += static_cast<i128>(a) * line.offset + left_out(part, layer.first + row, a);
  sums_[layer.column[row]] += static_cast<i128>(a) * line.slope;
  return true;
}

// A x y >= B x + C y + min over the corners of A x y - B x - C y, which is linear in x and in y.
// B and C are A times the other factor at a place between its bounds.
bool Bounder::product_row(const Part& part, const Layer& layer, u32 row, const Choices& choices,
                          i128& constant) {
  i64 a = 0;
  if (!take(part, layer.first + row, constant, a)) return false;
  const u32 x = layer.column[2 * row], y = layer.column[2 * row + 1];
  const unsigned bits = network_.grid.value_bits;
  unsigned char place = chosen(choices, layer.first_number + row);
  if (place == kRuleSlope) place = kRulePlace;
  const auto offset = [&](u32 e) {
    return (static_cast<i128>(part.upper[e]) - part.lower[e]) * place >> kSlopeBits;
  };
  const i128 p = part.lower[x] + offset(x);
  const i128 q = a < 0 ? part.upper[y] - offset(y) : part.lower[y] + offset(y);
  const i128 of_x = a * q >> bits, of_y = a * p >> bits;
  if (!fits(of_x, kCoefficientSize) || !fits(of_y, kCoefficientSize)) return false;
  std::optional<i128> least;
  for (const i128 at_x : {part.lower[x], part.upper[x]})
    for (const i128 at_y : {part.lower[y], part.upper[y]}) {
      const i128 value = a < 0 ? ceil_shifted(at_x * at_y, bits) : at_x * at_y >> bits;
      if (!fits(value, kValueSize)) return false;
      const i128 rest = a * value - of_x * at_x - of_y * at_y;
      least = least ? std::min(*least, rest) : rest;
    }
  constant += *least + left_out(part, layer.first + row, a);
  sums_[x] += of_x << network_.grid.weight_bits;
  sums_[y] += of_y << network_.grid.weight_bits;
  return true;
}

// Carries the coefficients of sums_ back to the inputs through the first `layers` layers, and
// leaves sums_ zero. Of at most 2^18 elements each adds at most four numbers below 2^106, and the
// sum that is given is below 2^124.
std::optional<i128> Bounder::backward(const Part& part, std::size_t layers, const Choices& choices,
                                      i128 constant) {
  bool ok = true;
  for (std::size_t k = layers; k > 1 && ok; --k) {
    const Layer& layer = network_.layers[k - 1];
    work_.spend(layer.count);
    if (layer.kind == Kind::kAffine) {
      ok = affine_layer(part, layer, constant);
      continue;
    }
    for (u32 row = 0; row < layer.count && ok; ++row) {
      const bool relu = layer.kind == Kind::kRelu;
      if (sums_[layer.first + row] == 0 &&
          !(relu && !choices.side.empty() && choices.multiplier[layer.first_number + row] != 0))
        continue;
      ok = relu                            ? relu_row(part, layer, row, choices, constant)
           : layer.kind == Kind::kFunction ? function_row(part, layer, row, choices, constant)
                                           : product_row(part, layer, row, choices, constant);
    }
  }
  if (!ok) {
    std::fill(sums_.begin(), sums_.end(), 0);
    return std::nullopt;
  }
  for (u32 i = 0; i < network_.inputs; ++i) {
    i64& a = at_inputs_[i];
    ok = take(part, i, constant, a) && ok;
    constant +=
        std::min(static_cast<i128>(a) * part.lower[i], static_cast<i128>(a) * part.upper[i]);
  }
  return ok ? std::optional(constant) : std::nullopt;
}

std::optional<i128> Bounder::lower_bound(const Part& part, const Sum& sum, const Choices& choices,
                                         unsigned bits) {
  const Int constant = floor_shifted(sum.constant, bits + network_.grid.value_bits);
  if (mpz_sizeinbase(constant.get_mpz_t(), 2) > 124) return std::nullopt;
  std::vector<std::pair<u32, i128>> terms;
  work_.spend(network_.inputs + sum.terms.size() * kRationalSteps);
  if (sum.terms.size() > kMostReaders) return std::nullopt;  // all of one element, perhaps
  for (const auto& [element, coefficient] : sum.terms) {
    if (mpz_sizeinbase(coefficient.get_mpz_t(), 2) + bits > kCoefficientSize) return std::nullopt;
    terms.emplace_back(element, to_i128(coefficient, kCoefficientSize, "a coefficient"));
  }
  for (const auto& [element, coefficient] : terms)
    sums_[element] += coefficient << (bits + network_.grid.weight_bits);
  return backward(part, network_.layers.size(), choices, to_i128(constant, 124, "a constant"));
}

bool Bounder::is_above(const Part& part, const Sum& sum, bool closed, const Choices& choices) {
  if (!part.derived) return false;
  for (const unsigned bits : bits_)
    if (const std::optional<i128> bound = lower_bound(part, sum, choices, bits))
      return closed ? *bound >= 0 : *bound > 0;
  return false;
}

}  // namespace bf_check
