#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "aot/calls/calls.h"
#include "aot/constants/shapes.h"
#include "aot/interface/emit.h"
#include "aot/interface/emit_batch.h"
#include "aot/interface/emit_context.h"
#include "aot/interface/emit_decide.h"
#include "aot/interface/emit_parallel.h"
#include "aot/interface/emit_verify.h"
#include "aot/kernels/kernels.h"
#include "aot/text/contraction.h"
#include "planner/entries/keep_coefficients.h"
#include "planner/lowering/program.h"

namespace bf_aot {
namespace {

// Those that programs call: rows with a window of the box end in a routine of the runtime.
std::string kernels(const Plan& plan, const std::vector<calls::Program>& programs,
                    loop::Needs& needs) {
  const std::set<KernelId> called = calls::kernels_of(programs);
  std::string text;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i)
    if (called.contains(static_cast<KernelId>(i)))
      text += print_kernel(plan.kernels[i], needs) + "\n";
  return text;
}

std::string weights(const Plan& plan, const std::string& stem) {
  switch (weight_storage(plan.weights_bytes())) {
    case WeightStorage::kInline:
      return "// ---- constants\n\n" + emit_weight_arrays(plan);
    case WeightStorage::kInclude:
      return fmt::format("// ---- constants\n\n#include \"{}_weights.inc\"\n\n", stem);
    case WeightStorage::kObject:
      return "// ---- constants: byte offsets into the object made from the weights file\n\n" +
             emit_weight_blob_declarations(plan);
  }
  return {};
}

// What lies outside the unnamed namespace: the blob is another object's.
std::string blob_declaration(const Plan& plan) {
  if (weight_storage(plan.weights_bytes()) != WeightStorage::kObject) return {};
  return fmt::format(R"(#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the weights of this verifier are stored for little-endian machines"
#endif

extern "C" __attribute__((visibility("hidden"))) const unsigned char {}_weights[];

)",
                     plan.name);
}

std::string null_check(const std::vector<std::string>& pointers) {
  std::string text = "  if (";
  for (const std::string& pointer : pointers) {
    if (pointer != pointers.front()) text += " || ";
    text += pointer + " == nullptr";
  }
  return text + ") return BF_NULL_ARGUMENT;\n";
}

bool makes_anew(const Plan& plan) {
  return std::ranges::any_of(plan.domains, &DomainChoice::remade);
}

std::string workspace_check(const Plan& plan, const Entry& entry) {
  const std::string upper = upper_case(plan.name);
  if (entry.buffers.empty())
    return "  (void)workspace;\n  (void)workspace_bytes;\n"
           "  if (!bf::float_environment_ok()) return BF_FLOAT_ENVIRONMENT;\n";
  return fmt::format(
      "  if (const bf_status status = bf::check_workspace(workspace, workspace_bytes,\n"
      "                                                   {0}_WORKSPACE_BYTES,\n"
      "                                                   {0}_WORKSPACE_ALIGN))\n"
      "    return status;\n",
      upper);
}

std::string bounds_function(const Plan& plan, const Entry& entry, const Instruments& instruments) {
  const bool cached = is_cached(entry.kind);
  const bool kept = entry.kind == EntryKind::kSpecBounds && keeps_coefficients(entry);
  std::string text = fmt::format(
      "bf_status {}_{}({}const float* lower, const float* upper, float* out_lower, float* "
      "out_upper,\n"
      "    {}void* workspace, std::size_t workspace_bytes) {{\n",
      plan.name, kept ? "spec_coefficients" : to_string(entry.kind),
      cached ? "void* context, std::size_t context_bytes,\n    " : "",
      kept ? "float* coefficients, " : "");
  text += null_check({"lower", "upper", "out_lower", "out_upper"});
  if (cached)
    text += "  if (const bf_status status = open_context(context, context_bytes)) return status;\n";
  text += workspace_check(plan, entry);
  std::string checks;
  if (makes_anew(plan))
    checks =
        "  if (bf::fuses_products()) return BF_FLOAT_ENVIRONMENT;  // against the pragma above\n";
  checks += fmt::format(
      "  if (const bf_status status = bf::check_box(lower, upper, {}_INPUTS)) return status;\n\n",
      upper_case(plan.name));
  text += checks;
  if (has_workers(plan) && !cached)
    return emit_steps_function(plan, entry, emit_steps(plan, entry, instruments)) + text +
           emit_steps_call(plan, entry, "bf::Team{nullptr, 1}") +
           emit_parallel_function(plan, entry, checks);
  if (cached) text += emit_begin_call(plan, entry);
  text += emit_steps(plan, entry, instruments);
  if (cached) text += emit_end_call(entry);
  text += "  return BF_OK;\n}\n\n";
  if (!kept) return text;
  return text + fmt::format(R"(bf_status {0}_spec_bounds(const float* lower, const float* upper,
    float* out_lower, float* out_upper, void* workspace, std::size_t workspace_bytes) {{
  return {0}_spec_coefficients(lower, upper, out_lower, out_upper, nullptr, workspace,
                               workspace_bytes);
}}

)",
                            plan.name);
}

