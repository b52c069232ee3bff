#include "tests/soundness/float32.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <limits>

#include "frontend/evaluate/evaluate_node.h"
#include "frontend/functions/function_float32.h"

namespace bf_aot::soundness {
namespace {

// How the sums of an evaluation run.
enum class Order : int {
  kForward,   // as they are written
  kBackward,  // the other way round, bias first
  kShuffled,  // one after the other
  kTree,      // any two partial sums together
  kLanes,     // four accumulators
  kWide,      // in double, rounded once
  kSorted,    // the largest first
};
constexpr int kOrders = 7;

struct Evaluation {
  Random random;
  Order order = Order::kForward;
  int fused = 0;  // of products, one in so many; 0: none
  int ulps = 3;   // of the library, besides its own
  // Subnormal inputs and results of an operation are taken for zero.
  enum class Flush : int { kNever, kSometimes, kAlways, kByHardware } flush = Flush::kNever;
};

// Of this thread; arithmetic is static.
Evaluation* evaluation = nullptr;

// What an operation reads, or gives.
float flushed(float x) {
  if (x == 0 || std::abs(x) >= std::numeric_limits<float>::min()) return x;
  using Flush = Evaluation::Flush;
  const bool zero = evaluation->flush == Flush::kAlways ||
                    (evaluation->flush == Flush::kSometimes && pick(evaluation->random, 0, 1) == 0);
  return zero ? std::copysign(0.0F, x) : x;
}

// A library's result, so many units in the last place from a good one's, whose error is below 1.
float by_library(float y) {
  const int steps = pick(evaluation->random, -evaluation->ulps, evaluation->ulps);
  for (int i = 0; i < std::abs(steps); ++i) y = std::nextafter(y, steps < 0 ? -INFINITY : INFINITY);
  return y;
}

bool either() {
  return pick(evaluation->random, 0, 1) == 0;
}

// e^x - 1, ln(1 + e^x): in the forms that implementations have.
float less_one(float x) {
  return flushed(either() ? by_library(std::expm1(x)) : flushed(by_library(std::exp(x))) - 1);
}
float softplus(float x) {
  if (either() && x < 80) return by_library(std::log(1 + by_library(std::exp(x))));
  return std::max(x, 0.0F) +
         flushed(by_library(std::log1p(flushed(by_library(std::exp(-std::abs(x)))))));
}

// x^a by the library, by its inverse, or by products.
float power(float x, float a) {
  const float size = std::abs(a);
  const bool whole = std::floor(size) == size && size <= 8;
  float made = size == 0.5F && either() ? std::sqrt(x) : by_library(std::pow(x, size));
  if (whole && either()) {
    made = x;
    for (int i = 1; i < static_cast<int>(size); ++i) made = made * x;
  }
  if (a > 0) return made;
  return either() ? 1 / made : by_library(std::pow(x, a));
}

struct RandomFloat32 {
  using Number = float;

  class Accumulator {
   public:
    void add(float x) { terms_.push_back({x, 1}); }
    void add_product(float a, float b) { terms_.push_back({a, b}); }
    float result() const;

   private:
    struct Term {
      float a, b;  // b is 1 of what is no product
      float value() const { return b == 1 ? a : flushed(flushed(a) * flushed(b)); }
    };
    static float plus(float sum, const Term& term) {
      const bool fused =
          evaluation->fused > 0 && pick(evaluation->random, 1, evaluation->fused) == 1;
      return flushed(fused ? std::fma(flushed(term.a), flushed(term.b), flushed(sum))
                           : flushed(sum) + flushed(term.value()));
    }
    std::vector<Term> terms_;
  };

