// Questions about closed loops.
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "aot/library/bf_aot.h"
#include "tests/paths.h"

namespace bf_aot::api {
namespace {

const std::filesystem::path kLoops = BF_SOURCE_DIR "/models/examples/loops";

std::string question(const std::string& plant, const std::string& requirement) {
  return R"q({"controller": "controller.onnx", "plant": ")q" + plant +
         R"q(", "period": 0.05, "steps": 10, "initial": {"lower": [0.2, -0.2], "upper":
         [0.4, 0.2]}, "requirements": [{"always": ")q" +
         requirement + R"q("}]})q";
}

template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "" : result.error().code;
}

TEST(LibraryReach, AFile) {
  int calls = 0;
  ReachOptions options;
  options.progress = [&](const ReachProgress& progress) {
    ++calls;
    EXPECT_LE(progress.proven, 1);
  };
  options.drawing = true;
  const auto found = reach(kLoops / "reach.json", options);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->answer, ReachAnswer::kVerified);
  EXPECT_GT(calls, 0);
  EXPECT_NE(found->json.find(R"("question":"reach.json","answer":"verified")"), std::string::npos);
  EXPECT_NE(found->svg.find("<svg"), std::string::npos);
}

TEST(LibraryReach, ATextAndNetworksOfMemory) {
  const auto plant = Model::load(kLoops / "plant.onnx");
  ASSERT_TRUE(plant.ok());
  ReachOptions options;
  options.networks.insert({"own", *plant});
  const auto holds = reach_text(question("own", "(<= x[0] 0.5)"), options, kLoops);
  ASSERT_TRUE(holds.ok()) << holds.error().text();
  EXPECT_EQ(holds->answer, ReachAnswer::kVerified);
  EXPECT_TRUE(holds->svg.empty());
  const auto broken = reach_text(question("own", "(<= x[0] 0.3)"), options, kLoops);
  ASSERT_TRUE(broken.ok());
  EXPECT_EQ(broken->answer, ReachAnswer::kFalsified);
  EXPECT_STREQ(to_string(broken->answer), "falsified");
}

TEST(LibraryReach, EndsWhenItIsAskedTo) {
  std::stop_source source;
  source.request_stop();
  ReachOptions options;
  options.stop = source.get_token();
  const auto found = reach_text(question("plant.onnx", "(<= x[0] 0.5)"), options, kLoops);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->answer, ReachAnswer::kUnknown);
}

TEST(LibraryReach, Errors) {
  const std::string good = question("plant.onnx", "(<= x[0] 0.5)");
  EXPECT_EQ(code_of(reach(kLoops / "none.json")), "BF3001");
  EXPECT_EQ(code_of(reach_text("{", {}, kLoops)), "BF3003");
  EXPECT_EQ(code_of(reach_text(question("plant.onnx", "(<= y 1)"), {}, kLoops)), "BF3611");
  EXPECT_EQ(code_of(reach_text(question("controller.onnx", "true"), {}, kLoops)), "BF3601");
  ReachOptions options;
  options.seconds = 0;
  EXPECT_EQ(code_of(reach_text(good, options, kLoops)), "BF3501");
  options = {};
  options.jobs = -1;
  EXPECT_EQ(code_of(reach_text(good, options, kLoops)), "BF3501");
  options = {};
  options.more["device"] = "opencl";
  EXPECT_EQ(code_of(reach_text(good, options, kLoops)), "BF3501");
  options = {};
  options.progress = [](const ReachProgress&) { throw std::runtime_error("no"); };
  EXPECT_EQ(code_of(reach_text(good, options, kLoops)), "BF3505");
}

}  // namespace
}  // namespace bf_aot::api
