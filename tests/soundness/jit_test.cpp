// Code that is compiled for single calls computes what the engine's own does: without contraction
// the same bits. Random networks of every kind. BF_SEED=n repeats a run.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "aot/build/library.h"
#include "aot/engine/jit/jit_source.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "planner/lowering/lowered.h"
#include "planner/lowering/routines.h"
#include "planner/lowering/walk.h"
#include "planner/lowering/weight_tables.h"
#include "tests/seed.h"
#include "tests/soundness/cached.h"
#include "tests/soundness/engine_call.h"
#include "tests/soundness/exact_code.h"
#include "tests/soundness/general.h"
#include "tests/soundness/image_nets.h"

namespace bf_aot::soundness {
namespace {

std::uint64_t seed() {
  return testing::seed_from_environment(20261125);
}

bool same(const Outcome& a, const Outcome& b) {
  const auto equal = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  };
  return a.status == b.status && equal(a.lower, b.lower) && equal(a.upper, b.upper);
}

// The units of many calls as few: one file for all that include the same headers, and those alone,
// each unit in a namespace of its own, its function with a number.
class Units {
 public:
  // The number of the source.
  std::size_t add(const std::string& source) {
    const auto [at, is_new] = numbers_.emplace(source, numbers_.size());
    if (!is_new) return at->second;
    std::string body, includes;
    for (std::size_t begin = 0; begin < source.size();) {
      const std::size_t end = source.find('\n', begin) + 1;
      const std::string line = source.substr(begin, end - begin);
      if (line.starts_with("#include"))
        includes += line;
      else
        body += line;
      begin = end;
    }
    const std::size_t name = body.find(engine::kJitFunction);
    body.insert(name + std::strlen(engine::kJitFunction), std::to_string(at->second));
    files_[includes] += fmt::format("namespace unit{} {{\n{}\n}}\n", at->second, body);
    return at->second;
  }

