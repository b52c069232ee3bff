// Semantics float32: whatever evaluation in float32 makes of a network, in any order of its sums,
// with fused multiply-adds or without, by wider accumulators or not, lies inside the bounds.
// Random networks and graphs, and networks made so that an order shows. BF_SEED=n repeats a run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "frontend/diagnostic.h"
#include "frontend/evaluate_node.h"
#include "frontend/passes/float32_functions.h"
#include "frontend/passes/pipeline.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/general.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

std::uint64_t seed() {
  return testing::seed_from_environment(20261125);
}

// ---- evaluation

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
      case FunctionKind::kSin:
        return by_library(std::sin(x));
      case FunctionKind::kCos:
        return by_library(std::cos(x));
      case FunctionKind::kAtan:
        return by_library(std::atan(x));
      case FunctionKind::kPower:
        if (a == 2) return x * x;
        break;
      case FunctionKind::kSqrt:
        return std::sqrt(x);
      case FunctionKind::kReciprocal:
        return 1 / x;
      case FunctionKind::kRound:
        return std::nearbyint(x / a);
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

std::vector<float> evaluate_once(const Graph& graph, const std::vector<float>& x, Random& random,
                                 int ulps = 3, bool flush = false) {
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

// ---- plans

PlannerConfig float32_config(Method method) {
  PlannerConfig config = planner_config(method, Lowering::kPrebuilt, engine_targets().back());
  config.iterations = 3;
  config.semantics = Semantics::kFloat32;
  return config;
}

// A network of one input tensor, operator by operator.
class Builder {
 public:
  explicit Builder(int inputs) {
    graph_.name = "float32";
    last_ = graph_.add_value("x", {1, inputs});
    graph_.inputs = {last_};
  }

  ValueId literal(Shape shape, std::vector<double> numbers) {
    return node(Literal{{shape, std::move(numbers), {}}}, {}, shape);
  }
  // Of the last value.
  Builder& matmul(int out, std::vector<double> weight) {
    const Shape& in = graph_.value(last_).shape;
    const ValueId w = literal({in[1], out}, std::move(weight));
    last_ = node(MatMul{}, {last_, w}, {1, out});
    return *this;
  }
  Builder& binary(Binary::Kind kind, std::vector<double> constant) {
    const Shape shape = graph_.value(last_).shape;
    const ValueId c = literal(shape, std::move(constant));
    last_ = node(Binary{kind}, {last_, c}, shape);
    return *this;
  }
  Builder& binary(Binary::Kind kind, ValueId other) {
    last_ = node(Binary{kind}, {last_, other}, graph_.value(last_).shape);
    return *this;
  }
  Builder& unary(Function function) {
    last_ = node(Unary{function}, {last_}, graph_.value(last_).shape);
    return *this;
  }
  Builder& relu() {
    last_ = node(Relu{}, {last_}, graph_.value(last_).shape);
    return *this;
  }
  Builder& pick(int element) {
    last_ = node(IndexMap{{element}}, {last_}, {1, 1});
    return *this;
  }
  ValueId last() const { return last_; }
  ValueId node(Op op, std::vector<ValueId> inputs, Shape shape) {
    const ValueId id = graph_.add_value("v", std::move(shape));
    graph_.nodes.push_back({std::move(op), std::move(inputs), id, "node"});
    return id;
  }
  Builder& back_to(ValueId value) {
    last_ = value;
    return *this;
  }
  Graph done() const {
    Graph made = graph_;
    made.outputs = {last_};
    return made;
  }

 private:
  Graph graph_;
  ValueId last_ = {};
};

// Null, and counted by its diagnostic: what float32 semantics or the planner does not cover.
std::shared_ptr<const Plan> plan_float32(Graph graph, Method method,
                                         std::map<std::string, int>* refused,
                                         Semantics semantics = Semantics::kFloat32,
                                         const Float32Semantics& float32 = {}) {
  PassOptions passes;
  if (semantics == Semantics::kFloat32) passes.float32 = float32;
  PlannerConfig config = float32_config(method);
  config.semantics = semantics;
  try {
    normalise(graph, passes);
    return plan_for_engine(graph, false, config);
  } catch (const CompileError& error) {
    if (refused != nullptr) ++(*refused)[error.diagnostics().front().code];
    return nullptr;
  }
}

bool is_inside(const std::vector<float>& y, const Outcome& bounds, std::size_t* where) {
  for (std::size_t i = 0; i < y.size(); ++i)
    if (!(y[i] >= bounds.lower[i] && y[i] <= bounds.upper[i])) {
      *where = i;
      return false;
    }
  return true;
}

class Float32 : public ::testing::Test {
 protected:
  void SetUp() override {
    std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
    random_.seed(seed());
  }

  // Evaluations of points of the box, all inside; `graph` as it was imported.
  void check(const Graph& graph, const Plan& plan, const FloatBox& box, const std::string& label) {
    const engine::Engine engine(std::make_shared<const Plan>(plan));
    check(graph, plan, engine, box, label);
  }
  void check(const Graph& graph, const Plan& plan, const engine::Engine& engine,
             const FloatBox& box, const std::string& label) {
    const Called called = call_bounds(plan, callee_of(engine), {}, {box});
    if (called.status == BF_FLOAT32_RANGE || called.status == BF_INFINITE_BOX) {
      ++beyond_;
      return;
    }
    ASSERT_EQ(called.status, BF_OK) << label;
    ++boxes_;
    for (int i = 0; i < 20; ++i) {
      const std::vector<float> x = random_point_in(box, random_);
      const std::vector<float> y = evaluate_once(graph, x, random_, 3, flush_);
      std::size_t where = 0;
      ++evaluations_;
      if (!is_inside(y, called.boxes.front(), &where))
        FAIL() << fmt::format("BF_SEED={} {}: output {} is {:a}, bounds {:a} {:a}", seed(), label,
                              where, y[where], called.boxes.front().lower[where],
                              called.boxes.front().upper[where]);
    }
  }

  Random random_;
  std::map<std::string, int> refused_;
  bool flush_ = false;  // evaluations may
  int boxes_ = 0, beyond_ = 0, evaluations_ = 0;
};

constexpr Method kMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown,
                               Method::kForward};

