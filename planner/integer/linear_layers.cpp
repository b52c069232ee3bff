#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "frontend/graph/conv_loops.h"
#include "planner/integer/layer_maker.h"
#include "planner/integer/refuse.h"

// Layers of integer sums.

namespace bf_aot {
namespace {

// Weights as multiples of one number, which is positive.
struct IntegerWeights {
  std::vector<std::int64_t> weight;
  Range unit;
};

// Integers 1, 0 and -1 for constants that are not exact. These must be one number but for their
// sign, or 0: of two inexact numbers the ratio is not known.
std::optional<IntegerWeights> alike(const std::vector<double>& values,
                                    const std::vector<double>& errors) {
  IntegerWeights result;
  double magnitude = 0;
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0 && errors[i] == 0) continue;
    if (magnitude == 0) {
      magnitude = std::abs(values[i]);
      error = errors[i];
    }
    if (std::abs(values[i]) != magnitude || errors[i] != error) return std::nullopt;
  }
  result.unit =
      Range(mpq_class(magnitude) - mpq_class(error), mpq_class(magnitude) + mpq_class(error));
  if (result.unit.low <= 0) return std::nullopt;
  for (const double value : values) result.weight.push_back(value > 0 ? 1 : value < 0 ? -1 : 0);
  return result;
}

// Weights begin .. begin + count - 1 of a constant. None where they are no integers of 16 bits
// times one number.
std::optional<IntegerWeights> integer_weights(const Constant& constant, std::size_t begin,
                                              std::size_t count) {
  std::vector<double> values, errors;
  bool all_exact = true;
  for (std::size_t i = begin; i < begin + count; ++i) {
    values.push_back(constant.data[i]);
    errors.push_back(constant.error_at(i));
    all_exact = all_exact && errors.back() == 0;
  }
  if (!all_exact) return alike(values, errors);
  std::vector<mpq_class> numbers(values.begin(), values.end());
  const mpq_class unit = common_unit(numbers);
  IntegerWeights result;
  result.unit = Range(unit);
  for (const mpq_class& number : numbers) {
    const mpq_class weight = number / unit;
    const mpz_class integer = weight.get_num();
    if (abs(integer) > std::numeric_limits<std::int16_t>::max()) return std::nullopt;
    result.weight.push_back(integer.get_si());
  }
  return result;
}

Range constant_at(const Constant& constant, std::size_t i) {
  const mpq_class value(constant.data[i]);
  const mpq_class error(constant.error_at(i));
  return {value - error, value + error};
}

// The least and the largest sum of weights times codes between low and high.
void find_extent(const std::vector<std::int64_t>& weights, int low, int high,
                 const std::string& origin, RowSums& sums) {
  std::int64_t magnitude = 0;
  for (const std::int64_t weight : weights) {
    sums.least += weight * (weight > 0 ? low : high);
    sums.most += weight * (weight > 0 ? high : low);
    magnitude += std::llabs(weight) * (kGridCodes - 1);
  }
  if (magnitude > std::numeric_limits<std::int32_t>::max())
    refuse_integers(origin, "its sums need more than 32 bits");
}

bool is_byte(std::int64_t weight) {
  return weight >= std::numeric_limits<std::int8_t>::min() &&
         weight <= std::numeric_limits<std::int8_t>::max();
}

int weight_bytes(const std::vector<std::int16_t>& weights) {
  return std::ranges::all_of(weights, is_byte) ? 1 : 2;
}

// One row's weights and what its sum means: unit scale sum + unit offset (sum of weights) + bias.
// The scale may be negative: then the weights change sign.
struct LinearRow {
  std::vector<std::int64_t> weight;
  RowSums sums;
};

LinearRow linear_row(const Constant& weight, std::size_t begin, std::size_t count,
                     const Range& bias, const CodeView& in, const std::string& origin) {
  auto integers = integer_weights(weight, begin, count);
  if (!integers) refuse_integers(origin, "its weights are no integers of 16 bits times one number");
  LinearRow row;
  mpz_class total = 0;
  for (const std::int64_t w : integers->weight) total += static_cast<long>(w);
  row.sums.offset = integers->unit * Range(mpq_class(in.offset * mpq_class(total))) + bias;
  row.sums.factor = integers->unit * Range(mpq_class(abs(in.scale)));
  row.weight = std::move(integers->weight);
  if (in.scale < 0)
    for (std::int64_t& w : row.weight) w = -w;
  return row;
}

