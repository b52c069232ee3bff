// Real networks: the project's own and, where they are, those of the shared corpus (environment:
// BF_SHARED). On golden boxes, random boxes inside of them and their centres: corners and inner
// points lie inside the bounds, and the bounds are hardly wider than without any rounding.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "aot/apps/measure/check.h"
#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/decide/property/sample.h"
#include "aot/engine/verifier/compiled_verifier.h"
#include "aot/system/process.h"
#include "planner/reference/executor.h"
#include "tests/paths.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

namespace fs = std::filesystem;

// A model file and its golden file; `corpus` ones are relative to the shared folder.
struct Model {
  const char* name;
  const char* file;
  const char* golden;
  bool corpus;
};

void PrintTo(const Model& model, std::ostream* out) {
  *out << model.name;
}

const Model kModels[] = {
    {"tiny", "models/tiny.onnx", "models/golden/tiny.json", false},
    {"tiny_linear", "models/tiny_linear.onnx", "models/golden/tiny_linear.json", false},
    {"tiny_scale", "models/tiny_scale.onnx", "models/golden/tiny_scale.json", false},
    {"tiny_transpose", "models/tiny_transpose.onnx", "models/golden/tiny_transpose.json", false},
    {"digits_64x2", "models/digits_64x2.onnx", "models/golden/digits_64x2.json", false},
    {"collision_avoidance_6x50", "models/collision_avoidance_6x50.onnx",
     "models/golden/collision_avoidance_6x50.json", false},
    {"acasxu_1_1", "corpus/acasxu/onnx/ACASXU_run2a_1_1_batch_2000.onnx", "golden/acasxu_1_1.json",
     true},
    {"acasxu_3_3", "corpus/acasxu/onnx/ACASXU_run2a_3_3_batch_2000.onnx", "golden/acasxu_3_3.json",
     true},
    {"cartpole", "corpus/rl_benchmarks/onnx/cartpole.onnx", "golden/rl_cartpole.json", true},
    {"dubinsrejoin", "corpus/rl_benchmarks/onnx/dubinsrejoin.onnx", "golden/rl_dubinsrejoin.json",
     true},
    {"mnist_256x2", "corpus/mnist_fc/onnx/mnist-net_256x2.onnx", "golden/mnistfc_256x2.json", true},
    {"tll_n8", "corpus/tllverifybench/onnx/tllBench_n=2_N=M=8_m=1_instance_0_0.onnx.gz",
     "golden/tll_N8.json", true},
};

using ModelAndMethod = std::tuple<Model, Method>;

std::string name_of(const ModelAndMethod& what) {
  return test_name(fmt::format("{}_{}", std::get<0>(what).name, to_string(std::get<1>(what))));
}

class RealNetworks : public ::testing::TestWithParam<ModelAndMethod> {
 protected:
  static constexpr int kSubBoxes = 3;
  static constexpr int kPoints = 15;

  // Boxes inside of golden ones have sides down to 1/16 of theirs: rounding weighs more.
  static constexpr apps::Tolerances kPart = {1.05, 1.02, 0.01};

  // In a lattice of minima and maxima coefficients cancel exactly in double alone, where slopes
  // that are improved in float and in double part: after 20 steps its widths differ by 0.3 % in
  // either direction.
  static constexpr apps::Tolerances kLattice = {1.01, 1.005, 0.01};

  void SetUp() override {
    const Model& model = std::get<0>(GetParam());
    fs::path root = BF_SOURCE_DIR;
    if (model.corpus) {
      const char* shared = std::getenv("BF_SHARED");
      root = shared != nullptr ? fs::path(shared) : root / ".." / "shared";
    }
    model_ = root / model.file;
    if (!fs::exists(model_) || !fs::exists(root / model.golden))
      GTEST_SKIP() << "no " << model_ << ": set BF_SHARED to the folder that holds corpus/";
    if (model_.extension() == ".gz") unpack();
    sampler_ = std::make_unique<decide::Sampler>(model_);
    compile(root / model.golden);
  }

  void unpack() {
    const auto gzip = system::find_program("gzip");
    if (!gzip) GTEST_SKIP() << "gzip is not installed";
    const system::ProcessResult result = system::run_process({*gzip, "-dc", model_.string()});
    model_ = folder_.path() / "model.onnx";
    std::ofstream(model_, std::ios::binary) << result.output;
  }

  // With the rows of the first golden box as specification.
  void compile(const fs::path& golden) {
    build::CompileOptions options;
    options.planner = planner_config(std::get<1>(GetParam()), Lowering::kVector, "host");
    const auto shape = bf_aot::build::plan_model(model_, options)->shared_plan();
    golden_ = input::read_golden(golden, shape->input_count, shape->output_count);
    options.spec = LinearSpec{golden_.boxes.at(0).rows, {}, {}};
    if (options.spec->rows.empty()) options.spec.reset();
    verifier_ = bf_aot::build::compile(model_, "real", options);
    for (const emit::EmittedFile& file : verifier_.files)
      std::ofstream(folder_.path() / ("real" + file.suffix), std::ios::binary) << file.bytes;
    build::build_shared(build::find_toolchain({"g++", {"-O2"}}, options.planner.target),
                        folder_.path(), "real", verifier_.files);
    host_ =
        std::make_unique<engine::CompiledVerifier>(folder_.path() / "real.so", verifier_.plan());
  }

