// Kernels of plans as nests: no sum is longer than the plan counts, whatever the layers' sizes.

#include "aot/emit/kernels/kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "planner/planner.h"
#include "tests/unit/frontend/graph/graph_builder.h"

namespace bf_aot::emit {
namespace {

using testing::dense_chain;

void check_kernels(const Graph& graph, const PlannerConfig& config, std::set<std::string>& kinds) {
  const Plan made = plan(graph, {}, "net", false, config);
  for (const Kernel& kernel : made.kernels) {
    if (kernel.code != KernelCode::kPrinted || kernel.kind == KernelKind::kEvaluateAffine) continue;
    kinds.insert(fmt::format("{}{}{}", to_string(kernel.kind), kernel.plain ? ".plain" : "",
                             kernel.wide ? ".wide" : ""));
    const KernelNests nests = nests_of(kernel);
    for (const loop::Program::Placed& each : nests.program.nests()) {
      if (!each.nest.sums_in_float()) continue;
      EXPECT_LE(each.nest.summation_depth(), kernel.depth) << kernel.key;
    }
  }
}

TEST(Kernels, SumNoLongerThanThePlanCounts) {
  std::set<std::string> kinds;
  PlannerConfig config;
  for (const char* target : {"x86-64-v4", "x86-64-v3", "generic"})
    for (const Method method : {Method::kIbp, Method::kCrown, Method::kAlphaCrown})
      for (const int batch : {1, 16}) {
        config.method = method;
        config.target = find_target(target);
        config.lowering = config.target.vector_bytes > 4 ? Lowering::kVector : Lowering::kGeneric;
        config.batch = batch;
        for (const std::int64_t size : {1, 8, 12, 17, 50})
          for (const std::int64_t next : {3, 65, 256}) {
            check_kernels(dense_chain({size, next, 5}), config,
                          kinds);  // rows of outputs in float32
            check_kernels(dense_chain({size, next, 40, size, 5}), config, kinds);  // and in double
          }
      }
  for (const char* kind :
       {"interval_affine", "centre_affine", "backward_affine", "backward_affine.wide",
        "backward_affine.plain", "backward_affine.plain.wide", "concretize"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
}

// Indices "[k]" that no loop around them declares.
std::set<std::string> undeclared(const std::string& text) {
  static const std::regex loop(R"(for \(int (\w+) )"), index(R"(\[([a-z]\w*)\])");
  std::set<std::string> found;
  std::vector<std::string> open;  // what each brace declares; empty: nothing
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    const std::string variable = std::regex_search(line, match, loop) ? match[1].str() : "";
    for (std::sregex_iterator each(line.begin(), line.end(), index), end; each != end; ++each) {
      const std::string name = (*each)[1];
      if (name != variable && std::ranges::count(open, name) == 0) found.insert(name);
    }
    for (const char c : line) {
      if (c == '{') open.push_back(variable);
      if (c == '}') open.pop_back();
    }
  }
  return found;
}

// Also where the last register tile has one column, of a list or not, and no loop over it.
TEST(Kernels, TilesOfOneColumnNameNoLoop) {
  PlannerConfig config;
  config.method = Method::kCrown;
  config.target = find_target("x86-64-v4");
  int listed = 0;
  for (const std::int64_t size : {17, 41, 57}) {
    const Plan made = plan(dense_chain({6, size, 121, size, 48, 5}), {}, "net", false, config);
    for (const Kernel& kernel : made.kernels) {
      if (kernel.code != KernelCode::kPrinted) continue;
      listed += kernel.live_in && kernel.in % kernel.schedule.columns == 1 ? 1 : 0;
      loop::Needs needs;
      const std::string text = print_kernel(kernel, needs);
      EXPECT_EQ(undeclared(text), std::set<std::string>()) << text;
    }
  }
  EXPECT_GT(listed, 0);
}

}  // namespace
}  // namespace bf_aot::emit
