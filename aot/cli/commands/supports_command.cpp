#include <fmt/format.h>

#include <array>
#include <string>

#include "aot/cli/commands/commands.h"
#include "aot/cli/options/command_line.h"
#include "aot/cli/options/help.h"
#include "frontend/import/file/importer.h"

namespace bf_aot::cli {
namespace {

constexpr char kSupportsExamples[] =
    "bf-aot supports --onnx-element-types\n"
    "bf-aot supports --onnx-operators";

constexpr char kSupportsNotes[] =
    "Answers the capability queries of VNN-LIB 2.0, one option at a time.";

std::string operators() {
  std::string text;
  for (const std::string_view name : supported_operators()) text += fmt::format("{}\n", name);
  return text;
}

std::string opsets() {
  const OpsetRange range = supported_opsets();
  return fmt::format("{}\n{}\n", range.oldest, range.newest);
}

// A capability and what is printed for it.
struct Capability {
  const char* option;
  const char* help;
  std::string (*answer)();
};

const std::array<Capability, 13> kCapabilities = {{
    {"--vnnlib-versions", "least and greatest version of VNN-LIB",
     [] { return std::string("1.0\n2.0\n"); }},
    {"--onnx-opset-versions", "least and greatest operator set", opsets},
    {"--onnx-element-types", "element types that verdicts are sound for",
     [] { return std::string("real\nfloat32\n"); }},
    {"--onnx-operators", "operators of domain ai.onnx", operators},
    {"--hidden-node-theories", "queries about hidden nodes", [] { return std::string("NH\nH\n"); }},
    {"--multiple-input-output-theories", "several inputs or outputs",
     [] { return std::string("SIO\nMIO\n"); }},
    {"--multiple-network-theories", "several networks", [] { return std::string("MNET\n"); }},
    {"--multiple-node-comparison-theories", "comparisons across nodes",
     [] { return std::string("MNC\n"); }},
    {"--arithmetic-complexity-theories", "arithmetic of conditions",
     [] { return std::string("POLY\n"); }},
    {"--optimised-disjunctive-reasoning", "more than disjunctive normal form",
     [] { return std::string("false\n"); }},
    {"--serialise-assignments", "assignments as files", [] { return std::string("true\n"); }},
    {"--unsat-proofs", "proofs of unsatisfiability", [] { return std::string("false\n"); }},
    {"--onnx-operators-unsat-proofs", "operators in such proofs", [] { return std::string(); }},
}};

}  // namespace

int supports_command(const Call& call) {
  CommandLine app("Says what queries and networks can be verified.", "bf-aot supports");
  std::array<bool, kCapabilities.size()> asked = {};
  for (std::size_t i = 0; i < kCapabilities.size(); ++i)
    app.add_flag(kCapabilities[i].option, asked[i], kCapabilities[i].help);
  app.require_option(1);
  set_help(app, {kSupportsExamples, kSupportsNotes, "reference/properties.md"});
  if (const auto code = parse(app, call)) return *code;
  for (std::size_t i = 0; i < kCapabilities.size(); ++i)
    if (asked[i]) fmt::print("{}", kCapabilities[i].answer());
  return 0;
}

}  // namespace bf_aot::cli
