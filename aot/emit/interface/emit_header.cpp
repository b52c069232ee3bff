#include <fmt/format.h>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/emit_batch.h"
#include "aot/emit/interface/emit_context.h"
#include "aot/emit/interface/emit_decide.h"
#include "aot/emit/interface/emit_neurons.h"
#include "aot/emit/interface/emit_parallel.h"
#include "aot/emit/interface/emit_verify.h"
#include "aot/emit/interface/emit_within.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/literals.h"

namespace bf_aot::emit {
namespace {

// The comment and the macros before the first function of a family.
std::string section(const Plan& plan, const HeaderBytes& bytes, const Signature& signature,
                    const Property* property) {
  // Workers have functions of several boxes alone, or none, if no rows are shared.
  const bool idle = has_workers(plan) && !shares_rows(plan);
  if (signature == Signature{.purpose = Purpose::kVerify})
    return verify_section(plan, bytes, *property);
  if (signature == Signature{.within = true}) return within_section(plan, bytes);
  if (signature == Signature{.parallel = true}) return parallel_section(plan, bytes);
  if (signature == Signature{.batch = true})
    return (idle ? parallel_section(plan, bytes) : "") + batch_section(plan, bytes);
  if (signature.purpose == Purpose::kEvaluate && idle && plan.config.batch == 1)
    return parallel_section(plan, bytes);
  return {};
}

// The set of inputs that bounds hold for.
std::string inputs_text(const Plan& plan) {
  if (plan.one_hot.size > 0)
    return fill_in(
        R"(the one-hot inputs in the box lower <= x <= upper: in
 * each group of @size@ numbers, of those whose ends differ one is at its upper end and the others
 * are at their lower ends)",
        {{"size", fmt::format("{}", plan.one_hot.size)}});
  const Norm norm = plan.config.norm;
  if (norm == Norm::kLargest) return "the box lower <= x <= upper";
  const bool euclid = norm == Norm::kEuclid;
  return fill_in(
      R"(the @set@ that touches each face of the box
 * lower <= x <= upper in its middle, that is all x whose @sum@ at
 * most 1, where c = (lower + upper) / 2 and r = (upper - lower) / 2)",
      {{"set", euclid ? "ellipsoid" : "cross-polytope"},
       {"sum", euclid ? "sum of ((x_k - c_k) / r_k)^2 is" : "sum of |x_k - c_k| / r_k is"}});
}

constexpr std::string_view kBoundsComment = R"(/* Bounds of every output over @set@:
 *   out_lower[i] <= y_i(x) <= out_upper[i] for @what@.
 * lower, upper: @NAME@_INPUTS numbers, @finite@, lower <= upper. out_lower, out_upper: @NAME@_OUTPUTS
 * numbers, written on BF_OK alone; infinite where nothing is known. workspace: @NAME@_WORKSPACE_BYTES
 * bytes aligned to @NAME@_WORKSPACE_ALIGN, the caller's; its contents do not matter before or after.
 * What a call writes, and its workspace, must not overlap its other arrays: BF_OVERLAP. Reentrant.
 * @name@_status_text says in words what was refused. */
)";

constexpr std::string_view kBatchParallelComment = R"(/* @name@_bounds_batch; @shared@.
 * workspace: @NAME@_BATCH_WORKSPACE_BYTES for each worker. */
#define @NAME@_BATCH_PARALLEL_WORKSPACE_BYTES @bytes@
)";

constexpr std::string_view kVerifyComment =
    R"(/* Whether the property holds for every x with lower <= x <= upper: BF_VERIFIED, BF_FALSIFIED with
 * a violating x, or BF_UNKNOWN. BF_OUTSIDE, BF_PARTLY_OUTSIDE: not all of the box lies in the
 * region that the property speaks of, the boxes of @name@_property_box. Arguments as for
 * @name@_bounds, but workspace_bytes is at least @NAME@_VERIFY_WORKSPACE_BYTES. The property itself
 * holds when each case's box is verified. */
)";

constexpr std::string_view kVerifyBatchComment = R"(/* @name@_verify of each box. */
#define @NAME@_VERIFY_BATCH_WORKSPACE_BYTES (@NAME@_BATCH_WORKSPACE_BYTES + @bytes@)
)";

std::string bounds_comment(const Plan& plan, const HeaderBytes& bytes, const Signature& s) {
  if (s.cached) return context_comment(plan, bytes, s);
  if (s.within || s.cheaper) return methods_comment(plan, s);
  if (s.coefficients) return coefficients_comment(plan);
  if (s.ranges) return ranges_comment(plan);
  if (s.batch && s.parallel)
    return s.spec ? fmt::format("/* {}_spec_bounds_batch. */\n", plan.name)
                  : fill_in(kBatchParallelComment,
                            {{"shared", what_is_shared(plan)}, {"bytes", bytes.batch_parallel}},
                            names_of(plan));
  if (s.batch)
    return s.spec ? fmt::format("/* {}_spec_bounds of each box: {} rows for each. */\n", plan.name,
                                plan.spec_rows)
                  : fmt::format("/* {}_bounds of each box. */\n", plan.name);
  if (s.parallel)
    return s.spec ? fmt::format("/* {}_spec_bounds. */\n", plan.name)
                  : fmt::format("/* {}_bounds; tiles of backward rows are shared. */\n", plan.name);
  if (s.spec)
    return fmt::format("/* The same for the {} rows C y - d of the specification. */\n",
                       plan.spec_rows);
  const bool real = !is_in_float32(plan.config.semantics);
  const std::string what =
      plan.config.semantics == Semantics::kQuantisedAny
          ? "every x in it, y evaluated in exact arithmetic,\n * each code one more or less"
      : real ? "every x in it, y evaluated in exact arithmetic"
      : plan.config.semantics == Semantics::kFloat32
          ? "every float32 x in it, however y is evaluated in float32"
          : fmt::format("every float32 x in it, y what {}_evaluate makes", plan.name);
  return fill_in(kBoundsComment,
                 {{"set", inputs_text(plan)},
                  {"what", what},
                  {"finite", real ? "finite"
                                  : fmt::format("of magnitude {}_FLOAT32_REACH at most",
                                                upper_case(plan.name))}},
                 names_of(plan));
}

