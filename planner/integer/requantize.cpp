#include "planner/integer/requantize.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

// Products and their sums stay below 2^62.
constexpr std::int64_t kLargestSum = std::int64_t{1} << 62;
constexpr int kMostShift = 53;
// The largest weight of a code in a sum of two codes.
constexpr std::int64_t kLargestWeight = kLargestSum / 4 / kGridCodes;
__extension__ typedef __int128 Wide;  // NOLINT: no alias takes the keyword

// The least integer sum that reaches a cut of the real number that it means.
std::optional<std::int64_t> least_sum(const RowSums& sums, const Cut& cut) {
  const std::int64_t never = sums.most + 1;
  if (cut.where == Cut::Where::kAlways) return sums.least;
  if (cut.where == Cut::Where::kNever) return never;
  const Range x = (cut.at + Range(-sums.offset.high, -sums.offset.low)) *
                  Range(1 / sums.factor.high, 1 / sums.factor.low);
  const auto integer = [&](const mpq_class& at) {
    const mpz_class sum = cut.inclusive ? ceil_of(at) : mpz_class(floor_of(at) + 1);
    if (sum <= sums.least) return sums.least;
    return sum > sums.most ? never : static_cast<std::int64_t>(sum.get_si());
  };
  const std::int64_t low = integer(x.low);
  if (low != integer(x.high)) return std::nullopt;
  return low;
}

Requantizer row_of_steps(const RowSums& sums, std::vector<std::int64_t> first_sums) {
  Requantizer row;
  row.least = sums.least;
  row.most = sums.most;
  for (const std::int64_t first : first_sums) {
    if (first <= sums.least) ++row.low;
    if (first <= sums.most) ++row.high;
    if (first > sums.least && first <= sums.most) row.steps.push_back(first);
  }
  return row;
}

std::optional<int> code_at(const RowSums& sums, const Chain& chain, int codes, std::int64_t sum) {
  const Range number = sums.factor * Range(mpq_class(static_cast<long>(sum))) + sums.offset;
  const auto image = image_of(chain, number);
  if (!image || image->low != image->high || image->low.get_den() != 1) return std::nullopt;
  const mpz_class code = image->low.get_num();
  if (code < 0 || code >= codes) return std::nullopt;
  return static_cast<int>(code.get_si());
}

// ---- Arithmetic of one row

std::int64_t rounded(Rounding rounding, std::int64_t scaled, int shift, bool odd) {
  if (rounding == Rounding::kFloor) return scaled >> shift;
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  const std::int64_t up = ((scaled >> shift) ^ (odd ? 1 : 0)) & 1;
  return (scaled + half - 1 + up) >> shift;
}

int computed(Rounding rounding, const Requantizer& row, std::int64_t sum) {
  const std::int64_t code =
      rounded(rounding, row.multiplier * sum + row.addend, row.shift, row.odd);
  return static_cast<int>(std::clamp<std::int64_t>(code, row.low, row.high));
}

bool fits(const Requantizer& row, int bytes) {
  if (row.shift < 0 || row.shift > kMostShift) return false;
  if (bytes == 4 && (row.multiplier < std::numeric_limits<std::int32_t>::min() ||
                     row.multiplier > std::numeric_limits<std::int32_t>::max()))
    return false;
  const Wide reach = std::max(std::llabs(row.least), std::llabs(row.most));
  const Wide product = reach * std::llabs(row.multiplier);
  const Wide addend = row.addend < 0 ? -static_cast<Wide>(row.addend) : row.addend;
  return product < kLargestSum / 2 && addend < kLargestSum / 2;
}

// An addend for which the floor has the row's steps with this multiplier and shift: at steps[k] the
// code is more than low + k, just before it is not.
bool find_addend(Requantizer& row) {
  Wide from = -kLargestSum;
  Wide to = kLargestSum;
  for (std::size_t k = 0; k < row.steps.size(); ++k) {
    const Wide code = static_cast<Wide>(row.low) + static_cast<Wide>(k) + 1;
    const Wide goal = code << row.shift;
    from = std::max(from, goal - static_cast<Wide>(row.multiplier) * row.steps[k]);
    to = std::min(to, goal - 1 - static_cast<Wide>(row.multiplier) * (row.steps[k] - 1));
  }
  if (from > to) return false;
  row.addend = static_cast<std::int64_t>(from + (to - from) / 2);
  return true;
}

mpz_class scaled_floor(const mpq_class& x, int shift) {
  mpq_class scaled;
  mpq_mul_2exp(scaled.get_mpq_t(), x.get_mpq_t(), static_cast<mp_bitcnt_t>(shift));
  return floor_of(scaled);
}

bool find_floor(const RowShape& shape, int bytes, Requantizer& row) {
  if (row.steps.empty()) {
    row.multiplier = 0;
    row.shift = 0;
    row.addend = row.low;
    return true;
  }
  for (int shift = 0; shift <= kMostShift; ++shift) {
    const mpz_class below = scaled_floor(shape.slope, shift);
    if (!below.fits_slong_p()) return false;
    for (const long more : {0L, 1L}) {
      row.shift = shift;
      row.multiplier = below.get_si() + more;
      row.addend = 0;
      if (!fits(row, bytes)) continue;
      if (find_addend(row) && computes_its_steps(row, Rounding::kFloor, bytes)) return true;
    }
  }
  return false;
}

