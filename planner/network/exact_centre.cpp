#include "planner/network/exact_centre.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "frontend/functions/function_facts.h"
#include "planner/network/error_terms.h"
#include "runtime/bf/contract/chains.h"

namespace bf_aot {
namespace {

constexpr double kNoEnd = std::numeric_limits<double>::infinity();
// Centres and partial sums stay below so many half steps.
constexpr double kGridSteps = bf::kManySteps / 2;
constexpr int kCoarse = 1 << 20;  // the unit of zeros alone

// Facts about a tensor's centres and values that hold for every box.
struct Values {
  // The ends of its intervals are multiples of 2^unit. Step functions keep that promise, and so do
  // sums that nothing relaxes or tightens: any other relaxation and every tightening makes ends of
  // its own.
  std::optional<int> unit;
  double largest = kNoEnd;
};

// The largest e such that x is a multiple of 2^e.
int unit_of(double x) {
  if (x == 0) return kCoarse;
  int exponent = 0;
  auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(x), &exponent), 53));
  exponent -= 53;
  while (mantissa % 2 == 0) {
    mantissa /= 2;
    ++exponent;
  }
  return exponent;
}

template <typename Number>
int unit_of(const std::vector<Number>& numbers) {
  int unit = kCoarse;
  for (const Number x : numbers) unit = std::min(unit, unit_of(static_cast<double>(x)));
  return unit;
}

// Computed intervals exceed the values by roundings: far less than the factor here.
constexpr double kMargin = 1 + 0x1p-18;

Values of_function(const Function& f, const Values& x) {
  const FunctionFacts& facts = facts_of(f.kind);
  if (facts.magnitude == nullptr) return {};
  if (facts.integers) return {0, facts.magnitude(f, kMargin * x.largest)};
  return {std::nullopt, facts.magnitude(f, x.largest)};
}

class Analysis {
 public:
  explicit Analysis(Plan& plan) : plan_(plan) {}

  void run() {
    for (Layer& layer : plan_.layers) {
      const Values z = pre_activation(layer);
      values_.push_back(layer.function      ? of_function(*layer.function, z)
                        : keeps_ends(layer) ? z
                                            : Values{std::nullopt, z.largest});
    }
  }

 private:
  const Values& input(LayerId index) const { return index < 0 ? box_ : values_[index]; }

  // The intervals of a sum without function, which products and maxima do not read, stay as they
  // are summed, but those of outputs, and where lines that go forward tighten them.
  bool keeps_ends(const Layer& layer) const {
    const LayerId index = static_cast<int>(values_.size());
    return layer.is_affine() && !layer.relu && plan_.config.method != Method::kForward &&
           !plan_.is_head(index) && !feeds_nonlinear(plan_, index);
  }

  Values pre_activation(Layer& layer) {
    switch (layer.kind) {
      case LayerKind::kDense:
        return dense(layer);
      case LayerKind::kSum:
        return sum(layer);
      case LayerKind::kProduct:
      case LayerKind::kLogSoftmax:
      case LayerKind::kContraction:
        return {};
      case LayerKind::kMax:
        return input(layer.terms[0].input);
    }
    return {};
  }

  static bool has_exact_weights(const Layer& layer) {
    const AffineErrors& e = layer.errors;
    return e.weight_relative == 0 && e.weight_residual == 0 && e.bias_double == 0;
  }

  // Every partial sum of a layer on a grid, and whether it fits.
  static Values on_grid(Layer& layer, Values made) {
    made.largest = up(made.largest + layer.errors.bias_norm);
    made.unit = std::min(*made.unit, unit_of(layer.bias));
    if (!(made.largest <= std::ldexp(kGridSteps, std::min(*made.unit, 900))) || *made.unit < -900)
      return {};
    layer.exact_centre = true;
    return made;
  }

  Values dense(Layer& layer) {
    const Values& x = input(layer.input);
    if (!x.unit || !std::isfinite(x.largest) || !has_exact_weights(layer)) return {};
    return on_grid(layer, {*x.unit + unit_of(layer.weight), up(layer.errors.row_norm * x.largest)});
  }

  Values sum(Layer& layer) {
    if (!has_exact_weights(layer)) return {};
    layer.exact_centre = copies(layer);
    Values made{kCoarse, 0};
    for (const Term& term : layer.terms) {
      const Values& x = input(term.input);
      made.largest = up(made.largest + up(term.row_norm * x.largest));
      if (!x.unit) made.unit.reset();
      if (made.unit)
        made.unit =
            std::min(*made.unit, *x.unit + (term.weight.empty() ? 0 : unit_of(term.weight)));
    }
    const double largest = up(made.largest + layer.errors.bias_norm);
    if (!made.unit || !std::isfinite(made.largest)) return {std::nullopt, largest};
    const Values grid = on_grid(layer, made);
    return grid.unit ? grid : Values{std::nullopt, largest};
  }

  // Each output is one input times 1 or -1, or a constant.
  static bool copies(const Layer& layer) {
    std::vector<int> entries(static_cast<std::size_t>(layer.out), 0);
    for (const Term& term : layer.terms) {
      if (std::holds_alternative<ConvMap>(term.map)) return false;
      for (const float w : term.weight)
        if (std::abs(w) != 1) return false;
      for (int i = 0; i < layer.out; ++i) {
        const auto row = static_cast<std::size_t>(i);
        if (const auto* gather = std::get_if<GatherMap>(&term.map))
          entries[row] += gather->source.empty() || gather->source[row] >= 0 ? 1 : 0;
        if (const auto* sparse = std::get_if<SparseMap>(&term.map))
          entries[row] += sparse->row_start[row + 1] - sparse->row_start[row];
      }
    }
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i] > 1 || (entries[i] == 1 && layer.bias[i] != 0)) return false;
    return true;
  }

  Plan& plan_;
  Values box_;
  PerLayer<Values> values_;
};

}  // namespace

void find_exact_centres(Plan& plan) {
  Analysis(plan).run();
}

bool reads_near_ends(const Plan& plan) {
  return std::ranges::any_of(plan.layers, [](const Layer& layer) {
    if (!layer.function || !layer.exact_centre) return false;
    const FunctionDomain domain = facts_of(layer.function->kind).domain(*layer.function);
    if (domain.zero && domain.low < 0 && domain.high > 0) return false;
    return std::ranges::any_of(layer.terms,
                               [](const Term& term) { return term.input == kNetworkInput; });
  });
}

}  // namespace bf_aot
