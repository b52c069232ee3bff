#include <fmt/format.h>

#include <cctype>

#include "aot/interface/emit.h"
#include "aot/interface/emit_batch.h"
#include "aot/interface/emit_context.h"
#include "aot/interface/emit_decide.h"
#include "aot/interface/emit_parallel.h"
#include "aot/interface/emit_verify.h"

namespace bf_aot {
namespace {

std::string shapes(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values) {
    if (!text.empty()) text += ", ";
    text += value.name + " " + to_string(value.shape);
  }
  return text;
}

}  // namespace

std::string upper_case(const std::string& name) {
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::string emit_banner(const Plan& plan, const std::string& title, const std::string& comment) {
  const Entry& bounds = *plan.find_entry(EntryKind::kBounds);
  std::string text = fmt::format("{}: {}. Do not edit.\n\n", plan.name, title);
  text += fmt::format("  made by    bf-aot {} from {}\n", BF_AOT_VERSION, plan.model.file_name);
  text += fmt::format("  sha256     {}\n", plan.model.sha256);
  text += fmt::format("  opset      {}\n", plan.model.opset);
  text += fmt::format("  method     {}, semantics real, {} code for {}\n",
                      to_string(plan.config.method), to_string(plan.config.lowering),
                      plan.config.target.name);
  text += fmt::format("  inputs     {}\n", shapes(plan.inputs));
  text += fmt::format("  outputs    {}\n", shapes(plan.outputs));
  if (plan.spec_rows > 0) text += fmt::format("  spec       {} rows\n", plan.spec_rows);
  text += fmt::format("  workspace  {} bytes\n", plan.arena_bytes());
  text += fmt::format("  weights    {} bytes\n", plan.weights_bytes());
  text += fmt::format("  tasks      {}\n\n", bounds.tasks.size());
  text +=
      "This file and the headers that it includes may be used, changed and shipped by anyone,\n"
      "for any purpose, without attribution and without warranty (0BSD).\n";
  std::string lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    lines += line.empty() ? comment : comment + " " + line;
    lines += "\n";
    at = end + 1;
  }
  // Its lines are broken here, and rows of tables are meant.
  if (comment == "//") lines += "// clang-format off\n";
  return lines;
}

std::string emit_header(const Plan& plan, const Property* property) {
  const std::string upper = upper_case(plan.name);
  std::string banner = emit_banner(plan, "guaranteed bounds on a network's outputs", " *");
  banner = "/*" + banner.substr(2) + " */\n";
  std::string text = banner + "/* clang-format off */\n";
  text += fmt::format("#ifndef BF_VERIFIER_{0}_H\n#define BF_VERIFIER_{0}_H\n\n", upper);
  text += "#include <stddef.h>\n\n#include \"bf.h\"\n\n";
  text += fmt::format("#define {}_ABI {}\n", upper, kAbi);
  text += fmt::format("#define {}_INPUTS {}\n", upper, plan.input_count);
  text += fmt::format("#define {}_OUTPUTS {}\n", upper, plan.output_count);
  text += fmt::format("#define {}_SPEC_ROWS {}\n", upper, plan.spec_rows);
  text += fmt::format("#define {}_WORKSPACE_BYTES {}\n", upper, plan.arena_bytes());
  text += fmt::format("#define {}_WORKSPACE_ALIGN {}\n", upper, plan.config.target.align);
  text += fmt::format("#define {}_WEIGHTS_BYTES {}\n", upper, plan.weights_bytes());
  text += fmt::format("#define {}_MODEL_SHA256 \\\n  \"{}\"\n\n", upper, plan.model.sha256);
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += fmt::format(R"(/* Bounds of every output over the box lower <= x <= upper:
 *   out_lower[i] <= y_i(x) <= out_upper[i] for every x in it, y evaluated in exact arithmetic.
 * lower, upper: {0}_INPUTS numbers, finite, lower <= upper. out_lower, out_upper: {0}_OUTPUTS
 * numbers, written on BF_OK alone; infinite where nothing is known. workspace: {0}_WORKSPACE_BYTES
 * bytes aligned to {0}_WORKSPACE_ALIGN, the caller's; its contents do not matter before or after.
 * Reentrant. */
bf_status {1}_bounds(const float *lower, const float *upper, float *out_lower, float *out_upper,
                     void *workspace, size_t workspace_bytes);

)",
                      upper, plan.name);
  if (plan.spec_rows > 0)
    text += fmt::format(R"(/* The same for the {0} rows C y - d of the specification. */
bf_status {1}_spec_bounds(const float *lower, const float *upper, float *spec_lower,
                          float *spec_upper, void *workspace, size_t workspace_bytes);

)",
                        plan.spec_rows, plan.name);
  if (property != nullptr) text += emit_verify_declarations(plan, *property);
  text += emit_parallel_declarations(plan, property);
  text += emit_batch_declarations(plan, property);
  text += emit_parallel_batch_declarations(plan, property);
  text += emit_coefficients_declaration(plan);
  if (property != nullptr) text += emit_decide_declarations(plan, *property);
  text += emit_context_declarations(plan, property);
  text += fmt::format(
      R"(/* Plain inference in float32: y = network(x), no bound of its rounding. x must not overlap y. */
bf_status {0}_evaluate(const float *x, float *y, void *workspace, size_t workspace_bytes);

/* What this verifier is; never null. */
const bf_model_info *{0}_info(void);

#ifdef __cplusplus
}}
#endif

#endif /* BF_VERIFIER_{1}_H */
)",
      plan.name, upper);
  return text;
}

}  // namespace bf_aot
