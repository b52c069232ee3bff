#include "aot/emit/interface/emit_within.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"

namespace bf_aot::emit {
namespace {

constexpr std::string_view kSection =
    R"(/* ---- bounds within a limit, by the methods @methods@ in this order
 *
 * limit: see bf_limit in bf/contract/limit.h; null: none. The first method always ends, and
 * takes nothing of the limit. A method that stops leaves the results of the one before. reached:
 * the method that the results are of. Operations are counted as if all neurons were unstable,
 * those on weights and coefficients alone: a method whose macro is within what is left ends.
 * Between two questions of `stop` are at most @NAME@_LONGEST_OPERATIONS of them.
 * workspace: @NAME@_WITHIN_WORKSPACE_BYTES bytes aligned to @NAME@_WORKSPACE_ALIGN. */
#define @NAME@_WITHIN_WORKSPACE_BYTES (@NAME@_WORKSPACE_BYTES + @bytes@)
@operations@#define @NAME@_LONGEST_OPERATIONS @longest@

)";

constexpr std::string_view kSteps =
    R"(__attribute__((noinline)) static bool @name@_@entry@_steps(const float* lower, const float* upper,
    float* out_lower, float* out_upper, void* workspace, bf::Meter& meter) {
@steps@  return true;
}

)";

constexpr std::string_view kUnlimited = R"(  bf::Meter meter = bf::meter_of(nullptr);
  @name@_@entry@_steps(lower, upper, out_lower, out_upper, workspace, meter);
  return BF_OK;
)";

constexpr std::string_view kFirstBounds =
    R"(  if (const bf_status status = @name@_@entry@(lower, upper, out_lower, out_upper, workspace,
                                           @NAME@_WORKSPACE_BYTES))
    return status;
  *reached = {"@method@", 0, 0};
  float* const closer_lower = at<float>(workspace, @NAME@_WORKSPACE_BYTES);
  float* const closer_upper = closer_lower + @NAME@_@ROWS@;
  bf::Meter meter = bf::meter_of(limit);
)";

constexpr std::string_view kNextBounds =
    R"(  if (!@name@_@entry@_steps(lower, upper, closer_lower, closer_upper, workspace, meter)) return BF_OK;
  bf::copy_bounds(closer_lower, closer_upper, @NAME@_@ROWS@, out_lower, out_upper);
  *reached = {"@method@", @place@, meter.spent};
)";

constexpr std::string_view kFirstVerdict =
    R"(  if (const bf_status status = bf::check_box(lower, upper, @NAME@_INPUTS@reach@)) return status;
  float* const scratch = at<float>(workspace, @NAME@_WORKSPACE_BYTES);
  const auto bounds_@symbol@ = [workspace](const float* low, const float* high, float* row_low,
                                  float* row_high) {
    return @name@_@entry@(low, high, row_low, row_high, workspace, @NAME@_WORKSPACE_BYTES);
  };
  if (const bf_status status = bf::verify_property(property::tables, lower, upper, result, scratch,
                                                   bounds_@symbol@))
    return status;
  *reached = {"@method@", 0, 0};
  bf::Meter meter = bf::meter_of(limit);
)";

// Any status ends the search for a verdict: steps that stop have no other.
constexpr std::string_view kNextVerdict = R"(
  if (result->verdict != BF_UNKNOWN) return BF_OK;
  const auto bounds_@symbol@ = [workspace, &meter](const float* low, const float* high,
                                          float* row_low, float* row_high) {
    const bool ends = @name@_@entry@_steps(low, high, row_low, row_high, workspace, meter);
    return ends ? BF_OK : BF_BAD_COUNT;
  };
  if (bf::verify_property(property::tables, lower, upper, result, scratch, bounds_@symbol@) != BF_OK)
    return BF_OK;
  *reached = {"@method@", @place@, meter.spent};
)";

const Entry& entry_of(const Plan& plan, Method method, bool spec) {
  const EntryKind kind = spec ? EntryKind::kSpecBounds : EntryKind::kBounds;
  return *plan.find_entry(kind, method == plan.config.method ? std::optional<Method>() : method);
}

// `first` for the cheapest method, then `next` for each of the others.
std::string in_turn(const Plan& plan, bool spec, std::string_view first, std::string_view next) {
  std::string text;
  int place = 0;
  for (const Method method : methods_of(plan.config)) {
    Arguments names = names_of(plan);
    names.emplace_back("symbol", symbol_of(method));
    names.emplace_back("ROWS", spec ? "SPEC_ROWS" : "OUTPUTS");
    names.emplace_back("place", place);
    text += fill_in(
        place == 0 ? first : next,
        {{"entry", name_of(entry_of(plan, method, spec))}, {"method", to_string(method)}}, names);
    ++place;
  }
  return text + "  return BF_OK;\n";
}

bool is_of_a_method(const Entry& entry) {
  return entry.kind == EntryKind::kBounds || entry.kind == EntryKind::kSpecBounds;
}

}  // namespace

std::string within_section(const Plan& plan, const HeaderBytes& bytes) {
  std::string operations;
  std::int64_t longest = 0;
  for (const Entry& entry : plan.entries) {
    if (!is_of_a_method(entry)) continue;
    operations += fmt::format("#define {}_{}_OPERATIONS {}\n", upper_case(plan.name),
                              upper_case(name_of(entry)), entry.operations());
    if (entry.can_stop) longest = std::max(longest, entry.longest_operations());
  }
  return fill_in(kSection,
                 {{"methods", methods_text(plan.config)},
                  {"bytes", bytes.within},
                  {"operations", operations},
                  {"longest", longest}},
                 names_of(plan));
}

std::string methods_comment(const Plan& plan, const Signature& s) {
  if (s.cheaper)
    return fmt::format("/* {}_{} by method {}. */\n", plan.name, s.spec ? "spec_bounds" : "bounds",
                       to_string(s.by));
  if (s.purpose == Purpose::kVerify)
    return fmt::format(
        "/* {0}_verify by bounds of each method in turn, until one decides. Each takes as many "
        "calls "
        "of\n * bounds as {0}_verify does. */\n",
        plan.name);
  return s.spec ? fmt::format("/* {}_spec_bounds within a limit. */\n", plan.name) : "";
}

std::string within_includes(const Plan& plan) {
  return plan.cheaper.empty() ? "" : "#include \"bf/core/meter.h\"\n";
}

std::string stopping_steps(const Plan& plan, const Entry& entry, const std::string& steps) {
  return fill_in(kSteps, {{"entry", name_of(entry)}, {"steps", steps}}, names_of(plan));
}

std::string unlimited_call(const Plan& plan, const Entry& entry) {
  return fill_in(kUnlimited, {{"entry", name_of(entry)}}, names_of(plan));
}

FunctionBody bounds_within_body(const Plan& plan, const Signature& signature) {
  return {in_turn(plan, signature.spec, kFirstBounds, kNextBounds), {}};
}

FunctionBody verify_within_body(const Plan& plan) {
  return {in_turn(plan, true, kFirstVerdict, kNextVerdict), {}};
}

}  // namespace bf_aot::emit