TEST_F(Float32, EveryEvaluationOfRandomNetworksIsInside) {
  const int rounds = 4 * testing::rounds_from_environment();
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round)
    for (int family = 0; family < kFamilies; ++family)
      for (const Method method : kMethods) {
        const Net net = random_net(random_, static_cast<Family>(family));
        const Graph graph = to_graph(net, static_cast<Form>(pick(random_, 0, 2)));
        const auto plan = plan_float32(graph, method, &refused_);
        if (plan == nullptr) continue;
        for (int i = 0; i < 3 && !HasFatalFailure(); ++i)
          check(graph, *plan, random_box(random_, net.inputs(), pick(random_, 0, kBoxKinds - 1)),
                fmt::format("{}, {}", net.label, to_string(method)));
      }
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  std::printf("%d boxes, %d beyond, %d evaluations\n", boxes_, beyond_, evaluations_);
  EXPECT_GT(boxes_, rounds * 100);
}

TEST_F(Float32, EveryEvaluationOfRandomGraphsIsInside) {
  const int rounds = 150 * testing::rounds_from_environment();
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    const Graph graph =
        testing::random_graph(random_, testing::Numbers::kFloats, pick(random_, 2, 10));
    for (const Method method : kMethods) {
      const auto plan = plan_float32(graph, method, &refused_);
      if (plan == nullptr) continue;
      for (int i = 0; i < 2 && !HasFatalFailure(); ++i)
        check(graph, *plan, random_general_box(random_, plan->input_count),
              fmt::format("{}, {}", to_string(graph), to_string(method)));
    }
  }
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  std::printf("%d boxes, %d beyond, %d evaluations\n", boxes_, beyond_, evaluations_);
  EXPECT_GT(boxes_, rounds / 2);
}

