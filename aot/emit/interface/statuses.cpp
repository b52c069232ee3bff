#include "aot/emit/interface/statuses.h"

#include <fmt/format.h>

#include <initializer_list>
#include <set>

#include "aot/emit/interface/signature.h"
#include "frontend/diagnostic.h"

namespace bf_aot::emit {
namespace {

using Statuses = std::set<bf_status>;

void add(Statuses& to, std::initializer_list<bf_status> statuses) {
  to.insert(statuses);
}

bool reads_box(const Signature& s) {
  return s.purpose == Purpose::kBounds || s.purpose == Purpose::kVerify ||
         s.purpose == Purpose::kDecide || s.purpose == Purpose::kEvaluate;
}

bool has_status(const Signature& s) {
  return s.purpose != Purpose::kInfo && s.purpose != Purpose::kStatusText;
}

}  // namespace

std::string_view status_name(bf_status status) {
  switch (status) {
    case BF_OK:
      return "BF_OK";
    case BF_NULL_ARGUMENT:
      return "BF_NULL_ARGUMENT";
    case BF_NAN_INPUT:
      return "BF_NAN_INPUT";
    case BF_EMPTY_BOX:
      return "BF_EMPTY_BOX";
    case BF_INFINITE_BOX:
      return "BF_INFINITE_BOX";
    case BF_WORKSPACE_TOO_SMALL:
      return "BF_WORKSPACE_TOO_SMALL";
    case BF_WORKSPACE_MISALIGNED:
      return "BF_WORKSPACE_MISALIGNED";
    case BF_FLOAT_ENVIRONMENT:
      return "BF_FLOAT_ENVIRONMENT";
    case BF_NO_SUCH_CASE:
      return "BF_NO_SUCH_CASE";
    case BF_CONTEXT_TOO_SMALL:
      return "BF_CONTEXT_TOO_SMALL";
    case BF_CONTEXT_MISALIGNED:
      return "BF_CONTEXT_MISALIGNED";
    case BF_CONTEXT_FOREIGN:
      return "BF_CONTEXT_FOREIGN";
    case BF_BLOB_TOO_SMALL:
      return "BF_BLOB_TOO_SMALL";
    case BF_BLOB_FOREIGN:
      return "BF_BLOB_FOREIGN";
    case BF_BLOB_STALE:
      return "BF_BLOB_STALE";
    case BF_BLOB_CORRUPT:
      return "BF_BLOB_CORRUPT";
    case BF_BAD_COUNT:
      return "BF_BAD_COUNT";
    case BF_BAD_EXECUTOR:
      return "BF_BAD_EXECUTOR";
    case BF_FLOAT32_RANGE:
      return "BF_FLOAT32_RANGE";
    case BF_OVERLAP:
      return "BF_OVERLAP";
    case BF_DEVICE_FAILED:
      return "BF_DEVICE_FAILED";
  }
  BF_CHECK(!"a status");
  return {};
}

std::vector<bf_status> statuses_of(const Plan& plan, const Signature& s) {
  if (!has_status(s)) return {};
  Statuses found = {BF_OK, BF_NULL_ARGUMENT};
  if (reads_box(s)) add(found, {BF_NAN_INPUT, BF_EMPTY_BOX, BF_INFINITE_BOX});
  if (reads_box(s) && is_in_float32(plan.config.semantics)) add(found, {BF_FLOAT32_RANGE});
  if (has_workspace(s))
    add(found, {BF_WORKSPACE_TOO_SMALL, BF_WORKSPACE_MISALIGNED, BF_FLOAT_ENVIRONMENT});
  if (s.purpose == Purpose::kPropertyBox) add(found, {BF_NO_SUCH_CASE});
  if (has_context(s)) add(found, {BF_CONTEXT_TOO_SMALL, BF_CONTEXT_MISALIGNED});
  const bool makes_context =
      s.purpose == Purpose::kContextInit || s.purpose == Purpose::kContextLoad;
  if (has_context(s) && !makes_context) add(found, {BF_CONTEXT_FOREIGN});
  if (s.purpose == Purpose::kContextSave) add(found, {BF_BLOB_TOO_SMALL});
  if (s.purpose == Purpose::kContextLoad)
    add(found, {BF_BLOB_TOO_SMALL, BF_BLOB_FOREIGN, BF_BLOB_STALE, BF_BLOB_CORRUPT});
  if (s.batch) add(found, {BF_BAD_COUNT});
  if (s.parallel) add(found, {BF_BAD_EXECUTOR});
  if (pointers_of(s).size() > 1) add(found, {BF_OVERLAP});
  return {found.begin(), found.end()};
}

// Any number may come from C: read as the enumeration of C++ it would be undefined beyond the
// enumerators.
std::string status_text_body(const Plan& plan) {
  Statuses all;
  for (const ExportedFunction& function : plan.functions)
    for (const bf_status status : statuses_of(plan, function.signature)) all.insert(status);
  std::string text = dialect_of(plan).is_c()
                         ? "  switch (status) {\n"
                         : "  __underlying_type(bf_status) number;\n"
                           "  __builtin_memcpy(&number, &status, sizeof number);\n"
                           "  switch (number) {\n";
  for (const bf_status status : all)
    text += fmt::format("    case {}:\n      return \"{}\";\n", status_name(status),
                        bf_status_text(status));
  return text + "    default:\n      break;\n  }\n  return \"no status of this verifier\";\n";
}

}  // namespace bf_aot::emit
