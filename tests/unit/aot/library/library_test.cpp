#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "aot/check/certificate.h"
#include "aot/library/bf_aot.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/gzip.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot::api {
namespace {

const std::string kModels = BF_SOURCE_DIR "/models/";
const std::string kProperties = kModels + "properties/";

Model load(const std::string& name) {
  auto model = Model::load(kModels + name);
  if (!model) throw std::runtime_error(model.error().text());
  return *model;
}

Verifier make(const std::string& name, const Options& options = {},
              const Specification& specification = {}) {
  auto verifier = Verifier::make(load(name), options, specification);
  if (!verifier) throw std::runtime_error(verifier.error().text());
  return *verifier;
}

// [count, 5] of small boxes.
struct Boxes {
  std::vector<float> lower, upper;
};
Boxes boxes(std::size_t count) {
  Boxes all;
  for (std::size_t i = 0; i < count * 5; ++i) {
    const float centre = 0.4F * std::sin(static_cast<float>(i));
    all.lower.push_back(centre - 0.01F);
    all.upper.push_back(centre + 0.01F * static_cast<float>(i % 3));
  }
  return all;
}

std::vector<double> tiny(double x0, double x1) {
  const double h0 = std::max(0.0, x0 - 2 * x1), h1 = std::max(0.0, 0.5 * x0 + 3 * x1 + 1);
  return {h0 - h1 + 0.5, -0.5 * h0 + 0.25 * h1 - 1};
}

template <class T>
std::string code(const Result<T>& result) {
  return result ? "" : result.error().code;
}

// ---- models

TEST(LibraryModel, names_and_shapes) {
  const Model model = load("digits_64x2.onnx");
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].shape, (std::vector<std::int64_t>{1, 1, 8, 8}));
  EXPECT_FALSE(model.inputs()[0].name.empty());
  EXPECT_EQ(model.input_count(), 64u);
  EXPECT_EQ(model.output_count(), 10u);
}

TEST(LibraryModel, bytes_are_as_the_file) {
  std::ifstream file(kModels + "tiny.onnx", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto model = Model::from_bytes(std::as_bytes(std::span(text)));
  ASSERT_TRUE(model.ok());
  const float lower[] = {-1, -1}, upper[] = {1, 1};
  const auto verifier = Verifier::make(*model);
  ASSERT_TRUE(verifier.ok());
  EXPECT_EQ(verifier->bounds(lower, upper)->lower, make("tiny.onnx").bounds(lower, upper)->lower);
}

TEST(LibraryModel, errors) {
  const auto missing = Model::load(kModels + "missing.onnx");
  EXPECT_EQ(code(missing), "BF1001");
  EXPECT_NE(missing.error().text().find("error BF1001: "), std::string::npos);
  const std::string text = "no model";
  const auto damaged = Model::from_bytes(std::as_bytes(std::span(text)), "mine");
  EXPECT_EQ(code(damaged), "BF1004");
  EXPECT_EQ(damaged.error().where, "mine");
  EXPECT_EQ(code(Model::from_bytes({})), "BF1004");
}

// ---- bounds

TEST(LibraryBounds, hold_and_rows_are_of_the_specification) {
  const Verifier verifier = make("tiny.onnx", {}, {{1, -1, 2, 0}, {0.5, 0}});
  ASSERT_EQ(verifier.spec_rows(), 2u);
  const float lower[] = {-1, -0.5F}, upper[] = {0.5F, 1};
  const auto bounds = verifier.bounds(lower, upper);
  const auto rows = verifier.spec_bounds(lower, upper);
  ASSERT_TRUE(bounds.ok());
  ASSERT_TRUE(rows.ok());
  for (double x0 = -1; x0 <= 0.5; x0 += 0.125)
    for (double x1 = -0.5; x1 <= 1; x1 += 0.125) {
      const std::vector<double> y = tiny(x0, x1);  // exact
      const std::vector<double> c = {y[0] - y[1] - 0.5, 2 * y[0]};
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_LE(bounds->lower[i], y[i]);
        EXPECT_GE(bounds->upper[i], y[i]);
        EXPECT_LE(rows->lower[i], c[i]);
        EXPECT_GE(rows->upper[i], c[i]);
      }
      const float x[] = {static_cast<float>(x0), static_cast<float>(x1)};
      const auto evaluated = verifier.evaluate(x);
      ASSERT_TRUE(evaluated.ok());
      EXPECT_FLOAT_EQ((*evaluated)[0], static_cast<float>(y[0]));
    }
}

