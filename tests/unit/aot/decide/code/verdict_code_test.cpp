// NAME_verify and NAME_property_box of compiled verifiers and of the engine's, against points that
// are evaluated in exact arithmetic.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <random>

#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/build/work_json.h"
#include "aot/system/files.h"
#include "bf/search/verdict.h"
#include "frontend/evaluate/evaluate_exact.h"
#include "frontend/import/file/importer.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "runtime/bf.h"
#include "tests/paths.h"
#include "tests/support/engine_functions.h"
#include "tests/support/model_text.h"
#include "tests/support/property_text.h"

namespace bf_aot::decide {
namespace {

constexpr char kModel[] = BF_SOURCE_DIR "/models/tiny.onnx";
constexpr int kInputs = 2;

static_assert(build::kTriedCorners == bf::kAllCorners, "the work bound of NAME_verify counts them");

struct Way {
  Method method;
  By by;
};

// A verifier of tiny.onnx with a property, compiled and loaded or run by the engine.
class Loaded {
 public:
  using Verify = bf_status(const float*, const float*, bf_result*, void*, std::size_t);
  using PropertyBox = bf_status(std::size_t, float*, float*);

  Loaded(const std::string& property, const Way& way) : property_(read_property(property)) {
    build::CompileOptions options;
    options.name = "tiny";
    options.planner.method = way.method;
    options.planner.target = find_target("generic");
    options.planner.lowering = Lowering::kGeneric;
    options.property = property_;
    if (way.by == By::kEngine) {
      engine_ = std::make_unique<EngineFunctions>(kModel, options);
      verify = std::bind_front(&EngineFunctions::verify, engine_.get());
      box = std::bind_front(&EngineFunctions::property_box, engine_.get());
      return;
    }
    const build::Verifier verifier = build::compile(kModel, "v", options);
    for (const emit::EmittedFile& file : verifier.files)
      system::write_file(folder_.path() / ("v" + file.suffix), file.bytes);
    const build::CompilerOptions warnings{
        "", {"-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"}};
    build::build_shared(build::find_toolchain(warnings, options.planner.target), folder_.path(),
                        "v", verifier.files);
    library_ = dlopen((folder_.path() / "v.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    verify = reinterpret_cast<Verify*>(dlsym(library_, "tiny_verify"));
    box = reinterpret_cast<PropertyBox*>(dlsym(library_, "tiny_property_box"));
  }
  ~Loaded() {
    if (library_ != nullptr) dlclose(library_);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  const Property& property() const { return property_; }

  // The verdict on a box, and the counterexample.
  bf_result run(const float* lower, const float* upper, float* point = nullptr) {
    bf_result result = {BF_BUDGET, 77, 77, point};
    EXPECT_EQ(verify(lower, upper, &result, workspace_, sizeof workspace_), BF_OK);
    return result;
  }

  std::function<Verify> verify;
  std::function<PropertyBox> box;

 private:
  Property property_;
  test::TempFolder folder_;
  void* library_ = nullptr;
  std::unique_ptr<EngineFunctions> engine_;
  alignas(64) unsigned char workspace_[1 << 16];
};

std::string property_path(const std::string& name) {
  return BF_SOURCE_DIR "/models/properties/" + name + ".vnnlib";
}

class VerdictCode : public testing::TestWithParam<Way> {};

TEST_P(VerdictCode, WholeProperties) {
  Loaded holds(property_path("tiny_holds"), GetParam());
  Loaded violated(property_path("tiny_violated"), GetParam());
  const float lower[] = {-1, -1}, upper[] = {1, 1};
  const bf_result yes = holds.run(lower, upper);
  EXPECT_EQ(yes.verdict, BF_VERIFIED);
  float point[] = {7, 7};
  const bf_result no = violated.run(lower, upper, point);
  EXPECT_EQ(no.verdict, BF_FALSIFIED);
  EXPECT_EQ(point[0], 1);
  EXPECT_EQ(point[1], -1);
  EXPECT_EQ(no.property_case, 0u);
  EXPECT_EQ(violated.run(lower, upper).verdict, BF_FALSIFIED) << "the array may be null";
}

// The squares of the outputs are 18.5 in sum at the corner (1, -1).
TEST_P(VerdictCode, ConditionsThatAreNotLinear) {
  const Way& way = GetParam();
  if (way.method == Method::kForward) GTEST_SKIP() << "forward lines know no products";
  if (way.by == By::kCompiler && way.method != Method::kCrown)
    GTEST_SKIP() << "the engine runs the same steps";
  const test::TempFolder folder;
  const std::string path = (folder.path() / "p.vnnlib").string();
  std::string text = test::read_bytes(property_path("tiny_energy"));
  text.replace(text.find(" 19)"), 4, " 18.25)");
  test::write_bytes(path, text);
  Loaded holds(property_path("tiny_energy"), GetParam()), violated(path, GetParam());
  const float lower[] = {0.96875F, -1}, upper[] = {1, -0.96875F};
  EXPECT_EQ(holds.run(lower, upper).verdict, BF_VERIFIED);
  float point[] = {7, 7};
  EXPECT_EQ(violated.run(lower, upper, point).verdict, BF_FALSIFIED);
  EXPECT_EQ(point[0], 1);
  EXPECT_EQ(point[1], -1);
  const float inner[] = {0.5F, -0.5F};
  EXPECT_EQ(violated.run(inner, inner).verdict, BF_VERIFIED);
}

TEST_P(VerdictCode, CasesAndTheirBoxes) {
  Loaded loaded(property_path("tiny_cases"), GetParam());
  ASSERT_EQ(loaded.property().cases.size(), 3u);
  float lower[2], upper[2];
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(loaded.box(i, lower, upper), BF_OK);
    const PropertyCase& one = loaded.property().cases[i];
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_LE(static_cast<double>(lower[k]), one.box.lower[k]);
      EXPECT_GE(static_cast<double>(upper[k]), one.box.upper[k]);
      EXPECT_GE(static_cast<double>(std::nextafterf(lower[k], 9)), one.box.lower[k]);
      EXPECT_LE(static_cast<double>(std::nextafterf(upper[k], -9)), one.box.upper[k]);
    }
  }
  // Case 1 begins at 0.1, which is no float.
  ASSERT_EQ(loaded.box(1, lower, upper), BF_OK);
  EXPECT_LT(lower[0], 0.1);
  EXPECT_EQ(loaded.box(3, lower, upper), BF_NO_SUCH_CASE);
  EXPECT_EQ(loaded.box(0, nullptr, upper), BF_NULL_ARGUMENT);
}

// Whether a point lies in the box of one of the property's cases.
bool in_region(Loaded& loaded, const std::vector<double>& x) {
  float lower[kInputs], upper[kInputs];
  for (std::size_t index = 0; loaded.box(index, lower, upper) == BF_OK; ++index) {
    bool inside = true;
    for (std::size_t i = 0; i < kInputs; ++i)
      inside =
          inside && static_cast<double>(lower[i]) <= x[i] && x[i] <= static_cast<double>(upper[i]);
    if (inside) return true;
  }
  return false;
}

// Whatever the caller's box: verified boxes hold no violation, and counterexamples are ones.
TEST_P(VerdictCode, RandomBoxesAgainstExactPoints) {
  Loaded loaded(property_path("tiny_cases"), GetParam());
  const Graph network = import_model(kModel).graph;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> place(-1.3f, 1.5f), width(-3, 0.3f);
  int counts[BF_PARTLY_OUTSIDE + 1] = {};
  for (int round = 0; round < 4000; ++round) {
    float lower[kInputs], upper[kInputs], point[kInputs] = {99, 99};
    for (int i = 0; i < kInputs; ++i) {
      lower[i] = place(random);
      upper[i] = random() % 8 == 0 ? lower[i] : lower[i] + std::pow(10.0f, width(random));
    }
    if (random() % 4 == 0) {
      float ignored[kInputs];
      ASSERT_EQ(loaded.box(random() % 3, lower, random() % 2 == 0 ? upper : ignored), BF_OK);
      for (int i = 0; i < kInputs; ++i) upper[i] = std::max(lower[i], upper[i]);
    }
    const bf_result result = loaded.run(lower, upper, point);
    ASSERT_NE(result.verdict, BF_BUDGET);
    ++counts[result.verdict];
    const auto is_violation = [&](const std::vector<double>& x) {
      return test::violates(loaded.property(), x, evaluate_exact(network, {x})[0]);
    };
    if (result.verdict == BF_FALSIFIED) {
      for (int i = 0; i < kInputs; ++i) ASSERT_TRUE(lower[i] <= point[i] && point[i] <= upper[i]);
      ASSERT_TRUE(is_violation({point[0], point[1]}));
    } else {
      EXPECT_EQ(point[0], 99) << "written without a counterexample";
    }
    if (result.verdict == BF_UNKNOWN || result.verdict == BF_FALSIFIED) continue;
    for (int k = 0; k < 12; ++k) {
      std::vector<double> x;
      for (int i = 0; i < kInputs; ++i) {
        const unsigned end = random() % 3;
        const double t = end == 2 ? std::uniform_real_distribution<double>(0, 1)(random) : end;
        const double low = lower[i], high = upper[i];
        x.push_back(std::clamp(low * (1 - t) + high * t, low, high));
      }
      ASSERT_FALSE(is_violation(x)) << x[0] << " " << x[1];
      const bool inside = in_region(loaded, x);
      if (result.verdict != BF_PARTLY_OUTSIDE) {
        ASSERT_EQ(inside, result.verdict == BF_VERIFIED) << x[0] << " " << x[1];
      }
    }
  }
  EXPECT_GT(counts[BF_VERIFIED], 50);
  EXPECT_GT(counts[BF_OUTSIDE], 50);
  EXPECT_GT(counts[BF_PARTLY_OUTSIDE], 50);
  EXPECT_GT(counts[BF_VERIFIED] + counts[BF_OUTSIDE] + counts[BF_PARTLY_OUTSIDE], 300);
  EXPECT_GT(counts[BF_FALSIFIED], 200);
  EXPECT_GT(counts[BF_UNKNOWN], 5);
}

TEST_P(VerdictCode, Contract) {
  Loaded loaded(property_path("tiny_holds"), GetParam());
  alignas(64) static unsigned char workspace[1 << 16];
  float lower[] = {-1, -1}, upper[] = {1, 1};
  bf_result result = {BF_BUDGET, 77, 77, nullptr};
  const auto verify = [&](const float* l, const float* u, void* w, std::size_t bytes) {
    return loaded.verify(l, u, &result, w, bytes);
  };
  EXPECT_EQ(verify(nullptr, upper, workspace, sizeof workspace), BF_NULL_ARGUMENT);
  EXPECT_EQ(verify(lower, nullptr, workspace, sizeof workspace), BF_NULL_ARGUMENT);
  EXPECT_EQ(loaded.verify(lower, upper, nullptr, workspace, sizeof workspace), BF_NULL_ARGUMENT);
  EXPECT_EQ(verify(lower, upper, nullptr, sizeof workspace), BF_NULL_ARGUMENT);
  EXPECT_EQ(verify(lower, upper, workspace, 8), BF_WORKSPACE_TOO_SMALL);
  EXPECT_EQ(verify(lower, upper, workspace + 1, sizeof workspace - 1), BF_WORKSPACE_MISALIGNED);
  EXPECT_EQ(verify(upper, lower, workspace, sizeof workspace), BF_EMPTY_BOX);
  lower[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(verify(lower, upper, workspace, sizeof workspace), BF_NAN_INPUT);
  lower[0] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(verify(lower, upper, workspace, sizeof workspace), BF_INFINITE_BOX);
  EXPECT_EQ(result.verdict, BF_BUDGET) << "written without BF_OK";
  EXPECT_EQ(result.property_case, 77u);
}

// A box that meets no case has nothing to violate.
TEST_P(VerdictCode, OutsideOfAllCases) {
  Loaded loaded(property_path("tiny_cases"), GetParam());
  const float lower[] = {5, 5}, upper[] = {6, 6};
  EXPECT_EQ(loaded.run(lower, upper).verdict, BF_OUTSIDE);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, VerdictCode,
    testing::Values(Way{Method::kIbp, By::kCompiler}, Way{Method::kCrownIbp, By::kCompiler},
                    Way{Method::kCrown, By::kCompiler}, Way{Method::kIbp, By::kEngine},
                    Way{Method::kCrownIbp, By::kEngine}, Way{Method::kCrown, By::kEngine},
                    Way{Method::kAlphaCrown, By::kEngine}, Way{Method::kForward, By::kEngine}),
    [](const auto& instance) {
      std::string name(to_string(instance.param.method));
      for (char& c : name)
        if (c == '-') c = '_';
      return name + "_" + std::string(to_string(instance.param.by));
    });

}  // namespace
}  // namespace bf_aot::decide
