#include "planner/functions/float_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <mutex>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/functions/cells.h"
#include "planner/functions/enclosure.h"
#include "planner/functions/function_recipes.h"

namespace bf_aot {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUnit = 0x1p-24;
constexpr double kSecondOrder = 1 + 0x1p-18;  // terms of higher order in kUnit
constexpr double kUnderflow = 0x1p-140;

// Bounds at run time grant a value this much beside the piece's error, relative to the value.
constexpr double kGranted = 4 * kUnit;

// The error of a polynomial that pieces are made for, relative to values, or to the floor where
// they are less. Near a zero it is relative to the piece's larger end.
constexpr double kTarget = 0x1p-27;
constexpr double kFloor = 0x1p-24;
constexpr double kNearZero = 0x1p-6;

// The piece around 0, where functions are 0 or not far from it, and what its polynomial may miss.
constexpr double kWidestMiddle = 0x1p-3;
constexpr double kMiddleError = 0x1p-34;

// The derivative's sign is told down to pieces of this width.
constexpr double kTurnWidth = 0x1p-13;

// A monomial meets a rounding for each factor, of which kGranted pays for this many.
constexpr int kMostFactors = 4;

// Reduced arguments of e^x, and what they miss; see float_power() in the runtime.
constexpr double kMostReduced = 0x1.68p-2;
constexpr double kReducedError = 0x1p-25;

float float_below(double x) {
  const auto nearest = static_cast<float>(x);
  return static_cast<double>(nearest) <= x
             ? nearest
             : std::nextafter(nearest, -std::numeric_limits<float>::infinity());
}

float float_above(double x) {
  return -float_below(-x);
}

struct Bounds {
  double low = kInf, high = -kInf;

  void hold(const Bounds& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
};

Bounds bounds_of(const Interval& x) {
  return {double_below(x), double_above(x)};
}

Bounds line_at(const Piece& piece, double x) {
  if (std::isinf(x)) {
    if (piece.slope != 0)
      return (x > 0) == (piece.slope > 0) ? Bounds{kInf, kInf} : Bounds{-kInf, -kInf};
    x = 0;
  }
  return bounds_of(Interval(piece.intercept) + Interval(piece.slope) * Interval(x) +
                   Interval(-piece.error, piece.error));
}

// Bounds of what Horner's rule in float32 misses, |t| <= width, with products fused into sums or
// not. See docs/proofs/float-functions.md.
double rounding_of(const std::vector<double>& coefficients, double width) {
  double size = 0, error = 0;
  for (std::size_t k = coefficients.size(); k-- > 0;) {
    const double product = width * (size + error);
    const double own = std::fabs(coefficients[k]);
    const bool first = k + 1 == coefficients.size();
    error = first ? 0 : width * error + 2 * kUnit * product + kUnit * (own + product) + 0x1p-149;
    size = own + width * size;
  }
  return error * kSecondOrder;
}

// Makes the table of one function.
class Maker {
 public:
  explicit Maker(const Function& function) { table_.function = function; }

  FloatTable run() {
    const Function& f = table_.function;
    if (f.kind == FunctionKind::kPower)
      monomial(static_cast<int>(f.a));
    else if (f.kind == FunctionKind::kExp)
      exponential();
    else
      pieces();
    return std::move(table_);
  }

 private:
  void monomial(int factors) {
    table_.degree = factors;
    std::vector<double> coefficients(static_cast<std::size_t>(factors) + 1, 0);
    coefficients.back() = 1;
    append(-kInf, 0, coefficients, kUnderflow);
    const bool odd = factors % 2 != 0;
    table_.monotone = odd ? 1 : 0;
    table_.least = odd ? -std::numeric_limits<float>::infinity() : 0;
    table_.most = std::numeric_limits<float>::infinity();
    if (!odd) table_.turns = {{0, 0, 0, 0}};
  }

