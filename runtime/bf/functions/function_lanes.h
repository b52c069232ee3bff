#pragma once

#include "bf/contract/integers.h"
#include "bf/core/bounds.h"
#include "bf/core/columns.h"
#include "bf/core/lanes.h"
#include "bf/functions/function_lines.h"

// Bounds of a function over the intervals of several neurons side by side. Each lane goes through
// the operations of bound_between(), in their order, so that it has their bits wherever products
// are not fused. What is rare is left out, and made by these: infinite and turned intervals, and
// arguments of which the table knows nothing or says something else than a polynomial or a line.

namespace bf {

// The cells of a table, and its runs without cells, in order; and where to look for the one of an
// argument. It is made once for each layer, so that finding takes a step or two.
//
// Proof. x belongs to the last part that begins at x or before, as find_run() and find_cell() have
// it: an open start is replaced by the double behind it. bucket_of() does not decrease. So parts of
// a lesser bucket than x's begin before x, those of a greater one behind it, and those of the same
// one, at most steps(), are compared.
class FunctionParts {
 public:
  static constexpr int kMost = 512;
  static constexpr int kBuckets = 128;

  // A number of a part holds its cell, whether it is a line, whether it is neither that nor a
  // polynomial, and its run.
  static constexpr std::int32_t kCell = 0x3ff, kLine = 1 << 10, kOther = 1 << 11;
  static constexpr int kRunShift = 12;

  explicit FunctionParts(const FunctionView& f) {
    if (f.cells + f.runs >= kMost) return;
    const bool reduced = f.form != FunctionViewForm::kCells;  // cells are not of x
    for (int r = 0; r < f.runs; ++r) {
      const FunctionRun& run = f.run[r];
      const std::int32_t own = r << kRunShift;
      double begin = run.open ? next_up(run.start) : run.start;
      if (run.kind == FunctionRunKind::kLine)
        add(begin, own | kLine);
      else if (reduced || run.cells == 0)
        add(begin, reduced ? own : own | kOther);
      for (int c = run.cell; !reduced && c < run.cell + run.cells; ++c) {
        add(begin, own | c);
        begin = f.start[c + 1];
      }
    }
    begin_[count_] = __builtin_inf();
    fill_buckets();
  }

  // False where the table has too many parts.
  bool made() const { return count_ > 0; }

  // Parts that have to be compared with an argument, at most.
  int steps() const { return steps_; }

  // The bucket of a number, or of each lane.
  template <typename Numbers>
  Numbers bucket_of(Numbers x) const {
    constexpr double kLast = kBuckets - 1;
    Numbers place = (x - from_) * scale_;
    place = place > 0 ? place : Numbers{};
    return place < kLast ? place : Numbers{} + kLast;
  }

  // The first part that may hold a number of the bucket; the part behind `part`, or itself, after
  // one comparison with a finite x.
  int first_in(int bucket) const { return first_[bucket]; }
  int step(int part, double x) const { return part + (begin_[part + 1] <= x ? 1 : 0); }

  std::int32_t operator[](int part) const { return what_[part]; }

 private:
  void add(double begin, std::int32_t what) {
    begin_[count_] = begin;
    what_[count_] = what;
    ++count_;
  }

  void fill_buckets() {
    if (count_ > 2) {
      from_ = begin_[1];
      scale_ = kBuckets / (begin_[count_ - 1] - from_);
    }
    int next = 0;       // the first bucket that is not filled
    int at = -1;        // the last part's bucket
    int in_bucket = 0;  // the parts in that
    for (int i = 1; i < count_; ++i) {
      const int bucket = static_cast<int>(bucket_of(begin_[i]));
      for (; next <= bucket; ++next) first_[next] = static_cast<std::uint16_t>(i - 1);
      in_bucket = bucket == at ? in_bucket + 1 : 1;
      at = bucket;
      steps_ = in_bucket > steps_ ? in_bucket : steps_;
    }
    for (; next < kBuckets; ++next) first_[next] = static_cast<std::uint16_t>(count_ - 1);
  }