TEST(LibraryBounds, float32_semantics) {
  Options options;
  options.semantics = Semantics::kFloat32;
  const Verifier verifier = make("collision_avoidance_6x50.onnx", options);
  const Verifier real = make("collision_avoidance_6x50.onnx");
  const std::vector<float> lower(verifier.input_count(), 0.1F), upper(lower.size(), 0.2F);
  const auto wide = verifier.bounds(lower, upper);
  const auto narrow = real.bounds(lower, upper);
  ASSERT_TRUE(wide.ok() && narrow.ok());
  for (std::size_t i = 0; i < wide->lower.size(); ++i) {
    EXPECT_LT(wide->lower[i], narrow->lower[i]);
    EXPECT_GT(wide->upper[i], narrow->upper[i]);
  }
  const std::vector<float> far(lower.size(), 3e38F);
  EXPECT_TRUE(real.bounds(far, far).ok());
  const auto refused = verifier.bounds(far, far);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "BF3503");
  const auto point = verifier.evaluate(far);
  ASSERT_FALSE(point.ok());
  EXPECT_EQ(point.error().code, "BF3503");
}

TEST(LibraryBounds, semantics_of_evaluate) {
  Options options;
  options.semantics = Semantics::kFloat32Exact;
  const Verifier verifier = make("collision_avoidance_6x50.onnx", options);
  const std::vector<float> lower(verifier.input_count(), 0.1F), upper(lower.size(), 0.1001F);
  const auto bounds = verifier.bounds(lower, upper);
  const auto y = verifier.evaluate(lower);
  ASSERT_TRUE(bounds.ok() && y.ok());
  for (std::size_t i = 0; i < y->size(); ++i) {
    EXPECT_LE(bounds->lower[i], (*y)[i]);
    EXPECT_GE(bounds->upper[i], (*y)[i]);
  }
  VerifyOptions deciding;
  deciding.semantics = Semantics::kFloat32Exact;
  const auto violated = verify(load("tiny.onnx"), kProperties + "tiny_violated.vnnlib", deciding);
  ASSERT_TRUE(violated.ok());
  EXPECT_EQ(violated->verdict, Verdict::kFalsified);
}

TEST(LibraryVerify, float32_semantics) {
  VerifyOptions options;
  options.semantics = Semantics::kFloat32;
  const auto holds = verify(load("tiny.onnx"), kProperties + "tiny_holds.vnnlib", options);
  ASSERT_TRUE(holds.ok());
  EXPECT_EQ(holds->verdict, Verdict::kVerified);
  const auto violated = verify(load("tiny.onnx"), kProperties + "tiny_violated.vnnlib", options);
  ASSERT_TRUE(violated.ok());
  EXPECT_EQ(violated->verdict, Verdict::kFalsified);
}

TEST(LibraryBounds, many_boxes_are_as_one_by_one) {
  for (const Method method :
       {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown, Method::kForward})
    for (const int batch : {1, 4})
      for (const int threads : {1, 3}) {
        Options options;
        options.method = method;
        options.iterations = 3;
        options.batch = batch;
        options.threads = threads;
        const Verifier verifier = make("collision_avoidance_6x50.onnx", options);
        const Boxes all = boxes(11);
        const auto together = verifier.bounds(all.lower, all.upper);
        ASSERT_TRUE(together.ok()) << together.error().text();
        EXPECT_EQ(together->boxes, 11u);
        ASSERT_EQ(together->rows, 5u);
        for (std::size_t i = 0; i < 11; ++i) {
          const auto one = verifier.bounds(std::span(all.lower).subspan(i * 5, 5),
                                           std::span(all.upper).subspan(i * 5, 5));
          ASSERT_TRUE(one.ok());
          for (std::size_t k = 0; k < 5; ++k) {
            EXPECT_EQ(one->lower[k], together->lower[i * 5 + k]) << to_string(method) << batch;
            EXPECT_EQ(one->upper[k], together->upper[i * 5 + k]) << to_string(method) << batch;
          }
        }
      }
}

TEST(LibraryBounds, threads_share_a_verifier) {
  const Verifier verifier = make("collision_avoidance_6x50.onnx");
  const Boxes all = boxes(20);
  const auto expected = verifier.bounds(all.lower, all.upper);
  std::vector<std::vector<float>> found(4);
  {
    std::vector<std::jthread> threads;
    for (std::vector<float>& mine : found)
      threads.emplace_back([&] { mine = verifier.bounds(all.lower, all.upper)->lower; });
  }
  for (const std::vector<float>& mine : found) EXPECT_EQ(mine, expected->lower);
}

