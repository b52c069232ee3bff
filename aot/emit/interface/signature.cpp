#include "aot/emit/interface/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "aot/emit/text/banner.h"

namespace bf_aot::emit {
namespace {

// The type as C has it, up to the name.
std::string type_of(const Parameter& parameter, Language language) {
  const auto pointer = [&](const char* pointee) {
    const std::string written = parameter.written ? "" : "const ";
    return written + pointee + (language == Language::kC ? " *" : "* ");
  };
  switch (parameter.type) {
    case ParameterType::kFloats:
      return pointer("float");
    case ParameterType::kMemory:
      return pointer("void");
    case ParameterType::kSize:
      return language == Language::kC ? "size_t " : "std::size_t ";
    case ParameterType::kResult:
      return pointer("bf_result");
    case ParameterType::kStatus:
      return pointer("bf_status");
    case ParameterType::kCode:
      return "bf_status ";
    case ParameterType::kBudget:
      return pointer("bf_budget");
    case ParameterType::kSearch:
      return pointer("bf_search");
    case ParameterType::kCounters:
      return pointer("bf_cache_counters");
    case ParameterType::kExecutor:
      return pointer("bf_executor");
    case ParameterType::kLimit:
      return pointer("bf_limit");
    case ParameterType::kReached:
      return pointer("bf_reached");
  }
  return {};
}

// Contexts and workspaces have checks of their own.
bool must_not_be_null(const Parameter& parameter) {
  return parameter.type != ParameterType::kSize && parameter.type != ParameterType::kCode &&
         !parameter.optional && parameter.name != "context" && parameter.name != "workspace";
}

std::string null_check(const Dialect& dialect, const Signature& signature) {
  // An empty context is left even where there is no blob.
  if (signature.purpose == Purpose::kContextLoad) return {};
  std::string condition;
  for (const Parameter& each : parameters_of(signature))
    if (must_not_be_null(each))
      condition +=
          fmt::format("{}{} == {}", condition.empty() ? "" : " || ", each.name, dialect.null());
  return condition.empty() ? "" : "  if (" + condition + ") return BF_NULL_ARGUMENT;\n";
}

// Whether the function's work needs memory; of several workers it always does.
bool uses_workspace(const Plan& plan, const ExportedFunction& function) {
  const Entry* const entry = plan.entry_of(function);
  return entry == nullptr || !entry->buffers.empty() || function.signature.parallel;
}

// How much of its workspace a function touches, as an expression. Its callers' own memory may lie
// behind that.
std::string workspace_bytes(const Plan& plan, const ExportedFunction& function) {
  const std::string upper = upper_case(plan.name);
  std::string bytes = upper + "_" + function.workspace.macro;
  if (!function.signature.parallel) return bytes;
  return function.signature.batch ? "team.workers * " + bytes
                                  : fmt::format("{} + (team.workers - 1) * {}_{}", bytes, upper,
                                                function.workspace.worker_macro);
}

std::string workspace_check(const Plan& plan, const ExportedFunction& function) {
  const Dialect dialect = dialect_of(plan);
  if (!uses_workspace(plan, function))
    return fmt::format(
        "  (void)workspace;\n  (void)workspace_bytes;\n"
        "  if (!{}()) return BF_FLOAT_ENVIRONMENT;\n",
        dialect.runtime("float_environment_ok"));
  const std::string_view part = plan.integer ? dialect.is_c() ? "integer_" : "integer::" : "";
  const std::string check = dialect.runtime(fmt::format("{}check_workspace", part));
  return dialect.checked(
      "memory", fmt::format("{}(workspace, workspace_bytes, {}, {}_WORKSPACE_ALIGN)", check,
                            workspace_bytes(plan, function), upper_case(plan.name)));
}

// The array behind a pointer, as a bf::Span.
std::string span_of(const Plan& plan, const ExportedFunction& function, const Parameter& each) {
  if (each.name == "workspace") {
    // A search takes all that it is given.
    const bool all = function.signature.purpose == Purpose::kDecide;
    return fmt::format("{{workspace, {}}}",
                       all ? "workspace_bytes" : workspace_bytes(plan, function));
  }
  const std::string_view type = each.type == ParameterType::kFloats     ? "float"
                                : each.type == ParameterType::kResult   ? "bf_result"
                                : each.type == ParameterType::kStatus   ? "bf_status"
                                : each.type == ParameterType::kBudget   ? "bf_budget"
                                : each.type == ParameterType::kSearch   ? "bf_search"
                                : each.type == ParameterType::kCounters ? "bf_cache_counters"
                                : each.type == ParameterType::kExecutor ? "bf_executor"
                                : each.type == ParameterType::kLimit    ? "bf_limit"
                                : each.type == ParameterType::kReached  ? "bf_reached"
                                                                        : "unsigned char";
  std::string bytes = fmt::format("{}{} * sizeof({})", each.per_box ? "count * " : "",
                                  element_count(plan, each), type);
  if (each.optional)
    bytes = fmt::format("{} == {} ? 0 : {}", each.name, dialect_of(plan).null(), bytes);
  return fmt::format("{{{}, {}}}", each.name, bytes);
}

// Arrays that are written must not overlap others; nor must the arrays that results point to.
std::string overlap_check(const Plan& plan, const ExportedFunction& function) {
  const Signature& s = function.signature;
  std::string spans;
  int count = 0, written = 0;
  for (const Parameter& each : pointers_of(s)) {
    if (each.name == "workspace" && !uses_workspace(plan, function)) continue;
    spans += (spans.empty() ? "" : ", ") + span_of(plan, function, each);
    ++count;
    written += each.written ? 1 : 0;
  }
  if (written == 0 || count < 2) return {};
  const Dialect dialect = dialect_of(plan);
  std::string text =
      fmt::format("  const {} spans[] = {{{}}};\n  if ({}(spans, {}, {})) return BF_OVERLAP;\n",
                  dialect.runtime(dialect.is_c() ? "span" : "Span"), spans,
                  dialect.runtime("overlap"), count, written);
  if (s.purpose != Purpose::kVerify && s.purpose != Purpose::kDecide) return text;
  if (s.batch) text += "  for (std::size_t i = 0; i < count; ++i)\n  ";
  const std::string bytes = fmt::format("{}counterexample, {} * sizeof(float)",
                                        s.batch ? "results[i]." : "result->", plan.input_count);
  return text +
         fmt::format("  if ({}(spans, {}, {})) return BF_OVERLAP;\n",
                     dialect.runtime(dialect.is_c() ? "overlap_with" : "overlap"), count,
                     dialect.is_c() ? dialect.structure("Span", "span", bytes) : "{" + bytes + "}");
}

}  // namespace

std::string prototype(const std::string& name, const Signature& signature, Language language) {
  std::string result = "bf_status ";
  const std::string star = language == Language::kC ? " *" : "* ";
  if (signature.purpose == Purpose::kInfo) result = "const bf_model_info" + star;
  if (signature.purpose == Purpose::kStatusText) result = "const char" + star;
  std::string parameters;
  for (const Parameter& each : parameters_of(signature))
    parameters +=
        fmt::format("{}{}{}", parameters.empty() ? "" : ", ", type_of(each, language), each.name);
  return fmt::format("{}{}_{}({})", result, name, suffix_of(signature),
                     parameters.empty() ? "void" : parameters);
}

Dialect dialect_of(const Plan& plan) {
  return Dialect(plan.config.language);
}

std::string call_of(const Dialect& dialect, const std::string& name, const Signature& called,
                    const Signature& caller) {
  const ParameterList own = parameters_of(caller);
  std::string arguments;
  for (const Parameter& each : parameters_of(called)) {
    const bool known = std::find_if(own.begin(), own.end(), [&](const Parameter& other) {
                         return other.name == each.name;
                       }) != own.end();
    arguments += arguments.empty() ? "" : ", ";
    arguments += known ? each.name : dialect.null();
  }
  return fmt::format("{}_{}({})", name, suffix_of(called), arguments);
}

std::string reach_argument(const Plan& plan) {
  if (!is_in_float32(plan.config.semantics)) return "";
  return fmt::format(", {}_FLOAT32_REACH", upper_case(plan.name));
}

std::string box_check(const Plan& plan, std::string_view lower, std::string_view upper) {
  const Dialect dialect = dialect_of(plan);
  const std::string reach = reach_argument(plan);
  std::string check = plan.integer && dialect.is_c() ? "integer_check_box"
                      : plan.integer                 ? "integer::check_box"
                                                     : "check_box";
  if (dialect.is_c() && !reach.empty()) check += "_within";
  return dialect.checked("box", fmt::format("{}({}, {}, {}_INPUTS{})", dialect.runtime(check),
                                            lower, upper, upper_case(plan.name), reach));
}

Arguments names_of(const Plan& plan) {
  return {{"name", plan.name},
          {"NAME", upper_case(plan.name)},
          {"reach", reach_argument(plan)},
          {"null", dialect_of(plan).null()}};
}

std::string argument_checks(const Plan& plan, const ExportedFunction& function) {
  const Signature& s = function.signature;
  const std::string upper = upper_case(plan.name);
  std::string text = null_check(dialect_of(plan), s);
  if (s.cached)
    text += "  if (const bf_status status = open_context(context, context_bytes)) return status;\n";
  if (s.batch)
    text += fmt::format("  if (count == 0 || count > {}_BATCH) return BF_BAD_COUNT;\n", upper);
  if (s.parallel)
    text += fill_in(R"(  bf::Team team;
  if (const bf_status status = bf::gather_team(executor, @NAME@_PARALLEL, team)) return status;
)",
                    {}, names_of(plan));
  if (has_workspace(s)) text += workspace_check(plan, function);
  return text + overlap_check(plan, function);
}

const ExportedFunction* find_function(const Plan& plan, const Signature& signature) {
  const auto found = std::ranges::find(plan.functions, signature, &ExportedFunction::signature);
  return found == plan.functions.end() ? nullptr : &*found;
}

}  // namespace bf_aot::emit
