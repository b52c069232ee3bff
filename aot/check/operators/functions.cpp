#include <optional>

#include "aot/check/operators/rows.h"

// Functions of each element, and what is made of functions and products.

namespace bf_check {
namespace {

// A step of a program that is made.
struct Term {
  Program* program;
  u32 step;

  Term number(const Rat& x) const { return {program, program->constant(x)}; }
};

Term of(Op op, Term x) {
  return {x.program, x.program->add(op, x.step)};
}
Term of(Op op, Term x, Term y) {
  return {x.program, x.program->add(op, x.step, y.step)};
}
Term operator+(Term x, Term y) {
  return of(Op::kAdd, x, y);
}
Term operator+(Term x, const Rat& y) {
  return x + x.number(y);
}
Term operator*(Term x, Term y) {
  return of(Op::kMul, x, y);
}
Term operator*(const Rat& x, Term y) {
  return y.number(x) * y;
}
Term max(Term x, Term y) {
  return of(Op::kMax, x, y);
}
Term min(Term x, Term y) {
  return of(Op::kMin, x, y);
}
Term max(Term x, const Rat& y) {
  return max(x, x.number(y));
}
Term min(Term x, const Rat& y) {
  return min(x, x.number(y));
}

template <class Make>
Program program_of(const Make& make) {
  Program program;
  return program.ends_with(make(Term{&program, 0}).step);
}

using O = const Operands&;

// Limits of what parameters of a function multiply its absolute error by.
i64 magnitude(O o) {
  Int size = 1;
  for (const char* const name : {"alpha", "beta", "gamma"}) {
    const Rat x = abs(o.real(name, 1));
    if (x > 1) size *= x.get_num() / x.get_den() + 1;
  }
  return to_i64(size, 20, "a parameter");
}

// A unit in the last place is at most two units of rounding.
Loss loss_of(O o, i64 times, i64 more, i64 absolute_times = 0, i64 absolute_more = 0) {
  const i64 units = 2 * static_cast<i64>(o.builder.grid().ulps);
  return {(times * units + more) * kRoundingUnit,
          (absolute_times * units + absolute_more) * magnitude(o) * kRoundingUnit};
}

// The function of each element that make(argument, operands) makes. In float32 it loses
// times units + more of the result, and an absolute error; times < 0: it is not in the table.
template <Term (*make)(Term, O), i64 times = -1, i64... rest>
Value function(O o) {
  std::optional<Loss> loss;
  if constexpr (times >= 0) loss = loss_of(o, times, rest...);
  return applied(o.builder, o.in(0), program_of([&](Term x) { return make(x, o); }), loss);
}
template <Op op>
Term plain(Term x, O) {
  return of(op, x);
}

Term tanh(Term x, O) {
  return Rat(2) * of(Op::kSigmoid, Rat(2) * x) + Rat(-1);
}

Term softplus(Term x, O) {
  return max(x, Rat(0)) + of(Op::kLog, of(Op::kExp, min(x, Rat(-1) * x)) + Rat(1));
}

// alpha (e^(x / width) - 1) for x <= 0, x else.
Term elu(Term x, const Rat& alpha, const Rat& width) {
  return max(x, Rat(0)) + alpha * (of(Op::kExp, Rat(1 / width) * min(x, Rat(0))) + Rat(-1));
}
Term elu(Term x, O o) {
  return elu(x, o.real("alpha", 1), 1);
}
Term celu(Term x, O o) {
  const Rat alpha = o.real("alpha", 1);
  if (alpha <= 0) refuse("alpha is not positive");
  return elu(x, alpha, alpha);
}
Term selu(Term x, O o) {
  return o.real("gamma", from_decimal("1.05070102214813232421875")) *
         elu(x, o.real("alpha", from_decimal("1.67326319217681884765625")), 1);
}

Term gelu(Term x, O o) {
  const std::string way = o.text("approximate", "none");
  if (way != "none" && way != "tanh") refuse("this approximation is not in the checker's table");
  const Rat half(1, 2), cubic = from_decimal("0.044715");
  if (way == "none") return half * x * (of(Op::kErf, of(Op::kSqrt, x.number(half)) * x) + Rat(1));
  // sqrt(2 / pi), as pi = 4 atan 1.
  const Term scale = of(Op::kSqrt, half * of(Op::kReciprocal, of(Op::kAtan, x.number(1))));
  return half * x * (tanh(scale * (x + cubic * (x * (x * x))), o) + Rat(1));
}

Term hard_sigmoid(Term x, const Rat& alpha, const Rat& beta) {
  return max(min(alpha * x + beta, Rat(1)), Rat(0));
}
Term hard_sigmoid(Term x, O o) {
  const Rat fifth = from_ieee(0x3e4ccccd, 8, 23);
  return hard_sigmoid(x, o.real("alpha", fifth), o.real("beta", Rat(1, 2)));
}
Term hard_swish(Term x, O) {
  return x * hard_sigmoid(x, Rat(1, 6), Rat(1, 2));
}

Term ceil(Term x, O) {
  return Rat(-1) * of(Op::kFloor, Rat(-1) * x);
}
Term mish(Term x, O o) {
  return x * tanh(softplus(x, o), o);
}
Term softsign(Term x, O) {
  return x * of(Op::kReciprocal, max(x, Rat(-1) * x) + Rat(1));
}
Term swish(Term x, O o) {
  return x * of(Op::kSigmoid, o.real("alpha", 1) * x);
}

// min(max(x, least), most), where they are given.
Value clip(O o) {
  std::optional<Rat> ends[2];
  const char* const names[] = {"min", "max"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (o.opset < 11 && o.attribute(names[i], 1) != nullptr) ends[i] = o.real(names[i], 0);
    if (o.optional(i + 1) != nullptr) ends[i] = o.constant(i + 1).data[0];
    if (o.optional(i + 1) != nullptr && o.in(i + 1).size() != 1) refuse("shapes do not fit");
  }
  if (o.opset >= 11 && !o.node.attributes.empty())
    refuse("ends are inputs from operator set 11 on");
  return applied(o.builder, o.in(0), program_of([&](Term x) {
                   if (ends[0]) x = max(x, *ends[0]);
                   return ends[1] ? min(x, *ends[1]) : x;
                 }),
                 Loss{});
}

Term power(Term x, long n) {
  if (n == 0) return x.number(1);
  if (n % 2 != 0) return n == 1 ? x : x * power(x, n - 1);
  const Term root = power(x, n / 2);
  return root * root;
}

Value pow(O o) {
  constexpr long kMost = 1024;
  const Value& exponent = o.constant(1);
  if (exponent.size() != 1 || joined(exponent.shape, o.in(0).shape) != o.in(0).shape)
    refuse("an exponent is not in the checker's table");
  const Rat a = exponent.data[0];
  if (abs(a) > kMost) refuse("an exponent is not in the checker's table");
  return applied(o.builder, o.in(0), program_of([&](Term x) {
                   if (a.get_den() != 1) return of(Op::kExp, a * of(Op::kLog, x));
                   const long n = a.get_num().get_si();
                   return n < 0 ? of(Op::kReciprocal, power(x, -n)) : power(x, n);
                 }),
                 loss_of(o, 1, 8));
}

// Sums of `count` neighbours in a tensor of elements, times a weight, plus a bias.
Value group_sums(Builder& builder, const Value& x, i64 count, const Rat& by, const Rat& bias,
                 const std::vector<i64>& shape, Rounded how = Rounded::kUncovered) {
  Rows rows(builder, x.constant, {how}, x.size());
  const Weight weight = rows.weight(by);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.size());) {
    for (i64 k = 0; k < count; ++k) rows.add(x, i++, weight);
    rows.end(bias);
  }
  return rows.finish(shape);
}