TEST(LibraryBounds, wrong_boxes) {
  const Verifier verifier = make("tiny.onnx");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  using Floats = std::vector<float>;
  const auto error = [&](const Floats& lower, const Floats& upper) {
    const auto bounds = verifier.bounds(lower, upper);
    return bounds ? "" : bounds.error().code + " " + bounds.error().where;
  };
  EXPECT_EQ(error({0, 0, 0, nan}, {1, 1, 1, 1}), "BF3503 box 1, input 1");
  EXPECT_EQ(error({0, 0}, {1, nan}), "BF3503 box 0, input 1");
  EXPECT_EQ(error({0, 0}, {infinity, 1}), "BF3503 box 0, input 0");
  EXPECT_EQ(error({2, 0}, {1, 1}), "BF3503 box 0, input 0");
  EXPECT_EQ(error({0}, {1}), "BF3502 boxes");
  EXPECT_EQ(error({0, 0}, {1, 1, 1, 1}), "BF3502 boxes");
  EXPECT_EQ(error({}, {}), "BF3502 boxes");
  EXPECT_EQ(code(verifier.spec_bounds(Floats{0, 0}, Floats{1, 1})), "BF3502");
  EXPECT_EQ(code(verifier.evaluate(Floats{0})), "BF3502");
  EXPECT_EQ(code(verifier.evaluate(Floats{0, nan})), "BF3503");
}

TEST(LibraryBounds, wrong_options) {
  const Model model = load("tiny.onnx");
  const auto error = [&](auto&& change) {
    Options options;
    change(options);
    const auto made = Verifier::make(model, options);
    return made ? "" : made.error().code + " " + made.error().where;
  };
  EXPECT_EQ(error([](Options& o) { o.batch = 0; }), "BF3501 batch");
  EXPECT_EQ(error([](Options& o) { o.threads = 1000; }), "BF3501 threads");
  EXPECT_EQ(error([](Options& o) { o.iterations = 0; }), "BF3501 iterations");
  EXPECT_EQ(error([](Options& o) { o.row_tile = 1; }), "BF3501 row_tile");
  EXPECT_EQ(error([](Options& o) { o.memory_budget = -1; }), "BF3501 memory_budget");
  EXPECT_EQ(error([](Options& o) { o.method = static_cast<Method>(77); }), "BF3501 method");
  EXPECT_EQ(error([](Options& o) { o.memory_budget = 1; }).substr(0, 6), "BF2105");
  EXPECT_EQ(code(Verifier::make(model, {}, {{1, 2, 3}, {}})), "BF2007");
  EXPECT_EQ(code(Verifier::make(model, {}, {{1, 2}, {1, 2}})), "BF2009");
  EXPECT_EQ(code(Verifier::make(model, {}, {{}, {1}})), "BF2009");
  EXPECT_EQ(code(Verifier::make(model, {}, {{1, std::numeric_limits<double>::quiet_NaN()}, {}})),
            "BF2009");
}

// ---- decisions

TEST(LibraryVerify, verdicts) {
  const Model model = load("tiny.onnx");
  const auto holds = verify(model, kProperties + "tiny_holds.vnnlib");
  ASSERT_TRUE(holds.ok());
  EXPECT_EQ(holds->verdict, Verdict::kVerified);
  EXPECT_EQ(holds->verified_cases, holds->cases);
  EXPECT_FALSE(holds->counterexample);
  EXPECT_EQ(holds->methods, std::vector<Method>{Method::kCrown});
  EXPECT_GE(holds->seconds, holds->plan_seconds);
  EXPECT_EQ(verify(load("collision_avoidance_6x50.onnx"),
                   kProperties + "collision_avoidance_6x50_wide.vnnlib")
                ->verdict,
            Verdict::kVerified);
}

TEST(LibraryVerify, the_counterexample_is_real) {
  const auto result = verify(load("tiny.onnx"), kProperties + "tiny_violated.vnnlib");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict, Verdict::kFalsified);
  ASSERT_TRUE(result->counterexample);
  const std::vector<double>& x = result->counterexample->input;
  ASSERT_EQ(x.size(), 2u);
  EXPECT_LE(std::abs(x[0]), 1);
  EXPECT_LE(std::abs(x[1]), 1);
  EXPECT_EQ(result->counterexample->output, tiny(x[0], x[1]));
  EXPECT_GE(tiny(x[0], x[1])[0], 3.25);
  EXPECT_EQ(std::stod(result->counterexample->exact_input[0]), x[0]);
}

