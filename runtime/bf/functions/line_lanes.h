#pragma once

#include "bf/contract/integers.h"
#include "bf/functions/function_lanes.h"
#include "bf/functions/function_lines.h"

// Lines over a function on the intervals of several neurons side by side: line_over() with the same
// operations in each lane. Lanes that need what only some tables have are left out.

namespace bf {

// The intervals of a vector of neurons, with what lines read of them.
template <int kCount>
struct LaneInterval {
  using L = Lanes<kCount>;
  typename L::Doubles low, high;       // of the argument
  typename L::Ints at_low, at_high;    // their parts
  LanePoint<kCount> left, right;       // f there
  typename L::Doubles centre, middle;  // the origin of lines, and the point where they are best
  typename L::Ints at_middle;
  LanePoint<kCount> value;  // f at the middle
  typename L::Doubles slope, slope_error;
};

// A line s (x - centre) + top over g in each lane.
template <int kCount>
struct LaneLine {
  typename Lanes<kCount>::Floats slope;
  typename Lanes<kCount>::Doubles top;
};

template <int kCount>
struct LineLanes {
  using L = Lanes<kCount>;
  using F = FunctionLanes<kCount>;
  using Doubles = typename L::Doubles;
  using Floats = typename L::Floats;
  using Longs = typename L::Longs;
  using Ints = typename L::Ints;
  using Point = LanePoint<kCount>;
  using Interval = LaneInterval<kCount>;
  static constexpr int kLanes = L::kLanes;

  BF_LANES Longs runs(Ints parts) { return F::longs(parts >> FunctionParts::kRunShift); }
  BF_LANES Doubles mul_down(Doubles a, Doubles b) { return -L::mul_up(-a, b); }

  // minus_line().
  BF_LANES Doubles minus_line(Doubles y, Doubles s, Doubles x, Doubles c) {
    const Doubles distance = s > 0 ? L::sub_down(x, c) : L::sub_up(x, c);
    return s == 0 ? y : L::sub_up(y, mul_down(s, distance));
  }

  // Returns what g is where f is y; top_of() returns an upper bound of g.
  template <int kSide, typename Number>
  BF_LANES Number of_g(Number y) {
    if constexpr (kSide > 0)
      return y;
    else
      return -y;
  }
  template <int kSide>
  BF_LANES Doubles top_of(const Point& at) {
    return of_g<kSide>(kSide > 0 ? at.high : at.low);
  }

  // A peak of g - s (x - c), as in FunctionPeak.
  struct Peak {
    Doubles top, at, value;
  };
  BF_LANES void take_higher(Longs inside, const Peak& other, Peak* peak) {
    const Longs higher = inside & (other.top > peak->top);
    peak->top = higher ? other.top : peak->top;
    peak->at = higher ? other.at : peak->at;
    peak->value = higher ? other.value : peak->value;
  }

  // A point of g in a concave part.
  struct Tangent {
    Doubles at, top, slope, slope_error;
  };

  // tangent_top(); slope: of g.
  BF_LANES Doubles tangent_top(const Tangent& t, Doubles s, Doubles a, Doubles b, Doubles c) {
    const Doubles right_rate = L::add_up(L::sub_up(t.slope, s), t.slope_error);
    const Doubles left_rate = L::add_up(L::sub_up(s, t.slope), t.slope_error);
    const Doubles to_right = L::mul_up(right_rate, L::sub_up(b, t.at));
    const Doubles to_left = L::mul_up(left_rate, L::sub_up(t.at, a));
    const Doubles right = right_rate > 0 ? to_right : Doubles{};
    const Doubles left = left_rate > 0 ? to_left : Doubles{};
    return L::add_up(minus_line(t.top, s, t.at, c), right > left ? right : left);
  }

  // The coefficients of a cell in each lane.
  struct Rows {
    Doubles start, next;
    Doubles c[8];
    Doubles error, slope_error;

    // slope_in_cell().
    __attribute__((always_inline)) void slope_at(Doubles x, Doubles* slope,
                                                 Doubles* curvature) const {
      const Doubles t = x - start;
      *slope = *curvature = Doubles{};
      BF_UNROLL_ROWS for (int k = 7; k > 0; --k) {
        *curvature = *curvature * t + *slope;
        *slope = *slope * t + c[k] * static_cast<double>(k);
      }
    }
  };

