#include <fmt/format.h>

#include <algorithm>

#include "aot/emit/calls/calls.h"
#include "aot/emit/constants/shapes.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/emit_batch.h"
#include "aot/emit/interface/emit_context.h"
#include "aot/emit/interface/emit_decide.h"
#include "aot/emit/interface/emit_integer.h"
#include "aot/emit/interface/emit_parallel.h"
#include "aot/emit/interface/emit_verify.h"
#include "aot/emit/interface/emit_within.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/interface/statuses.h"
#include "aot/emit/kernels/kernels.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/contraction.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/marks.h"
#include "runtime/bf.h"

namespace bf_aot::emit {
namespace {

std::string kernels(const Plan& plan, const Instruments& instruments, loop::Needs& needs) {
  std::string text;
  for (const Kernel& kernel : plan.kernels)
    if (kernel.code == KernelCode::kPrinted)
      text += marked(instruments.marks, "kernel " + kernel.function,
                     print_kernel(kernel, needs, dialect_of(plan))) +
              "\n";
  return text;
}

std::string weights(const Lowered& lowered, const std::string& stem,
                    const Instruments& instruments) {
  switch (lowered.plan().weight_storage) {
    case WeightStorage::kInline:
      return "// ---- constants\n\n" + emit_weight_arrays(lowered, instruments.marks);
    case WeightStorage::kInclude:
      return fmt::format("// ---- constants\n\n#include \"{}_weights.inc\"\n\n", stem);
    case WeightStorage::kObject:
      return "// ---- constants: byte offsets into the object made from the weights file\n\n" +
             emit_weight_blob_declarations(lowered);
  }
  return {};
}

// The declaration, outside the unnamed namespace, of the blob, which another object file defines.
std::string blob_declaration(const Plan& plan) {
  if (plan.weight_storage != WeightStorage::kObject) return {};
  return fill_in(R"(#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the weights of this verifier are stored for little-endian machines"
#endif

extern "C" __attribute__((visibility("hidden"))) const unsigned char @name@_weights[];

)",
                 {}, names_of(plan));
}

bool makes_anew(const Plan& plan) {
  return std::ranges::any_of(plan.domains, &DomainChoice::remade);
}

FunctionBody bounds_body(const Plan& plan, const ExportedFunction& function,
                         const calls::Bodies& bodies) {
  const Signature& s = function.signature;
  if (s.batch)
    return s.parallel ? parallel_batch_body(plan, function)
                      : batch_bounds_body(plan, function, bodies);
  if (s.within) return bounds_within_body(plan, s);
  const Entry& entry = *plan.entry_of(function);
  std::string text;
  if (makes_anew(plan))
    text = fmt::format("  if ({}()) return BF_FLOAT_ENVIRONMENT;  // against the pragma above\n",
                       dialect_of(plan).runtime("fuses_products"));
  text += box_check(plan, "lower", "upper") + "\n";
  if (s.parallel) return {text + emit_steps_call(plan, entry, "team"), {}};
  const std::string steps = bodies.of(entry);
  if (entry.can_stop)
    return {text + unlimited_call(plan, entry), stopping_steps(plan, entry, steps)};
  if (has_workers(plan) && !s.cached)
    return {text + emit_steps_call(plan, entry, "bf::Team{nullptr, 1}"),
            emit_steps_function(plan, entry, steps)};
  if (s.cached) text += emit_begin_call(plan, entry);
  text += steps;
  if (s.cached) text += emit_end_call(entry);
  return {text + "  return BF_OK;\n", {}};
}

FunctionBody verify_body(const Plan& plan, const ExportedFunction& function) {
  const Signature& s = function.signature;
  if (s.batch) return s.parallel ? parallel_batch_body(plan, function) : batch_verify_body(plan);
  if (s.within) return verify_within_body(plan);
  return s.parallel ? parallel_verify_body(plan) : emit::verify_body(plan, s.cached);
}

FunctionBody evaluate_body(const Plan& plan, const calls::Bodies& bodies) {
  return {box_check(plan, "x", "x") + "\n" + bodies.of(*plan.find_entry(EntryKind::kEvaluate)) +
              "  return BF_OK;\n",
          {}};
}

}  // namespace

std::string info_text(const Plan& plan) {
  return fill_in(
      R"(  @constant@ bf_model_info info = {
      "@name@", @NAME@_MODEL_SHA256, "@method@", "@semantics@", "@version@",
      @NAME@_INPUTS, @NAME@_OUTPUTS, @NAME@_SPEC_ROWS,
      @NAME@_WORKSPACE_BYTES, @NAME@_WORKSPACE_ALIGN, @NAME@_WEIGHTS_BYTES, BF_ABI_VERSION};
  return &info;
)",
      {{"constant", dialect_of(plan).local_constant()},
       {"method", methods_text(plan.config)},
       {"semantics", to_string(plan.config.semantics)},
       {"version", BF_VERSION_STRING}},
      names_of(plan));
}