// Two equations that (0.3, 0.1) alone solves, which is no float: no bounds exclude them.
constexpr char kOpen[] =
    "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"
    "(declare-const Y_1 Real)(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))"
    "(assert (<= X_1 1))(assert (>= Y_0 -0.85))(assert (<= Y_0 -0.85))"
    "(assert (>= Y_1 -0.6875))(assert (<= Y_1 -0.6875))";

TEST(LibraryVerify, a_stop_ends_it_and_progress_is_told) {
  const Model model = load("tiny.onnx");
  std::stop_source source;
  VerifyOptions options;
  options.stop = source.get_token();
  options.search_seconds = 1000;
  options.branch_seconds = 1000;
  bool bound = false, later = false;
  options.progress = [&](const Progress& progress) {
    bound = bound || progress.phase == Phase::kBound;
    later = later || progress.phase != Phase::kBound;
    EXPECT_GE(progress.proven, 0);
    EXPECT_LE(progress.proven, 1);
    if (progress.phase == Phase::kSearch || progress.boxes > 0) source.request_stop();
  };
  const auto result = verify_text(model, kOpen, options);
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(result->verdict, Verdict::kUnknown);
  EXPECT_TRUE(result->stopped);
  EXPECT_TRUE(bound);
  EXPECT_TRUE(later);
  EXPECT_LT(result->seconds, 500);
}

TEST(LibraryVerify, threads_make_the_same_tree) {
  const Model model = load("collision_avoidance_6x50.onnx");
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += fmt::format(
        "(declare-const X_{0} Real)(declare-const Y_{0} Real)(assert (>= X_{0} -0.1))"
        "(assert (<= X_{0} 0.1))",
        i);
  text += "(assert (>= (- Y_0 Y_1) 1))";
  VerifyOptions options;
  const auto one = verify_text(model, text, options);
  ASSERT_TRUE(one.ok()) << one.error().text();
  EXPECT_EQ(one->verdict, Verdict::kVerified);
  EXPECT_GT(one->boxes, 1000u);
  for (const int jobs : {0, 4}) {
    options.jobs = jobs;
    const auto many = verify_text(model, text, options);
    ASSERT_TRUE(many.ok()) << many.error().text();
    EXPECT_EQ(many->boxes, one->boxes);
  }
  options.jobs = 257;
  EXPECT_EQ(verify_text(model, text, options).error().code, "BF3501");
}

TEST(LibraryVerify, a_tree_goes_on_where_its_file_says) {
  const Model model = load("collision_avoidance_6x50.onnx");
  const std::string text = [] {
    std::string property;
    for (int i = 0; i < 5; ++i)
      property += fmt::format(
          "(declare-const X_{0} Real)(declare-const Y_{0} Real)(assert (>= X_{0} -0.1))"
          "(assert (<= X_{0} 0.1))",
          i);
    return property + "(assert (>= (- Y_0 Y_1) 1))";
  }();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("bf-aot-tree-{}", getpid());
  std::filesystem::create_directory(folder);
  VerifyOptions options;
  options.search_seconds = 0;
  options.checkpoint = folder / "whole.json";
  const auto whole = verify_text(model, text, options);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_EQ(whole->verdict, Verdict::kVerified);

  options.checkpoint = folder / "stopped.json";
  std::stop_source source;
  options.stop = source.get_token();
  options.progress = [&](const Progress& at) {
    if (at.boxes > 100) source.request_stop();
  };
  const auto stopped = verify_text(model, text, options);
  ASSERT_TRUE(stopped.ok()) << stopped.error().text();
  EXPECT_EQ(stopped->verdict, Verdict::kUnknown);
  options.stop = {};
  options.progress = nullptr;
  const auto rest = verify_text(model, text, options);
  ASSERT_TRUE(rest.ok()) << rest.error().text();
  EXPECT_EQ(rest->verdict, Verdict::kVerified);
  EXPECT_EQ(rest->boxes, whole->boxes);

  EXPECT_EQ(code(verify_text(model, text + " ", options)), "BF3018");
  options.branch_seconds = 0;
  EXPECT_EQ(code(verify_text(model, text, options)), "BF3020");
  std::filesystem::remove_all(folder);
}