// Every function that is covered, alone and before a sum, at points and on boxes of every width.
TEST_F(Float32, EveryEvaluationOfFunctionsIsInside) {
  // Tables of functions are made with MPFR: one plan for each function.
  const int rounds = testing::rounds_from_environment();
  std::map<FunctionKind, int> covered;
  for (std::size_t kind = 0; kind < kFunctionKinds; ++kind)
    for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
      Function f{static_cast<FunctionKind>(kind), pick(random_, 1, 16) / 8.0, 0.25};
      if (f.kind == FunctionKind::kPower) f.a = 2;
      if (f.kind == FunctionKind::kRound) f.a = 0x1.99999ap-4;
      if (!evaluated_in_float32(f, 4)) continue;
      const bool small = f.kind == FunctionKind::kAsin || f.kind == FunctionKind::kAcos ||
                         f.kind == FunctionKind::kAtanh;
      const bool positive = f.kind == FunctionKind::kLog || f.kind == FunctionKind::kSqrt ||
                            f.kind == FunctionKind::kReciprocal;
      const Graph graph = pick(random_, 0, 1) == 0
                              ? Builder(4).unary(f).done()
                              : Builder(4).unary(f).matmul(2, {1, -1, 2, 1, 3, -2, 0, 1}).done();
      const auto plan = plan_float32(graph, Method::kCrown, &refused_);
      if (plan == nullptr) continue;
      const engine::Engine engine(plan);
      for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
        FloatBox box;
        const float scale = std::ldexp(1.0F, small ? -pick(random_, 1, 20) : pick(random_, -20, 5));
        const float width = i % 2 == 0 ? 0 : std::ldexp(1.0F, -pick(random_, 0, 20));
        for (int k = 0; k < 4; ++k) {
          float x = std::uniform_real_distribution<float>(-1, 1)(random_) * scale;
          if (positive) x = std::abs(x) + 0x1p-20F;
          if (f.kind == FunctionKind::kAcosh) x = 1 + std::abs(x);
          box.lower.push_back(x);
          box.upper.push_back(x + (small ? 0.4F : 1) * std::abs(x) * width);
        }
        const int before = evaluations_;
        check(graph, *plan, engine, box, to_string(f));
        covered[f.kind] += evaluations_ - before;
      }
    }
  for (const auto& [kind, count] : covered)
    std::printf("%s: %d evaluations\n", std::string(name_of(kind)).c_str(), count);
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  EXPECT_GE(covered.size(), 30U);
}

// ---- operators that implementations do not compute by the nodes that import makes of them

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

// As import has it.
Graph softmax_graph(int n) {
  Builder builder(n);
  std::vector<std::vector<std::pair<std::int64_t, double>>> differences, sums;
  for (int i = 0; i < n; ++i) {
    sums.emplace_back();
    for (int j = 0; j < n; ++j) {
      if (i == j) continue;
      sums.back().emplace_back(static_cast<std::int64_t>(differences.size()), 1);
      if (j < i)
        differences.push_back({{j, 1}, {i, -1}});
      else
        differences.push_back({{i, -1}, {j, 1}});
    }
  }
  const auto pairs = static_cast<std::int64_t>(differences.size());
  ValueId v = builder.node(rows_of(differences, 0), {builder.last()}, {1, pairs});
  v = builder.node(Unary{{FunctionKind::kExp, 0, 0}}, {v}, {1, pairs});
  v = builder.node(rows_of(sums, 1), {v}, {1, n});
  return builder.back_to(v)
      .unary({FunctionKind::kClip, 1, HUGE_VAL})
      .unary({FunctionKind::kReciprocal, 0, 0})
      .unary({FunctionKind::kClip, 0, 1})
      .done();
}

float sum_of(const std::vector<float>& terms) {
  RandomFloat32::Accumulator sum;
  for (const float term : terms) sum.add(term);
  return sum.result();
}

// With the largest element subtracted, or without; quotients or products with an inverse.
std::vector<float> softmax_once(const std::vector<float>& x) {
  const float largest = *std::ranges::max_element(x);
  const bool plain = either() && largest < 80 && *std::ranges::min_element(x) > -80;
  std::vector<float> e, y;
  for (const float each : x) e.push_back(by_library(std::exp(plain ? each : each - largest)));
  const float sum = sum_of(e);
  const bool inverse = either();
  for (const float each : e) y.push_back(inverse ? each * (1 / sum) : each / sum);
  return y;
}

