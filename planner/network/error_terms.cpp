#include "planner/network/error_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnitDouble = 0x1p-53;
// Errors of biases below this share of them are taken as relative to them.
constexpr double kRelativeBias = 0x1p-20;

void check_float32(const char* what, double value, const std::string& origin) {
  if (std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())) return;
  fail("BF2103", origin,
       fmt::format("a {} of the folded layer is {:g}, beyond float32", what, value),
       "rescale the network's constants");
}

// Enlarges the bound of errors relative to biases, or the one of other biases' errors.
void add_bias(double error, double bias, double& relative, double& rest) {
  const double size = std::abs(bias);
  if (error == 0) return;
  if (error <= kRelativeBias * size)
    relative = std::max(relative, up(error / size));
  else
    rest = std::max(rest, error);
}

// The names stand in the order of ErrorTerm.
constexpr std::array<std::string_view, 17> kTermNames = {"summation",
                                                         "radius-summation",
                                                         "scalar",
                                                         "weight-rounding",
                                                         "bias-rounding",
                                                         "centre",
                                                         "product",
                                                         "coefficient",
                                                         "offset",
                                                         "concretize",
                                                         "underflow",
                                                         "node-weight-rounding",
                                                         "node-bias-rounding",
                                                         "node-coefficient",
                                                         "node-row",
                                                         "node-sum",
                                                         "node-underflow"};
constexpr std::size_t kOfNodes = static_cast<std::size_t>(ErrorTerm::kNodeWeight);

}  // namespace

double up(double x) {
  return x == 0 ? 0 : std::nextafter(x * (1 + 0x1p-50), kInfinity);
}

double gamma_float(int n) {
  const double x = n * kUnitFloat;  // exact: n < 2^29
  BF_CHECK(x < 0.5);
  return up(x / (1 - x));
}

double gamma_double(int n) {
  const double x = n * kUnitDouble;
  return up(x / (1 - x));
}

double inflate_float(int n) {
  return up(1 / (1 - gamma_float(n)));
}

std::span<const std::string_view> error_term_names() {
  return std::span(kTermNames).first<kOfNodes>();
}

std::span<const std::string_view> node_error_term_names() {
  return std::span(kTermNames).subspan<kOfNodes>();
}

double term(const PlannerConfig& config, ErrorTerm which, double value) {
  const std::string_view name = kTermNames.at(static_cast<std::size_t>(which));
  return std::ranges::count(config.dropped_error_terms, name) > 0 ? 0.0 : value;
}

RoundedWeights round_weights(const Constant& exact, const std::string& origin,
                             AffineErrors& errors) {
  const std::size_t count = exact.data.size();
  RoundedWeights made;
  made.weight.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double exact_weight = exact.data[i];
    const double error = exact.error_at(i);
    check_float32("weight", exact_weight, origin);
    float rounded = static_cast<float>(exact_weight);
    // A relative bound needs a weight that is not zero; only folded weights below 2^-149 get here.
    if (rounded == 0 && (exact_weight != 0 || error != 0))
      rounded =
          std::copysign(std::numeric_limits<float>::denorm_min(), static_cast<float>(exact_weight));
    made.weight[i] = rounded;
    const double rest = exact_weight - rounded;  // exact unless the exponents are far apart
    if (rest == 0 && error == 0) continue;
    // A table of zeros would say nothing.
    if (made.residual.empty() && rest != 0) made.residual.resize(count, 0.0F);
    const auto residual = static_cast<float>(rest);
    if (!made.residual.empty()) made.residual[i] = residual;
    const double size = std::abs(static_cast<double>(rounded));
    errors.weight_relative =
        std::max(errors.weight_relative, up(up(up(std::abs(rest)) + error) / size));
    // Numbers within a factor of two have an exact difference (Sterbenz).
    const bool differs_exactly =
        size <= 2 * std::abs(exact_weight) && std::abs(exact_weight) <= 2 * size;
    if (differs_exactly && rest == static_cast<double>(residual) && error == 0) continue;
    errors.weight_residual = std::max(
        errors.weight_residual,
        up(up(up(std::abs(rest - static_cast<double>(residual))) + error + up(size * 0x1p-100)) /
           size));
  }
  return made;
}

void round_bias(const Constant& exact, const std::string& origin, Layer& layer) {
  AffineErrors& errors = layer.errors;
  layer.bias = exact.data;
  for (std::size_t j = 0; j < layer.bias.size(); ++j) {
    const double bias = layer.bias[j];
    check_float32("bias", bias, origin);
    const double error = exact.error_at(j);
    const double narrow = static_cast<double>(static_cast<float>(bias));
    const double float_error = up(std::abs(bias - narrow) + error);
    errors.bias_double = std::max(errors.bias_double, error);
    errors.bias_float = std::max(errors.bias_float, float_error);
    add_bias(error, bias, errors.bias_relative, errors.bias_rest);
    add_bias(float_error, narrow, errors.float_bias_relative, errors.float_bias_rest);
    errors.bias_norm = std::max(errors.bias_norm, up(std::abs(bias)));
  }
}

void round_weights(const Affine& affine, Layer& layer) {
  RoundedWeights rounded = round_weights(affine.weight, layer.origin, layer.errors);
  layer.weight = std::move(rounded.weight);
  layer.residual = std::move(rounded.residual);
  round_bias(affine.bias, layer.origin, layer);
  for (int j = 0; j < layer.out; ++j) {
    double norm = 0;
    for (int k = 0; k < layer.in; ++k)
      norm = up(norm + std::abs(static_cast<double>(layer.weight_at(j, k))));
    layer.errors.row_norm = std::max(layer.errors.row_norm, norm);
  }
}

}  // namespace bf_aot
