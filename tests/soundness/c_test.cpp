// Verifiers in C99 beside those in C++ of the same plans, on random graphs of all operators and on
// random dense networks: bounds, evaluations and statuses are the same to the bit, and GCC and
// clang find nothing to warn about in any of the sources. BF_SEED=n repeats a run.

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "aot/build/library.h"
#include "aot/build/options/language.h"
#include "aot/emit/constants/weights.h"
#include "aot/system/process.h"
#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

using testing::Numbers;

const std::vector<std::string> kStrict = {
    "-std=c99",     "-pedantic",           "-Wall",
    "-Wextra",      "-Wconversion",        "-Wsign-conversion",
    "-Wcast-align", "-Wfloat-equal",       "-Wdouble-promotion",
    "-Wshadow",     "-Wstrict-prototypes", "-Werror"};

// Verifiers in C, each a source of its own, in one shared object.
class CBatch {
 public:
  CBatch() = default;
  ~CBatch() {
    if (library_ != nullptr) dlclose(library_);
  }
  CBatch(const CBatch&) = delete;
  CBatch& operator=(const CBatch&) = delete;

  // `name`: as its plan in C++ has it. Throws: CompileError of what C does not have.
  void add(const Graph& graph, const std::string& name, PlannerConfig config) {
    ModelInfo info;
    info.sha256 = std::string(64, '0');
    config.language = Language::kC;
    const auto lowered =
        lower(std::make_shared<const Plan>(bf_aot::plan(graph, info, name, false, config)));
    build::check_language(*lowered);
    write(name + ".c", emit::emit_source(*lowered, name));
    write(name + ".h",
          emit::emit_header(lowered->plan(), emit::header_bytes(lowered->plan()), nullptr));
    for (const emit::EmittedFile& file : emit::emit_weight_files(*lowered, name))
      write(name + file.suffix, file.bytes);
    names_.push_back(name);
  }