std::string evaluate_function(const Plan& plan, const Entry& entry,
                              const Instruments& instruments) {
  std::string text = fmt::format(
      "bf_status {}_evaluate(const float* x, float* y, void* workspace,\n"
      "    std::size_t workspace_bytes) {{\n",
      plan.name);
  text += null_check({"x", "y"});
  text += workspace_check(plan, entry);
  text += fmt::format(
      "  if (const bf_status status = bf::check_box(x, x, {}_INPUTS)) return status;\n\n",
      upper_case(plan.name));
  return text + emit_steps(plan, entry, instruments) + "  return BF_OK;\n}\n\n";
}

std::string info_function(const Plan& plan) {
  return fmt::format(
      R"(const bf_model_info* {0}_info(void) {{
  static constexpr bf_model_info info = {{
      "{0}", {1}_MODEL_SHA256, "{2}", "real", "{3}",
      {1}_INPUTS, {1}_OUTPUTS, {1}_SPEC_ROWS,
      {1}_WORKSPACE_BYTES, {1}_WORKSPACE_ALIGN, {1}_WEIGHTS_BYTES, BF_ABI_VERSION}};
  return &info;
}}
)",
      plan.name, upper_case(plan.name), to_string(plan.config.method), BF_AOT_VERSION);
}

}  // namespace

std::string emit_trace_hook(const Plan& plan) {
  return fmt::format(
      "extern void (*{0}_trace)(int task, const char* part);\n"
      "void (*{0}_trace)(int task, const char* part) = nullptr;\n\n",
      plan.name);
}

std::string emit_contraction(const Plan& plan) {
  if (!makes_anew(plan)) return {};
  return fmt::format(
      "// Relaxations are made anew with the same bits: compile this file with {}.\n"
      "#if defined(__clang__)\n{}#else\n#pragma GCC optimize(\"fp-contract=off\")\n#endif\n\n",
      kNoContractionFlag, kNoContraction);
}

std::string emit_source(const Plan& plan, const std::string& stem, const Property* property,
                        const Instruments& instruments) {
  loop::Needs needs;
  const std::vector<calls::Program> programs = calls::programs_of(plan);
  const std::string kernel_text = kernels(plan, programs, needs);
  std::string text = emit_banner(plan, "guaranteed bounds on a network's outputs", "//");
  text += fmt::format("\n#include \"{}.h\"\n\n#include <cstddef>\n#include <cstdint>\n\n", stem);
  text += emit_contraction(plan);
  text += "#include \"bf/core/bounds.h\"\n" + batch_includes(plan) + context_includes(plan) +
          parallel_includes(plan) + calls::runtime_includes(plan, programs);
  if (property != nullptr) text += decide_includes(plan) + "#include \"bf/search/verdict.h\"\n";
  text += "\n";
  text +=
      fmt::format("static_assert(BF_ABI_VERSION == {}, \"bf.h is of another version\");\n\n", kAbi);
  text += blob_declaration(plan);
  text += emit_prelude(plan, needs);
  if (instruments.poison)
    text +=
        "void poison(void* bytes, int count, unsigned char byte) {\n"
        "  for (int i = 0; i < count; ++i) static_cast<unsigned char*>(bytes)[i] = byte;\n}\n\n";
  text += weights(plan, stem) + emit_conv_shapes(plan, programs) + emit_max_groups(plan, programs) +
          emit_function_tables(plan);
  text += "// ---- kernels\n\n" + kernel_text;
  text += emit_context_constants(plan);
  if (property != nullptr) text += emit_verify_tables(*property, stem) + emit_split_weights(plan);
  text += "}  // namespace\n\n// ---- entry points\n\nextern \"C\" {\n\n";
  if (instruments.trace) text += emit_trace_hook(plan);
  for (const Entry& entry : plan.entries) {
    if (is_batch(entry.kind)) continue;
    text += entry.kind == EntryKind::kEvaluate ? evaluate_function(plan, entry, instruments)
                                               : bounds_function(plan, entry, instruments);
  }
  text += emit_context_functions(plan);
  if (property != nullptr) text += emit_verify_functions(plan);
  if (property != nullptr) text += emit_parallel_verify(plan);
  text += emit_batch_functions(plan, property, instruments);
  text += emit_parallel_batch_functions(plan, property);
  if (property != nullptr) text += emit_decide_function(plan);
  text += info_function(plan);
  text += "\n}  // extern \"C\"\n";
  return text;
}

}  // namespace bf_aot