// Returns what a softmax of so many elements, or its logarithm, loses as a whole, by
// docs/proofs/float32.md. log: at least ln count. All is below 2^17 units, so that a 64th and a
// unit pay for products of errors.
Loss softmax_loss(O o, i64 count, bool of_log) {
  const i64 units = 2 * static_cast<i64>(o.builder.grid().ulps);
  i64 log = 1;
  while (count >> log != 0) ++log;
  if (count > 1 << 16) refuse("a softmax of float32 has too many terms");
  const auto all = [](i64 sum) { return (sum + sum / 64 + 1) * kRoundingUnit; };
  const i64 of_sum = units + count + log + 2;
  if (of_log) return {all(units + 2), all(of_sum + units * (1 + log))};
  return {all(of_sum + units), all(units + 3)};
}

// 1 / sum over j of e^(x_j - x_i), or -log of the sum; that of j = i is 1.
Value softmax(O o, bool log) {
  const Value& x = o.in(0);
  const bool joint = o.opset < 13;  // all axes from this one on
  const std::size_t axis = axis_of(o.number("axis", joint ? 1 : -1), x.shape.size());
  i64 inner = 1;
  for (std::size_t i = axis + 1; i < x.shape.size() && !joint; ++i) inner *= x.shape[i];
  i64 outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= x.shape[i];
  if (x.size() == 0) refuse("a tensor has no elements");
  const i64 count = x.size() / outer / inner;
  expect_work(x.shape, count);
  if (count == 1)
    return constant_of(x.shape, std::vector<Rat>(static_cast<std::size_t>(x.size()), log ? 0 : 1));
  const Value from = computed(o.builder, x);
  Rows rows(o.builder, false, {Rounded::kExact}, 2 * x.size() * (count - 1));
  const Weight one = rows.weight(1), minus = rows.weight(-1);
  for (i64 i = 0; i < x.size(); ++i)
    for (i64 j = i / (inner * count) * (inner * count) + i % inner, k = 0; k < count;
         ++k, j += inner) {
      if (j == i) continue;
      rows.add(from, static_cast<std::size_t>(j), one);
      rows.add(from, static_cast<std::size_t>(i), minus);
      rows.end(0);
    }
  Value made = rows.finish({x.size() * (count - 1)});
  // Differences are too many to be bounded as arguments; what they are made of is.
  o.builder.read_by(kReadByOther, from.ids);
  made.ids = o.builder.functions_of(program_of([](Term y) { return of(Op::kExp, y); }), made.ids,
                                    Loss{}, false);
  return applied(
      o.builder, group_sums(o.builder, made, count - 1, 1, 1, x.shape, Rounded::kExact),
      program_of([&](Term y) { return log ? Rat(-1) * of(Op::kLog, y) : of(Op::kReciprocal, y); }),
      softmax_loss(o, count, log));
}

