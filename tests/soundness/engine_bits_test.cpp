// The engine and generated code run the same plan in the same steps: without contraction they give
// the same bits. Random networks of every kind by all methods, and every function of a plan that
// makes bounds or judges a property. BF_SEED=n repeats a run;
// BF_SAMPLE=n takes one plan in n, and does not ask that all functions occur.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/lowering/lowered.h"
#include "planner/lowering/routines.h"
#include "planner/lowering/weight_tables.h"
#include "tests/seed.h"
#include "tests/soundness/cached.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/exact_code.h"
#include "tests/soundness/executors.h"
#include "tests/soundness/general.h"
#include "tests/soundness/image_nets.h"
#include "tests/soundness/verdicts.h"

namespace bf_aot::soundness {
namespace {

std::uint64_t seed() {
  return testing::seed_from_environment(20261124);
}

constexpr Method kMethods[] = {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown,
                               Method::kForward};

// Ways to call that a plan has functions for.
constexpr int kWays = 4;

PlannerConfig configured(Method method, int way) {
  PlannerConfig config = planner_config(method, Lowering::kPrebuilt, engine_targets().back());
  config.iterations = 3;
  if (way != 0) config.alpha = AlphaRows::kAll;
  if (way == 1 || way == 3) config.batch = 16;
  if (way == 3) config.workers = 2;
  if (way == 2) {
    config.reuse.ibp = config.reuse.bounds = true;
    config.reuse.alpha = method == Method::kAlphaCrown;
  }
  return config;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_same(const Called& a, const Called& b) {
  EXPECT_EQ(a.status, b.status);
  EXPECT_TRUE(same(a.coefficients, b.coefficients)) << "coefficients";
  EXPECT_TRUE(same(a.ranges, b.ranges)) << "ranges";
  ASSERT_EQ(a.boxes.size(), b.boxes.size());
  for (std::size_t i = 0; i < a.boxes.size(); ++i) {
    EXPECT_EQ(a.boxes[i].status, b.boxes[i].status) << "box " << i;
    EXPECT_TRUE(same(a.boxes[i].lower, b.boxes[i].lower)) << "lower bounds of box " << i;
    EXPECT_TRUE(same(a.boxes[i].upper, b.boxes[i].upper)) << "upper bounds of box " << i;
  }
}

// What programs call.
class Coverage {
 public:
  void add(const Plan& plan) {
    plan_ = &plan;
    for (const calls::Program& program : calls::programs_of(plan, weight_tables(plan)))
      for (const calls::Section& section : program.sections)
        for (const calls::TaskCalls& task : section.tasks)
          for (const calls::StepCalls& step : task.steps) add(step.body);
  }

  void expect_all() const {
    using calls::Routine;
    for (const calls::Signature& signature : calls::signatures()) {
      // Plans for prebuilt code do without them.
      if (signature.routine == Routine::kFirstLink) continue;
      if (signature.routine == Routine::kMaxIntervalGroups) continue;
      // Targets without doubles have them: GeneralNetworks runs such plans both ways.
      if (signature.routine == Routine::kProductInterval) continue;
      if (signature.routine == Routine::kIntervalFunction) continue;
      if (signature.routine == Routine::kApplyFunction) continue;
      EXPECT_TRUE(routines_.contains(signature.routine)) << "nothing calls " << signature.name;
    }
    for (const KernelKind kind :
         {KernelKind::kIntervalAffine, KernelKind::kCentreAffine, KernelKind::kEvaluateAffine,
          KernelKind::kBackwardAffine, KernelKind::kConcretize, KernelKind::kForwardLines})
      EXPECT_TRUE(kernels_.contains(kind)) << "no kernel of kind " << static_cast<int>(kind);
  }

 private:
  void add(const calls::Call& call) {
    if (const auto* routine = std::get_if<calls::Routine>(&call.callee))
      routines_.insert(*routine);
    else
      kernels_.insert(plan_->kernel(std::get<calls::KernelCall>(call.callee).id).kind);
  }
  void add(const calls::Body& body) {
    for (const calls::Node& node : body)
      std::visit([&](const auto& what) { add(what); }, node.what);
  }
  void add(const calls::WhenInside& node) { add(node.call); }
  void add(const calls::DefineRows& node) { add(node.list); }
  void add(const calls::Block& node) { add(node.body); }
  void add(const calls::Tiles& node) { add(node.body); }
  void add(const calls::Rounds& node) { add(node.body); }
  void add(const calls::ColdStart& node) { add(node.body); }
  void add(const calls::IfFits& node) {
    add(node.fits);
    add(node.other);
  }
  void add(const calls::Iterations& node) {
    add(node.rows);
    add(node.better);
  }
  void add(const calls::Part& /*node*/) {}
  void add(const calls::Lifetime& /*node*/) {}
  void add(const calls::Ask& /*node*/) {}
  void add(const calls::DefineImage& /*node*/) {}
  void add(const calls::DefineWindow& /*node*/) {}
  void add(const calls::DefineRowErrors& /*node*/) {}
  void add(const calls::Clear& /*node*/) {}

  const Plan* plan_ = nullptr;
  std::set<calls::Routine> routines_;
  std::set<KernelKind> kernels_;
};

class EngineBits : public ::testing::Test {
 protected:
  using MakeBox = FloatBox (*)(Random&, int inputs);

  // Every second property by splits of neurons, where the planner has them.
  void add_property(const Graph& graph, const Property& property, PlannerConfig config) {
    config.decide = true;
    if (labels_.size() % 2 == 1) {
      config.splits = Splits::kNeurons;
      try {
        batch_.add(graph, property, config);
        return;
      } catch (const CompileError& error) {
        ++refused_[error.diagnostics().front().code];
        config.splits = Splits::kInputs;
      }
    }
    batch_.add(graph, property, config);
  }

  // Not what the planner refuses.
  // property: whose rows the graph's last output is, or null.
  void add(const Graph& graph, bool has_spec, PlannerConfig config, MakeBox make_box,
           const std::string& label, const Property* property = nullptr) {
    if (turn_++ % testing::sample_from_environment() != 0) return;
    try {
      if (property != nullptr)
        add_property(graph, *property, config);
      else
        batch_.add(graph, has_spec, config);
    } catch (const CompileError& error) {
      ++refused_[error.diagnostics().front().code];
      return;
    }
    boxes_.push_back(make_box);
    properties_.push_back(property == nullptr ? std::nullopt : std::optional(*property));
    labels_.push_back(fmt::format("{}, {}, batch {}, workers {}", label, to_string(config.method),
                                  config.batch, config.workers));
    coverage_.add(batch_.plan(batch_.size() - 1));
  }

  // One network of every family by every method, in ways by turns.
  void add_dense(int way) {
    for (const Method method : kMethods)
      for (int family = way % 3; family < kFamilies; family += 3) {
        const Net net = random_net(random_, static_cast<Family>(family));
        const LinearSpec spec = random_spec(random_, net.outputs());
        add(
            graph_with_spec(net, spec), true, configured(method, way),
            [](Random& random, int inputs) {
              return random_box(random, inputs, pick(random, 0, kBoxKinds - 1));
            },
            net.label);
      }
  }

  void add_general(int way, int count) {
    for (int i = 0; i < count; ++i)
      for (const Method method : kMethods) {
        if (method == Method::kForward) continue;
        const Example example = random_example(random_, testing::Numbers::kFloats);
        std::int64_t outputs = 0;
        for (const ValueId id : example.graph.outputs)
          outputs += element_count(example.graph.value(id).shape);
        add_graph(example.graph, static_cast<int>(outputs), configured(method, way), "general");
      }
  }

  // Networks that judge properties, whose boxes are near to the property's.
  void add_dense_property(int way) {
    for (const Method method : kMethods)
      for (int family = way % 4; family < kFamilies; family += 4) {
        const Net net = random_net(property_random_, static_cast<Family>(family));
        const ExactNet exact(net);
        const auto values = [&](const std::vector<mpq_class>& x) {
          std::vector<double> rounded;
          for (const mpq_class& each : x) rounded.push_back(each.get_d());
          const Numbers y = exact.evaluate(exact_numbers(rounded));
          std::vector<mpq_class> made;
          for (std::size_t i = 0; i < y.values.size(); ++i) made.push_back(y.rational(i));
          return made;
        };
        const FloatBox box =
            random_box(property_random_, net.inputs(), pick(property_random_, 0, kBoxKinds - 1));
        const Property property = random_property(property_random_, box, net.outputs(), values);
        add(
            graph_with_spec(net, to_spec(property)), true, configured(method, way),
            [](Random& random, int inputs) {
              return random_box(random, inputs, pick(random, 0, kBoxKinds - 1));
            },
            net.label + ", a property", &property);
      }
  }

  void add_general_property(int way) {
    for (const Method method : kMethods) {
      if (method == Method::kForward) continue;
      Example example = random_example(property_random_, testing::Numbers::kFloats);
      while (example.divides) example = random_example(property_random_, testing::Numbers::kFloats);
      std::int64_t inputs = 0, outputs = 0;
      for (const ValueId id : example.graph.inputs)
        inputs += element_count(example.graph.value(id).shape);
      for (const ValueId id : example.graph.outputs)
        outputs += element_count(example.graph.value(id).shape);
      const Property property = random_property(
          property_random_, random_general_box(property_random_, static_cast<int>(inputs)),
          static_cast<int>(outputs), [&](const Point& x) { return evaluate_at(example, x); });
      const LinearSpec spec = to_spec(property);
      PassOptions passes;
      passes.spec = &spec;
      try {
        normalise(example.graph, passes);
      } catch (const CompileError& error) {
        ++refused_[error.diagnostics().front().code];
        continue;
      }
      add(example.graph, true, configured(method, way), random_general_box, "general, a property",
          &property);
    }
  }

  void add_images(int way, const std::vector<Method>& methods) {
    for (const ImageNet& net : image_nets())
      for (const Method method : methods) {
        const Graph graph = net.make();
        const auto outputs = element_count(graph.value(graph.outputs.front()).shape);
        add_graph(graph, static_cast<int>(outputs), configured(method, way), net.name);
      }
  }

  // Dense networks and graphs whose constants have the bounds of float32 semantics.
  void add_float32(int way) {
    const Method methods[] = {Method::kCrown, Method::kAlphaCrown, Method::kCrownIbp};
    for (const Method method : methods) {
      PlannerConfig config = configured(method, way);
      config.semantics = Semantics::kFloat32;
      const Net net = random_net(random_, static_cast<Family>(way % kFamilies));
      add_graph(to_graph(net), net.outputs(), config, "float32, dense");
      const Example example = random_example(random_, testing::Numbers::kFloats);
      std::int64_t outputs = 0;
      for (const ValueId id : example.graph.outputs)
        outputs += element_count(example.graph.value(id).shape);
      add_graph(example.graph, static_cast<int>(outputs), config, "float32, general");
    }
  }

  // Rows that end in one-hot inputs.
  void add_one_hot(int way) {
    const Method methods[] = {Method::kCrown, Method::kAlphaCrown, Method::kCrownIbp};
    PlannerConfig config = configured(methods[way % 3], way);
    config.reuse.bounds = false;
    const Net net = random_net(random_, static_cast<Family>(way % kFamilies));
    Graph graph = to_graph(net);
    const std::int64_t inputs = element_count(graph.value(graph.inputs.front()).shape);
    const std::int64_t size = inputs % 2 == 0 ? 2 : inputs;
    graph.one_hot = {size, OneHot{}.ids};
    graph.one_hot.ids.resize(static_cast<std::size_t>(inputs / size));
    add_graph(graph, net.outputs(), config, "one-hot, dense");
  }

  // Rows that end in balls.
  void add_balls(int way) {
    const Method methods[] = {Method::kCrown, Method::kAlphaCrown, Method::kCrownIbp};
    PlannerConfig config = configured(methods[way % 3], way);
    config.norm = way % 2 == 0 ? Norm::kEuclid : Norm::kSum;
    config.reuse.bounds = false;
    const Net net = random_net(random_, static_cast<Family>(way % kFamilies));
    add_graph(to_graph(net), net.outputs(), config, "a ball, dense");
    const std::vector<ImageNet> images = image_nets();
    const ImageNet& image = images.at(static_cast<std::size_t>(way) % images.size());
    const Graph graph = image.make();
    const auto outputs = element_count(graph.value(graph.outputs.front()).shape);
    add_graph(graph, static_cast<int>(outputs), config, "a ball, images");
  }

  // Logarithms of inputs, whose boxes are bound by their nearer ends.
  void add_near_ends(int way) {
    Graph graph;
    graph.inputs = {graph.add_value("x", {4})};
    graph.nodes.push_back(
        {Unary{{FunctionKind::kLog}}, {graph.inputs[0]}, graph.add_value("l", {4}), "l"});
    graph.nodes.push_back(
        {Affine{{{2, 4}, {1, -1, 0.5, 2, -1, 1, 3, 0.25}, {}}, {{2}, {1, -1}, {}}},
         {graph.nodes.back().output},
         graph.add_value("y", {2}),
         "y"});
    graph.outputs = {graph.nodes.back().output};
    for (const Method method : {Method::kIbp, Method::kCrown})
      add_graph(graph, 2, configured(method, way), "logarithms of inputs");
  }

  // Chains of evaluations that bounds hold for.
  void add_own_evaluation(int way) {
    PlannerConfig config = configured(Method::kCrown, way);
    config.semantics = Semantics::kFloat32Exact;
    const Net net = random_net(random_, Family::kTrained, {70, 40, 3});
    add_graph(to_graph(net), net.outputs(), config, "float32-exact, dense");
  }

  // Layers in front of so many outputs that boxes have lists of live neurons.
  void add_wide(int way) {
    const Net net = random_net(random_, Family::kTrained, {4, 20, 520, 2});
    add_graph(to_graph(net), net.outputs(), configured(Method::kCrownIbp, way), "wide, dense");
  }

  void add_graph(Graph graph, int outputs, const PlannerConfig& config, const char* label) {
    const LinearSpec spec = random_spec(random_, outputs);
    PassOptions passes;
    passes.spec = &spec;
    if (config.semantics == Semantics::kFloat32) passes.float32 = Float32Semantics{};
    passes.own_evaluation = config.semantics == Semantics::kFloat32Exact;
    try {
      normalise(graph, passes);
    } catch (const CompileError& error) {
      ++refused_[error.diagnostics().front().code];
      return;
    }
    add(graph, true, config, random_general_box, label);
  }

  void check(std::size_t i);
  void check_verdicts(std::size_t i, const Callee& engine, const Callee& compiled);
  void check_contexts(const Plan& plan, const Callee& engine, const Callee& compiled, MakeBox make);

  int turn_ = 0;
  Random random_, property_random_;
  Batch batch_;
  std::vector<MakeBox> boxes_;
  std::vector<std::optional<Property>> properties_;
  std::map<bf_verdict, int> verdicts_;
  std::vector<std::string> labels_;
  std::map<std::string, int> refused_;
  std::set<std::string> functions_;
  Coverage coverage_;
};

// Calls on boxes that come again, lie in one before, or do not.
void EngineBits::check_contexts(const Plan& plan, const Callee& engine, const Callee& compiled,
                                MakeBox make) {
  Arena mine = new_context(plan, engine);
  Arena theirs = new_context(plan, compiled);
  FloatBox box = make(random_, plan.input_count);
  for (int i = 0; i < 10; ++i) {
    SCOPED_TRACE(fmt::format("call {}", i));
    switch (pick(random_, 0, 3)) {
      case 0:
        box = make(random_, plan.input_count);
        break;
      case 1:
        for (std::size_t k = 0; k < box.lower.size(); ++k)
          (pick(random_, 0, 1) == 0 ? box.lower : box.upper)[k] =
              box.lower[k] / 2 + box.upper[k] / 2;
        break;
      default:
        break;
    }
    Signature signature;
    signature.cached = true;
    signature.spec = pick(random_, 0, 1) == 0;
    functions_.insert(suffix_of(signature));
    expect_same(call_bounds(plan, engine, signature, {box}, {&mine, nullptr}),
                call_bounds(plan, compiled, signature, {box}, {&theirs, nullptr}));
  }
}

// On the cases' own boxes, on parts of them, on points and on boxes of any kind, some of them bad.
void EngineBits::check_verdicts(std::size_t i, const Callee& engine, const Callee& compiled) {
  const Plan& plan = batch_.plan(i);
  const Property& property = *properties_[i];
  std::vector<FloatBox> boxes;
  for (std::size_t k = 0; k < property.cases.size() + 1; ++k) {
    std::vector<FloatBox> found;
    for (const Callee& callee : {engine, compiled}) {
      FloatBox box = {std::vector<float>(static_cast<std::size_t>(plan.input_count), 77.0F),
                      std::vector<float>(static_cast<std::size_t>(plan.input_count), 78.0F)};
      engine::Arguments a;
      a.of_case.index = k;
      a.of_case.lower = box.lower.data();
      a.of_case.upper = box.upper.data();
      EXPECT_EQ(callee({Purpose::kPropertyBox}, a),
                k < property.cases.size() ? BF_OK : BF_NO_SUCH_CASE);
      found.push_back(box);
    }
    EXPECT_TRUE(same(found[0].lower, found[1].lower) && same(found[0].upper, found[1].upper));
    if (k < property.cases.size()) boxes.push_back(found[0]);
  }
  functions_.insert("property_box");
  const std::size_t cases = boxes.size();
  for (int k = 0; boxes.size() < 16; ++k) {
    FloatBox box = boxes[static_cast<std::size_t>(k) % cases];
    for (std::size_t j = 0; j < box.lower.size(); ++j) {
      const float middle = box.lower[j] / 2 + box.upper[j] / 2;
      const int part = k % 4 == 3 ? 2 : pick(random_, 0, 3);
      if (part == 0 || part == 2) box.lower[j] = middle;
      if (part == 1 || part == 2) box.upper[j] = middle;
    }
    if (k == 5) box.lower[0] = std::numeric_limits<float>::quiet_NaN();
    if (k % 5 == 4) box = boxes_[i](random_, plan.input_count);
    boxes.push_back(std::move(box));
  }
  const SerialExecutor executor(Habit::kInOrder, 2);
  for (const ExportedFunction& function : plan.functions) {
    const Signature& signature = function.signature;
    const bool decide = signature.purpose == Purpose::kDecide;
    if (signature.purpose != Purpose::kVerify && !decide) continue;
    functions_.insert(suffix_of(signature));
    std::optional<Arena> mine, theirs;
    if (signature.cached) {
      mine = new_context(plan, engine);
      theirs = new_context(plan, compiled);
    }
    const std::size_t calls = signature.batch ? 3 : decide ? 6 : boxes.size();
    for (std::size_t call = 0; call < calls; ++call) {
      SCOPED_TRACE(fmt::format("{}, call {}", suffix_of(signature), call));
      std::vector<FloatBox> given = {boxes[call]};
      constexpr std::size_t kCounts[] = {16, 5, 1};
      if (signature.batch)
        given.assign(boxes.begin(), boxes.begin() + static_cast<std::ptrdiff_t>(kCounts[call]));
      const bf_executor* const workers = signature.parallel ? executor.get() : nullptr;
      const Verdicts a = call_verdicts(plan, engine, signature, given,
                                       {mine ? &*mine : nullptr, workers}, decide ? 40 : 0);
      const Verdicts b = call_verdicts(plan, compiled, signature, given,
                                       {theirs ? &*theirs : nullptr, workers}, decide ? 40 : 0);
      EXPECT_EQ(difference(a, b), "");
      for (const Judged& each : a.boxes)
        if (each.status == BF_OK) ++verdicts_[each.result.verdict];
    }
  }
}

void EngineBits::check(std::size_t i) {
  const Plan& plan = batch_.plan(i);
  const std::string target = plan.config.target.name;
  engine::EngineOptions options;
  if (properties_[i]) options.property = &*properties_[i];
  const engine::Engine engine(lower(std::make_shared<const Plan>(plan)), exact_code(target),
                              options);
  const Callee mine = callee_of(engine), theirs = callee_of(batch_, i);
  const SerialExecutor executor(Habit::kInOrder, 2);
  std::vector<FloatBox> boxes;
  for (int k = 0; k < 16; ++k) boxes.push_back(boxes_[i](random_, plan.input_count));
  for (const ExportedFunction& function : plan.functions) {
    const Signature& signature = function.signature;
    if (signature.purpose != Purpose::kBounds || signature.cached) continue;
    functions_.insert(suffix_of(signature));
    for (int call = 0; call < (signature.batch ? 2 : 3); ++call) {
      SCOPED_TRACE(fmt::format("{}, call {}", suffix_of(signature), call));
      std::vector<FloatBox> given = {boxes[static_cast<std::size_t>(call)]};
      if (signature.batch) given.assign(boxes.begin(), boxes.begin() + (call == 0 ? 16 : 5));
      const CallWith with = {nullptr, signature.parallel ? executor.get() : nullptr};
      expect_same(call_bounds(plan, mine, signature, given, with),
                  call_bounds(plan, theirs, signature, given, with));
    }
  }
  if (has_function(plan, {Purpose::kEvaluate})) {
    functions_.insert("evaluate");
    const Outcome a = call_evaluate(plan, mine, boxes[0].lower);
    const Outcome b = call_evaluate(plan, theirs, boxes[0].lower);
    EXPECT_EQ(a.status, b.status);
    EXPECT_TRUE(same(a.lower, b.lower)) << "evaluate";
  }
  if (plan.config.reuse.any()) check_contexts(plan, mine, theirs, boxes_[i]);
  if (properties_[i]) check_verdicts(i, mine, theirs);
}

TEST_F(EngineBits, AreThoseOfGeneratedCode) {
  if (!has_compiler("g++")) GTEST_SKIP() << "g++ is not installed";
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
  random_.seed(seed());
  property_random_.seed(seed() + 1);
  for (int way = 0; way < kWays; ++way) {
    add_dense(way);
    add_general(way, 2);
    add_dense_property(way);
    add_general_property(way);
    add_float32(way);
  }
  add_images(0, {Method::kIbp, Method::kCrown, Method::kAlphaCrown});
  for (int way = 0; way < kWays; ++way) add_own_evaluation(way);
  for (int way = 0; way < kWays; ++way) add_balls(way);
  for (int way = 0; way < kWays; ++way) add_one_hot(way);
  for (int way = 0; way < kWays; ++way) add_near_ends(way);
  add_wide(1);
  batch_.build({"g++", {"-O0", "-ffp-contract=off"}});
  for (std::size_t i = 0; i < batch_.size() && !HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("BF_SEED={}, plan {}: {}", seed(), i, labels_[i]));
    check(i);
  }
  std::printf("%zu plans\n", batch_.size());
  for (const auto& [code, count] : refused_) std::printf("%s: %d graphs\n", code.c_str(), count);
  for (const std::string& name : functions_) std::printf("%s\n", name.c_str());
  for (const auto& [verdict, count] : verdicts_)
    std::printf("verdict %d: %d boxes\n", static_cast<int>(verdict), count);
  if (testing::sample_from_environment() > 1) return;
  EXPECT_EQ(functions_.size(), 21U) << "some function does not occur";
  EXPECT_EQ(verdicts_.size(), 6U) << "some verdict does not occur";
  coverage_.expect_all();
}

}  // namespace
}  // namespace bf_aot::soundness