  int count_ = 0, steps_ = 0;
  double from_ = 0, scale_ = 0;
  double begin_[kMost];
  std::int32_t what_[kMost];
  std::uint16_t first_[kBuckets];
};

// Numbers 0 to kLanes - 1 of both rows change places: of each 2 kStep numbers of a, the second half
// with the first one of b.
template <int kStep, bool kSecond>
constexpr int exchanged(int lane, int lanes) {
  const bool of_b = (lane & kStep) != 0;
  return of_b ? lanes + lane - (kSecond ? 0 : kStep) : lane + (kSecond ? kStep : 0);
}
template <int kStep, bool kSecond, typename Longs, typename Doubles, int... kLane>
BF_LANES Doubles exchange(Doubles a, Doubles b, LaneList<kLane...>) {
  constexpr int kLanes = sizeof...(kLane);
#if defined(__clang__)
  return __builtin_shufflevector(a, b, exchanged<kStep, kSecond>(kLane, kLanes)...);
#else
  return __builtin_shuffle(a, b, Longs{exchanged<kStep, kSecond>(kLane, kLanes)...});
#endif
}

// The bounds at a point that are asked for.
struct EndsAsked {
  bool low, high;
};

// Bounds of f at a point in each lane.
template <int kCount>
struct LanePoint {
  typename Lanes<kCount>::Doubles low, high;
};

// Bounds of f over an interval in each lane; left_out: lanes without.
template <int kCount>
struct LaneRange {
  typename Lanes<kCount>::Doubles low, high;
  typename Lanes<kCount>::Longs left_out;
};

template <int kCount>
struct FunctionLanes {
  using L = Lanes<kCount>;
  using Doubles = typename L::Doubles;
  using Longs = typename L::Longs;
  using Ints = typename L::Ints;
  using Point = LanePoint<kCount>;
  static constexpr int kLanes = L::kLanes;

  BF_LANES Doubles mul_down(Doubles a, Doubles b) { return -L::mul_up(-a, b); }
  BF_LANES Doubles exact_sum_down(Doubles a, Doubles b) { return -L::exact_sum_up(-a, -b); }
  BF_LANES Longs longs(Ints from) { return __builtin_convertvector(from, Longs); }

  // Rows of kLanes numbers become columns.
  template <int kStep>
  BF_LANES void turn(Doubles (&row)[kLanes]) {
    if constexpr (kStep < kLanes) {
      constexpr typename ListLanes<kLanes>::type lanes = {};
      BF_UNROLL_ROWS for (int i = 0; i < kLanes; ++i) {
        if ((i & kStep) != 0) continue;
        const Doubles a = row[i], b = row[i + kStep];
        row[i] = exchange<kStep, false, Longs>(a, b, lanes);
        row[i + kStep] = exchange<kStep, true, Longs>(a, b, lanes);
      }
      turn<2 * kStep>(row);
    }
  }

  // Columns `first` to first + kLanes - 1 of the rows of a table.
  BF_LANES void columns(const double* const (&from)[kLanes], int first, Doubles (&column)[kLanes]) {
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) column[l] = load_rows<Doubles>(from[l] + first);
    turn<1>(column);
  }

  // The rows of some cells, one in each lane.
  struct CellRows {
    const double* row[kLanes];
    double start[kLanes];
    float error[kLanes];

    __attribute__((always_inline)) CellRows(const FunctionView& f, const int (&cell)[kLanes]) {
      BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
        row[l] = f.coefficient + static_cast<std::ptrdiff_t>(cell[l]) * (f.degree + 1);
        start[l] = f.start[cell[l]];
        error[l] = f.error[cell[l]];
      }
    }

    // polynomial_at() without slopes. Conditions of one bool choose no vectors here: where one arm
    // is the other and a product or a sum, GCC 12 writes a mask of one lane for AVX-512.
    __attribute__((always_inline)) Doubles polynomials(const FunctionView& f, Doubles x) const {
      constexpr int kUsual = 8;  // coefficients of a cell in most tables
      const Doubles t = x - load_rows<Doubles>(start);
      if (f.degree + 1 == kUsual) {
        Doubles value;
        BF_UNROLL_ROWS for (int first = kUsual - kLanes; first >= 0; first -= kLanes) {
          Doubles c[kLanes];
          columns(row, first, c);
          int k = kLanes - 1;
          if (first + kLanes == kUsual) value = c[k--];
          BF_UNROLL_ROWS for (; k >= 0; --k) value = value * t + c[k];
        }
        return value;
      }
      Doubles value = column(f.degree);
      for (int k = f.degree - 1; k >= 0; --k) value = value * t + column(k);
      return value;
    }