// (x - mean) / sqrt(variance + epsilon), as import has it.
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

std::vector<float> normalised_once(const std::vector<float>& x, float epsilon) {
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

TEST_F(Float32, EverySoftmaxAndNormalisationIsInside) {
  constexpr float kEpsilon = 1e-5F;
  int tight = 0;
  for (const int n : {3, 4, 7, 20}) {
    const Graph graphs[] = {softmax_graph(n), normalised_graph(n, 1e-5)};
    for (const Graph& graph : graphs) {
      const bool softmax = &graph == &graphs[0];
      const auto plan = plan_float32(graph, Method::kCrown, &refused_);
      ASSERT_NE(plan, nullptr) << n;
      const engine::Engine engine(plan);
      for (int i = 0; i < 40; ++i) {
        FloatBox box;
        const float scale = std::ldexp(1.0F, pick(random_, -8, 6));
        const float shift = pick(random_, 0, 1) == 0 ? 0 : std::ldexp(1.0F, pick(random_, -4, 6));
        const float width = i % 2 == 0 ? 0 : std::ldexp(scale, -pick(random_, 3, 12));
        for (int k = 0; k < n; ++k) {
          const float x = shift + scale * std::uniform_real_distribution<float>(-1, 1)(random_);
          box.lower.push_back(x);
          box.upper.push_back(x + width);
        }
        const Called called = call_bounds(*plan, callee_of(engine), {}, {box});
        ASSERT_EQ(called.status, BF_OK);
        const Outcome& bounds = called.boxes.front();
        tight += bounds.upper.front() - bounds.lower.front() < 1e-4F ? 1 : 0;
        for (int point = 0; point < 40; ++point) {
          const std::vector<float> x = random_point_in(box, random_);
          Evaluation made;
          made.random.seed(random_());
          made.order = static_cast<Order>(pick(random_, 0, kOrders - 1));
          evaluation = &made;
          const std::vector<float> y = softmax ? softmax_once(x) : normalised_once(x, kEpsilon);
          evaluation = nullptr;
          std::size_t where = 0;
          ASSERT_TRUE(is_inside(y, bounds, &where))
              << fmt::format("BF_SEED={} {} of {}: output {} is {:a}, bounds {:a} {:a}", seed(),
                             softmax ? "softmax" : "normalisation", n, where, y[where],
                             bounds.lower[where], bounds.upper[where]);
        }
      }
    }
  }
  EXPECT_GT(tight, 40) << "bounds say little";
}

// ---- every term is needed

struct Mutant {
  const char* term;
  Graph graph;
  std::vector<float> x;
};

std::vector<double> ones(int count, double x = 1) {
  return std::vector<double>(static_cast<std::size_t>(count), x);
}

constexpr double kOmega = 0x1p24;  // omega + 1 is omega in float32

// Networks whose evaluations leave the bounds when one term is left out.
std::vector<Mutant> mutants() {
  std::vector<Mutant> made;
  {  // 64 ones after omega are lost, and omega leaves again
    std::vector<double> weight = ones(66);
    weight[0] = kOmega;
    weight[65] = -kOmega;
    made.push_back({"sum", Builder(66).matmul(1, weight).done(), std::vector<float>(66, 1)});
  }
  {  // the bias first: ones after omega are lost
    Conv conv;
    ConvGeometry& g = conv.geometry;
    g.in_channels = 64;
    g.in = dense_layout(64, g.in_size);
    g.out = dense_layout(1, g.out_size);
    conv.weight = {{1, 64, 1}, ones(64), {}};
    conv.bias = {{1}, ones(1, kOmega), {}};
    Builder builder(64);
    const ValueId y = builder.node(conv, {builder.last()}, {1, 1});
    made.push_back({"bias", builder.back_to(y).binary(Binary::Kind::kSub, ones(1, kOmega)).done(),
                    std::vector<float>(64, 1)});
  }
  {  // (x + y) - x, where y is less than a unit of x
    Builder builder(2);
    const ValueId inputs = builder.last();
    const ValueId y = builder.pick(1).last();
    const ValueId x = builder.back_to(inputs).pick(0).last();
    made.push_back({"result",
                    builder.binary(Binary::Kind::kAdd, y).binary(Binary::Kind::kSub, x).done(),
                    {0x1p25F, 1}});
  }
  made.push_back({"function", softmax_graph(3), {0.3F, 0.1F, -0.2F}});
  for (const FunctionKind kind : {FunctionKind::kTanh, FunctionKind::kExp, FunctionKind::kSigmoid})
    made.push_back({"function", Builder(1).unary({kind, 0, 0}).done(), {0.7F}});
  made.push_back({"underflow",
                  Builder(1)
                      .binary(Binary::Kind::kMul, ones(1, 0x1.8p-75))
                      .binary(Binary::Kind::kMul, ones(1, 0x1p120))
                      .done(),
                  {0x1p-80F}});
  {
    Builder builder(1);
    const ValueId x = builder.last();
    ValueId c = builder.literal({1, 1}, {1.1F});
    const ValueId factor = builder.literal({1, 1}, {1.3F});
    for (int i = 0; i < 40; ++i) c = builder.back_to(c).binary(Binary::Kind::kMul, factor).last();
    made.push_back({"constant", builder.back_to(x).binary(Binary::Kind::kMul, c).done(), {1}});
  }
  return made;
}

// Whether an evaluation at x lies outside of the bounds of x.
bool finds_violation(const Graph& graph, const Plan& plan, const std::vector<float>& x,
                     Random& random, int ulps, bool flush = false) {
  const engine::Engine engine(std::make_shared<const Plan>(plan));
  const Called called = call_bounds(plan, callee_of(engine), {}, {FloatBox{x, x}});
  EXPECT_EQ(called.status, BF_OK);
  for (int i = 0; i < 400; ++i) {
    std::size_t where = 0;
    if (!is_inside(evaluate_once(graph, x, random, ulps, flush), called.boxes.front(), &where))
      return true;
  }
  return false;
}

// By crown, whose own sums at a point are exact enough for the term to show.
TEST_F(Float32, EveryErrorTermIsNeeded) {
  // Of a poor library: relaxations of functions are no better than a good one.
  constexpr int kUlps = 1 << 12;
  for (const Mutant& mutant : mutants()) {
    SCOPED_TRACE(mutant.term);
    Float32Semantics semantics;
    semantics.libm_ulps = kUlps;
    const auto plan = [&] {
      return plan_float32(mutant.graph, Method::kCrown, nullptr, Semantics::kFloat32, semantics);
    };
    const auto whole = plan();
    semantics.dropped = {mutant.term};
    const auto without = plan();
    ASSERT_TRUE(whole != nullptr && without != nullptr);
    EXPECT_FALSE(finds_violation(mutant.graph, *whole, mutant.x, random_, kUlps - 1));
    EXPECT_TRUE(finds_violation(mutant.graph, *without, mutant.x, random_, kUlps - 1));
  }
}

// ---- subnormal numbers taken for zero

// Networks and boxes whose numbers are near the least normal one.
Graph scaled(Graph graph, Random& random) {
  for (Node& node : graph.nodes) {
    const double scale = std::ldexp(1.0, -pick(random, 0, 1) * pick(random, 1, 140));
    const auto shrink = [&](Constant& constant) {
      for (double& x : constant.data) x = static_cast<double>(static_cast<float>(x * scale));
    };
    if (auto* const literal = std::get_if<Literal>(&node.op)) shrink(literal->value);
    if (auto* const affine = std::get_if<Affine>(&node.op)) shrink(affine->weight);
    if (auto* const conv = std::get_if<Conv>(&node.op)) shrink(conv->weight);
    if (auto* const sparse = std::get_if<SparseAffine>(&node.op)) shrink(sparse->value);
  }
  return graph;
}

FloatBox scaled(FloatBox box, Random& random) {
  const int exponent = -pick(random, 0, 1) * pick(random, 1, 140);
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    box.lower[i] = std::ldexp(box.lower[i], exponent);
    box.upper[i] = std::ldexp(box.upper[i], exponent);
  }
  return box;
}

