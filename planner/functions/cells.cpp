#include "planner/functions/cells.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"
#include "planner/functions/enclosure.h"

namespace bf_aot {

namespace {

RunKind kind_of(const Interval& second) {
  if (mpfr_sgn(static_cast<mpfr_srcptr>(second.low)) >= 0) return RunKind::kConvex;
  if (mpfr_sgn(static_cast<mpfr_srcptr>(second.high)) <= 0) return RunKind::kConcave;
  return RunKind::kMixed;
}

void append(std::vector<Segment>& segments, RunKind kind, double start, double end) {
  if (!segments.empty() && segments.back().kind == kind) {
    segments.back().end = end;
  } else {
    segments.push_back({kind, start, end, 0});
  }
}

// max|f''| (end - start)^2 / 8: f minus its chord vanishes at both ends of the chord, and the
// parabola with that second derivative is above it.
double chord_slack(const Interval& second, double start, double end) {
  const Interval width = Interval(end) - Interval(start);
  const Real most = magnitude(second);
  return double_above(Interval(most, most) * width * width * Interval(0.125));
}

// Where numbers of a formula have errors, its values at points are intervals: nothing is nearer to
// it than that.
double width_at(const Formula& f, double x) {
  const Interval value = f(Interval(x), 0)[0];
  return double_above(value - value);
}

// Inflection points end in segments that miss their chords by this or less, or by no more than what
// is unknown of the value.
constexpr double kMixedSlack = 0x1p-44;

void split(const Formula& f, double start, double end, std::vector<Segment>& segments) {
  const Interval second = curvature(f, start, end);
  const RunKind kind = kind_of(second);
  const double middle = start / 2 + end / 2;
  const auto is_small = [&](double slack) {
    return slack <= kMixedSlack || slack <= width_at(f, middle);
  };
  if (kind != RunKind::kMixed || !(start < middle && middle < end) ||
      is_small(chord_slack(second, start, end)))
    return append(segments, kind, start, end);
  split(f, start, middle, segments);
  split(f, middle, end, segments);
}

// ---- polynomials

double value_at(const Formula& f, double x, Real& value) {
  value = middle(f(Interval(x), 0)[0]);
  return mpfr_get_d(value, MPFR_RNDN);
}

// Chebyshev nodes of [start, end].
std::vector<double> nodes_of(double start, double end, int count) {
  std::vector<double> nodes;
  for (int i = 0; i < count; ++i) {
    Real angle;
    mpfr_const_pi(angle, MPFR_RNDN);
    mpfr_mul_si(angle, angle, 2 * i + 1, MPFR_RNDN);
    mpfr_div_si(angle, angle, 2 * count, MPFR_RNDN);
    mpfr_cos(angle, angle, MPFR_RNDN);
    const double place = mpfr_get_d(angle, MPFR_RNDN);
    nodes.push_back(start / 2 + end / 2 - (end / 2 - start / 2) * place);
  }
  return nodes;
}

}  // namespace

std::vector<double> interpolate(const Formula& f, double start, double end, double origin,
                                int degree) {
  const std::vector<double> nodes = nodes_of(start, end, degree + 1);
  const std::size_t count = nodes.size();
  std::vector<Real> differences(count);
  for (std::size_t i = 0; i < count; ++i) value_at(f, nodes[i], differences[i]);
  Real gap;
  for (std::size_t level = 1; level < count; ++level)
    for (std::size_t i = count - 1; i >= level; --i) {
      mpfr_sub(differences[i], differences[i], differences[i - 1], MPFR_RNDN);
      mpfr_set_d(gap, nodes[i], MPFR_RNDN);
      mpfr_sub_d(gap, gap, nodes[i - level], MPFR_RNDN);
      mpfr_div(differences[i], differences[i], gap, MPFR_RNDN);
    }
  std::vector<Real> power(count);
  for (std::size_t i = count; i-- > 0;) {  // power = power (t - node_i) + differences_i
    mpfr_set_d(gap, nodes[i], MPFR_RNDN);
    mpfr_sub_d(gap, gap, origin, MPFR_RNDN);
    for (std::size_t k = count - 1; k > 0; --k) {
      Real product;
      mpfr_mul(product, power[k], gap, MPFR_RNDN);
      mpfr_sub(power[k], power[k - 1], product, MPFR_RNDN);
    }
    mpfr_mul(power[0], power[0], gap, MPFR_RNDN);
    mpfr_sub(power[0], differences[i], power[0], MPFR_RNDN);
  }
  std::vector<double> made;
  for (const Real& coefficient : power) made.push_back(mpfr_get_d(coefficient, MPFR_RNDN));
  return made;
}

double sampled_error(const Formula& f, const std::vector<double>& coefficients, double start,
                     double end, double origin) {
  double worst = 0;
  Real value, sum;
  for (double x : nodes_of(start, end, static_cast<int>(coefficients.size()) + 1)) {
    value_at(f, x, value);
    mpfr_set_zero(sum, 1);
    for (std::size_t k = coefficients.size(); k-- > 0;) {
      mpfr_mul_d(sum, sum, x - origin, MPFR_RNDN);
      mpfr_add_d(sum, sum, coefficients[k], MPFR_RNDN);
    }
    mpfr_sub(sum, sum, value, MPFR_RNDN);
    worst = std::max(worst, std::fabs(mpfr_get_d(sum, MPFR_RNDN)));
  }
  return worst;
}

namespace {

struct Cell {
  std::vector<double> coefficients;
  double value_error = 0, slope_error = 0;
};

double below_float_range(double x) {
  return std::max(x, 0x1p-140);
}

// Horner's rule with derivatives in double, t = fl(x - start): a coefficient c_k meets k roundings
// of t, and at most 2 degree + 2 products and sums in the value or in one of the k paths by which
// it enters the slope. So the results miss at most g S and g S', g = (3 degree + 6) v, of
//   S = sum |c_k| w^k,  S' = sum k |c_k| w^(k-1),
// and the factor 1 + 2^-20 covers second-order terms and the rounding of g S itself. Underflow is
// less than the 2^-140 that `below_float_range` grants.
void add_rounding(double width, Cell& cell) {
  double value = 0, slope = 0, power = 1, lower_power = 0;
  int k = 0;
  for (double c : cell.coefficients) {
    value += std::fabs(c) * power;
    slope += k * std::fabs(c) * lower_power;
    lower_power = power;
    power *= width;
    ++k;
  }
  const double unit = (3 * k + 6) * 0x1p-53 * (1 + 0x1p-20);
  cell.value_error = below_float_range((cell.value_error + unit * value) * (1 + 0x1p-40));
  cell.slope_error = below_float_range((cell.slope_error + unit * slope) * (1 + 0x1p-40));
}

Cell make_cell(const Formula& f, double start, double end, int degree, double negligible) {
  Cell cell;
  cell.coefficients = interpolate(f, start, end, start, degree);
  const CellError error = cell_error(f, cell.coefficients, start, start, end, negligible);
  cell.value_error = double_above({error.value, error.value});
  cell.slope_error = double_above({error.slope, error.slope});
  add_rounding(end - start, cell);
  return cell;
}

double allowed_at(const Formula& f, const CellTarget& target, double start, double end) {
  Real value;
  const double left = value_at(f, start, value);
  const double right = value_at(f, end, value);
  const double least = (left < 0) == (right < 0) ? std::min(std::fabs(left), std::fabs(right)) : 0;
  const double width =
      std::max({width_at(f, start), width_at(f, start / 2 + end / 2), width_at(f, end)});
  return std::max(target.relative * std::max(least, target.floor), 16 * width);
}

float float_above(double x) {
  const float nearest = static_cast<float>(x);
  return static_cast<double>(nearest) >= x
             ? nearest
             : std::nextafter(nearest, std::numeric_limits<float>::infinity());
}

void append(FunctionTable& table, const Cell& cell, double end) {
  const auto size = static_cast<std::size_t>(table.degree) + 1;
  table.coefficients.insert(table.coefficients.end(), cell.coefficients.begin(),
                            cell.coefficients.end());
  table.coefficients.resize(table.coefficients.size() + size - cell.coefficients.size());
  table.errors.push_back(float_above(cell.value_error));
  table.slope_errors.push_back(float_above(cell.slope_error));
  table.starts.push_back(end);
}

}  // namespace

std::vector<Segment> split_by_curvature(const Formula& f, double start, double end) {
  std::vector<Segment> segments;
  split(f, start, end, segments);
  for (Segment& segment : segments)
    if (segment.kind == RunKind::kMixed)
      segment.slack =
          chord_slack(curvature(f, segment.start, segment.end), segment.start, segment.end);
  return segments;
}

// Greedy: each cell as wide as its error allows, found by growing and shrinking the last width by
// what samples say; then the error is proven.
void append_cells(const Formula& f, double start, double end, int degree, const CellTarget& target,
                  FunctionTable& table) {
  if (table.starts.empty()) table.starts.push_back(start);
  BF_CHECK(table.starts.back() == start);
  double width = std::min(end - start, 0.5);
  while (start < end) {
    const auto end_of = [&](double w) { return end - start <= w * 1.2 ? end : start + w; };
    const auto fits = [&](double w) {
      const std::vector<double> p = interpolate(f, start, end_of(w), start, degree);
      return sampled_error(f, p, start, end_of(w), start) <=
             allowed_at(f, target, start, end_of(w)) * 0.9;
    };
    const auto too_narrow = [&](double w) { return w < 0x1p-50 * std::fabs(start); };
    if (fits(width)) {
      while (end_of(width) < end && fits(width * 1.3)) width *= 1.3;
    } else {
      while (!fits(width) && !too_narrow(width)) width *= 0.8;
    }
    for (;; width *= 0.9) {
      const double last = end_of(width);
      BF_CHECK(last > start);
      const double allowed = allowed_at(f, target, start, last);
      const Cell cell = make_cell(f, start, last, degree, allowed / 16);
      if (!(cell.value_error <= allowed) && !too_narrow(width)) continue;
      append(table, cell, last);
      width = last - start;
      start = last;
      break;
    }
  }
}

}  // namespace bf_aot