  void check_containment(const input::FloatBox& box, const engine::Bounds& outputs,
                         const engine::Bounds& rows);
  void check_widths(const input::FloatBox& box, const engine::Bounds& ours, EntryKind kind,
                    bool point, const apps::Tolerances& tolerances);
  void check_box(const input::FloatBox& box, bool point, const apps::Tolerances& tolerances);

  std::vector<std::vector<double>> spec_rows() const {
    return verifier_.plan().spec_rows > 0 ? golden_.boxes.at(0).rows
                                          : std::vector<std::vector<double>>{};
  }

  fs::path model_;
  TemporaryFolder folder_;
  input::Golden golden_;
  build::Verifier verifier_;
  std::unique_ptr<decide::Sampler> sampler_;
  std::unique_ptr<engine::HostVerifier> host_;
  Random random_{11};
  int boxes_ = 0;
  double widest_ = 1;
};

void RealNetworks::check_containment(const input::FloatBox& box, const engine::Bounds& outputs,
                                     const engine::Bounds& rows) {
  const auto spec = spec_rows();
  const std::size_t count = outputs.lower.size();
  for (const std::vector<double>& x : decide::Sampler::points(box, kPoints, random_())) {
    const decide::SampledPoint point = sampler_->evaluate(x, spec);
    for (std::size_t i = 0; i < point.values.size(); ++i) {
      const bool row = i >= count;
      const double lower = row ? rows.lower[i - count] : outputs.lower[i];
      const double upper = row ? rows.upper[i - count] : outputs.upper[i];
      ASSERT_TRUE(sampler_->inside(point, spec, i, lower, upper))
          << (row ? "row " : "output ") << i << ": " << point.values[i].value << " outside ["
          << lower << ", " << upper << "]";
    }
  }
}

void RealNetworks::check_widths(const input::FloatBox& box, const engine::Bounds& ours,
                                EntryKind kind, bool point, const apps::Tolerances& tolerances) {
  const Plan& plan = verifier_.plan();
  const reference::Bounds exact =
      reference::execute(plan, *plan.find_entry(kind), {box.lower.begin(), box.lower.end()},
                         {box.upper.begin(), box.upper.end()});
  const apps::Widths widths =
      apps::compare_widths(ours, exact.lower, exact.upper, point, tolerances);
  EXPECT_TRUE(widths.ok) << to_string(kind) << ": mean ratio " << widths.mean << ", max "
                         << widths.max << ", excess at points " << widths.point_width;
  widest_ = std::max(widest_, widths.max);
}

void RealNetworks::check_box(const input::FloatBox& box, bool point,
                             const apps::Tolerances& tolerances) {
  ++boxes_;
  const engine::Bounds outputs = host_->bounds(box);
  const bool has_spec = verifier_.plan().spec_rows > 0;
  const engine::Bounds rows = has_spec ? host_->spec_bounds(box) : engine::Bounds{};
  check_containment(box, outputs, rows);
  // The width of ibp at a point is its float rounding alone, on which there is no limit.
  if (point && verifier_.plan().config.method == Method::kIbp) return;
  check_widths(box, outputs, EntryKind::kBounds, point, tolerances);
  if (has_spec) check_widths(box, rows, EntryKind::kSpecBounds, point, tolerances);
}

// Part of a box: each side between two of its 17 equidistant points, or one of them.
input::FloatBox sub_box(Random& random, const input::FloatBox& box, bool point) {
  input::FloatBox part = box;
  for (std::size_t i = 0; i < box.lower.size(); ++i) {
    const auto at = [&](int step) {
      const double t = step / 16.0;
      const double x =
          (1 - t) * static_cast<double>(box.lower[i]) + t * static_cast<double>(box.upper[i]);
      return std::clamp(static_cast<float>(x), box.lower[i], box.upper[i]);
    };
    const int first = pick(random, 0, 15);
    part.lower[i] = at(first);
    part.upper[i] = point ? part.lower[i] : at(pick(random, first + 1, 16));
  }
  return part;
}

TEST_P(RealNetworks, BoundsHoldAndAreTight) {
  const auto& [model, method] = GetParam();
  const bool lattice = model.name == std::string("tll_n8") && method == Method::kAlphaCrown;
  const apps::Tolerances whole = lattice ? kLattice : apps::Tolerances{};
  for (const input::GoldenBox& golden : golden_.boxes) {
    const input::FloatBox box = input::round_outward(golden.file, verifier_.plan().input_count);
    SCOPED_TRACE(golden.description);
    check_box(box, golden.rounding_dominated, whole);
    for (int i = 0; i < kSubBoxes; ++i) {
      SCOPED_TRACE(fmt::format("sub-box {}", i));
      check_box(sub_box(random_, box, false), golden.rounding_dominated, kPart);
    }
    SCOPED_TRACE("a point");
    check_box(sub_box(random_, box, true), true, kPart);
  }
  std::printf("%d boxes, widest by a factor of %.6f\n", boxes_, widest_);
}

INSTANTIATE_TEST_SUITE_P(Models, RealNetworks,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::Values(Method::kIbp, Method::kCrownIbp,
                                                              Method::kCrown, Method::kAlphaCrown)),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace bf_aot::soundness
