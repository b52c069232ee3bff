// Queries about several networks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aot/check/certificate.h"
#include "aot/library/bf_aot.h"
#include "tests/paths.h"
#include "tests/support/model_text.h"

namespace bf_aot::api {
namespace {

const std::string kFolder = BF_SOURCE_DIR "/models/";
const std::string kTwice = kFolder + "properties/tiny_twice.vnnlib";

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Model load_network(const std::string& name) {
  auto model = Model::load(kFolder + name);
  if (!model) throw std::runtime_error(model.error().text());
  return *model;
}

Networks twice() {
  return {{"f", load_network("tiny.onnx")}, {"g", load_network("tiny.onnx")}};
}

std::string two_networks(const std::string& condition, const std::string& congruence = "",
                         const std::string& equal =
                             "(assert (and (= f.X[0,0] g.X[0,0]) "
                             "(= f.X[0,1] g.X[0,1])))") {
  const std::string tensors = "(declare-input X Real [1,2])(declare-output Y Real [1,2])";
  return "(vnnlib-version <2.0>)(declare-network f " + tensors + ")(declare-network g " +
         congruence + tensors + ")(assert (and (<= -1 f.X[0,0] 1) (<= -1 f.X[0,1] 1)))" + equal +
         "(assert " + condition + ")";
}

template <class T>
std::string code_of(const Result<T>& result) {
  return result ? "" : result.error().code;
}

TEST(LibraryNetworks, AreDecidedTogether) {
  const auto found = verify(twice(), kTwice);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->verdict, Verdict::kVerified);
  EXPECT_FALSE(found->counterexample);
}

TEST(LibraryNetworks, ACounterexampleHasTheInputsOfAll) {
  const auto found = verify_text(twice(), two_networks("(>= f.Y[0,0] (+ g.Y[0,0] 0))"));
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->verdict, Verdict::kFalsified);
  const Counterexample& example = *found->counterexample;
  ASSERT_EQ(example.networks.size(), 2u);
  EXPECT_EQ(example.networks[0].name, "f");
  EXPECT_EQ(example.networks[1].name, "g");
  EXPECT_EQ(example.networks[1].inputs, 2u);
  EXPECT_EQ(example.networks[1].outputs, 2u);
  ASSERT_EQ(example.input.size(), 4u);
  ASSERT_EQ(example.output.size(), 4u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(example.input[i], example.input[i + 2]);
    EXPECT_EQ(example.exact_input[i], example.exact_input[i + 2]);
    EXPECT_EQ(example.output[i], example.output[i + 2]);
  }
}

TEST(LibraryNetworks, OneMayReadAnother) {
  const std::string wired = "(assert (and (= g.X[0,0] f.Y[0,0]) (= g.X[0,1] f.Y[0,1])))";
  const auto found = verify_text(twice(), two_networks("(>= g.Y[0,0] 8.99)", "", wired));
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->verdict, Verdict::kFalsified);
  EXPECT_EQ(found->counterexample->input[2], found->counterexample->output[0]);
  EXPECT_EQ(verify_text(twice(), two_networks("(>= g.Y[0,0] 9.01)", "", wired))->verdict,
            Verdict::kVerified);
}

TEST(LibraryNetworks, AnEqualOneNeedsNoModel) {
  const Networks one = {{"f", load_network("tiny.onnx")}};
  EXPECT_EQ(verify_text(one, two_networks("(!= f.Y[0,1] g.Y[0,1])", "(equal-to f)"))->verdict,
            Verdict::kVerified);
  EXPECT_EQ(code_of(verify_text(one, two_networks("true"))), "BF3413");
}

// tiny.onnx with another bias of its first output.
Model changed() {
  std::string text = test::read_bytes(kFolder + "tiny.textproto");
  const std::string bias = "[0.5, -1]";
  text.replace(text.find(bias), bias.size(), "[0.625, -1]");
  const std::string bytes = test::encode_model(text);
  auto model = Model::from_bytes(std::as_bytes(std::span(bytes)));
  if (!model) throw std::runtime_error(model.error().text());
  return *model;
}