  // Compiles every source strictly.
  void build(const std::string& compiler, const std::vector<std::string>& flags) {
    std::vector<std::string> link = {compiler, "-shared", "-o", "c.so"};
    for (const std::string& name : names_) {
      std::vector<std::string> command = {compiler, "-fPIC", "-I."};
      command.insert(command.end(), kStrict.begin(), kStrict.end());
      command.insert(command.end(), flags.begin(), flags.end());
      command.insert(command.end(), {"-I" + build::runtime_folder().string(), "-c", name + ".c",
                                     "-o", name + ".o"});
      run(command);
      link.push_back(name + ".o");
    }
    run(link);
    library_ = dlopen((folder_.path() / "c.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }

  template <class Function>
  Function symbol(const std::string& name) const {
    return reinterpret_cast<Function>(dlsym(library_, name.c_str()));
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }

  void run(std::vector<std::string> command) const {
    command.front() = system::find_program(command.front()).value();
    const system::ProcessResult result = system::run_process(command, folder_.path());
    if (result.exit_code != 0) throw std::runtime_error(result.errors);
  }

  TemporaryFolder folder_;
  std::vector<std::string> names_;
  void* library_ = nullptr;
};

// The results of a call, as bytes: equal ones are the same to the bit.
struct Result {
  bf_status status = BF_OK;
  std::vector<float> first, second;
};

bool operator==(const Result& a, const Result& b) {
  const auto same = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  return a.status == b.status && same(a.first, b.first) && same(a.second, b.second);
}

Result bounds(Batch::Bounds call, const Plan& plan, const FloatBox& box) {
  const auto bytes = static_cast<std::size_t>(plan.arena_bytes());
  Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
  const auto outputs = static_cast<std::size_t>(plan.output_count);
  Result made{BF_OK, std::vector<float>(outputs, 1), std::vector<float>(outputs, 2)};
  made.status = call(box.lower.data(), box.upper.data(), made.first.data(), made.second.data(),
                     arena.data(), bytes);
  EXPECT_TRUE(arena.guards_intact());
  return made;
}

Result evaluation(Batch::Evaluate call, const Plan& plan, const FloatBox& box) {
  const auto bytes = static_cast<std::size_t>(plan.arena_bytes());
  Arena arena(bytes, static_cast<std::size_t>(plan.config.target.align));
  Result made{BF_OK, std::vector<float>(static_cast<std::size_t>(plan.output_count), 1), {}};
  made.status = call(box.lower.data(), made.first.data(), arena.data(), bytes);
  return made;
}

struct Configuration {
  const char* name;
  Method method;
  Semantics semantics;
  const char* compiler;
  const char* cpp_compiler;
  std::vector<std::string> flags;
  AlphaRows alpha = AlphaRows::kOutputs;
};

std::ostream& operator<<(std::ostream& out, const Configuration& configuration) {
  return out << configuration.name;
}

const Configuration kConfigurations[] = {
    {"ibp_gcc", Method::kIbp, Semantics::kReal, "gcc", "g++", {"-O1"}},
    {"ibp_clang", Method::kIbp, Semantics::kReal, "clang", "clang++", {"-O2"}},
    {"crown_ibp_gcc", Method::kCrownIbp, Semantics::kReal, "gcc", "g++", {"-O2"}},
    {"crown_clang", Method::kCrown, Semantics::kReal, "clang", "clang++", {"-O1"}},
    {"alpha_crown_gcc", Method::kAlphaCrown, Semantics::kReal, "gcc", "g++", {"-O0"}},
    {"alpha_crown_all_clang",
     Method::kAlphaCrown,
     Semantics::kReal,
     "clang",
     "clang++",
     {"-O0"},
     AlphaRows::kAll},
};

class InC : public ::testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    for (const char* const compiler : {GetParam().compiler, GetParam().cpp_compiler})
      if (!has_compiler(compiler)) GTEST_SKIP() << compiler << " is not installed";
  }

  // Returns whether C has all of the graph's plan.
  bool add(const Graph& graph) {
    PlannerConfig config = planner_config(GetParam().method, Lowering::kGeneric, "generic");
    config.semantics = GetParam().semantics;
    config.alpha = GetParam().alpha;
    try {
      in_c_.add(graph, fmt::format("net_{}", in_cpp_.size()), config);
    } catch (const CompileError&) {
      return false;
    }
    in_cpp_.add(graph, false, config);
    return true;
  }

  // Compares on boxes of all kinds, which hold points, infinite and empty boxes, too.
  void compare(Random& random) {
    std::vector<std::string> flags = GetParam().flags;
    flags.emplace_back("-ffp-contract=off");
    in_cpp_.build({GetParam().cpp_compiler, flags});
    in_c_.build(GetParam().compiler, flags);
    for (std::size_t i = 0; i < in_cpp_.size(); ++i) {
      const Plan& plan = in_cpp_.plan(i);
      const auto c_bounds = in_c_.symbol<Batch::Bounds>(plan.name + "_bounds");
      const auto c_evaluate = in_c_.symbol<Batch::Evaluate>(plan.name + "_evaluate");
      ASSERT_TRUE(c_bounds != nullptr && c_evaluate != nullptr) << plan.name;
      for (int kind = 0; kind < kBoxKinds; ++kind) {
        const FloatBox box = random_box(random, plan.input_count, kind);
        EXPECT_TRUE(bounds(c_bounds, plan, box) == bounds(in_cpp_.bounds(i), plan, box))
            << plan.name << ", box of kind " << kind;
        EXPECT_TRUE(evaluation(c_evaluate, plan, box) == evaluation(in_cpp_.evaluate(i), plan, box))
            << plan.name << ", box of kind " << kind;
      }
    }
  }

  CBatch in_c_;
  Batch in_cpp_;
};

TEST_P(InC, RandomGraphsHaveTheSameBits) {
  Random random(testing::seed_from_environment(20261130));
  int graphs = 0;
  for (int tried = 0; in_cpp_.size() < 12; ++tried) {
    ASSERT_LT(tried, 400) << "C has nearly nothing";
    Graph graph = testing::random_graph(random, Numbers::kFloats, testing::pick(random, 2, 10));
    try {
      normalise(graph);
    } catch (const CompileError&) {
      continue;
    }
    graphs += add(graph) ? 1 : 0;
  }
  EXPECT_GT(graphs, 0);
  compare(random);
}

TEST_P(InC, DenseNetworksHaveTheSameBits) {
  Random random(testing::seed_from_environment(20261131));
  for (int family = 0; family < kFamilies; ++family)
    ASSERT_TRUE(add(to_graph(random_net(random, static_cast<Family>(family)))));
  compare(random);
}

INSTANTIATE_TEST_SUITE_P(Languages, InC, ::testing::ValuesIn(kConfigurations),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bf_aot::soundness
