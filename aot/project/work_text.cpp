#include "aot/project/work_text.h"

#include <fmt/format.h>

#include <string_view>

#include "aot/compile/work_json.h"

namespace bf_aot::cli {
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

std::string row(std::string_view what, std::int64_t most, bool always) {
  return fmt::format("| {} | {}{} |\n", what, always ? "" : "at most ", most);
}

std::string tables(const Plan& plan, const Entry& entry) {
  const calls::Work work = calls::work_of(plan, entry);
  std::string text =
      fmt::format("`{}_{}`: at most {} float operations, a multiply-add being two.\n\n", plan.name,
                  to_string(entry.kind), most_operations(plan, entry, work));
  text += "| function | calls |\n|---|---|\n";
  for (const calls::CallCount& call : work.calls)
    text += row(fmt::format("`{}`", call.function), call.most, call.always);
  if (work.loops.empty()) return text + "\n";
  text += "\n| loop of the entry point | turns |\n|---|---|\n";
  for (const calls::LoopBound& loop : work.loops)
    text += row(fmt::format("task {}: {}", loop.task + 1, loop.over), loop.most, loop.always);
  return text + "\n";
}

}  // namespace

std::string work_text(const Plan& plan) {
  if (plan.integer) return std::string(kIntegers);
  std::string text(kFloats);
  for (const Entry& entry : plan.entries) text += tables(plan, entry);
  return text;
}

}  // namespace bf_aot::cli