bool reaches_outside(const ConvGeometry& g) {
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t last =
        (g.out_size[d] - 1) * g.stride[d] - g.pad[d] + (g.kernel[d] - 1) * g.dilation[d];
    if (g.pad[d] > 0 || last >= g.in_size[d]) return true;
  }
  return false;
}

// The code that means 0.
int zero_code(const CodeView& in, const std::string& origin) {
  const mpq_class zero = -in.offset / in.scale;
  if (zero.get_den() != 1 || zero < 0 || zero >= kGridCodes)
    refuse_integers(origin, "0, which its padding holds, is no code of its input");
  return static_cast<int>(zero.get_num().get_si());
}

// The class of each output channel's elements, which must be one.
std::vector<int> channel_classes(const ConvGeometry& g, const LinkClasses& classes,
                                 const std::string& origin) {
  std::vector<int> of(static_cast<std::size_t>(g.out_channels), -1);
  for_each_element(g.batch, g.out_channels, g.out_size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     const int here = classes.of[static_cast<std::size_t>(g.out.at(n, c, p))];
                     int& known = of[static_cast<std::size_t>(c)];
                     if (known >= 0 && known != here)
                       refuse_integers(origin, "the codes of one channel have several scales");
                     known = here;
                   });
  return of;
}

}  // namespace

namespace {

mpz_class times_power(const mpq_class& x, int shift, bool up) {
  mpq_class scaled;
  mpq_mul_2exp(scaled.get_mpq_t(), x.get_mpq_t(), static_cast<mp_bitcnt_t>(shift));
  return up ? ceil_of(scaled) : floor_of(scaled);
}

// 2^shift (factor sum + offset) between integers, with one multiplier; none where these need more
// than 62 bits. What the multiplier leaves of the factor is linear in the sum: worst at an end.
std::optional<SumBounds> sum_bounds(const RowSums& sums, int shift) {
  const mpz_class most = mpz_class(1) << 60;
  const mpz_class multiplier = times_power(sums.factor.low, shift, false);
  if (multiplier >= most) return std::nullopt;
  mpq_class unit;
  mpq_set_ui(unit.get_mpq_t(), 1, 1);
  mpq_div_2exp(unit.get_mpq_t(), unit.get_mpq_t(), static_cast<mp_bitcnt_t>(shift));
  const Range rest = sums.factor + Range(mpq_class(-mpq_class(multiplier) * unit));
  const auto end = [&](std::int64_t sum) {
    return rest * Range(mpq_class(static_cast<long>(sum))) + sums.offset;
  };
  const Range a = end(sums.least);
  const Range b = end(sums.most);
  const mpz_class low = times_power(std::min(a.low, b.low), shift, false);
  const mpz_class high = times_power(std::max(a.high, b.high), shift, true);
  const mpz_class reach =
      multiplier * static_cast<long>(std::max(std::llabs(sums.least), std::llabs(sums.most)));
  if (reach + abs(low) >= most || reach + abs(high) >= most) return std::nullopt;
  return SumBounds{multiplier.get_si(), low.get_si(), high.get_si(), sums.least, sums.most};
}

}  // namespace