// Exact rounding of factor sum + offset, where both are multiples of 2^-shift.
bool find_half_even(const RowShape& shape, int bytes, Requantizer& row) {
  if (!shape.rounds) return false;
  const RoundForm& form = *shape.rounds;
  for (int shift = 1; shift <= kMostShift; ++shift) {
    const mpz_class unit = mpz_class(1) << static_cast<mp_bitcnt_t>(shift);
    const mpq_class multiplier = form.factor * unit;
    const mpq_class addend = (form.offset + mpq_class(form.after)) * unit;
    if (multiplier.get_den() != 1 || addend.get_den() != 1) continue;
    if (!multiplier.get_num().fits_slong_p() || !addend.get_num().fits_slong_p()) return false;
    row.shift = shift;
    row.multiplier = multiplier.get_num().get_si();
    row.addend = addend.get_num().get_si();
    row.odd = mpz_odd_p(form.after.get_mpz_t()) != 0;
    return computes_its_steps(row, Rounding::kHalfEven, bytes);
  }
  return false;
}

bool find_row(const RowShape& shape, Rounding rounding, int bytes, Requantizer& row) {
  switch (rounding) {
    case Rounding::kFloor:
      return find_floor(shape, bytes, row);
    case Rounding::kHalfEven:
      return find_half_even(shape, bytes, row);
    case Rounding::kSteps:
      return true;
  }
  return false;
}

std::optional<Requantization> all_by(Rounding rounding, int bytes, std::vector<Requantizer> rows,
                                     const std::vector<RowShape>& shapes) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!find_row(shapes[i], rounding, bytes, rows[i])) return std::nullopt;
  return Requantization{rounding, bytes, std::move(rows)};
}

// ---- Sums of two codes

int code_at(const GridSum& sum, int a, int b) {
  return sum.code[static_cast<std::size_t>(a * kGridCodes + b)];
}

std::int64_t weighted(const GridSum& sum, int a, int b) {
  return sum.a_weight * a + sum.b_weight * b;
}

std::int64_t computed(const GridSum& sum, std::int64_t of) {
  if (sum.rounding == Rounding::kSteps)
    return sum.low + (std::ranges::upper_bound(sum.steps, of) - sum.steps.begin());
  const std::int64_t code = rounded(sum.rounding, of + sum.addend, sum.shift, sum.odd);
  return std::clamp<std::int64_t>(code, sum.low, sum.high);
}

bool find_addend(GridSum& sum) {
  Wide from = -kLargestSum / 2;
  Wide to = kLargestSum / 2;
  for (int a = 0; a < kGridCodes; ++a)
    for (int b = 0; b < kGridCodes; ++b) {
      const int code = code_at(sum, a, b);
      const Wide rest = -static_cast<Wide>(weighted(sum, a, b));
      if (code > sum.low) from = std::max(from, rest + (static_cast<Wide>(code) << sum.shift));
      if (code < sum.high) to = std::min(to, rest + (static_cast<Wide>(code + 1) << sum.shift) - 1);
    }
  if (from > to) return false;
  sum.addend = static_cast<std::int64_t>(from + (to - from) / 2);
  return computes_its_codes(sum);
}

bool find_floor(const PairShape& shape, GridSum& sum) {
  sum.rounding = Rounding::kFloor;
  for (int shift = 0; shift <= kMostShift; ++shift) {
    const mpz_class a = scaled_floor(shape.a_slope, shift);
    const mpz_class b = scaled_floor(shape.b_slope, shift);
    if (a >= kLargestWeight || b >= kLargestWeight) return false;
    for (const int more : {0, 1, 2, 3}) {
      sum.a_weight = a.get_si() + more % 2;
      sum.b_weight = b.get_si() + more / 2;
      sum.shift = shift;
      if (sum.a_weight > 0 && sum.b_weight > 0 && find_addend(sum)) return true;
    }
  }
  return false;
}

// Exact multiples of a common divisor: the sum rises with them, so that its codes have steps.
bool find_steps(const PairShape& shape, GridSum& sum) {
  if (shape.a_multiple > kLargestWeight || shape.b_multiple > kLargestWeight) return false;
  sum.rounding = Rounding::kSteps;
  sum.a_weight = shape.a_multiple.get_si();
  sum.b_weight = shape.b_multiple.get_si();
  sum.shift = 0;
  sum.addend = 0;
  sum.odd = false;
  sum.steps.assign(static_cast<std::size_t>(sum.high - sum.low), kLargestSum);
  for (int a = 0; a < kGridCodes; ++a)
    for (int b = 0; b < kGridCodes; ++b)
      for (int code = sum.low; code < code_at(sum, a, b); ++code) {
        std::int64_t& step = sum.steps[static_cast<std::size_t>(code - sum.low)];
        step = std::min(step, weighted(sum, a, b));
      }
  return computes_its_codes(sum);
}

