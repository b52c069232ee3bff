#include "aot/emit/interface/emit_integer.h"

#include <fmt/format.h>

#include "aot/emit/integer/integer.h"
#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/interface/statuses.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"
#include "frontend/diagnostic.h"

namespace bf_aot::emit {
namespace {

std::string body_of(const Plan& plan, const ExportedFunction& function) {
  const auto call = [&](const char* lower, const char* upper, const char* results,
                        const char* slack) {
    return box_check(plan, lower, upper) +
           fmt::format("  run({}, {}, {}, workspace{});\n  return BF_OK;\n", lower, upper, results,
                       has_loose_codes(plan) ? slack : "");
  };
  switch (function.signature.purpose) {
    case Purpose::kBounds:
      return call("lower", "upper", "out_lower, out_upper", ", 1");
    case Purpose::kEvaluate:  // both bounds of a point are its output, rounded down and up
      return call("x", "x", "y, y", ", 0");
    case Purpose::kStatusText:
      return status_text_body(plan);
    case Purpose::kInfo:
      return info_text(plan);
    case Purpose::kVerify:
    case Purpose::kPropertyBox:
    case Purpose::kDecide:
    case Purpose::kContextInit:
    case Purpose::kCacheCounters:
    case Purpose::kContextSave:
    case Purpose::kContextLoad:
      break;
  }
  BF_CHECK(!"a function of arithmetic integer");
  return {};
}

}  // namespace

std::string emit_integer_source(const Plan& plan, const std::string& stem) {
  std::string text = emit_banner(plan, "guaranteed bounds on a network's outputs", "//");
  text += "//\n// Computes with integers alone: docs/proofs/integer-grid.md.\n";
  text += fmt::format("\n#include \"{}.h\"\n\n", stem);
  const bool in_c = dialect_of(plan).is_c();
  text += in_c ? "#include \"bf/c/integer.h\"\n\n"
               : "#include \"bf/contract/integers.h\"\n#include \"bf/contract/spans.h\"\n#include "
                 "\"bf/integer/layers.h\"\n\n";
  text += emit_abi_check(plan) + (in_c ? "" : "namespace {\n\n");
  text += "// ---- constants\n\n" + emit_integer_constants(plan);
  text += "// ---- steps\n\n" + emit_integer_run(plan);
  text += emit_entry_points_begin(plan);
  for (const ExportedFunction& function : plan.functions)
    text += prototype(plan.name, function.signature, plan.config.language) + " {\n" +
            argument_checks(plan, function) + body_of(plan, function) + "}\n\n";
  return text + emit_entry_points_end(plan);
}

}  // namespace bf_aot::emit