  void exponential() {
    table_.exponential = true;
    table_.monotone = 1;
    table_.degree = 7;
    table_.most = std::numeric_limits<float>::infinity();
    const Formula formula = formula_of(table_.function);
    const std::vector<double> p = fit(formula, -kMostReduced, kMostReduced, 0);
    const double least = std::exp(-kMostReduced) * 0.999, most = std::exp(kMostReduced) * 1.001;
    const double moved = kReducedError * most * kSecondOrder;
    const double error = missed(formula, p, -kMostReduced, kMostReduced, 0) + moved;
    append(-kInf, 0, p, paid(error, least));
  }

  void pieces() {
    const Pieces made = pieces_of(table_.function);
    table_.monotone = made.monotone;
    table_.degree = std::min(made.degree, 7);
    for (std::size_t i = 0; i < made.pieces.size(); ++i) {
      const double end = i + 1 < made.pieces.size() ? made.pieces[i + 1].start : kInf;
      const Piece& piece = made.pieces[i];
      if (piece.kind == Piece::Kind::kLine)
        line(piece, end);
      else
        smooth(piece.formula ? piece.formula : made.formula, piece.start, end);
    }
    limit();
  }

  // Where slope and intercept are rounded to floats.
  void line(const Piece& piece, double end) {
    std::vector<double> coefficients(static_cast<std::size_t>(table_.degree) + 1, 0);
    coefficients[0] = static_cast<double>(static_cast<float>(piece.intercept));
    double error = piece.error + std::fabs(coefficients[0] - piece.intercept);
    if (piece.slope != 0) {
      coefficients[1] = static_cast<double>(static_cast<float>(piece.slope));
      error += 2 * kUnit * std::fabs(coefficients[0]);
    }
    append(piece.start, 0, coefficients, error * kSecondOrder + kUnderflow);
    const Bounds first = line_at(piece, piece.start), last = line_at(piece, end);
    border(piece.start, first);
    border(end, last);
    range_.hold(first);
    range_.hold(last);
    if (piece.slope == 0 && piece.error > 0 && table_.monotone == 0) {
      Bounds all = first;
      all.hold(last);
      turn(piece.start, end, all);
    }
  }

  void smooth(const Formula& f, double start, double end) {
    const auto value_at = [&](double x) { return bounds_of(f(Interval(x), 0)[0]); };
    for (const double x : {start, end}) {
      border(x, value_at(x));
      range_.hold(value_at(x));
    }
    if (table_.monotone == 0) find_turns(f, start, end);
    double middle = kWidestMiddle;
    if (start >= -middle || end <= middle) return cover(f, start, end);
    while (approximation(f, -middle, middle) > kMiddleError) middle /= 2;
    cover(f, start, -middle);
    add(f, -middle, middle);
    cover(f, middle, end);
  }

  // Cuts [start, end] into pieces that are each as wide as the target allows, about.
  void cover(const Formula& f, double start, double end) {
    double width = 0.5;
    while (start < end) {
      const auto end_of = [&](double w) {
        return end - start <= 1.2 * w ? end : static_cast<double>(float_above(start + w));
      };
      const auto fits = [&](double w) {
        return approximation(f, start, end_of(w)) <= allowed(f, start, end_of(w));
      };
      for (width *= 1.5; !fits(width);) width *= 0.8;
      BF_CHECK(end_of(width) > start);
      add(f, start, end_of(width));
      start = end_of(width);
    }
  }

  static double allowed(const Formula& f, double start, double end) {
    const double left = size_at(f, start), right = size_at(f, end);
    const double least = std::min(left, right), most = std::max(left, right);
    return kTarget * std::max({least, kNearZero * most, kFloor});
  }

  static double size_at(const Formula& f, double x) {
    return mpfr_get_d(magnitude(f(Interval(x), 0)[0]), MPFR_RNDN);
  }

  static double origin_of(double start, double end) {
    if (start <= 0 && end >= 0) return 0;
    return static_cast<double>(static_cast<float>(start / 2 + end / 2));
  }

