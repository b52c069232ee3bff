#include "planner/network/own_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/diagnostic.h"
#include "planner/network/error_terms.h"

namespace bf_aot {
namespace {

constexpr char kTerm[] = "evaluation";  // of PlannerConfig::dropped_error_terms
constexpr double kLeastFloat = 0x1p-149;
// Errors of an evaluation in double. An activation is the middle of an interval that encloses its
// centre by a step outward. A maximum that is not decided is the middle of two, each off by a
// radius at most.
constexpr double kActivation = 0x1p-50;
constexpr double kMaximum = 4;
// >= what radii in float32, and products in double, lose where they are subnormal; relative to the
// sum of weights.
constexpr double kLeastActivation = 0x1p-140;

// >= what products of two roundings add to their sum, relative to it.
constexpr double kProducts = 1 + 0x1p-22;

// The evaluation's weights are within `relative` of the table's, its biases within `of_bias`, and
// `absolute` besides.
struct Rounding {
  double relative = 0, of_bias = 0, absolute = 0;
};

void add(const Rounding& rounding, AffineErrors& errors) {
  const double weights =
      up(rounding.relative * up(kProducts * (1 + up(2 * errors.weight_relative))));
  const double biases =
      up(kProducts *
         up(up(rounding.of_bias * up(errors.bias_norm + errors.bias_double)) + rounding.absolute));
  errors.weight_relative = up(errors.weight_relative + weights);
  errors.weight_residual = up(errors.weight_residual + weights);
  errors.bias_float = up(errors.bias_float + biases);
  errors.bias_double = up(errors.bias_double + biases);
  const double of_bias = up(kProducts * rounding.of_bias);
  const double absolute = up(kProducts * rounding.absolute);
  const auto grow = [&](double& relative, double& rest) {
    rest = up(rest + up(up(of_bias * rest) + absolute));
    relative = up(relative + up(of_bias * up(1 + relative)));
  };
  grow(errors.bias_relative, errors.bias_rest);
  grow(errors.float_bias_relative, errors.float_bias_rest);
}

class Counter {
 public:
  explicit Counter(Plan& plan)
      : plan_(plan), own_(own_evaluation(plan)), missed_(plan.layers.size(), 0) {}

  void run() {
    for (const LayerId i : plan_.layer_ids()) {
      Layer& layer = plan_.layer(i);
      check(layer);
      if (!layer.is_affine()) {
        missed_[i] = up(kMaximum * missed(layer) + kActivation);
      } else if (!own_.evaluated[i]) {
        rows(layer);
      } else if (own_.in_float) {
        in_float(layer);
      } else {
        in_double(layer, std::ranges::count(plan_.output_heads, i) > 0);
        missed_[i] = kActivation;
      }
    }
  }

 private:
  double term(double value) const {
    return std::ranges::count(plan_.config.dropped_error_terms, kTerm) > 0 ? 0 : value;
  }

  static void check(const Layer& layer) {
    std::string what;
    if (layer.kind == LayerKind::kProduct || layer.kind == LayerKind::kContraction)
      what = "a product of two tensors";
    if (layer.kind == LayerKind::kLogSoftmax) what = "log-softmax";
    if (layer.function) what = fmt::format("the function {}", to_string(*layer.function));
    if (what.empty()) return;
    fail("BF2110", layer.origin, fmt::format("float32-exact semantics does not cover {}", what),
         "use --semantics float32, which bounds every evaluation, or --semantics real");
  }

  // The kernel reads the float32 tables alone.
  void in_float(Layer& layer) const {
    AffineErrors& errors = layer.errors;
    const int chunk = evaluation_chunk(layer.in);
    const int chunks = (layer.in + chunk - 1) / chunk;
    layer.evaluated_depth = evaluation_depth(layer.in, chunk + chunks + 1);
    layer.residual.clear();
    errors.weight_relative = errors.weight_residual = 0;
    errors.bias_float = errors.bias_double = errors.bias_norm = 0;
    errors.bias_relative = errors.bias_rest = 0;
    errors.float_bias_relative = errors.float_bias_rest = 0;
    for (double& bias : layer.bias) {
      bias = static_cast<double>(static_cast<float>(bias));
      errors.bias_norm = std::max(errors.bias_norm, std::abs(bias));
    }
    // The bias comes last.
    add({term(gamma_float(layer.evaluated_depth)), term(gamma_float(1)),
         term((layer.in + 2) * kLeastFloat)},
        errors);
    layer.exact_centre = layer.exact_centre && errors.weight_relative == 0;
  }

  // The largest relative error of what a layer reads.
  double missed(const Layer& layer) const {
    double most = 0;
    for (const LayerId input : inputs_of(layer)) most = std::max(most, missed_[input]);
    return most;
  }

  // The routines read weights and residuals, and sum in double, in any order. Outputs are rounded.
  void in_double(Layer& layer, bool head) const {
    const double inputs = missed(layer);
    Rounding rounding{inputs, 0, 0};
    if (!layer.exact_centre) {
      int products = layer.in;
      for (const Term& each : layer.terms) products += each.row_entries + 1;
      rounding.of_bias = gamma_double(products + 8);
      rounding.relative = up(inputs + rounding.of_bias);
      rounding.absolute = (products + 1) * kLeastActivation;
    }
    if (inputs > 0)
      rounding.absolute = up(rounding.absolute + layer.errors.row_norm * kLeastActivation);
    if (head) {
      rounding.relative = up(rounding.relative + kUnitFloat);
      rounding.of_bias = up(rounding.of_bias + kUnitFloat);
      rounding.absolute = up(rounding.absolute + kLeastFloat);
    }
    add({term(rounding.relative), term(rounding.of_bias), term(rounding.absolute)}, layer.errors);
    layer.exact_centre = layer.exact_centre && layer.errors.weight_relative == 0;
  }

  // Counts, in rows that read outputs, their rounding to float32 on the way to the caller.
  void rows(Layer& layer) const {
    if (own_.in_float) return;
    add({term(kUnitFloat), 0, term(up(layer.errors.row_norm * kLeastFloat))}, layer.errors);
    layer.exact_centre = layer.exact_centre && layer.errors.weight_relative == 0;
  }

  Plan& plan_;
  const OwnEvaluation own_;
  PerTensor<double> missed_;  // relative, of the evaluation's activations
};

}  // namespace

// About as many chains as a chain has products: the least depth.
int evaluation_chunk(int in) {
  return static_cast<int>(std::ceil(std::sqrt(static_cast<double>(in))));
}

int evaluation_depth(int in, int kernel_depth) {
  return std::min(in + 1, kernel_depth);
}

OwnEvaluation own_evaluation(const Plan& plan) {
  OwnEvaluation made;
  made.evaluated.assign(plan.layers.size(), false);
  for (const LayerId head : plan.output_heads) made.evaluated[head] = true;
  made.in_float = true;
  for (const LayerId i : plan.layer_ids().reversed()) {
    if (!made.evaluated[i]) continue;
    const Layer& layer = plan.layer(i);
    made.in_float = made.in_float && layer.kind == LayerKind::kDense && !layer.function;
    for (const LayerId input : inputs_of(layer))
      if (input.is_layer()) made.evaluated[input] = true;
  }
  return made;
}

void count_own_roundings(Plan& plan) {
  if (plan.config.semantics == Semantics::kFloat32Exact) Counter(plan).run();
}

}  // namespace bf_aot