  static float constant(const Constant& constant, std::size_t i) {
    return static_cast<float>(constant.data[i]);
  }
  static float number(double x) { return static_cast<float>(x); }
  static float add(float a, float b) { return flushed(flushed(a) + flushed(b)); }
  static float subtract(float a, float b) { return flushed(flushed(a) - flushed(b)); }
  static float multiply(float a, float b) { return flushed(flushed(a) * flushed(b)); }
  static float divide(float a, float b) { return flushed(flushed(a) / flushed(b)); }
  static float relu(float x) { return flushed(x) > 0 ? flushed(x) : 0; }
  static float larger(float a, float b) {
    a = flushed(a), b = flushed(b);
    return flushed(a < b ? b : a);
  }
  static float apply(const Function& f, float x) { return flushed(function(f, flushed(x))); }
  static float function(const Function& f, float x) {
    const auto a = static_cast<float>(f.a), b = static_cast<float>(f.b);
    switch (f.kind) {
      case FunctionKind::kLeakyRelu:
        return x < 0 ? a * x : x;
      case FunctionKind::kAbs:
        return std::abs(x);
      case FunctionKind::kClip:
        return std::min(std::max(x, a), b);
      case FunctionKind::kThresholdedRelu:
        return x > a ? x : 0;
      case FunctionKind::kSigmoid:
        return 1 / (1 + by_library(std::exp(-x)));
      case FunctionKind::kTanh:
        return by_library(std::tanh(x));
      case FunctionKind::kErf:
        return by_library(std::erf(x));
      case FunctionKind::kExp:
        return by_library(std::exp(x));
      case FunctionKind::kCappedExp:
        return by_library(std::exp(std::min(x, a)));
      case FunctionKind::kSin:
        return by_library(std::sin(x));
      case FunctionKind::kCos:
        return by_library(std::cos(x));
      case FunctionKind::kAtan:
        return by_library(std::atan(x));
      case FunctionKind::kPower:
        return power(x, a);
      case FunctionKind::kSqrt:
        return either() ? std::sqrt(x) : by_library(std::pow(x, 0.5F));
      case FunctionKind::kReciprocal:
        return either() ? 1 / x : by_library(std::pow(x, -1.0F));
      case FunctionKind::kRound:
        return std::nearbyint(x / a);
      case FunctionKind::kQuantise:
        return std::min(std::max(std::nearbyint(x / a), b), static_cast<float>(f.c));
      case FunctionKind::kSign:
        return static_cast<float>((x > 0) - (x < 0));
      case FunctionKind::kStep:
        return x > 0 ? 1 : 0;
      case FunctionKind::kStepAt:
        return x >= 0 ? 1 : 0;
      case FunctionKind::kIsZero:
        return x == 0 ? 1 : 0;
      case FunctionKind::kFloor:
        return std::floor(x);
      case FunctionKind::kCeil:
        return std::ceil(x);
      case FunctionKind::kShrink:
        return x < -a ? x + b : x > a ? x - b : 0;
      case FunctionKind::kHardSigmoid:
        return std::min(std::max(a * x + b, 0.0F), 1.0F);
      case FunctionKind::kHardSwish:
        return either() ? x * std::min(std::max(x * (1 / 6.0F) + 0.5F, 0.0F), 1.0F)
                        : x * std::min(std::max(x + 3, 0.0F), 6.0F) / 6;
      case FunctionKind::kSoftsign:
        return x / (1 + std::abs(x));
      case FunctionKind::kSoftplus:
        return softplus(x);
      case FunctionKind::kMish:
        return x * by_library(std::tanh(softplus(x)));
      case FunctionKind::kGelu: {
        const float t = either() ? x / std::sqrt(2.0F) : x * 0x1.6a09e6p-1F;
        const float erf = t < -4 ? -1 : by_library(std::erf(t));
        return either() ? 0.5F * x * (1 + erf) : x * (0.5F * (1 + erf));
      }
      case FunctionKind::kGeluTanh: {
        const float cube = either() ? x * x * x : by_library(std::pow(x, 3.0F));
        const float t = 0x1.988454p-1F * (x + 0.044715F * cube);
        const float tanh = t < -10 ? -1 : by_library(std::tanh(t));
        return either() ? 0.5F * x * (1 + tanh) : x * (0.5F + 0.5F * tanh);
      }
      case FunctionKind::kElu:
        return x < 0 ? a * less_one(x) : x;
      case FunctionKind::kCelu:
        return x < 0 ? a * less_one(x / a) : x;
      case FunctionKind::kSelu:
        if (x >= 0) return b * x;
        return either() ? b * (a * by_library(std::exp(x)) - a) : b * a * less_one(x);
      case FunctionKind::kSinh:
        return by_library(std::sinh(x));
      case FunctionKind::kCosh:
        return by_library(std::cosh(x));
      case FunctionKind::kAsinh:
        return by_library(std::asinh(x));
      case FunctionKind::kAcosh:
        return by_library(std::acosh(x));
      case FunctionKind::kAtanh:
        return by_library(std::atanh(x));
      case FunctionKind::kAsin:
        return by_library(std::asin(x));
      case FunctionKind::kAcos:
        return by_library(std::acos(x));
      case FunctionKind::kTan:
        return by_library(std::tan(x));
      case FunctionKind::kLog:
        return by_library(std::log(x));
      default:
        break;
    }
    throw std::logic_error(fmt::format("no float32 {}", name_of(f.kind)));
  }
};

float RandomFloat32::Accumulator::result() const {
  std::vector<Term> terms = terms_;
  if (terms.empty()) return 0;
  Random& random = evaluation->random;
  float sum = 0;
  switch (evaluation->order) {
    case Order::kForward:
      break;
    case Order::kBackward:
      std::ranges::reverse(terms);
      break;
    case Order::kShuffled:
      std::ranges::shuffle(terms, random);
      break;
    case Order::kSorted:
      std::ranges::sort(terms, std::greater<>(),
                        [](const Term& term) { return std::abs(term.a * term.b); });
      break;
    case Order::kTree:
      while (terms.size() > 1) {
        std::swap(
            terms[static_cast<std::size_t>(pick(random, 0, static_cast<int>(terms.size()) - 1))],
            terms.back());
        const Term last = terms.back();
        terms.pop_back();
        Term& other =
            terms[static_cast<std::size_t>(pick(random, 0, static_cast<int>(terms.size()) - 1))];
        other = {plus(other.value(), last), 1};
      }
      return terms.front().value();
    case Order::kLanes: {
      float lanes[4] = {};
      for (std::size_t i = 0; i < terms.size(); ++i) lanes[i % 4] = plus(lanes[i % 4], terms[i]);
      return RandomFloat32::add(RandomFloat32::add(lanes[0], lanes[1]),
                                RandomFloat32::add(lanes[2], lanes[3]));
    }
    case Order::kWide: {
      double wide = 0;
      for (const Term& term : terms)
        wide += static_cast<double>(flushed(term.a)) * static_cast<double>(flushed(term.b));
      return flushed(static_cast<float>(wide));
    }
  }
  for (const Term& term : terms) sum = plus(sum, term);
  return sum;
}

// Sets the processor to flush, for its lifetime.
#if defined(__SSE__)
constexpr int kFlushes = 3;
class FlushingProcessor {
 public:
  explicit FlushingProcessor(bool flush) : before_(_mm_getcsr()) {
    constexpr unsigned kToZero = 0x8000, kAreZero = 0x40;
    if (flush) _mm_setcsr(before_ | kToZero | kAreZero);
  }
  ~FlushingProcessor() { _mm_setcsr(before_); }
  FlushingProcessor(const FlushingProcessor&) = delete;
  FlushingProcessor& operator=(const FlushingProcessor&) = delete;