    __attribute__((always_inline)) Doubles column(int k) const {
      double each[kLanes];
      BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) each[l] = row[l][k];
      return load_rows<Doubles>(each);
    }
  };

  // cell_point().
  BF_LANES Point in_cells(const FunctionView& f, const int (&cell)[kLanes], Doubles x,
                          EndsAsked ends) {
    const CellRows rows(f, cell);
    const Doubles value = rows.polynomials(f, x);
    const Doubles error = L::wide(rows.error);
    Point made = {value, value};
    if (ends.low) made.low = L::sub_down(value, error);
    if (ends.high) made.high = L::add_up(value, error);
    return made;
  }

  // exponential_point() for -690 < x < 709.
  BF_LANES Point of_exponential(const FunctionView& f, Doubles x, EndsAsked ends) {
    const Doubles half = x < 0 ? L::all(-0.5) : L::all(0.5);
    const Ints k = __builtin_convertvector(x * 0x1.71547652b82fep0 + half, Ints);
    const Doubles whole = __builtin_convertvector(k, Doubles);
    const Doubles r = (x - whole * 0x1.62e42fefa38p-1) - whole * 0x1.ef35793c7673p-45;
    double reduced[kLanes];
    store_rows(reduced, r);
    int cell[kLanes];
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) cell[l] = find_cell(f, 0, f.cells, reduced[l]);
    const Point at = in_cells(f, cell, r, ends);
    const Longs bits = (longs(k) + 1023) << 52;
    const Doubles scale = load_rows<Doubles>(&bits);
    return {at.low * scale, at.high * scale};
  }

  // octave_point() at x > 0 in one of the octaves; others are left out.
  BF_LANES Point in_octaves(const FunctionView& f, Doubles x, Longs* left_out) {
    using Bits = typename VectorOf<std::uint64_t, kLanes>::type;
    const Longs positive = x > 0;
    const Doubles in_domain = positive ? x : L::all(1);
    const Bits bits = load_rows<Bits>(&in_domain);
    const Ints k = __builtin_convertvector(load_rows<Longs>(&bits) >> 52, Ints) - 1023;
    const Ints octave = k - f.first_octave;
    const Ints inside = (octave >= 0) & (octave < f.octaves);
    *left_out |= ~(positive & longs(inside));
    const Bits of_m = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    const Doubles m = load_rows<Doubles>(&of_m);
    double argument[kLanes], scales[kLanes];
    int cell[kLanes];
    store_rows(argument, m);
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
      cell[l] = find_cell(f, 0, f.cells, argument[l]);
      scales[l] = f.scale == nullptr || inside[l] == 0 ? 1 : f.scale[octave[l]];
    }
    const CellRows rows(f, cell);
    const Doubles scale = load_rows<Doubles>(scales);
    const Doubles scaled = scale * rows.polynomials(f, m);
    const Doubles shift = __builtin_convertvector(k, Doubles) * f.step;
    const Doubles error = scale * L::wide(rows.error) * (1 + 0x1p-40) +
                          0x1p-50 * (L::size(scaled) + L::size(shift)) + 0x1p-1000;
    const Doubles value = scaled + shift;
    return {L::sub_down(value, error), L::add_up(value, error)};
  }

  // monomial_point() at finite x, but not at a pole.
  BF_LANES Point of_monomial(const FunctionView& f, Doubles x) {
    const Doubles size = L::size(x);
    const int count = f.exponent < 0 ? -f.exponent : f.exponent;
    Doubles low = size, high = size;
    for (int i = 1; i < count; ++i) {
      high = L::mul_up(high, size);
      low = mul_down(low, size);
      low = low > 0 ? low : Doubles{};
    }
    if (f.exponent < 0) {
      const Doubles inverse = L::next_up(1 / low);
      low = -L::next_up(-(1 / high));
      low = low > 0 ? low : Doubles{};
      high = inverse;
    }
    if (count % 2 == 0) return {low, high};
    return {x < 0 ? -high : low, x < 0 ? -low : high};
  }

  // bound_between() for monomials; what reaches a pole is left out.
  BF_LANES LaneRange<kCount> between_monomials(const FunctionView& f, const LaneRange<kCount>& z) {
    const Point left = of_monomial(f, z.low), right = of_monomial(f, z.high);
    const Longs across = (z.low <= 0) & (z.high >= 0);
    if (f.monotone > 0) return {left.low, right.high, z.left_out};
    const Doubles low = right.low > left.low ? left.low : right.low;
    const Doubles high = left.high > right.high ? left.high : right.high;
    const Longs same_sign = ((z.low > 0) & (z.high > 0)) | ((z.low < 0) & (z.high < 0));
    if (f.exponent < 0) return {low, high, z.left_out | ~same_sign};
    const Longs turns = across & (z.low != z.high);
    return {turns ? Doubles{} : low, high, z.left_out};
  }

  // line_point() at finite x.
  BF_LANES Point on_lines(const FunctionView& f, Ints what, Doubles x) {
    double each[3][kLanes];
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
      const FunctionRun& run = f.run[what[l] >> FunctionParts::kRunShift];
      each[0][l] = run.intercept;
      each[1][l] = run.slope;
      each[2][l] = run.slack;
    }
    const Doubles intercept = load_rows<Doubles>(each[0]), slope = load_rows<Doubles>(each[1]),
                  slack = load_rows<Doubles>(each[2]);
    const Longs exact = (slope == 1) | (slope == -1);
    const Doubles moved = slope == 1 ? x : -x;
    Doubles low = exact_sum_down(intercept, exact ? moved : mul_down(slope, x));
    Doubles high = L::exact_sum_up(intercept, exact ? moved : L::mul_up(slope, x));
    low = slope == 0 ? intercept : low;
    high = slope == 0 ? intercept : high;
    low = slack == 0 ? low : exact_sum_down(low, -slack);
    high = slack == 0 ? high : L::exact_sum_up(high, slack);
    return {low, high};
  }

  // The part of each of finite numbers.
  BF_LANES Ints find_parts(const FunctionParts& parts, Doubles x) {
    double argument[kLanes];
    std::int32_t part[kLanes];
    store_rows(argument, x);
    store_rows(part, Ints(__builtin_convertvector(parts.bucket_of(x), Ints)));
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) part[l] = parts.first_in(part[l]);
    for (int i = 0; i < parts.steps(); ++i) {
      BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) part[l] = parts.step(part[l], argument[l]);
    }
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) part[l] = parts[part[l]];
    return load_rows<Ints>(part);
  }

  // function_point() at finite x, which lies in parts of that kind. Lanes of which the table has
  // neither a polynomial nor a line are left out.
  BF_LANES Point points(const FunctionView& f, Ints what, Doubles x, EndsAsked ends,
                        Longs* left_out) {
    if (f.form == FunctionViewForm::kOctaves) return in_octaves(f, x, left_out);
    const Longs is_line = longs((what & FunctionParts::kLine) != 0);
    const Longs is_other = longs((what & FunctionParts::kOther) != 0);
    *left_out |= is_other;
    Point made = {};
    if (f.form == FunctionViewForm::kExponential) {
      made = of_exponential(f, x, ends);
      *left_out |= ~((x > -690) & (x < 709)) & ~is_line;
    } else if (f.cells > 0) {
      int cell[kLanes];
      store_rows(cell, Ints(what & FunctionParts::kCell));
      made = in_cells(f, cell, x, ends);
    }
    if (!L::any(is_line)) return made;
    const Point straight = on_lines(f, what, x);
    return {is_line ? straight.low : made.low, is_line ? straight.high : made.high};
  }

  // The first and the last run of any lane.
  struct RunRange {
    int first, last;
  };
  BF_LANES RunRange run_range(Ints at_low, Ints at_high) {
    std::int32_t from[kLanes], to[kLanes];
    store_rows(from, at_low);
    store_rows(to, at_high);
    BF_UNROLL_ROWS for (int l = 1; l < kLanes; ++l) {
      from[0] = from[l] < from[0] ? from[l] : from[0];
      to[0] = to[l] > to[0] ? to[l] : to[0];
    }
    return {from[0] >> FunctionParts::kRunShift, to[0] >> FunctionParts::kRunShift};
  }

  // bound_by_turns(), run by run, from the first of any lane to the last.
  BF_LANES Point by_turns(const FunctionView& f, const LaneRange<kCount>& z, Ints at_low,
                          Ints at_high, const Point& left, const Point& right) {
    const Longs first = longs(at_low >> FunctionParts::kRunShift),
                last = longs(at_high >> FunctionParts::kRunShift);
    const RunRange span = run_range(at_low, at_high);
    Point range = {L::all(__builtin_inf()), L::all(-__builtin_inf())};
    for (int r = span.first; r <= span.last; ++r) {
      const Longs inside = (first <= r) & (last >= r);
      const FunctionRun& run = f.run[r];
      const Longs from_low = first == r, to_high = last == r;
      const Doubles a_low = from_low ? left.low : L::all(run.start_low);
      const Doubles a_high = from_low ? left.high : L::all(run.start_high);
      const Doubles b_low = to_high ? right.low : L::all(run.end_low);
      const Doubles b_high = to_high ? right.high : L::all(run.end_high);
      Doubles least = b_low < a_low ? b_low : a_low;
      Doubles most = b_high > a_high ? b_high : a_high;
      if (run.turn_from <= run.turn_to) {
        const Longs turns =
            ~((to_high & (z.high <= run.turn_from)) | (from_low & (z.low >= run.turn_to)));
        if (run.kind == FunctionRunKind::kConvex)
          least = (turns & (run.turn < least)) ? L::all(run.turn) : least;
        else
          most = (turns & (run.turn > most)) ? L::all(run.turn) : most;
      }
      if (run.kind == FunctionRunKind::kMixed) {
        least = L::sub_down(least, L::all(run.slack));
        most = L::add_up(most, L::all(run.slack));
      }
      range.low = (inside & (least < range.low)) ? least : range.low;
      range.high = (inside & (most > range.high)) ? most : range.high;
    }
    return range;
  }

  // The part of [low, high] that the argument can lie in, and the lanes that are not left out. The
  // others have some finite interval.
  BF_LANES LaneRange<kCount> arguments(const FunctionView& f, Doubles low, Doubles high) {
    low = low < f.least ? L::all(f.least) : low;
    high = high > f.most ? L::all(f.most) : high;
    Longs left_out = ~((low >= -__DBL_MAX__) & (high <= __DBL_MAX__));
    if (f.wave) {
      const double reach = f.run[f.runs - 1].start;
      left_out |= ~((low >= -reach) & (high <= reach));
    }
    return {left_out ? Doubles{} : low, left_out ? Doubles{} : high, left_out};
  }

  // bound_between(). at_low, at_high: the parts of the interval's ends.
  BF_LANES LaneRange<kCount> between(const FunctionView& f, const LaneRange<kCount>& z, Ints at_low,
                                     Ints at_high) {
    if (f.form == FunctionViewForm::kMonomial) return between_monomials(f, z);
    Longs left_out = z.left_out;
    const Point left = points(f, at_low, z.low, {f.monotone >= 0, f.monotone <= 0}, &left_out);
    const Point right = points(f, at_high, z.high, {f.monotone <= 0, f.monotone >= 0}, &left_out);
    const Point range = range_of(f, z, at_low, at_high, left, right);
    return {range.low, range.high, left_out};
  }

  // The range of f, of which the values at both ends are known.
  BF_LANES Point range_of(const FunctionView& f, const LaneRange<kCount>& z, Ints at_low,
                          Ints at_high, const Point& left, const Point& right) {
    if (f.monotone > 0) return {left.low, right.high};
    if (f.monotone < 0) return {right.low, left.high};
    const Point range = by_turns(f, z, at_low, at_high, left, right);
    const Longs point = z.low == z.high;
    return {point ? left.low : range.low, point ? left.high : range.high};
  }

  // put_range().
  BF_LANES void put(const Point& range, double* centre, float* radius) {
    constexpr double kMost = 0x1.fffffep127;
    const Doubles size_low = L::size(range.low), size_high = L::size(range.high);
    const Doubles near = size_low < size_high ? size_low : size_high;
    const Doubles far = size_low < size_high ? size_high : size_low;
    const Longs finite = (size_low <= kMost) & (size_high <= kMost);
    Doubles middle = finite ? 0.5 * range.low + 0.5 * range.high : Doubles{};
    const Doubles up = L::exact_sum_up(range.high, -middle);
    const Doubles down = L::exact_sum_up(middle, -range.low);
    auto reach = L::float_up(up > down ? up : down);
    const Longs apart = ((range.low >= 0) | (range.high <= 0)) & (near <= 0.25 * far) &
                        (far >= 0x1p-1000) & (far <= 0.5 * kMost);
    if (L::any(apart)) {
      using Floats = typename L::Floats;
      const Doubles half = 0.5 * L::exact_sum_up(far, -near);
      const Floats nearest = nearest_floats<Floats>(half);
      const Longs inexact =
          (L::wide(nearest) != half) | (L::exact_sum_up(near, half) != exact_sum_down(near, half));
      const Floats outward =
          __builtin_convertvector(inexact, Ints) ? L::float_up(half + 0x1p-51 * far) : nearest;
      const Doubles own = exact_sum_down(near, L::wide(outward));
      const Doubles sign = range.low >= 0 ? L::all(1) : L::all(-1);
      middle = apart ? sign * own : middle;
      reach = __builtin_convertvector(apart, Ints) ? outward : reach;
    }
    store_rows(centre, middle);
    store_rows(radius, reach);
  }
};

}  // namespace bf