// Finds half-even arithmetic where slopes and offset are multiples of one 2^-shift.
bool find_half_even(const PairShape& shape, GridSum& sum) {
  if (!shape.rounds) return false;
  sum.rounding = Rounding::kHalfEven;
  sum.odd = mpz_odd_p(shape.after.get_mpz_t()) != 0;
  for (int shift = 1; shift <= kMostShift; ++shift) {
    const mpz_class unit = mpz_class(1) << static_cast<mp_bitcnt_t>(shift);
    const mpq_class a = shape.a_slope * unit;
    const mpq_class b = shape.b_slope * unit;
    const mpq_class addend = shape.offset * unit;
    if (a.get_den() != 1 || b.get_den() != 1 || addend.get_den() != 1) continue;
    if (a > kLargestWeight || b > kLargestWeight || !addend.get_num().fits_slong_p()) return false;
    sum.a_weight = a.get_num().get_si();
    sum.b_weight = b.get_num().get_si();
    sum.addend = addend.get_num().get_si();
    sum.shift = shift;
    return computes_its_codes(sum);
  }
  return false;
}

}  // namespace

std::optional<Requantizer> steps_of_cuts(const RowSums& sums, const Cuts& cuts) {
  std::vector<std::int64_t> first_sums;
  for (const Cut& cut : cuts) {
    const auto first = least_sum(sums, cut);
    if (!first) return std::nullopt;
    first_sums.push_back(*first);
  }
  return row_of_steps(sums, std::move(first_sums));
}

std::optional<Requantizer> steps_of_images(const RowSums& sums, const Chain& chain, int codes) {
  if (!rises(chain)) return std::nullopt;
  std::vector<std::int64_t> first_sums(static_cast<std::size_t>(codes - 1), sums.most + 1);
  // No code falls as sums rise, so that sums between two of equal code need no search.
  const std::function<bool(std::int64_t, int, std::int64_t, int)> search =
      [&](std::int64_t from, int from_code, std::int64_t to, int to_code) {
        if (from_code > to_code) return false;
        if (from_code == to_code) return true;
        if (to == from + 1) {
          for (int code = from_code; code < to_code; ++code)
            first_sums[static_cast<std::size_t>(code)] = to;
          return true;
        }
        const std::int64_t middle = from + (to - from) / 2;
        const auto code = code_at(sums, chain, codes, middle);
        return code && search(from, from_code, middle, *code) && search(middle, *code, to, to_code);
      };
  const auto least = code_at(sums, chain, codes, sums.least);
  const auto most = code_at(sums, chain, codes, sums.most);
  if (!least || !most || !search(sums.least, *least, sums.most, *most)) return std::nullopt;
  for (int code = 0; code < *least; ++code) first_sums[static_cast<std::size_t>(code)] = sums.least;
  return row_of_steps(sums, std::move(first_sums));
}

int code_of(const Requantizer& row, std::int64_t sum) {
  return row.low + static_cast<int>(std::ranges::upper_bound(row.steps, sum) - row.steps.begin());
}

// Neither function ever falls: they agree if they do at the ends and on both sides of every step.
bool computes_its_steps(const Requantizer& row, Rounding rounding, int multiplier_bytes) {
  if (rounding == Rounding::kSteps) return true;
  if (!fits(row, multiplier_bytes) || row.multiplier < 0) return false;
  if (rounding == Rounding::kHalfEven && row.shift == 0) return false;
  const auto same = [&](std::int64_t sum) {
    return computed(rounding, row, sum) == code_of(row, sum);
  };
  if (!same(row.least) || !same(row.most)) return false;
  return std::ranges::all_of(row.steps,
                             [&](std::int64_t step) { return same(step - 1) && same(step); });
}

Requantization find_arithmetic(std::vector<Requantizer> rows, const std::vector<RowShape>& shapes) {
  BF_CHECK(rows.size() == shapes.size());
  for (const int bytes : {4, 8})
    for (const Rounding rounding : {Rounding::kFloor, Rounding::kHalfEven})
      if (auto found = all_by(rounding, bytes, rows, shapes)) return *found;
  return {Rounding::kSteps, 4, std::move(rows)};
}

bool find_arithmetic(const PairShape& shape, GridSum& sum) {
  return find_floor(shape, sum) || find_half_even(shape, sum) || find_steps(shape, sum);
}

bool computes_its_codes(const GridSum& sum) {
  if (sum.shift < 0 || sum.shift > kMostShift || sum.a_weight <= 0 || sum.b_weight <= 0 ||
      sum.a_weight > kLargestWeight || sum.b_weight > kLargestWeight ||
      std::llabs(sum.addend) > kLargestSum / 2 ||
      (sum.rounding == Rounding::kHalfEven && sum.shift == 0))
    return false;
  for (int a = 0; a < kGridCodes; ++a)
    for (int b = 0; b < kGridCodes; ++b) {
      if (computed(sum, weighted(sum, a, b)) != code_at(sum, a, b)) return false;
    }
  return true;
}

}  // namespace bf_aot
