#include "aot/emit/interface/emit_context.h"

#include <fmt/format.h>

#include "aot/emit/interface/emit.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/text/fill_in.h"
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

constexpr std::string_view kInitDeclarations = R"(
/* ---- calls that keep something for each other
 *
 * A context is @NAME@_CONTEXT_BYTES bytes aligned to @NAME@_CONTEXT_ALIGN, the caller's; one call at a
 * time uses it. It may be copied. Its contents matter: nobody else may write there. */
#define @NAME@_CONTEXT_BYTES @bytes@
#define @NAME@_CONTEXT_ALIGN @NAME@_WORKSPACE_ALIGN

/* Makes an empty context. Every other function wants one that was initialised:
 * BF_CONTEXT_FOREIGN. */
)";

constexpr std::string_view kBlobDeclarations =
    R"(#define @NAME@_BLOB_BYTES (BF_BLOB_HEADER_BYTES + @bytes@)

/* What outlives a box, as @NAME@_BLOB_BYTES bytes to be stored; and back, into memory that need not be
 * initialised. A blob of another model or of a verifier with other options is refused, as is one
 * with a changed byte: the context is empty then. */
)";

constexpr std::string_view kInit =
    R"(  if (const bf_status status = bf::check_room(context, context_bytes, @NAME@_CONTEXT_BYTES,
                                              @NAME@_CONTEXT_ALIGN))
    return status;
  bf::init_context(context, kFingerprint, @part@);
  return BF_OK;
)";

constexpr std::string_view kCounters =
    R"(  if (const bf_status status = open_context(context, context_bytes)) return status;
  *counters = static_cast<const bf::Context*>(context)->counters;
  return BF_OK;
)";

constexpr std::string_view kSave =
    R"(  if (const bf_status status = open_context(context, context_bytes)) return status;
  if (blob_bytes < @NAME@_BLOB_BYTES) return BF_BLOB_TOO_SMALL;
  bf::save_blob(context, @part@, @NAME@_MODEL_SHA256, blob);
  return BF_OK;
)";

constexpr std::string_view kLoad =
    R"(  if (const bf_status status = @init@) return status;
  if (blob == nullptr) return BF_NULL_ARGUMENT;
  if (blob_bytes < @NAME@_BLOB_BYTES) return BF_BLOB_TOO_SMALL;
  return bf::load_blob(context, @part@, @NAME@_MODEL_SHA256, blob);
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
  if (signature.purpose == Purpose::kContextInit)
    return fill_in(kInitDeclarations.substr(1), {{"bytes", bytes.context}}, names_of(plan));
  if (signature.purpose == Purpose::kCacheCounters) return "/* How often the context helped. */\n";
  if (signature.purpose == Purpose::kContextSave)
    return fill_in(kBlobDeclarations, {{"bytes", bytes.persistent}}, names_of(plan));
  return signature == Signature{.cached = true} ? promise(plan) : "";
}

std::string context_includes(const Plan& plan) {
  if (!has_context(plan)) return {};
  return is_persistent(plan) ? "#include \"bf/core/blob.h\"\n#include \"bf/core/context.h\"\n"
                             : "#include \"bf/core/context.h\"\n";
}

std::string emit_context_constants(const Plan& plan) {
  if (!has_context(plan)) return {};
  return fill_in(R"(// ---- the context

constexpr std::uint64_t kFingerprint = @fingerprint@;
static_assert(sizeof(bf::Context) <= @header_bytes@, "the context's header has its room");

inline bf_status open_context(const void* context, std::size_t bytes) {
  return bf::check_context(context, bytes, @NAME@_CONTEXT_BYTES, @NAME@_CONTEXT_ALIGN, kFingerprint);
}

)",
                 {{"fingerprint", fmt::format("0x{:016x}u", plan.context.fingerprint)},
                  {"header_bytes", bf::kContextHeaderBytes}},
                 names_of(plan));
}

FunctionBody context_body(const Plan& plan, const Signature& signature) {
  Arguments names = names_of(plan);
  names.emplace_back(
      "part", fmt::format("{}, {}", plan.context.persistent_begin, plan.context.persistent_bytes));
  switch (signature.purpose) {
    case Purpose::kContextInit:
      return {fill_in(kInit, {}, names), {}};
    case Purpose::kCacheCounters:
      return {std::string(kCounters), {}};
    case Purpose::kContextSave:
      return {fill_in(kSave, {}, names), {}};
    case Purpose::kContextLoad:
      return {fill_in(kLoad,
                      {{"init", call_of(dialect_of(plan), plan.name,
                                        {.purpose = Purpose::kContextInit}, signature)}},
                      names),
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
  return fill_in(R"(  // What an earlier call left.
  bf::Context& state = *static_cast<bf::Context*>(context);
  const bf::KeptBoxes boxes = {@last_lower@, @last_upper@,
                               @anchor_lower@, @anchor_upper@};
  const bf::CachedCall call = bf::begin_call(state, boxes, lower, upper, @NAME@_INPUTS, @spec@);

)",
                 {{"last_lower", box_pointer(plan, "last_lower")},
                  {"last_upper", box_pointer(plan, "last_upper")},
                  {"anchor_lower", box_pointer(plan, "anchor_lower")},
                  {"anchor_upper", box_pointer(plan, "anchor_upper")},
                  {"spec", is_spec(entry.kind) ? 1 : 0}},
                 names_of(plan));
}

std::string emit_end_call(const Entry& entry) {
  bool improves = false;
  for (const Step& step : entry.steps)
    if (const auto* rows = std::get_if<BackwardRows>(&step))
      improves = improves || rows->warm_iterations > 0;
  return fmt::format("  bf::end_call(state, boxes, call{});\n", improves ? ", true" : "");
}

}  // namespace bf_aot::emit