TEST_F(Float32, EveryEvaluationThatFlushesIsInside) {
  flush_ = true;
  Float32Semantics semantics;
  semantics.flush = true;
  const int rounds = 80 * testing::rounds_from_environment();
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    const bool dense = pick(random_, 0, 1) == 0;
    const Graph graph = scaled(
        dense ? to_graph(random_net(random_, static_cast<Family>(pick(random_, 0, kFamilies - 1))),
                         static_cast<Form>(pick(random_, 0, 2)))
              : testing::random_graph(random_, testing::Numbers::kFloats, pick(random_, 2, 8)),
        random_);
    for (const Method method : {Method::kIbp, Method::kCrown}) {
      const auto plan = plan_float32(graph, method, &refused_, Semantics::kFloat32, semantics);
      if (plan == nullptr) continue;
      for (int i = 0; i < 3 && !HasFatalFailure(); ++i)
        check(graph, *plan, scaled(random_general_box(random_, plan->input_count), random_),
              fmt::format("{}, {}", to_string(graph), to_string(method)));
    }
  }
  for (const auto& [code, count] : refused_) std::printf("%s: %d\n", code.c_str(), count);
  std::printf("%d boxes, %d beyond, %d evaluations\n", boxes_, beyond_, evaluations_);
  EXPECT_GT(boxes_, rounds);
}

