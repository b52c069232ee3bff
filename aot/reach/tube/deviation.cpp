#include "aot/reach/tube/deviation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bf_aot::reach {
namespace {

constexpr int kTries = 24;
constexpr double kInflation = 1.25;

// A value with bounds of the magnitudes of its partial derivatives by the program's inputs.
struct Partials {
  Range value;
  std::vector<double> most;  // [inputs], or empty: all 0
};

// Each bound is rounded to nearest and moved up: sums and products of numbers of at least 0.
double up(double x) {
  return x == 0 ? 0 : bf::next_up(x);
}

struct PartialsArithmetic {
  using R = RangeArithmetic;

  static Partials constant(const Bounded& x) { return {R::constant(x), {}}; }
  static Partials add(const Partials& a, const Partials& b) {
    return {R::add(a.value, b.value), sum(a.most, 1, b.most, 1)};
  }
  static Partials subtract(const Partials& a, const Partials& b) {
    return {R::subtract(a.value, b.value), sum(a.most, 1, b.most, 1)};
  }
  static Partials multiply(const Partials& a, const Partials& b) {
    return {R::multiply(a.value, b.value),
            sum(a.most, magnitude(b.value), b.most, magnitude(a.value))};
  }
  static Partials square(const Partials& a) {
    return {R::square(a.value), sum(a.most, 2 * magnitude(a.value), {}, 0)};
  }
  // d (a / b) = da / b - (a / b) db / b.
  static Partials divide(const Partials& a, const Partials& b) {
    const Range quotient = R::divide(a.value, b.value);
    const double inverse = magnitude(R::divide({1, 1}, b.value));
    return {quotient, sum(a.most, inverse, b.most, up(magnitude(quotient) * inverse))};
  }
  static Partials relu(const Partials& a) { return {R::relu(a.value), a.most}; }
  static Partials larger(const Partials& a, const Partials& b) {
    Partials made{R::larger(a.value, b.value), a.most};
    made.most.resize(std::max(a.most.size(), b.most.size()), 0);
    for (std::size_t i = 0; i < b.most.size(); ++i)
      made.most[i] = std::max(made.most[i], b.most[i]);
    return made;
  }
  static Partials apply(const Function& f, const Partials& x) {
    using Derivatives = bf::loops::DerivativesOf<Values, Function>;
    const double most = bf::loops::has_derivatives(f) ? magnitude(Derivatives::first(f, x.value))
                                                      : std::numeric_limits<double>::infinity();
    return {R::apply(f, x.value), sum(x.most, most, {}, 0)};
  }

 private:
  static std::vector<double> sum(const std::vector<double>& a, double by_a,
                                 const std::vector<double>& b, double by_b) {
    std::vector<double> made(std::max(a.size(), b.size()), 0);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != 0) made[i] = up(a[i] * by_a);
    for (std::size_t i = 0; i < b.size(); ++i)
      if (b[i] != 0) made[i] = up(made[i] + up(b[i] * by_b));
    return made;
  }
};

}  // namespace

std::optional<std::vector<double>> deviation(const ScalarProgram& plant,
                                             const std::vector<Range>& within,
                                             const std::vector<Range>& held,
                                             const std::vector<double>& radius, double seconds) {
  const std::size_t states = within.size(), count = states + held.size();
  std::vector<Partials> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    inputs.push_back({i < states ? within[i] : held[i - states], std::vector<double>(count, 0)});
    inputs.back().most[i] = 1;
  }
  std::vector<Partials> slopes = outputs_of(plant, inputs, PartialsArithmetic());
  for (Partials& each : slopes) each.most.resize(count, 0);
  // seconds (|J| apart + |J_held| radius).
  const auto next = [&](const std::vector<double>& apart) {
    std::vector<double> made;
    for (std::size_t i = 0; i < states; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const double by = k < states ? apart[k] : radius[k - states];
        if (by != 0 && slopes[i].most[k] != 0) sum = up(sum + up(slopes[i].most[k] * by));
      }
      made.push_back(up(sum * seconds));
    }
    return made;
  };
  std::vector<double> apart(states, 0);
  for (int round = 0; round < kTries; ++round) {
    const std::vector<double> made = next(apart);
    bool closed = true;
    for (std::size_t i = 0; i < states; ++i) {
      if (!std::isfinite(made[i])) return std::nullopt;
      closed = closed && made[i] <= apart[i];
    }
    if (closed) return made;
    for (std::size_t i = 0; i < states; ++i) apart[i] = std::max(apart[i], made[i] * kInflation);
  }
  return std::nullopt;
}

}  // namespace bf_aot::reach