void LayerMaker::make_sum_outputs(const GridExpression& expression, const LinearSource& linear,
                                  int first) {
  constexpr int kMostOutputShift = 100;  // 2^-100 is a normal float
  const Origin& origin = expression.origin;
  const auto* const op = std::get_if<Affine>(&linear.node->op);
  if (op == nullptr)
    refuse_integers(origin, "an output that is not rounded to codes is no product of matrices");
  DequantizeSums step;
  step.origin = origin;
  step.first = first;
  step.rows = static_cast<int>(op->weight.shape.at(0));
  step.columns = static_cast<int>(op->weight.shape.at(1));
  step.in = in_order(linear.in.codes, origin, static_cast<std::size_t>(step.columns));
  const GridTensor in = plan_.tensor(step.in);
  std::vector<RowSums> sums;
  for (int i = 0; i < step.rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto columns = static_cast<std::size_t>(step.columns);
    LinearRow row =
        linear_row(op->weight, at * columns, columns, constant_at(op->bias, at), linear.in, origin);
    Chain chain = chain_at(expression.links, at);
    put_before(chain, AffineLink{row.sums.factor, row.sums.offset});
    const auto* const all = std::get_if<AffineLink>(&chain.front());
    if (chain.size() != 1 || all->factor.low <= 0)
      refuse_integers(origin, "an output that is not rounded to codes has a function");
    row.sums.factor = all->factor;
    row.sums.offset = all->offset;
    find_extent(row.weight, in.low, in.high, origin, row.sums);
    sums.push_back(row.sums);
    OutputForm form{step.in, {}, std::move(chain), origin};
    for (const std::int64_t w : row.weight) {
      if (w != 0) form.terms.emplace_back(step.weight.size() % columns, w);
      step.weight.push_back(static_cast<std::int16_t>(w));
    }
    outputs_.push_back(std::move(form));
  }
  step.weight_bytes = weight_bytes(step.weight);
  const auto all_at = [&](int shift) {
    std::vector<SumBounds> bounds;
    for (const RowSums& row : sums)
      if (const auto each = sum_bounds(row, shift)) bounds.push_back(*each);
    return bounds;
  };
  for (step.shift = kMostOutputShift; step.shift >= 0; --step.shift) {
    step.bounds = all_at(step.shift);
    if (step.bounds.size() == sums.size()) break;
  }
  if (step.shift < 0) refuse_integers(origin, "an output is beyond 2^60");
  plan_.steps.emplace_back(std::move(step));
}

// Collects what rows of one class have in common, and the requantizers of all rows.
class LayerMaker::Rows {
 public:
  Rows(LayerMaker& maker, const Target& target)
      : maker_(maker),
        target_(target),
        classes_(classes_of(target.expression.links, target.count)),
        cuts_(classes_.leader.size()) {}

  const LinkClasses& classes() const { return classes_; }

  void add(const RowSums& sums, int group) {
    Chain chain = maker_.chain_of(target_, classes_.leader[static_cast<std::size_t>(group)]);
    RowShape shape;
    const auto row = row_of(sums, chain, group);
    put_before(chain, AffineLink{sums.factor, sums.offset});
    shape.rounds = round_form(chain);
    shape.slope = slope_of(chain);
    rows_.push_back(row);
    shapes_.push_back(std::move(shape));
  }

  Requantization finish() { return find_arithmetic(std::move(rows_), shapes_); }

 private:
  // Codes per unit of the sum, where nothing cuts off.
  static mpq_class slope_of(const Chain& chain) {
    mpq_class slope = 1;
    for (const ChainLink& link : chain) {
      if (const auto* affine = std::get_if<AffineLink>(&link)) slope *= affine->factor.low;
      const auto* const function = std::get_if<Function>(&link);
      if (function != nullptr && rounds(*function)) slope /= mpq_class(function->a);
    }
    return slope;
  }

  Requantizer row_of(const RowSums& sums, const Chain& chain, int group) {
    const Cuts* const cuts = cuts_of(chain, group);
    const auto row = cuts != nullptr ? steps_of_cuts(sums, *cuts)
                                     : steps_of_images(sums, chain, target_.codes());
    if (!row) refuse_loose_constants(target_.expression.origin);
    return *row;
  }

  // Null where the chain has none.
  const Cuts* cuts_of(const Chain& chain, int group) {
    auto& known = cuts_[static_cast<std::size_t>(group)];
    if (!known) {
      known.emplace();
      for (int code = 1; code < target_.codes(); ++code) {
        auto cut = cut_of(chain, code);
        if (!cut) {
          known->clear();
          break;
        }
        known->push_back(std::move(*cut));
      }
    }
    return known->empty() ? nullptr : &*known;
  }

  LayerMaker& maker_;
  const Target& target_;
  const LinkClasses classes_;
  std::vector<std::optional<Cuts>> cuts_;  // by class
  std::vector<Requantizer> rows_;
  std::vector<RowShape> shapes_;
};

GridId LayerMaker::add_sums(std::string_view kind, const Requantization& codes,
                            const Target& target) {
  int low = kGridCodes;
  int high = 0;
  for (const Requantizer& row : codes.rows) {
    low = std::min(low, row.low);
    high = std::max(high, row.high);
  }
  return add_tensor(kind, target.expression.origin, target.count, low, high);
}

