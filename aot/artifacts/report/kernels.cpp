#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/report.h"
#include "planner/manifest/plan_json.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

using nlohmann::ordered_json;

// Counts how often each text occurs as a value within the steps; names of kernels are among them.
void count_texts(const ordered_json& json, std::map<std::string, int>& counts) {
  if (json.is_string()) ++counts[json.get<std::string>()];
  if (json.is_structured())
    for (const ordered_json& part : json) count_texts(part, counts);
}

std::map<std::string, int> uses_of(const Plan& plan) {
  std::map<std::string, int> uses;
  const ordered_json all = to_json(plan);
  for (const ordered_json& entry : all["entries"]) count_texts(entry["steps"], uses);
  return uses;
}

std::string schedule_text(const Kernel& kernel) {
  const Schedule& schedule = kernel.schedule;
  std::string text = schedule.lanes > 1
                         ? fmt::format("{} × {} lanes", schedule.vectors, schedule.lanes)
                         : std::string("scalar");
  if (schedule.columns > 1) text += fmt::format(", {} columns", schedule.columns);
  if (schedule.chunk > 0) text += fmt::format(", chunks of {}", schedule.chunk);
  if (schedule.unroll > 1) text += fmt::format(", unrolled by {}", schedule.unroll);
  return text;
}

std::string extents(const Kernel& kernel) {
  std::string text =
      kernel.in > 0 || kernel.out > 0 ? fmt::format("{} → {}", kernel.in, kernel.out) : "";
  if (kernel.rows > 0) text += fmt::format("{}{} rows", text.empty() ? "" : ", ", kernel.rows);
  return text;
}

// Predicted seconds and operations of a kernel in a call of the first entry point.
struct Work {
  double calls = 0, flops = 0, bytes = 0, seconds = 0;
  double measured = 0;
};

// Parts of the plan that are called as the timed one.
double measured_seconds(const Findings& findings, std::size_t task, const TaskPart& part) {
  double seconds = 0;
  for (const MeasuredPart& one : findings.parts)
    if (static_cast<std::size_t>(one.task) == task && one.name == part.name) seconds += one.seconds;
  return seconds;
}

std::map<KernelId, Work> work_of(const Plan& plan, const Findings& findings) {
  std::map<KernelId, Work> work;
  const std::vector<Task>& tasks = plan.entries.at(findings.measured_entry).tasks;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    for (const TaskPart& part : tasks[t].parts) {
      Work& one = work[part.kernel];
      one.calls += part.calls;
      one.flops += part.flops;
      one.bytes += part.bytes;
      one.seconds += part.seconds;
      one.measured += measured_seconds(findings, t, part);
    }
  return work;
}

std::string work_cells(const Work& work, double largest, bool measured) {
  std::string cells, none;
  for (int i = measured ? 6 : 5; i > 0; --i) none += "<td></td>";
  if (work.calls == 0) return none;
  const auto cell = [&](const std::string& text) {
    cells += fmt::format("<td class=\"r\">{}</td>", text);
  };
  cell(count_text(work.calls));
  cell(count_text(work.flops));
  cell(bytes_text(work.bytes));
  cell(seconds_text(work.seconds));
  if (measured) cell(work.measured > 0 ? seconds_text(work.measured) : "");
  const double share = measured ? work.measured : work.seconds;
  return cells + fmt::format("<td>{}</td>", bar(share / std::max(largest, 1e-300), "t",
                                                measured ? "measured" : "predicted"));
}

}  // namespace

std::string kernel_part(const Plan& plan, const Findings& findings) {
  std::map<KernelId, Work> work = work_of(plan, findings);
  const bool predicted = !plan.prediction.profile.empty();
  std::map<std::string, int> uses;
  if (!predicted) uses = uses_of(plan);
  const bool measured = !findings.parts.empty();
  double largest = 0;
  for (const auto& [kernel, one] : work)
    if (kernel >= 0) largest = std::max(largest, measured ? one.measured : one.seconds);
  std::string rows;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const Kernel& kernel = plan.kernels[i];
    rows += fmt::format(
        "<tr><td class=\"mono\" title=\"{}\">{}</td><td class=\"r\">{}</td><td>{}</td><td>{}</td>"
        "<td class=\"r\">{}</td>{}<td class=\"clip soft\" "
        "title=\"{}\">{}</td></tr>\n",
        escape(kernel.key), to_string(kernel.kind), extents(kernel), to_string(kernel.strategy),
        schedule_text(kernel), kernel.depth > 0 ? std::to_string(kernel.depth) : "",
        predicted ? work_cells(work[static_cast<KernelId>(i)], largest, measured)
                  : fmt::format("<td class=\"r\">{}</td>",
                                std::max(uses[kernel.function], uses[kernel.key])),
        escape(kernel.reason), escape(kernel.reason));
  }
  std::string lead =
      "Functions of the generated file; equal ones are printed once. <i>Depth</i> is the longest "
      "chain of float32 roundings of one sum, which the error terms follow from.";
  if (predicted)
    lead += fmt::format(" Calls, flops, bytes and predicted time are those of one call of {}.",
                        to_string(plan.entries.at(findings.measured_entry).kind));
  if (measured)
    lead += " Measured times are those of kernels, without the routines that tasks call besides.";
  return section(
      "kernels", "Kernels", lead,
      table(
          fmt::format("<th>kernel</th><th class=\"r\">extents</th><th>code</th><th>schedule</th>"
                      "<th class=\"r\">depth</th>{}"
                      "<th class=\"why\">because</th>",
                      predicted ? fmt::format("<th class=\"r\">calls</th><th class=\"r\">flops</th>"
                                              "<th class=\"r\">bytes</th>"
                                              "<th class=\"r\">predicted</th>{}<th></th>",
                                              measured ? "<th class=\"r\">measured</th>" : "")
                                : std::string("<th class=\"r\">uses</th>")),
          rows));
}

std::string rejected_part(const Plan& plan) {
  std::vector<std::string> slots;
  for (const Rejected& rejected : plan.rejected)
    if (std::ranges::count(slots, rejected.slot) == 0) slots.push_back(rejected.slot);
  std::string body;
  for (const std::string& slot : slots) {
    std::string rows;
    int count = 0;
    for (const Rejected& rejected : plan.rejected) {
      if (rejected.slot != slot) continue;
      ++count;
      rows += fmt::format("<tr><td class=\"wrap\">{}</td><td class=\"wrap soft\">{}</td></tr>\n",
                          escape(rejected.candidate), escape(rejected.reason));
    }
    body += fmt::format(
        "<details><summary>{} <span>· {} candidate{}</span></summary>{}</details>\n", escape(slot),
        count, count == 1 ? "" : "s", table("<th>candidate</th><th>why not</th>", rows));
  }
  if (body.empty()) body = "<p class=\"soft\">Nothing was considered and not taken.</p>";
  return section("rejected", "Not taken",
                 "What the planner considered, and why it chose otherwise.", body);
}

}  // namespace bf_aot::artifacts
