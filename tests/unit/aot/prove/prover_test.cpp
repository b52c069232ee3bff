#include "aot/prove/prover.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "aot/check/certificate.h"
#include "aot/prove/pieces.h"
#include "tests/paths.h"

namespace bf_aot::prove {
namespace {

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const std::string kModels = BF_SOURCE_DIR "/models/";

// A box of the controller's inputs, and what must not happen.
std::string question(const std::string& violation, double radius = 0.05) {
  std::string text;
  for (int i = 0; i < 5; ++i)
    text += fmt::format(
        "(declare-const X_{0} Real)(declare-const Y_{0} Real)(assert (<= -{1} X_{0} {1}))", i,
        radius);
  return text + "(assert " + violation + ")";
}

ProofRequest request(const std::string& property, std::string& certificate) {
  ProofRequest made;
  made.models = {read(kModels + "collision_avoidance_6x50.onnx")};
  made.property = property;
  made.tool = "test";
  made.write = [&](const std::string& bytes) { certificate += bytes; };
  return made;
}

bf_check::Statement checked(const ProofRequest& asked, const std::string& certificate) {
  bf_check::Work work;
  return bf_check::check(asked.models, asked.property, certificate, work);
}

TEST(Prover, bytes_do_not_depend_on_threads_or_parts) {
  std::string one, three;
  ProofRequest asked = request(question("(>= (- Y_0 Y_1) 0.5)"), one);
  const ProofTotals totals = write_proof(asked);
  EXPECT_GT(totals.leaves, 1u);
  EXPECT_EQ(totals.bytes, one.size());
  EXPECT_EQ(checked(asked, one), bf_check::kHolds);
  asked.jobs = 3;
  asked.write = [&](const std::string& bytes) { three += bytes; };
  EXPECT_EQ(write_proof(asked).leaves, totals.leaves);
  EXPECT_EQ(three, one);
  for (const std::uint64_t count : {1u, 3u}) {
    std::vector<std::string> parts;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string& part = parts.emplace_back();
      asked.write = [&](const std::string& bytes) { part += bytes; };
      write_proof_part(asked, {i, count});
    }
    std::string joined;
    EXPECT_EQ(join_proof_parts(parts, [&](const std::string& bytes) { joined += bytes; }),
              one.size());
    EXPECT_EQ(joined, one);
    parts.pop_back();
    EXPECT_THROW(join_proof_parts(parts, [](const std::string&) {}), std::exception);
  }
}

TEST(Prover, parts_that_are_damaged_are_no_certificate) {
  std::string ignored;
  const ProofRequest asked = request(question("(>= (- Y_0 Y_1) 0.5)"), ignored);
  std::vector<std::string> parts(2);
  for (std::uint64_t i = 0; i < 2; ++i) {
    ProofRequest one = asked;
    one.write = [&](const std::string& bytes) { parts[i] += bytes; };
    write_proof_part(one, {i, 2});
  }
  std::string whole;
  join_proof_parts(parts, [&](const std::string& bytes) { whole += bytes; });
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::string> changed = parts;
    std::string& part = changed[random() % 2];
    if (round % 3 == 0)
      part.resize(random() % part.size());
    else
      part[random() % part.size()] ^= static_cast<char>(1 + random() % 255);
    std::string joined;
    try {
      join_proof_parts(changed, [&](const std::string& bytes) { joined += bytes; });
    } catch (const NoCertificate&) {
      continue;
    }
    try {  // what is joined is refused, or about the same files
      EXPECT_EQ(checked(asked, joined), bf_check::kHolds);
    } catch (const bf_check::NotProven&) {
    } catch (const bf_check::Refused&) {
    }
  }
}