GridId LayerMaker::make_linear(const Affine& op, const LinearSource& linear, const Target& target) {
  const Origin& origin = target.expression.origin;
  GridDense step;
  step.rows = static_cast<int>(op.weight.shape.at(0));
  step.columns = static_cast<int>(op.weight.shape.at(1));
  step.in = in_order(linear.in.codes, origin, static_cast<std::size_t>(step.columns));
  const GridTensor in = plan_.tensor(step.in);
  Rows rows(*this, target);
  for (int i = 0; i < step.rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto columns = static_cast<std::size_t>(step.columns);
    LinearRow row =
        linear_row(op.weight, at * columns, columns, constant_at(op.bias, at), linear.in, origin);
    find_extent(row.weight, in.low, in.high, origin, row.sums);
    rows.add(row.sums, rows.classes().of[at]);
    for (const std::int64_t w : row.weight) step.weight.push_back(static_cast<std::int16_t>(w));
  }
  step.weight_bytes = weight_bytes(step.weight);
  step.codes = rows.finish();
  step.out = add_sums("dense", step.codes, target);
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

GridId LayerMaker::make_linear(const Conv& op, const LinearSource& linear, const Target& target) {
  const Origin& origin = target.expression.origin;
  const ConvGeometry& g = op.geometry;
  if (g.transposed) refuse_integers(origin, "it is a transposed convolution");
  GridConv step;
  step.geometry = g;
  step.in = in_order(linear.in.codes, origin, static_cast<std::size_t>(g.in_count()));
  int low = plan_.tensor(step.in).low;
  int high = plan_.tensor(step.in).high;
  if (reaches_outside(g)) {
    step.zero = zero_code(linear.in, origin);
    low = std::min(low, step.zero);
    high = std::max(high, step.zero);
  }
  Rows rows(*this, target);
  const std::vector<int> classes = channel_classes(g, rows.classes(), origin);
  const auto filter = static_cast<std::size_t>(g.in_group() * g.taps());
  for (std::size_t c = 0; c < classes.size(); ++c) {
    LinearRow row =
        linear_row(op.weight, c * filter, filter, constant_at(op.bias, c), linear.in, origin);
    find_extent(row.weight, low, high, origin, row.sums);
    rows.add(row.sums, classes[c]);
    for (const std::int64_t w : row.weight) step.weight.push_back(static_cast<std::int16_t>(w));
  }
  step.weight_bytes = weight_bytes(step.weight);
  step.codes = rows.finish();
  step.out = add_sums("conv", step.codes, target);
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

GridId LayerMaker::make_linear(const SparseAffine& op, const LinearSource& linear,
                               const Target& target) {
  const Origin& origin = target.expression.origin;
  GridSparse step;
  step.in = linear.in.codes.tensor;
  step.row_start = op.row_start;
  step.column = op.column;
  const std::vector<std::int64_t>& source = linear.in.codes.source;
  if (!source.empty())
    for (std::int64_t& column : step.column) column = source[static_cast<std::size_t>(column)];
  const GridTensor in = plan_.tensor(step.in);
  Rows rows(*this, target);
  std::vector<RowSums> sums;
  for (std::size_t i = 0; i < static_cast<std::size_t>(op.rows()); ++i) {
    const auto begin = static_cast<std::size_t>(op.row_start[i]);
    LinearRow row =
        linear_row(op.value, begin, static_cast<std::size_t>(op.row_start[i + 1]) - begin,
                   constant_at(op.bias, i), linear.in, origin);
    find_extent(row.weight, in.low, in.high, origin, row.sums);
    sums.push_back(row.sums);
    for (const std::int64_t w : row.weight) step.weight.push_back(static_cast<std::int16_t>(w));
  }
  const auto same = [&](const RowSums& a) {
    const RowSums& b = sums.front();
    return a.factor.low == b.factor.low && a.factor.high == b.factor.high &&
           a.offset.low == b.offset.low && a.offset.high == b.offset.high && a.least == b.least &&
           a.most == b.most;
  };
  const bool one = rows.classes().leader.size() == 1 && std::ranges::all_of(sums, same);
  if (one) sums.resize(1);
  for (std::size_t i = 0; i < sums.size(); ++i) rows.add(sums[i], rows.classes().of[i]);
  if (std::ranges::all_of(step.weight, [](std::int16_t w) { return w == 1; })) step.weight.clear();
  step.codes = rows.finish();
  step.out = add_sums("sparse", step.codes, target);
  const GridId out = step.out;
  plan_.steps.emplace_back(std::move(step));
  return out;
}

}  // namespace bf_aot
