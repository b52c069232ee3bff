#include "planner/functions/function_recipes.h"

#include <array>
#include <limits>

#include "frontend/diagnostic.h"
#include "frontend/functions/composite/composite.h"
#include "frontend/functions/function_facts.h"
#include "planner/functions/composites.h"
#include "planner/functions/formulas.h"

namespace bf_aot {

namespace {

using pieces::above;
using pieces::after;
using pieces::below;
using pieces::between;
using pieces::kNearEnd;
using pieces::line;
using pieces::List;
using pieces::smooth;
using pieces::unknown;
using pieces::with_tails;

constexpr double kInf = std::numeric_limits<double>::infinity();

// A function that grows like a logarithm is bounded by constants from here on, one for each two
// octaves; floats end at 2^128.
constexpr double kFar = 0x1p40;
constexpr double kOctaves = 4;

// The pieces of a function that goes from -1 or 0 at the left to 1 at the right.
template <int kLeft>
List between_limits(const Function&, const Formula& t) {
  return with_tails(t, kLeft, 1, 1, 0, -1);
}

// 0 at the left, x at the right, both from below.
List below_relu(const Function&, const Formula& t) {
  return with_tails(t, 0, -1, 0, 1, -1);
}

// Both ends of the smooth piece are its own: intervals beyond them are turned into it.
List wave(const Function&, const Formula&) {
  Piece above = line(50, 0, 0, 1);
  above.open = true;
  return {line(-kInf, 0, 0, 1), smooth(-50), above};
}

// The value of a function at a point of a smooth piece, rounded down and up.
double floor_at(const Formula& t, double x) {
  return double_below(t(Interval(x), 0)[0]);
}
double ceiling_at(const Formula& t, double x) {
  return double_above(t(Interval(x), 0)[0]);
}

// A rising function from kFar on.
void add_far(const Formula& t, List& list) {
  for (double x = kFar; x < 0x1p128; x *= kOctaves)
    list.push_back(between(x, floor_at(t, x), ceiling_at(t, kOctaves * x)));
  list.push_back(above(0x1p128, floor_at(t, 0x1p128)));
}

// The same before -kFar.
List far_below(const Formula& t) {
  List list = {below(-kInf, ceiling_at(t, -0x1p128))};
  for (double x = 0x1p128; x > kFar; x /= kOctaves)
    list.push_back(between(-x, floor_at(t, -x), ceiling_at(t, -x / kOctaves)));
  return list;
}

// sinh and cosh from 90 on, and before -90.
List exponential_growth(const Function& f, const Formula& t) {
  const bool even = f.kind == FunctionKind::kCosh;
  const double most = floor_at(t, 90);
  return {even ? above(-kInf, most) : below(-kInf, ceiling_at(t, -90)), smooth(-90),
          above(90, most)};
}

// pi/2 - 1/x < atan x < pi/2
List arc_tangent(const Function&, const Formula&) {
  const double right_angle = double_above(pi()) / 2;
  return {between(-kInf, -right_angle, -right_angle + 0x1.1p-30), smooth(-0x1p30),
          between(0x1p30, right_angle - 0x1.1p-30, right_angle)};
}

using F = const Function&;
using T = const Formula&;
using X = const Series&;

// A row for each kind, in the order of the enumeration.
constexpr std::array<FunctionRecipe, kFunctionKinds> kRecipes = {
    {
        {.kind = FunctionKind::kLeakyRelu,
         .pieces = [](F f, T) -> List {
           return {line(-kInf, 0, f.a), line(0, 0, 1)};
         }},
        {.kind = FunctionKind::kAbs,
         .pieces = [](F, T) -> List {
           return {line(-kInf, 0, -1), line(0, 0, 1)};
         }},
        {.kind = FunctionKind::kClip, .pieces = [](F f, T) { return pieces::clip(f.a, f.b); }},
        {.kind = FunctionKind::kHardSigmoid,
         .pieces = [](F f, T) { return pieces::hard_sigmoid(f.a, f.b); }},
        {.kind = FunctionKind::kThresholdedRelu,
         .pieces = [](F f, T) -> List {
           return {line(-kInf, 0, 0), after(f.a, 0, 1)};
         }},
        {.kind = FunctionKind::kShrink, .pieces = [](F f, T) { return pieces::shrink(f.a, f.b); }},

        {.kind = FunctionKind::kSign,
         .pieces = [](F, T) -> List {
           return {line(-kInf, -1, 0), line(0, 0, 0), after(0, 1, 0)};
         }},
        {.kind = FunctionKind::kStep,
         .pieces = [](F, T) -> List {
           return {line(-kInf, 0, 0), after(0, 1, 0)};
         }},
        {.kind = FunctionKind::kStepAt,
         .pieces = [](F, T) -> List {
           return {line(-kInf, 0, 0), line(0, 1, 0)};
         }},
        {.kind = FunctionKind::kFloor,
         .table = [](F f) { return staircase(f, FunctionForm::kFloor, 1); }},
        {.kind = FunctionKind::kCeil,
         .table = [](F f) { return staircase(f, FunctionForm::kCeil, 1); }},
        {.kind = FunctionKind::kRound,
         .table = [](F f) { return staircase(f, FunctionForm::kRound, f.a); }},
        {.kind = FunctionKind::kQuantise,
         .table =
             [](F f) {
               FunctionTable table = staircase(f, FunctionForm::kRound, f.a);
               table.lowest = f.b;
               table.highest = f.c;
               table.slack = f.slack;
               return table;
             }},
        {.kind = FunctionKind::kIsZero,
         .pieces = [](F, T) -> List {
           return {line(-kInf, 0, 0), line(0, 1, 0), after(0, 0, 0)};
         }},

        {.kind = FunctionKind::kSigmoid,
         .pieces = between_limits<0>,
         .series = [](F, X x) { return sigmoid(x); }},
        {.kind = FunctionKind::kTanh,
         .pieces = between_limits<-1>,
         .series = [](F, X x) { return hyperbolic_tangent(x); }},
        {.kind = FunctionKind::kSoftplus,
         .pieces = [](F, T t) { return with_tails(t, 0, 1, 0, 1, 1); },
         .series = [](F, X x) { return softplus(x); }},
        // 1 - 1 / (1 + |x|)
        {.kind = FunctionKind::kSoftsign,
         .pieces = [](F, T) -> List {
           return {between(-kInf, -1, -1 + 0x1p-30), smooth(-0x1p30), smooth(0),
                   between(0x1p30, 1 - 0x1p-30, 1)};
         },
         .series = [](F, X x) { return softsign(x); }},
        {.kind = FunctionKind::kElu,
         .pieces = [](F f, T) { return pieces::elu(f.a, 1, 1); },
         .series = [](F f, X x) { return scaled_expm1(x, Interval(f.a), Interval(1)); }},
        {.kind = FunctionKind::kCelu,
         .pieces = [](F f, T) { return pieces::elu(f.a, f.a, 1); },
         .series = [](F f, X x) { return scaled_expm1(x, Interval(f.a), Interval(f.a)); }},
        {.kind = FunctionKind::kSelu,
         .pieces = [](F f, T) { return pieces::elu(f.a * f.b, 1, f.b); },
         .series = [](F f,
                      X x) { return scaled_expm1(x, Interval(f.a) * Interval(f.b), Interval(1)); }},
        {.kind = FunctionKind::kHardSwish,
         .pieces = [](F, T) -> List {
           return {line(-kInf, 0, 0), smooth(-3), line(3, 0, 1)};
         },
         .series = [](F, X x) { return x * ((Interval(1) / Interval(6)) * x + Interval(0.5)); },
         .degree = 2},
        {.kind = FunctionKind::kGelu,
         .pieces = below_relu,
         .series = [](F, X x) { return gelu(x); }},
        {.kind = FunctionKind::kGeluTanh,
         .pieces = below_relu,
         .series = [](F, X x) { return gelu_tanh(x); }},
        {.kind = FunctionKind::kMish,
         .pieces = below_relu,
         .series = [](F, X x) { return x * hyperbolic_tangent(softplus(x)); }},
        {.kind = FunctionKind::kErf,
         .pieces = between_limits<-1>,
         .series = [](F, X x) { return arc(x, mpfr_erf, gauss); }},
        {.kind = FunctionKind::kExp,
         .series = [](F, X x) { return exponential(x); },
         .table = exponential_table},
        {.kind = FunctionKind::kCappedExp,
         .series = [](F, X x) { return exponential(x); },
         .table = capped_exponential_table},
        {.kind = FunctionKind::kSin, .pieces = wave, .series = [](F, X x) { return sine(x); }},
        {.kind = FunctionKind::kCos, .pieces = wave, .series = [](F, X x) { return cosine(x); }},
        {.kind = FunctionKind::kAtan,
         .pieces = arc_tangent,
         .series =
             [](F, X x) {
               return arc(x, mpfr_atan, [](X u) { return power(one_plus_square(u, 1), -1); });
             }},
        {.kind = FunctionKind::kSinh,
         .pieces = exponential_growth,
         .series = [](F, X x) { return hyperbolic(x, -1, mpfr_sinh); }},
        {.kind = FunctionKind::kCosh,
         .pieces = exponential_growth,
         .series = [](F, X x) { return hyperbolic(x, 1, nullptr); }},
        {.kind = FunctionKind::kAsinh,
         .pieces = [](F, T t) -> List {
           List list = far_below(t);
           list.push_back(smooth(-kFar));
           add_far(t, list);
           return list;
         },
         .series =
             [](F, X x) {
               return arc(x, mpfr_asinh, [](X u) { return inverse_root(one_plus_square(u, 1)); });
             }},

        {.kind = FunctionKind::kLog,
         .series = [](F, X x) { return arc(x, mpfr_log, [](X u) { return power(u, -1); }); },
         .table = logarithm_table},
        {.kind = FunctionKind::kSqrt,
         .series = [](F, X x) { return power(x, 0.5); },
         .table = [](F f) { return table_of_power(f, 0.5); }},
        {.kind = FunctionKind::kReciprocal,
         .series = [](F, X x) { return power(x, -1); },
         .table = [](F f) { return table_of_power(f, -1); }},
        {.kind = FunctionKind::kPower,
         .series = [](F f, X x) { return power(x, f.a); },
         .table = [](F f) { return table_of_power(f, f.a); }},
        {.kind = FunctionKind::kTan,
         .pieces = [](F, T) { return pieces::tangent_periods(); },
         .series = [](F, X x) { return tangent(x); }},
        {.kind = FunctionKind::kAsin,
         .pieces = [](F, T t) { return pieces::arc_sine(t, false); },
         .series =
             [](F, X x) {
               return arc(x, mpfr_asin, [](X u) { return inverse_root(one_plus_square(u, -1)); });
             }},
        {.kind = FunctionKind::kAcos,
         .pieces = [](F, T t) { return pieces::arc_sine(t, true); },
         .series =
             [](F, X x) {
               return integral(decreasing(mpfr_acos, x[0]),
                               Interval(-1) * inverse_root(one_plus_square(x, -1)), x);
             }},
        // acosh(1 + d) < sqrt(2 d)
        {.kind = FunctionKind::kAcosh,
         .pieces = [](F, T t) -> List {
           List list = {unknown(-kInf), between(1, 0, 0x1.8p-22), smooth(1 + kNearEnd)};
           add_far(t, list);
           return list;
         },
         .series =
             [](F, X x) {
               return arc(x, mpfr_acosh, [](X u) { return inverse_root(u * u + Interval(-1)); });
             }},
        {.kind = FunctionKind::kAtanh,
         // Its ends stand for the limits there.
         .pieces = [](F, T t) -> List {
           const double first = -1 + 0x1p-30, last = 1 - 0x1p-30;
           return {unknown(-kInf), below(-1, ceiling_at(t, first)), smooth(first),
                   above(last, floor_at(t, last)), unknown(1, true)};
         },
         .series =
             [](F, X x) {
               return arc(x, mpfr_atanh, [](X u) { return power(one_plus_square(u, -1), -1); });
             }},
    }};

constexpr bool each_kind_has_its_row() {
  for (std::size_t i = 0; i < kRecipes.size(); ++i) {
    const FunctionRecipe& row = kRecipes[i];
    if (row.kind != static_cast<FunctionKind>(i)) return false;
    if ((row.pieces != nullptr) != (row.table == table_of_pieces)) return false;
  }
  return true;
}
static_assert(each_kind_has_its_row(), "a FunctionKind without its row, or pieces without use");

constexpr FunctionRecipe kCompositeRecipe = {
    .kind = FunctionKind::kComposite,
    .pieces = [](F f, T) { return pieces::of_composite(*f.composite); }};

int sign_of(Monotony monotony) {
  switch (monotony) {
    case Monotony::kRises:
      return 1;
    case Monotony::kFalls:
      return -1;
    case Monotony::kNone:
    case Monotony::kEachSide:
      return 0;
  }
  return 0;
}

}  // namespace

const FunctionRecipe& recipe_of(FunctionKind kind) {
  if (kind == FunctionKind::kComposite) return kCompositeRecipe;
  const auto index = static_cast<std::size_t>(kind);
  BF_CHECK(index < kRecipes.size());
  return kRecipes[index];
}

Formula formula_of(const Function& function) {
  const auto series = recipe_of(function.kind).series;
  BF_CHECK(series != nullptr);
  return [=](const Interval& x, int order) { return series(function, variable(x, order)); };
}

Pieces pieces_of(const Function& function) {
  const FunctionRecipe& recipe = recipe_of(function.kind);
  BF_CHECK(recipe.pieces != nullptr);
  Pieces made;
  made.degree = recipe.series != nullptr ? recipe.degree : 1;
  if (recipe.series != nullptr) made.formula = formula_of(function);
  if (function.composite != nullptr) made.degree = function.composite->degree();
  made.pieces = recipe.pieces(function, made.formula);
  made.monotone = sign_of(facts_of(function.kind).monotony(function));
  pieces::drop_empty(made.pieces);
  return made;
}

}  // namespace bf_aot