// (x - mean) / sqrt(variance + epsilon) scale + shift, over the axes from one on.
Value layer_normalization(O o) {
  Value x = computed(o.builder, o.in(0));
  const std::vector<i64> shape = x.shape;
  const std::size_t axis = axis_of(o.number("axis", -1), shape.size());
  i64 count = 1;
  for (std::size_t i = axis; i < shape.size(); ++i) count *= shape[i];
  const Value shift = o.optional(2) != nullptr ? o.constant(2) : constant_of({}, {0});
  const Value& scale = o.constant(1);
  if (count == 0 || joined(scale.shape, shape) != shape || joined(shift.shape, shape) != shape)
    refuse("shapes do not fit");
  const Rat epsilon = o.real("epsilon", from_ieee(0x3727c5ac, 8, 23));  // 1e-5
  x.shape = {x.size() / count, count};
  const std::vector<i64> groups = {x.shape[0], 1};
  const Rat part(1, static_cast<unsigned long>(count));
  const Value from = sum(o.builder, x, group_sums(o.builder, x, count, part, 0, groups), -1);
  const Value squares = applied(o.builder, from, program_of([](Term y) { return y * y; }));
  const Value spreads = group_sums(o.builder, squares, count, part, epsilon, groups);
  const Value factors = applied(
      o.builder, spreads, program_of([](Term y) { return of(Op::kReciprocal, of(Op::kSqrt, y)); }));
  const Value made = product(o.builder, from, factors);
  const std::vector<std::size_t> at = spread(scale.shape, shape), bt = spread(shift.shape, shape);
  Rows rows(o.builder, false);
  for (std::size_t i = 0; i < at.size(); ++i) {
    rows.add(made, i, rows.weight(scale.data[at[i]]));
    rows.end(shift.data[bt[i]]);
  }
  return rows.finish(shape);
}

}  // namespace

Value product(Builder& builder, const Value& a, const Value& b, const Rounding& rounding) {
  if (a.constant || b.constant)
    return b.constant ? scaled(builder, a, b, rounding) : scaled(builder, b, a, rounding);
  const std::vector<i64> shape = joined(a.shape, b.shape);
  std::vector<u32> ids, others;
  for (const std::size_t i : spread(a.shape, shape)) ids.push_back(a.ids[i]);
  for (const std::size_t i : spread(b.shape, shape)) others.push_back(b.ids[i]);
  const i64 count = 1 + static_cast<i64>(rounding.more);
  std::optional<Loss> loss;
  if (rounding.how == Rounded::kMerged) loss = Loss{count * kRoundingUnit};
  return {shape, false, 0, {}, builder.products_of(ids, others, loss)};
}