// Two readers of a number, of which one takes it for zero; products of inputs that are taken for
// zero; a result; a subnormal weight.
std::vector<Mutant> flush_mutants() {
  std::vector<Mutant> made;
  {
    Builder builder(1);
    const ValueId x = builder.last();
    const ValueId twice = builder.binary(Binary::Kind::kMul, ones(1, 0x1p100)).last();
    const ValueId minus = builder.back_to(x).binary(Binary::Kind::kMul, ones(1, -0x1p100)).last();
    made.push_back({"readers",
                    builder.back_to(twice).binary(Binary::Kind::kAdd, minus).done(),
                    {0x1.8p-127F}});
  }
  made.push_back(
      {"inputs", Builder(2).matmul(1, {0x1p60, -0x1p60}).done(), {0x1p-127F, 0x1p-127F}});
  made.push_back({"result",
                  Builder(1)
                      .binary(Binary::Kind::kMul, ones(1, 0x1p-100))
                      .binary(Binary::Kind::kMul, ones(1, 0x1p100))
                      .done(),
                  {0x1.8p-27F}});
  made.push_back({"sum", Builder(2).matmul(1, {1, -1}).done(), {0x1.8p-126F, 0x1p-126F}});
  made.push_back({"weight", Builder(1).matmul(1, {0x1p-127}).done(), {0x1p40F}});
  made.push_back({"step", Builder(1).unary({FunctionKind::kSign, 0, 0}).done(), {0x1p-127F}});
  made.push_back({"output", Builder(1).relu().done(), {0x1p-127F}});
  return made;
}

TEST_F(Float32, TheTermOfFlushesIsNeeded) {
  for (const Mutant& mutant : flush_mutants()) {
    SCOPED_TRACE(mutant.term);
    Float32Semantics semantics;
    semantics.flush = true;
    const auto plan = [&] {
      return plan_float32(mutant.graph, Method::kCrown, nullptr, Semantics::kFloat32, semantics);
    };
    const auto whole = plan();
    semantics.dropped = {"flush"};
    const auto without = plan();
    ASSERT_TRUE(whole != nullptr && without != nullptr);
    EXPECT_FALSE(finds_violation(mutant.graph, *whole, mutant.x, random_, 3, true));
    EXPECT_TRUE(finds_violation(mutant.graph, *without, mutant.x, random_, 3, true));
  }
}

// A logarithm has no lower bound where its argument may be taken for zero, and one elsewhere.
TEST_F(Float32, LogarithmsOfWhatMayBeTakenForZeroHaveNoBound) {
  Float32Semantics semantics;
  semantics.flush = true;
  const Graph graph = Builder(1).unary({FunctionKind::kLog, 0, 0}).done();
  const auto plan = plan_float32(graph, Method::kCrown, nullptr, Semantics::kFloat32, semantics);
  ASSERT_NE(plan, nullptr);
  const engine::Engine engine(plan);
  const auto lower = [&](float x) {
    return call_bounds(*plan, callee_of(engine), {}, {FloatBox{{x}, {2 * x}}})
        .boxes.front()
        .lower.front();
  };
  EXPECT_EQ(lower(0x1p-127F), -INFINITY);
  EXPECT_NEAR(lower(0x1p-100F), -69.32F, 0.1F);
}