TEST(LibraryNetworks, DifferencesAreBoundedAsDifferences) {
  const Networks networks = {{"f", load_network("tiny.onnx")}, {"g", changed()}};
  VerifyOptions options;
  options.search_seconds = 0;
  const auto less = verify_text(
      networks, two_networks("(>= (abs (- f.Y[0,0] g.Y[0,0])) 0.126)", "(isomorphic-to f)"),
      options);
  ASSERT_TRUE(less.ok()) << less.error().text();
  EXPECT_EQ(less->verdict, Verdict::kVerified);
  const auto found = verify_text(networks, two_networks("(>= (abs (- f.Y[0,0] g.Y[0,0])) 0.125)"));
  ASSERT_EQ(found->verdict, Verdict::kFalsified);
  EXPECT_EQ(found->counterexample->output[2] - found->counterexample->output[0], 0.125);
}

TEST(LibraryNetworks, OneIsAsAModel) {
  const Networks one = {{"tiny", load_network("tiny.onnx")}};
  const auto found = verify(one, kFolder + "properties/tiny_query.vnnlib");
  ASSERT_TRUE(found.ok()) << found.error().text();
  const auto alone = verify(load_network("tiny.onnx"), kFolder + "properties/tiny_query.vnnlib");
  EXPECT_EQ(found->verdict, alone->verdict);
  ASSERT_TRUE(found->counterexample);
  EXPECT_TRUE(found->counterexample->networks.empty());
}

TEST(LibraryNetworks, Errors) {
  const Model tiny = load_network("tiny.onnx");
  EXPECT_EQ(code_of(verify(Networks(), kTwice)), "BF3413");
  EXPECT_EQ(code_of(verify(Networks{{"f", tiny}}, kTwice)), "BF3413");
  EXPECT_EQ(code_of(verify(Networks{{"f", tiny}, {"h", tiny}}, kTwice)), "BF3413");
  const auto old = verify(twice(), kFolder + "properties/tiny_holds.vnnlib");
  EXPECT_EQ(code_of(old), "BF3413");
  EXPECT_EQ(old.error().where, "networks");
  EXPECT_EQ(code_of(verify(tiny, kTwice)), "BF3410");
  EXPECT_EQ(code_of(verify(Networks{{"f", tiny}, {"g", load_network("digits_64x2.onnx")}}, kTwice)),
            "BF3408");
  const Networks other = {{"f", tiny}, {"g", changed()}};
  EXPECT_EQ(code_of(verify_text(other, two_networks("true", "(equal-to f)"))), "BF3415");
  VerifyOptions options;
  options.checkpoint = "tree.json";
  options.branch_seconds = 0;
  EXPECT_EQ(code_of(verify(twice(), kTwice, options)), "BF3020");
  options = {};
  options.proof = "-";
  EXPECT_EQ(verify(twice(), kTwice, options).value().proof.value().missing, "");
}

TEST(LibraryNetworks, HaveCertificates) {
  const std::string tiny = read(kFolder + "tiny.onnx");
  VerifyOptions options;
  options.proof = std::filesystem::temp_directory_path() / fmt::format("bf-aot-{}.bfc", getpid());
  for (const auto& [text, statement] :
       {std::pair(read(kTwice), bf_check::kHolds),
        {two_networks("(>= f.Y[0,0] (+ g.Y[0,0] 0))"), bf_check::kViolated},
        {two_networks("(> f.Y[0,0] (+ g.Y[0,0] 0.5))", "(equal-to f)"), bf_check::kHolds}}) {
    const auto found = verify_text(twice(), text, options);
    ASSERT_TRUE(found.ok()) << found.error().text();
    ASSERT_TRUE(found->proof);
    EXPECT_EQ(found->proof->missing, "");
    bf_check::Work work;
    EXPECT_EQ(bf_check::check({tiny, tiny}, text, read(options.proof), work), statement);
  }
  std::filesystem::remove(options.proof);
}

}  // namespace
}  // namespace bf_aot::api
