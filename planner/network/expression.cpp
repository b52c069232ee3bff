#include "planner/network/expression.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "frontend/graph/conv_loops.h"
#include "planner/network/error_terms.h"
#include "planner/network/linear_terms.h"

namespace bf_aot {

Constant zeros(int n) {
  return Constant{{n}, std::vector<double>(static_cast<std::size_t>(n), 0.0), {}};
}

Constant add_constants(Constant a, const Constant& b) {
  const bool exact = a.is_exact() && b.is_exact();
  std::vector<double> error;
  bool rounded = false;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const double sum = a.data[i] + b.data[i];
    const bool trivial = a.data[i] == 0 || b.data[i] == 0;
    const double own = trivial ? 0 : up(std::abs(sum) * 0x1p-53);
    rounded = rounded || own != 0;
    error.push_back(up(up(a.error_at(i) + b.error_at(i)) + own));
    a.data[i] = sum;
  }
  a.error = exact && !rounded ? std::vector<double>() : std::move(error);
  return a;
}

Expression conv_expression(const Conv& conv, LayerId input, const Origin& origin) {
  Expression made;
  made.origin = origin;
  made.terms.push_back(conv_term(conv, input, origin, made.errors));
  const ConvGeometry& g = conv.geometry;
  made.bias = zeros(static_cast<int>(g.out_count()));
  if (!conv.bias.is_exact()) made.bias.error.assign(made.bias.data.size(), 0.0);
  for_each_element(g.batch, g.out_channels, g.out_size,
                   [&](std::int64_t n, std::int64_t c, const Extent& p) {
                     const auto i = static_cast<std::size_t>(g.out.at(n, c, p));
                     const auto channel = static_cast<std::size_t>(c);
                     made.bias.data[i] = conv.bias.data[channel];
                     if (!conv.bias.is_exact()) made.bias.error[i] = conv.bias.error[channel];
                   });
  return made;
}

void multiply_by_ones(const Constant& factor, Expression& expression) {
  if (factor.is_exact()) return;
  // |w* (1 + d) - w| <= |w* - w| + |w*| d, for both bounds.
  const double d = *std::ranges::max_element(factor.error);
  AffineErrors& errors = expression.errors;
  const double grown = up(d * up(1 + errors.weight_relative));
  errors.weight_relative = up(errors.weight_relative + grown);
  errors.weight_residual = up(errors.weight_residual + grown);
  Constant& bias = expression.bias;
  if (bias.error.empty()) bias.error.assign(bias.data.size(), 0);
  for (std::size_t i = 0; i < bias.data.size(); ++i) {
    const double size = up(std::abs(bias.data[i]) + bias.error[i]);
    bias.error[i] = up(bias.error[i] + up(size * factor.error[i]));
  }
}

void add_expression(Expression expression, Expression& sum) {
  std::ranges::move(expression.terms, std::back_inserter(sum.terms));
  sum.bias = add_constants(std::move(sum.bias), expression.bias);
  sum.errors.weight_relative =
      std::max(sum.errors.weight_relative, expression.errors.weight_relative);
  sum.errors.weight_residual =
      std::max(sum.errors.weight_residual, expression.errors.weight_residual);
  sum.origin = join_names(sum.origin, expression.origin);
}

Origin join_names(const Origin& a, const Origin& b) {
  constexpr std::size_t kLongest = 200;
  const bool told = a.text.size() > kLongest || a.text.find(b.text) != std::string::npos;
  return join_origins(a, b, told ? a.text : a.text + " + " + b.text);
}

}  // namespace bf_aot