// ---- networks that detect how they are evaluated (arXiv 2506.01054, section 4): constant inputs
// of 1, a sum whose value tells the order

struct Detector {
  const char* name;
  std::vector<double> weight;
};

std::vector<Detector> detectors() {
  std::vector<Detector> made;
  made.push_back({"precision", {kOmega, 1, -kOmega}});
  Detector first{"order 1", {}};
  for (int i = 0; i < 15; ++i) {
    for (int k = 0; k < 4; ++k) first.weight.push_back(kOmega / 4);
    first.weight.push_back(1);
    for (int k = 0; k < 4; ++k) first.weight.push_back(-kOmega / 4);
  }
  made.push_back(std::move(first));
  Detector second{"order 2", ones(512, 2.0 / 512)};
  second.weight.insert(second.weight.end(), {kOmega, -kOmega});
  made.push_back(std::move(second));
  Detector third{"order 3", ones(512)};
  third.weight.insert(third.weight.end(), {kOmega, -kOmega});
  made.push_back(std::move(third));
  return made;
}

// The detector's ReLU network says 1 where the sum is at least half of its exact value. In real
// arithmetic that is proven, and an evaluation contradicts it; in float32 it is not.
TEST_F(Float32, DetectorsOfOrderProveNothing) {
  for (const Detector& detector : detectors()) {
    SCOPED_TRACE(detector.name);
    double exact = 0;
    for (const double w : detector.weight) exact += w;
    const auto count = static_cast<int>(detector.weight.size());
    const Graph graph = Builder(count)
                            .matmul(1, detector.weight)
                            .binary(Binary::Kind::kSub, ones(1, exact / 2))
                            .relu()
                            .done();
    const std::vector<float> x(detector.weight.size(), 1);
    int contradictions = 0;
    for (int i = 0; i < 1000; ++i)
      contradictions += evaluate_once(graph, x, random_).front() == 0 ? 1 : 0;
    EXPECT_GT(contradictions, 0) << "no order shows";
    for (const Method method : kMethods) {
      SCOPED_TRACE(to_string(method));
      const auto real = plan_float32(graph, method, nullptr, Semantics::kReal);
      const auto float32 = plan_float32(graph, method, nullptr);
      ASSERT_TRUE(real != nullptr && float32 != nullptr);
      const engine::Engine of_real(real), of_float32(float32);
      const Called proven = call_bounds(*real, callee_of(of_real), {}, {FloatBox{x, x}});
      const Called open = call_bounds(*float32, callee_of(of_float32), {}, {FloatBox{x, x}});
      ASSERT_EQ(proven.status, BF_OK);
      ASSERT_EQ(open.status, BF_OK);
      // ibp sums centres in float32 itself, and pays for it: it may prove neither.
      if (method != Method::kIbp) {
        EXPECT_GT(proven.boxes.front().lower.front(), 0);
      }
      EXPECT_EQ(open.boxes.front().lower.front(), 0);
    }
  }
}

// A layer that is active on all of a box in real arithmetic by less than what rounding takes
// (Jia and Rinard, arXiv 2003.03021): the ReLU cuts in float32.
TEST_F(Float32, LayersActiveByLessThanRoundingAreNotTakenForActive) {
  constexpr int kInputs = 64;
  std::vector<double> weight;
  for (int i = 0; i < kInputs; ++i)
    weight.push_back(static_cast<double>(std::uniform_real_distribution<float>(-1, 1)(random_)));
  std::vector<float> x;
  for (int i = 0; i < kInputs; ++i)
    x.push_back(std::uniform_real_distribution<float>(0.5F, 1)(random_));
  double least = 0;
  for (int i = 0; i < kInputs; ++i)
    least +=
        weight[static_cast<std::size_t>(i)] * static_cast<double>(x[static_cast<std::size_t>(i)]);
  // z = w x - fl(w x) + 1e-7: as large as the rounding of the sum.
  const double bias = static_cast<double>(static_cast<float>(1e-7 - least));
  const Graph graph =
      Builder(kInputs).matmul(1, weight).binary(Binary::Kind::kAdd, ones(1, bias)).relu().done();
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(evaluate_once(graph, x, random_).front());
  const auto [low, high] = std::ranges::minmax(values);
  EXPECT_LT(low, high) << "no order shows";
  const auto plan = plan_float32(graph, Method::kCrown, nullptr);
  const engine::Engine engine(plan);
  const Called called = call_bounds(*plan, callee_of(engine), {}, {FloatBox{x, x}});
  EXPECT_LE(called.boxes.front().lower.front(), low);
  EXPECT_GE(called.boxes.front().upper.front(), high);
}