namespace {

FunctionBody body_of(const Lowered& lowered, const ExportedFunction& function,
                     const calls::Bodies& bodies) {
  const Plan& plan = lowered.plan();
  switch (function.signature.purpose) {
    case Purpose::kBounds:
      return bounds_body(plan, function, bodies);
    case Purpose::kVerify:
      return verify_body(plan, function);
    case Purpose::kPropertyBox:
      return property_box_body(plan);
    case Purpose::kDecide:
      return decide_body(lowered);
    case Purpose::kContextInit:
    case Purpose::kCacheCounters:
    case Purpose::kContextSave:
    case Purpose::kContextLoad:
      return context_body(plan, function.signature);
    case Purpose::kEvaluate:
      return evaluate_body(plan, bodies);
    case Purpose::kStatusText:
      return {status_text_body(plan), {}};
    case Purpose::kInfo:
      return {info_text(plan), {}};
  }
  return {};
}

// The function that does the same with an argument more, which may be null; null: there is none.
const ExportedFunction* does_more(const Plan& plan, Signature signature) {
  if (signature.cached) return nullptr;
  if (signature.purpose == Purpose::kVerify && !signature.parallel) {
    signature.parallel = true;
    return find_function(plan, signature);
  }
  if (signature.purpose != Purpose::kBounds || !signature.spec || signature.coefficients ||
      signature.ranges || signature.parallel)
    return nullptr;
  signature.coefficients = true;
  if (const ExportedFunction* const found = find_function(plan, signature)) return found;
  signature.coefficients = false;
  signature.ranges = true;
  return find_function(plan, signature);
}

std::string definition(const Lowered& lowered, const ExportedFunction& function,
                       const calls::Bodies& bodies) {
  const Plan& plan = lowered.plan();
  const std::string head = prototype(plan.name, function.signature, plan.config.language) + " {\n";
  if (const ExportedFunction* const more = does_more(plan, function.signature))
    return head + "  return " +
           call_of(dialect_of(plan), plan.name, more->signature, function.signature) + ";\n}\n\n";
  const FunctionBody body = body_of(lowered, function, bodies);
  return body.helpers + head + argument_checks(plan, function) + body.text + "}\n\n";
}

}  // namespace

std::string emit_trace_hook(const Plan& plan) {
  return fill_in(R"(extern void (*@name@_trace)(int task, const char* part);
void (*@name@_trace)(int task, const char* part) = @null@;

)",
                 {}, names_of(plan));
}

std::string emit_contraction(const Plan& plan) {
  if (!makes_anew(plan)) return {};
  return fill_in(R"(// Relaxations are made anew with the same bits: compile this file with @flag@.
#if defined(__clang__) || !defined(__GNUC__)
@pragma@#else
#pragma GCC optimize("fp-contract=off")
#endif

)",
                 {{"flag", kNoContractionFlag}, {"pragma", kNoContraction}});
}

std::string emit_entry_points_begin(const Plan& plan) {
  const std::string_view title = "// ---- entry points\n\n";
  return dialect_of(plan).is_c() ? std::string(title)
                                 : fmt::format("}}  // namespace\n\n{}extern \"C\" {{\n\n", title);
}

std::string emit_entry_points_end(const Plan& plan) {
  return dialect_of(plan).is_c() ? "" : "}  // extern \"C\"\n";
}

std::string emit_abi_check(const Plan& plan) {
  return fill_in(
      dialect_of(plan).is_c()
          ? "#if BF_ABI_VERSION != @abi@\n#error \"bf.h is of another version\"\n#endif\n\n"
          : "static_assert(BF_ABI_VERSION == @abi@, \"bf.h is of another version\");\n\n",
      {{"abi", kAbi}});
}

namespace {

// The headers of the runtime that the source includes.
std::string includes(const Lowered& lowered, bool has_property) {
  const Plan& plan = lowered.plan();
  if (dialect_of(plan).is_c())
    return calls::c_includes(plan, lowered.programs()) +
           (has_property ? "#include \"bf/c/verdict.h\"\n" : "");
  return "#include \"bf/contract/integers.h\"\n#include \"bf/contract/spans.h\"\n#include "
         "\"bf/core/bounds.h\"\n"
         "#include \"bf/core/kernel.h\"\n" +
         batch_includes(plan) + context_includes(plan) + parallel_includes(plan) +
         within_includes(plan) + calls::runtime_includes(plan, lowered.programs()) +
         (has_property ? decide_includes(plan) + "#include \"bf/search/verdict.h\"\n" : "");
}

}  // namespace

std::string emit_source(const Lowered& lowered, const std::string& stem, const Property* property,
                        const Instruments& instruments) {
  const Plan& plan = lowered.plan();
  if (plan.integer) return emit_integer_source(plan, stem, property, instruments.marks);
  loop::Needs needs;
  const calls::Bodies bodies(lowered, instruments);
  const std::vector<calls::Program>& programs = lowered.programs();
  const std::string kernel_text = kernels(plan, instruments, needs);
  std::string text = emit_banner(plan, "guaranteed bounds on a network's outputs", "//");
  text += fmt::format("\n#include \"{}.h\"\n\n", stem);
  text += emit_contraction(plan);
  text += includes(lowered, property != nullptr) + "\n" + emit_abi_check(plan);
  text += blob_declaration(plan);
  text += emit_prelude(plan, needs);
  if (instruments.poison)
    text += R"(void poison(void* bytes, int count, unsigned char byte) {
  for (int i = 0; i < count; ++i) static_cast<unsigned char*>(bytes)[i] = byte;
}

)";
  text += weights(lowered, stem, instruments) + emit_conv_shapes(plan, programs) +
          emit_max_groups(plan, programs) + emit_function_tables(plan, programs);
  text += "// ---- kernels\n\n" + kernel_text;
  text += bodies.error_constants() + emit_context_constants(plan);
  if (property != nullptr)
    text += emit_verify_tables(plan, *property, stem) + emit_split_weights(plan);
  text += emit_entry_points_begin(plan);
  if (instruments.time_parts) text += emit_trace_hook(plan);
  for (const ExportedFunction& function : plan.functions)
    text += marked(instruments.marks, "function " + plan.name + "_" + suffix_of(function.signature),
                   definition(lowered, function, bodies));
  return text + emit_entry_points_end(plan);
}

}  // namespace bf_aot::emit
