#include "aot/project/work_text.h"

#include <fmt/format.h>

#include <string_view>

#include "aot/compile/work_json.h"

namespace bf_aot::cli {
namespace {

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
  std::string text;
  for (const Entry& entry : plan.entries) text += tables(plan, entry);
  return text;
}

}  // namespace bf_aot::cli