  // Returns about how far the polynomial is from f before its coefficients are rounded.
  double approximation(const Formula& f, double start, double end) const {
    return sampled_error(f, interpolate(f, start, end, start, table_.degree), start, end, start);
  }

  // The polynomial in x - origin, whose coefficients are floats. f(0) = 0 stays so.
  std::vector<double> fit(const Formula& f, double start, double end, double origin) const {
    std::vector<double> made = interpolate(f, start, end, origin, table_.degree);
    for (double& c : made) c = static_cast<double>(static_cast<float>(c));
    if (origin == 0 && size_at(f, 0) == 0) made[0] = 0;
    return made;
  }

  // Bounds of |f - p| over the piece, p as it is evaluated.
  static double missed(const Formula& f, const std::vector<double>& p, double start, double end,
                       double origin) {
    const CellError error = cell_error(f, p, origin, start, end, 0x1p-40);
    const double width = std::max(origin - start, end - origin) * kSecondOrder;
    return double_above({error.value, error.value}) + rounding_of(p, width) + kUnderflow;
  }

  // The error that a piece keeps where values are at least `least`.
  static double paid(double error, double least) {
    return std::max(error * kSecondOrder - kGranted * std::max(least - error, 0.0), kUnderflow);
  }

  void add(const Formula& f, double start, double end) {
    const double origin = origin_of(start, end);
    const std::vector<double> p = fit(f, start, end, origin);
    append(start, origin, p, paid(missed(f, p, start, end, origin), least_size(f, start, end)));
  }

  // A lower bound of |f| over the piece: of its ends where it does not turn.
  static double least_size(const Formula& f, double start, double end) {
    if (slope_sign(f, start, end) == 0) return 0;
    const Bounds left = bounds_of(f(Interval(start), 0)[0]);
    const Bounds right = bounds_of(f(Interval(end), 0)[0]);
    if (left.low > 0 && right.low > 0) return std::min(left.low, right.low);
    if (left.high < 0 && right.high < 0) return std::min(-left.high, -right.high);
    return 0;
  }

  // Returns the sign that f' has on all of [start, end], or 1 where f is constant; 0: it is not
  // told. A slope that is 0 at an end alone is not told: two intervals that share the end could
  // else have both signs, with the turn between them in neither.
  static int slope_sign(const Formula& f, double start, double end) {
    const double middle = start / 2 + end / 2;
    const Interval across = Interval(start, end) - Interval(middle);
    const Interval slope =
        f(Interval(middle), 1)[1] + Interval(2) * f(Interval(start, end), 2)[2] * across;
    const Bounds at = bounds_of(slope);
    if (at.low == 0 && at.high == 0) return 1;  // constant
    return at.low > 0 ? 1 : at.high < 0 ? -1 : 0;
  }

  void find_turns(const Formula& f, double start, double end) {
    const double middle = start / 2 + end / 2;
    if (slope_sign(f, start, end) != 0) return;
    if (end - start > kTurnWidth && start < middle && middle < end) {
      find_turns(f, start, middle);
      find_turns(f, middle, end);
      return;
    }
    const Interval across = Interval(start, end) - Interval(middle);
    const Interval slope = f(Interval(start, end), 1)[1];
    turn(start, end, bounds_of(f(Interval(middle), 0)[0] + slope * across));
  }

  void border(double x, const Bounds& value) {
    if (table_.monotone == 0 && std::isfinite(x)) turn(x, x, value);
  }

  void turn(double from, double to, const Bounds& value) {
    range_.hold(value);
    const FloatTableTurn made = {float_below(from), float_above(to), float_below(value.low),
                                 float_above(value.high)};
    std::vector<FloatTableTurn>& all = table_.turns;
    if (!all.empty() && all.back().from <= made.to && made.from <= all.back().to)
      join(made, all.back());
    else
      all.push_back(made);
  }

