#include "aot/artifacts/gate/gate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace bf_aot::artifacts {
namespace {

Gate gate() {
  Gate gate{"verify <set>", {}, 1.5};
  gate.cases.push_back(
      {"a.onnx", "p.vnnlib", "set/p.vnnlib", GateOutcome::kPassed, "verified", "holds", "", 0.25});
  gate.cases.push_back({"a.onnx", "q \"1\" & 2", "set/q 1.vnnlib", GateOutcome::kFailed,
                        "falsified", "an input violates it\x01", "more\n", 1});
  gate.cases.push_back({"b.onnx", "p.vnnlib", "/abs/p.vnnlib", GateOutcome::kOpen, "timeout",
                        "not decided", "", 0.25});
  gate.cases.push_back(
      {"b.onnx", "r.vnnlib", "r.vnnlib", GateOutcome::kError, "error", "damaged", "", 0});
  return gate;
}

TEST(Gate, JUnitCountsAndEscapes) {
  const std::string text = junit_text(gate());
  EXPECT_NE(text.find("name=\"bf-aot verify &lt;set&gt;\" tests=\"4\" failures=\"1\" errors=\"1\" "
                      "skipped=\"1\" time=\"1.500\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("name=\"q &quot;1&quot; &amp; 2\" time=\"1.000\">\n"
                      "    <failure message=\"an input violates it\"/>\n"
                      "    <system-out>falsified: an input violates it\nmore\n</system-out>"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("<skipped message=\"not decided\"/>"), std::string::npos);
  EXPECT_NE(text.find("<error message=\"damaged\"/>"), std::string::npos);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
}

TEST(Gate, SarifHasWhatDidNotPass) {
  const nlohmann::json json = nlohmann::json::parse(sarif_text(gate()));
  EXPECT_EQ(json["version"], "2.1.0");
  const nlohmann::json& run = json["runs"].at(0);
  const nlohmann::json& rules = run["tool"]["driver"]["rules"];
  ASSERT_EQ(run["results"].size(), 3U);
  const char* const kLevels[] = {"error", "warning", "error"};
  const char* const kUris[] = {"set/q%201.vnnlib", "file:///abs/p.vnnlib", "r.vnnlib"};
  for (std::size_t i = 0; i < 3; ++i) {
    const nlohmann::json& result = run["results"][i];
    EXPECT_EQ(result["level"], kLevels[i]);
    EXPECT_EQ(rules.at(result["ruleIndex"].get<std::size_t>())["id"], result["ruleId"]);
    EXPECT_EQ(result["locations"].at(0)["physicalLocation"]["artifactLocation"]["uri"], kUris[i]);
  }
}

TEST(Gate, NothingWrongIsAnEmptyListOfResults) {
  Gate passed = gate();
  passed.cases.resize(1);
  EXPECT_EQ(nlohmann::json::parse(sarif_text(passed))["runs"].at(0)["results"],
            nlohmann::json::array());
  EXPECT_NE(junit_text(passed).find("failures=\"0\" errors=\"0\" skipped=\"0\""),
            std::string::npos);
}

}  // namespace
}  // namespace bf_aot::artifacts