TEST(LibraryVerify, certificates_are_written) {
  const Model model = load("tiny.onnx");
  const auto read = [](const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("bf-aot-proof-{}", getpid());
  std::filesystem::create_directory(folder);
  VerifyOptions options;
  options.proof = folder / "answer.bfc";
  const std::filesystem::path copied = folder / "m.onnx";
  std::filesystem::copy_file(kModels + "tiny.onnx", copied);
  options.proof = copied;
  const Model own = Model::load(copied).value();
  const auto over = verify(own, kProperties + "tiny_holds.vnnlib", options);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code, "BF3111");
  EXPECT_EQ(read(copied), read(kModels + "tiny.onnx"));
  options.proof = folder / "answer.bfc";
  for (const char* name : {"tiny_holds", "tiny_violated"}) {
    const std::filesystem::path property = kProperties + name + ".vnnlib";
    const std::string text = read(property);
    const auto of_file = verify(model, property, options);
    ASSERT_TRUE(of_file.ok()) << of_file.error().text();
    ASSERT_TRUE(of_file->proof);
    EXPECT_EQ(of_file->proof->missing, "");
    const std::string certificate = read(options.proof);
    EXPECT_EQ(of_file->proof->bytes, certificate.size());
    bf_check::Work work;
    EXPECT_EQ(bf_check::check({read(kModels + "tiny.onnx")}, text, certificate, work),
              of_file->verdict == Verdict::kVerified ? bf_check::kHolds : bf_check::kViolated);
    EXPECT_EQ(of_file->proof->certificate, "");
    const std::string bytes = read(kModels + "tiny.onnx");
    const Model from_memory = Model::from_bytes(std::as_bytes(std::span(bytes))).value();
    VerifyOptions packs = options;
    packs.proof = folder / "packed.bfc.gz";
    VerifyOptions keeps = options;
    keeps.proof = "-";
    keeps.more["jobs"] = "3";
    const auto kept = verify_text(from_memory, text, keeps);
    const auto packed = verify_text(model, text, packs);
    ASSERT_TRUE(kept.ok() && packed.ok());
    const std::string expanded = unpack_gzip(read(packs.proof), certificate.size()).bytes;
    std::filesystem::remove(packs.proof);
    EXPECT_EQ(packed->proof->bytes, expanded.size());
    EXPECT_EQ(kept->proof->bytes, kept->proof->certificate.size());
    EXPECT_FALSE(std::filesystem::exists("-"));
    if (of_file->verdict == Verdict::kVerified) {
      EXPECT_EQ(expanded, certificate);
      EXPECT_EQ(kept->proof->certificate, certificate);
    }
  }
  std::filesystem::remove(options.proof);
  const std::string holds = read(kProperties + "tiny_holds.vnnlib");
  options.proof_seconds = 1e-9;
  const auto late = verify_text(model, holds, options);
  ASSERT_TRUE(late.ok()) << late.error().text();
  EXPECT_EQ(late->verdict, Verdict::kVerified);
  EXPECT_NE(late->proof.value().missing, "");
  EXPECT_FALSE(std::filesystem::exists(options.proof));
  options.proof_seconds = -1;
  EXPECT_EQ(code(verify_text(model, holds, options)), "BF3501");
  options.proof_seconds = 0;
  options.semantics = Semantics::kFloat32Exact;
  EXPECT_EQ(code(verify_text(model, holds, options)), "BF3024");
  options.semantics = Semantics::kReal;
  const std::string chosen = holds + "(assert (<= (ite (> Y_0 0) Y_0 0) 9))";
  EXPECT_EQ(code(verify_text(model, chosen, options)), "BF3022");
  std::filesystem::remove_all(folder);
}

TEST(LibraryOptions, names_go_before_fields) {
  const Model model = load("collision_avoidance_6x50.onnx");
  const std::vector<float> lower(5, -0.1F), upper(5, 0.1F);
  const auto bounds = [&](const Options& options) {
    const auto made = Verifier::make(model, options);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return made->bounds(lower, upper).value();
  };
  Options fields;
  fields.method = Method::kAlphaCrown;
  fields.norm = Norm::kL2;
  fields.iterations = 3;
  fields.row_tile = 8;
  fields.alpha = AlphaRows::kAll;
  Options names;
  names.more = {{"method", "ALPHA_CROWN"},
                {"norm", "l2"},
                {"iterations", "3"},
                {"row-tile", "8"},
                {"alpha", "all"}};
  EXPECT_EQ(bounds(fields).lower, bounds(names).lower);
  EXPECT_EQ(bounds(names).methods.front(), Method::kAlphaCrown);
  for (const auto& [name, text] : std::map<std::string, std::string>{
           {"rows", "1"}, {"norm", "l3"}, {"jit", "off"}, {"method", "auto"}, {"batch", "0"}}) {
    Options wrong;
    wrong.more = {{name, text}};
    EXPECT_EQ(code(Verifier::make(model, wrong)), "BF3501") << name;
  }
}

