#include "aot/emit/interface/emit_integer.h"

#include <fmt/format.h>

#include "aot/emit/integer/integer.h"
#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/emit_verify.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/interface/statuses.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/marks.h"
#include "frontend/diagnostic.h"

namespace bf_aot::emit {
namespace {

constexpr std::string_view kIntegerVerify =
    R"(  if (const bf_status status = bf::integer::check_box(lower, upper, @NAME@_INPUTS)) return status;

  const auto bounds = [workspace](const float* low, const float* high, std::int64_t* row_lower,
                                  std::int64_t* row_upper) {
    @rows@;
  };
  void* const room = static_cast<bf::integer::Code*>(workspace) + @NAME@_WORKSPACE_BYTES;
  return bf::integer::verify_property(property::tables, lower, upper, result, room, bounds);
)";
constexpr std::string_view kExactRows = "rows(low, high, row_lower, row_upper, workspace)";
// A trace shows a point by the file's own rounding, and a box by any.
constexpr std::string_view kLooseRows =
    "rows(low, high, row_lower, row_upper, workspace, low == high ? 0 : 1)";

constexpr std::string_view kIntegerBox =
    R"(  if (index >= @NAME@_PROPERTY_CASES) return BF_NO_SUCH_CASE;
  bf::integer::copy_case(property::tables, index, lower, upper);
  return BF_OK;
)";

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
      return fill_in(kIntegerVerify, {{"rows", has_loose_codes(plan) ? kLooseRows : kExactRows}},
                     names_of(plan));
    case Purpose::kPropertyBox:
      return fill_in(kIntegerBox, {}, names_of(plan));
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

std::string emit_integer_source(const Plan& plan, const std::string& stem, const Property* property,
                                bool marks) {
  std::string text = emit_banner(plan, "guaranteed bounds on a network's outputs", "//");
  text += "//\n// Computes with integers alone: docs/proofs/integer-grid.md.\n";
  text += fmt::format("\n#include \"{}.h\"\n\n", stem);
  const bool in_c = dialect_of(plan).is_c();
  text += in_c ? "#include \"bf/c/integer.h\"\n"
               : "#include \"bf/contract/integers.h\"\n#include \"bf/contract/spans.h\"\n#include "
                 "\"bf/integer/layers.h\"\n";
  if (plan.integer->crown) text += "#include \"bf/integer/crown.h\"\n";
  if (property != nullptr) text += "#include \"bf/integer/verdict.h\"\n";
  text += "\n";
  text += emit_abi_check(plan) + (in_c ? "" : "namespace {\n\n");
  text += "// ---- constants\n\n" + emit_integer_constants(plan, marks);
  if (property != nullptr) text += emit_verify_tables(plan, *property, stem);
  text += "// ---- steps\n\n" + emit_integer_run(plan, marks);
  text += emit_entry_points_begin(plan);
  for (const ExportedFunction& function : plan.functions)
    text += marked(marks, "function " + plan.name + "_" + suffix_of(function.signature),
                   prototype(plan.name, function.signature, plan.config.language) + " {\n" +
                       argument_checks(plan, function) + body_of(plan, function) + "}\n\n");
  return text + emit_entry_points_end(plan);
}

}  // namespace bf_aot::emit
