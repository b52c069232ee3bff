#pragma once

#include "bf/contract/integers.h"
#include "bf/core/bounds.h"
#include "bf/core/lanes.h"
#include "bf/functions/function_lines.h"

// Bounds of a function over the intervals of several neurons side by side. Each lane goes through
// the operations of bound_between(), in their order, so that it has their bits wherever products
// are not fused. What is rare is left out, and made by these: infinite and turned intervals, and
// arguments of which the table knows nothing or says something else than a polynomial or a line.

namespace bf {

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

  BF_LANES Longs every(bool value) { return Longs{} - (value ? 1 : 0); }
  BF_LANES Doubles lesser(Doubles a, Doubles b) { return a < b ? a : b; }
  BF_LANES Doubles mul_down(Doubles a, Doubles b) { return -L::mul_up(-a, b); }
  BF_LANES Doubles exact_sum_down(Doubles a, Doubles b) { return -L::exact_sum_up(-a, -b); }

  // One number from each row.
  BF_LANES Doubles column(const double* const (&row)[kLanes], int k) {
    if constexpr (kLanes == 8)
      return Doubles{row[0][k], row[1][k], row[2][k], row[3][k],
                     row[4][k], row[5][k], row[6][k], row[7][k]};
    else if constexpr (kLanes == 4)
      return Doubles{row[0][k], row[1][k], row[2][k], row[3][k]};
    else
      return Doubles{row[0][k], row[1][k]};
  }

  // find_run(): the runs that start before x are counted.
  BF_LANES Longs find_runs(const FunctionView& f, Doubles x) {
    Longs count = {};
    for (int r = 1; r < f.runs; ++r)
      count -= f.run[r].open ? f.run[r].start < x : f.run[r].start <= x;
    return count;
  }

  // The polynomials of cells at x.
  BF_LANES Point in_cells(const FunctionView& f, const int (&cell)[kLanes], Doubles x) {
    const double* row[kLanes];
    double start[kLanes], error[kLanes];
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
      row[l] = f.coefficient + static_cast<std::ptrdiff_t>(cell[l]) * (f.degree + 1);
      start[l] = f.start[cell[l]];
      error[l] = static_cast<double>(f.error[cell[l]]);
    }
    const Doubles t = x - load_rows<Doubles>(start);
    Doubles value = column(row, f.degree);
    for (int k = f.degree - 1; k >= 0; --k) value = value * t + column(row, k);
    const Doubles e = load_rows<Doubles>(error);
    return {L::sub_down(value, e), L::add_up(value, e)};
  }

  // exponential_point() for -690 < x < 709.
  BF_LANES Point of_exponential(const FunctionView& f, Doubles x) {
    const Doubles half = x < 0 ? L::all(-0.5) : L::all(0.5);
    const Ints k = __builtin_convertvector(x * 0x1.71547652b82fep0 + half, Ints);
    const Doubles whole = __builtin_convertvector(k, Doubles);
    const Doubles r = (x - whole * 0x1.62e42fefa38p-1) - whole * 0x1.ef35793c7673p-45;
    double reduced[kLanes];
    store_rows(reduced, r);
    int cell[kLanes];
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) cell[l] = find_cell(f, 0, f.cells, reduced[l]);
    const Point at = in_cells(f, cell, r);
    const Longs bits = (__builtin_convertvector(k, Longs) + 1023) << 52;
    const Doubles scale = load_rows<Doubles>(&bits);
    return {at.low * scale, at.high * scale};
  }

  // line_point() at finite x.
  BF_LANES Point on_lines(const FunctionRun* const (&run)[kLanes], Doubles x) {
    double each[3][kLanes];
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
      each[0][l] = run[l]->intercept;
      each[1][l] = run[l]->slope;
      each[2][l] = run[l]->slack;
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

  // function_point() at finite x, which lies in the runs `in`. Lanes of which the table has neither
  // a polynomial nor a line are left out.
  BF_LANES Point points(const FunctionView& f, Longs in, Doubles x, Longs* left_out) {
    std::int64_t number[kLanes], line[kLanes], out[kLanes];
    double argument[kLanes];
    const FunctionRun* run[kLanes];
    int cell[kLanes];
    store_rows(number, in);
    store_rows(argument, x);
    const bool of_cells = f.form == FunctionViewForm::kCells;
    std::int64_t lines = 0;
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
      run[l] = f.run + number[l];
      line[l] = run[l]->kind == FunctionRunKind::kLine ? -1 : 0;
      out[l] = of_cells && run[l]->cells == 0 ? ~line[l] : 0;
      lines |= line[l];
    }
    *left_out |= load_rows<Longs>(out);
    Point made = {};
    if (of_cells && f.cells > 0) {
      BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
        const int last = run[l]->cell + run[l]->cells - 1;
        int c = find_cell(f, 0, f.cells, argument[l]);  // which may be that of the run before
        c = c < last ? c : last;
        c = c > run[l]->cell ? c : run[l]->cell;
        cell[l] = c < f.cells ? c : f.cells - 1;
      }
      made = in_cells(f, cell, x);
    } else if (!of_cells) {
      made = of_exponential(f, x);
      *left_out |= ~((x > -690) & (x < 709)) & ~load_rows<Longs>(line);
    }
    if (lines == 0) return made;
    const Point straight = on_lines(run, x);
    const Longs is_line = load_rows<Longs>(line);
    return {is_line ? straight.low : made.low, is_line ? straight.high : made.high};
  }

  // bound_by_turns(), run by run.
  BF_LANES Point by_turns(const FunctionView& f, Doubles low, Doubles high, Longs first, Longs last,
                          const Point& left, const Point& right) {
    Point range = {L::all(__builtin_inf()), L::all(-__builtin_inf())};
    for (int r = 0; r < f.runs; ++r) {
      const Longs inside = (first <= r) & (last >= r);
      if (!L::any(inside)) continue;
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
            ~((to_high & (high <= run.turn_from)) | (from_low & (low >= run.turn_to)));
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

  // bound_function() over [low, high].
  BF_LANES LaneRange<kCount> bounds(const FunctionView& f, Doubles low, Doubles high) {
    low = low < f.least ? L::all(f.least) : low;
    high = high > f.most ? L::all(f.most) : high;
    Longs left_out = ~((low >= -__DBL_MAX__) & (high <= __DBL_MAX__));
    if (f.wave) {
      const double reach = f.run[f.runs - 1].start;
      left_out |= ~((low >= -reach) & (high <= reach));
    }
    const Longs first = find_runs(f, low), last = find_runs(f, high);
    const Point left = points(f, first, low, &left_out);
    const Point right = points(f, last, high, &left_out);
    if (f.monotone > 0) return {left.low, right.high, left_out};
    if (f.monotone < 0) return {right.low, left.high, left_out};
    const Point range = by_turns(f, low, high, first, last, left, right);
    return {low == high ? left.low : range.low, low == high ? left.high : range.high, left_out};
  }

  // put_range(), but for what put_magnitudes() says of values of one sign.
  BF_LANES void put(const LaneRange<kCount>& range, double* centre, float* radius) {
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
      const Longs inexact = (L::wide(nearest) != half) |
                            (L::exact_sum_up(near, half) != exact_sum_down(near, half));
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
