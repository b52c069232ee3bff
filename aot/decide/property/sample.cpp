#include "aot/decide/property/sample.h"

#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/diagnostic.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/evaluate/evaluate_float32.h"
#include "frontend/evaluate/evaluate_node.h"
#include "frontend/functions/function_bounded.h"
#include "frontend/import/file/importer.h"

namespace bf_aot::decide {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers with proven error bounds, as an arithmetic for NodeEvaluator.
struct BoundedArithmetic {
  using Number = Bounded;

  struct Accumulator {
    Sum sum;
    void add(const Bounded& x) { sum.add(x); }
    void add_product(const Bounded& a, const Bounded& b) { sum.add_product(a, b); }
    Bounded result() const { return sum.result(); }
  };

  static Bounded constant(const Constant& constant, std::size_t i) {
    return {constant.data[i], constant.error_at(i)};
  }
  static Bounded number(double x) { return {x, 0}; }
  static Bounded add(const Bounded& a, const Bounded& b) { return bf_aot::add(a, b); }
  static Bounded subtract(const Bounded& a, const Bounded& b) { return bf_aot::add(a, negate(b)); }
  static Bounded multiply(const Bounded& a, const Bounded& b) { return bf_aot::multiply(a, b); }
  static Bounded divide(const Bounded& a, const Bounded& b) {
    return can_divide_by(b) ? bf_aot::divide(a, b) : Bounded{0, kInfinity};
  }
  static Bounded relu(const Bounded& x) { return bf_aot::relu(x); }
  // The larger of two; the error holds since |max a - max b| <= max |a - b|.
  static Bounded larger(const Bounded& a, const Bounded& b) {
    return {std::max(a.value, b.value), std::max(a.error, b.error)};
  }
  static Bounded apply(const Function& function, const Bounded& x) {
    return bounded_function(function, x).value_or(Bounded{0, kInfinity});
  }
};

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

float between(float lower, float upper, double t) {
  const double x = static_cast<double>(lower) * (1 - t) + static_cast<double>(upper) * t;
  return std::clamp(static_cast<float>(x), lower, upper);
}

enum class Side { kInside, kOutside, kUndecided };

// Decides whether the number that x stands for is >= bound, as far as x's error allows.
Side at_least(const Bounded& x, double bound) {
  if (!std::isfinite(x.value) || !std::isfinite(x.error)) return Side::kUndecided;
  if (x.error == 0) return x.value >= bound ? Side::kInside : Side::kOutside;
  if (std::nextafter(x.value - x.error, -kInfinity) >= bound) return Side::kInside;
  if (std::nextafter(x.value + x.error, kInfinity) < bound) return Side::kOutside;
  return Side::kUndecided;
}

// Returns whether the operator makes rational numbers of rational numbers, by exact constants.
bool has_rational_values(const Node& node) {
  if (!has_exact_constants(node.op)) return false;
  if (const auto* const binary = std::get_if<Binary>(&node.op))
    return binary->kind != Binary::Kind::kDiv;
  if (const auto* const unary = std::get_if<Unary>(&node.op))
    return is_piecewise_linear(unary->function.kind) && unary->function.slack == 0;
  return std::holds_alternative<Literal>(node.op) || std::holds_alternative<Scale>(node.op) ||
         std::holds_alternative<Affine>(node.op) || std::holds_alternative<SparseAffine>(node.op) ||
         std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Gemm>(node.op) ||
         std::holds_alternative<Relu>(node.op) || std::holds_alternative<IndexMap>(node.op) ||
         std::holds_alternative<GroupMax>(node.op);
}

bool is_large(const Graph& graph) {
  constexpr std::size_t kLarge = std::size_t{1} << 20;  // numbers, which are read in a moment
  std::size_t numbers = 0;
  for (const Node& node : graph.nodes)
    if (const auto* const literal = std::get_if<Literal>(&node.op))
      numbers += literal->value.data.size();
  return numbers >= kLarge;
}

}  // namespace

Sampler::Sampler(std::filesystem::path model, ModelCut cut)
    : model_(std::move(model)), cut_(std::move(cut)) {
  (void)graph();
}

const Graph& Sampler::graph() const {
  if (!graph_) {
    graph_ = import_model(model_, {}, {}, cut_).graph;
    if (ordered_) BF_CHECK(order_outputs(*graph_));
  }
  return *graph_;
}

Sampler Sampler::ordered() const {
  BF_CHECK(!float32_ && !ordered_);
  if (model_.empty()) {
    Graph made = *graph_;
    BF_CHECK(order_outputs(made));
    return Sampler(std::move(made));
  }
  Sampler made;
  made.model_ = model_;
  made.cut_ = cut_;
  made.ordered_ = true;
  return made;
}

void Sampler::release() const {
  if (!model_.empty() && graph_ && is_large(*graph_)) graph_.reset();
}