  void build(const Target& target) {
    const build::Toolchain toolchain =
        build::find_toolchain({"g++", {"-O1", "-ffp-contract=off", "-Wall", "-Wextra"}}, target);
    std::vector<std::string> command = toolchain.compiler;
    command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
    command.insert(command.end(),
                   {"-Werror", "-I" + toolchain.include_folder, "-shared", "-o", "units.so"});
    for (const auto& [includes, text] : files_) {
      command.push_back(fmt::format("units{}.cpp", command.size()));
      std::ofstream(folder_.path() / command.back()) << includes << text;
    }
    const system::ProcessResult result = system::run_process(command, folder_.path());
    if (result.exit_code != 0) throw std::runtime_error(result.errors);
    library_ = dlopen((folder_.path() / "units.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }

  engine::Thunk at(std::size_t number) const {
    void* const found = dlsym(library_, fmt::format("{}{}", engine::kJitFunction, number).c_str());
    if (found == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<engine::Thunk>(found);
  }

  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::map<std::string, std::string> files_;  // by their includes
  TemporaryFolder folder_;
  void* library_ = nullptr;  // stays for as long as the test
};

struct Subject {
  std::string label;
  std::shared_ptr<const Plan> plan;
  std::vector<FloatBox> boxes;
  // By entry and call, the unit of each that has one.
  std::vector<std::tuple<EntryKind, std::size_t, std::size_t>> units;
};

bool calls_spread(const Plan& plan) {
  bool found = false;
  for (const calls::Program& program : calls::programs_of(plan, weight_tables(plan)))
    calls::for_each_call(program, [&](const calls::Call& call) {
      const auto* const routine = std::get_if<calls::Routine>(&call.callee);
      found = found || (routine != nullptr && *routine == calls::Routine::kConvSpread);
    });
  return found;
}

class JitBits : public ::testing::Test {
 protected:
  void add(const Graph& graph, bool has_spec, const PlannerConfig& config, const std::string& label,
           const std::function<FloatBox(int)>& make_box) {
    Subject made;
    made.label = fmt::format("{}, {}, batch {}", label, to_string(config.method), config.batch);
    try {
      made.plan = plan_for_engine(graph, has_spec, config);
    } catch (const CompileError&) {
      return;  // what the planner refuses
    }
    for (int i = 0; i < 16; ++i) made.boxes.push_back(make_box(made.plan->input_count));
    const auto lowered = lower(made.plan);
    for (const Entry& entry : made.plan->entries) {
      std::size_t number = 0;
      calls::for_each_call(lowered->program(entry), [&](const calls::Call& call) {
        const std::size_t at = number++;
        const auto source = engine::jit_source(*made.plan, call);
        if (!source) return;
        made.units.emplace_back(entry.kind, at, units_.add(*source));
        if (const auto* const routine = std::get_if<calls::Routine>(&call.callee))
          seen_.insert(std::string(signature_of(*routine).name));
        else
          kinds_.insert(made.plan->kernel(std::get<calls::KernelCall>(call.callee).id).kind);
      });
    }
    subjects_.push_back(std::move(made));
  }

  Random random_;
  Units units_;
  std::vector<Subject> subjects_;
  std::set<std::string> seen_;
  std::set<KernelKind> kinds_;
};

TEST_F(JitBits, AreThoseOfTheEngine) {
  if (!has_compiler("g++")) GTEST_SKIP() << "g++ is not installed";
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed()));
  random_.seed(seed());
  const std::string target = engine_targets().back();
  for (const Method method : {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kForward})
    for (int family = 0; family < kFamilies; family += 2) {
      const Net net = random_net(random_, static_cast<Family>(family));
      PlannerConfig config = planner_config(method, Lowering::kPrebuilt, target);
      if (family % 4 == 0 && method != Method::kForward) config.batch = 16;
      const Graph graph = graph_with_spec(net, random_spec(random_, net.outputs()));
      add(graph, true, config, net.label,
          [&](int inputs) { return random_box(random_, inputs, pick(random_, 0, kBoxKinds - 1)); });
    }
  for (const ImageNet& net : image_nets())
    for (const Method method :
         {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown}) {
      Graph graph = net.make();
      normalise(graph, {});
      add(graph, false, planner_config(method, Lowering::kPrebuilt, target), net.name,
          [&](int inputs) { return random_general_box(random_, inputs); });
    }
  // What no network above calls: until a network does.
  for (int i = 0; i < 1000 && !seen_.contains("conv_spread"); ++i) {
    Graph graph = random_example(random_, testing::Numbers::kFloats).graph;
    const PlannerConfig config = planner_config(Method::kCrown, Lowering::kPrebuilt, target);
    try {
      normalise(graph, {});
      if (!calls_spread(*plan_for_engine(graph, false, config))) continue;
    } catch (const CompileError&) {
      continue;  // too large, or what no layer is made of
    }
    add(graph, false, config, "general",
        [&](int inputs) { return random_general_box(random_, inputs); });
  }
  ASSERT_FALSE(subjects_.empty());
  units_.build(subjects_.front().plan->config.target);

  const engine::Prebuilt code = exact_code(target);
  std::size_t replaced = 0;
  for (const Subject& subject : subjects_) {
    SCOPED_TRACE(fmt::format("BF_SEED={}, {}", seed(), subject.label));
    const engine::Engine own(lower(subject.plan), code), special(lower(subject.plan), code);
    for (const auto& [entry, call, unit] : subject.units)
      special.replace(entry, call, units_.at(unit));
    replaced += subject.units.size();
    for (const ExportedFunction& function : subject.plan->functions) {
      const Signature& signature = function.signature;
      if (signature.purpose != Purpose::kBounds || signature.cached) continue;
      std::vector<FloatBox> boxes = subject.boxes;
      if (!signature.batch) boxes.resize(1);
      const Called a = call_bounds(*subject.plan, callee_of(own), signature, boxes);
      const Called b = call_bounds(*subject.plan, callee_of(special), signature, boxes);
      ASSERT_EQ(a.status, b.status);
      ASSERT_EQ(a.boxes.size(), b.boxes.size());
      for (std::size_t i = 0; i < a.boxes.size(); ++i)
        EXPECT_TRUE(same(a.boxes[i], b.boxes[i])) << suffix_of(signature) << ", box " << i;
    }
    if (!has_function(*subject.plan, {Purpose::kEvaluate})) continue;
    const std::vector<float>& x = subject.boxes.front().lower;
    EXPECT_TRUE(same(call_evaluate(*subject.plan, callee_of(own), x),
                     call_evaluate(*subject.plan, callee_of(special), x)))
        << "evaluate";
  }
  std::printf("%zu plans, %zu calls, %zu units\n", subjects_.size(), replaced, units_.size());
  EXPECT_EQ(kinds_.size(), 6U) << "some kind of kernel does not occur";
  for (const calls::Signature& signature : calls::signatures()) {
    const bool takes_shape = std::ranges::any_of(signature.parameters, [](const auto& each) {
      return each.kind == calls::ArgumentKind::kShape;
    });
    EXPECT_TRUE(!takes_shape || seen_.contains(std::string(signature.name))) << signature.name;
  }
}

}  // namespace
}  // namespace bf_aot::soundness