std::string verify_comment(const Plan& plan, const HeaderBytes& bytes, const Signature& s) {
  const Arguments names = names_of(plan);
  if (s.cached) return {};
  if (s.within) return methods_comment(plan, s);
  if (s.batch && s.parallel)
    return fill_in(
        "/* @name@_verify_batch. workspace: @NAME@_VERIFY_BATCH_WORKSPACE_BYTES for each worker. "
        "*/\n",
        {}, names);
  if (s.batch) return fill_in(kVerifyBatchComment, {{"bytes", bytes.verify_batch}}, names);
  if (s.parallel)
    return fmt::format("/* {}_verify: as much more workspace for each worker. */\n", plan.name);
  return fill_in(kVerifyComment, {}, names);
}

std::string comment(const Plan& plan, const HeaderBytes& bytes, const Signature& signature,
                    const Property* property) {
  switch (signature.purpose) {
    case Purpose::kBounds:
      return bounds_comment(plan, bytes, signature);
    case Purpose::kVerify:
      return verify_comment(plan, bytes, signature);
    case Purpose::kPropertyBox:
      return "/* The least box of floats around that of a case, from 0. */\n";
    case Purpose::kDecide:
      return decide_comment(plan, bytes, *property);
    case Purpose::kContextInit:
    case Purpose::kCacheCounters:
    case Purpose::kContextSave:
    case Purpose::kContextLoad:
      return context_comment(plan, bytes, signature);
    case Purpose::kEvaluate:
      if (plan.integer)
        return "/* The quantised network at x: y, its output, rounded up to a float. x must not "
               "overlap y. */\n";
      if (plan.config.semantics == Semantics::kFloat32Exact)
        return fmt::format(
            "/* The evaluation that bounds hold for: y = network(x), |x| at most "
            "{}_FLOAT32_REACH. x must\n * not overlap y. */\n",
            upper_case(plan.name));
      return "/* Plain inference in float32: y = network(x), no bound of its rounding. x must not "
             "overlap y. */\n";
    case Purpose::kStatusText:
      return "/* Any status of the functions of this file in words; never null. */\n";
    case Purpose::kInfo:
      return "/* What this verifier is; never null. */\n";
  }
  return {};
}

}  // namespace

std::string emit_header(const Plan& plan, const HeaderBytes& bytes, const Property* property) {
  const std::string upper = upper_case(plan.name);
  std::string banner = emit_banner(plan, "guaranteed bounds on a network's outputs", " *");
  banner = "/*" + banner.substr(2) + " */\n";
  std::string text = banner + "/* clang-format off */\n";
  text += fmt::format("#ifndef BF_VERIFIER_{0}_H\n#define BF_VERIFIER_{0}_H\n\n", upper);
  text += "#include <stddef.h>\n\n#include \"bf.h\"\n";
  if (!plan.cheaper.empty()) text += "#include \"bf/contract/limit.h\"\n";
  text += "\n";
  text += fmt::format("#define {}_ABI {}\n", upper, kAbi);
  text += fmt::format("#define {}_INPUTS {}\n", upper, plan.input_count);
  if (is_in_float32(plan.config.semantics))
    text += fmt::format("#define {}_FLOAT32_REACH {}\n", upper,
                        float_literal(static_cast<float>(plan.float32_reach)));
  text += fmt::format("#define {}_OUTPUTS {}\n", upper, plan.output_count);
  text += fmt::format("#define {}_SPEC_ROWS {}\n", upper, plan.spec_rows);
  text += fmt::format("#define {}_WORKSPACE_BYTES {}\n", upper, bytes.workspace);
  text += fmt::format("#define {}_WORKSPACE_ALIGN {}\n", upper, bytes.align);
  text += fmt::format("#define {}_WEIGHTS_BYTES {}\n", upper, bytes.weights);
  text += fmt::format("#define {}_MODEL_SHA256 \\\n  \"{}\"\n\n", upper, plan.model.sha256);
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const ExportedFunction& function : plan.functions)
    text += section(plan, bytes, function.signature, property) +
            comment(plan, bytes, function.signature, property) +
            prototype(plan.name, function.signature, Language::kC) + ";\n\n";
  return text + fill_in(R"(#ifdef __cplusplus
}
#endif

#endif /* BF_VERIFIER_@NAME@_H */
)",
                        {}, names_of(plan));
}

}  // namespace bf_aot::emit