// A residual sum whose products are added to the tensor one by one: 64 ones are lost beside omega.
TEST_F(Float32, ATensorThatIsAddedToASumMayGoFirst) {
  Builder builder(65);
  const ValueId inputs = builder.last();
  const ValueId residual = builder.pick(64).last();
  // Small, so that what a layer has for all its neurons together does not hide the term.
  std::vector<double> weight = ones(65, 0x1p-10);
  weight[64] = 0;
  const Graph graph =
      builder.back_to(inputs).matmul(1, weight).binary(Binary::Kind::kAdd, residual).done();
  std::vector<float> x(65, 0x1p10F);
  x[64] = static_cast<float>(kOmega);
  float fused = x[64];
  for (int i = 0; i < 64; ++i) fused = fused + 0x1p-10F * x[static_cast<std::size_t>(i)];
  EXPECT_EQ(fused, x[64]);
  for (const Method method : kMethods) {
    const auto plan = plan_float32(graph, method, nullptr);
    if (plan == nullptr) continue;  // forward has no sums of tensors
    const engine::Engine engine(plan);
    const Called called = call_bounds(*plan, callee_of(engine), {}, {FloatBox{x, x}});
    EXPECT_LE(called.boxes.front().lower.front(), fused) << to_string(method);
  }
  // What the tensor has pays for it, also without what the sum has, which a layer of both shares.
  const auto lower_without = [&](std::vector<std::string> terms) {
    const auto plan = plan_float32(graph, Method::kCrown, nullptr, Semantics::kFloat32,
                                   {4, false, std::move(terms)});
    const engine::Engine engine(plan);
    return call_bounds(*plan, callee_of(engine), {}, {FloatBox{x, x}}).boxes.front().lower.front();
  };
  EXPECT_LE(lower_without({"sum"}), fused);
  EXPECT_GT(lower_without({"sum", "bias"}), fused) << "the term is not needed";
}

// Boxes beyond the reach are refused; at its end evaluations are finite.
TEST_F(Float32, NoEvaluationOverflowsWithinTheReach) {
  const Graph graph = Builder(3)
                          .matmul(2, {0x1p60, -0x1p60, 1, 3, -2, 5})
                          .relu()
                          .matmul(1, {0x1p20, -0x1p20})
                          .done();
  const auto plan = plan_float32(graph, Method::kCrown, nullptr);
  ASSERT_NE(plan, nullptr);
  const auto reach = static_cast<float>(plan->float32_reach);
  EXPECT_GE(reach, 0x1p40F);
  EXPECT_LE(reach, 0x1p47F);
  const engine::Engine engine(plan);
  const auto status = [&](float x) {
    const std::vector<float> point(3, x);
    return call_bounds(*plan, callee_of(engine), {}, {FloatBox{point, point}}).status;
  };
  EXPECT_EQ(status(reach), BF_OK);
  EXPECT_EQ(status(-reach), BF_OK);
  EXPECT_EQ(status(std::nextafter(reach, INFINITY)), BF_FLOAT32_RANGE);
  EXPECT_EQ(status(-std::nextafter(reach, INFINITY)), BF_FLOAT32_RANGE);
  for (int i = 0; i < 200; ++i)
    EXPECT_TRUE(std::isfinite(evaluate_once(graph, {reach, -reach, reach}, random_).front()));
}

}  // namespace
}  // namespace bf_aot::soundness
