#include "aot/artifacts/project/work_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "aot/build/work_json.h"
#include "aot/emit/text/fill_in.h"

namespace bf_aot::artifacts {
namespace {

constexpr std::string_view kFloats =
    R"(What bounds the time of a call: how often functions are called in it, and how often the
loops of the entry point itself turn, whatever the box. Loops of kernels have literal bounds. Those
of `bf::` functions run over the counts that they are called with. Nothing recurses, and no array
has a length that is known at run time alone.

)";
constexpr std::string_view kIntegers =
    R"(What bounds the time of a call: each step of the source runs once in it, whatever the box,
and its loops run over the extents that it is called with. A code is found among its steps by
halving. Nothing recurses, and no array has a length that is known at run time alone.

)";
constexpr std::string_view kVerify =
    R"(`@name@_verify`: about @operations@ float operations on weights and coefficients: of each case of
the property its box, its centre and its corners are bounded.

| function | calls |
|---|---|
| `@name@_spec_bounds` | at most @bounds@ |

)";

std::string row(std::string_view what, std::int64_t most, bool always) {
  return fmt::format("| {} | {}{} |\n", what, always ? "" : "at most ", most);
}

std::string call_table(const nlohmann::ordered_json& entry) {
  std::string text = "| function | calls |\n|---|---|\n";
  for (const auto& call : entry.at("calls"))
    text += row(fmt::format("`{}`", call.at("function").get<std::string>()),
                call.at("at_most").get<std::int64_t>(), call.at("always").get<bool>());
  return text;
}

std::string loop_table(const nlohmann::ordered_json& entry) {
  if (entry.at("loops").empty()) return {};
  std::string text = "\n| loop of the entry point | turns |\n|---|---|\n";
  for (const auto& loop : entry.at("loops"))
    text += row(fmt::format("task {}: {}", loop.at("task").get<int>() + 1,
                            loop.at("over").get<std::string>()),
                loop.at("at_most").get<std::int64_t>(), loop.at("always").get<bool>());
  return text;
}

// The count holds all operations of a plan of integers, and those of a plan of floats that grow
// with its weights.
std::string operations_text(const Plan& plan, std::int64_t operations) {
  if (plan.integer) return fmt::format("at most {} integer operations", operations);
  return fmt::format(
      "about {} float operations on weights and coefficients, a multiply-add being two; those of "
      "functions, relaxations, roundings and checks come on top",
      operations);
}

// The manifest's `work` as tables.
std::string tables(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  std::string text;
  for (const auto& entry : build::work_json(lowered, std::nullopt))
    text += fmt::format("`{}_{}`: {}.\n\n", plan.name, entry.at("entry").get<std::string>(),
                        operations_text(plan, entry.at("operations").get<std::int64_t>())) +
            call_table(entry) + loop_table(entry) + "\n";
  return text;
}

}  // namespace

std::string work_text(const build::Verifier& verifier) {
  const Plan& plan = verifier.plan();
  std::string text = std::string(plan.integer ? kIntegers : kFloats) + tables(*verifier.lowered);
  if (verifier.verify_work)
    text +=
        emit::fill_in(kVerify, {{"name", plan.name},
                                {"bounds", std::to_string(verifier.verify_work->bounds)},
                                {"operations", std::to_string(verifier.verify_work->operations)}});
  return text;
}

}  // namespace bf_aot::artifacts