  BF_LANES Rows rows_of(const FunctionView& f, const int (&cell)[kLanes]) {
    Rows made;
    const double* row[kLanes];
    double start[kLanes], next[kLanes];
    float error[kLanes], slope_error[kLanes];
    BF_UNROLL_ROWS for (int l = 0; l < kLanes; ++l) {
      row[l] = f.coefficient + static_cast<std::ptrdiff_t>(cell[l]) * (f.degree + 1);
      start[l] = f.start[cell[l]];
      next[l] = f.start[cell[l] + 1];
      error[l] = f.error[cell[l]];
      slope_error[l] = f.slope_error[cell[l]];
    }
    BF_UNROLL_ROWS for (int first = 0; first < 8; first += kLanes) {
      Doubles c[kLanes];
      F::columns(row, first, c);
      BF_UNROLL_ROWS for (int k = 0; k < kLanes; ++k) made.c[first + k] = c[k];
    }
    made.start = load_rows<Doubles>(start);
    made.next = load_rows<Doubles>(next);
    made.error = L::wide(error);
    made.slope_error = L::wide(slope_error);
    return made;
  }

  // cell_point(), of g.
  template <int kSide>
  BF_LANES Tangent tangent_at(const Rows& rows, Doubles x) {
    const Doubles t = x - rows.start;
    Doubles value = rows.c[7], slope = {};
    BF_UNROLL_ROWS for (int k = 6; k >= 0; --k) {
      slope = slope * t + value;
      value = value * t + rows.c[k];
    }
    // add_up() of g is -sub_down() of f where g = -f.
    return {x, L::add_up(of_g<kSide>(value), rows.error), of_g<kSide>(slope), rows.slope_error};
  }

  // x, or the middle where it is not between.
  BF_LANES Doubles between(Doubles left, Doubles right, Doubles x) {
    const Longs inside = (x > left) & (x < right);
    return inside ? x : 0.5 * left + 0.5 * right;
  }

  // find_slope_in_cells(): the tangents in a concave run's parts [a, b] where g' is near s, for the
  // lanes that look for one.
  template <int kSide>
  BF_LANES Tangent find_slope(const FunctionView& f, int run, const Interval& z, Longs looks,
                              Doubles s, Doubles a, Doubles b) {
    constexpr double sign = kSide;
    const FunctionRun& in = f.run[run];
    std::int32_t at_low[kLanes], at_high[kLanes];
    std::int64_t look[kLanes];
    double slopes[kLanes], here[kLanes], behind[kLanes];
    int cell[kLanes];
    std::int64_t is_last[kLanes];
    store_rows(at_low, z.at_low);
    store_rows(at_high, z.at_high);
    store_rows(look, looks);
    store_rows(slopes, s);
    const double* const steepness = f.coefficient + 1;
    const std::ptrdiff_t stride = f.degree + 1;
    for (int l = 0; l < kLanes; ++l) {
      int first = in.cell, last = in.cell;
      if (look[l] != 0) {
        last = in.cell + in.cells - 1;
        if (at_low[l] >> FunctionParts::kRunShift == run) first = at_low[l] & FunctionParts::kCell;
        if (at_high[l] >> FunctionParts::kRunShift == run) last = at_high[l] & FunctionParts::kCell;
      }
      int found = first;
      for (int count = last - first + 1; count > 1;) {
        const int half = count / 2;
        found += sign * steepness[(found + half) * stride] >= slopes[l] ? half : 0;
        count -= half;
      }
      cell[l] = found;
      is_last[l] = found == last ? -1 : 0;
      here[l] = sign * steepness[found * stride];
      behind[l] = found < last ? sign * steepness[(found + 1) * stride] : 0;
    }
    const Rows rows = rows_of(f, cell);
    const Longs at_end = load_rows<Longs>(is_last);
    Doubles left = rows.start, right = rows.next;
    Doubles at_left = load_rows<Doubles>(here) - s;
    Doubles at_right = at_end ? Doubles{} : load_rows<Doubles>(behind) - s;
    Doubles slope, curvature;
    const Longs cut = left < a;
    left = cut ? a : left;
    rows.slope_at(left, &slope, &curvature);
    at_left = cut ? sign * slope - s : at_left;
    const Longs short_of = at_end & ~(right < b);
    right = short_of ? b : right;
    rows.slope_at(right, &slope, &curvature);
    at_right = at_end ? sign * slope - s : at_right;
    const Longs stays_left = ~(at_left > 0);
    const Longs stays_right = ~stays_left & ~(at_right < 0);
    Longs open = looks & ~stays_left & ~stays_right;
    Doubles x = stays_left ? left : right;
    if (L::any(open)) {
      const Doubles enough = 0x1p-14 * (at_left - at_right);
      Doubles next = between(left, right, left + (right - left) * (at_left / (at_left - at_right)));
      x = open ? next : x;
      for (int i = 0; i < 8 && L::any(open); ++i) {
        rows.slope_at(x, &slope, &curvature);
        const Doubles miss = sign * slope - s;
        open &= ~(L::size(miss) <= enough);
        const Longs before = open & (miss > 0), behind_it = open & ~(miss > 0);
        left = before ? x : left;
        right = behind_it ? x : right;
        next = between(left, right, x - miss / (sign * curvature));
        x = open ? next : x;
      }
    }
    return tangent_at<kSide>(rows, x);
  }