 private:
  unsigned before_;
};
#else
constexpr int kFlushes = 2;
struct FlushingProcessor {
  explicit FlushingProcessor(bool) {}
};
#endif

SparseAffine rows_of(const std::vector<std::vector<std::pair<std::int64_t, double>>>& rows,
                     double bias) {
  SparseAffine op;
  op.row_start = {0};
  for (const auto& row : rows) {
    for (const auto& [column, value] : row) {
      op.column.push_back(column);
      op.value.data.push_back(value);
    }
    op.row_start.push_back(static_cast<std::int64_t>(op.column.size()));
  }
  op.value.shape = {static_cast<std::int64_t>(op.value.data.size())};
  op.bias = {{static_cast<std::int64_t>(rows.size())}, std::vector<double>(rows.size(), bias), {}};
  return op;
}

float sum_of(const std::vector<float>& terms) {
  RandomFloat32::Accumulator sum;
  for (const float term : terms) sum.add(term);
  return sum.result();
}

// Sets `evaluation` to one in a random order, for its lifetime.
class InRandomOrder {
 public:
  explicit InRandomOrder(Random& random) {
    made_.random.seed(random());
    made_.order = static_cast<Order>(pick(random, 0, kOrders - 1));
    evaluation = &made_;
  }
  ~InRandomOrder() { evaluation = nullptr; }
  InRandomOrder(const InRandomOrder&) = delete;
  InRandomOrder& operator=(const InRandomOrder&) = delete;