Value matrix_product(Builder& builder, const Value& a, const Value& b) {
  if (a.shape.size() < 2 || b.shape.size() < 2) refuse("a factor is no matrix");
  const std::vector<i64> as(a.shape.begin(), a.shape.end() - 2),
      bs(b.shape.begin(), b.shape.end() - 2);
  const i64 height = a.shape[as.size()], inner = a.shape.back(), width = b.shape.back();
  if (b.shape[bs.size()] != inner || inner == 0) refuse("shapes do not fit");
  std::vector<i64> shape = joined(as, bs);
  const std::vector<std::size_t> at = spread(as, shape), bt = spread(bs, shape);
  shape.push_back(height), shape.push_back(width);
  expect_work(shape, inner);
  std::vector<u32> ids, others;
  for (std::size_t batch = 0; batch < at.size(); ++batch)
    for (i64 i = 0; i < height; ++i)
      for (i64 j = 0; j < width; ++j)
        for (i64 k = 0; k < inner; ++k) {
          const i64 first = static_cast<i64>(at[batch]) * height,
                    other = static_cast<i64>(bt[batch]) * inner;
          ids.push_back(a.ids[static_cast<std::size_t>((first + i) * inner + k)]);
          others.push_back(b.ids[static_cast<std::size_t>((other + k) * width + j)]);
        }
  const i64 count = static_cast<i64>(ids.size());
  const Value products = {{count}, false, 0, {}, builder.products_of(ids, others, Loss{})};
  return group_sums(builder, products, inner, 1, 0, shape, Rounded::kSum);
}

const std::vector<Operator>& function_operators() {
  static const std::vector<Operator> table = {
      {"Atan", 1, " ", function<plain<Op::kAtan>, 1, 0>},
      {"Ceil", 1, " ", function<ceil, 0, 0>},
      {"Celu", 1, " alpha ", function<celu, 1, 2, 1, 3>},
      {"Clip", 3, " min max ", clip},
      {"Cos", 1, " ", function<plain<Op::kCos>, 1, 0>},
      {"Elu", 1, " alpha ", function<elu, 1, 2, 1, 2>},
      {"Erf", 1, " ", function<plain<Op::kErf>, 1, 0>},
      {"Exp", 1, " ", function<plain<Op::kExp>, 1, 0>},
      {"Floor", 1, " ", function<plain<Op::kFloor>, 0, 0>},
      {"Gelu", 1, " approximate ", function<gelu, 2, 8, 5, 14>},
      {"HardSigmoid", 1, " alpha beta ", function<hard_sigmoid, 0, 0, 0, 8>},
      {"HardSwish", 1, " ", function<hard_swish, 0, 3, 0, 20>},
      {"LayerNormalization", 3, " axis epsilon ", layer_normalization},
      {"Log", 1, " ", function<plain<Op::kLog>, 1, 0>},
      {"LogSoftmax", 1, " axis ", [](O o) { return softmax(o, true); }},
      {"Mish", 1, " ", function<mish, 2, 6, 18, 90>},
      {"Pow", 2, " ", pow, 1, true},
      {"Reciprocal", 1, " ", function<plain<Op::kReciprocal>, 1, 2>},
      {"Round", 1, " ", function<plain<Op::kRound>, 0, 0>},
      {"Selu", 1, " alpha gamma ", function<selu, 1, 4, 2, 10>},
      {"Sigmoid", 1, " ", function<plain<Op::kSigmoid>, 1, 6>},
      {"Sign", 1, " ", function<plain<Op::kSign>, 0, 0>},
      {"Sin", 1, " ", function<plain<Op::kSin>, 1, 0>},
      {"Softmax", 1, " axis ", [](O o) { return softmax(o, false); }},
      {"Softplus", 1, " ", function<softplus, 1, 2, 1, 3>},
      {"Softsign", 1, " ", function<softsign, 0, 4>},
      {"Sqrt", 1, " ", function<plain<Op::kSqrt>, 1, 2>},
      {"Swish", 1, " alpha ", function<swish>},
      {"Tanh", 1, " ", function<tanh, 1, 0>},
  };
  return table;
}

}  // namespace bf_check