TEST(LibraryOptions, are_listed) {
  const std::vector<OptionInfo> infos = option_infos();
  const auto method = std::ranges::find(infos, "method", &OptionInfo::name);
  ASSERT_NE(method, infos.end());
  ASSERT_EQ(method->choices.size(), 5u);
  for (std::size_t i = 0; i < method->choices.size(); ++i)
    EXPECT_EQ(method->choices[i], to_string(static_cast<Method>(i)));
  EXPECT_EQ(std::ranges::find(infos, "lowering", &OptionInfo::name), infos.end());
}

TEST(LibraryVerify, a_stop_before_the_start_decides_nothing) {
  std::stop_source source;
  source.request_stop();
  VerifyOptions options;
  options.stop = source.get_token();
  const auto result = verify(load("tiny.onnx"), kProperties + "tiny_holds.vnnlib", options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict, Verdict::kUnknown);
  EXPECT_TRUE(result->stopped);
  EXPECT_TRUE(result->methods.empty());
}

TEST(LibraryVerify, a_timeout_is_a_stop) {
  VerifyOptions options;
  options.timeout_seconds = 0.2;
  options.search_seconds = options.branch_seconds = 1000;
  const auto result = verify_text(load("tiny.onnx"), kOpen, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->verdict, Verdict::kUnknown);
  EXPECT_TRUE(result->stopped);
}

TEST(LibraryVerify, errors_are_no_verdicts) {
  const Model model = load("tiny.onnx");
  EXPECT_EQ(code(verify(model, kProperties + "missing.vnnlib")).substr(0, 2), "BF");
  EXPECT_EQ(code(verify_text(model, "(assert")).substr(0, 4), "BF34");
  EXPECT_EQ(code(verify(load("digits_64x2.onnx"), kProperties + "tiny_holds.vnnlib")), "BF3408");
  VerifyOptions options;
  options.search_seconds = -1;
  EXPECT_EQ(code(verify_text(model, kOpen, options)), "BF3501");
  options = {};
  options.timeout_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code(verify_text(model, kOpen, options)), "BF3501");
  options = {};
  options.progress = [](const Progress&) { throw std::runtime_error("mine"); };
  const auto thrown = verify_text(model, kOpen, options);
  EXPECT_EQ(code(thrown), "BF3505");
  EXPECT_NE(thrown.error().message.find("mine"), std::string::npos);
}

TEST(LibraryVerify, two_at_once) {
  const Model model = load("tiny.onnx");
  Verdict verdicts[2] = {Verdict::kUnknown, Verdict::kUnknown};
  {
    const std::jthread one(
        [&] { verdicts[0] = verify(model, kProperties + "tiny_holds.vnnlib")->verdict; });
    const std::jthread other(
        [&] { verdicts[1] = verify(model, kProperties + "tiny_violated.vnnlib")->verdict; });
  }
  EXPECT_EQ(verdicts[0], Verdict::kVerified);
  EXPECT_EQ(verdicts[1], Verdict::kFalsified);
}

// ---- without memory

#if defined(__SANITIZE_ADDRESS__)
#define BF_LIMITS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BF_LIMITS_MEMORY 0
#endif
#endif
#ifndef BF_LIMITS_MEMORY
#define BF_LIMITS_MEMORY 1  // sanitizers take addresses in terabytes
#endif

// Blocks from so many bytes on are given back to the system at once: none is left for what a test
// says there is no memory for.
constexpr int kOwnBlocks = 1 << 14;  // less than a workspace of the least vectors

// From the start all threads take their blocks from one heap. Otherwise take_unused() uses up that
// of a thread of an earlier test, and then glibc gives each small block a page of its own.
[[maybe_unused]] const int kOneHeap = mallopt(M_ARENA_MAX, 1);