  static void join(const FloatTableTurn& from, FloatTableTurn& to) {
    to = {std::min(from.from, to.from), std::max(from.to, to.to), std::min(from.low, to.low),
          std::max(from.high, to.high)};
  }

  // Where no float begins a piece, as between two doubles beside each other, the next one replaces
  // it.
  void append(double start, double origin, const std::vector<double>& coefficients, double error) {
    const float first = float_above(start);
    if (!table_.starts.empty() && table_.starts.back() == first) {
      table_.starts.pop_back();
      table_.origins.pop_back();
      table_.errors.pop_back();
      table_.coefficients.resize(table_.coefficients.size() - coefficients.size());
    }
    table_.starts.push_back(first);
    table_.origins.push_back(static_cast<float>(origin));
    for (const double c : coefficients) table_.coefficients.push_back(static_cast<float>(c));
    table_.errors.push_back(float_above(error));
  }

  // Extremes are taken at ends of pieces, at turns, and where lines end.
  void limit() {
    table_.least = float_below(range_.low);
    table_.most = float_above(range_.high);
  }

  FloatTable table_;
  Bounds range_;
};

// The value of a piece at one of its ends, as continued from inside.
Bounds value_at(const Piece& piece, const Formula& common, double x) {
  if (piece.kind == Piece::Kind::kLine) return line_at(piece, x);
  return bounds_of((piece.formula ? piece.formula : common)(Interval(x), 0)[0]);
}

// Returns true if no two pieces beside each other are known to differ where they meet.
bool is_continuous(const Pieces& made) {
  for (std::size_t i = 1; i < made.pieces.size(); ++i) {
    const double x = made.pieces[i].start;
    const Bounds left = value_at(made.pieces[i - 1], made.formula, x);
    const Bounds right = value_at(made.pieces[i], made.formula, x);
    if (left.low > right.high || right.low > left.high) return false;
  }
  return true;
}

bool is_usual_line(const Piece& piece) {
  const double slope = std::fabs(piece.slope);
  return (slope == 0 || (slope > 0x1p-60 && slope < 0x1p60)) &&
         std::fabs(piece.intercept) < 0x1p60 && piece.error < 0x1p60;
}

// Lines at both ends, and between them nothing that has no bounds.
bool has_usual_pieces(const std::vector<Piece>& list) {
  const auto usual = [](const Piece& piece) {
    return piece.kind == Piece::Kind::kSmooth ||
           (piece.kind == Piece::Kind::kLine && is_usual_line(piece));
  };
  return !list.empty() && list.front().kind == Piece::Kind::kLine &&
         list.back().kind == Piece::Kind::kLine && std::ranges::all_of(list, usual);
}

FloatTable computed(const Function& function) {
  BF_CHECK(has_float_table(function));
  return Maker(function).run();
}

}  // namespace

std::int64_t FloatTable::bytes() const {
  const auto size = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  return 4 * (size(starts) + size(origins) + size(coefficients) + size(errors)) + 16 * size(turns);
}

bool has_float_table(const Function& function) {
  if (function.kind == FunctionKind::kExp) return true;
  if (function.kind == FunctionKind::kPower)
    return function.a >= 2 && function.a <= kMostFactors && function.a == std::floor(function.a);
  if (recipe_of(function.kind).pieces == nullptr) return false;
  const Pieces made = pieces_of(function);
  return has_usual_pieces(made.pieces) && is_continuous(made);
}

FloatTable make_float_table(const Function& function) {
  static std::mutex mutex;
  static std::vector<FloatTable> kept;
  constexpr std::size_t kMostKept = 64;
  const std::lock_guard lock(mutex);
  const auto found = std::ranges::find(kept, function, &FloatTable::function);
  if (found != kept.end()) return *found;
  FloatTable made = computed(function);
  if (kept.size() < kMostKept) kept.push_back(made);
  return made;
}

}  // namespace bf_aot