Sampler::Sampler(Graph imported, const Float32Semantics& semantics)
    : graph_(std::move(imported)), float32_(true) {
  if (!is_large(*graph_)) unrounded_ = graph_;
  round_float32(*graph_, semantics);
}

template <class Number>
std::vector<std::vector<Number>> Sampler::split(const std::vector<Number>& input) const {
  std::vector<std::vector<Number>> inputs;
  auto next = input.begin();
  for (ValueId id : graph().inputs) {
    const auto count = static_cast<std::ptrdiff_t>(element_count(graph().value(id).shape));
    BF_CHECK(input.end() - next >= count);
    inputs.emplace_back(next, next + count);
    next += count;
  }
  BF_CHECK(next == input.end());
  return inputs;
}

SampledPoint Sampler::evaluate(const std::vector<double>& input,
                               const std::vector<std::vector<double>>& rows) const {
  std::vector<std::vector<Bounded>> inputs;
  for (const std::vector<double>& tensor : split(input)) {
    inputs.emplace_back();
    for (double x : tensor) inputs.back().push_back({x, 0});
  }
  SampledPoint point;
  point.input = input;
  for (const std::vector<Bounded>& output : evaluate_with<BoundedArithmetic>(graph(), inputs))
    point.values.insert(point.values.end(), output.begin(), output.end());
  const std::size_t outputs = point.values.size();
  for (const std::vector<double>& row : rows) {
    BF_CHECK(row.size() == outputs);
    Sum sum;
    for (std::size_t i = 0; i < outputs; ++i) sum.add_product({row[i], 0}, point.values[i]);
    point.values.push_back(sum.result());
  }
  return point;
}

std::vector<Bounded> Sampler::outputs(const std::vector<Bounded>& input) const {
  std::vector<Bounded> values;
  for (const std::vector<Bounded>& output : evaluate_with<BoundedArithmetic>(graph(), split(input)))
    values.insert(values.end(), output.begin(), output.end());
  return values;
}

std::optional<std::vector<mpq_class>> Sampler::exact_outputs(
    const std::vector<mpq_class>& input) const {
  if (!std::ranges::all_of(graph().nodes, has_rational_values)) return std::nullopt;
  std::vector<mpq_class> values;
  for (const std::vector<mpq_class>& output : evaluate_exact(graph(), split(input)))
    values.insert(values.end(), output.begin(), output.end());
  return values;
}

std::optional<std::vector<double>> Sampler::unrounded_outputs(
    const std::vector<double>& input) const {
  BF_CHECK(float32_);
  if (!unrounded_) return std::nullopt;
  return evaluate_unrounded(*unrounded_, split(input));
}

std::vector<std::vector<double>> Sampler::points(const input::FloatBox& box, int count,
                                                 std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<double>> result;
  for (int k = 0; k < count; ++k) {
    // Kind 0 is a corner; 1 has each coordinate at an end or inside; 2 has all inside.
    const int kind = k % 3;
    std::vector<double> point;
    for (std::size_t i = 0; i < box.lower.size(); ++i) {
      const bool end = kind == 0 || (kind == 1 && (random.bits() & 1) != 0);
      const double t = end ? static_cast<double>(random.bits() & 1) : random.unit();
      point.push_back(static_cast<double>(between(box.lower[i], box.upper[i], t)));
    }
    result.push_back(std::move(point));
  }
  return result;
}

bool Sampler::inside(const SampledPoint& point, const std::vector<std::vector<double>>& rows,
                     std::size_t i, double lower, double upper) const {
  const Bounded& y = point.values.at(i);
  const Side above = at_least(y, lower);
  const Side below = at_least(negate(y), -upper);
  if (above == Side::kOutside || below == Side::kOutside) return false;
  if (above == Side::kInside && below == Side::kInside) return true;
  return inside_exactly(point, rows, i, lower, upper);
}

bool Sampler::inside_exactly(const SampledPoint& point,
                             const std::vector<std::vector<double>>& rows, std::size_t i,
                             double lower, double upper) const {
  std::vector<mpq_class> outputs;
  for (const std::vector<mpq_class>& output : evaluate_exact(graph(), split(point.input)))
    outputs.insert(outputs.end(), output.begin(), output.end());
  mpq_class y;
  if (i < outputs.size())
    y = outputs[i];
  else
    for (std::size_t k = 0; k < outputs.size(); ++k)
      y += mpq_class(rows.at(i - outputs.size()).at(k)) * outputs[k];
  // mpq_class has no infinities; an infinite bound on its own side holds.
  return (lower == -kInfinity || (std::isfinite(lower) && y >= mpq_class(lower))) &&
         (upper == kInfinity || (std::isfinite(upper) && y <= mpq_class(upper)));
}

}  // namespace bf_aot::decide