// 8 - 400 - 400 - 2: what is made of it takes a few mebibytes.
const std::string& wide_model() {
  static const std::string bytes = [] {
    const auto numbers = [](int count) {
      std::string text;
      for (int i = 0; i < count; ++i)
        text += (i == 0 ? "" : ", ") + std::to_string((i * 7919 % 201 - 100) * 0x1p-12);
      return text;
    };
    std::string text =
        "ir_version: 7 opset_import { version: 13 } graph { name: 'wide'\n"
        "input { name: 'x' type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } "
        "dim { dim_value: 8 } } } } }\n"
        "output { name: 'y2' type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } "
        "dim { dim_value: 2 } } } } }\n";
    const int widths[] = {8, 400, 400, 2};
    std::string last = "x";
    for (int i = 0; i < 3; ++i) {
      const std::string k = std::to_string(i);
      text += "node { op_type: 'MatMul' input: ['" + last + "', 'w" + k + "'] output: 'y" + k +
              "' }\ninitializer { name: 'w" + k + "' data_type: 1 dims: [" +
              std::to_string(widths[i]) + ", " + std::to_string(widths[i + 1]) + "] float_data: [" +
              numbers(widths[i] * widths[i + 1]) + "] }\n";
      if (i < 2) text += "node { op_type: 'Relu' input: 'y" + k + "' output: 'r" + k + "' }\n";
      last = "r" + k;
    }
    return test::encode_model(text + "}");
  }();
  return bytes;
}

void set_limit(rlim_t bytes) {
  rlimit limits = {};
  if (getrlimit(RLIMIT_AS, &limits) != 0) _exit(99);
  limits.rlim_cur = bytes;
  if (setrlimit(RLIMIT_AS, &limits) != 0) _exit(99);
}

// All that earlier tests gave back and the process still holds, but for small blocks.
void take_unused() {
  for (std::size_t size = std::size_t{1} << 24; size >= 1 << 12; size /= 2)
    for (void* block = std::malloc(size); block != nullptr; block = std::malloc(size))
      static_cast<volatile char*>(block)[0] = 1;
}