 private:
  Evaluation made_;
};

}  // namespace

std::vector<float> evaluate_once(const Graph& graph, const std::vector<float>& x, Random& random,
                                 int ulps, bool flush) {
  Evaluation made;
  made.ulps = ulps;
  if (flush) made.flush = static_cast<Evaluation::Flush>(pick(random, 1, kFlushes));
  made.random.seed(random());
  made.order = static_cast<Order>(pick(random, 0, kOrders - 1));
  made.fused = pick(random, 0, 2);
  evaluation = &made;
  std::vector<std::vector<float>> inputs;
  auto next = x.begin();
  for (const ValueId id : graph.inputs) {
    const auto count = static_cast<std::ptrdiff_t>(element_count(graph.value(id).shape));
    inputs.emplace_back(next, next + count);
    next += count;
  }
  std::vector<float> values;
  const FlushingProcessor processor(made.flush == Evaluation::Flush::kByHardware);
  for (const std::vector<float>& output : evaluate_with<RandomFloat32>(graph, inputs))
    values.insert(values.end(), output.begin(), output.end());
  evaluation = nullptr;
  return values;
}

std::vector<float> random_point_in(const FloatBox& box, Random& random) {
  std::vector<float> x(box.lower.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = pick(random, 0, 2) == 0 ? pick(random, 0, 1) : pick(random, 0, 4096) / 4096.0;
    const double low = static_cast<double>(box.lower[i]), high = static_cast<double>(box.upper[i]);
    x[i] = std::clamp(static_cast<float>(low + t * (high - low)), box.lower[i], box.upper[i]);
  }
  return x;
}

ValueId add_log_softmax(Builder& builder, int n) {
  LogSoftmax op{{0, n}, {}};
  for (int i = 0; i < n; ++i) op.source.push_back(i);
  return builder.node(std::move(op), {builder.last()}, {1, n});
}

Graph log_softmax_graph(int n) {
  Builder builder(n);
  return builder.back_to(add_log_softmax(builder, n)).done();
}

Graph softmax_graph(int n) {
  Builder builder(n);
  return builder.back_to(add_log_softmax(builder, n)).unary({FunctionKind::kExp}).done();
}

Graph log_sum_graph(int n) {
  Builder builder(n);
  std::vector<std::vector<std::pair<std::int64_t, double>>> all(1);
  for (int i = 0; i < n; ++i) all[0].emplace_back(i, 1);
  const ValueId powers = builder.unary({FunctionKind::kExp}).last();
  const ValueId sum = builder.node(rows_of(all, 0), {powers}, {1, 1});
  return builder.back_to(sum).unary({FunctionKind::kLog}).done();
}

std::vector<float> log_sum_once(const std::vector<float>& x, Random& random) {
  const InRandomOrder order(random);
  const bool plain = either();
  const float largest = plain ? 0 : *std::ranges::max_element(x);
  std::vector<float> e;
  for (const float each : x) e.push_back(by_library(std::exp(each - largest)));
  const float logarithm = by_library(std::log(sum_of(e)));
  return {plain ? logarithm : largest + logarithm};
}

// As x_i - m - ln sum, or as the logarithm of the softmax where no element of that is subnormal.
std::vector<float> log_softmax_once(const std::vector<float>& x, Random& random) {
  std::vector<float> y = softmax_once(x, random);
  const InRandomOrder order(random);
  if (either() && *std::ranges::min_element(y) > 0x1p-120F) {
    for (float& each : y) each = by_library(std::log(each));
    return y;
  }
  const float largest = *std::ranges::max_element(x);
  std::vector<float> e;
  for (const float each : x) e.push_back(by_library(std::exp(each - largest)));
  const float logarithm = by_library(std::log(sum_of(e)));
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] - largest - logarithm;
  return y;
}

