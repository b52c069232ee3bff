#include "aot/check/program.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "aot/check/bounds.h"
#include "aot/check/value.h"

namespace bf_check {
namespace {

const Grid kGrids[] = {{44, 36}, {50, 46}, {50, 48}, {44, 20}, {20, 20}, {8, 8}, {8, 48}, {50, 8}};
constexpr i64 kMostValue = (i64{1} << kValueSize) - 1;

using Random = std::mt19937_64;

i64 between(Random& random, i64 low, i64 high) {
  return std::uniform_int_distribution<i64>(low, high)(random);
}

// A number of MPFR, with many more digits than the checker's.
class Real {
 public:
  Real() { mpfr_init2(x_, 400); }
  Real(const Real& other) : Real() { mpfr_set(x_, other.x_, MPFR_RNDN); }
  Real& operator=(const Real& other) {
    mpfr_set(x_, other.x_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(x_); }

  mpfr_ptr get() { return x_; }

  // A multiple of 2^-bits, |number| < 2^127.
  static Real of(i128 number, unsigned bits) {
    Real made;
    mpfr_set_si(made.x_, static_cast<long>(number >> 64), MPFR_RNDN);
    mpfr_mul_2ui(made.x_, made.x_, 64, MPFR_RNDN);
    mpfr_add_ui(made.x_, made.x_, static_cast<unsigned long>(number), MPFR_RNDN);
    mpfr_div_2ui(made.x_, made.x_, bits, MPFR_RNDN);
    return made;
  }

 private:
  mpfr_t x_;
};

bool is_less(Real x, Real y) {
  return mpfr_less_p(x.get(), y.get()) != 0;
}

double number(Real x) {
  return mpfr_get_d(x.get(), MPFR_RNDN);
}

// x - y, in units of 2^-bits.
double difference(Real x, Real y, unsigned bits) {
  mpfr_sub(x.get(), x.get(), y.get(), MPFR_RNDN);
  mpfr_mul_2ui(x.get(), x.get(), bits, MPFR_RNDN);
  return number(x);
}

Real carried(const Step& step, Real x, Real y) {
  Real made;
  const mpfr_ptr to = made.get();
  switch (step.op) {
    case Op::kConstant:
      mpfr_set_q(to, step.number.get_mpq_t(), MPFR_RNDN);
      break;
    case Op::kAdd:
      mpfr_add(to, x.get(), y.get(), MPFR_RNDN);
      break;
    case Op::kMul:
      mpfr_mul(to, x.get(), y.get(), MPFR_RNDN);
      break;
    case Op::kMax:
      mpfr_max(to, x.get(), y.get(), MPFR_RNDN);
      break;
    case Op::kMin:
      mpfr_min(to, x.get(), y.get(), MPFR_RNDN);
      break;
    case Op::kFloor:
      mpfr_floor(to, x.get());
      break;
    case Op::kRound:
      mpfr_rint(to, x.get(), MPFR_RNDN);
      break;
    case Op::kSign:
      mpfr_set_si(to, mpfr_sgn(x.get()), MPFR_RNDN);
      break;
    case Op::kReciprocal:
      mpfr_ui_div(to, 1, x.get(), MPFR_RNDN);
      break;
    case Op::kExp:
      mpfr_exp(to, x.get(), MPFR_RNDN);
      break;
    case Op::kLog:
      mpfr_log(to, x.get(), MPFR_RNDN);
      break;
    case Op::kSqrt:
      mpfr_sqrt(to, x.get(), MPFR_RNDN);
      break;
    case Op::kSin:
      mpfr_sin(to, x.get(), MPFR_RNDN);
      break;
    case Op::kCos:
      mpfr_cos(to, x.get(), MPFR_RNDN);
      break;
    case Op::kAtan:
      mpfr_atan(to, x.get(), MPFR_RNDN);
      break;
    case Op::kErf:
      mpfr_erf(to, x.get(), MPFR_RNDN);
      break;
    case Op::kSigmoid:
      mpfr_neg(to, x.get(), MPFR_RNDN);
      mpfr_exp(to, to, MPFR_RNDN);
      mpfr_add_ui(to, to, 1, MPFR_RNDN);
      mpfr_ui_div(to, 1, to, MPFR_RNDN);
      break;
    case Op::kArgument:
      break;
  }
  return made;
}

// The program's value; none where it has none.
std::optional<Real> value_at(const Program& program, const Real& argument) {
  std::vector<Real> made;
  for (const Step& step : program.steps()) {
    made.push_back(made.empty() ? argument : carried(step, made[step.a], made[step.b]));
    if (mpfr_number_p(made.back().get()) == 0) return std::nullopt;
  }
  return made[program.result()];
}

Program program_of(Op op) {
  Program program;
  return program.ends_with(program.add(op, 0));
}

// What a smooth function has as arguments, in 2^-80, of all magnitudes.
struct Smooth {
  Op op;
  Range (*at)(i128);
  i128 least, most;  // arguments
  double loosest;    // the distance of bounds, in 2^-80, or of the value by this times 2^-80
};

const Smooth kSmooth[] = {
    {Op::kReciprocal, reciprocal, -kOne << 45, kOne << 45, 2},
    {Op::kExp, exponential, -kOne << 45, 31 * kOne, 2},
    {Op::kLog, [](i128 x) { return narrowed(logarithm(x)); }, 1, kOne << 45, 2},
    {Op::kSqrt, square_root, 0, kOne << 45, 1},
    {Op::kSin,
     [](i128 x) {
       return sine(Range{x, x}, 0);
     },
     -kOne << 14, kOne << 14, 2},
    {Op::kCos,
     [](i128 x) {
       return sine(Range{x, x}, 1);
     },
     -kOne << 14, kOne << 14, 2},
    {Op::kAtan, [](i128 x) { return narrowed(arctangent(x)); }, -kOne << 45, kOne << 45, 2},
    {Op::kErf, error_function, -kOne << 45, kOne << 45, 1 << 26},  // beyond 6 it is 2^-54
    {Op::kSigmoid, sigmoid, -kOne << 45, kOne << 45, 4},
};

TEST(Fixed, functions_lie_between_their_bounds) {
  Random random(1);
  for (const Smooth& each : kSmooth) {
    const auto expect = [&](i128 x) {
      if (x < each.least || x > each.most) return;
      const std::optional<Real> right = value_at(program_of(each.op), Real::of(x, kPlaces));
      if (!right || std::fabs(number(*right)) > 0x1p45) return;
      const Range range = each.at(x);
      const Real low = Real::of(range.low, kPlaces), high = Real::of(range.high, kPlaces);
      const double place = number(Real::of(x, kPlaces));
      EXPECT_FALSE(is_less(*right, low)) << static_cast<int>(each.op) << " " << place;
      EXPECT_FALSE(is_less(high, *right)) << static_cast<int>(each.op) << " " << place;
      EXPECT_LE(difference(high, low, kPlaces),
                each.loosest * std::max(1.0, std::fabs(number(*right))))
          << static_cast<int>(each.op) << " " << place;
    };
    for (int k = 0; k < 2000; ++k) {
      const i128 wide = static_cast<i128>(random()) << 64 | random();
      const i128 x = wide >> between(random, 1, 126);
      for (const i128 at : {x, -x}) expect(at);
    }
    for (const i128 end : {each.least, each.most, 64 * kOne, -64 * kOne, kOne, -kOne, i128{0}})
      for (const i128 x : {end - 1, end, end + 1}) expect(x);
  }
}

// A number between two others times 2^places, which are `most` units apart.
void expect_between(const Real& right, const Range& range, int places, double most) {
  Real low = Real::of(range.low, 0), high = Real::of(range.high, 0);
  for (Real* const each : {&low, &high}) mpfr_mul_2si(each->get(), each->get(), places, MPFR_RNDN);
  EXPECT_FALSE(is_less(right, low));
  EXPECT_FALSE(is_less(high, right));
  EXPECT_LE(static_cast<double>(range.high - range.low), most);
}

// Series hold in the places in which they are summed up: a remainder that is too small shows.
TEST(Fixed, series_lie_between_their_bounds) {
  Random random(7);
  for (int k = 0; k < 20000 && !::testing::Test::HasFailure(); ++k) {
    const i128 wide = static_cast<i128>(random()) << 64 | random();
    const auto below = [&](int bits) { return wide >> between(random, 127 - 80 - bits, 126); };
    const auto right = [](Op op, i128 x) {
      return *value_at(program_of(op), Real::of(x, kPlaces));
    };
    const i128 small = below(5), middle = below(14), x = below(45);
    const Power e = power_of_e(small);
    expect_between(right(Op::kExp, small), {e.low, e.high}, e.power - 112, 320);
    expect_between(right(Op::kSin, middle), sine(middle, 0), -112, 1 << 16);
    expect_between(right(Op::kCos, middle), sine(middle, 1), -112, 1 << 16);
    expect_between(right(Op::kAtan, x), arctangent(x), -112, 48);
    if (x > 0) expect_between(right(Op::kLog, x), logarithm(x), -112, 192);
  }
}

// Ends of an interval whose width and place are of all sizes.
std::pair<i64, i64> interval(Random& random, i64 most) {
  const i64 size = std::min(most, i64{1} << between(random, 0, 53));
  const i64 low = between(random, -size, size), width = between(random, 0, 2 * size);
  const i64 high =
      std::min(most, low + (random() % 4 == 0 ? width >> between(random, 0, 60) : width));
  return {low, high};
}

// Steps that read any others.
Program random_program(Random& random) {
  constexpr Op kAll[] = {Op::kAdd,  Op::kMul,        Op::kMax, Op::kMin,    Op::kFloor, Op::kRound,
                         Op::kSign, Op::kReciprocal, Op::kExp, Op::kLog,    Op::kSqrt,  Op::kSin,
                         Op::kCos,  Op::kAtan,       Op::kErf, Op::kSigmoid};
  Program program;
  u32 last = 0;
  for (std::size_t k = 0, count = 1 + random() % 6; k < count; ++k) {
    const auto step = [&] {
      if (random() % 3 == 0) {
        Rat number(static_cast<long>(random() % 41) - 20, 12);
        number.canonicalize();
        return program.constant(number);
      }
      return random() % 2 == 0 ? last : static_cast<u32>(random() % program.steps().size());
    };
    const u32 a = step(), b = step();
    try {
      last = program.add(kAll[random() % std::size(kAll)], a, b);
    } catch (const Refused&) {  // a constant that has no value
    }
  }
  return program.ends_with(last);
}

// Values and lines of a program hold at all places of an interval. Returns how far the lines are
// apart at its middle, in units of values.
std::optional<double> expect_holds(const Program& program, i64 low, i64 high, const Grid& grid,
                                   Random& random) {
  std::optional<Relaxation> known;
  std::vector<std::pair<Line, int>> lines;
  i128 least = 0, most = 0;
  try {
    known.emplace(program, low, high, grid);
    least = known->least(), most = known->most();
    for (const int sign : {1, -1})
      for (const unsigned place : {0u, 64u, 128u, static_cast<unsigned>(random() % 129)})
        lines.emplace_back(known->line(sign, place), sign);
  } catch (const NotProven&) {
    return std::nullopt;
  }
  std::vector<i64> places = {low, high, std::clamp<i64>(0, low, high)};
  for (int k = 0; k < 20; ++k) places.push_back(between(random, low, high));
  for (i64 k = 0; k <= 32; ++k)
    places.push_back(static_cast<i64>(low + k * (static_cast<i128>(high) - low) / 32));
  for (const i64 z : places) {
    const std::optional<Real> right = value_at(program, Real::of(z, grid.value_bits));
    EXPECT_TRUE(right || !known->is_defined()) << "an undefined function has bounds";
    if (!right) continue;
    EXPECT_FALSE(is_less(*right, Real::of(least, grid.value_bits))) << z;
    EXPECT_FALSE(is_less(Real::of(most, grid.value_bits), *right)) << z;
    for (const auto& [line, sign] : lines) {
      const i128 value =
          static_cast<i128>(line.slope) * z + (static_cast<i128>(line.offset) << grid.weight_bits);
      const Real at = Real::of(value, grid.weight_bits + grid.value_bits);
      EXPECT_FALSE(sign > 0 ? is_less(at, *right) : is_less(*right, at))
          << low << " " << high << " " << z << " " << sign;
    }
  }
  const double middle = (static_cast<double>(low) + static_cast<double>(high)) / 2;
  const Line above = lines[1].first, below = lines[5].first;
  return std::ldexp(static_cast<double>(above.slope - below.slope),
                    -static_cast<int>(grid.weight_bits)) *
             middle +
         static_cast<double>(above.offset - below.offset);
}

TEST(Program, holds_on_intervals) {
  Random random(2);
  std::size_t known = 0;
  for (int round = 0; round < 3000 && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    const Program program = round % 2 == 0 ? random_program(random)
                                           : program_of(kSmooth[random() % std::size(kSmooth)].op);
    const Grid& grid = kGrids[random() % std::size(kGrids)];
    const auto [low, high] = interval(random, std::min(kMostValue, i64{64} << grid.value_bits));
    known += expect_holds(program, low, high, grid, random) ? 1 : 0;
  }
  EXPECT_GT(known, 1000u);
}

// Lines of a smooth function come near it as the square of the width does, and no nearer than
// rounding allows: no mistake that weakens them by more than that escapes.
TEST(Program, has_lines_that_are_near_it) {
  Random random(3);
  const Grid grid;
  const double unit = std::ldexp(1.0, static_cast<int>(grid.value_bits));
  const auto gap = [&](Op op, double low, double high) {
    const auto known = expect_holds(program_of(op), static_cast<i64>(low * unit),
                                    static_cast<i64>(high * unit), grid, random);
    return known ? *known / unit : HUGE_VAL;
  };
  EXPECT_LT(gap(Op::kSigmoid, -0.1, 0.1), 0.00003);
  EXPECT_LT(gap(Op::kSigmoid, 1, 1.1), 0.00013);
  EXPECT_LT(gap(Op::kSigmoid, -3, -2.9), 0.00006);
  EXPECT_LT(gap(Op::kSigmoid, -1, 1), 0.013);
  EXPECT_LT(gap(Op::kSigmoid, -1, 3), 0.13);
  EXPECT_LT(gap(Op::kSigmoid, -8, 8), 0.6);
  for (const Smooth& each : kSmooth) {
    for (const double place : {1.0, 2.5}) {
      const double wide = gap(each.op, place, place + 0.02),
                   narrow = gap(each.op, place, place + 0.0002);
      EXPECT_LT(wide, 3e-4 * std::exp(place)) << static_cast<int>(each.op);
      EXPECT_LT(narrow, wide / 5000 + 8 / unit) << static_cast<int>(each.op);
    }
  }
}

// The value of a rational program at a rational lies in its bounds there.
TEST(Program, is_exact_at_rationals) {
  Random random(4);
  const Grid grid;
  std::size_t tried = 0;
  for (int round = 0; round < 2000; ++round) {
    const Program program = random_program(random);
    if (!program.is_rational()) continue;
    const i64 z = between(random, -i64{1} << 40, i64{1} << 40);
    Rat x(static_cast<long>(z), 1ul << grid.value_bits);
    x.canonicalize();
    try {
      const Rat value = program.exact(x) * (1ul << grid.value_bits);
      const Relaxation known(program, z, z, grid);
      EXPECT_LE(known.least(), to_i128(floor_shifted(value, 0), 120, "a value"));
      EXPECT_GE(known.most(), -to_i128(floor_shifted(-value, 0), 120, "a value"));
      const auto& steps = program.steps();  // one that jumps may do it within the range's rounding
      const bool jumps = std::any_of(steps.begin(), steps.end(), [](const Step& step) {
        return step.op == Op::kFloor || step.op == Op::kRound || step.op == Op::kSign;
      });
      EXPECT_TRUE(jumps || known.most() - known.least() <= 2);
      ++tried;
    } catch (const Refused&) {
    } catch (const NotProven&) {
    }
  }
  EXPECT_GT(tried, 300u);
}

// What depends on one element alone is one function of it.
TEST(Program, composes_by_forms) {
  Work work;
  Builder builder(Grid{}, work);
  const std::vector<u32> x = builder.input({2}).ids;
  const auto affine = [&](u32 element, const Rat& weight, const Rat& bias) {
    builder.begin(0, {});
    builder.term(element, builder.on_grid(weight));
    builder.end_row(bias, weight);
    return builder.end()[0];
  };
  const u32 y = affine(x[0], Rat(1, 3), 2);
  const u32 s = builder.functions_of(program_of(Op::kSigmoid), {y})[0];
  const u32 t = affine(s, -2, 1);
  const std::vector<u32> made = builder.products_of({t, x[0], x[1]}, {x[0], x[1], x[1]});
  const Network network = builder.finish(made, {});
  ASSERT_EQ(network.relaxations.size(), 4u);
  const Kind kinds[] = {Kind::kFunction, Kind::kFunction, Kind::kProduct, Kind::kFunction};
  const u32 arguments[] = {x[0], x[0], x[0], x[1]};
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(network.relaxations[n].kind, kinds[n]) << n;
    EXPECT_EQ(network.relaxations[n].argument, arguments[n]) << n;
    EXPECT_EQ(network.relaxations[n].element, n == 0 ? s : made[n - 1]) << n;
  }
  const Layer& layer = network.layers[4];  // t x_0
  ASSERT_EQ(layer.first, made[0]);
  const std::optional<Real> at_3 = value_at(*layer.program[0], Real::of(3, 0));
  EXPECT_NEAR(number(*at_3), 3 * (1 - 2 / (1 + std::exp(-3.0))), 1e-12);
}

// A random network of sums, ReLUs, functions and products.
Network random_network(Random& random, std::size_t inputs) {
  Work work;
  Builder builder(Grid{}, work);
  std::vector<u32> ids = builder.input({static_cast<i64>(inputs)}).ids;
  for (const std::size_t width : {5, 4, 2}) {
    builder.begin(0, {});
    for (std::size_t row = 0; row < width; ++row) {
      for (const u32 id : ids)
        builder.term(id, builder.on_grid(Rat(between(random, -3 << 20, 3 << 20), 1 << 20)));
      builder.end_row(Rat(between(random, -3 << 20, 3 << 20), 1 << 20));
    }
    ids = builder.end();
    if (width == 2) break;
    const Op functions[] = {Op::kSigmoid, Op::kFloor, Op::kMax};
    Program program = program_of(functions[random() % 3]);
    if (random() % 4 == 0) program.ends_with(program.add(Op::kMul, 0, program.result()));
    const std::vector<u32> others = {ids.rbegin(), ids.rend()};
    switch (random() % 3) {
      case 0:
        ids = builder.relus_of(ids);
        break;
      case 1:
        ids = builder.functions_of(program, ids);
        break;
      default:
        ids = builder.products_of(builder.functions_of(program_of(Op::kSigmoid), ids), others);
    }
  }
  return builder.finish(ids, {});
}

// The values of all elements at a point.
std::vector<double> values_of(const Network& network, std::vector<double> values) {
  for (const Layer& layer : network.layers)
    for (u32 row = 0; row < layer.count && layer.kind != Kind::kInput; ++row) {
      const auto read = [&](u32 k) { return values[layer.column[k]]; };
      double value = std::ldexp(static_cast<double>(layer.bias[row]), -36);
      if (layer.kind == Kind::kAffine)
        for (u32 k = layer.start[row]; k < layer.start[row + 1]; ++k)
          value += std::ldexp(static_cast<double>(layer.weight[k]), -44) * read(k);
      if (layer.kind == Kind::kRelu) value = std::max(read(row), 0.0);
      if (layer.kind == Kind::kProduct) value = read(2 * row) * read(2 * row + 1);
      if (layer.kind == Kind::kFunction) {
        Real at;
        mpfr_set_d(at.get(), read(row), MPFR_RNDN);
        value = number(*value_at(*layer.program[row], at));
      }
      values.push_back(value);
    }
  return values;
}

std::vector<double> point_of(const Part& part, std::size_t inputs, Random& random) {
  std::vector<double> point;
  for (std::size_t i = 0; i < inputs; ++i) {
    const i64 end = random() % 2 == 0 ? part.lower[i] : part.upper[i];
    const i64 place = random() % 3 == 0 ? end : between(random, part.lower[i], part.upper[i]);
    point.push_back(std::ldexp(static_cast<double>(place), -36));
  }
  return point;
}

// Bounds of elements and of sums, on boxes, on parts of them, by lines of a larger part and by
// choices.
TEST(Program, is_bounded_in_networks) {
  Random random(5);
  const double unit = std::ldexp(1.0, -36), slack = 1e-8;
  std::size_t tight = 0, narrow = 0, bounded = 0;
  for (int round = 0; round < 300; ++round) {
    const Network network = random_network(random, 3);
    Work work;
    Bounder bounder(network, 40, work);
    std::vector<Rat> lower, upper;
    const double width = std::ldexp(2.0, -static_cast<int>(random() % 6));
    for (int i = 0; i < 3; ++i) {
      const double middle = static_cast<double>(between(random, -1024, 1024)) / 1024;
      lower.push_back(middle - width / 2), upper.push_back(middle + width / 2);
    }
    Part part = bounder.whole(lower, upper);
    bounder.derive(part);
    for (int step = 0; step < 3; ++step) {
      Sum sum;
      for (u32 element = 0; element < network.elements; ++element)
        if (element + 2 >= network.elements || random() % 4 == 0)
          sum.terms.emplace_back(element, Int(static_cast<long>(between(random, -9, 9))));
      Choices choices;
      if (random() % 2 == 0)
        for (std::size_t n = 0; n < network.relaxations.size(); ++n)
          choices.slope.push_back(random() % 4 == 0 ? kRuleSlope
                                                    : static_cast<unsigned char>(random() % 129));
      std::optional<i128> bound;
      int places = 0;
      for (const unsigned bits : bounder.bits()) {
        places = -36 - static_cast<int>(bits);
        bound = bounder.lower_bound(part, sum, choices, bits);
        if (bound) break;
      }
      if (!bound) continue;  // a coefficient is too large
      ++bounded;
      const double least = std::ldexp(static_cast<double>(*bound), places);
      double found = HUGE_VAL;
      for (int k = 0; k < 60; ++k) {
        const std::vector<double> values = values_of(network, point_of(part, 3, random));
        double value = 0;
        for (const auto& [element, factor] : sum.terms) value += factor.get_d() * values[element];
        EXPECT_GE(value, least - slack) << round << " " << step;
        found = std::min(found, value);
        for (u32 element = 0; element < network.elements; ++element) {
          EXPECT_GE(values[element], static_cast<double>(part.lower[element]) * unit - slack);
          EXPECT_LE(values[element], static_cast<double>(part.upper[element]) * unit + slack);
        }
      }
      if (width < 0.1 && step == 0) ++narrow, tight += found - least < 30 ? 1 : 0;
      // The next part is a half of this one, bounded anew or by the lines of this one.
      (random() % 2 == 0 ? part.lower : part.upper)[static_cast<std::size_t>(step)] =
          (part.lower[static_cast<std::size_t>(step)] +
           part.upper[static_cast<std::size_t>(step)]) /
          2;
      if (random() % 2 == 0) bounder.derive(part);
    }
  }
  EXPECT_GT(tight * 10, narrow * 8);  // bounds say something
  EXPECT_GT(bounded, 850u);
}

// A product's bound is that of McCormick's planes, and exact at their corners.
TEST(Program, bounds_products_by_planes) {
  Random random(6);
  Work work;
  Builder builder(Grid{}, work);
  const std::vector<u32> x = builder.input({2}).ids;
  const u32 product = builder.products_of({x[0]}, {x[1]})[0];
  const Network network = builder.finish({product}, {});
  Bounder bounder(network, 40, work);
  for (int round = 0; round < 500; ++round) {
    std::vector<Rat> lower, upper;
    for (int i = 0; i < 2; ++i) {
      const i64 low = between(random, -64, 64);
      lower.emplace_back(low), upper.emplace_back(low + between(random, 0, 32));
    }
    Part part = bounder.whole(lower, upper);
    bounder.derive(part);
    const long a = between(random, 0, 1) * 2 - 1, b = between(random, -9, 9),
               c = between(random, -9, 9);
    double best = HUGE_VAL, exact = HUGE_VAL;
    for (const Rat& u : {lower[0], upper[0]})
      for (const Rat& v : {lower[1], upper[1]})
        exact = std::min(exact, Rat(a * u * v + b * u + c * v).get_d());
    double most = -HUGE_VAL;
    for (const unsigned char place : {0, 128}) {
      Choices choices;
      choices.slope = {place};
      const Sum sum{{{product, Int(a)}, {x[0], Int(b)}, {x[1], Int(c)}}, 0};
      const double bound =
          std::ldexp(static_cast<double>(*bounder.lower_bound(part, sum, choices, 40)), -76);
      EXPECT_LE(bound, exact);
      most = std::max(most, bound);
    }
    best = most;
    // The envelope of a product is the greater of both planes, whose least value is at a corner.
    EXPECT_GE(best, exact - Rat((upper[0] - lower[0]) * (upper[1] - lower[1])).get_d() / 2 - 1e-6);
  }
}

}  // namespace
}  // namespace bf_check