TEST(Prover, false_properties_have_no_certificate) {
  // Each happens at the middle of the box, where the outputs are these within 1e-6.
  const std::string file = read(kModels + "collision_avoidance_6x50.onnx");
  const std::vector<bf_check::Model> models = {bf_check::read_onnx(file)};
  const bf_check::Wiring wiring = bf_check::read_property(question("(>= Y_0 0)")).wiring;
  const std::vector<bf_check::Rat> middle(5, 0);
  bf_check::Work work;
  const bf_check::Outputs outputs =
      bf_check::evaluate(models, wiring, middle, bf_check::Grid{}, 40, work);
  const std::vector<bf_check::Rat>& y = outputs.lower;
  EXPECT_EQ(y, outputs.upper);  // as all numbers are rational
  for (int k = 0; k < 2; ++k) {
    std::string certificate;
    ProofRequest asked = request(
        question(fmt::format("(>= Y_{} {:.9f})", k, y[static_cast<std::size_t>(k)].get_d() - 1e-6)),
        certificate);
    asked.stop = system::Stop().within(0.1);
    EXPECT_THROW(write_proof(asked), NoCertificate);
    std::string part;
    asked.write = [&](const std::string& bytes) { part += bytes; };
    EXPECT_THROW(write_proof_part(asked, {0, 2}), NoCertificate);
    // A part without the rest, or with what another question's tree has, proves nothing.
    EXPECT_THROW(checked(asked, certificate), std::exception);
    std::string other;
    write_proof(request(question("(>= (- Y_0 Y_1) 0.5)"), other));
    std::string header;
    ProofRequest violated = asked;
    violated.stop = {};
    violated.write = [&](const std::string& bytes) { header += bytes; };
    write_violation(violated, middle);
    EXPECT_EQ(checked(asked, header), bf_check::kViolated);
    constexpr std::size_t kHeader = 10 + 64 + 1 + 4;  // up to the body
    std::string forged = header.substr(0, kHeader) + other.substr(kHeader);
    forged[4] = bf_check::kHolds;
    EXPECT_THROW(checked(asked, forged), bf_check::NotProven);
  }
}

TEST(Prover, points_that_violate_nothing_are_no_certificate) {
  std::string certificate;
  const ProofRequest asked = request(question("(>= (- Y_0 Y_1) 0.5)"), certificate);
  EXPECT_THROW(write_violation(asked, std::vector<bf_check::Rat>(5, 0)), NoCertificate);
  EXPECT_THROW(write_violation(asked, std::vector<bf_check::Rat>(5, 9)), NoCertificate);
  EXPECT_EQ(certificate, "");
}

TEST(Prover, a_stop_ends_all_threads) {
  std::string certificate;
  ProofRequest asked = request(question("(>= (- Y_0 Y_1) 0.5)"), certificate);
  asked.jobs = 3;
  asked.stop = [] { return true; };
  EXPECT_THROW(write_proof(asked), NoCertificate);
  asked.stop = []() -> bool { throw std::runtime_error("interrupted"); };
  EXPECT_THROW(write_proof(asked), std::runtime_error);
}

// Also while all bounds of a part are derived, and while a point is evaluated.
TEST(Prover, a_stop_is_asked_for_within_a_part) {
  std::string certificate;
  ProofRequest asked = request(question("(>= Y_0 1000000)"), certificate);
  std::uint64_t calls = 0;
  asked.stop = [&] {
    ++calls;
    return false;
  };
  EXPECT_EQ(write_proof(asked).nodes, 1u);
  EXPECT_GE(calls, 3u);
  const std::uint64_t last = calls;
  calls = 0;
  asked.stop = [&] { return ++calls == last; };
  EXPECT_THROW(write_proof(asked), NoCertificate);
  asked = request(question("(<= Y_0 1000000)"), certificate);
  asked.stop = [] { return true; };
  EXPECT_THROW(write_violation(asked, std::vector<bf_check::Rat>(5, 0)), NoCertificate);
}

TEST(Pieces, keep_their_order) {
  std::string text;
  Pieces pieces([&](const std::string& bytes) { text += bytes; });
  const Pieces::At first = pieces.first();
  first->bytes = "a";
  const auto [second, fourth] = pieces.part(first);
  const auto [third, rest] = pieces.part(second);
  third->bytes = "c";
  pieces.flush(third, true);
  fourth->bytes = "d";
  pieces.flush(fourth, true);
  pieces.flush(rest, true);
  second->bytes = "b";
  pieces.flush(second, true);
  pieces.flush(first, true);
  pieces.finish();
  EXPECT_EQ(text, "abcd");
}

}  // namespace
}  // namespace bf_aot::prove