std::vector<float> softmax_once(const std::vector<float>& x, Random& random) {
  const InRandomOrder order(random);
  const float largest = *std::ranges::max_element(x);
  const bool plain = either() && largest < 80 && *std::ranges::min_element(x) > -80;
  std::vector<float> e, y;
  for (const float each : x) e.push_back(by_library(std::exp(plain ? each : each - largest)));
  const float sum = sum_of(e);
  const bool inverse = either();
  for (const float each : e) y.push_back(inverse ? each * (1 / sum) : each / sum);
  return y;
}

Graph normalised_graph(int n, double epsilon) {
  Builder builder(n);
  const double share = 1.0 / n;
  std::vector<std::vector<std::pair<std::int64_t, double>>> centred(static_cast<std::size_t>(n)),
      mean(1);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j)
      centred[static_cast<std::size_t>(i)].emplace_back(j, (i == j ? 1 : 0) - share);
    mean[0].emplace_back(i, share);
  }
  const auto inexact = [&](SparseAffine op) {
    op.value.error.assign(op.value.data.size(), 0x1p-52);
    return op;
  };
  const ValueId c = builder.node(inexact(rows_of(centred, 0)), {builder.last()}, {1, n});
  ValueId v = builder.back_to(c).unary({FunctionKind::kPower, 2, 0}).last();
  v = builder.node(inexact(rows_of(mean, static_cast<double>(static_cast<float>(epsilon)))), {v},
                   {1, 1});
  v = builder.back_to(v).unary({FunctionKind::kPower, -0.5, 0}).last();
  v = builder.node(IndexMap{std::vector<std::int64_t>(static_cast<std::size_t>(n), 0)}, {v},
                   {1, n});
  return builder.back_to(c).binary(Binary::Kind::kMul, v).done();
}

Graph scaled_graph(Graph graph, double scale, double bias) {
  const Shape shape = graph.value(graph.outputs[0]).shape;
  const auto add = [&](Op op, std::vector<ValueId> inputs) {
    const ValueId id = graph.add_value("v", shape);
    graph.nodes.push_back({std::move(op), std::move(inputs), id, "node"});
    return id;
  };
  const ValueId s = add(Literal{filled(shape, scale)}, {}),
                b = add(Literal{filled(shape, bias)}, {});
  const ValueId y = add(Binary{Binary::Kind::kMul}, {graph.outputs[0], s});
  graph.outputs = {add(Binary{Binary::Kind::kAdd}, {y, b})};
  return graph;
}

Graph root_mean_square_graph(int n, double epsilon) {
  Builder builder(n);
  const ValueId x = builder.last();
  std::vector<std::vector<std::pair<std::int64_t, double>>> mean(1);
  for (int i = 0; i < n; ++i) mean[0].emplace_back(i, 1.0 / n);
  SparseAffine op = rows_of(mean, static_cast<double>(static_cast<float>(epsilon)));
  op.value.error.assign(op.value.data.size(), 0x1p-52);
  ValueId v = builder.unary({FunctionKind::kPower, 2, 0}).last();
  v = builder.node(std::move(op), {v}, {1, 1});
  v = builder.back_to(v).unary({FunctionKind::kPower, -0.5, 0}).last();
  v = builder.node(IndexMap{std::vector<std::int64_t>(static_cast<std::size_t>(n), 0)}, {v},
                   {1, n});
  return builder.back_to(x).binary(Binary::Kind::kMul, v).done();
}

