#include "aot/emit/interface/emit_context.h"

#include <fmt/format.h>

#include "aot/emit/interface/emit.h"
#include "aot/emit/text/banner.h"
#include "frontend/diagnostic.h"
#include "runtime/bf/contract/workspace.h"

namespace bf_aot::emit {
namespace {

bool has_context(const Plan& plan) {
  return plan.context.bytes > 0;
}

bool is_persistent(const Plan& plan) {
  return plan.context.persistent_bytes > 0;
}

std::string box_pointer(const Plan& plan, const std::string& name) {
  const Buffer* const buffer = plan.context.find(name);
  return buffer == nullptr ? "nullptr" : fmt::format("at<float>(context, {})", buffer->offset);
}

constexpr const char* kInitDeclarations = R"(
/* ---- calls that keep something for each other
 *
 * A context is {0}_CONTEXT_BYTES bytes aligned to {0}_CONTEXT_ALIGN, the caller's; one call at a
 * time uses it. It may be copied. Its contents matter: nobody else may write there. */
#define {0}_CONTEXT_BYTES {2}
#define {0}_CONTEXT_ALIGN {0}_WORKSPACE_ALIGN

)";

constexpr const char* kBlobDeclarations = R"(#define {0}_BLOB_BYTES {2}

/* What outlives a box, as {0}_BLOB_BYTES bytes to be stored; and back, into memory that need not be
 * initialised. A blob of another model or of a verifier with other options is refused, as is one
 * with a changed byte: the context is empty then. */
)";

std::string promise(const Plan& plan) {
  const Reuse& reuse = plan.config.reuse;
  std::string text = "/* The same bounds with a context.";
  if (reuse.ibp)
    text +=
        " On the box of the call before, bit for bit, whichever of\n"
        " * these functions that was, nothing is made again that it made.";
  if (reuse.bounds)
    text +=
        " On a box inside an earlier one (the\n"
        " * anchor; a box that is not inside becomes it) the bounds are intersected with those "
        "there,\n"
        " * and are never looser than the anchor's.";
  if (reuse.alpha) text += " Slopes are improved\n * from where the call before left them.";
  return text + " */\n";
}

}  // namespace

std::string context_comment(const Plan& plan, const HeaderBytes& bytes,
                            const Signature& signature) {
  const std::string upper = upper_case(plan.name);
  if (signature.purpose == Purpose::kContextInit)
    return fmt::format(fmt::runtime(kInitDeclarations + 1), upper, plan.name, bytes.context) +
           "/* Makes an empty context. Every other function wants one that was initialised:\n"
           " * BF_CONTEXT_FOREIGN. */\n";
  if (signature.purpose == Purpose::kCacheCounters) return "/* How often the context helped. */\n";
  if (signature.purpose == Purpose::kContextSave)
    return fmt::format(fmt::runtime(kBlobDeclarations), upper, plan.name,
                       fmt::format("(BF_BLOB_HEADER_BYTES + {})", bytes.persistent));
  return signature == Signature{.cached = true} ? promise(plan) : "";
}

std::string context_includes(const Plan& plan) {
  if (!has_context(plan)) return {};
  return is_persistent(plan) ? "#include \"bf/core/blob.h\"\n#include \"bf/core/context.h\"\n"
                             : "#include \"bf/core/context.h\"\n";
}

std::string emit_context_constants(const Plan& plan) {
  if (!has_context(plan)) return {};
  return fmt::format(
      R"(// ---- the context

constexpr std::uint64_t kFingerprint = 0x{:016x}u;
static_assert(sizeof(bf::Context) <= {}, "the context's header has its room");

inline bf_status open_context(const void* context, std::size_t bytes) {{
  return bf::check_context(context, bytes, {}_CONTEXT_BYTES, {}_CONTEXT_ALIGN, kFingerprint);
}}

)",
      plan.context.fingerprint, bf::kContextHeaderBytes, upper_case(plan.name),
      upper_case(plan.name));
}

FunctionBody context_body(const Plan& plan, const Signature& signature) {
  const std::string upper = upper_case(plan.name);
  const std::string part =
      fmt::format("{}, {}", plan.context.persistent_begin, plan.context.persistent_bytes);
  constexpr const char* kOpen =
      "  if (const bf_status status = open_context(context, context_bytes)) return status;\n";
  const std::string blob =
      fmt::format("  if (blob_bytes < {}_BLOB_BYTES) return BF_BLOB_TOO_SMALL;\n", upper);
  const std::string room = fmt::format(
      "  if (const bf_status status = bf::check_room(context, context_bytes, {0}_CONTEXT_BYTES,\n"
      "                                              {0}_CONTEXT_ALIGN))\n"
      "    return status;\n"
      "  bf::init_context(context, kFingerprint, {1});\n",
      upper, part);
  switch (signature.purpose) {
    case Purpose::kContextInit:
      return {room + "  return BF_OK;\n", {}};
    case Purpose::kCacheCounters:
      return {std::string(kOpen) +
                  "  *counters = static_cast<const bf::Context*>(context)->counters;\n"
                  "  return BF_OK;\n",
              {}};
    case Purpose::kContextSave:
      return {kOpen + blob +
                  fmt::format("  bf::save_blob(context, {}, {}_MODEL_SHA256, blob);\n"
                              "  return BF_OK;\n",
                              part, upper),
              {}};
    case Purpose::kContextLoad:
      return {fmt::format("  if (const bf_status status = {}) return status;\n"
                          "  if (blob == nullptr) return BF_NULL_ARGUMENT;\n",
                          call_of(plan.name, {.purpose = Purpose::kContextInit}, signature)) +
                  blob +
                  fmt::format("  return bf::load_blob(context, {}, {}_MODEL_SHA256, blob);\n", part,
                              upper),
              {}};
    case Purpose::kBounds:
    case Purpose::kVerify:
    case Purpose::kPropertyBox:
    case Purpose::kDecide:
    case Purpose::kEvaluate:
    case Purpose::kStatusText:
    case Purpose::kInfo:
      break;
  }
  BF_CHECK(!"a function of a context");
  return {};
}

std::string emit_begin_call(const Plan& plan, const Entry& entry) {
  return fmt::format(
      R"(  // What an earlier call left.
  bf::Context& state = *static_cast<bf::Context*>(context);
  const bf::KeptBoxes boxes = {{{}, {},
                               {}, {}}};
  const bf::CachedCall call = bf::begin_call(state, boxes, lower, upper, {}_INPUTS, {});

)",
      box_pointer(plan, "last_lower"), box_pointer(plan, "last_upper"),
      box_pointer(plan, "anchor_lower"), box_pointer(plan, "anchor_upper"), upper_case(plan.name),
      is_spec(entry.kind) ? 1 : 0);
}

std::string emit_end_call(const Entry& entry) {
  bool improves = false;
  for (const Step& step : entry.steps)
    if (const auto* rows = std::get_if<BackwardRows>(&step))
      improves = improves || rows->warm_iterations > 0;
  return fmt::format("  bf::end_call(state, boxes, call{});\n", improves ? ", true" : "");
}

}  // namespace bf_aot::emit