  // peak_over() for the active lanes; tangent: those that touch g at the middle. Lanes whose table
  // has no cells to search are left out.
  template <int kSide>
  BF_LANES Peak peak_over(const FunctionView& f, const Interval& z, Longs active, Longs tangent,
                          Doubles s, Longs* left_out) {
    const Longs first = runs(z.at_low), last = runs(z.at_high), own = runs(z.at_middle);
    Peak peak = {L::all(-__builtin_inf()), z.low, Doubles{}};
    const Doubles top_left = top_of<kSide>(z.left), top_right = top_of<kSide>(z.right);
    const auto span = F::run_range(z.at_low, z.at_high);
    for (int r = span.first; r <= span.last; ++r) {
      const Longs inside = active & (first <= r) & (last >= r);
      if (!L::any(inside)) continue;
      const FunctionRun& run = f.run[r];
      const Longs at_first = first == r, at_last = last == r;
      const Doubles a = at_first ? z.low : L::all(run.start);
      const Doubles b = at_last ? z.high : L::all(r + 1 < f.runs ? f.run[r + 1].start : 0);
      if (is_concave(run, kSide)) {
        const Longs known = inside & tangent & (own == r);
        Tangent touch = {z.middle, top_of<kSide>(z.value), of_g<kSide>(z.slope), z.slope_error};
        const Longs looks = inside & ~known;
        if (L::any(looks)) {
          if (run.cells == 0 || f.degree != 7) {
            *left_out |= looks;
          } else {
            const Tangent found = find_slope<kSide>(f, r, z, looks, s, a, b);
            touch.at = known ? touch.at : found.at;
            touch.top = known ? touch.top : found.top;
            touch.slope = known ? touch.slope : found.slope;
            touch.slope_error = known ? touch.slope_error : found.slope_error;
          }
        }
        take_higher(inside, {tangent_top(touch, s, a, b, z.centre), touch.at, touch.top}, &peak);
        continue;
      }
      const double slack = run.kind == FunctionRunKind::kMixed ? run.slack : 0;
      const double inner_a = kSide > 0 ? run.start_high : -run.start_low;
      const double inner_b = kSide > 0 ? run.end_high : -run.end_low;
      const Doubles value_a = at_first ? top_left : L::all(inner_a);
      const Doubles value_b = at_last ? top_right : L::all(inner_b);
      Doubles top_a = minus_line(value_a, s, a, z.centre);
      Doubles top_b = minus_line(value_b, s, b, z.centre);
      if (slack != 0) {
        top_a = L::add_up(top_a, L::all(slack));
        top_b = L::add_up(top_b, L::all(slack));
      }
      take_higher(inside, {top_a, a, value_a}, &peak);
      take_higher(inside, {top_b, b, value_b}, &peak);
    }
    return peak;
  }

  // Whether lines of the function are made on lanes.
  BF_LANES bool apply(const FunctionView& f) {
    if (f.form == FunctionViewForm::kExponential) return true;
    return f.form == FunctionViewForm::kCells && (f.cells == 0 || f.degree == 7);
  }