std::vector<float> root_mean_square_once(const std::vector<float>& x, float epsilon,
                                         Random& random) {
  const InRandomOrder order(random);
  const auto n = static_cast<float>(x.size());
  std::vector<float> squares, y;
  for (const float each : x) squares.push_back(each * each);
  const float root = std::sqrt(sum_of(squares) / n + epsilon);
  const bool inverse = either();
  for (const float each : x) y.push_back(inverse ? each * (1 / root) : each / root);
  return y;
}

Graph norm_graph(int n, int p) {
  Builder builder(n);
  const ValueId x = builder.last();
  std::vector<std::vector<std::pair<std::int64_t, double>>> all(1);
  for (int i = 0; i < n; ++i) all[0].emplace_back(i, 1);
  builder.unary(p == 1 ? Function{FunctionKind::kAbs} : Function{FunctionKind::kPower, 2, 0});
  ValueId v = builder.node(rows_of(all, 0), {builder.last()}, {1, 1});
  if (p == 2) v = builder.back_to(v).unary({FunctionKind::kSqrt}).last();
  v = builder.node(IndexMap{std::vector<std::int64_t>(static_cast<std::size_t>(n), 0)}, {v},
                   {1, n});
  return builder.back_to(x).binary(Binary::Kind::kDiv, v).done();
}

std::vector<float> norm_once(const std::vector<float>& x, int p, Random& random) {
  const InRandomOrder order(random);
  std::vector<float> terms, y;
  for (const float each : x) terms.push_back(p == 1 ? std::abs(each) : each * each);
  const float norm = p == 1 ? sum_of(terms) : std::sqrt(sum_of(terms));
  for (const float each : x) y.push_back(each / norm);
  return y;
}

Graph sum_graph(int n) {
  Builder builder(n);
  const ValueId x = builder.last();
  const ValueId first = builder.pick(0).last();
  ValueId sum = first;
  for (int i = 1; i < n; ++i) {
    const ValueId next = builder.back_to(x).pick(i).last();
    sum = builder.back_to(sum).binary(Binary::Kind::kAdd, next).last();
  }
  return builder.back_to(sum).done();
}

std::vector<float> sum_once(const std::vector<float>& x, Random& random) {
  const InRandomOrder order(random);
  return {sum_of(x)};
}

// x inverse scale + (bias - mean inverse scale), as instance normalisation is made.
std::vector<float> shifted_once(const std::vector<float>& x, float epsilon, float scale, float bias,
                                Random& random) {
  const InRandomOrder order(random);
  const auto n = static_cast<float>(x.size());
  const float mean = either() ? sum_of(x) / n : sum_of(x) * (1 / n);
  std::vector<float> squares, y;
  for (const float each : x) squares.push_back((each - mean) * (each - mean));
  const float factor = 1 / std::sqrt(sum_of(squares) / n + epsilon) * scale;
  const float shift = either() ? bias - mean * factor : std::fma(-mean, factor, bias);
  for (const float each : x)
    y.push_back(either() ? each * factor + shift : std::fma(each, factor, shift));
  return y;
}

std::vector<float> normalised_once(const std::vector<float>& x, float epsilon, Random& random) {
  const InRandomOrder order(random);
  const auto n = static_cast<float>(x.size());
  const bool divide = either(), inverse = either();
  const float mean = divide ? sum_of(x) / n : sum_of(x) * (1 / n);
  std::vector<float> squares, y;
  for (const float each : x) squares.push_back((each - mean) * (each - mean));
  const float sum = sum_of(squares);
  const float deviation = std::sqrt((divide ? sum / n : sum * (1 / n)) + epsilon);
  for (const float each : x)
    y.push_back(inverse ? (each - mean) * (1 / deviation) : (each - mean) / deviation);
  return y;
}

}  // namespace bf_aot::soundness
