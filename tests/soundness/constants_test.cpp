// Verifiers for AVX-512 leave no constants of more than 16 bytes to GCC's integer moves, some of
// which GCC 12 gets wrong: note [copies of constants] in runtime/bf/core/vectors.h. Random graphs
// of small integers, whose tables repeat numbers, are compiled, not run: any x86-64 machine can.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "frontend/diagnostic.h"
#include "frontend/passes/pipeline.h"
#include "tests/property/passes_random_graph.h"
#include "tests/seed.h"
#include "tests/soundness/batch.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

// The wide integers in a dump of GCC's, and the lines of the source they belong to.
std::vector<std::string> wide_integers(const std::filesystem::path& dump) {
  static const std::regex integer("const_wide_int 0x[0-9a-f]{33,}");
  static const std::regex place("\"([^\"]*)\":([0-9]+)");
  std::ifstream in(dump);
  EXPECT_TRUE(in) << "GCC wrote no " << dump;
  std::vector<std::string> found;
  std::string last;
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_search(line, match, place)) last = match.str();
    if (line.find("const_wide_int") == std::string::npos) continue;
    if (std::regex_search(line, match, integer)) found.push_back(last + ": " + match.str());
  }
  return found;
}

class Constants : public ::testing::TestWithParam<Method> {};

TEST_P(Constants, NoneIsCopiedAsAWideInteger) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "no x86-64 machine";
#endif
  if (!has_compiler("g++")) GTEST_SKIP() << "g++ is not installed";
  PlannerConfig config = planner_config(GetParam(), Lowering::kVector, "x86-64-v4");
  config.batch = 16;
  const std::uint64_t seed = testing::seed_from_environment(20261124);
  std::printf("BF_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  Batch batch;
  for (int i = 0; i < 6; ++i)  // with a specification, mostly
    batch.add(random_net(random, i % 2 == 0 ? Family::kIntegers : Family::kPowers, {3, 5, 4}),
              config);
  while (batch.size() < 18) {
    Graph graph = testing::random_graph(random, testing::Numbers::kSmallIntegers,
                                        testing::pick(random, 2, 8));
    try {
      normalise(graph);
      batch.add(graph, false, config);
    } catch (const CompileError&) {  // a constant output, for example
    }
  }
  TemporaryFolder folder;
  // Copies of tables are seen in the first instructions, those of arguments in the last.
  const std::filesystem::path first = folder.path() / "first", last = folder.path() / "last";
  batch.build(
      {"g++", {"-O3", "-fdump-rtl-expand=" + first.string(), "-fdump-rtl-final=" + last.string()}});
  for (const auto& dump : {first, last})
    for (const std::string& found : wide_integers(dump)) ADD_FAILURE() << found;
}

INSTANTIATE_TEST_SUITE_P(Methods, Constants,
                         ::testing::Values(Method::kIbp, Method::kCrownIbp, Method::kCrown,
                                           Method::kAlphaCrown, Method::kAuto),
                         [](const auto& of) { return test_name(to_string(of.param)); });

}  // namespace
}  // namespace bf_aot::soundness
