#include <fmt/format.h>

#include <algorithm>

#include "aot/artifacts/report/html.h"
#include "aot/artifacts/report/rails.h"
#include "aot/artifacts/report/report.h"
#include "planner/plan/plan.h"

namespace bf_aot::artifacts {
namespace {

constexpr int kTaskHeight = 30;

std::string names_of(const Entry& entry, const std::vector<BufferId>& buffers) {
  std::string text;
  for (const BufferId id : buffers) text += (text.empty() ? "" : ", ") + entry.buffer(id).name;
  return text.empty() ? "nothing" : text;
}

// Measured seconds of an entry's tasks; empty when there are none.
std::vector<double> measured_of(const Findings& findings, std::size_t entry, std::size_t tasks) {
  if (entry >= findings.task_seconds.size() || findings.task_seconds[entry].size() != tasks)
    return {};
  return findings.task_seconds[entry];
}

// The values that bars compare: measured times, else predicted ones, else operations.
struct Values {
  std::vector<double> of_task;
  double total = 0, largest = 0;
  const char* what = "flops";
  bool predicted = false, measured = false;

  Values(const Plan& plan, const Entry& entry, const std::vector<double>& seconds)
      : predicted(!plan.prediction.profile.empty()), measured(!seconds.empty()) {
    if (predicted || measured) what = measured ? "measured" : "predicted";
    for (std::size_t i = 0; i < entry.tasks.size(); ++i) {
      const Task& task = entry.tasks[i];
      of_task.push_back(measured    ? seconds[i]
                        : predicted ? task.predicted_seconds
                                    : static_cast<double>(task.flops));
      total += of_task.back();
      largest = std::max(largest, of_task.back());
    }
  }
};

std::string title_of(const Entry& entry, const Task& task) {
  std::string text = fmt::format("{}: reads {}; makes {}", task.name, names_of(entry, task.inputs),
                                 names_of(entry, task.outputs));
  for (const TaskPart& part : task.parts)
    text += fmt::format("; {} {} times, {}", part.name, count_text(part.calls),
                        seconds_text(part.seconds));
  return text;
}

std::string task_row(const Entry& entry, std::size_t i, const std::string& rail,
                     const Values& values) {
  const Task& task = entry.tasks[i];
  std::string after, times;
  for (const int other : task.after) after += fmt::format("{}{}", after.empty() ? "" : " ", other);
  if (values.predicted)
    times += fmt::format("<td class=\"r\">{}</td>", seconds_text(task.predicted_seconds));
  if (values.measured)
    times += fmt::format("<td class=\"r\">{}</td>", seconds_text(values.of_task[i]));
  const double share = values.of_task[i] / std::max(values.total, 1e-300);
  const std::string_view domain = to_string(task.domain);
  return fmt::format(
      "<tr><td class=\"g\">{}</td><td class=\"r soft\">{}</td><td class=\"mono\" "
      "title=\"{}\">{}</td>"
      "<td><span class=\"tag {}\">{}</span></td><td class=\"r\">{}</td><td class=\"r\">{}</td>"
      "<td class=\"r\">{}</td>{}<td>{}</td><td class=\"clip soft mono\" "
      "title=\"{}\">{}</td></tr>\n",
      rail, i, escape(title_of(entry, task)), escape(shorten(task.name, 42)), domain, domain,
      task.steps.size(), count_text(static_cast<double>(task.flops)),
      bytes_text(static_cast<double>(task.bytes)), times,
      bar(values.of_task[i] / std::max(values.largest, 1e-300), "t",
          fmt::format("{:.1f} % of all", 100 * share)),
      after, after);
}

std::string entry_table(const Entry& entry, const Values& values) {
  std::vector<std::vector<int>> inputs;
  std::vector<std::string> nodes;
  for (const Task& task : entry.tasks) {
    inputs.push_back(task.after);
    nodes.emplace_back(to_string(task.domain));
  }
  const Rails rails = draw_rails(reduce_edges(inputs), nodes, kTaskHeight);
  std::string text = fmt::format(
      "<div class=\"scroll\"><table><thead><tr><th></th><th "
      "class=\"r\">#</th><th>task</th><th>bounds"
      "</th><th class=\"r\">steps</th><th class=\"r\">flops</th><th class=\"r\">weights</th>{}{}"
      "<th>{}, relative</th><th class=\"why\">after</th></tr></thead><tbody>\n",
      values.predicted ? "<th class=\"r\">predicted</th>" : "",
      values.measured ? "<th class=\"r\">measured</th>" : "", values.what);
  for (std::size_t i = 0; i < entry.tasks.size(); ++i)
    text += task_row(entry, i, rails.rows[i], values);
  return text + "</tbody></table></div>";
}

std::string times_text(const Values& values, const Entry& entry) {
  std::string text;
  double predicted = 0;
  for (const Task& task : entry.tasks) predicted += task.predicted_seconds;
  if (values.predicted) text += ", " + seconds_text(predicted) + " predicted";
  if (values.measured) text += ", " + seconds_text(values.total) + " measured";
  return text;
}

}  // namespace

std::string task_part(const Plan& plan, const Findings& findings) {
  std::string body;
  bool timed = false;
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const Entry& entry = plan.entries[i];
    const std::vector<double> measured = measured_of(findings, i, entry.tasks.size());
    const Values values(plan, entry, measured);
    timed = timed || values.measured;
    body += fmt::format(
        "<details{}><summary>{} <span>· {} tasks, {} steps{}</span></summary>{}</details>\n",
        i == 0 ? " open" : "", name_of(entry), entry.tasks.size(), entry.steps.size(),
        times_text(values, entry), entry_table(entry, values));
  }
  std::string lead =
      "What each entry point does, in order. Rails are dependencies, without those that follow "
      "from "
      "others; <i>after</i> lists them all. Flops count every neuron as unstable.";
  if (!plan.prediction.profile.empty())
    lead += fmt::format(" Times are predicted for {} ({}).", escape(plan.prediction.profile),
                        escape(plan.prediction.activity));
  if (timed)
    lead +=
        " Times are measured on the first of the boxes, each call of a kernel by the lower "
        "quartile of several; the clock's own time is taken off.";
  return section("plan", "Tasks", lead, body);
}

}  // namespace bf_aot::artifacts