  // Sets what an interval says of its middle.
  BF_LANES void set_middle(const FunctionView& f, const FunctionParts& parts, Interval* z,
                           Longs* left_out) {
    z->middle = 0.5 * z->low + 0.5 * z->high;
    z->at_middle = F::find_parts(parts, z->middle);
    if (f.form == FunctionViewForm::kCells && f.cells > 0) {
      int cell[kLanes];
      store_rows(cell, Ints(z->at_middle & FunctionParts::kCell));
      const Rows rows = rows_of(f, cell);
      const Tangent at = tangent_at<1>(rows, z->middle);
      const Tangent below = tangent_at<-1>(rows, z->middle);
      z->value = {-below.top, at.top};
      z->slope = at.slope;
      z->slope_error = at.slope_error;
      const Longs other = F::longs((z->at_middle & FunctionParts::kOther) != 0);
      *left_out |= other;
    } else {
      z->value = F::points(f, z->at_middle, z->middle, {true, true}, left_out);
      z->slope = z->value.low;  // of an exponential
      z->slope_error = L::sub_up(z->value.high, z->value.low);
    }
    const Longs is_line = F::longs((z->at_middle & FunctionParts::kLine) != 0);
    if (!L::any(is_line)) return;
    std::int32_t at[kLanes];
    double slopes[kLanes];
    store_rows(at, z->at_middle);
    for (int l = 0; l < kLanes; ++l) slopes[l] = f.run[at[l] >> FunctionParts::kRunShift].slope;
    const Point straight = F::on_lines(f, z->at_middle, z->middle);
    z->value.low = is_line ? straight.low : z->value.low;
    z->value.high = is_line ? straight.high : z->value.high;
    z->slope = is_line ? load_rows<Doubles>(slopes) : z->slope;
    z->slope_error = is_line ? Doubles{} : z->slope_error;
  }

  // line_over() in the middle, for the lanes that ask; constant: a bound of g.
  template <int kSide>
  BF_LANES LaneLine<kCount> over(const FunctionView& f, const Interval& z, Longs asks,
                                 Doubles constant, Longs* left_out) {
    std::int32_t at[kLanes];
    std::int64_t touches[kLanes];
    store_rows(at, z.at_middle);
    for (int l = 0; l < kLanes; ++l) {
      const FunctionRun& run = f.run[at[l] >> FunctionParts::kRunShift];
      touches[l] = is_concave(run, kSide) || run.kind == FunctionRunKind::kLine ? -1 : 0;
    }
    Longs tangent = load_rows<Longs>(touches);
    const Doubles width = z.high - z.low;
    const Doubles value = top_of<kSide>(z.value), steepest = of_g<kSide>(z.slope);
    Doubles left = z.low, right = z.high;
    Doubles left_value = top_of<kSide>(z.left), right_value = top_of<kSide>(z.right);
    const Doubles straight = 0.5 * left_value + 0.5 * right_value;
    LaneLine<kCount> best = {Floats{}, constant};
    Doubles best_height = constant;
    Longs active = asks;
    for (int i = 0; i < 12; ++i) {
      const Doubles chord = (right_value - left_value) / (right - left);
      const Floats slope = nearest_floats<Floats>(tangent ? steepest : chord);
      const Doubles s = L::wide(slope);
      const double most = static_cast<double>(kMaxSlope);
      active &= (s >= -most) & (s <= most);
      if (!L::any(active)) break;
      Longs lost = {};
      const Peak peak = peak_over<kSide>(f, z, active, tangent, s, &lost);
      *left_out |= lost;
      active &= ~lost;
      const Doubles height = peak.top + s * (z.middle - z.centre);
      const Longs lower = active & (height < best_height);
      best_height = lower ? height : best_height;
      best.top = lower ? peak.top : best.top;
      best.slope = __builtin_convertvector(lower, Ints) ? slope : best.slope;
      const Doubles hull = tangent ? value : left_value + s * (z.middle - left);
      const Doubles gap = tangent ? value - straight : height - value;
      const Doubles noise = 0x1p-23 * L::size(s) * width;
      active &= height - hull > 0x1p-10 * gap + noise;
      tangent = Longs{};
      const Longs to_right = peak.at > z.middle;
      const Doubles end = to_right ? right : left;
      if (i > 0) active &= ~(peak.at == end);
      active &= ~(peak.at == z.middle);
      if (!L::any(active)) break;
      const Longs moves_right = active & to_right, moves_left = active & ~to_right;
      right = moves_right ? peak.at : right;
      right_value = moves_right ? peak.value : right_value;
      left = moves_left ? peak.at : left;
      left_value = moves_left ? peak.value : left_value;
    }
    return best;
  }
};

}  // namespace bf