// What happens in a process that gets so much more address space than it has: the exit code, or -1
// when a signal ends it.
template <class Body>
int with_more_memory(std::size_t more, const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t has = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    set_limit(has);
    take_unused();
    set_limit(has + more);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum Ended : int { kAll, kNoModel, kNoVerifier, kNoBounds, kOther };

// From bytes to bounds, as far as memory reaches.
Ended bound_wide() {
  const auto ended = [](const Error& error, Ended without_memory) {
    return error.code == "BF3504" || (without_memory == kNoModel && error.code == "BF1005")
               ? without_memory
               : kOther;
  };
  const auto model = Model::from_bytes(std::as_bytes(std::span(wide_model())), "wide.onnx");
  if (!model) return ended(model.error(), kNoModel);
  const auto verifier = Verifier::make(*model, {});
  if (!verifier) return ended(verifier.error(), kNoVerifier);
  const std::vector<float> lower(8, -0.01F), upper(8, 0.01F);
  const auto bounds = verifier->bounds(lower, upper);
  if (!bounds) return ended(bounds.error(), kNoBounds);
  return kAll;
}

TEST(LibraryMemory, however_little_there_is_no_call_crashes) {
  if (!BF_LIMITS_MEMORY) GTEST_SKIP() << "the sanitizer needs its addresses";
  mallopt(M_MMAP_THRESHOLD, kOwnBlocks);
  (void)wide_model();
  std::map<int, int> ends;
  for (std::size_t more = 0; more < std::size_t{6} << 20; more += std::size_t{64} << 10)
    ++ends[with_more_memory(more, bound_wide)];
  for (const auto& [end, count] : ends) std::printf("ended %d: %d times\n", end, count);
  EXPECT_GT(ends[kNoModel], 0);
  EXPECT_GT(ends[kNoVerifier], 0);
  EXPECT_GT(ends[kAll], 0);
  ends.erase(kNoModel);
  ends.erase(kNoVerifier);
  ends.erase(kNoBounds);
  ends.erase(kAll);
  EXPECT_TRUE(ends.empty()) << "a signal, or an error of another kind";
}

TEST(LibraryMemory, the_need_is_named) {
  if (!BF_LIMITS_MEMORY) GTEST_SKIP() << "the sanitizer needs its addresses";
  mallopt(M_MMAP_THRESHOLD, kOwnBlocks);
  const auto model = Model::from_bytes(std::as_bytes(std::span(wide_model())), "wide.onnx");
  ASSERT_TRUE(model);
  const auto verifier = Verifier::make(*model, {});
  ASSERT_TRUE(verifier);
  const std::vector<float> lower(8, -0.01F), upper(8, 0.01F);
  ASSERT_GT(verifier->workspace_bytes(), kOwnBlocks);
  EXPECT_EQ(with_more_memory(verifier->workspace_bytes() / 4,
                             [&] {
                               const auto bounds = verifier->bounds(lower, upper);
                               if (bounds || bounds.error().code != "BF3504") return 1;
                               const std::string need =
                                   std::to_string(verifier->workspace_bytes()) + " bytes";
                               return bounds.error().message.find(need) == std::string::npos ? 2
                                                                                             : 0;
                             }),
            0);
  EXPECT_EQ(with_more_memory(std::size_t{1} << 18,
                             [&] {
                               const auto more = Verifier::make(*model, {});
                               if (more || more.error().code != "BF3504") return 1;
                               // 8 400 + 400 400 + 400 2 numbers.
                               const std::string text = more.error().message;
                               return text.find("656000 bytes") == std::string::npos ? 2 : 0;
                             }),
            0);
}

// ---- what the border rests on

TEST(LibraryBorder, failed_checks_throw_within_a_call_alone) {
  {
    const ThrowingChecks checks;
    {
      const ThrowingChecks inner;
      EXPECT_THROW(BF_CHECK(1 == 2), InternalError);
    }
    EXPECT_THROW(BF_CHECK(1 == 2), InternalError);
  }
  EXPECT_DEATH(BF_CHECK(1 == 2), "internal error");
}

// As the program and Python take them.
TEST(LibraryNames, are_read_in_any_case) {
  for (const Method each :
       {Method::kIbp, Method::kCrownIbp, Method::kCrown, Method::kAlphaCrown, Method::kForward})
    EXPECT_EQ(method_named(to_string(each)), each);
  EXPECT_EQ(method_named("CROWN_IBP"), Method::kCrownIbp);
  EXPECT_EQ(method_named("CROWN-Optimized"), Method::kAlphaCrown);
  EXPECT_EQ(method_named("crwn"), std::nullopt);
  EXPECT_EQ(method_named(""), std::nullopt);
  EXPECT_EQ(norm_named("L2"), Norm::kL2);
  EXPECT_EQ(norm_named("l3"), std::nullopt);
  EXPECT_EQ(semantics_named("Float32_Exact"), Semantics::kFloat32Exact);
  EXPECT_EQ(semantics_named("float64"), std::nullopt);
}

// A witness that no double is: the text is the number, the double the nearest.
TEST(LibraryVerify, the_exact_input_is_said) {
  const auto result = verify_text(load("tiny.onnx"),
                                  "(declare-const X_0 Real)(declare-const X_1 Real)"
                                  "(declare-const Y_0 Real)(declare-const Y_1 Real)"
                                  "(assert (= X_0 (/ 1 3)))(assert (and (<= 0 X_1 1)))"
                                  "(assert (<= Y_0 100))");
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->verdict, Verdict::kFalsified);
  EXPECT_EQ(result->counterexample->exact_input[0], "1/3");
  EXPECT_EQ(result->counterexample->input[0], 0x1.5555555555555p-2);
  EXPECT_EQ(std::stod(result->counterexample->exact_input[1]), result->counterexample->input[1]);
  EXPECT_LE(result->counterexample->exact_input[1].size(), 12U);
}

// e^x is beyond the exponents of MPFR there, but ln(1 + e^x) is x.
TEST(LibraryVerify, FunctionsFarOut) {
  for (const std::string node : {"op_type: \"Softplus\"", "op_type: \"LogSoftmax\""}) {
    const std::string bytes = test::encode_model(
        "ir_version: 8 opset_import { version: 13 } graph { name: \"g\" node { input: \"x\" "
        "output: "
        "\"y\" " +
        node +
        " } input { name: \"x\" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } "
        "} "
        "} output { name: \"y\" } }");
    const auto model = Model::from_bytes(std::as_bytes(std::span(bytes)), "m");
    ASSERT_TRUE(model) << model.error().text();
    std::string property;
    for (const char* name : {"X_0", "X_1", "Y_0", "Y_1"})
      property += std::string("(declare-const ") + name + " Real)\n";
    property += "(assert (>= X_0 7.48e8))(assert (<= X_0 7.48e8))";
    property += "(assert (>= X_1 -3e9))(assert (<= X_1 -3e9))";
    property += "(assert (>= Y_0 -1))";  // Y_0 is 7.48e8, or almost 0
    const auto result = verify_text(*model, property);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->verdict, Verdict::kFalsified) << node;
  }
}

}  // namespace
}  // namespace bf_aot::api
